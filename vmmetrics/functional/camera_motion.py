"""Frame-to-frame camera motion from tracked background points, where nobody hands it in.

Iteratively reweighted least squares: a robust fit that needs no random numbers, so that a clip always gets the same
score. The simplest model that the number of points supports: translation, affine, homography.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vmmetrics.types import BoolArray, FloatArray

MIN_POINTS_AFFINE = 8
MIN_POINTS_HOMOGRAPHY = 24
"""Three to four times as many points as the model's minimum (3 and 4), so that outliers can be told from inliers."""
ITERATIONS = 30
NOISE_FLOOR = 0.05
"""Pixels: least scale of the residuals, about the precision of a good tracker."""
CONVERGED = 1e-7
"""Largest change of an entry, in normalised coordinates, at which the fit has settled."""
CAUCHY = 2.385
"""Cauchy weights at 95 % efficiency under Gaussian noise (Holland & Welsch 1977)."""


def estimate_camera(tracks: FloatArray, visibility: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Fit one homography per frame pair to the points visible in both frames.

    Args:
        tracks: (T, N, 2) float64 pixels, background points.
        visibility: (T, N) bool.

    Returns:
        (T−1, 3, 3) float64 homographies from frame t to t+1, and (T−1,) bool, False (identity) where no point is
        visible in both frames.
    """
    homographies = np.tile(np.eye(3), (len(tracks) - 1, 1, 1))
    shared: BoolArray = visibility[:-1] & visibility[1:]
    for t, points in enumerate(shared):
        if points.any():
            homographies[t] = fit_global_motion(tracks[t, points], tracks[t + 1, points])
    known: BoolArray = np.any(shared, axis=1)
    return homographies, known


def fit_global_motion(source: FloatArray, target: FloatArray) -> FloatArray:
    """Robust (3, 3) motion that takes ``source`` (N, 2) to ``target`` (N, 2), N ≥ 1."""
    centre = source.mean(axis=0)
    scale = max(float(source.std()), 1.0)
    normalise = np.array([[1 / scale, 0, -centre[0] / scale], [0, 1 / scale, -centre[1] / scale], [0, 0, 1]])
    a, b = (source - centre) / scale, (target - centre) / scale
    motion: FloatArray = np.eye(3)
    motion[:2, 2] = np.median(b - a, axis=0)
    if len(a) >= MIN_POINTS_AFFINE:
        motion = _reweighted(a, b, motion, _solve_affine, NOISE_FLOOR / scale)
    if len(a) >= MIN_POINTS_HOMOGRAPHY:
        motion = _reweighted(a, b, motion, _solve_homography, NOISE_FLOOR / scale)
    result: FloatArray = np.linalg.inv(normalise) @ motion @ normalise
    result /= result[2, 2]
    return result


def project(homographies: FloatArray, points: FloatArray) -> FloatArray:
    """(..., 3, 3) homographies applied to (..., N, 2) points."""
    mapped = points @ np.swapaxes(homographies[..., :2], -1, -2) + homographies[..., None, :, 2]
    return mapped[..., :2] / mapped[..., 2:]


Solver = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def _reweighted(a: FloatArray, b: FloatArray, motion: FloatArray, solve: Solver, floor: float) -> FloatArray:
    """Refine ``motion`` by weighted least squares, points far from the present fit weighing less and less."""
    for _ in range(ITERATIONS):
        residual = np.linalg.norm(project(motion, a) - b, axis=1)
        scale = max(1.4826 * float(np.median(residual)), floor)
        weights = 1 / (1 + (residual / (CAUCHY * scale)) ** 2)
        refined = solve(a, b, weights)
        settled = np.abs(refined - motion).max() < CONVERGED
        motion = refined
        if settled:
            break
    return motion


def _solve_affine(a: FloatArray, b: FloatArray, weights: FloatArray) -> FloatArray:
    root = np.sqrt(weights)[:, None]
    design = np.column_stack([a, np.ones(len(a))])
    solution = np.linalg.lstsq(design * root, b * root, rcond=None)[0]
    return np.vstack([solution.T, [0.0, 0.0, 1.0]])


def _solve_homography(a: FloatArray, b: FloatArray, weights: FloatArray) -> FloatArray:
    """Linear in the eight entries once both sides are multiplied by the denominator, which stays near 1 here."""
    (x, y), (u, v) = a.T, b.T
    zero, one = np.zeros_like(x), np.ones_like(x)
    rows_u = np.column_stack([x, y, one, zero, zero, zero, -u * x, -u * y])
    rows_v = np.column_stack([zero, zero, zero, x, y, one, -v * x, -v * y])
    root = np.sqrt(np.concatenate([weights, weights]))
    design = np.vstack([rows_u, rows_v]) * root[:, None]
    entries = np.linalg.lstsq(design, np.concatenate([u, v]) * root, rcond=None)[0]
    return np.append(entries, 1.0).reshape(3, 3)
