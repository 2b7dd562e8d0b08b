"""The one door for clips: whatever holds frames goes in, a :class:`~vmmetrics.clip.Clip` comes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from vmmetrics.clip import Clip, Subject
from vmmetrics.errors import ClipError, os_reason
from vmmetrics.types import FloatArray, Tags
from vmmetrics.video.arrays import load_npy, load_pt, read_arrays
from vmmetrics.video.budget import DEFAULT_MAX_MEMORY
from vmmetrics.video.containers import open_regular, opened, video_stream
from vmmetrics.video.files import read_video
from vmmetrics.video.folders import FRAME_SUFFIXES, check_headers, check_inside, read_animation, read_folder, sniff
from vmmetrics.video.pixels import Decoded, Limits, Sampling
from vmmetrics.video.sampled import read_sampled, thinned
from vmmetrics.video.subject import find_subject, subject_of_phrase
from vmmetrics.video.timing import check_fps, without_gaps

_ARRAY_SUFFIXES = {".npy": "npy", ".pt": "pt", ".pth": "pt"}
_ARRAY_HEADS = {"npy": (b"\x93NUMPY",), "pt": (b"PK\x03\x04", b"\x80")}  # pt: an archive, or pickles before torch 1.6

ASSUME_FPS = 8.0
"""Frames per second where a source states none: what most early text-to-video models wrote."""


def read_clip(
    source: Any,
    *,
    fps: float | None = None,
    assume_fps: float = ASSUME_FPS,
    layout: str | None = None,
    max_memory: int | None = None,
    name: str | None = None,
    prompt: str | None = None,
    subject: Subject | str | None = None,
    tags: Tags | None = None,
    root: str | os.PathLike[str] | None = None,
) -> Clip:
    """Read one clip.

    Args:
        source: Path of a video, GIF, APNG, WebP, ``.npy`` or ``.pt`` file or of a folder of frames; or a numpy array,
            torch tensor (any device), DLPack object, or sequence of frames.
        fps: Frames per second, whatever the source states.
        assume_fps: Frames per second where the source states none.
        layout: Axes of an array: T, H, W, C and B in any order, C and B optional (``"TCHW"``). Guessed where None.
        max_memory: Bytes the clip may take while it is scored, frames and perception; a clip that exceeds them is
            downscaled. Default 4 GiB.
        name: What to call it. Default: the file name, or ``"clip"``.
        prompt: Text it was generated from.
        subject: Who or what it is about. Default: found in the prompt by rule.
        tags: What is known of the motion asked for.
        root: Folder that symlinks must not lead out of; None follows them anywhere.

    Returns:
        The clip, every frame decoded.

    Raises:
        ClipError: The source cannot be read; the text says why.
        SetupError: Something must be installed to read this kind of source.
    """
    limits = _limits(fps, assume_fps, max_memory)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        decoded = _read_path(path, layout, limits, None if root is None else Path(root))
        name = name or path.name
    else:
        decoded = _single(read_arrays(source, layout, limits))
    decoded = replace(decoded, timing=without_gaps(decoded.timing))
    return _clip(decoded, name or "clip", prompt, subject, tags)


def sample_clip(
    path: Path,
    choose: Callable[[FloatArray, float], Sequence[int]],
    *,
    side: int | None = None,
    assume_fps: float = ASSUME_FPS,
    max_memory: int | None = None,
) -> Clip:
    """Read some frames of a clip, decoded as :func:`read_clip` does; a long video file is not held as a whole.

    Args:
        path: Any file or folder that :func:`read_clip` takes.
        choose: From the times of all frames, (T,) float64 seconds from the first, and the time at which the last one
            ends, to the indices of those that are wanted: at least one.
        side: Longer side in pixels that larger frames are made smaller to; None keeps their size.
        assume_fps: Frames per second where the source states none.
        max_memory: Bytes that the wanted frames may take; they are made smaller to fit. Default 4 GiB.

    Returns:
        The wanted frames at their times in the file; ``fps`` is the rate of the whole file.

    Raises:
        ClipError: The source cannot be read; the text says why.
        SetupError: Something must be installed to read this kind of source.
    """
    limits = replace(_limits(None, assume_fps, max_memory), sampling=Sampling(choose, side))
    return _clip(_read_path(path, None, limits, None), path.name, None, None)


def read_batch(
    source: Any,
    *,
    fps: float | None = None,
    assume_fps: float = ASSUME_FPS,
    layout: str | None = None,
    max_memory: int | None = None,
    name: str = "clip",
) -> list[Clip]:
    """Read every clip of an array with a batch axis; ``max_memory`` holds for each of them.

    Clips are called ``name[0]``, ``name[1]``, ...; other arguments and errors as for :func:`read_clip`.
    """
    clips = read_arrays(source, layout, _limits(fps, assume_fps, max_memory))
    return [_clip(decoded, f"{name}[{number}]", None, None) for number, decoded in enumerate(clips)]


def _limits(fps: float | None, assume_fps: float, max_memory: int | None) -> Limits:
    memory = DEFAULT_MAX_MEMORY if max_memory is None else max_memory
    if memory < 1:
        raise ClipError(f"Expected max_memory of at least one byte but got {memory}")
    return Limits(memory, check_fps(assume_fps), None if fps is None else check_fps(fps))


def _single(clips: list[Decoded]) -> Decoded:
    if len(clips) != 1:
        raise ClipError(f"Expected one clip but the batch holds {len(clips)}; read_batch reads them all")
    return clips[0]


def check_header(path: Path, root: Path | None = None) -> None:
    """Read as much of a file or folder as tells that it is a clip; only then may it be hashed.

    Args:
        path: Any file or folder that :func:`read_clip` takes.
        root: Folder that symlinks must not lead out of; None follows them anywhere.

    Raises:
        ClipError: It is no clip; the text says why.
    """
    with _reasons():
        kind = _kind(path, root)
        if kind == "folder":
            check_headers(path, root)
        elif kind == "video":
            with opened(path) as container:
                video_stream(container)


def _read_path(path: Path, layout: str | None, limits: Limits, root: Path | None) -> Decoded:
    with _reasons():
        kind = _kind(path, root)
        if kind == "video":
            return read_video(path, limits) if limits.sampling is None else read_sampled(path, limits, limits.sampling)
        if kind == "folder":
            decoded = read_folder(path, limits, root)
        elif kind in ("npy", "pt"):
            array = load_npy(path) if kind == "npy" else load_pt(path)
            decoded = _single(read_arrays(array, layout, limits))
        else:
            decoded = read_animation(path, kind, limits)
        return thinned(decoded, limits.sampling)


@contextmanager
def _reasons() -> Iterator[None]:
    """Turn what the system says of a path into a ClipError."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:  # unreadable, loops of symlinks, NUL in the name
        raise ClipError(f"The file cannot be opened: {os_reason(error)}") from error


def _kind(path: Path, root: Path | None) -> str:
    """Tell ``"folder"``, ``"npy"``, ``"pt"``, ``"video"`` or an animation (see :func:`sniff`) by the first bytes.

    Raises:
        ClipError: It can be none of them, or lies outside ``root``.
    """
    if root is not None:
        check_inside(path, root)
    if path.is_dir():
        return "folder"
    if not path.exists():
        reason = "symlink leads nowhere" if path.is_symlink() else "file does not exist"
        raise ClipError(f"The {reason}: {path}")
    if not path.is_file():
        raise ClipError("Expected a regular file or a folder")
    if path.stat().st_size == 0:  # files of /proc have no size either, and reading some of them waits
        raise ClipError("The file is empty")
    with open_regular(path) as file:
        head = file.read(16)
    suffix = path.suffix.lower()
    array = _ARRAY_SUFFIXES.get(suffix)
    if array is not None:
        if not head.startswith(_ARRAY_HEADS[array]):
            raise ClipError(f"The {suffix} file cannot be read: it does not begin as one; save the clip again")
        return array
    if suffix == ".npz":
        raise ClipError("An .npz archive can hold several arrays; save the frames as .npy")
    kind = sniff(head)  # content decides, not the name: GIFs called .mp4 are common
    if kind is None and (suffix in FRAME_SUFFIXES or head.startswith(b"\xff\xd8\xff")):
        raise ClipError("This is a still picture, not a clip; a clip made of pictures is a folder of them")
    return kind or "video"


def _clip(
    decoded: Decoded, name: str, prompt: str | None, subject: Subject | str | None, tags: Tags | None = None
) -> Clip:
    if isinstance(subject, str):
        subject = subject_of_phrase(subject, "option")
    if subject is None and prompt:
        subject = find_subject(prompt)
    return Clip(
        frames=decoded.frames,
        timestamps=decoded.timing.timestamps,
        fps=decoded.timing.fps,
        name=name,
        prompt=prompt,
        subject=subject,
        size=decoded.size,
        notes=(*decoded.timing.notes, *decoded.notes),
        tags=tags or {},
    )
