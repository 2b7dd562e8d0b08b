from __future__ import annotations

import cv2
import numpy as np
import pytest

from vmmetrics.alignment.perturbations.objects import ClipObjects
from vmmetrics.clip import Clip

FPS = 12.0
COUNT = 36


@pytest.fixture(scope="session")
def clip() -> Clip:
    """Three seconds of gravel that drifts fast, with a disc of other gravel that goes the other way."""
    rng = np.random.default_rng(0)
    world, thing = (
        cv2.resize(rng.integers(0, 255, (16, 30, 3)).astype(np.uint8), (360, 160), interpolation=cv2.INTER_CUBIC)
        for _ in range(2)
    )
    frames = []
    for t in range(COUNT):
        frame = world[20:116, 20 + 4 * t : 148 + 4 * t].copy()
        disc = inside(t)
        frame[disc] = np.roll(thing, 2 * t, axis=1)[:96, 100:228][disc]
        frames.append(frame)
    return Clip(np.stack(frames), np.arange(COUNT) / FPS, FPS, name="gravel")


def inside(t: int) -> np.ndarray:
    y, x = np.mgrid[:96, :128]
    return np.asarray((x - 30 - 2 * t) ** 2 + (y - 48) ** 2 < 18**2)


@pytest.fixture(scope="session")
def objects() -> ClipObjects:
    """The disc, and a person whose left forearm is 30 pixels long and moves."""
    labels = np.stack([inside(t) for t in range(COUNT)]).astype(np.uint8)
    people = np.full((COUNT, 1, 17, 2), np.nan)
    people[:, 0, 7] = np.stack([40 + np.arange(COUNT), np.full(COUNT, 30.0)], 1)
    people[:, 0, 9] = people[:, 0, 7] + (12, 26)
    return ClipObjects(labels, people)
