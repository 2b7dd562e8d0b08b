"""Local files and folders for the user's paths: expands ``~``, wildcards, and data sets of the Hub."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.errors import SetupError
from vmmetrics.video.hub import download, is_on_hub

_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Location:
    """Local path, or matches of a pattern.

    Attributes:
        path: A file or folder; of a pattern, the folder that its wildcards begin in.
        matches: Matches of a pattern, in no particular order; None where no wildcard was expanded.
        suffixed: True if the pattern has a suffix (``*.mp4``), so that every match is a clip.
    """

    path: Path
    matches: tuple[Path, ...] | None = None
    suffixed: bool = False


def locate(source: str | os.PathLike[str], limit: int | None = None, *, listing: bool = False) -> Location:
    """Resolve a user's path: an existing path comes first, then ``~``, the Hub, and wildcards.

    Args:
        source: The user's path, pattern or address.
        limit: Clips to fetch of a data set of the Hub, None for all.
        listing: List the clips of such a data set as matches instead.

    Raises:
        SetupError: There is nothing of that name, a pattern matches nothing, or a download failed.
    """
    text = os.fspath(source)
    if is_on_hub(text):
        target, listed = download(text, limit, listing=listing)
        return Location(target, listed, listed is not None)
    path = Path(source)
    if os.path.lexists(path):
        return Location(path)
    if text.startswith("~"):
        path = _at_home(path)
        if os.path.lexists(path):
            return Location(path)
    if _WILDCARD.search(text):
        return _expanded(path)
    raise SetupError(f"No such file or folder: {path}{_nearest(path)}")


def _at_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path


def _expanded(pattern: Path) -> Location:
    first = next(number for number, part in enumerate(pattern.parts) if _WILDCARD.search(part))
    root = Path(*pattern.parts[:first])
    if not root.is_dir():
        raise SetupError(f"No file matches {pattern}: there is no folder {root}")
    parts = pattern.parts[first:]
    if parts[-1] == "**":  # which pathlib takes for folders alone before Python 3.13
        parts = (*parts, "*")
    matches = tuple(path for path in _matching(root, parts) if path != root)
    if not matches:
        raise SetupError(f"No file matches {pattern}")
    return Location(root, matches, not _WILDCARD.search(pattern.suffix) and bool(pattern.suffix))


def _matching(root: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """Match like a shell: hidden names only if the pattern has the dot, and ``**`` follows no symlink."""
    hidden = any(part.startswith(".") for part in parts)
    try:
        for path in root.glob(str(Path(*parts))):
            if hidden or not any(part.startswith(".") for part in path.relative_to(root).parts):
                yield path
    except (ValueError, NotImplementedError, re.error) as error:  # "a**" and the like
        raise SetupError(f"{root / Path(*parts)} is not a valid pattern: {error}") from error


def _nearest(path: Path) -> str:
    """Return a hint on the missing folder of a relative path, or ""."""
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    missing = None if folder is None else path.relative_to(folder).parts
    return f" (there is no {missing[0]} in {folder.absolute()})" if folder and missing and len(missing) > 1 else ""


def pattern_name(path: Path) -> str:
    """Return the last part of a path without wildcards, to name a folder by."""
    plain = path.parts if os.path.lexists(path) else [part for part in path.parts if not _WILDCARD.search(part)]
    return plain[-1] if plain else "clips"
