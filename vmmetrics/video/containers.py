"""Containers through PyAV: opened without following a name, the video stream in them, and its packets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vmmetrics.errors import ClipError, os_reason
from vmmetrics.utils.storage.opening import open_regular

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream


# Completeness of Matroska and WebM files by the sizes that their elements state (RFC 8794; RFC 9559, section 5).

_HEADER, _SEGMENT = 0x1A45DFA3, 0x18538067
_LONGEST_HEAD = 12  # bytes: an ID of up to 4 and a size of up to 8
_MAX_ELEMENTS = 500_000  # takes a second; a live file has as many in an hour, any other in a month
_MAX_PADDING = 16 * 2**20  # bytes


def check_whole(path: Path) -> None:
    """Refuse a Matroska or WebM file that ends within one of its elements; files of other kinds pass.

    Only the heads of elements are read, and no more than :data:`_MAX_ELEMENTS`. A live file states no sizes of its
    segment and clusters, and passes where it ends between two blocks, or zeros are put behind them.

    Raises:
        ClipError: The file is cut short, or something else stands where an element must begin.
        OSError: The file cannot be read.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        offset, end, live = 0, size, False  # the end is that of the segment once it is known
        for _ in range(_MAX_ELEMENTS):
            if offset >= end:
                return
            file.seek(offset)
            head = file.read(_LONGEST_HEAD)
            if offset == 0 and not head.startswith(_HEADER.to_bytes(4)):
                return
            element = _head(head)
            if element is None:
                if live and size - offset <= _MAX_PADDING:
                    file.seek(offset)
                    if not file.read().strip(b"\0"):
                        return  # a few zeros at most stand at the end
                if offset + len(head) < size:
                    raise ClipError(f"The file is damaged: no element begins at byte {offset}; save the clip again")
                raise ClipError(f"The file is cut short: it ends at byte {size}, within an element; copy it again")
            kind, body, length = element
            if kind == _HEADER and offset > 0:
                return  # another file follows one without a stated end
            offset += body
            if length is not None and offset + length > size:
                raise ClipError(f"The file is cut short: it ends at byte {size} of {offset + length}; copy it again")
            if kind == _SEGMENT:
                live = length is None
                end = size if length is None else offset + length
            elif length is not None:
                offset += length


def _head(data: bytes) -> tuple[int, int, int | None] | None:
    """Parse the head of an element.

    Returns:
        Its ID, the bytes of its head, and the bytes of its body, None where unknown; None for no or half a head.
    """
    kind = _number(data, 4)
    if kind is None:
        return None
    length = _number(data[kind[1] :], 8)
    if length is None:
        return None
    value, width = length
    mask = (1 << 7 * width) - 1  # the bits behind the marker of the width; all of them set: unknown
    return kind[0], kind[1] + width, None if value & mask == mask else value & mask


def _number(data: bytes, longest: int) -> tuple[int, int] | None:
    """Return a number of variable width, its marker kept, and its bytes; None where there is none."""
    if not data or not data[0]:
        return None
    width = 9 - data[0].bit_length()
    if width > longest or len(data) < width:
        return None
    return int.from_bytes(data[:width]), width


# Self-contained formats only: playlists and the like (concat, hls, sdp) would let a file make us open others.
_FORMATS = "mov,mp4,m4a,3gp,matroska,webm,avi,mpegts,mpeg,flv,ogg,asf,m4v,h264,hevc,ivf,obu,av1,yuv4mpegpipe,mxf,nut"


@contextmanager
def opened(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a container: it, and its first video stream that is no cover picture.

    FFmpeg is handed an open file rather than a name, so that no name is taken for a URL or pattern. Whatever it cannot
    make sense of becomes a ClipError.
    """
    import av
    from av.stream import Disposition

    with open_regular(path) as file:
        try:
            container: InputContainer = av.open(
                file, "r", options={"format_whitelist": _FORMATS, "protocol_whitelist": "file"}
            )
        except (av.FFmpegError, ValueError) as error:
            raise ClipError(f"Not a video file, or cut short: {os_reason(error)}") from error
        try:
            streams = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
            if not streams:
                kinds = sorted({stream.type for stream in container.streams})
                raise ClipError(f"Expected a video stream but the file holds {', '.join(kinds) or 'nothing'} only")
            yield container, streams[0]
        except av.FFmpegError as error:
            raise ClipError(f"The file is damaged: {os_reason(error)}") from error
        finally:
            container.close()


def packets_of(container: InputContainer, stream: VideoStream) -> Iterator[av.Packet[VideoStream]]:
    """Yield the packets of a stream, an empty one last.

    Raises:
        ClipError: The file holds a stream that its beginning does not announce, which PyAV cannot read past.
    """
    try:
        yield from container.demux(stream)
    except IndexError as error:
        raise ClipError("The file is damaged: it begins a stream that its header does not announce") from error
