from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from vmmetrics.clip import Clip

sys.path.insert(0, str(Path(__file__).parent))  # toy_metrics, by name, as a user's own module is found

FPS, COUNT = 12.0, 36


def drifting(seed: int) -> Clip:
    """Three seconds of gravel that drifts."""
    rng = np.random.default_rng(seed)
    world = cv2.resize(rng.integers(0, 255, (9, 18, 3)).astype(np.uint8), (192, 64), interpolation=cv2.INTER_CUBIC)
    speed = 2 + seed % 2
    frames = np.stack([world[8:56, speed * t : speed * t + 64] for t in range(COUNT)])
    return Clip(frames, np.arange(COUNT) / FPS, FPS, name=f"gravel-{seed}")


@pytest.fixture(scope="session")
def clips() -> list[Clip]:
    return [drifting(seed) for seed in range(5)]
