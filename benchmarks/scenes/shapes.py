"""Outlines of objects, and the parts they are made of."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Outline = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A rigid (or wobbling) piece of an object, in units of the object's radius.

    Attributes:
        outline: (M, 2) closed, about the part's own origin.
        joint: Where that origin sits in the object.
        phase: Of its swing, radians.
        swing: Whether it swings at all.
    """

    outline: Outline
    joint: tuple[float, float] = (0.0, 0.0)
    phase: float = 0.0
    swing: bool = False


def blob(rng: np.random.Generator) -> Outline:
    """Round, irregular: a circle with a few harmonics; reaches 1 at most."""
    angle = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    radius = np.ones_like(angle)
    for order in range(2, 6):
        radius += rng.uniform(0.0, 0.28 / order) * np.cos(order * angle + rng.uniform(0, 2 * np.pi))
    radius /= radius.max()
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)


def superellipse(rng: np.random.Generator) -> Outline:
    """Between a lozenge and a box, of random aspect."""
    angle = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    power = 2 / rng.uniform(1.6, 4.0)
    aspect = rng.uniform(0.55, 1.0)
    corner = np.stack([np.cos(angle), np.sin(angle)], -1)
    outline = np.sign(corner) * np.abs(corner) ** power * (1.0, aspect)
    return np.asarray(outline / np.linalg.norm(outline, axis=1).max())


def polygon(rng: np.random.Generator) -> Outline:
    """Five to eight corners at uneven angles."""
    corners = int(rng.integers(5, 9))
    angle = (np.arange(corners) + rng.uniform(-0.3, 0.3, corners)) * 2 * np.pi / corners
    radius = rng.uniform(0.65, 1.0, corners)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)


def _capsule(length: float, width: float) -> Outline:
    """Limb from the origin downwards."""
    turn = np.linspace(0, np.pi, 24)
    top = np.stack([-np.cos(turn) * width, -np.sin(turn) * width], -1)
    bottom = np.stack([np.cos(turn) * width, length + np.sin(turn) * width], -1)
    return np.concatenate([top, bottom])


def parts_of(shape: str, rng: np.random.Generator) -> tuple[Part, ...]:
    """Return the parts of a shape, back to front."""
    if shape == "figure":
        torso = superellipse(rng) * (0.42, 0.62)
        limb = _capsule(rng.uniform(0.4, 0.5), rng.uniform(0.09, 0.12))
        head = blob(rng) * 0.2
        phase = rng.uniform(0, 2 * np.pi)
        return (
            Part(limb, (-0.18, 0.4), phase, True),
            Part(limb, (0.18, 0.4), phase + np.pi, True),
            Part(limb, (-0.32, -0.35), phase + np.pi, True),
            Part(torso),
            Part(head, (0.0, -0.72)),
            Part(limb, (0.32, -0.35), phase, True),
        )
    if shape == "pillar":
        return (Part(np.array([(-0.28, -8.0), (0.28, -8.0), (0.28, 8.0), (-0.28, 8.0)])),)
    return (Part({"blob": blob, "superellipse": superellipse, "polygon": polygon}[shape](rng)),)


def coverage(
    outline: Outline, size: tuple[int, int], scale: tuple[float, float], origin: tuple[float, float]
) -> NDArray[np.float32]:
    """Rasterise an outline to (height, width) float32 coverage in 0..1, area-sampled 4×4.

    Pixel (u, v) has its centre at outline position ((u - origin_x) / scale_x, (v - origin_y) / scale_y).
    ``size`` is (width, height).
    """
    samples = 4
    # Pixel centres at integers in both rasters: u' = (u + 0.5) * samples - 0.5.
    points = (outline * scale + origin + 0.5) * samples - 0.5
    mask = np.zeros((size[1] * samples, size[0] * samples), np.uint8)
    cv2.fillPoly(mask, [np.round(points * 256).astype(np.int32)], (255,), shift=8)
    return cv2.resize(mask, size, interpolation=cv2.INTER_AREA).astype(np.float32) / 255.0
