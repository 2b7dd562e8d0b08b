"""Search for clips and Parquet files in a folder, safe with any symlinks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.video.folders import CLIP_SUFFIXES, frame_files

_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*$)")
_SHOWN_NAMES = 3  # names in a remark


class Search:
    """Search of a folder that visits every file once, with any symlinks.

    Args:
        root: The folder.
        follow_links: True if symlinks to folders outside it are followed.
        remarks: Receives texts on links that were not.
        progress: Called with the number of clips so far.

    Attributes:
        clips: Clips found, in no particular order.
        shards: Parquet files found.
        remarks: As given.
    """

    def __init__(
        self, root: Path, follow_links: bool, remarks: list[str], progress: Callable[[int], None] | None = None
    ) -> None:
        self.clips: list[Path] = []
        self.shards: list[Path] = []
        self.remarks = remarks
        self._progress = progress
        self._root, self._follow = root.resolve(), follow_links
        self._visited: set[Path] = set()
        self._links: list[Path] = []

    def walk(self, folder: Path) -> None:
        """Search ``folder``: its own folders first, then the targets of symlinks."""
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
            self.remarks.append(f"{some(outside, 'linked folder')} not searched: it leads out (--follow-links)")
        if circular:
            self.remarks.append(f"{some(circular, 'linked folder')} not searched again: the link leads back here")

    def _take(self, folder: Path) -> None:
        for clip in self._walk(folder):
            self.clips.append(clip)
            if self._progress is not None:
                self._progress(len(self.clips))

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


def some(names: Sequence[str], thing: str) -> str:
    """Return a count with the first few names.

    >>> some(["a", "b", "c", "d"], "clip")
    '4 clips (a, b, c, ...)'
    """
    first = ", ".join(names[:_SHOWN_NAMES]) + (", ..." if len(names) > _SHOWN_NAMES else "")
    return f"{len(names)} {thing}{'s' * (len(names) > 1)} ({printable(first)})"


def printable(name: str) -> str:
    """Return ``name`` with bytes that are no UTF-8 escaped, so that it can be written to a record."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")
