"""Discovery of clips and Parquet files under the user's paths, safe with any symlinks, and their names."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from vmmetrics.errors import SetupError
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.video.folders import CLIP_SUFFIXES as CLIP_SUFFIXES
from vmmetrics.video.folders import frame_files, natural_key
from vmmetrics.video.locations import Location, locate
from vmmetrics.video.names import is_prompt_folder
from vmmetrics.video.prompt_lists import ListEntry, PromptList
from vmmetrics.video.shards import PackedClip, clip_names, packed_clips, row_number

_SHOWN_NAMES = 3  # names in a remark
_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*$)")
_LOOKED_AT = 10_000  # files of a folder without clips


@dataclass(frozen=True, slots=True)
class Source:
    """A clip that has been discovered and not yet read.

    Attributes:
        path: A file, a folder of frames, or a row of a Parquet file (``a.parquet#12``).
        name: Posix path relative to the root given; unique within one discovery.
        model: Model that made it, where clips lie in one folder per model or a Parquet file has it; else None.
        root: Folder that was searched, or None for a file the user named.
        prompt: Prompt in the Parquet file, or None.
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
    progress: Callable[[int], None] | None = None,
    limit: int | None = None,
    listing: bool = False,
) -> list[Source]:
    """Find the clips in files and folders, folders searched through.

    A folder of numbered pictures is one clip. Hidden files are skipped; a symlink to a file is listed under its own
    name, and one to a folder is searched once. A file named outright is always a clip.

    Args:
        paths: Files, folders, patterns (``"out/*.mp4"``) and data sets (``"hf://datasets/ORG/NAME"``); a path that
            exists comes first. With one folder, names are relative to it; where names from several would be equal, the
            folder's own name comes first.
        follow_links: True if symlinks to folders outside those given are searched.
        remarks: Receives texts on links that were skipped and clips outside the folders of models.
        progress: Called with the number of clips found so far in a folder.
        limit: Clips to fetch of each data set of the Hub, the first; None for all.
        listing: List the clips of such data sets without fetching them; a Parquet file then counts as one.

    Returns:
        The clips in natural order of their names, per path given; each path once.

    Raises:
        SetupError: A path does not exist, a pattern matches nothing, or a data set cannot be fetched.
    """
    notes = [] if remarks is None else remarks
    groups: list[list[Source]] = []
    for path in paths:
        location = locate(path, limit, listing=listing)
        if location.matches is not None:
            groups.append(_matched(location, Search(location.path, follow_links, notes, progress)))
        elif location.path.is_dir():
            groups.append(_in_folder(location.path, Search(location.path, follow_links, notes, progress)))
        elif location.path.suffix.lower() == ".parquet":
            groups.append(_in_shards([location.path], location.path.parent, notes))
        else:
            groups.append([Source(location.path, printable(location.path.name))])
    roots = {source.root.resolve() for group in groups for source in group if source.root is not None}
    if len(roots) > 1 and not any(source.model for group in groups for source in group):
        for group in groups:
            root = group[0].root if group else None
            if root is not None and group[0].path != root:
                group[:] = [replace(source, model=printable(root.resolve().name)) for source in group]
    return _unique(groups)


def no_clips(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Return a message that some paths have no clips: the other files there, and the suffixes of clips."""
    folders = [Path(path) for path in paths]
    suffixes = Counter(
        file.suffix.lower() or "no suffix"
        for folder in folders
        if folder.is_dir()
        for file in islice(folder.rglob("*"), _LOOKED_AT)
        if file.is_file()
    )
    others = ", ".join(f"{number} {suffix}" for suffix, number in suffixes.most_common(_SHOWN_NAMES))
    where = ", ".join(map(str, folders))
    return (
        f"no clips in {where}" + (f", only files with {others}" if others else "") + "; clips are files with "
        f"{', '.join(sorted(CLIP_SUFFIXES))}, folders of numbered pictures, and Parquet files with a column of videos"
    )


def _in_folder(root: Path, search: Search) -> list[Source]:
    search.walk(root)
    if not search.clips and not search.shards and frame_files(root):
        search.clips = [root]  # pictures without numbers, but named outright
    if search.clips == [root]:
        return [Source(root, printable(root.resolve().name), None, root)]
    return _named(root, search)


def _matched(location: Location, search: Search) -> list[Source]:
    for path in location.matches or ():
        if path.is_dir():
            search.walk(path)
        elif path.suffix.lower() == ".parquet" and path.is_file():
            search.shards.append(path)
        elif location.suffixed or (path.suffix.lower() in CLIP_SUFFIXES and not is_still_webp(path)):
            search.clips.append(path)
    search.clips = list(dict.fromkeys(search.clips))
    search.shards = list(dict.fromkeys(search.shards))
    return _named(location.path, search)


def _named(root: Path, search: Search) -> list[Source]:
    """Name what was found in a folder: clips by their path in it, with the first folder for the model."""
    clips = sorted(search.clips, key=lambda path: natural_key(path.relative_to(root).as_posix()))
    parts = [path.relative_to(root).parts for path in clips]
    models = models_of(parts, search.remarks)
    sources = [
        Source(path, printable("/".join(part)), None if model is None else printable(model), root)
        for path, part, model in zip(clips, parts, models, strict=True)
    ]
    return _in_shards(search.shards, root, search.remarks, sources)


def models_of(parts: Sequence[tuple[str, ...]], remarks: list[str]) -> list[str | None]:
    """Return the model of each clip of a folder: the first folder of its path in it, or None."""
    models = [part[0] if len(part) > 1 and not is_prompt_folder(part) else None for part in parts]
    model_names = list(dict.fromkeys(model for model in models if model is not None))
    stray = ["/".join(part) for part, model in zip(parts, models, strict=True) if model is None]
    if model_names and stray:
        remarks.append(
            f"{counted(stray, 'clip')} outside the {counted(model_names, 'model folder')}: scored without a model name"
        )
    return models


def _in_shards(files: Sequence[Path], root: Path, remarks: list[str], beside: Sequence[Source] = ()) -> list[Source]:
    """Name the clips of Parquet files, and take prompts and models of other clips from rows without bytes.

    Args:
        files: The files.
        root: Folder that was searched.
        remarks: Receives texts on skipped files.
        beside: Other clips that were found: where there are any, a file that cannot be read is skipped, and one
            with nothing but paths is a list of them.

    Returns:
        The other clips, then those of the files.

    Raises:
        SetupError: A file cannot be read.
    """
    packed: list[tuple[Path, PackedClip]] = []
    others = list(beside)
    for file in sorted(files, key=lambda file: natural_key(file.as_posix())):
        try:
            clips = packed_clips(file)
        except SetupError as error:
            if not beside:
                raise
            remarks.append(f"skipped: {error}")
            continue
        if beside and clips and clips[0].stated_only:
            others = _joined(others, clips, file, remarks)
        else:
            packed += [(file, clip) for clip in clips]
    numbered = [f"{file.relative_to(root).with_suffix('').as_posix()}/{row_number(clip.path)}" for file, clip in packed]
    names = clip_names([(clip.name, clip.model) for _, clip in packed], numbered)
    return others + [
        Source(clip.path, printable(name), clip.model and printable(clip.model), root, clip.prompt)
        for name, (_, clip) in zip(names, packed, strict=True)
    ]


def _joined(sources: Sequence[Source], rows: Sequence[PackedClip], file: Path, remarks: list[str]) -> list[Source]:
    """Give clips the prompts and models of the rows that name them, the first row on each."""
    rows = list({row.name: row for row in reversed(rows) if row.name}.values())[::-1]
    listed = PromptList([ListEntry(row.name or "", row.prompt, None, file.name, model=row.model) for row in rows])
    matches = [listed.find(source.name) for source in sources]
    if missing := [row.name or "" for position, row in enumerate(rows) if position not in matches]:
        remarks.append(f"{file.name}: no clip for {counted(missing, 'row')}")
    return [
        source
        if match is None
        else replace(source, prompt=rows[match].prompt or source.prompt, model=rows[match].model or source.model)
        for source, match in zip(sources, matches, strict=True)
    ]


def _unique(groups: list[list[Source]]) -> list[Source]:
    """Drop paths given twice and make equal names differ."""
    seen: set[Path] = set()
    sources: list[Source] = []
    for source in (source for group in groups for source in group):
        path = Path(os.path.abspath(source.path))  # noqa: PTH100 - links must not be followed here
        if path not in seen:
            seen.add(path)
            sources.append(source)
    for rename in (
        lambda source: f"{(source.root or source.path.parent).resolve().name}/{source.name}",
        lambda source: source.path.absolute().as_posix(),
    ):
        taken = Counter(source.name for source in sources)
        sources = [replace(s, name=printable(rename(s))) if taken[s.name] > 1 else s for s in sources]
    return sources


@dataclass
class Search:
    """Search of a folder that visits every file once, with any symlinks.

    Attributes:
        root: The folder.
        follow_links: True if symlinks to folders outside it are followed.
        remarks: Receives texts on links that were not.
        progress: Called with the number of clips so far.
        clips: Clips found, in no particular order.
        shards: Parquet files found.
    """

    root: Path
    follow_links: bool
    remarks: list[str]
    progress: Callable[[int], None] | None = None
    clips: list[Path] = field(default_factory=list)
    shards: list[Path] = field(default_factory=list)
    _visited: set[Path] = field(default_factory=set)
    _links: list[Path] = field(default_factory=list)

    def walk(self, folder: Path) -> None:
        """Search ``folder``: its own folders first, then the targets of symlinks."""
        self._take(folder)
        root, outside, circular = self.root.resolve(), [], []
        while self._links:
            link = self._links.pop(0)
            target = link.resolve()
            if target in self._visited or root.is_relative_to(target):
                circular.append(link.name)
            elif not self.follow_links and not target.is_relative_to(root):
                outside.append(link.name)
            else:
                self._take(link)
        if outside:
            self.remarks.append(f"{counted(outside, 'linked folder')} not searched: it leads out (--follow-links)")
        if circular:
            self.remarks.append(f"{counted(circular, 'linked folder')} not searched again: the link leads back here")

    def _take(self, folder: Path) -> None:
        for clip in self._walk(folder):
            self.clips.append(clip)
            if self.progress is not None:
                self.progress(len(self.clips))

    def _walk(self, folder: Path) -> Iterator[Path]:
        """Yield the clips under ``folder``, in no particular order; links to folders are put off."""
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
        stills = {entry for entry in visible if is_still_webp(entry)}
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


def is_still_webp(path: Path) -> bool:
    """Return True if a file is a WebP picture that does not move."""
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


def counted(names: Sequence[str], thing: str) -> str:
    """Return a count with the first few names.

    >>> counted(["a", "b", "c", "d"], "clip")
    '4 clips (a, b, c, ...)'
    """
    first = ", ".join(names[:_SHOWN_NAMES]) + (", ..." if len(names) > _SHOWN_NAMES else "")
    return f"{len(names)} {thing}{'s' * (len(names) > 1)} ({printable(first)})"


def printable(name: str) -> str:
    """Return ``name`` with bytes that are no UTF-8 escaped, so that it can be written to a record."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")
