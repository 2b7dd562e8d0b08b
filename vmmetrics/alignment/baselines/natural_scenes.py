"""Natural scene statistics, as used by BRISQUE and NIQE.

A picture minus its local mean, divided by its local deviation (MSCN coefficients), and products of neighbours follow
generalised Gaussian laws with typical shapes; blur, noise and compression change the shapes. The laws are fitted by
moments (Lasmar, Stitou and Berthoumieu, ICIP 2009), which add up over cells of a picture: both baselines are made from
one table of moments per frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from vmmetrics.types import FloatArray
from vmmetrics.utils.weights.manifest import weight_path

CELL = 48
"""Side of the cells in pixels: half of NIQE's blocks of 96, so that blocks can overlap by half."""
SCALES = 2
"""Scales: full and half size, as published."""
WINDOW = 7
SIGMA = 7 / 6
"""Gaussian window of the local mean and deviation, as published."""
NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Offsets (rows, columns) to the neighbour of a product: horizontal, vertical and both diagonals."""

_ALPHAS = np.arange(0.2, 10.0, 0.001)  # shapes tried, as published
_RATIOS = np.exp(2 * gammaln(2 / _ALPHAS) - gammaln(1 / _ALPHAS) - gammaln(3 / _ALPHAS))


@dataclass(frozen=True, slots=True)
class Law:
    """Asymmetric generalised Gaussians, one per place.

    Attributes:
        alpha: Shape; 2 is Gaussian, 1 Laplacian. NaN where the picture is flat.
        left: Root mean square of the negative values.
        right: Root mean square of the positive values.
    """

    alpha: FloatArray
    left: FloatArray
    right: FloatArray

    @property
    def width(self) -> FloatArray:
        """Scale parameter over root mean square, √(Γ(1/α) / Γ(3/α))."""
        return np.asarray(np.exp((gammaln(1 / self.alpha) - gammaln(3 / self.alpha)) / 2))

    @property
    def mean(self) -> FloatArray:
        """The law's mean, (right − left) · width · Γ(2/α) / Γ(1/α)."""
        share = np.exp(gammaln(2 / self.alpha) - gammaln(1 / self.alpha))
        return np.asarray((self.right - self.left) * self.width * share)


def scene_moments(grey: NDArray[np.uint8]) -> list[FloatArray]:
    """Return the table of moments of a picture.

    Args:
        grey: (H, W) uint8, H and W at least 8.

    Returns:
        Per scale (6, 5, rows, columns) float64, cells of :data:`CELL` pixels at full size (the last of a row or column
        may be smaller): number of values, of negative and of positive ones, sum of squares of the negative and the
        positive ones, sum of absolute values; of the coefficients and of the products with each of
        :data:`NEIGHBOURS`.
    """
    picture = grey.astype(np.float32) - 128  # no coefficient depends on it, and small squares keep more digits
    tables = []
    for scale in range(SCALES):
        if scale:
            half = (picture.shape[1] // 2, picture.shape[0] // 2)
            picture = cv2.resize(picture, half, interpolation=cv2.INTER_CUBIC).astype(np.float32)
        coefficients = normalised(picture)
        maps = [coefficients, *(_products(coefficients, *shift) for shift in NEIGHBOURS)]
        tables.append(np.stack([_cell_moments(values, CELL >> scale) for values in maps], axis=1))
    return tables


def normalised(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the MSCN coefficients (I − μ) / (σ + 1) of a picture in grey levels."""
    mean, deviation = local_statistics(picture)
    return np.asarray((picture - mean) / (deviation + 1), np.float32)


def local_statistics(picture: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return μ and σ, local mean and deviation of a picture."""
    mean = _blurred(picture)
    return mean, np.sqrt(np.abs(_blurred(picture * picture) - mean * mean))


def fit(moments: FloatArray) -> Law:
    """Fit laws to (6, ...) moments as :func:`scene_moments` gives them, added up over any cells.

    Returns:
        Laws of shape (...); NaN where there are no negative or no positive values.
    """
    count, negative, positive, below, above, absolute = moments
    valid = (negative > 0) & (positive > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right = np.sqrt(below / negative), np.sqrt(above / positive)
        skew = left / right
        ratio = (absolute / count) ** 2 / ((below + above) / count)
        ratio = ratio * (skew**3 + 1) * (skew + 1) / (skew**2 + 1) ** 2
    index = np.clip(np.searchsorted(_RATIOS, ratio), 1, len(_ALPHAS) - 1)
    nearer = index - (np.abs(_RATIOS[index - 1] - ratio) < np.abs(_RATIOS[index] - ratio))
    return Law(*(np.where(valid, value, np.nan) for value in (_ALPHAS[nearer], left, right)))


def _blurred(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    blurred = cv2.GaussianBlur(picture, (WINDOW, WINDOW), SIGMA, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(blurred, np.float32)


def _products(values: NDArray[np.float32], down: int, right: int) -> NDArray[np.float32]:
    """Return every value times its neighbour; 0 where that would lie outside."""
    height, width = values.shape
    products = np.zeros_like(values)
    here = (slice(0, height - down), slice(max(0, -right), width - max(0, right)))
    there = (slice(down, height), slice(max(0, right), width + min(0, right)))
    np.multiply(values[here], values[there], out=products[here])
    return products


def _cell_moments(values: NDArray[np.float32], cell: int) -> FloatArray:
    """Return (6, rows, columns) moments of the cells of a map."""
    starts = np.arange(0, values.shape[1], cell)
    bands = []
    for top in range(0, len(values), cell):  # a band at a time stays in the processor's cache
        band = values[top : top + cell]
        above = np.maximum(band, 0)
        below = above - band
        layers = (band < 0, band > 0, below * below, above * above, above + below)
        sums = np.stack([np.full(band.shape[1], len(band)), *(layer.sum(axis=0) for layer in layers)])
        bands.append(np.add.reduceat(sums, starts, axis=1, dtype=np.float64))
    return np.stack(bands, axis=1)


# BRISQUE, quality of a picture without a reference.
#
# Mittal, Moorthy and Bovik, "No-Reference Image Quality Assessment in the Spatial Domain", IEEE TIP 2012: 36 statistics
# of natural scenes, and the support vector regression that its authors fitted to people's ratings of LIVE's pictures.


@dataclass(frozen=True, slots=True)
class Regression:
    """An ε-SVR with a Gaussian kernel.

    Attributes:
        support: (S, 36) support vectors, features scaled to −1..1.
        coefficients: (S,) their weights.
        gamma: Of the kernel exp(−γ |a − b|²), a single number.
        rho: Subtracted from the sum, a single number.
        low: (36,) features that are scaled to −1.
        high: (36,) features that are scaled to 1.
    """

    support: FloatArray
    coefficients: FloatArray
    gamma: FloatArray
    rho: FloatArray
    low: FloatArray
    high: FloatArray


def _arrays(weights: str) -> dict[str, FloatArray]:
    with np.load(weight_path(weights), allow_pickle=False) as file:
        return {name: file[name].astype(np.float64) for name in file.files}


@cache
def published_regression() -> Regression:
    """Load the regression that is shipped.

    Raises:
        SetupError: The file is missing or altered.
    """
    return Regression(**_arrays("brisque-live"))


def brisque_features(moments: Sequence[FloatArray]) -> FloatArray:
    """Return the (36,) features of a picture, NaN where it is flat.

    Args:
        moments: Per scale (6, 5, rows, columns), from :func:`scene_moments`.
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


# NIQE, how far a picture's statistics are from those of pristine ones, without any rating.
#
# Mittal, Soundararajan and Bovik, "Making a 'Completely Blind' Image Quality Analyzer", IEEE Signal Processing Letters
# 2013: 36 features of every block, a Gaussian fitted to them, and its distance from the Gaussian of pristine pictures,
#
#     NIQE = √((ν₁ − ν₂)ᵀ ((Σ₁ + Σ₂) / 2)⁻¹ (ν₁ − ν₂)).
#
# The pristine Gaussian is ours (see :mod:`benchmarks.niqe_pristine`), and blocks overlap by half so that small
# clips have some: values are not comparable with those of the published model.

BLOCK = 2 * CELL
"""Side of a block in pixels, as published."""
MIN_BLOCKS = 4
"""Minimum blocks to estimate the covariance of a frame's features."""
LEAST_SIDE = 3 * CELL
"""Minimum side in pixels: two by two blocks."""


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
    return Pristine(**_arrays("niqe-pristine"))


def block_features(moments: Sequence[FloatArray], height: int, width: int) -> FloatArray:
    """Return (rows, columns, 36) features of the blocks of a picture, NaN where a block is flat.

    Args:
        moments: Per scale (6, 5, rows, columns), from :func:`scene_moments`.
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
        pristine: Statistics of pristine pictures that they are compared with.
    """
    blocks = features.reshape(-1, features.shape[-1])
    blocks = blocks[np.isfinite(blocks).all(axis=1)]
    if len(blocks) < MIN_BLOCKS:
        return None
    apart = blocks.mean(axis=0) - pristine.mean
    spread = (np.cov(blocks, rowvar=False) + pristine.covariance) / 2
    return float(np.sqrt(apart @ np.linalg.solve(spread, apart)))
