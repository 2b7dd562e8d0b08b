"""NIQE, how far a picture's statistics are from those of pristine ones, without any rating.

Mittal, Soundararajan and Bovik, "Making a 'Completely Blind' Image Quality Analyzer", IEEE Signal Processing Letters
2013: 36 features of every block, a Gaussian fitted to them, and its distance from the Gaussian of pristine pictures,

    NIQE = √((ν₁ − ν₂)ᵀ ((Σ₁ + Σ₂) / 2)⁻¹ (ν₁ − ν₂)).

The pristine Gaussian is ours (see :mod:`vmmetrics.baselines.niqe_pristine`), and blocks overlap by half so that small
clips have some: values are not comparable with those of the published model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from vmmetrics.baselines.natural_scenes import CELL, fit
from vmmetrics.types import FloatArray
from vmmetrics.weights import weight_path

WEIGHTS = "niqe-pristine"
"""The Gaussian of pristine pictures, in the manifest of shipped weights."""
BLOCK = 2 * CELL
"""Side of a block in pixels, as published."""
MIN_BLOCKS = 4
"""Fewer say nothing of how a picture's features spread."""
LEAST_SIDE = 3 * CELL
"""Side in pixels from which on there are two by two blocks."""


@dataclass(frozen=True, slots=True)
class Pristine:
    """The features of pristine blocks.

    Attributes:
        mean: (36,).
        covariance: (36, 36).
    """

    mean: FloatArray
    covariance: FloatArray


@cache
def shipped_pristine() -> Pristine:
    """Load the Gaussian that is shipped.

    Raises:
        SetupError: The file is missing or altered.
    """
    with np.load(weight_path(WEIGHTS), allow_pickle=False) as file:
        return Pristine(file["mean"].astype(np.float64), file["covariance"].astype(np.float64))


def block_features(moments: Sequence[FloatArray], height: int, width: int) -> FloatArray:
    """Return (rows, columns, 36) features of the blocks of a picture, NaN where a block is flat.

    Args:
        moments: Per scale (6, 5, rows, columns), from :func:`~vmmetrics.baselines.natural_scenes.scene_moments`.
        height: Of the picture, pixels.
        width: Of the picture, pixels.
    """
    rows, columns = height // CELL, width // CELL
    features = []
    for table in moments:
        whole = table[..., :rows, :columns]
        blocks = whole[..., :-1, :-1] + whole[..., :-1, 1:] + whole[..., 1:, :-1] + whole[..., 1:, 1:]
        law = fit(blocks)
        left, right = law.left * law.width, law.right * law.width
        features.append(np.stack([law.alpha[0], (left[0] + right[0]) / 2], axis=-1))
        products = np.stack([law.alpha, law.mean, left, right], axis=-1)[1:]
        features += list(products)
    return np.concatenate(features, axis=-1)


def niqe(features: FloatArray, pristine: Pristine) -> float | None:
    """Return the distance of a picture: 0 or more, lower is better; None where too few blocks have features.

    Args:
        features: (..., 36) of the blocks, as :func:`block_features` gives them.
        pristine: What they are held against.
    """
    blocks = features.reshape(-1, features.shape[-1])
    blocks = blocks[np.isfinite(blocks).all(axis=1)]
    if len(blocks) < MIN_BLOCKS:
        return None
    apart = blocks.mean(axis=0) - pristine.mean
    spread = (np.cov(blocks, rowvar=False) + pristine.covariance) / 2
    return float(np.sqrt(apart @ np.linalg.solve(spread, apart)))
