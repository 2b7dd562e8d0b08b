"""Pictures and flows with known truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

Oracle = dict[str, NDArray[np.generic]]


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """What scikit-image, opencv-contrib and libsvm say of some frames (benchmarks/baselines_parity.py)."""
    with np.load(Path(__file__).with_name("oracle.npz")) as file:
        return dict(file)


@pytest.fixture(scope="session")
def translated() -> Callable[..., NDArray[np.uint8]]:
    """Frames (T, 144, 192, 3) of a smooth texture that moves by ``step`` (x, y) whole pixels a frame."""

    def make(frames: int = 5, step: tuple[int, int] = (3, -2), seed: int = 0) -> NDArray[np.uint8]:
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=(320, 360, 3))
        texture = sum(cv2.GaussianBlur(noise, (0, 0), s) * s for s in (1.5, 4.0, 10.0))
        texture = np.clip(128 + 50 * (texture - texture.mean()) / texture.std(), 0, 255).astype(np.uint8)
        tops, lefts = (88 - t * step[1] for t in range(frames)), (84 - t * step[0] for t in range(frames))
        return np.stack([texture[y : y + 144, x : x + 192] for y, x in zip(tops, lefts, strict=True)])

    return make


@pytest.fixture
def clips(tmp_path: Path, translated: Callable[..., NDArray[np.uint8]]) -> Path:
    """A folder of two clips that move, one still picture and one file that is no clip."""
    folder = tmp_path / "clips"
    for model, step in (("slow", (1, 0)), ("fast", (5, 2))):
        (folder / model).mkdir(parents=True)
        np.save(folder / model / "moves.npy", translated(4, step))
    np.save(folder / "slow" / "still.npy", translated(1))
    (folder / "fast" / "broken.mp4").write_bytes(b"no film at all")
    return folder
