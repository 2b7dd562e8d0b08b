"""What may happen in a clip without breaking with common sense: the ladder's other Perfect clips.

Real clips are cut, sped up, faded and panned, and things pass before the camera. A classifier that had never seen this
would take whatever is sudden or fast for a defect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.alignment.perturbations.frames import Frames, reencoded
from vmmetrics.alignment.perturbations.motion import bump, grid, noise_field, short_side, smooth_walk
from vmmetrics.clip import Clip
from vmmetrics.types import FloatArray

Rng = np.random.Generator
_SHAKE_ZOOM = 1.12  # hides the border that shake uncovers
FINER = 3
"""Frames of :attr:`Beside.fine` to one of the clip: steps from a third of the usual speed to three times it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Other footage in the look of a clip, all (T, H, W, 3) of the clip's size.

    Attributes:
        other: Another shot.
        quick: From the same place, several times as fast.
        fine: The clip's own window in steps :data:`FINER` times as small.
    """

    other: Frames
    quick: Frames
    fine: Frames


Change = Callable[[Frames, Beside, Rng], Frames]


def _cut(frames: Frames, beside: Beside, rng: Rng) -> Frames:
    """One cut to another shot."""
    at = int(rng.integers(len(frames) // 4, 3 * len(frames) // 4 + 1))
    rest = beside.other[np.arange(len(frames) - at) % len(beside.other)]
    return np.concatenate([frames[:at], rest])


def _camera(frames: Frames, _beside: Beside, rng: Rng) -> Frames:
    """A steady zoom with a little travel and rotation."""
    height, width = frames.shape[1:3]
    zoom, turn = rng.uniform(1.05, 1.3), rng.uniform(-6, 6)
    travel = rng.uniform(-0.06, 0.06, 2) * (width, height)
    moved = []
    for t, frame in enumerate(frames):
        share = t / max(len(frames) - 1, 1)
        matrix = cv2.getRotationMatrix2D((width / 2, height / 2), turn * share, 1.12 * zoom**share)
        matrix[:, 2] = matrix[:, 2] + travel * share
        moved.append(cv2.warpAffine(frame, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101))
    return np.stack(moved).astype(np.uint8)


def _mirror(frames: Frames, _beside: Beside, rng: Rng) -> Frames:
    """Mirrored, and cropped by a part of a pixel: resampled like what was warped."""
    height, width = frames.shape[1:3]
    dx, dy = rng.uniform(0.3, 0.7, 2)
    matrix = np.array([[-1.0, 0, width - 1 + dx], [0, 1.0, dy]])
    turned = [cv2.warpAffine(f, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101) for f in frames]
    return np.stack(turned).astype(np.uint8)


def _light(frames: Frames, _beside: Beside, rng: Rng) -> Frames:
    """Light that comes up or goes down evenly."""
    last = np.exp(rng.choice([-1, 1]) * rng.uniform(0.15, 0.3))
    gain = last ** np.linspace(0, 1, len(frames))
    return np.asarray(np.clip(frames * gain[:, None, None, None] + 0.5, 0, 255), np.uint8)


def _quick(_frames: Frames, beside: Beside, _rng: Rng) -> Frames:
    """The same several times as fast, as in clips that summarise."""
    return beside.quick


def _shots(frames: Frames, beside: Beside, rng: Rng) -> Frames:
    """Two to four shots, quick ones among them."""
    count = int(rng.integers(2, 5))
    edges = np.linspace(0, len(frames), count + 1).round().astype(int)
    rolls = [beside.quick, beside.other, frames, beside.quick[::-1, :, ::-1]]
    order = rng.permutation(len(rolls))[:count]
    shots = [rolls[i][np.arange(a, b) % len(rolls[i])] for i, a, b in zip(order, edges[:-1], edges[1:], strict=True)]
    return np.concatenate(shots)


def _dissolve(frames: Frames, beside: Beside, rng: Rng) -> Frames:
    """A fade to another shot, or through black."""
    count = len(frames)
    rest = beside.other[np.arange(count) % len(beside.other)]
    half = rng.uniform(0.06, 0.15) * count
    share = np.clip((np.arange(count) - rng.uniform(0.3, 0.7) * count) / half, -1, 1)[:, None, None, None]
    if rng.random() < 0.5:
        seen = np.where(share < 0, frames * -share, rest * share)
    else:
        seen = frames * (1 - share) / 2 + rest * (1 + share) / 2
    return np.asarray(seen + 0.5, np.uint8)


def _pan(frames: Frames, _beside: Beside, rng: Rng) -> Frames:
    """The camera swings to one side and stops."""
    height, width = frames.shape[1:3]
    zoom, reach = 1.4, rng.choice([-1, 1]) * rng.uniform(0.1, 0.19) * width
    start, length = rng.uniform(0.15, 0.5) * len(frames), rng.uniform(0.15, 0.4) * len(frames)
    moved = []
    for t, frame in enumerate(frames):
        share = float(np.clip((t - start) / length, 0, 1))
        matrix = cv2.getRotationMatrix2D((width / 2, height / 2), 0, zoom)
        matrix[0, 2] += reach * (2 * share**2 * (3 - 2 * share) - 1)
        moved.append(cv2.warpAffine(frame, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101))
    return np.stack(moved).astype(np.uint8)


def _passer(frames: Frames, beside: Beside, rng: Rng) -> Frames:
    """Something passes close before the camera."""
    width, size = frames.shape[2], short_side(frames)
    count = len(frames)
    radius = rng.uniform(0.15, 0.3) * size
    middle, time = rng.uniform(0.3, 0.7) * count, rng.uniform(0.3, 0.7) * count
    way = int(rng.choice([-1, 1]))
    level = rng.uniform(0.35, 0.8) * frames.shape[1]
    outline = 1 + 0.15 * noise_field(rng, frames, 0.5 * radius)[..., 0]
    x, y = grid(frames)
    passed = []
    for t, frame in enumerate(frames):
        at = width / 2 + way * (t - middle) / time * (width + 3 * radius)
        coat = np.roll(beside.other[0], round(at), axis=1)  # what it wears goes with it
        inside: FloatArray = (np.hypot(x - at, (y - level) / 1.6) < radius * outline).astype(np.float32)
        soft = cv2.GaussianBlur(inside, (0, 0), 1.0)[..., None]
        passed.append(np.asarray(frame * (1 - soft) + coat * soft + 0.5, np.uint8))
    return np.stack(passed)


def _pace(frames: Frames, beside: Beside, rng: Rng) -> Frames:
    """What moves hurries and lingers; it never stands still."""
    speeds = FINER * np.exp(0.8 * smooth_walk(rng, len(frames), len(frames) / 4))
    indices = np.concatenate([[0], np.cumsum(np.clip(np.round(speeds), 1, FINER**2))]).astype(int)
    return np.asarray(beside.fine[indices[indices < len(beside.fine)][: len(frames)]])


def _flames(frames: Frames, _beside: Beside, rng: Rng) -> Frames:
    """Fire, smoke or running water over part of the picture: motion that is never the same and yet as it should be."""
    count, height, width = frames.shape[:3]
    size = short_side(frames)
    tints = np.array([[255, 150, 40], [200, 200, 205], [190, 215, 235]])
    tint = tints[rng.integers(len(tints))]
    speed, angle = rng.uniform(0.1, 0.5) * size / count, rng.choice([-np.pi / 2, 0.0, np.pi])
    centre = (rng.uniform(0.2, 0.8) * width, rng.uniform(0.3, 0.9) * height)
    where = bump(frames, np.array(centre), rng.uniform(0.45, 0.9) * size)
    density = np.zeros((count, height, width), np.float32)
    for share in (0.3, 0.15, 0.075):  # eddies, the smaller the shorter their life
        life = max(2.0, share * 2.5 * count)
        knots = [noise_field(rng, frames, share * size)[..., 0] for _ in range(int(count / life) + 2)]
        for t in range(count):
            number, turn = divmod(t / life, 1.0)
            eddies = np.cos(turn * np.pi / 2) * knots[int(number)] + np.sin(turn * np.pi / 2) * knots[int(number) + 1]
            gone = np.array([[1, 0, speed * t * np.cos(angle)], [0, 1, speed * t * np.sin(angle)]])
            moved = cv2.warpAffine(eddies.astype(np.float32), gone, (width, height), borderMode=cv2.BORDER_REFLECT_101)
            density[t] += share**0.5 * moved
    thick = where * (0.5 + 0.5 * np.tanh(1.5 * density))
    return np.asarray(frames + thick[..., None] * (tint - frames * 0.7) * 0.9 + 0.5).clip(0, 255).astype(np.uint8)


def _sparks(frames: Frames, _beside: Beside, rng: Rng) -> Frames:
    """Sparks fly from a point and fall: many small things, fast and short-lived."""
    count, height, width = frames.shape[:3]
    size, number = short_side(frames), int(rng.integers(60, 160))
    source = np.array([rng.uniform(0.3, 0.7) * width, rng.uniform(0.3, 0.6) * height])
    angles, born = rng.uniform(0, 2 * np.pi, number), rng.uniform(-0.4, 0.8, number)
    speeds, lives = rng.uniform(0.2, 1.0, number) * size, rng.uniform(0.3, 0.7, number)
    tones = rng.uniform(140, 255, (number, 3))
    shown = frames.copy()
    for t, frame in enumerate(shown):
        age = t / count - born
        for i in np.flatnonzero((age > 0) & (age < lives)):
            tail, tip = (_flight(source, angles[i], speeds[i], size, a) for a in (max(age[i] - 0.05, 0), age[i]))
            cv2.line(frame, tail, tip, tones[i].tolist(), max(1, round(size / 100)), cv2.LINE_AA)
    return shown


def _flight(source: FloatArray, angle: float, speed: float, size: int, age: float) -> tuple[int, int]:
    """Return the pixel of a spark ``age`` (in clip lengths) after it left ``source``."""
    x = source[0] + speed * age * np.cos(angle)
    y = source[1] + speed * age * np.sin(angle) + 0.6 * size * age**2
    return round(float(x)), round(float(y))


HARMLESS: dict[str, Change] = {
    "cut": _cut, "camera": _camera, "mirror": _mirror, "light": _light, "quick": _quick, "shots": _shots,
    "dissolve": _dissolve, "pan": _pan, "passer": _passer, "pace": _pace, "flames": _flames,
    "sparks": _sparks,
}  # fmt: skip


RECORDED = ("shake", "soft", "grey", "compressed", "held", "grain")
"""Names of the clips of :func:`recorded`."""


def recorded(frames: Frames, fps: float, rng: Rng) -> dict[str, Frames]:
    """Return ``frames`` as another camera or codec would have recorded them, by name."""
    height, width = frames.shape[1:3]
    reach = rng.uniform(0.005, 0.02) * min(height, width)
    across, down = (reach * smooth_walk(rng, len(frames), rng.uniform(2, 5)) for _ in range(2))
    margin = (1 - _SHAKE_ZOOM) / 2
    views = [
        np.array([[_SHAKE_ZOOM, 0, margin * width + dx], [0, _SHAKE_ZOOM, margin * height + dy]], np.float32)
        for dx, dy in zip(across, down, strict=True)
    ]
    blur = rng.uniform(0.8, 2.5)
    even = np.ascontiguousarray(frames[:, : height // 2 * 2, : width // 2 * 2])
    clip = Clip(even, np.arange(len(even)) / fps, fps)
    return {
        "shake": np.stack(
            [
                np.asarray(cv2.warpAffine(f, view, (width, height), borderMode=cv2.BORDER_REFLECT_101), np.uint8)
                for f, view in zip(frames, views, strict=True)
            ]
        ),
        "soft": np.stack([np.asarray(cv2.GaussianBlur(f, (0, 0), blur), np.uint8) for f in frames]),
        "grey": np.stack([np.asarray(cv2.cvtColor(cv2.cvtColor(f, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB), np.uint8)
                          for f in frames]),
        "compressed": reencoded(clip, int(rng.integers(28, 38))).frames,
        "held": np.repeat(frames, 2, axis=0)[: len(frames)],
        "grain": np.clip(frames + rng.normal(0, rng.uniform(2, 8), frames.shape) + 0.5, 0, 255).astype(np.uint8),
    }  # fmt: skip
