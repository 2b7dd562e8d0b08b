"""Target of an audit: a scorer that is called from outside, and how it takes clips."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from vmmetrics.alignment.audit.lines import sign_of
from vmmetrics.alignment.audit.runner import BATCHES
from vmmetrics.errors import SetupError
from vmmetrics.utils.tables import sha256_of

Kind = Literal["function", "command", "http", "metric", "results"]
ROUTES = ("path", "frames", "floats", "list", "clip", "paths", "videos", "tensors", "folder")
"""Ways of taking clips; ``docs/audit.md`` says what each hands over."""
FILES = ("path", "paths", "folder")
"""Those of them that take files."""
_BY_NAME = {
    "path": ("path", "file", "filename", "video_path", "clip_path", "video_file"),
    "paths": ("paths", "files", "video_paths", "clip_paths"),
    "frames": ("frames", "array", "images"),
    "clip": ("clip",),
    "videos": ("videos", "batch"),
}
"""Names of a first parameter by which a way of taking clips is guessed."""


@dataclass(frozen=True, slots=True)
class Target:
    """A scorer under audit.

    Attributes:
        kind: What it is.
        text: ``module:function``, the command line, the address, or names of metrics between commas.
        takes: Ways in which it takes clips, the one by which effects are measured first.
        label: Name of its score, where it gives one number.
        higher_is_better: Direction by score name, "" for all that are not named; absent where not stated.
        ranges: Least and greatest score by score name, where stated.
        amount: Names of scores that measure how much moves, not how well.
        key: Dotted place of the score in the answer of a command or an address.
        body: JSON body of a request, with ``{clip}``, ``{video_b64}``, ``{prompt}``, ``{fps}``; None for UniRL's form.
        plugins: Files that register metrics.
        origin: Folder in which the user called; modules and files of a command are found there.
    """

    kind: Kind
    text: str
    takes: tuple[str, ...]
    label: str = "score"
    higher_is_better: Mapping[str, bool] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    amount: tuple[str, ...] = ()
    key: str | None = None
    body: str | None = None
    plugins: tuple[str, ...] = ()
    origin: str = ""
    notes: tuple[str, ...] = ()

    @property
    def single(self) -> str | None:
        """First way in which it takes one clip, or None."""
        return next((route for route in self.takes if route not in BATCHES), None)

    @property
    def batch(self) -> str | None:
        """First way in which it takes several clips in one call, or None."""
        return next((route for route in self.takes if route in BATCHES), None)

    @property
    def reads_files(self) -> bool:
        """True if a way in which it takes clips is by files."""
        return any(route in FILES for route in self.takes)

    def direction(self, score: str) -> bool | None:
        """Return True if a higher score is better, None where it was not said."""
        return self.higher_is_better.get(score, self.higher_is_better.get(""))

    def sign(self, score: str) -> float:
        """Return 1 if a higher score is better, -1 if a lower one is, 0 where it was not said."""
        return sign_of(self.direction(score))

    def span(self, score: str) -> tuple[float, float] | None:
        """Return least and greatest value of a score, where stated."""
        return self.ranges.get(score, self.ranges.get(""))

    def is_amount(self, score: str) -> bool:
        """Return True for a score of how much moves."""
        return score in self.amount or "" in self.amount

    def spec(self, timeout: float) -> dict[str, Any]:
        """Return what a runner is told."""
        own: dict[str, Any] = {}
        if self.kind == "command":
            program, *words = shlex.split(self.text)
            program = _absolute(program, self.origin) if os.sep in program else program
            own["words"] = [program, *(_absolute(word, self.origin) for word in words)]
        if self.kind == "metric":
            own["loader"] = "vmmetrics.alignment.audit.own"  # the runner, which other environments run, has no imports
        return {
            "kind": self.kind, "text": self.text, "label": self.label, "key": self.key, "body": self.body,
            "timeout": timeout, "plugins": list(self.plugins), "paths": [self.origin] if self.origin else [], **own,
        }  # fmt: skip

    def code(self) -> dict[str, str]:
        """Return the SHA-256 of the files that a command names and of plugins; a runner adds a function's modules."""
        named = shlex.split(self.text) if self.kind == "command" else []
        paths = [Path(self.origin, word) for word in named if word] + [Path(path) for path in self.plugins]
        return {str(path): sha256_of(path) for path in paths if path.is_file()}

    def to_json(self) -> dict[str, Any]:
        """Return what a card says of it."""
        return {
            "kind": self.kind, "text": self.text, "takes": list(self.takes) * (self.kind != "results"),
            "key": self.key, "body": self.body,
            "ranges": {name: list(span) for name, span in self.ranges.items()}, "notes": list(self.notes),
        }  # fmt: skip


def _absolute(word: str, origin: str) -> str:
    """Return a word of a command; one that names a file of the user's folder as an absolute path."""
    path = Path(origin, word)
    return str(path) if word and not Path(word).is_absolute() and path.is_file() else word


def target_of(
    text: str | None,
    *,
    command: str | None = None,
    takes: Sequence[str] = (),
    higher_is_better: bool | None = None,
    value_range: tuple[float, float] | None = None,
    amount: bool = False,
    key: str | None = None,
    body: str | None = None,
    hosts: Sequence[str] = (),
    plugins: Sequence[str] = (),
) -> Target:
    """Return the target that a command line names.

    Args:
        text: ``module:function``, an ``http://`` address, or names of metrics and baselines between commas.
        command: A command line instead, with ``{clip}`` or ``{folder}`` in it.
        takes: Ways in which it takes clips; empty guesses from the first parameter of a function.
        higher_is_better: Direction; None where not stated, which metrics of ours state themselves.
        value_range: Least and greatest score.
        amount: True for a score of how much moves.
        key: Place of the score in an answer.
        body: Body of a request.
        hosts: Hosts other than this machine that may be asked.
        plugins: Files that register metrics.

    Raises:
        SetupError: It is none of these, cannot be found, or takes no such option.
        ValueError: An unknown way of taking clips.
    """
    if unknown := sorted(set(takes) - set(ROUTES)):
        raise ValueError(f"Expected ways of taking clips among {', '.join(ROUTES)} but got {unknown[0]!r}")
    if (text is None) == (command is None):
        raise SetupError("Expected one target: module:function, an address, names of metrics, or --command")
    origin = os.getcwd()  # noqa: PTH109
    kind = kind_of(text)
    given = {
        "body": body is not None, "key": key is not None, "allow-host": bool(hosts), "plugin": bool(plugins),
        "range": value_range is not None, "amount": amount, "direction": higher_is_better is not None,
        "takes": bool(takes),
    }  # fmt: skip
    if ignored := [name for name, is_given in given.items() if is_given and name not in _OPTIONS[kind]]:
        raise SetupError(f"--{ignored[0]} says nothing of a {kind}: leave it out")
    stated = {} if higher_is_better is None else {"": higher_is_better}
    ranges = {} if value_range is None else {"": value_range}
    notes = ("measures how much moves, not how well",) if amount else ()
    common: dict[str, Any] = {
        "higher_is_better": stated, "ranges": ranges, "amount": ("",) if amount else (), "key": key, "origin": origin,
    }  # fmt: skip
    if command is not None:
        places = [name for name, of in (("path", "{clip}"), ("folder", "{folder}")) if of in command]
        if len(places) != 1:
            raise SetupError("Expected {clip} or {folder} in the command: where the file, or folder, of clips goes")
        return Target("command", command, tuple(places), notes=notes, **common)
    assert text is not None  # noqa: S101
    if kind == "http":
        _check_host(text, hosts)
        routes = tuple(takes) or (("path", "paths") if body is None else ("path",))
        return Target("http", text, routes, body=body, notes=notes, **common)
    if kind == "function":
        text = re.sub(r"\.py:", ":", text)  # of a file's name
        guessed, why = _guessed(text, origin) if not takes else (tuple(takes), ())
        label = text.rpartition(":")[2].rpartition(".")[2] or "score"
        return Target("function", text, guessed, label, notes=(*why, *notes), **common)
    from vmmetrics.alignment.audit.own import metric_facts

    higher, found_ranges, amounts = metric_facts(text, plugins)
    routes = tuple(takes) or ("path", "frames", "floats", "list")
    return Target("metric", text, routes, "score", higher, found_ranges, amounts, plugins=tuple(plugins), origin=origin)


_STATED = ("range", "amount", "direction")
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "command": ("key", *_STATED), "http": ("body", "key", "allow-host", "takes", *_STATED),
    "function": ("takes", *_STATED), "metric": ("plugin", "takes"),
}  # fmt: skip
"""Options that say something of each kind of target."""


def kind_of(text: str | None) -> Kind:
    """Return the kind of a target by its text, None for that of a command."""
    if text is None:
        return "command"
    if text.startswith(("http://", "https://")):
        return "http"
    return "function" if ":" in text else "metric"


def _check_host(text: str, hosts: Sequence[str]) -> None:
    """Refuse an address that is not of this machine, unless its host is named.

    Raises:
        SetupError: It is not.
    """
    host = urlsplit(text).hostname or ""
    try:
        own = ip_address(host).is_loopback
    except ValueError:
        own = host == "localhost"
    if not own and host not in hosts:
        raise SetupError(f"{host} is not this machine: paths and clips would go there; allow it by --allow-host {host}")


def _guessed(text: str, origin: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return ways of taking clips by the name and annotation of a function's first parameter, read without running it.

    Raises:
        SetupError: The function is not found, or its parameter says nothing.
    """
    import ast

    module, _, name = text.partition(":")
    found = _source_of(module, origin)
    if found is None:
        raise SetupError(f"No module {module!r} in {origin} or among the installed packages")
    if not found.endswith(".py"):
        raise SetupError(f"{text} is not Python source; say how it takes clips by --takes")
    try:
        tree = ast.parse(Path(found).read_bytes())
    except (SyntaxError, ValueError) as error:
        raise SetupError(f"{found} is no Python that this version reads: {error}") from error
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    function = functions.get(name.rpartition(".")[2])
    arguments = [a for a in function.args.args if a.arg not in ("self", "cls")] if function else []
    if function is None:
        raise SetupError(f"No function {name!r} in {found}; one that is made or imported there needs --takes")
    if not arguments:
        raise SetupError(f"{name} in {found} has no parameter for a clip; say how it takes clips by --takes")
    first, annotation = arguments[0].arg, ast.unparse(arguments[0].annotation or ast.Constant(""))
    for route, names in _BY_NAME.items():
        if first in names:
            return (route,), (f"takes {route}, by the name of its parameter {first!r}",)
    if annotation in ("str", "Path", "pathlib.Path", "str | Path", "os.PathLike"):
        return ("path",), (f"takes path, by the annotation of its parameter {first!r}",)
    if annotation.startswith(("list[str", "List[str", "Sequence[str")):
        return ("paths",), (f"takes paths, by the annotation of its parameter {first!r}",)
    raise SetupError(
        f"Cannot tell how {text} takes clips from its parameter {first!r}; say so by --takes ({', '.join(ROUTES)})"
    )


def _source_of(module: str, origin: str) -> str | None:
    """Return the file of a module, found without running the packages that it lies in."""
    name, *parts = module.split(".")
    before = sys.path[:]
    sys.path.insert(0, origin)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    finally:
        sys.path[:] = before
    for part in parts:
        places = spec.submodule_search_locations if spec else None
        spec = None if places is None else PathFinder.find_spec(part, list(places))
    return spec.origin if spec else None
