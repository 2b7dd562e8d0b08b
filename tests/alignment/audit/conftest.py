from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from vmmetrics.clip import Clip

sys.path.insert(0, str(Path(__file__).parent))  # planted, by name, as a user's own module is found


def drifting(seed: int, count: int = 14, side: int = 96, fps: float = 8.0) -> Clip:
    """Gravel that drifts, faster from clip to clip."""
    rng = np.random.default_rng(seed)
    grains = rng.integers(0, 255, (8 + 2 * seed, 16 + 4 * seed, 3)).astype(np.uint8)
    world = cv2.resize(grains, (side * 3, side + 32), interpolation=cv2.INTER_CUBIC)
    speed = 2 + seed % 7
    frames = np.stack([world[16 : 16 + side, speed * t : speed * t + side] for t in range(count)])
    return Clip(np.ascontiguousarray(frames), np.arange(count) / fps, fps, name=f"gravel-{seed}.mp4")


@pytest.fixture(scope="session")
def clips() -> list[Clip]:
    return [drifting(seed) for seed in range(7)]
