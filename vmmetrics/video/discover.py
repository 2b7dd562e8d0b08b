"""Which clips lie under the paths a user gives, and what to call them."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.video.containers import open_regular
from vmmetrics.video.folders import FRAME_SUFFIXES, frame_files, natural_key

CLIP_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".webm", ".mov", ".avi", ".mkv", ".mpg", ".mpeg", ".ts", ".m2ts", ".flv", ".wmv", ".ogv", ".3gp"}
    | {".gif", ".apng", ".webp", ".npy", ".pt"}
)
"""Files in a folder that are taken for clips, whole or not; everything else in it is left alone."""

_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*$)")


@dataclass(frozen=True, slots=True)
class Source:
    """A clip that has been found and not yet read.

    Attributes:
        path: Where it is: a file, or a folder of frames.
        name: Posix path relative to the root given; unique within one discovery.
        model: Which model made it, where clips lie in one folder per model; else None.
        root: Folder that was searched, or None for a file the user named.
    """

    path: Path
    name: str
    model: str | None = None
    root: Path | None = None


def discover(paths: Iterable[str | os.PathLike[str]], found: Callable[[int], None] | None = None) -> list[Source]:
    """Find the clips in files and folders, folders searched through.

    A folder of numbered pictures is one clip. Hidden files and symlinks to folders are passed over; a symlink to a
    file is listed under its own name. A file named outright is always a clip.

    Args:
        paths: Files and folders. With one folder, names are relative to it; where names from several would be equal,
            the folder's own name comes first.
        found: Is called with the number of clips found so far in a folder.

    Returns:
        The clips in natural order of their names, per path given; each path once.

    Raises:
        SetupError: A path does not exist.
    """
    groups: list[list[Source]] = []
    for given in paths:
        path = Path(given)
        if path.is_dir():
            groups.append(_in_folder(path, found))
        elif path.exists() or path.is_symlink():
            groups.append([Source(path, _printable(path.name))])
        else:
            raise SetupError(f"No such file or folder: {path}")
    roots = {source.root.resolve() for group in groups for source in group if source.root is not None}
    if len(roots) > 1 and not any(source.model for group in groups for source in group):
        for group in groups:
            root = group[0].root if group else None
            if root is not None and group[0].path != root:
                group[:] = [replace(source, model=_printable(root.resolve().name)) for source in group]
    return _unique(groups)


def _in_folder(root: Path, found: Callable[[int], None] | None = None) -> list[Source]:
    clips: list[Path] = []
    for clip in _walk(root):
        clips.append(clip)
        if found is not None:
            found(len(clips))
    clips.sort(key=lambda p: natural_key(p.relative_to(root).as_posix()))
    if not clips and frame_files(root):
        clips = [root]  # pictures without numbers, but named outright
    if clips == [root]:
        return [Source(root, _printable(root.resolve().name), None, root)]
    parts = [path.relative_to(root).parts for path in clips]
    per_model = all(len(part) > 1 for part in parts)
    return [
        Source(path, _printable(path.relative_to(root).as_posix()), _printable(part[0]) if per_model else None, root)
        for path, part in zip(clips, parts, strict=True)
    ]


def _walk(folder: Path) -> Iterator[Path]:
    """Clips under ``folder``, in no particular order."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        yield folder  # so that its reading fails with the reason
        return
    visible = [entry for entry in entries if not entry.name.startswith(".")]
    folders = [entry for entry in visible if entry.is_dir()]
    stills = {entry for entry in visible if entry.suffix.lower() == ".webp" and _is_still_webp(entry)}
    clips = [e for e in visible if e.suffix.lower() in CLIP_SUFFIXES and e not in folders and e not in stills]
    if not clips:
        stems = [path.stem for path in frame_files(folder)]
        patterns = Counter(_NUMBER.sub("#", stem) for stem in stems if _NUMBER.search(stem))
        if patterns and max(patterns.values()) * 2 > len(stems):  # most pictures differ in nothing but one number
            yield folder
            return
    yield from clips
    if folder.suffix.lower() in CLIP_SUFFIXES and not clips and not folders:
        yield folder  # a folder that is named like a clip and holds none: the user will want to know
    for entry in folders:
        if not entry.is_symlink():
            yield from _walk(entry)


def _is_still_webp(path: Path) -> bool:
    try:
        with open_regular(path) as file:
            head = file.read(21)
    except OSError:
        return False
    if len(head) < 21 or head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return False
    return head[12:16] != b"VP8X" or not head[20] & 0x02  # the animation flag, RFC 9649 section 2.7


def _unique(groups: list[list[Source]]) -> list[Source]:
    """Drop paths given twice and make equal names differ."""
    seen: set[Path] = set()
    sources: list[Source] = []
    for source in (source for group in groups for source in group):
        place = Path(os.path.abspath(source.path))  # noqa: PTH100 - links must not be followed here
        if place not in seen:
            seen.add(place)
            sources.append(source)
    for rename in (
        lambda source: f"{(source.root or source.path.parent).resolve().name}/{source.name}",
        lambda source: source.path.absolute().as_posix(),
    ):
        taken = Counter(source.name for source in sources)
        sources = [replace(s, name=_printable(rename(s))) if taken[s.name] > 1 else s for s in sources]
    return sources


def _printable(name: str) -> str:
    """``name`` with bytes that are no UTF-8 escaped, so that it can be written to a record."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


# SHA-256 (hex) of the content of a clip: what makes a record valid for a file, whatever it is called.
#
# A file: SHA-256 of its bytes. A folder of frames: SHA-256 of the lines ``name NUL sha256 LF`` of its files, sorted by
# name; names that begin with a dot and symlinks that are no frames are left out. An array: SHA-256 of
# ``shape dtype LF`` and its bytes in C order, the timestamps behind them likewise.


def fingerprint(path: Path) -> str:
    """SHA-256 (hex) of a clip on disk.

    Raises:
        OSError: The file or folder cannot be read.
    """
    if not path.is_dir():
        return _file_sha256(path)
    whole = hashlib.sha256()
    for file in _files(path):
        whole.update(os.fsencode(file.name) + b"\0" + _file_sha256(file).encode() + b"\n")
    return whole.hexdigest()


def array_fingerprint(clip: Clip) -> str:
    """SHA-256 (hex) of a clip that was handed in as an array."""
    whole = hashlib.sha256()
    for array in (clip.frames, clip.timestamps):
        whole.update(f"{array.shape} {array.dtype}\n".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


def state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and modification times: a cheap test whether a clip was written to in the meantime.

    Raises:
        OSError: The file or folder cannot be read.
    """
    files = _files(path) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files]
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def _files(folder: Path) -> list[Path]:
    files = [f for f in folder.iterdir() if f.is_file() and not f.name.startswith(".")]
    # The reader has looked into the frames alone; other symlinks are not hashed.
    ours = (f for f in files if not f.is_symlink() or f.suffix.lower() in FRAME_SUFFIXES)
    return sorted(ours, key=lambda f: f.name)


def _file_sha256(path: Path) -> str:
    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:  # so do files of /proc say, and reading some of them waits
            return hashlib.sha256().hexdigest()
        return hashlib.file_digest(file, "sha256").hexdigest()
