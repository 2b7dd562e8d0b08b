"""Perturbations of moving objects: they bend, melt, double and merge; frames tremble and flicker.

Every defect takes frames (T, H, W, 3) uint8, a strength in (0, 1] (0.25 is just visible in play, 1 is
glaring), frames per second and a generator, and returns new frames of the same shape.
Lengths are shares of the short side and times are seconds, so that a strength means the same at every size and frame
rate. The same generator state gives the same places and moments at every strength.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.perturbations.frames import SEVERITY_LEVELS, Frames, Rng, events, graded, moments
from vmmetrics.types import FloatArray

# Moving pixels about: the smooth displacements that the defects of the ladder are made of.

LEAST_KNOT = 0.1
"""Minimum frames between the turns of :func:`smooth_walk`."""
_FLOW_SIDE = 96  # pixels; enough to see where a thing a tenth of the picture wide goes
_ENERGY_BLUR = 0.08  # of the short side: about the size of a hand in a half-body shot


def short_side(frames: Frames) -> int:
    """Return the shorter side of ``frames`` (T, H, W, 3) in pixels."""
    return int(min(frames.shape[1:3]))


def grid(frames: Frames) -> tuple[FloatArray, FloatArray]:
    """Return x (1, W) and y (H, 1) of the pixels, float32."""
    height, width = frames.shape[1:3]
    return np.arange(width, dtype=np.float32)[None], np.arange(height, dtype=np.float32)[:, None]


def displace(image: NDArray[np.uint8], field: FloatArray) -> NDArray[np.uint8]:
    """Return ``image`` (H, W, 3) with the content of each pixel taken from ``field`` (H, W, 2) pixels beside it."""
    height, width = image.shape[:2]
    x = (np.arange(width) + field[..., 0]).astype(np.float32)
    y = (np.arange(height)[:, None] + field[..., 1]).astype(np.float32)
    return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101), np.uint8)


def bump(frames: Frames, centre: FloatArray, radius: float, stretch: float = 1.0, angle: float = 0.0) -> FloatArray:
    """Return a (H, W) weight: 1 around ``centre`` (x, y), falling smoothly to 0 at about ``radius`` pixels.

    ``stretch`` makes it that many times longer along ``angle`` (radians).
    """
    x, y = grid(frames)
    dx, dy = x - centre[0], y - centre[1]
    along = (dx * np.cos(angle) + dy * np.sin(angle)) / stretch
    across = -dx * np.sin(angle) + dy * np.cos(angle)
    distance = (along**2 + across**2) / radius**2
    return np.asarray(np.exp(-(distance**2) * 2), np.float32)  # flat in the middle: the thing moves as a whole


def noise_field(rng: np.random.Generator, frames: Frames, cell: float) -> FloatArray:
    """Return a smooth random (H, W, 2) field of unit root mean square, features of ``cell`` pixels."""
    height, width = frames.shape[1:3]
    rows, columns = max(2, round(height / cell) + 1), max(2, round(width / cell) + 1)
    coarse = rng.normal(size=(rows, columns, 2)).astype(np.float32)
    field = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(field / max(float(np.sqrt((field**2).mean())), 1e-6), np.float32)


def smooth_walk(rng: np.random.Generator, count: int, knot: float) -> FloatArray:
    """Return (count,) values about 0, of unit order, that turn about every ``knot`` frames; 0 at the first frame."""
    knot = max(knot, LEAST_KNOT)
    knots = rng.normal(size=int(np.ceil(count / knot)) + 3)
    positions = np.arange(len(knots)) * knot
    phase = rng.uniform(0, knot)
    dense = np.interp(np.arange(count) + phase, positions, knots)
    width = max(1, round(knot / 2))
    kernel = np.ones(width) / width
    smooth = np.convolve(np.pad(dense, width, mode="edge"), kernel, mode="same")[width:-width]
    return np.asarray(smooth - smooth[0], np.float32)


def follow(frames: Frames, centre: FloatArray, radius: float) -> FloatArray:
    """Return (T, 2): where the thing at ``centre`` of the first frame goes, by the mean flow around it."""
    height, width = frames.shape[1:3]
    scale = _FLOW_SIDE / min(height, width)
    size = round(width * scale), round(height * scale)
    small = [cv2.cvtColor(cv2.resize(f, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2GRAY) for f in frames]
    dis: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    path = [np.asarray(centre, np.float64)]
    x, y = np.arange(size[0])[None], np.arange(size[1])[:, None]
    for before, after in pairwise(small):
        flow = dis.calc(before, after, None)
        at = path[-1] * scale
        weight = np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (radius * scale) ** 2)
        step = (flow * weight[..., None]).sum((0, 1)) / max(float(weight.sum()), 1e-6)
        path.append(np.clip(path[-1] + step / scale, 0, (width - 1, height - 1)))
    return np.asarray(path)


def liveliest(rng: np.random.Generator, frames: Frames) -> FloatArray:
    """Return (2,) x, y of a place where much changes in the course of ``frames``: most likely on what moves."""
    step = max(1, len(frames) // 8)
    sampled = frames[::step].astype(np.float32).mean(-1)
    change = np.abs(np.diff(sampled, axis=0)).mean(0) if len(sampled) > 1 else np.ones(frames.shape[1:3], np.float32)
    energy = cv2.GaussianBlur(change, (0, 0), _ENERGY_BLUR * short_side(frames))
    height, width = energy.shape
    inside = np.zeros_like(energy)
    inside[height // 8 : height - height // 8, width // 8 : width - width // 8] = 1
    chance = (energy * inside).ravel().astype(np.float64) ** 3 + 1e-9
    index = int(rng.choice(chance.size, p=chance / chance.sum()))
    return np.array([index % width, index // width], np.float64)


def _subject(frames: Frames, rng: Rng, size: tuple[float, float] = (0.16, 0.28)) -> tuple[FloatArray, float]:
    """Return the path (T, 2) of something that moves, and a radius in pixels."""
    radius = float(rng.uniform(*size)) * short_side(frames)
    return follow(frames, liveliest(rng, frames), radius), radius


def _displaced(frames: Frames, field: Callable[[int], FloatArray]) -> Frames:
    return np.stack([displace(frame, field(t)) for t, frame in enumerate(frames)])


def _overlaid(frames: Frames, apart: FloatArray, share: FloatArray, path: FloatArray, radius: float) -> Frames:
    """Return the clip with what lies ``apart`` shown around ``path`` (T, 2), by a share (T,) of each frame."""
    others = [displace(frame, np.broadcast_to(apart, (*frame.shape[:2], 2))) for frame in frames]
    weights = [share[t] * bump(frames, centre, radius) for t, centre in enumerate(path)]
    return np.stack(list(map(_blend, frames, others, weights)))


def limb_bend(frames: Frames, strength: float, fps: float, rng: Rng) -> Frames:
    """Bend an elongated part to and fro like rubber."""
    path, radius = _subject(frames, rng, (0.09, 0.15))
    angle, rate, phase = rng.uniform(0, np.pi), rng.uniform(1.2, 2.5), rng.uniform(0, 2 * np.pi)
    size = graded(strength, (0.03, 0.05, 0.08, 0.12)) * short_side(frames)
    across = np.array([-np.sin(angle), np.cos(angle)], np.float32)
    x, y = grid(frames)

    def field(t: int) -> FloatArray:
        along = ((x - path[t, 0]) * np.cos(angle) + (y - path[t, 1]) * np.sin(angle)) / (2.5 * radius)
        swing = np.sin(2 * np.pi * rate * t / fps + phase) * np.sin(np.pi * along)
        push = size * swing * bump(frames, path[t], radius, 2.5, angle)
        return np.asarray(push[..., None] * across, np.float32)

    return _displaced(frames, field)


def object_warp(frames: Frames, strength: float, fps: float, rng: Rng) -> Frames:
    """Change the shape of a moving object from moment to moment."""
    path, radius = _subject(frames, rng, (0.25, 0.38))
    size = graded(strength, (0.011, 0.019, 0.031, 0.05)) * short_side(frames)
    shapes = [noise_field(rng, frames, 0.6 * radius) for _ in range(2)]
    sway = [smooth_walk(rng, len(frames), 0.3 * fps) for _ in range(2)]

    def field(t: int) -> FloatArray:
        mixed = sway[0][t] * shapes[0] + sway[1][t] * shapes[1]
        return np.asarray(size * mixed * bump(frames, path[t], radius)[..., None], np.float32)

    return _displaced(frames, field)


def teleport(frames: Frames, strength: float, fps: float, rng: Rng) -> Frames:
    """Move an object elsewhere from one frame to the next, more often and farther with strength."""
    path, radius = _subject(frames, rng)
    jumps = moments(rng, len(frames), SEVERITY_LEVELS, gap=round(0.2 * fps))[: events(strength, (1, 2, 3, 4))]
    angles = rng.uniform(0, 2 * np.pi, SEVERITY_LEVELS)
    size = graded(strength, (0.10, 0.14, 0.18, 0.22)) * short_side(frames)

    def field(t: int) -> FloatArray:
        done = sum(t >= jump for jump in jumps)
        angle = angles[done - 1] if done else 0.0
        shift = size * (done > 0) * np.array([np.cos(angle), np.sin(angle)])
        return np.asarray(bump(frames, path[t] - shift / 2, 1.3 * radius)[..., None] * shift, np.float32)

    return _displaced(frames, field)


def melt(frames: Frames, strength: float, _fps: float, rng: Rng) -> Frames:
    """Let an object run down the frame like wax and lose its detail."""
    path, radius = _subject(frames, rng, (0.25, 0.4))
    size = graded(strength, (0.09, 0.15, 0.24, 0.36)) * short_side(frames)
    drips = 0.5 + 0.5 * np.abs(noise_field(rng, frames, 0.25 * radius)[..., 0])
    blur = graded(strength, (0.004, 0.008, 0.014, 0.025)) * short_side(frames)
    melted = []
    for t, frame in enumerate(frames):
        share = t / max(len(frames) - 1, 1)
        weight = bump(frames, path[t], radius)
        field = np.zeros((*frame.shape[:2], 2), np.float32)
        field[..., 1] = -size * share * drips * weight
        run = displace(frame, field)
        soft = np.asarray(cv2.GaussianBlur(run, (0, 0), max(blur * share, 0.05)), np.uint8)
        melted.append(_blend(run, soft, weight * share))
    return np.stack(melted)


def double(frames: Frames, strength: float, fps: float, rng: Rng) -> Frames:
    """Show a second copy of an object beside it for moments."""
    path, radius = _subject(frames, rng)
    angle = rng.uniform(0, 2 * np.pi)
    away = np.array([np.cos(angle), np.sin(angle)]) * 2.0 * radius
    there = smooth_walk(rng, len(frames), 0.35 * fps)
    share = graded(strength, (0.45, 0.65, 0.85, 1.0)) * np.clip(3 * np.abs(there), 0, 1)
    return _overlaid(frames, -away, share, path + away, radius)


def interleave(frames: Frames, strength: float, _fps: float, rng: Rng) -> Frames:
    """Insert mirrored frames of another part of the clip between its own."""
    count = len(frames)
    slots = moments(rng, count, round(0.6 * count), gap=0)
    slots = slots[: max(1, round(graded(strength, (0.06, 0.12, 0.25, 0.45)) * count))]
    mixed = frames.copy()
    for t in slots:
        mixed[t] = frames[(t + count // 2) % count][:, ::-1]
    return mixed


def fall_up(frames: Frames, strength: float, _fps: float, rng: Rng) -> Frames:
    """Let an object come loose and fall upwards, faster and faster."""
    path, radius = _subject(frames, rng)
    start = rng.uniform(0.2, 0.5)
    size = graded(strength, (0.15, 0.25, 0.38, 0.55)) * short_side(frames)

    def field(t: int) -> FloatArray:
        time = float(np.clip((t / max(len(frames) - 1, 1) - start) / 0.5, 0, 1))
        rise = np.array([0.0, size * time**2])
        return np.asarray(bump(frames, path[t] - rise / 2, 1.4 * radius)[..., None] * rise, np.float32)

    return _displaced(frames, field)


def upside_down(frames: Frames, strength: float, fps: float, rng: Rng) -> Frames:
    """Turn part of the frame upside down for moments, one to four times."""
    path, radius = _subject(frames, rng, (0.25, 0.4))
    length = max(1, round(0.2 * fps))
    turned = frames.copy()
    for moment in moments(rng, len(frames) - length, SEVERITY_LEVELS, gap=length)[: events(strength, (1, 2, 3, 4))]:
        for t in range(moment, moment + length):
            _, y = grid(frames)
            field = np.zeros((*frames.shape[1:3], 2), np.float32)
            field[..., 1] = 2 * (path[t, 1] - y)
            turned[t] = _blend(frames[t], displace(frames[t], field), bump(frames, path[t], radius))
    return turned


def flicker(frames: Frames, strength: float, _fps: float, rng: Rng) -> Frames:
    """Change light and dark patches from frame to frame."""
    size = graded(strength, (0.03, 0.06, 0.11, 0.2))
    patch = 0.4 * short_side(frames)
    gains = [1 + size * noise_field(rng, frames, patch)[..., :1] for _ in frames]
    lit = [frame * gain for frame, gain in zip(frames, gains, strict=True)]
    return np.clip(np.stack(lit) + 0.5, 0, 255).astype(np.uint8)


def boil(frames: Frames, strength: float, _fps: float, rng: Rng) -> Frames:
    """Tremble in small patches, each frame anew, as if redrawn."""
    size = graded(strength, (0.002, 0.004, 0.008, 0.016)) * short_side(frames)
    cell = 0.1 * short_side(frames)
    fields = [noise_field(rng, frames, cell) for _ in frames]
    return _displaced(frames, lambda t: size * fields[t])


def wobble(frames: Frames, strength: float, fps: float, rng: Rng) -> Frames:
    """Sway the whole frame like jelly."""
    size = graded(strength, (0.005, 0.009, 0.015, 0.025)) * short_side(frames)
    shapes = [noise_field(rng, frames, 0.35 * short_side(frames)) for _ in range(3)]
    sway = [smooth_walk(rng, len(frames), 0.2 * fps) for _ in shapes]
    return _displaced(frames, lambda t: np.asarray(size * sum(s[t] * f for s, f in zip(sway, shapes, strict=True))))


def merge(frames: Frames, strength: float, _fps: float, rng: Rng) -> Frames:
    """Draw two objects together until they merge."""
    path, radius = _subject(frames, rng)
    angle = rng.uniform(0, 2 * np.pi)
    apart = np.array([np.cos(angle), np.sin(angle)]) * 1.6 * radius
    whole = graded(strength, (0.5, 0.7, 0.85, 1.0))
    merged = []
    for t, frame in enumerate(frames):
        done = np.clip((t / max(len(frames) - 1, 1) - 0.25) / 0.5, 0, 1)  # in half of the clip, about a second
        share = whole * done**2 * (3 - 2 * done)
        near, far = path[t], path[t] + apart
        pull = bump(frames, near, radius)[..., None] * -apart * 0.5 + bump(frames, far, radius)[..., None] * apart * 0.5
        drawn = displace(frame, np.asarray(share * pull, np.float32))
        other = displace(frame, np.broadcast_to(apart, (*frame.shape[:2], 2)))
        merged.append(_blend(drawn, other, 0.8 * share * bump(frames, near + 0.25 * apart, radius)))
    return np.stack(merged)


def morph(frames: Frames, strength: float, fps: float, rng: Rng) -> Frames:
    """Morph an object into what lies elsewhere in the frame, and back."""
    path, radius = _subject(frames, rng, (0.2, 0.35))
    angle = rng.uniform(0, 2 * np.pi)
    apart = np.array([np.cos(angle), np.sin(angle)]) * 2.0 * radius
    turn = smooth_walk(rng, len(frames), 0.5 * fps)
    share = graded(strength, (0.3, 0.5, 0.75, 1.0)) * np.clip(1.5 * np.abs(turn), 0, 1)
    return _overlaid(frames, apart, share, path, radius)


MOTIONS: dict[str, Callable[[Frames, float, float, Rng], Frames]] = {
    f.__name__: f
    for f in (
        limb_bend, object_warp, teleport, melt, double, interleave, fall_up, upside_down, flicker, boil, wobble, merge,
        morph,
    )
}  # fmt: skip


def _blend(frame: NDArray[np.uint8], other: NDArray[np.uint8], weight: FloatArray) -> NDArray[np.uint8]:
    share = np.asarray(weight, np.float32)[..., None]
    return np.asarray(frame * (1 - share) + other * share + 0.5, np.uint8)
