"""Published checkpoints and their sources: the ``[[checkpoints]]`` of ``weights/manifest.toml``."""

from __future__ import annotations

import difflib
import hashlib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from vmmetrics.errors import SetupError, install

# Where the files lie that come with the package: inside an installed one, else in the checkout.

_PACKAGE = Path(__file__).parents[2]
_PACKAGED = _PACKAGE / "_data"
_CHECKOUT = _PACKAGE.parent

PROMPT_LISTS: Mapping[str, str] = {
    "library": "library.json", "core": "core.json", "core-300": "core-300.json", "mini": "mini.json",
    "pairs": "pairs.json",
}  # fmt: skip
"""Prompt lists that come with the package, by the name that commands take for them."""
RETIRED_LIST = "retired.json"
"""Prompts of earlier versions of them, with the index of the one that replaced each (``successor``)."""


def shipped_folder(name: str) -> Path:
    """Return the folder of shipped files: ``"weights"`` or ``"prompts"``."""
    packaged = _PACKAGED / name
    return packaged if packaged.is_dir() else _CHECKOUT / name


def shipped_list(name: str | os.PathLike[str]) -> Path:
    """Return the path of a shipped prompt list for its name (unless such a file exists), else the path itself.

    Raises:
        SetupError: It is a name without suffix, neither of a file nor of a list.
    """
    path = Path(name)
    file = PROMPT_LISTS.get(str(name))
    if file is None and path.name == str(name) and not path.suffix and not path.exists():
        raise SetupError(f"There is no file {name}, and no list of that name: {', '.join(PROMPT_LISTS)}")
    return path if file is None or path.is_file() else shipped_folder("prompts") / file


# The weights this project ships: where each file lies and whether it is the file we shipped.
#
# ``weights/manifest.toml`` is the one list of checkpoints: source, licence, size and SHA-256.


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One entry of the manifest.

    Attributes:
        name: Key of the file in the code.
        file: Path below the weights folder.
        used_by: Models that load it.
        source: Origin.
        licence: SPDX identifier.
        bytes: Size of the file.
        sha256: Hash of the file, hexadecimal.
    """

    name: str
    file: str
    used_by: tuple[str, ...]
    source: str
    licence: str
    bytes: int
    sha256: str


def weights_folder() -> Path:
    """Return the folder with the shipped weights: inside an installed package, else in the checkout."""
    return shipped_folder("weights")


@cache
def load_manifest() -> dict[str, WeightFile]:
    """Return the manifest's entries by name.

    Raises:
        SetupError: The manifest is not where the package expects it.
    """
    return {e["name"]: WeightFile(**{**e, "used_by": tuple(e["used_by"])}) for e in _entries("weights")}


def _entries(kind: str) -> list[dict[str, Any]]:
    path = weights_folder() / "manifest.toml"
    if not path.is_file():
        raise SetupError(f"{path} is missing; reinstall with: {install(options='--force-reinstall')}")
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))[kind]
    return entries


@cache
def weight_path(name: str) -> Path:
    """Return the path of a weight file whose size and hash are right.

    Args:
        name: Name in the manifest.

    Raises:
        KeyError: No such name.
        SetupError: The file is missing, truncated or altered.
    """
    entry = load_manifest()[name]
    path = weights_folder() / entry.file
    if not path.is_file():
        raise SetupError(f"weight file {path} is missing; reinstall with: {install(options='--force-reinstall')}")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 != entry.sha256:
        raise SetupError(
            f"weight file {path} has SHA-256 {sha256[:16]}… but {entry.sha256[:16]}… was expected: it is truncated or "
            f"altered; reinstall with: {install(options='--force-reinstall')}"
        )
    return path


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of a checkpoint, or several of a kind.

    Attributes:
        path: Name below the checkpoint's folder; may hold ``*`` where the publisher's file list decides.
        bytes: Its size where that is known.
        about: Size to reckon with where it is not.
        sha256: Its hash, hexadecimal, or the first digits where only those are published; None where nothing is.
        url: Address of a file that is not on the hub.
        optional: True if the checkpoint is complete without it.
    """

    path: str
    bytes: int | None = None
    about: int | None = None
    sha256: str | None = None
    url: str | None = None
    optional: bool = False

    @property
    def pattern(self) -> bool:
        """True if the name is a pattern for several files."""
        return "*" in self.path

    @property
    def size(self) -> int:
        """Bytes on disk, about."""
        return self.bytes or self.about or 0

    def matches(self, path: str) -> bool:
        """Return True if a file of this name belongs to it."""
        return fnmatchcase(path, self.path)


@dataclass(frozen=True, slots=True)
class Published:
    """A published checkpoint.

    Attributes:
        name: Its name, also that of its folder.
        sets: Names under which it is fetched with others.
        used_by: Model and metrics that need it.
        licence: SPDX identifier, or the address of the licence.
        hub: Repository on the Hugging Face hub, or None where the files have addresses of their own.
        revision: Commit of that repository, or its branch.
        notice: What a user should know before fetching it, or None.
        must_accept: True if the notice must be agreed to.
    """

    name: str
    sets: tuple[str, ...]
    used_by: str
    licence: str
    files: tuple[PublishedFile, ...]
    hub: str | None = None
    revision: str = "main"
    notice: str | None = None
    must_accept: bool = False

    @property
    def source(self) -> str:
        """Text of the source: repository and revision, or URLs."""
        return f"{self.hub}@{self.revision[:12]}" if self.hub else ", ".join(f.url or "" for f in self.files)

    @property
    def size(self) -> int:
        """Bytes on disk, about."""
        return sum(f.size for f in self.files)

    def described(self, path: str) -> PublishedFile | None:
        """Return the entry of the file ``path``; an exact name takes precedence over a pattern."""
        return min((f for f in self.files if f.matches(path)), key=lambda f: f.pattern, default=None)


@cache
def load_published() -> dict[str, Published]:
    """Return the published checkpoints by name, in the order of the manifest.

    Raises:
        SetupError: The manifest is not there.
    """
    return {
        e["name"]: Published(**{**e, "sets": tuple(e["sets"]), "files": tuple(PublishedFile(**f) for f in e["files"])})
        for e in _entries("checkpoints")
    }


def published(name: str) -> Published:
    """Return one checkpoint.

    Raises:
        SetupError: No such name; the text has the nearest one.
    """
    return select([name])[0]


def select(names: Iterable[str] | None = None) -> list[Published]:
    """Return the checkpoints of these names and sets, each once, in the order of the manifest; None for all.

    Raises:
        SetupError: A name is neither; the text has the nearest one.
    """
    checkpoints = load_published()
    chosen = set(checkpoints if names is None else names)
    sets = {s for entry in checkpoints.values() for s in entry.sets}
    for name in sorted(chosen - checkpoints.keys() - sets):
        near = difflib.get_close_matches(name, [*checkpoints, *sets], n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise SetupError(f"There is no checkpoint {name!r}; {hint}'vmmetrics weights list' names all")
    return [entry for entry in checkpoints.values() if entry.name in chosen or chosen.intersection(entry.sets)]


def is_inside(path: object) -> bool:
    r"""Return True if an untrusted file name is printable text that stays below the folder it is joined to.

    >>> is_inside("a/b.bin"), is_inside("../b.bin"), is_inside("/b.bin"), is_inside("\x1b]0;b.bin"), is_inside(3)
    (True, False, False, False, False)
    """
    if not isinstance(path, str) or not path.isprintable():
        return False
    parts = PurePosixPath(path)
    safe = not parts.is_absolute() and ".." not in parts.parts and bool(parts.parts)
    return safe and not any(c in path for c in "\\:\0") and not path.startswith("~")
