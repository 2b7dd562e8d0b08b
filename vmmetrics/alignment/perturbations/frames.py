"""Perturbations of whole frames: defects of their order, spoilt frames, and harmless changes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.clip import Clip
from vmmetrics.video.encoding import write_h264

Rng = np.random.Generator
Frames = NDArray[np.uint8]
"""(T, H, W, 3) uint8 RGB."""

# Defects of time alone: which frame of the clip is shown when.
#
# Each takes the number of frames, a strength in (0, 1], frames per second and a generator, and returns the order: for
# each displayed frame the index of the one it shows. The same generator state gives the same moments at every strength.

# What a strength in (0, 1] means: a table of amounts, a quarter of the scale apart, and what lies between them.

SEVERITY_LEVELS = 4
"""Severity levels in the tables of amounts: level r, 1 (just visible in play) to 4 (glaring), is strength r / 4."""


def graded(strength: float, amounts: Sequence[float], none: float = 0.0) -> float:
    """Return the amount at ``strength``, between the tabulated ones along straight lines.

    Args:
        strength: In [0, 1].
        amounts: At strengths 1/n, 2/n, ..., 1.
        none: At strength 0.

    >>> graded(0.5, (1.0, 3.0)), graded(1.0, (0.5,)), graded(0.25, (1.0, 3.0))
    (1.0, 0.5, 0.5)
    """
    strengths = np.arange(len(amounts) + 1) / len(amounts)
    return float(np.interp(strength, strengths, (none, *amounts)))


def events(strength: float, counts: Sequence[int]) -> int:
    """Return how often something happens at ``strength``: as :func:`graded`, rounded half up; 0 near strength 0.

    >>> events(0.1, (1, 2, 3, 5)), events(0.125, (1, 2, 3, 5)), events(1.0, (1, 2, 3, 5))
    (0, 1, 5)
    """
    return int(graded(strength, counts) + 0.5)


Order = NDArray[np.int64]


def moments(rng: Rng, count: int, number: int, gap: int) -> list[int]:
    """Return up to ``number`` frames in random order, not within ``gap`` of one another nor of the ends."""
    chosen: list[int] = []
    for t in rng.permutation(np.arange(2, max(3, count - 2))):
        if all(abs(int(t) - other) > gap for other in chosen):
            chosen.append(int(t))
        if len(chosen) == number:
            break
    return chosen


def reversal(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """Reverse time once, twice, three or five times."""
    turns = set(moments(rng, count, 5, gap=round(0.2 * fps))[: events(strength, (1, 2, 3, 5))])
    position, step, order = 0, 1, []
    for t in range(count):
        order.append(position)
        step = -step if t in turns else step
        if not 0 <= position + step < count:
            step = -step
        position += step
    return np.array(order)


def loop(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """Jump back by half a second and show the same again, once to four times."""
    back = round(0.5 * fps)
    jumps = moments(rng, count, SEVERITY_LEVELS, gap=round(0.25 * fps))[: events(strength, (1, 2, 3, 4))]
    order, position = [], 0
    for t in range(count):
        position = max(0, position - back) if t in jumps else position
        order.append(min(position, count - 1))
        position += 1
    return np.array(order)


def freeze_jump(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """Freeze the clip, then jump to where it should be."""
    length = max(2, round(graded(strength, (0.4, 0.6, 0.8, 1.0)) * fps))
    order = np.arange(count)
    for start in sorted(moments(rng, count, 2, gap=round(0.9 * fps)))[: events(strength, (1, 2, 2, 2))]:
        order[start : start + length] = start
    return order


def shuffle(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """Shuffle frames, by little or by much."""
    spread = graded(strength, (0.06, 0.12, 0.25, 0.5)) * fps
    noise = rng.normal(size=count)
    return np.round(np.arange(count) + spread * noise).clip(0, count - 1).astype(np.int64)


def stutter(count: int, strength: float, _fps: float, rng: Rng) -> Order:
    """Show single frames twice, each in place of the one after it."""
    spots = rng.permutation(np.arange(2, max(3, count - 1), 3))
    order = np.arange(count)
    for t in spots[: round(strength * len(spots))]:
        order[t] -= 1
    return order


def drop(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """Drop frames: the clip jumps ahead, twice, and is shorter."""
    length = round(graded(strength, (0.5,)) * fps)
    gone = {t + i for t in moments(rng, max(count - length, 0), 2, gap=length) for i in range(length)}
    return np.array([t for t in range(count) if t not in gone])


def standstill(count: int, strength: float, _fps: float, _rng: Rng) -> Order:
    """End all motion before the clip ends."""
    last = max(0, round((1 - 0.9 * strength) * count) - 1)
    return np.minimum(np.arange(count), last)


TIMINGS: dict[str, Callable[[int, float, float, Rng], Order]] = {
    f.__name__: f for f in (reversal, loop, freeze_jump, shuffle, stutter, drop, standstill)
}  # fmt: skip


def breaks_of(order: Order) -> tuple[int, ...]:
    """Return the displayed frames that do not show what follows the one before."""
    return tuple((np.flatnonzero(np.diff(order) != 1) + 1).tolist())


# Spoilt frames: single frames, or a few, that come out blurred, noisy, blocky, doubly exposed or melted.

GLITCHES = ("blur", "noise", "blocking", "ghost", "warp")

# At strengths 0.25, 0.5 and 1: from just visible when stepping through the frames to glaring. The third of four
# places lies midway, so that the three keep their values.
BLUR_SIGMA = (1.2, 2.2, 3.1, 4.0)  # pixels at 480 lines
NOISE_SIGMA = (8.0, 16.0, 24.0, 32.0)  # grey levels
JPEG_QUALITY = (14, 7, 5, 3)
GHOST_WEIGHT = (0.25, 0.35, 0.425, 0.5)
WARP_PIXELS = (2.5, 5.0, 7.5, 10.0)  # at 480 lines

BURST = 2
"""Consecutive frames spoilt by :func:`burst_frames`, as in one failure of a generator."""
_GHOST_DELAY = 4  # frames between the two pictures of a double exposure


def burst_frames(count: int, fps: float, rng: np.random.Generator) -> tuple[int, ...]:
    """Draw which of ``count`` frames are spoilt: :data:`BURST` in a row in every second of the clip."""
    seconds = max(1, round(min(count, count / fps)))
    edges = np.linspace(0, count, seconds + 1).astype(int)
    starts = [int(rng.integers(a, max(a + 1, b - BURST))) for a, b in pairwise(edges)]
    return tuple(t for start in starts for t in range(start, start + BURST) if t < count)


def spoil(frames: Frames, kind: str, strength: float, where: Sequence[int], rng: np.random.Generator) -> None:
    """Spoil frames of a clip in place.

    Args:
        frames: (T, H, W, 3) uint8.
        kind: One of :data:`GLITCHES`.
        strength: In (0, 1].
        where: Indices of the frames to spoil.
        rng: Draws noise, and the place and shape of what melts.

    Raises:
        ValueError: Unknown kind.
    """
    if kind not in GLITCHES:
        raise ValueError(f"Expected a kind of glitch among {GLITCHES} but got {kind!r}")
    lines = frames.shape[1] / 480
    clean = {t: frames[max(t, 0)].copy() for f in where for t in (f, f - _GHOST_DELAY)}
    field = _melt(rng, frames.shape[1:3], graded(strength, WARP_PIXELS) * lines)
    shift = rng.uniform(0.02, 0.04, 2) * rng.choice([-1, 1], 2) * frames.shape[2]
    for t in where:
        image = clean[t]
        if kind == "blur":
            image = cv2.GaussianBlur(image, (0, 0), graded(strength, BLUR_SIGMA) * lines)
        elif kind == "noise":
            noise = rng.normal(0, graded(strength, NOISE_SIGMA), image.shape)
            image = np.clip(image + noise, 0, 255).astype(np.uint8)
        elif kind == "blocking":
            quality = [cv2.IMWRITE_JPEG_QUALITY, round(graded(strength, JPEG_QUALITY, none=100))]
            image = cv2.imdecode(cv2.imencode(".jpg", image, quality)[1], cv2.IMREAD_COLOR)
        elif kind == "ghost":
            weight = graded(strength, GHOST_WEIGHT)
            moved = np.array([[1.0, 0.0, shift[0]], [0.0, 1.0, shift[1] * 0.5]])
            other = cv2.warpAffine(clean[t - _GHOST_DELAY], moved, image.shape[1::-1], borderMode=cv2.BORDER_REFLECT)
            image = cv2.addWeighted(image, 1 - weight, other, weight, 0)
        else:
            image = cv2.remap(image, field[..., 0], field[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        frames[t] = image


def _melt(rng: np.random.Generator, size: tuple[int, int], pixels: float) -> NDArray[np.float32]:
    """Return a sampling map (H, W, 2) that melts a round region of about a third of the frame's height."""
    height, width = size
    y, x = np.mgrid[:height, :width].astype(np.float32)
    centre = rng.uniform(0.35, 0.65, 2) * (width, height)
    window = np.exp(-((x - centre[0]) ** 2 + (y - centre[1]) ** 2) / (2 * (0.22 * height) ** 2))
    wave = 2 * np.pi / (0.1 * height)
    phase = rng.uniform(0, 2 * np.pi, 4)
    dx = np.sin(wave * y + phase[0]) + 0.6 * np.sin(1.7 * wave * (x + y) + phase[1])
    dy = np.sin(wave * x + phase[2]) + 0.6 * np.sin(1.4 * wave * (x - y) + phase[3])
    return np.stack([x + pixels * window * dx, y + pixels * window * dy], -1).astype(np.float32)


SMALLEST_SIDE = 32
"""Minimum side in pixels of a downscaled clip."""


def reencoded(clip: Clip, crf: int) -> Clip:
    """Return the clip after x264 at ``crf`` (0 lossless to 51). Odd sizes are padded by a pixel for 4:2:0, and cut.

    Raises:
        SetupError: This build of PyAV has no x264.
    """
    import av

    high, wide = clip.height % 2, clip.width % 2
    padded = np.pad(clip.frames, ((0, 0), (0, high), (0, wide), (0, 0)), mode="edge")
    memory = io.BytesIO()
    # Macroblock trees differ in one encoding of some hundred.
    write_h264(memory, padded, clip.fps, {"crf": str(crf), "x264-params": "mbtree=0"}, threads=1)
    memory.seek(0)
    with av.open(memory, mode="r") as container:
        decoded = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return _shown(clip, np.stack(decoded)[:, : clip.height, : clip.width].astype(np.uint8))


def scaled(clip: Clip, factor: float) -> Clip:
    """Return the clip at ``factor`` of its size, no side below :data:`SMALLEST_SIDE`."""
    factor = max(factor, min(1.0, SMALLEST_SIDE / min(clip.width, clip.height)))
    size = (int(clip.width * factor), int(clip.height * factor))
    way = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return _shown(clip, np.stack([cv2.resize(f, size, interpolation=way) for f in clip.frames]))


def cropped(clip: Clip, share: float) -> Clip:
    """Return the clip without ``share`` of its width and of its height, half of it on each side."""
    dy, dx = round(share * clip.height / 2), round(share * clip.width / 2)
    return _shown(clip, clip.frames[:, dy : clip.height - dy, dx : clip.width - dx])


def mirrored(clip: Clip) -> Clip:
    """Return the clip with left and right exchanged."""
    return _shown(clip, clip.frames[:, :, ::-1])


def relit(clip: Clip, factor: float, *, contrast: bool) -> Clip:
    """Multiply grey levels, or their distance from the clip's mean where ``contrast`` is meant."""
    middle = float(clip.frames[:: max(1, len(clip) // 8)].mean()) if contrast else 0.0
    levels = middle + factor * (np.arange(256) - middle)
    return _shown(clip, np.clip(levels + 0.5, 0, 255).astype(np.uint8)[clip.frames])


def at_rate(clip: Clip, fps: float) -> Clip:
    """Return the frames nearest in time to a regular beat of ``fps``; none is shown twice, each keeps its own time."""
    beat = np.arange(0, clip.timestamps[-1] + 0.5 / clip.fps, 1 / fps)
    after = np.searchsorted(clip.timestamps, beat).clip(1, max(1, len(clip) - 1))
    late = np.abs(clip.timestamps[after % len(clip)] - beat) < np.abs(clip.timestamps[after - 1] - beat)
    selected = np.unique(np.where(late, after % len(clip), after - 1))
    times = clip.timestamps[selected] - clip.timestamps[selected[0]]
    rate = (len(selected) - 1) / float(times[-1]) if len(selected) > 1 else fps
    return replace(clip, frames=np.ascontiguousarray(clip.frames[selected]), timestamps=times, fps=rate)


def _shown(clip: Clip, frames: Frames) -> Clip:
    size = (int(frames.shape[2]), int(frames.shape[1]))
    return replace(clip, frames=np.ascontiguousarray(frames), size=size)
