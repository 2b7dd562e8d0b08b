"""Clean clips rendered from a seed: a textured world, a moving camera, and things and a figure that move in it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.perturbations.frames import Frames

SIZE = (400, 300)  # width, height
FPS = 24.0
SECONDS = 8.0
_WORLD = 2.2  # side of the world in frames
_LIMBS = ((-0.35, -0.5), (0.35, -0.5), (-0.2, 0.45), (0.2, 0.45))  # where arms and legs start, in half body heights

Rng = np.random.Generator
Picture = NDArray[np.float32]


def leaves(rng: Rng, width: int, height: int) -> Picture:
    """Draw opaque shapes of power-law size over one another, shaded: the statistics of photographs (dead leaves)."""
    picture = np.zeros((height, width, 3), np.float32)
    picture[:] = rng.uniform(40, 200, 3)
    tones = rng.uniform(20, 235, (12, 3))
    for size in np.sort(3.0 * (1 - rng.uniform(0, 0.999, 700)) ** -0.6)[::-1]:
        radius = float(min(size, 0.3 * height))
        at = (int(rng.integers(width)), int(rng.integers(height)))
        axes = (max(1, round(radius)), max(1, round(radius * rng.uniform(0.4, 1))))
        tone = np.clip(tones[rng.integers(12)] + rng.normal(0, 12, 3), 0, 255)
        cv2.ellipse(picture, at, axes, float(rng.uniform(0, 180)), 0, 360, tone.tolist(), -1, cv2.LINE_AA)
    grain = cv2.resize(rng.normal(0, 1, (height // 3, width // 3, 1)).astype(np.float32), (width, height))
    shade = cv2.resize(rng.normal(0, 1, (5, 7)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(np.clip(picture * (1 + 0.12 * shade[..., None]) + 7 * grain[..., None], 0, 255), np.float32)


def render(seed: int) -> tuple[Frames, float]:
    """Render a clip: (T, 300, 400, 3) uint8, and frames per second. The same seed gives the same clip."""
    rng = np.random.default_rng([seed, 31])
    width, height = SIZE
    world = leaves(rng, round(_WORLD * width), round(_WORLD * height))
    actors = [_Actor(rng, figure=bool(n == 0 and seed % 2)) for n in range(int(rng.integers(1, 4)))]
    pan = rng.uniform(-0.05, 0.05, 2) * (width, height) * bool(seed % 3)
    zoom, sway = float(rng.uniform(0.98, 1.03)), float(rng.uniform(0, 1.5))
    frames = []
    for t in np.arange(round(SECONDS * FPS)) / FPS:
        scale = zoom ** (t - SECONDS / 2)
        shake = sway * np.array([np.sin(5.1 * t + 1), np.sin(4.3 * t)])
        corner = np.array([width, height]) * (1 - _WORLD) / 2 * scale + pan * (t - SECONDS / 2) + shake
        corner += (1 - scale) * np.array([width, height]) / 2
        view = np.array([[scale, 0, corner[0]], [0, scale, corner[1]]])
        seen = cv2.warpAffine(world, view, SIZE, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
        frame = np.asarray(seen, np.float32)
        for actor in actors:
            frame = actor.draw(frame, float(t))
        frames.append(np.clip(frame + rng.normal(0, 1.2, frame.shape) + 0.5, 0, 255).astype(np.uint8))
    return np.stack(frames), FPS


class _Actor:
    """A textured thing, or a figure with swinging limbs, on a smooth path."""

    def __init__(self, rng: Rng, figure: bool) -> None:
        self.texture = leaves(rng, 200, 200)
        self.figure = figure
        self.radius = float(rng.uniform(45, 70) if figure else rng.uniform(22, 55))
        self.centre = rng.uniform(0.3, 0.7, 2) * SIZE
        self.reach = rng.uniform(0.05, 0.28, 2) * SIZE
        self.rate, self.phase = rng.uniform(0.5, 2.2, 2), rng.uniform(0, 2 * np.pi, 2)
        self.turn = 0.0 if figure else float(rng.uniform(-1.2, 1.2))
        self.gait = float(rng.uniform(3, 7))
        knots = rng.uniform(0.7, 1.0, 9)
        knots[-1] = knots[0]
        self.outline = np.interp(np.linspace(0, 8, 64, endpoint=False), np.arange(9), knots)

    def draw(self, frame: Picture, t: float) -> Picture:
        """Return ``frame`` with the actor as it is at ``t`` seconds."""
        at = self.centre + self.reach * np.sin(self.rate * t + self.phase)
        mask = np.zeros(frame.shape[:2], np.float32)
        turn = self.turn * t + 0.15 * np.sin(1.7 * t)
        if self.figure:
            self._body(mask, at, t)
        else:
            angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
            spokes = self.radius * self.outline
            edge = at + np.stack([spokes * np.cos(angles + turn), spokes * np.sin(angles + turn)], 1)
            _fill(mask, edge)
        matrix = cv2.getRotationMatrix2D((100, 100), -np.degrees(turn), self.radius / 90)
        matrix[:, 2] = matrix[:, 2] + at - 100
        skin = cv2.warpAffine(self.texture, matrix, SIZE, borderMode=cv2.BORDER_REFLECT_101)
        return np.asarray(frame * (1 - mask[..., None]) + skin * mask[..., None], np.float32)

    def _body(self, mask: Picture, at: NDArray[np.float64], t: float) -> None:
        half = self.radius
        _limb(mask, at - (0, 0.5 * half), at + np.array([0, 0.45 * half]), 0.42 * half)
        _limb(mask, at - (0, 0.95 * half), at - (0, 0.85 * half), 0.36 * half)
        for number, (x, y) in enumerate(_LIMBS):
            swing = 0.7 * np.sin(self.gait * t + np.pi * (number in (0, 3)))
            bend = swing + (0.5 + 0.4 * np.sin(self.gait * t + number)) * (1 if number < 2 else -1) * 0.6
            joint = at + half * np.array([x, y])
            middle = joint + 0.5 * half * np.array([np.sin(swing), np.cos(swing)])
            _limb(mask, joint, middle, 0.2 * half)
            _limb(mask, middle, middle + 0.5 * half * np.array([np.sin(bend), np.cos(bend)]), 0.16 * half)


def _fill(mask: Picture, edge: NDArray[np.float64]) -> None:
    cv2.fillPoly(mask, [np.round(edge * 16).astype(np.int32)], 1.0, cv2.LINE_AA, shift=4)


def _limb(mask: Picture, start: NDArray[np.float64], end: NDArray[np.float64], thick: float) -> None:
    """Draw a rounded bar, to a sixteenth of a pixel."""
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-6)
    around = np.linspace(0, np.pi, 12)
    side = np.array([-along[1], along[0]])
    cap = np.outer(np.cos(around), side) + np.outer(np.sin(around), along)
    _fill(mask, np.concatenate([end + thick / 2 * cap, start - thick / 2 * cap]))
