"""Planar motion models fitted to weighted point pairs: translation, affine, homography."""

from __future__ import annotations

from typing import Literal

import numpy as np

from vmmetrics.types import FloatArray

Kind = Literal["translation", "affine", "homography"]
RIDGE = 1e-7
"""Pull towards "no change", as a share of the total weight; matters only for parameters no point determines."""

PARAMETERS: dict[Kind, int] = {"translation": 2, "affine": 6, "homography": 8}


def apply(model: FloatArray, points: FloatArray) -> FloatArray:
    """Map ``points`` (..., 2) by the homography ``model`` (3, 3)."""
    depth = (points @ model[2, :2] + model[2, 2])[..., None] if model[2, :2].any() else model[2, 2]
    mapped: FloatArray = (points @ model[:2, :2].T + model[:2, 2]) / depth
    return mapped


def rescale(model: FloatArray, scale: tuple[float, float]) -> FloatArray:
    """Turn a model between working pixels into one between clip pixels (pixel centres at integers).

    ``scale`` is (sx, sy), clip pixels per working pixel, as in :class:`~vmmetrics.perception.protocols.Flow`.
    """
    sx, sy = scale
    to_clip = np.array([[sx, 0.0, (sx - 1) / 2], [0.0, sy, (sy - 1) / 2], [0.0, 0.0, 1.0]])
    moved = to_clip @ model @ np.linalg.inv(to_clip)
    rescaled: FloatArray = moved / moved[2, 2]
    return rescaled


def fit(kind: Kind, points: FloatArray, targets: FloatArray, weights: FloatArray) -> FloatArray:
    """Least-squares model (3, 3) of ``kind`` taking ``points`` (N, 2) to ``targets`` (N, 2) with ``weights`` (N,).

    The homography is fitted algebraically; between neighbouring frames its denominator is within a few per cent of
    1, so that the algebraic error is the geometric one. Parameters that the points do not determine (all on a line,
    say) stay at the identity.
    """
    total = weights.sum()
    if total <= 0:
        return np.eye(3)
    if kind == "translation":
        model = np.eye(3)
        model[:2, 2] = weights @ (targets - points) / total
        return model
    centre = weights @ points / total
    size = np.sqrt(weights @ np.square(points - centre) @ np.ones(2) / total) + 1e-9
    p, q = (points - centre) / size, (targets - centre) / size
    model = np.eye(3)
    plane = np.column_stack([p, np.ones(len(p))])
    if kind == "affine":
        weighted = plane * weights[:, None]
        normal = weighted.T @ plane + RIDGE * total * np.eye(3)
        model[:2] += np.linalg.solve(normal, weighted.T @ (q - p)).T
    else:
        # Unknowns: the six changes of the affine part, then the two of the denominator.
        count = len(p)
        design = np.zeros((2 * count, 8))
        design[:count, :3] = design[count:, 3:6] = plane
        design[:count, 6:] = -q[:, :1] * p
        design[count:, 6:] = -q[:, 1:] * p
        weighted = design * np.concatenate([weights, weights])[:, None]
        normal = weighted.T @ design + RIDGE * total * np.eye(8)
        solved = np.linalg.solve(normal, weighted.T @ (q - p).T.ravel())
        model[:2] += solved[:6].reshape(2, 3)
        model[2, :2] = solved[6:]
    normalise = np.array([[1 / size, 0, -centre[0] / size], [0, 1 / size, -centre[1] / size], [0, 0, 1]])
    model = np.linalg.inv(normalise) @ model @ normalise
    result: FloatArray = model / model[2, 2]
    return result


def fit_similarity(points: FloatArray, targets: FloatArray, noise: float) -> FloatArray:
    """Robust shift, turn and scale (3, 3) taking ``points`` (N, 2) to ``targets`` (N, 2).

    Reweighted least squares from the median shift, in complex numbers. ``noise`` is the distance in pixels at which a
    point's weight has fallen to a quarter; it starts sixteen times as large, for sets that turn or grow.
    """
    p, q = points[:, 0] + 1j * points[:, 1], targets[:, 0] + 1j * targets[:, 1]
    factor, shift = 1 + 0j, complex(np.median((q - p).real), np.median((q - p).imag))
    for widen in (16.0, 8.0, 4.0, 2.0, 1.0, 1.0):
        weights = (1 + np.abs(factor * p + shift - q) ** 2 / (widen * noise) ** 2) ** -2
        total = weights.sum()
        p_mean, q_mean = (weights * p).sum() / total, (weights * q).sum() / total
        factor = (weights * np.conj(p - p_mean) * (q - q_mean)).sum() / (weights * np.abs(p - p_mean) ** 2).sum()
        shift = q_mean - factor * p_mean
    return np.array([[factor.real, -factor.imag, shift.real], [factor.imag, factor.real, shift.imag], [0.0, 0.0, 1.0]])


def affine_through(points: FloatArray, targets: FloatArray) -> FloatArray:
    """Affine models (K, 3, 3) through K triplets (K, 3, 2); triplets that nearly lie on a line are left out."""
    corners = np.concatenate([points, np.ones((*points.shape[:2], 1))], -1)
    area = np.abs(np.linalg.det(corners))
    extent = np.ptp(points, axis=1).max(-1)
    # 0.1: a triangle at least a tenth as high as it is long; below that noise is magnified more than tenfold
    usable = area > 0.1 * extent * extent + 1e-6
    models = np.tile(np.eye(3), (int(usable.sum()), 1, 1))
    if len(models):
        models[:, :2] = np.swapaxes(np.linalg.solve(corners[usable], targets[usable]), 1, 2)
    return models
