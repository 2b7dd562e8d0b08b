"""The recipe of NIQE's pristine Gaussian: ``python -m benchmarks.niqe_pristine FOLDER OUT``.

Footage is compressed and not pristine as it is stored. Halved, its coding noise and softness of focus are gone below
what the features see, so blocks are taken from frames at half size, and of each frame only the sharpest, as the paper
does (sharper than 0.75 of its sharpest block).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines.natural_scenes import (
    BLOCK,
    CELL,
    Pristine,
    block_features,
    local_statistics,
    scene_moments,
)
from vmmetrics.types import FloatArray
from vmmetrics.video import discover, read_clip

FRAMES = 12
"""Frames of each clip: more of them show the same scene again."""
SHARPEST = 0.75
"""Share of the sharpest block's sharpness that a block must have (Mittal et al., section II.B)."""


def pristine_of(pictures: Iterator[NDArray[np.uint8]]) -> Pristine:
    """Fit the Gaussian to the sharp blocks of (H, W) grey pictures; those smaller than a block are passed over."""
    blocks = np.concatenate([_sharp_blocks(grey) for grey in pictures if min(grey.shape) >= BLOCK])
    return Pristine(blocks.mean(axis=0), np.cov(blocks, rowvar=False))


def _sharp_blocks(grey: NDArray[np.uint8]) -> FloatArray:
    """(N, 36) features of the sharp blocks of a picture."""
    features = block_features(scene_moments(grey), *grey.shape)
    rows, columns = grey.shape[0] // CELL, grey.shape[1] // CELL
    deviation = local_statistics(grey.astype(np.float32))[1][: rows * CELL, : columns * CELL]
    cells = deviation.reshape(rows, CELL, columns, CELL).mean(axis=(1, 3))
    sharpness = cells[:-1, :-1] + cells[:-1, 1:] + cells[1:, :-1] + cells[1:, 1:]
    sharp = (sharpness > SHARPEST * sharpness.max()) & np.isfinite(features).all(axis=-1)
    return np.asarray(features[sharp])


def _halved(folder: Path) -> Iterator[NDArray[np.uint8]]:
    for source in discover([folder]):
        clip = read_clip(source.path)
        for index in np.unique(np.linspace(0, len(clip) - 1, FRAMES).astype(int)):
            grey = cv2.cvtColor(clip.frames[index], cv2.COLOR_RGB2GRAY)
            yield np.asarray(cv2.resize(grey, (clip.width // 2, clip.height // 2), interpolation=cv2.INTER_AREA))


def _main() -> None:
    parser = argparse.ArgumentParser(description="Fit NIQE's pristine Gaussian to footage.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    pristine = pristine_of(_halved(arguments.folder))
    np.savez(arguments.out, mean=pristine.mean, covariance=pristine.covariance)


if __name__ == "__main__":
    _main()
