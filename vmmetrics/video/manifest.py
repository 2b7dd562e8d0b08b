"""Lists of clips: ``clips.jsonl``, with prompts and states, or a text file of addresses."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, takewhile
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vmmetrics.clip import Subject
from vmmetrics.errors import SetupError, refusing
from vmmetrics.utils.schema import convert, convert_json, parse_json
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.addresses import is_web, masked, safe_name
from vmmetrics.utils.storage.atomic import writing
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video.content import InlineClip
from vmmetrics.video.discover import models_of, printable
from vmmetrics.video.prompts import PromptOf

SUFFIXES = (".jsonl", ".txt")
"""Files of these kinds, named as clips, are lists of them."""
CLIP_LIST = "clips.jsonl"
"""Name of the list in a run directory."""
MAX_LINE = 2**20
"""Bytes of a line; a list with a longer one is refused."""
_LOCATION_FIELDS = ("uri", "url", "path", "file")  # the first that is there says where the clip is
_HOST = 3  # parts of an address up to its host or bucket
_SHOWN = 60  # characters of a wrong line in a message
_SEPARATORS = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}


@dataclass(frozen=True, slots=True)
class ListedClip:
    """A clip of a list or of a data set.

    Attributes:
        uri: Its address, or its absolute path on this machine; empty where only its bytes are at hand.
        name: Its name.
        model: Model that made it, or None.
        state: Its state when it was listed; unknown fields are None.
        prompt: Its prompt, None before the look-up.
        error: Reason why it cannot be scored, or None.
        inline: Its bytes, where it has no file, else None.
    """

    uri: str
    name: str
    model: str | None = None
    state: FileState = FileState()  # noqa: RUF009 - frozen
    prompt: PromptOf | None = None
    error: str | None = None
    inline: InlineClip | None = None

    @property
    def path(self) -> Path | None:
        """Its path, where it is on this machine."""
        return Path(self.uri) if os.path.isabs(self.uri) else None  # noqa: PTH117 - a text


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of ``clips.jsonl``."""

    uri: str
    name: str | None = None
    model: str | None = None
    bytes: int | None = None
    mtime_ns: Annotated[str, Field(pattern="^[0-9]{1,25}$")] | None = None
    etag: str | None = None
    prompt: str | None = None
    prompt_source: str | None = None
    subject: Subject | None = None
    tags: Mapping[str, str | float] = field(default_factory=dict)
    error: str | None = None


def read_manifest(path: Path, origin: str | None = None) -> Iterator[ListedClip]:
    """Read a list of clips, one at a time.

    Args:
        path: The file, on this machine.
        origin: The address that it was fetched from, None for a file of this machine. A list from elsewhere names no
            path here.

    Yields:
        The clips in the order of the list. One without a name is called by its place below the folder that all of
        those have in common, and its first folder there is its model.

    Raises:
        SetupError: It cannot be read, or a line is wrong; the text names the line.
    """
    name = path.name if origin is None else safe_name(origin)
    plain = path.suffix.lower() == ".txt"
    root: str | None = None
    number = 0
    try:
        with refusing("read", path):
            for number, raw in _lines(path, name, unnamed=True):  # noqa: B007 - for the messages
                folder = os.path.dirname(safe_name(_location(_entry(raw, plain).uri, path, origin)))  # noqa: PTH120
                root = folder if root is None else _common(root, folder)
            for number, raw in _lines(path, name):  # noqa: B007
                yield _clip(_entry(raw, plain), path, origin, root or "")
    except ValueError as error:
        raise SetupError(f"{name}, line {number}: {error}" if number else f"{name}: {error}") from error


def _lines(path: Path, name: str, *, unnamed: bool = False) -> Iterator[tuple[int, bytes]]:
    """Yield number and text of the lines that name a clip, or of those alone that give it no name."""
    with open_regular(path) as file:
        number = 0
        while raw := file.readline(MAX_LINE + 1):
            number += 1
            if len(raw) > MAX_LINE:
                raise SetupError(f"{name}, line {number}: longer than {MAX_LINE // 2**20} MiB")
            text = raw.strip()
            if not text or text.startswith((b"#", b'{"listing_of"')) or (unnamed and b'"name"' in text):
                continue
            yield number, text


def _entry(raw: bytes, plain: bool) -> _Line:
    if plain:
        return _Line(raw.decode("utf-8"))
    try:
        return convert_json(_Line, raw)
    except ValueError as error:
        line = parse_json(raw)
        location = isinstance(line, dict) and next((line[name] for name in _LOCATION_FIELDS if line.get(name)), None)
        if not location:
            shown = masked(raw[: 100 * _SHOWN].decode("utf-8", "replace"))[:_SHOWN]
            raise ValueError(f"expected an object with uri but got {shown}") from error
        return convert(_Line, {**line, "uri": location})


def _clip(entry: _Line, path: Path, origin: str | None, root: str) -> ListedClip:
    uri = _location(entry.uri, path, origin)
    name, model = entry.name, entry.model
    if not name:
        location = safe_name(uri)
        below = location[len(root) :] if root else location.rpartition("://")[2]
        parts = tuple(below.strip("/").split("/"))
        name, model = "/".join(parts), model or models_of([parts], [])[0]
    prompt = None
    if entry.prompt is not None or entry.prompt_source is not None or entry.subject is not None or entry.tags:
        prompt = _prompt(entry.prompt, entry.prompt_source, entry.subject) if not entry.tags else PromptOf(
            entry.prompt, entry.subject, entry.prompt_source or "dataset", dict(entry.tags)
        )  # fmt: skip
    state = FileState(entry.bytes, int(entry.mtime_ns) if entry.mtime_ns else None, entry.etag)
    return ListedClip(uri, printable(name), model and sys.intern(printable(model)), state, prompt, entry.error)


@lru_cache(maxsize=4096)  # clips of one prompt follow one another
def _prompt(prompt: str | None, source: str | None, subject: Subject | None) -> PromptOf:
    return PromptOf(prompt, subject, source or ("dataset" if prompt else "none"))


def _common(first: str, second: str) -> str:
    """Return the folder that two have in common, empty where that is no more than a scheme.

    >>> _common("s3://bucket/wan", "s3://bucket/ltx/x"), _common("s3://a/x", "s3://b/x")
    ('s3://bucket', '')
    """
    if second == first or second.startswith(f"{first}/"):
        return first
    pairs = zip(first.split("/"), second.split("/"), strict=False)
    same = [mine for mine, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return "" if same[:1] and same[0].endswith(":") and len(same) < _HOST else "/".join(same)


def _location(location: str, path: Path, origin: str | None) -> str:
    """Return the address, or the absolute path, that a list names; relative ones are below the list's folder."""
    if "\0" in location or not location:
        raise ValueError("expected an address or a path")
    if "://" in location:
        scheme, _, rest = location.partition("://")
        return location if scheme.islower() else f"{scheme.lower()}://{rest}"
    if origin is None:
        try:
            return os.path.abspath(path.parent / Path(location).expanduser())  # noqa: PTH100 - links are kept
        except RuntimeError:
            raise ValueError(f"there is no home folder for {printable(location)[:_SHOWN]}") from None
    if location.startswith(("/", "~")) or ".." in location.split("/"):
        raise ValueError(f"a remote list cannot name a file of this machine: {printable(location)[:80]}")
    return f"{origin.rpartition('/')[0]}/{location}"


# The list that a run keeps of what it listed.


def write_manifest(path: Path, listing_of: Sequence[str], clips: Iterable[ListedClip]) -> None:
    """Write ``clips.jsonl`` in one step: a line on the listing, then one per clip.

    Raises:
        SetupError: It cannot be written.
    """
    header = {"listing_of": [safe_name(uri) for uri in listing_of], "listed": provenance.now()}
    with writing(path) as file:
        for line in chain([header], map(_line, clips)):  # one at a time: they may be millions
            text = json.dumps(line, **_SEPARATORS) + "\n"  # type: ignore[arg-type]
            file.write(text.encode("utf-8", "backslashreplace"))


def _line(clip: ListedClip) -> dict[str, Any]:
    prompt = clip.prompt or PromptOf(None, None, "none")
    subject = prompt.subject and {name: getattr(prompt.subject, name) for name in ("noun", "phrase", "source")}
    fields: dict[str, Any] = {
        "model": clip.model,
        "subject": subject,
        "tags": dict(prompt.tags) or None,
        "error": clip.error,
    }
    fields = {**(clip.state.to_record() or {}), **{name: value for name, value in fields.items() if value is not None}}
    return {"uri": clip.uri, "name": clip.name, **fields, "prompt": prompt.prompt, "prompt_source": prompt.source}


def listed_when(path: Path, listing_of: Sequence[str]) -> str | None:
    """Return when the list of a run directory was made; None where there is none, or it is of other folders."""
    try:
        with open_regular(path) as file:
            header = parse_json(file.readline(MAX_LINE))
        same = header["listing_of"] == [safe_name(uri) for uri in listing_of]
        return str(header["listed"]) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_manifest(path: str | os.PathLike[str]) -> bool:
    """Return True if a path or address is that of a list of clips."""
    name = safe_name(os.fspath(path)) if is_web(os.fspath(path)) else os.fspath(path)
    return name.lower().endswith(SUFFIXES) and not os.path.isdir(path)  # noqa: PTH112 - a text or a path
