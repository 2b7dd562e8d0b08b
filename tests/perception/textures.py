"""Rendered clips of flat-spectrum textures that move, and of noise that is new in every frame.

The textures have the spectrum of noise and continue from frame to frame; the noise does not, whatever its grain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes.textures import pink_noise, procedural

Picture = NDArray[np.float32]


def brick(rng: np.random.Generator, h: int, w: int, size: float) -> Picture:
    """Courses of bricks of like brightness, ``size`` pixels high, between bright joints."""
    picture = np.full((h, w, 3), 190, np.float32)
    for row, y in enumerate(np.arange(0, h, size)):
        for x in np.arange(-(row % 2) * size, w, 2 * size):
            colour = np.array([150, 80, 60]) + rng.normal(0, 14)
            cv2.rectangle(picture, (round(x), round(y)), (round(x + 1.8 * size), round(y + 0.8 * size)), colour, -1)
    return picture + rng.normal(0, 6, (h, w, 1)).astype(np.float32)


def grass(rng: np.random.Generator, h: int, w: int, size: float) -> Picture:
    """Blades as strokes of ``size`` pixels, most of them upright."""
    picture = np.full((h, w, 3), (30, 60, 20), np.float32)
    for _ in range(int(6 * h * w / size**2)):
        foot, angle, light = rng.uniform(0, (w, h)), rng.normal(-1.57, 0.5), rng.uniform(0.4, 1.6)
        tip = foot + size * rng.uniform(0.5, 1.5) * np.array([np.cos(angle), np.sin(angle)])
        colour = light * np.array([70, 130, 40])
        cv2.line(
            picture, *(tuple(np.round(p).astype(int).tolist()) for p in (foot, tip)), colour, max(1, int(size / 8))
        )
    return picture


def gravel(rng: np.random.Generator, h: int, w: int, size: float) -> Picture:
    """Stones ``size`` pixels wide, one over another."""
    picture = np.full((h, w, 3), 40, np.float32)
    for _ in range(int(5 * h * w / size**2)):
        centre, axes = rng.integers(0, (w, h)).tolist(), (size * rng.uniform(0.25, 0.6, 2)).astype(int).tolist()
        cv2.ellipse(
            picture, centre, np.maximum(axes, 1).tolist(), rng.uniform(0, 180), 0, 360, [rng.uniform(50, 220)] * 3, -1
        )
    return picture


def keys(rng: np.random.Generator, h: int, w: int, size: float) -> Picture:
    """Keyboard: dark keys of ``size`` pixels with letters."""
    picture = np.full((h, w, 3), 120, np.uint8)
    for row, y in enumerate(np.arange(0, h, size)):
        for x in np.arange(-0.3 * size * row % size, w, size):
            corner = round(x), round(y)
            cv2.rectangle(picture, corner, (round(x + 0.85 * size), round(y + 0.85 * size)), (30, 30, 32), -1)
            letter = chr(rng.integers(65, 91))
            cv2.putText(picture, letter, (round(x + size / 5), round(y + size * 0.6)), 0, size / 45, (230,) * 3, 1)
    return picture.astype(np.float32)


def stars(rng: np.random.Generator, h: int, w: int, size: float) -> Picture:
    """Points on black, one per ``size`` pixels square, few of them bright."""
    picture = np.zeros((h, w, 3), np.float32)
    for _ in range(int(h * w / size**2)):
        centre = rng.integers(0, (w, h)).tolist()
        cv2.circle(picture, centre, round(rng.uniform(0, size / 8)), [min(255.0, 40 / rng.uniform(0.05, 1))] * 3, -1)
    return picture


STILL = {"brick": brick, "grass": grass, "gravel": gravel, "keys": keys, "stars": stars}


def pan(picture: Picture, step: NDArray[np.floating], frames: int, zoom: float = 1.0) -> list[Picture]:
    """Move a picture by ``step`` pixels (x, y) and scale it by ``zoom`` per frame; what leaves it returns opposite."""
    h, w = picture.shape[:2]
    shown = []
    for t in range(frames):
        scale = zoom ** (t - frames / 2)
        shift = np.array([w, h]) / 2 * (1 - scale) + t * step
        y, x = np.mgrid[:h, :w].astype(np.float32)
        shown.append(cv2.remap(picture, np.float32(x * scale + shift[0]), np.float32(y * scale + shift[1]),
                               cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP))  # fmt: skip
    return shown


def mover(back: Picture, front: Picture, step: NDArray[np.floating], frames: int) -> list[Picture]:
    """Move a piece of ``front``, a third of the frame wide, over ``back``."""
    h, w = back.shape[:2]
    side, shown = min(h, w) // 3, []
    for t in range(frames):
        x, y = np.round(
            np.abs((t * step + (w - side, h - side)) % (2 * np.array([w - side, h - side])) - (w - side, h - side))
        ).astype(int)
        frame = back.copy()
        frame[y : y + side, x : x + side] = front[:side, :side]
        shown.append(frame)
    return shown


def waves(rng: np.random.Generator, h: int, w: int, size: float, speed: float, frames: int) -> list[Picture]:
    """Sea under a steep view: 60 waves of ``size`` pixels and more, each at the speed of its length in deep water."""
    number = 2 * np.pi / (size * rng.uniform(0.5, 4, 60))
    angle = rng.normal(1.2, 0.6, 60)
    phase, high = rng.uniform(0, 2 * np.pi, 60), rng.uniform(0.3, 1, 60)
    y, x = np.mgrid[:h, :w].astype(np.float32)
    along = [k * (np.cos(a) * x + np.sin(a) * y) + p for k, a, p in zip(number, angle, phase, strict=True)]
    per_frame = speed * np.sqrt(number * 2 * np.pi / size)  # the shortest moves by about ``speed`` pixels a frame
    shown = []
    for t in range(frames):
        slope = sum(a * np.cos(c - f * t) for a, c, f in zip(high, along, per_frame, strict=True)) / 4
        shown.append(np.float32((90 + 35 * slope + 60 * (slope > 1.6))[..., None] * (0.7, 0.9, 1.1)))
    return shown


def foliage(rng: np.random.Generator, h: int, w: int, size: float, speed: float, frames: int) -> list[Picture]:
    """Leaves of ``size`` pixels that sway each for itself, by up to ``speed`` pixels a frame."""
    n = int(4 * h * w / size**2)
    centre, turn, light = rng.uniform(0, (w, h), (n, 2)), rng.uniform(0, 180, n), rng.uniform(20, 200, n)
    phase, rate = rng.uniform(0, 6.28, (n, 2)), rng.uniform(0.2, 0.6, (n, 1))
    shown = []
    for t in range(frames):
        frame = np.zeros((h, w, 3), np.float32)
        at = centre + speed / 0.6 * np.sin(rate * t + phase)
        for (x, y), a, c, p in zip(at, turn, light, phase, strict=True):
            colour = (0.5 * c, c, 0.3 * c)
            axes = max(1, round(size * 0.6)), max(1, round(size * 0.25))
            cv2.ellipse(frame, (round(x), round(y)), axes, a + 5 * np.sin(0.4 * t + p[0]), 0, 360, colour, -1)
        shown.append(frame)
    return shown


def rain(rng: np.random.Generator, h: int, w: int, size: float, speed: float, frames: int) -> list[Picture]:
    """Streaks that fall in front of a scene, each at a speed of its own of about ``speed`` pixels a frame."""
    back = 0.5 * cv2.resize(procedural(rng), (w, h), interpolation=cv2.INTER_AREA).astype(np.float32)
    n = int(h * w / size**2)
    start, fall = rng.uniform(0, (w, h), (n, 2)), speed * rng.uniform(0.7, 1.3, n)
    shown = []
    for t in range(frames):
        frame = back.copy()
        for (x, y), v in zip(start, fall, strict=True):
            top = int((y + v * t) % h)
            cv2.line(frame, (int(x), top), (int(x), top + round(1.5 * size)), (210, 215, 220), max(1, round(size / 10)))
        shown.append(frame)
    return shown


def crowd(rng: np.random.Generator, h: int, w: int, size: float, speed: float, frames: int) -> list[Picture]:
    """Heads and shoulders of ``size`` pixels that walk each its own way, at about ``speed`` pixels a frame."""
    n = int(2 * h * w / size**2)
    start, angle = rng.uniform(0, (w, h), (n, 2)), rng.uniform(0, 2 * np.pi, n)
    way = speed * rng.uniform(0.5, 1.5, (n, 1)) * np.stack([np.cos(angle), np.sin(angle)], 1)
    coat, skin = rng.uniform(20, 230, (n, 3)), rng.uniform(60, 230, n)
    shown = []
    for t in range(frames):
        frame = np.full((h, w, 3), 110, np.float32)
        for (x, y), c, s in zip((start + way * t) % (w, h), coat, skin, strict=True):
            radius = max(1, round(size / 5))
            cv2.circle(frame, (round(x), round(y) + 2 * radius), 2 * radius, c.tolist(), -1)
            cv2.circle(frame, (round(x), round(y)), radius, (s, 0.8 * s, 0.7 * s), -1)
        shown.append(frame)
    return shown


ALIVE: dict[str, Callable[..., list[Picture]]] = {"waves": waves, "foliage": foliage, "rain": rain, "crowd": crowd}


@cache
def _still(kind: str, seed: int, h: int, w: int, size: float) -> tuple[float, Picture]:
    """Return a direction, radians, and a texture; drawing one takes longer than to judge a clip of it."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 2 * np.pi), STILL[kind](rng, h, w, size)


def moving(kind: str, seed: int, *, size: tuple[int, int] = (256, 256), scale: float = 8, share: float = 0.02,
           frames: int = 6, how: str = "pan") -> list[Picture]:  # fmt: skip
    """Render a texture that moves.

    Args:
        kind: One of :data:`STILL` or :data:`ALIVE`.
        seed: Of what is drawn and the direction.
        size: (width, height).
        scale: Size of its elements for a frame 256 wide, pixels.
        share: Way per frame as a share of the frame's width.
        frames: Number of frames.
        how: ``"pan"``, ``"zoom"`` or ``"mover"``, for those that do not move by themselves.
    """
    w, h = size
    scale, speed = scale * w / 256, share * w
    if kind in ALIVE:
        return ALIVE[kind](np.random.default_rng(seed), h, w, scale, speed, frames)
    angle, picture = _still(kind, seed, h, w, scale)
    step = speed * np.array([np.cos(angle), np.sin(angle)])
    if how == "mover":
        return mover(picture, picture[::-1], step, frames)
    return pan(picture, *((0 * step, frames, 1 + share) if how == "zoom" else (step, frames)))


def fresh_noise(seed: int, *, size: tuple[int, int] = (256, 256), grain: float = 1, contrast: float = 1,
                frames: int = 10, colour: str = "rgb", over: str = "") -> list[Picture]:  # fmt: skip
    """Draw noise that is new in every frame.

    Args:
        seed: Of the noise.
        size: (width, height).
        grain: Side of a grain, pixels.
        contrast: 1 for the full range of grey levels.
        frames: Number of frames.
        colour: ``"rgb"``, ``"grey"``, ``"binary"``, ``"normal"``, ``"soft"`` (blurred grains) or
            ``"pink"`` (amplitude as 1/f^0.5).
        over: ``"logo"``, ``"border"`` or ``"drift"`` (of brightness), on top of it.
    """
    rng = np.random.default_rng(seed)
    w, h = size
    rows, columns = int(np.ceil(h / grain)), int(np.ceil(w / grain))
    draw: dict[str, Callable[[], NDArray[np.floating]]] = {
        "grey": lambda: rng.uniform(-1, 1, (rows, columns, 1)),
        "binary": lambda: rng.integers(0, 2, (rows, columns, 1)) * 2 - 1.0,
        "pink": lambda: 0.4 * pink_noise(rng, rows, columns, 0.5)[..., None],
        "normal": lambda: 0.5 * rng.normal(size=(rows, columns, 3)),
    }
    shown = []
    for t in range(frames):
        values = draw.get(colour, lambda: rng.uniform(-1, 1, (rows, columns, 3)))()
        small = np.broadcast_to(values, (rows, columns, 3)).astype(np.float32)
        method = cv2.INTER_CUBIC if colour == "soft" else cv2.INTER_NEAREST
        frame = 128 + 127 * contrast * cv2.resize(small, (w, h), interpolation=method)
        if over == "border":
            frame[: h // 8] = frame[-h // 8 :] = frame[:, : w // 12] = 0
        if over == "logo":
            letters = cv2.putText(
                np.zeros((h, w), np.uint8), "LIVE", (w // 20, h // 5), 0, w / 256, 255, max(1, w // 80)
            )
            frame[letters > 0] = 255
        shown.append(frame + (40 * np.sin(t / 3) if over == "drift" else 0))
    return shown
