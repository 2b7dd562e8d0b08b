"""Which clips lie under the paths a user gives, and what to call them."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.video.containers import open_regular
from vmmetrics.video.folders import CLIP_SUFFIXES as CLIP_SUFFIXES
from vmmetrics.video.folders import FRAME_SUFFIXES, frame_files, natural_key
from vmmetrics.video.names import is_prompt_folder
from vmmetrics.video.places import Location, locate
from vmmetrics.video.shards import PackedClip, packed_clips, row_of, sha256_of_row

_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*$)")
_SAID = 3  # names in a remark
_LOOKED_AT = 10_000  # files of a folder without clips


@dataclass(frozen=True, slots=True)
class Source:
    """A clip that has been found and not yet read.

    Attributes:
        path: Where it is: a file, a folder of frames, or a row of a Parquet file (``a.parquet#12``).
        name: Posix path relative to the root given; unique within one discovery.
        model: Which model made it, where clips lie in one folder per model or a Parquet file says so; else None.
        root: Folder that was searched, or None for a file the user named.
        prompt: What the Parquet file states, or None.
    """

    path: Path
    name: str
    model: str | None = None
    root: Path | None = None
    prompt: str | None = None


def discover(
    paths: Iterable[str | os.PathLike[str]],
    *,
    follow_links: bool = True,
    remarks: list[str] | None = None,
    found: Callable[[int], None] | None = None,
) -> list[Source]:
    """Find the clips in files and folders, folders searched through.

    A folder of numbered pictures is one clip. Hidden files are passed over; a symlink to a file is listed under its own
    name, and one to a folder is searched once. A file named outright is always a clip.

    Args:
        paths: Files, folders, patterns (``"out/*.mp4"``) and data sets (``"hf://datasets/ORG/NAME"``); a path that
            exists comes first. With one folder, names are relative to it; where names from several would be equal, the
            folder's own name comes first.
        follow_links: Whether symlinks to folders outside those given are searched.
        remarks: Takes what the user may not expect, in words: links passed over, clips beside the folders of models.
        found: Is called with the number of clips found so far in a folder.

    Returns:
        The clips in natural order of their names, per path given; each path once.

    Raises:
        SetupError: A path does not exist, a pattern matches nothing, or a data set cannot be fetched.
    """
    said = [] if remarks is None else remarks
    groups: list[list[Source]] = []
    for given in paths:
        place = locate(given)
        if place.matches is not None:
            groups.append(_matched(place, _Search(place.path, follow_links, said, found)))
        elif place.path.is_dir():
            groups.append(_in_folder(place.path, _Search(place.path, follow_links, said, found)))
        elif place.path.suffix.lower() == ".parquet":
            groups.append(_in_shards([place.path], place.path.parent, said))
        else:
            groups.append([Source(place.path, _printable(place.path.name))])
    roots = {source.root.resolve() for group in groups for source in group if source.root is not None}
    if len(roots) > 1 and not any(source.model for group in groups for source in group):
        for group in groups:
            root = group[0].root if group else None
            if root is not None and group[0].path != root:
                group[:] = [replace(source, model=_printable(root.resolve().name)) for source in group]
    return _unique(groups)


def no_clips(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Say that there is no clip in some paths, what is there, and what a clip would be."""
    given = [Path(path) for path in paths]
    suffixes = Counter(
        file.suffix.lower() or "no suffix"
        for folder in given
        if folder.is_dir()
        for file in islice(folder.rglob("*"), _LOOKED_AT)
        if file.is_file()
    )
    there = ", ".join(f"{number} {suffix}" for suffix, number in suffixes.most_common(_SAID))
    where = ", ".join(map(str, given))
    return (
        f"no clips in {where}" + (f", only files with {there}" if there else "") + "; clips are files with "
        f"{', '.join(sorted(CLIP_SUFFIXES))}, folders of numbered pictures, and Parquet files with a column of videos"
    )


def _in_folder(root: Path, search: _Search) -> list[Source]:
    search.walk(root)
    if not search.clips and not search.shards and frame_files(root):
        search.clips = [root]  # pictures without numbers, but named outright
    if search.clips == [root]:
        return [Source(root, _printable(root.resolve().name), None, root)]
    return _named(root, search)


def _matched(place: Location, search: _Search) -> list[Source]:
    for path in place.matches or ():
        if path.is_dir():
            search.walk(path)
        elif path.suffix.lower() == ".parquet":
            search.shards.append(path)
        elif place.suffixed or (path.suffix.lower() in CLIP_SUFFIXES and not _is_still_webp(path)):
            search.clips.append(path)
    search.clips = list(dict.fromkeys(search.clips))
    search.shards = list(dict.fromkeys(search.shards))
    return _named(place.path, search)


def _named(root: Path, search: _Search) -> list[Source]:
    """Name what was found in a folder: clips by their path in it, with the first folder for the model."""
    clips = sorted(search.clips, key=lambda path: natural_key(path.relative_to(root).as_posix()))
    parts = [path.relative_to(root).parts for path in clips]
    models = [part[0] if len(part) > 1 and not is_prompt_folder(part) else None for part in parts]
    named = list(dict.fromkeys(model for model in models if model is not None))
    stray = ["/".join(part) for part, model in zip(parts, models, strict=True) if model is None]
    if named and stray:
        search.remarks.append(
            f"{_some(stray, 'clip')} beside the {_some(named, 'model folder')}: without a model, the others keep theirs"
        )
    sources = [
        Source(path, _printable("/".join(part)), None if model is None else _printable(model), root)
        for path, part, model in zip(clips, parts, models, strict=True)
    ]
    return sources + _in_shards(search.shards, root, search.remarks, beside=bool(sources))


def _in_shards(files: Sequence[Path], root: Path, remarks: list[str], *, beside: bool = False) -> list[Source]:
    """Name the clips of Parquet files: as they call them where that tells them apart, else by file and row.

    Args:
        files: The files.
        root: Folder that was searched.
        remarks: Takes what was passed over, in words.
        beside: Whether there are other clips: then a file that cannot be read is passed over.

    Raises:
        SetupError: A file cannot be read.
    """
    packed: list[tuple[Path, PackedClip]] = []
    for file in sorted(files, key=lambda file: natural_key(file.as_posix())):
        try:
            packed += [(file, clip) for clip in packed_clips(file)]
        except SetupError as error:
            if not beside:
                raise
            remarks.append(f"passed over: {error}")
    forms: tuple[Callable[[Path, PackedClip], str | None], ...] = (
        lambda _, clip: clip.name,
        lambda _, clip: clip.name and clip.model and f"{clip.model}/{clip.name}",
    )
    for form in forms:
        names = [form(file, clip) for file, clip in packed]
        if all(names) and len(set(names)) == len(names):
            break
    else:
        names = [
            f"{file.relative_to(root).with_suffix('').as_posix()}/{row_number(clip.path)}" for file, clip in packed
        ]
    return [
        Source(clip.path, _printable(str(name)), clip.model and _printable(clip.model), root, clip.prompt)
        for name, (_, clip) in zip(names, packed, strict=True)
    ]


def row_number(path: Path) -> str:
    """Return the row of a clip in a Parquet file with six digits, so that names sort.

    >>> row_number(Path("train.parquet#12"))
    '000012'
    """
    return path.name.rpartition("#")[2].zfill(6)


def _some(names: Sequence[str], thing: str) -> str:
    """Name the first few of some things.

    >>> _some(["a", "b", "c", "d"], "clip")
    '4 clips (a, b, c, ...)'
    """
    first = ", ".join(names[:_SAID]) + (", ..." if len(names) > _SAID else "")
    return f"{len(names)} {thing}{'s' * (len(names) > 1)} ({_printable(first)})"


class _Search:
    """Goes through a folder once, however its symlinks run.

    Args:
        root: The folder.
        follow_links: Whether symlinks to folders outside it are followed.
        remarks: Takes which were not, in words.
        found: Is called with the number of clips found so far.

    Attributes:
        clips: Clips found, in no particular order.
        shards: Parquet files found.
        remarks: As given.
    """

    def __init__(
        self, root: Path, follow_links: bool, remarks: list[str], found: Callable[[int], None] | None = None
    ) -> None:
        self.clips: list[Path] = []
        self.shards: list[Path] = []
        self.remarks = remarks
        self._found = found
        self._root, self._follow = root.resolve(), follow_links
        self._visited: set[Path] = set()
        self._links: list[Path] = []

    def walk(self, folder: Path) -> None:
        """Take in what lies under ``folder``: its own folders first, then those that symlinks lead to."""
        self._take(folder)
        outside, circular = [], []
        while self._links:
            link = self._links.pop(0)
            target = link.resolve()
            if target in self._visited or self._root.is_relative_to(target):
                circular.append(link.name)
            elif not self._follow and not target.is_relative_to(self._root):
                outside.append(link.name)
            else:
                self._take(link)
        if outside:
            self.remarks.append(f"{_some(outside, 'linked folder')} not searched: it leads out (--follow-links)")
        if circular:
            self.remarks.append(f"{_some(circular, 'linked folder')} not searched again: the link leads back here")

    def _take(self, folder: Path) -> None:
        for clip in self._walk(folder):
            self.clips.append(clip)
            if self._found is not None:
                self._found(len(self.clips))

    def _walk(self, folder: Path) -> Iterator[Path]:
        """Clips under ``folder``, in no particular order; links to folders are put off."""
        resolved = folder.resolve()
        if resolved in self._visited:
            return
        self._visited.add(resolved)
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            yield folder  # so that its reading fails with the reason
            return
        visible = [entry for entry in entries if not entry.name.startswith(".")]
        folders = [entry for entry in visible if entry.is_dir()]
        stills = {entry for entry in visible if _is_still_webp(entry)}
        clips = [e for e in visible if e.suffix.lower() in CLIP_SUFFIXES and e not in folders and e not in stills]
        self.shards += [e for e in visible if e.suffix.lower() == ".parquet" and e not in folders]
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
            if entry.is_symlink():
                self._links.append(entry)
            else:
                yield from self._walk(entry)


def _is_still_webp(path: Path) -> bool:
    if path.suffix.lower() != ".webp":
        return False
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
# name; names that begin with a dot and symlinks that are no frames are left out. A row of a Parquet file: SHA-256 of
# the bytes in it, as of the file they came from. An array: SHA-256 of
# ``shape dtype LF`` and its bytes in C order, the timestamps behind them likewise.


def fingerprint(path: Path) -> str:
    """SHA-256 (hex) of a clip on disk.

    Raises:
        OSError: The file or folder cannot be read.
    """
    packed = row_of(path)
    if packed is not None:
        return sha256_of_row(*packed)
    if not path.is_dir():
        return _file_sha256(path)
    whole = hashlib.sha256()
    for file in _files(path):
        whole.update(os.fsencode(file.name) + b"\0" + _file_sha256(file).encode() + b"\n")
    return whole.hexdigest()


def is_there(path: Path) -> bool:
    """Tell whether a clip's file, folder, or the Parquet file it is in, exists."""
    packed = row_of(path)
    return path.is_file() or path.is_dir() or (packed is not None and packed[0].is_file())


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
    packed = row_of(path)
    files = _files(path) if path.is_dir() else [path if packed is None else packed[0]]
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
