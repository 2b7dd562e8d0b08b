"""Reading of clips from any source into a :class:`~vmmetrics.clip.Clip`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.clip import Clip, Subject
from vmmetrics.errors import ClipError, os_reason
from vmmetrics.types import FloatArray, Tags
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.video import folders
from vmmetrics.video.arrays import array_frames, load_npy, load_pt
from vmmetrics.video.budget import DEFAULT_MAX_MEMORY, SizePlan, check_size
from vmmetrics.video.containers import opened, packets_of
from vmmetrics.video.files import Decoder, Index, Plan, check_index, decode, index_of, read_video, stated_rate
from vmmetrics.video.pixels import Decoded, Frames, Limits, Sampling
from vmmetrics.video.shards import local_file
from vmmetrics.video.subject import subject_of
from vmmetrics.video.timing import Timing, check_fps, without_gaps

_MEASURED_BYTES = 5
"""Bytes per pixel of clips that are shrunk to be measured: RGB, grey levels, and what finds cuts holds at its peak."""

# Some frames of a video file by their times: what lies between is not kept, nor, where it can be, decoded.


def read_sampled(path: Path, limits: Limits, sampling: Sampling) -> Decoded:
    """Decode the frames of the first video stream that are chosen by their times.

    Files whose packets state all their times are decoded from the key frame before each chosen frame; others, and those
    where that does not lead to the frames, from the beginning, twice: for the times, then for the frames.

    Returns:
        The chosen frames at their times in the file; the rate is that of the whole file.

    Raises:
        ClipError: As :func:`vmmetrics.video.files.read_video`; damage outside of what has to be decoded is not found.
    """
    index = index_of(path)
    notes = check_index(index)
    times = sorted(set(index.stated_times))
    timed = len(times) == len(index.pts) and not index.sequential
    if sampling.choose is None:
        return _shrunk(path, index, limits, sampling, notes, timed=timed)
    if timed:
        with opened(path) as (_, stream):
            timing = limits.timing([*times], stated_rate(stream))
        chosen = _choose(timing, sampling)
        plan = _plan(len(chosen), limits, sampling)
        try:
            decoder = _from_key_frames(path, index, {times[number] for number in chosen}, plan)
        except ClipError:
            pass  # an unusual stream, or a damaged one: reading all of it tells
        else:
            if decoder.num_frames == len(chosen):
                return _decoded(decoder, timing, chosen, notes)
    return _from_beginning(path, index, limits, sampling, notes)


def _shrunk(
    path: Path, index: Index, limits: Limits, sampling: Sampling, notes: Sequence[str], *, timed: bool
) -> Decoded:
    """Decode all frames, or those that others refer to where the packets state all times, shrunk on the way."""
    reference = sampling.reference and timed and limits.fps is None
    plan = _plan(len(index.pts), limits, sampling)
    decoder, rate = decode(path, index, plan, shrink=True, reference=reference)
    if not reference or not decoder.times:
        notes = [*notes, *decoder.finish()]
    timing = limits.timing(index.shown_at(decoder.times), rate)
    if len(decoder.times) < len(index.pts) and reference:
        timing = replace(timing, fps=limits.timing([*index.stated_times], rate).fps)
        notes = [*notes, f"{len(decoder.times)} of {len(index.pts)} frames decoded: those that others refer to"]
    return Decoded(decoder.store.frames, timing, decoder.size, (*notes, *decoder.notes), index.codec)


def _read_frames(frames: Frames, limits: Limits) -> Decoded:
    """Decode the chosen frames of another source, or all of them."""
    sampling = limits.sampling
    if sampling is None:
        return frames.read(limits)

    def choose() -> tuple[Sequence[int], SizePlan]:
        every = range(len(frames.timing.timestamps))
        chosen = every if sampling.choose is None else _choose(frames.timing, sampling)
        return chosen, _plan(len(chosen), limits, sampling)(*frames.size)

    return frames.read(limits, choose)


def _from_key_frames(path: Path, index: Index, times: set[float], plan: Plan) -> Decoder:
    groups, needed = _groups(path, times)
    with opened(path) as (container, stream):
        decoder = Decoder(stream, index, plan, lambda _, time: time in times)
        before: int | None = None  # group that the last packet which was fed is of
        for number, packet in enumerate(packets_of(container, stream)):
            group = groups[number] if number < len(groups) else -1
            if before is not None and group != before and group not in needed:
                decoder.feed(None)
                decoder.restart()
                before = None
            if group in needed:
                decoder.feed(packet)
                before = group
        if before is not None:
            decoder.feed(None)
    return decoder


def _groups(path: Path, times: set[float]) -> tuple[list[int], set[int]]:
    """Return the group of packets (begun by a key frame) of each packet, and the groups that the chosen frames need.

    A frame that is shown before the key frame of its group may also need the group before.
    """
    groups: list[int] = []
    needed: set[int] = set()
    key_time: float | None = None
    group = 0
    with opened(path) as (container, stream):
        for packet in packets_of(container, stream):
            time = None if packet.pts is None or stream.time_base is None else float(packet.pts * stream.time_base)
            if packet.is_keyframe and packet.size:
                group += bool(groups)
                key_time = time
            groups.append(group)
            if packet.size and not packet.is_discard and time in times:
                needed.add(group)
                if group and key_time is not None and time is not None and time < key_time:
                    needed.add(group - 1)
    return groups, needed


def _from_beginning(path: Path, index: Index, limits: Limits, sampling: Sampling, notes: Sequence[str]) -> Decoded:
    every, rate = decode(path, index, _plan(1, limits, sampling), lambda *_: False)
    notes = [*notes, *every.finish()]
    timing = limits.timing(index.shown_at(every.times), rate)
    chosen = _choose(timing, sampling)
    numbers, plan = set(chosen), _plan(len(chosen), limits, sampling)
    decoder, _ = decode(path, index, plan, lambda number, _: number in numbers, chosen[-1])
    if decoder.num_frames != len(chosen):
        raise ClipError(f"Only {decoder.num_frames} of {len(chosen)} chosen frames could be decoded")
    return _decoded(decoder, timing, chosen, notes)


def _decoded(decoder: Decoder, timing: Timing, chosen: Sequence[int], notes: Sequence[str]) -> Decoded:
    return Decoded(decoder.store.frames, _at(timing, chosen), decoder.size, (*notes, *decoder.notes))


def _choose(timing: Timing, sampling: Sampling) -> list[int]:
    assert sampling.choose is not None  # noqa: S101  (all frames are not chosen one by one)
    stamps: FloatArray = timing.timestamps
    step = float(np.median(np.diff(stamps))) if len(stamps) > 1 else 1 / timing.fps
    return sorted(set(sampling.choose(stamps, float(stamps[-1]) + step)))


def _at(timing: Timing, chosen: Sequence[int]) -> Timing:
    return Timing(timing.timestamps[list(chosen)], timing.fps, timing.notes)


def _plan(count: int, limits: Limits, sampling: Sampling) -> Plan:
    """Return the sizes that keep so many frames within memory; nothing is held but chosen frames, or their measures."""
    each = _MEASURED_BYTES if sampling.choose is None else 3

    def plan(width: int, height: int) -> SizePlan:
        check_size(width, height)
        full = _fitted(width, height, sampling.side)
        share = limits.max_memory / (count * full[0] * full[1] * each)
        stored = full if share >= 1 else (max(1, int(full[0] * share**0.5)), max(1, int(full[1] * share**0.5)))
        return SizePlan(count, full, stored, limits.max_memory)

    return plan


def _fitted(width: int, height: int, side: int | None) -> tuple[int, int]:
    if side is None or max(width, height) <= side:
        return width, height
    return max(1, round(width * side / max(width, height))), max(1, round(height * side / max(width, height)))


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
    value_range: tuple[float, float] | None = None,
    max_memory: int | None = None,
    name: str | None = None,
    prompt: str | None = None,
    subject: Subject | str | None = None,
    tags: Tags | None = None,
    root: str | os.PathLike[str] | None = None,
    sampling: Sampling | None = None,
) -> Clip:
    """Read one clip.

    Args:
        source: Path of a video, GIF, APNG, WebP, ``.npy`` or ``.pt`` file, of a folder of frames or of a row of a
            Parquet file (``a.parquet#12``); or a numpy array, torch tensor (any device), DLPack object, or sequence of
            frames.
        fps: Frames per second, whatever the source states.
        assume_fps: Frames per second where the source states none.
        layout: Axes of an array: T, H, W, C and B in any order, C and B optional (``"TCHW"``). Guessed where None.
        value_range: What black and white are in an array of floats. Default: 0 and 1, or -1 and 1 where there are
            values below 0.
        max_memory: Bytes the clip may take while it is scored, frames and perception; a clip that exceeds them is
            downscaled. Default 4 GiB.
        name: Name of the clip. Default: the file name, or ``"clip"``.
        prompt: Text it was generated from.
        subject: Subject of the clip. Default: taken from the prompt by rule.
        tags: Tags on the expected motion.
        root: Folder that symlinks must not lead out of; None follows them anywhere.
        sampling: Frames to read, and their size; None reads all as they are.

    Returns:
        The clip, every frame decoded unless ``sampling`` says otherwise.

    Raises:
        ClipError: The source cannot be read; the text says why.
        SetupError: Something must be installed to read this kind of source.
    """
    limits = replace(limits_of(fps, assume_fps, max_memory), sampling=sampling)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        decoded = _read_path(path, layout, limits, None if root is None else Path(root))
        name = name or path.name
    else:
        decoded = _read_frames(_single(array_frames(source, layout, limits, value_range)), limits)
    decoded = replace(decoded, timing=without_gaps(decoded.timing))
    return _clip(decoded, name or "clip", prompt, subject, tags)


def sample_clip(
    path: Path,
    choose: Callable[[FloatArray, float], Sequence[int]],
    *,
    side: int | None = None,
    max_memory: int | None = None,
) -> Clip:
    """Read some frames of a clip, decoded as :func:`read_clip` does; a long video file is not held as a whole.

    Args:
        path: Any file or folder that :func:`read_clip` takes.
        choose: From the times of all frames, (T,) float64 seconds from the first, and the time at which the last one
            ends, to the indices of the frames to read: at least one.
        side: Longer side in pixels that larger frames are made smaller to; None keeps their size.
        max_memory: Bytes that the chosen frames may take; they are downscaled to fit. Default 4 GiB.

    Returns:
        The chosen frames at their times in the file; ``fps`` is the rate of the whole file.

    Raises:
        ClipError: The source cannot be read; the text says why.
        SetupError: Something must be installed to read this kind of source.
    """
    limits = replace(limits_of(None, ASSUME_FPS, max_memory), sampling=Sampling(choose, side))
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
    limits = limits_of(fps, assume_fps, max_memory)
    clips = array_frames(source, layout, limits)
    return [_clip(frames.read(limits), f"{name}[{number}]", None, None) for number, frames in enumerate(clips)]


def limits_of(fps: float | None, assume_fps: float, max_memory: int | None) -> Limits:
    """Return the limits of options of :func:`read_clip`.

    Raises:
        ClipError: One is out of range.
    """
    memory = DEFAULT_MAX_MEMORY if max_memory is None else max_memory
    if memory < 1:
        raise ClipError(f"Expected max_memory of at least one byte but got {memory}")
    return Limits(memory, check_fps(assume_fps), None if fps is None else check_fps(fps))


def _single(clips: list[Frames]) -> Frames:
    if len(clips) != 1:
        raise ClipError(f"Expected one clip but the batch holds {len(clips)}; read_batch reads them all")
    return clips[0]


def check_header(path: Path, root: Path | None = None) -> None:
    """Check by the first bytes of a file or folder that it is a clip, before it is hashed.

    Args:
        path: Any file or folder that :func:`read_clip` takes.
        root: Folder that symlinks must not lead out of; None follows them anywhere.

    Raises:
        ClipError: It is not a clip; the text says why.
    """
    with reasons(), local_file(path, root) as (path, root):
        kind = kind_of(path, root)
        if kind == "folder":
            for file in folders.frames_of(path, root):
                with folders.opened_picture(file):
                    pass
        elif kind == "video":
            with opened(path):
                pass


def _read_path(path: Path, layout: str | None, limits: Limits, root: Path | None) -> Decoded:
    with reasons(), local_file(path, root) as (path, root):
        kind = kind_of(path, root)
        if kind == "video":
            return read_video(path, limits) if limits.sampling is None else read_sampled(path, limits, limits.sampling)
        return _read_frames(frames_of(path, kind, layout, limits, root), limits)


def frames_of(path: Path, kind: str, layout: str | None, limits: Limits, root: Path | None) -> Frames:
    """Return the frames of a file or folder that is no video.

    Args:
        path: The path.
        kind: What :func:`kind_of` said.
        layout: Axes of an array.
        limits: Limits.
        root: Folder that symlinks must not lead out of.

    Raises:
        ClipError: It is damaged.
    """
    if kind == "folder":
        return folders.folder_frames(path, limits, root)
    if kind in ("npy", "pt"):
        return _single(array_frames(load_npy(path) if kind == "npy" else load_pt(path), layout, limits))
    return folders.animation_frames(path, kind, limits)


@contextmanager
def reasons() -> Iterator[None]:
    """Convert the system's errors on a path into a ClipError."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:  # unreadable, loops of symlinks, NUL in the name
        raise ClipError(f"The file cannot be opened: {os_reason(error)}") from error


def kind_of(path: Path, root: Path | None) -> str:
    """Tell ``"folder"``, ``"npy"``, ``"pt"``, ``"video"`` or what :func:`folders.sniff` names, by the first bytes.

    Raises:
        ClipError: It can be none of them, or lies outside ``root``.
    """
    if root is not None:
        folders.check_inside(path, root)
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
            raise ClipError(f"The {suffix} file cannot be read: its content is of another format; save the clip again")
        return array
    if suffix == ".npz":
        raise ClipError("An .npz archive can hold several arrays; save the frames as .npy")
    kind = folders.sniff(head)  # content decides, not the name: GIFs called .mp4 are common
    if kind is None and (suffix in folders.FRAME_SUFFIXES or head.startswith(b"\xff\xd8\xff")):
        raise ClipError("This is a still image, not a clip; to score a sequence of images, name the folder with them")
    return kind or "video"


def _clip(
    decoded: Decoded, name: str, prompt: str | None, subject: Subject | str | None, tags: Tags | None = None
) -> Clip:
    return Clip(
        frames=decoded.frames,
        timestamps=decoded.timing.timestamps,
        fps=decoded.timing.fps,
        name=name,
        prompt=prompt,
        subject=subject_of(prompt, subject),
        size=decoded.size,
        notes=(*decoded.timing.notes, *decoded.notes),
        tags=tags or {},
        codec=decoded.codec,
    )
