"""Clean clips of what never keeps its shape, rendered from a seed: fire, smoke, water, sparks, rain, leaves in wind.

Motion of such things is right although nothing in them can be followed for long. A classifier that knows only solid
things takes them for melting.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.cas_recipe.renders import leaves
from vmmetrics.alignment.perturbations.frames import Frames

SIZE = (400, 300)  # width, height
FPS = 24.0
SECONDS = 6.0
_CELLS = (100, 75)  # of the simulated fluid, width, height
_JACOBI_ROUNDS = 12  # of the pressure; what divergence is left is not seen
_WARM_UP = 36  # frames simulated before the first is shown, so that the fire burns already

Rng = np.random.Generator
Picture = NDArray[np.float32]


def render_fluid(seed: int) -> tuple[Frames, float]:
    """Render a clip: (T, 300, 400, 3) uint8, and frames per second. The same seed gives the same clip.

    Kinds take turns over seeds, in the order of :data:`KINDS`.
    """
    rng = np.random.default_rng([seed, 57])
    name = list(KINDS)[seed % len(KINDS)]
    pictures = KINDS[name](rng, round(SECONDS * FPS))
    moved = _handheld(pictures, rng) if rng.random() < 0.5 else pictures
    grain = rng.normal(0, 1.2, moved.shape).astype(np.float32)
    return np.clip(moved + grain + 0.5, 0, 255).astype(np.uint8), FPS


def _handheld(pictures: Picture, rng: Rng) -> Picture:
    """Return the pictures through a camera that drifts, sways and nears a little."""
    width, height = SIZE
    drift, sway, zoom = rng.uniform(-0.04, 0.04, 2) * SIZE, float(rng.uniform(0.3, 1.5)), float(rng.uniform(1.0, 1.12))
    moved = []
    for number, picture in enumerate(pictures):
        share, t = number / len(pictures), number / FPS
        matrix = cv2.getRotationMatrix2D((width / 2, height / 2), 0, 1.15 * zoom**share)
        matrix[:, 2] = matrix[:, 2] + drift * (share - 0.5) + sway * np.array([np.sin(5.1 * t), np.sin(4.3 * t + 1)])
        moved.append(cv2.warpAffine(picture, matrix, SIZE, borderMode=cv2.BORDER_REFLECT_101))
    return np.stack(moved)


def _scenery(rng: Rng, brightness: float = 1.0) -> Picture:
    """Return something to stand behind, paler than what :func:`leaves` draws."""
    picture = leaves(rng, *SIZE)
    grey = picture.mean(-1, keepdims=True)
    return np.asarray((grey + 0.45 * (picture - grey)) * brightness, np.float32)


def _advected(field: Picture, velocity: Picture, step: float) -> Picture:
    """Return ``field`` carried along ``velocity`` (h, w, 2) for a step (semi-Lagrangian; Stam, SIGGRAPH 1999)."""
    height, width = velocity.shape[:2]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    back = np.float32(step) * velocity
    taken = cv2.remap(field, x - back[..., 0], y - back[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(taken, np.float32)


def _without_divergence(velocity: Picture) -> Picture:
    """Return ``velocity`` less the gradient of the pressure that keeps the fluid from gathering anywhere."""
    by_x = np.gradient(velocity[..., 0], axis=1)
    by_y = np.gradient(velocity[..., 1], axis=0)
    divergence = (by_x + by_y).astype(np.float32)
    pressure = np.zeros_like(divergence)
    kernel = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.float32) / 4
    for _ in range(_JACOBI_ROUNDS):
        pressure = cv2.filter2D(pressure, -1, kernel, borderType=cv2.BORDER_REPLICATE) - divergence / 4
    down, across = np.gradient(pressure)
    return np.asarray(velocity - np.stack([across, down], -1), np.float32)


def _plume(rng: Rng, count: int, *, buoyancy: float, fade: float, swirl: float) -> Picture:
    """Simulate what rises from a bed of sources: (count, cells) of heat or smoke, 0 and up."""
    width, height = _CELLS
    velocity = np.zeros((height, width, 2), np.float32)
    heat = np.zeros((height, width), np.float32)
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    beds = rng.uniform(0.25, 0.75, int(rng.integers(2, 6))) * width
    widths, rates = rng.uniform(3, 9, len(beds)), rng.uniform(2, 9, (2, len(beds)))
    shown = []
    for number in range(count + _WARM_UP):
        t = number / FPS
        glow = 0.6 + 0.4 * np.sin(rates[0] * t + rates[1])
        source = sum(
            g * np.exp(-(((x - bed) / w) ** 2) - ((y - 0.92 * height) / 4) ** 2)
            for bed, w, g in zip(beds, widths, glow, strict=True)
        )
        heat = heat * np.float32(fade) + np.asarray(source, np.float32) * 0.5
        velocity[..., 1] -= np.float32(buoyancy) * heat
        noise = cv2.resize(rng.normal(0, 1, (15, 20, 2)).astype(np.float32), _CELLS, interpolation=cv2.INTER_CUBIC)
        velocity += np.float32(swirl) * noise * np.minimum(heat, 1)[..., None]
        velocity = _without_divergence(_advected(velocity, velocity, 1.0)) * np.float32(0.985)
        heat = _advected(heat, velocity, 1.0)
        shown.append(heat)
    return np.stack(shown[_WARM_UP:])


def _fire(rng: Rng, count: int) -> Picture:
    """Flames before the dark or before scenery by night."""
    heat = _plume(rng, count, buoyancy=0.10, fade=float(rng.uniform(0.90, 0.95)), swirl=1.2)
    behind = _scenery(rng, float(rng.uniform(0.05, 0.5)))
    tones = np.array([[0, 0, 0], [120, 20, 5], [230, 90, 10], [255, 190, 60], [255, 245, 200]], np.float32)
    stops = np.array([0.0, 0.15, 0.45, 0.9, 1.6])
    frames = []
    for plane in heat:
        large = cv2.resize(plane, SIZE, interpolation=cv2.INTER_CUBIC)
        light = np.stack([np.interp(large, stops, tones[:, c]) for c in range(3)], -1)
        frames.append(behind * (1 - np.clip(large, 0, 1))[..., None] + light)
    return np.asarray(np.stack(frames), np.float32)


def _smoke(rng: Rng, count: int) -> Picture:
    """Smoke or steam over scenery."""
    thick = _plume(rng, count, buoyancy=0.03, fade=0.97, swirl=0.6)
    behind, tone = _scenery(rng), rng.uniform(150, 235)
    frames = []
    for plane in thick:
        cover = 1 - np.exp(-0.35 * np.maximum(cv2.resize(plane, SIZE, interpolation=cv2.INTER_CUBIC), 0))
        frames.append(behind * (1 - cover[..., None]) + tone * cover[..., None])
    return np.asarray(np.stack(frames), np.float32)


def _sea(rng: Rng, count: int) -> Picture:
    """Waves on open water under a sky: sums of waves that travel as fast as their length lets them."""
    width, height = SIZE
    horizon = round(height * rng.uniform(0.2, 0.45))
    rows = np.arange(height - horizon, dtype=np.float32)
    depth = 60.0 / (rows + 6)  # distance from the viewer of each row, foreshortened
    across = (np.arange(width, dtype=np.float32) - width / 2)[None] * depth[:, None] / 60
    away = np.repeat(depth[:, None] * 4, width, axis=1)
    angles, lengths = rng.uniform(0.2, 2.9, 24), np.exp(rng.uniform(np.log(0.3), np.log(6), 24))
    numbers, phases = 2 * np.pi / lengths, rng.uniform(0, 2 * np.pi, 24)
    heights = 0.12 * lengths**0.8
    sky = np.linspace(rng.uniform(120, 180), rng.uniform(190, 245), horizon)[:, None, None] * rng.uniform(0.8, 1, 3)
    deep, bright = rng.uniform(10, 60, 3), rng.uniform(150, 240, 3)
    still = _scenery(rng)[:horizon]
    frames = []
    for number in range(count):
        t = number / FPS
        slope = np.zeros_like(away)
        for k, angle, phase, tall in zip(numbers, angles, phases, heights, strict=True):
            along = k * (np.cos(angle) * across + np.sin(angle) * away)
            seen = np.exp(-((k * depth[:, None] / 12) ** 2))  # shorter than a pixel: not seen
            slope += tall * k * np.cos(along - np.sqrt(9.8 * k) * t * 0.6 + phase) * np.sin(angle) * seen
        shine = 1 / (1 + np.exp(-3 * (slope - 0.2)))
        water = deep + (bright - deep) * shine[..., None]
        top = 0.8 * np.broadcast_to(sky, (horizon, width, 3)) + 0.2 * still
        frames.append(np.concatenate([top, water]))
    return np.asarray(np.stack(frames), np.float32)


def _ripples(rng: Rng, count: int) -> Picture:
    """Drops fall on shallow water: rings spread, and the ground below is seen bent."""
    width, height = _CELLS
    now, before = np.zeros((height, width), np.float32), np.zeros((height, width), np.float32)
    ground = _scenery(rng)
    x, y = np.meshgrid(np.arange(SIZE[0], dtype=np.float32), np.arange(SIZE[1], dtype=np.float32))
    frames = []
    for _ in range(count + _WARM_UP):
        if rng.random() < 0.25:
            at = rng.uniform(0.1, 0.9, 2) * (width, height)
            cv2.circle(now, (round(at[0]), round(at[1])), int(rng.integers(1, 4)), float(rng.uniform(1, 3)), -1)
        for _ in range(2):
            now, before = now + 0.985 * (now - before) + 0.22 * cv2.Laplacian(now, cv2.CV_32F), now
        large = cv2.GaussianBlur(cv2.resize(now, SIZE, interpolation=cv2.INTER_CUBIC), (0, 0), 4)
        down, across = np.gradient(large)
        bent = cv2.remap(ground, x + 25 * across.astype(np.float32), y + 25 * down.astype(np.float32), cv2.INTER_LINEAR)
        frames.append(np.clip(bent * 0.85 + 20 + 220 * (across + down)[..., None], 0, 255))
    return np.asarray(np.stack(frames[_WARM_UP:]), np.float32)


def _fireworks(rng: Rng, count: int) -> Picture:
    """Bursts in a night sky: sparks fly apart, fall, fade and leave trails."""
    width, height = SIZE
    night = _scenery(rng, 0.08)
    trail = np.zeros((height, width, 3), np.float32)
    bursts = [_Burst(rng) for _ in range(int(rng.integers(7, 14)))]
    frames = []
    for number in range(count):
        trail *= np.float32(0.86)
        for burst in bursts:
            burst.draw(trail, number / FPS)
        glow = cv2.GaussianBlur(trail, (0, 0), 6)
        frames.append(night + trail + 0.8 * glow)
    return np.asarray(np.clip(np.stack(frames), 0, 255), np.float32)


class _Burst:
    def __init__(self, rng: Rng) -> None:
        self.start, self.life = float(rng.uniform(-1.0, SECONDS)), float(rng.uniform(0.9, 2.0))
        self.centre = rng.uniform((0.15, 0.1), (0.85, 0.55)) * SIZE
        number = int(rng.integers(60, 180))
        angle, speed = rng.uniform(0, 2 * np.pi, number), rng.uniform(30, 130) * rng.uniform(0.6, 1.0, number)
        self.velocity = np.stack([speed * np.cos(angle), speed * np.sin(angle)], -1)
        self.tone = rng.uniform(90, 255, 3) * (1.0, 0.9, 0.8)

    def draw(self, canvas: Picture, t: float) -> None:
        age = t - self.start
        if not 0 < age < self.life:
            return
        drag = (1 - np.exp(-1.6 * age)) / 1.6
        positions = self.centre + self.velocity * drag + np.array([0, 18 * age**2])
        light = (self.tone * (1 - age / self.life)).tolist()
        for x, y in np.round(positions * 8).astype(int).tolist():
            cv2.circle(canvas, (x, y), 9, light, -1, cv2.LINE_AA, shift=3)


def _falling(rng: Rng, count: int) -> Picture:
    """Rain or snow, near flakes larger and faster than far ones, before scenery."""
    width, height = SIZE
    behind = _scenery(rng, float(rng.uniform(0.5, 0.9)))
    snow = rng.random() < 0.5
    number = 260
    near = rng.uniform(0.25, 1.0, number)
    at = rng.uniform(0, 1, (number, 2)) * SIZE
    speed = (90.0 if snow else 520.0) * near
    drift, phase = (20.0 if snow else 40.0) * near, rng.uniform(0, 2 * np.pi, number)
    frames = []
    for t in np.arange(count) / FPS:
        frame = behind.copy()
        x = (at[:, 0] + drift * t + (6 * np.sin(2 * t + phase) if snow else 0)) % width
        y = (at[:, 1] + speed * t) % height
        long = np.where(snow, 0.0, speed / FPS * 0.7)
        for i in range(number):
            ends = (round(x[i]), round(y[i])), (round(x[i]), round(y[i] + long[i]))
            cv2.line(frame, *ends, (225, 228, 235), max(1, round(3 * near[i])) if snow else 1, cv2.LINE_AA)
        frames.append(frame)
    return np.asarray(np.stack(frames), np.float32)


def _wind(rng: Rng, count: int) -> Picture:
    """Foliage, grass or cloth in gusts that travel over it."""
    picture = _scenery(rng)
    x, y = np.meshgrid(np.arange(SIZE[0], dtype=np.float32), np.arange(SIZE[1], dtype=np.float32))
    loose = cv2.resize(rng.uniform(0, 1, (6, 8)).astype(np.float32), SIZE, interpolation=cv2.INTER_CUBIC)
    numbers, angles = rng.uniform(0.01, 0.07, 5), rng.uniform(-0.6, 0.6, 5)
    rates, phases, reach = rng.uniform(2, 7, 5), rng.uniform(0, 2 * np.pi, 5), rng.uniform(0.8, 3.0, 5)
    frames = []
    for t in np.arange(count) / FPS:
        off = np.zeros_like(x)
        for k, a, rate, phase, far in zip(numbers, angles, rates, phases, reach, strict=True):
            off += np.float32(far) * np.sin(k * (np.cos(a) * x + np.sin(a) * y) - rate * t + phase).astype(np.float32)
        frames.append(cv2.remap(picture, x + off * loose, y + 0.4 * off * loose, cv2.INTER_LINEAR))
    return np.asarray(np.stack(frames), np.float32)


def _bubbles(rng: Rng, count: int) -> Picture:
    """Bubbles rise in a lit liquid to the foam on top, and the light moves."""
    width, height = SIZE
    tone = np.array([rng.uniform(170, 230), rng.uniform(110, 170), rng.uniform(20, 90)])
    shade = cv2.resize(rng.uniform(0.7, 1.15, (4, 6)).astype(np.float32), SIZE, interpolation=cv2.INTER_CUBIC)
    foam = round(height * rng.uniform(0.12, 0.3))
    froth = leaves(rng, width * 2, foam)
    froth = froth * 0.2 + 190
    number = 220
    at, radius = rng.uniform(0, 1, (number, 2)) * SIZE, rng.uniform(0.8, 4.5, number)
    speed, phase = 25 + 22 * radius, rng.uniform(0, 2 * np.pi, number)
    frames = []
    for t in np.arange(count) / FPS:
        frame = np.asarray(tone * shade[..., None] * (1 + 0.05 * np.sin(1.3 * t)), np.float32)
        x, y = at[:, 0] + 3 * np.sin(4 * t + phase), (at[:, 1] - speed * t) % height
        for i in range(number):
            centre = (round(x[i] * 8), round(y[i] * 8))
            cv2.circle(frame, centre, round(radius[i] * 8), (tone * 1.25).tolist(), 1, cv2.LINE_AA, shift=3)
        slid = 20 * np.sin(0.7 * t) + 40
        surface = foam + (3 * np.sin(0.05 * np.arange(width) + 3 * t)).astype(int)
        matrix = np.array([[1, 0, -slid], [0, 1, 0]], np.float64)
        top = cv2.warpAffine(froth, matrix, (width, foam), borderMode=cv2.BORDER_REFLECT_101)
        cover = np.arange(foam)[:, None] < surface[None]
        frame[:foam] = np.where(cover[..., None], top, frame[:foam])
        frames.append(frame)
    return np.asarray(np.stack(frames), np.float32)


KINDS: dict[str, Callable[[Rng, int], Picture]] = {
    "fire": _fire,
    "sea": _sea,
    "fireworks": _fireworks,
    "smoke": _smoke,
    "ripples": _ripples,
    "falling": _falling,
    "wind": _wind,
    "bubbles": _bubbles,
}
"""What moves; each gives (count, 300, 400, 3) float32 of its clip in 0..255."""
