"""Some frames of a video file by their times: what lies between is not kept, nor, where it can be, decoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from vmmetrics.errors import ClipError
from vmmetrics.types import FloatArray
from vmmetrics.video.budget import SizePlan, check_size
from vmmetrics.video.containers import opened, packets_of, video_stream
from vmmetrics.video.files import Decoder, Index, check_index, index_of, shown_at, stated_rate
from vmmetrics.video.pixels import Decoded, Limits, Sampling
from vmmetrics.video.timing import Timing


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
    known = sorted({time for time in index.pts if time is not None})
    if len(known) == len(index.pts) and not index.sequential:
        with opened(path) as container:
            timing = limits.timing(list(known), stated_rate(video_stream(container)))
        places = _choose(timing, sampling)
        plan = _plan(len(places), limits, sampling)
        try:
            found = _from_key_frames(path, index, {known[place] for place in places}, plan)
        except ClipError:
            pass  # an unusual stream, or a damaged one: reading all of it tells
        else:
            if _count(found) == len(places):
                return _decoded(found, timing, places, notes)
    return _from_beginning(path, index, limits, sampling, notes)


def thinned(decoded: Decoded, sampling: Sampling | None) -> Decoded:
    """The chosen frames of a source that was read as a whole; all of them where nothing is to be chosen."""
    if sampling is None:
        return decoded
    places = _choose(decoded.timing, sampling)
    height, width = decoded.frames.shape[1:3]
    size = _fitted(width, height, sampling.side)
    frames = decoded.frames[places]
    if size != (width, height):
        frames = np.stack([cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in frames]).astype(np.uint8)
    return replace(decoded, frames=frames, timing=_at(decoded.timing, places))


def _from_key_frames(path: Path, index: Index, wanted: set[float], plan: Callable[[int, int], SizePlan]) -> Decoder:
    groups, needed = _groups(path, wanted)
    with opened(path) as container:
        stream = video_stream(container)
        decoder = Decoder(stream, index, plan, lambda _, time: time in wanted)
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


def _groups(path: Path, wanted: set[float]) -> tuple[list[int], set[int]]:
    """Which group of packets, begun by a key frame, each packet is of; and the groups that wanted frames hang on.

    A frame that is shown before the key frame of its group may also hang on the group before.
    """
    groups: list[int] = []
    needed: set[int] = set()
    key_time: float | None = None
    group = 0
    with opened(path) as container:
        stream = video_stream(container)
        for packet in packets_of(container, stream):
            time = None if packet.pts is None or stream.time_base is None else float(packet.pts * stream.time_base)
            if packet.is_keyframe and packet.size:
                group += bool(groups)
                key_time = time
            groups.append(group)
            if packet.size and not packet.is_discard and time in wanted:
                needed.add(group)
                if group and key_time is not None and time is not None and time < key_time:
                    needed.add(group - 1)
    return groups, needed


def _from_beginning(path: Path, index: Index, limits: Limits, sampling: Sampling, notes: Sequence[str]) -> Decoded:
    with opened(path) as container:
        stream = video_stream(container)
        every = Decoder(stream, index, _plan(1, limits, sampling), lambda *_: False)
        for packet in packets_of(container, stream):
            every.feed(packet)
        rate = stated_rate(stream)
    notes = [*notes, *every.finish()]
    timing = limits.timing(shown_at(every.times, index), rate)
    places = _choose(timing, sampling)
    wanted = set(places)
    with opened(path) as container:
        stream = video_stream(container)
        decoder = Decoder(stream, index, _plan(len(places), limits, sampling), lambda number, _: number in wanted)
        for packet in packets_of(container, stream):
            decoder.feed(packet)
            if len(decoder.times) > places[-1]:
                break
    if _count(decoder) != len(places):
        raise ClipError(f"Only {_count(decoder)} of {len(places)} chosen frames could be decoded")
    return _decoded(decoder, timing, places, notes)


def _count(decoder: Decoder) -> int:
    return 0 if decoder.size == (0, 0) else len(decoder.store)


def _decoded(decoder: Decoder, timing: Timing, places: Sequence[int], notes: Sequence[str]) -> Decoded:
    return Decoded(decoder.store.frames, _at(timing, places), decoder.size, (*notes, *decoder.notes))


def _choose(timing: Timing, sampling: Sampling) -> list[int]:
    stamps: FloatArray = timing.timestamps
    step = float(np.median(np.diff(stamps))) if len(stamps) > 1 else 1 / timing.fps
    return sorted(set(sampling.choose(stamps, float(stamps[-1]) + step)))


def _at(timing: Timing, places: Sequence[int]) -> Timing:
    return Timing(timing.timestamps[list(places)], timing.fps, timing.notes)


def _plan(count: int, limits: Limits, sampling: Sampling) -> Callable[[int, int], SizePlan]:
    """Sizes that keep so many frames within memory; nothing but the frames is held."""

    def plan(width: int, height: int) -> SizePlan:
        check_size(width, height)
        full = _fitted(width, height, sampling.side)
        share = limits.max_memory / (count * full[0] * full[1] * 3)
        kept = full if share >= 1 else (max(1, int(full[0] * share**0.5)), max(1, int(full[1] * share**0.5)))
        return SizePlan(count, full, kept, limits.max_memory)

    return plan


def _fitted(width: int, height: int, side: int | None) -> tuple[int, int]:
    if side is None or max(width, height) <= side:
        return width, height
    return max(1, round(width * side / max(width, height))), max(1, round(height * side / max(width, height)))
