"""Videos of a report: linked, copied or transcoded so that every browser plays exactly the frames that were scored."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePath
from typing import Literal
from urllib.parse import quote

from vmmetrics.errors import ClipError, explain, os_reason
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.scored_clip import unchanged
from vmmetrics.utils.storage.addresses import address_of
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.video.containers import opened
from vmmetrics.video.content import file_state, fingerprint, is_there, state
from vmmetrics.video.encoding import is_transcode, to_ticks, transcode
from vmmetrics.video.pixels import TRANSPARENT
from vmmetrics.video.timing import is_retimed
from vmmetrics.viewer.texts import legible

Mode = Literal["link", "copy", "transcode"]
FOLDER = "media"
"""Folder of the report."""

_PLAYABLE = {
    ".mp4": ("h264", "vp9", "av1"),
    ".m4v": ("h264", "vp9", "av1"),
    ".webm": ("vp8", "vp9", "av1"),
}
"""Codecs that browsers play, by suffix of the file."""
_SHOWN_OTHERWISE = ("before the first key frame cannot be decoded", TRANSPARENT, "mirrored as the file states")
"""Ends of the reader's notes on files of which a browser shows other pictures."""
_PLAIN_PROFILES = (66, 77, 88, 100)  # of H.264: Baseline, Main, Extended, High, all of 8 bits and 4:2:0
_PLAIN_FORMATS = ("yuv420p", "yuvj420p")
_MOST_INDEX_BYTES = 16 * 2**20  # of an MP4
_NAME_DIGITS = 16
_VERSION = "vmmetrics transcode 1"


@dataclass(frozen=True, slots=True)
class Placed:
    """Place of a clip's video: exactly one of the three is set.

    Attributes:
        url: Percent-encoded URL relative to ``index.html``.
        base: Position in :attr:`MediaFolder.bases` of the folder that the clip's name completes to its URL.
        reason: Reason why there is no video.
    """

    url: str | None = None
    base: int | None = None
    reason: str | None = None


class MediaFolder:
    """Videos of the report that is being written.

    Args:
        target: Where the report will lie; links are relative to it.
        folder: Where it is being written.
        mode: ``"link"`` leaves playable files where they are and transcodes the others, ``"copy"`` copies playable
            ones, ``"transcode"`` transcodes all.
        previous: An earlier report, whose transcodes of the same clips are taken over; None for none.
        fetch: Contact the addresses that runs name.

    Attributes:
        fetch: As given.
        bases: Folders of linked videos: percent-encoded URLs relative to ``index.html`` that end in ``/``.
    """

    def __init__(
        self, target: Path, folder: Path, mode: Mode = "link", previous: Path | None = None, *, fetch: bool = False
    ) -> None:
        self.bases: list[str] = []
        self.fetch = fetch
        self._target, self._folder, self._mode, self._previous = target.absolute(), folder / FOLDER, mode, previous
        self._numbers: dict[str, int] = {}  # of folders in bases
        self._names: dict[tuple[str, str, str], str] = {}  # of files, by hash, suffix and kind

    def place(self, record: Record) -> Placed:
        """Return the place of a clip's video, copied or transcoded where necessary; what fails is a reason."""
        try:
            return self._place(record)
        except ClipError as error:
            return Placed(reason=str(error))
        except Exception as error:  # decoders and encoders raise whatever the damage provokes
            return Placed(reason=f"the video cannot be transcoded: {explain(error)}")

    def _place(self, record: Record) -> Placed:
        if record.error is not None:
            raise ClipError("the clip could not be scored")
        if record.path is None or record.sha256 is None:
            raise ClipError("the clip was handed in as an array: the run keeps no frames")
        if address_of(record.path) is None:
            return self._placed(record, record.path)
        if self._mode == "link" or not self.fetch:
            raise ClipError("the clip is on a server: --media copy --fetch takes it along")
        with unchanged(record, fetch=True) as path:
            return self._placed(record, str(path))

    def _placed(self, record: Record, path: str) -> Placed:
        file = Path(path)
        if path == record.path:
            check_unchanged(record, file)
        if self._mode == "transcode" or not is_playable(record, file):
            return self._transcoded(record, file)
        if self._mode == "link":
            return self._linked(record, path)
        return self._stored(record, file.suffix.lower(), "copy", lambda target: _copy(file, target))

    def _linked(self, record: Record, path: str) -> Placed:
        path = PurePath(path).as_posix()
        plain = not {"", ".", ".."} & set(record.clip.split("/")) and legible(record.clip) == record.clip
        if plain and path.endswith(f"/{record.clip}"):
            root = path.removesuffix(record.clip)
            if root not in self._numbers:
                self.bases.append(self._relative(root) + "/")
                self._numbers[root] = len(self.bases) - 1
            return Placed(base=self._numbers[root])
        return Placed(url=self._relative(path))

    def _relative(self, path: str) -> str:
        try:
            relative = os.path.relpath(path, self._target)
        except ValueError as error:  # Windows
            raise ClipError("the video is on another drive than the report: --media copy takes it along") from error
        return quote(os.fsencode(PurePath(relative).as_posix()))

    def _transcoded(self, record: Record, file: Path) -> Placed:
        ticks = ticks_of(record)
        times = hashlib.sha256(repr(ticks).encode()).hexdigest()[:16]
        comment = f"{_VERSION} {record.sha256} {times}"

        def make(path: Path) -> None:
            earlier = None if self._previous is None else self._previous / FOLDER / path.name
            if earlier is not None and is_transcode(earlier, comment, len(ticks)):
                _copy(earlier, path)
            else:
                transcode(file, path, ticks, comment)

        return self._stored(record, ".mp4", times, make)

    def _stored(self, record: Record, suffix: str, kind: str, make: Callable[[Path], None]) -> Placed:
        """Make a file of the report once for all clips of equal content."""
        key = (str(record.sha256), suffix, kind)
        if key not in self._names:
            stem = key[0][:_NAME_DIGITS]
            names = (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}" for number in count(1))
            name = next(name for name in names if name not in self._names.values())
            self._folder.mkdir(exist_ok=True)
            make(self._folder / name)
            self._names[key] = name
        return Placed(url=f"{FOLDER}/{self._names[key]}")


def check_unchanged(record: Record, path: Path) -> None:
    """Check that a clip is still what was scored: by size and time, by its content where these differ.

    Raises:
        ClipError: It is gone, unreadable or changed.
    """
    try:
        if not path.is_absolute() or not is_there(path):
            raise ClipError("the video is no longer where it was scored")
        now, then = file_state(state(path)), record.state or {}
        if now == then:
            return
        if now["bytes"] != then.get("bytes", now["bytes"]) or fingerprint(path) != record.sha256:
            raise ClipError("the video has changed since it was scored")
    except OSError as error:
        raise ClipError(f"the video cannot be read: {os_reason(error)}") from error


def is_playable(record: Record, path: Path) -> bool:
    """Return True if every browser plays a file, and its frames at the times that were scored.

    Args:
        record: The clip; its codec is read from the file where it is unknown.
        path: The file.
    """
    codecs = _PLAYABLE.get(path.suffix.lower())
    if codecs is None or is_retimed(record.notes) or any(note.endswith(_SHOWN_OTHERWISE) for note in record.notes):
        return False
    if record.codec not in (None, *codecs) or not path.is_file():
        return False
    if record.codec not in (None, "h264"):
        return True
    if "h264" in codecs and _h264_profile(path) in _PLAIN_PROFILES:
        return True
    with opened(path) as (_, stream):
        context = stream.codec_context
        codec = None if context is None else context.codec.canonical_name
        return codec in codecs and (codec != "h264" or context.pix_fmt in _PLAIN_FORMATS)


def _h264_profile(path: Path) -> int | None:
    """Return the profile in the index of an MP4, which is read in a fiftieth of the time of FFmpeg; None without."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        offset = 0
        while offset < size:
            file.seek(offset)
            head = file.read(16)
            length, kind = int.from_bytes(head[:4]), head[4:8]
            if length == 1:
                length = int.from_bytes(head[8:])
            if kind == b"moov":
                index = file.read(min(length or size, _MOST_INDEX_BYTES))
                at = index.find(b"avcC")  # then its version and the profile
                return index[at + 5] if 0 <= at < len(index) - 5 else None
            if length < len(head) / 2:
                return None
            offset += length
    return None


def ticks_of(record: Record) -> list[int]:
    """Return the times of a clip's frames in units of 1/90000 s, ascending.

    Raises:
        ClipError: The record does not state them.
    """
    if record.frames is None or record.fps is None:
        raise ClipError("the run does not state the times of the frames")
    seconds: Sequence[float] = [frame / record.fps for frame in range(record.frames)]
    if record.timestamps is not None and len(record.timestamps) == record.frames:
        seconds = record.timestamps
    return to_ticks(seconds)


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
