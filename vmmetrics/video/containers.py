"""Containers through PyAV: opened without following a name, the video stream in them, and its packets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vmmetrics.errors import ClipError, os_reason
from vmmetrics.video.opening import open_regular

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

# Self-contained formats only: playlists and the like (concat, hls, sdp) would let a file make us open others.
_FORMATS = "mov,mp4,m4a,3gp,matroska,webm,avi,mpegts,mpeg,flv,ogg,asf,m4v,h264,hevc,ivf,obu,av1,yuv4mpegpipe,mxf,nut"


@contextmanager
def opened(path: Path) -> Iterator[InputContainer]:
    """Open a container; whatever FFmpeg cannot make sense of becomes a ClipError.

    FFmpeg is handed an open file rather than a name, so that no name is taken for a URL or pattern.
    """
    import av

    with open_regular(path) as file:
        try:
            container: InputContainer = av.open(
                file, "r", options={"format_whitelist": _FORMATS, "protocol_whitelist": "file"}
            )
        except (av.FFmpegError, ValueError) as error:
            raise ClipError(f"Not a video file that can be read, or cut short: {os_reason(error)}") from error
        try:
            yield container
        except av.FFmpegError as error:
            raise ClipError(f"The file is damaged: {os_reason(error)}") from error
        finally:
            container.close()


def video_stream(container: InputContainer) -> VideoStream:
    """The first video stream that is no cover picture.

    Raises:
        ClipError: There is none.
    """
    from av.stream import Disposition

    streams = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    if not streams:
        kinds = sorted({stream.type for stream in container.streams})
        raise ClipError(f"Expected a video stream but the file holds {', '.join(kinds) or 'nothing'} only")
    return streams[0]


def packets_of(container: InputContainer, stream: VideoStream) -> Iterator[av.Packet[VideoStream]]:
    """Yield the packets of a stream, an empty one last.

    Raises:
        ClipError: The file holds a stream that its beginning does not announce, which PyAV cannot read past.
    """
    try:
        yield from container.demux(stream)
    except IndexError as error:
        raise ClipError("The file is damaged: it begins a stream that its header does not announce") from error
