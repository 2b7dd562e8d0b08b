"""BRISQUE, quality of a picture without a reference.

Mittal, Moorthy and Bovik, "No-Reference Image Quality Assessment in the Spatial Domain", IEEE TIP 2012: 36 statistics
of natural scenes, and the support vector regression that its authors fitted to people's ratings of LIVE's pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from vmmetrics.baselines.natural_scenes import fit
from vmmetrics.types import FloatArray
from vmmetrics.weights import weight_path

WEIGHTS = "brisque-live"
"""The published regression, in the manifest of shipped weights."""


@dataclass(frozen=True, slots=True)
class Regression:
    """An ε-SVR with a Gaussian kernel.

    Attributes:
        support: (S, 36) support vectors, features scaled to −1..1.
        coefficients: (S,) their weights.
        gamma: Of the kernel exp(−γ |a − b|²).
        rho: Taken off the sum.
        low: (36,) features that are scaled to −1.
        high: (36,) features that are scaled to 1.
    """

    support: FloatArray
    coefficients: FloatArray
    gamma: float
    rho: float
    low: FloatArray
    high: FloatArray


@cache
def published_regression() -> Regression:
    """Load the regression that is shipped.

    Raises:
        SetupError: The file is missing or altered.
    """
    with np.load(weight_path(WEIGHTS), allow_pickle=False) as file:
        arrays = {name: file[name].astype(np.float64) for name in file.files}
    gamma, rho = (float(arrays.pop(name)) for name in ("gamma", "rho"))
    return Regression(**arrays, gamma=gamma, rho=rho)


def brisque_features(moments: Sequence[FloatArray]) -> FloatArray:
    """Return the (36,) features of a picture, NaN where it is flat.

    Args:
        moments: Per scale (6, 5, rows, columns), from :func:`~vmmetrics.baselines.natural_scenes.scene_moments`.
    """
    features = []
    for table in moments:
        law = fit(table.sum(axis=(2, 3)))
        features += [law.alpha[0], (law.left[0] ** 2 + law.right[0] ** 2) / 2]
        products = np.stack([law.alpha, law.mean, law.left**2, law.right**2], axis=-1)[1:]
        features += products.ravel().tolist()
    return np.array(features)


def brisque(features: FloatArray, regression: Regression) -> float | None:
    """Return the score of a picture: about 0 (best) to 100 (worst), not clipped; None for a flat picture.

    Args:
        features: (36,) as :func:`brisque_features` gives them.
        regression: What scores them.
    """
    if not np.isfinite(features).all():
        return None
    scaled = 2 * (features - regression.low) / (regression.high - regression.low) - 1
    likeness = np.exp(-regression.gamma * np.square(regression.support - scaled).sum(axis=1))
    return float(regression.coefficients @ likeness - regression.rho)
