"""Global (camera) motion from dense flow: the background's motion, described by the simplest sufficient model.

The largest coherent motion need not be the camera's: a subject may fill half of the frame. Three properties separate
them: a background surrounds its subject, so support is weighted by the frame area it covers and more along the left,
top and right border; it is at the same position a moment later, so neighbouring pairs vote; and it moves as one plane
or one far scene, so a global model fits it more precisely than it fits a body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from vmmetrics.perception.scene import Camera, Flow, Scene
from vmmetrics.types import FloatArray

# Planar motion models fitted to weighted point pairs: translation, affine, homography.

Kind = Literal["translation", "affine", "homography"]
RIDGE = 1e-7
"""Regularisation towards the identity, as a share of the total weight; matters only for undetermined parameters."""

PARAMETERS: dict[Kind, int] = {"translation": 2, "affine": 6, "homography": 8}


def apply(model: FloatArray, points: FloatArray) -> FloatArray:
    """Map ``points`` (..., 2) by the homography ``model`` (3, 3)."""
    depth = (points @ model[2, :2] + model[2, 2])[..., None] if model[2, :2].any() else model[2, 2]
    return np.asarray((points @ model[:2, :2].T + model[:2, 2]) / depth)


def rescale(model: FloatArray, scale: tuple[float, float]) -> FloatArray:
    """Convert a model (3, 3) in working pixels to clip pixels (pixel centres at integers).

    ``scale`` is (sx, sy), clip pixels per working pixel, as in :class:`~vmmetrics.perception.scene.Flow`.
    """
    sx, sy = scale
    to_clip = np.array([[sx, 0.0, (sx - 1) / 2], [0.0, sy, (sy - 1) / 2], [0.0, 0.0, 1.0]])
    moved = to_clip @ model @ np.linalg.inv(to_clip)
    return np.asarray(moved / moved[2, 2])


def fit(kind: Kind, points: FloatArray, targets: FloatArray, weights: FloatArray) -> FloatArray:
    """Fit a model (3, 3) of ``kind`` from ``points`` (N, 2) to ``targets`` (N, 2), ``weights`` (N,), by least squares.

    The homography is fitted algebraically; between neighbouring frames its denominator is within a few per cent of
    1, where the algebraic error equals the geometric one. Parameters that the points do not determine (all on a line,
    for example) stay at the identity.
    """
    total = weights.sum()
    if total <= 0:
        return np.eye(3)
    if kind == "translation":
        model = np.eye(3)
        model[:2, 2] = weights @ (targets - points) / total
        return model
    centre = weights @ points / total
    # Rows: the linear terms, the change of x and y, and the products of the denominator's terms with x and y.
    terms = np.ones((5 if kind == "affine" else 9, len(points)))
    p, q = terms[:2], np.empty((2, len(points)))
    np.subtract(points.T, centre[:, None], out=p)
    np.subtract(targets.T, centre[:, None], out=q)
    size = float(np.sqrt((np.square(p) @ weights).sum() / total)) + 1e-9
    p /= size
    q /= size
    np.subtract(q, p, out=terms[3:5])
    if kind == "homography":
        np.multiply(q[0], p, out=terms[5:7])
        np.multiply(q[1], p, out=terms[7:])
    model = np.eye(3)
    products = (terms * weights) @ terms.T
    plane = products[:3, :3] + RIDGE * total * np.eye(3)
    if kind == "affine":
        model[:2] += np.linalg.solve(plane, products[:3, 3:5]).T
    else:
        # Unknowns: the six changes of the affine part, then the two of the denominator.
        normal = np.zeros((8, 8))
        normal[:3, :3] = normal[3:6, 3:6] = plane
        normal[:3, 6:], normal[3:6, 6:] = -products[:3, 5:7], -products[:3, 7:]
        normal[6:, :6] = normal[:6, 6:].T
        normal[6:, 6:] = products[5:7, 5:7] + products[7:, 7:] + RIDGE * total * np.eye(2)
        right = -(products[5:7, 3] + products[7:, 4])
        solved = np.linalg.solve(normal, np.concatenate([products[:3, 3], products[:3, 4], right]))
        model[:2] += solved[:6].reshape(2, 3)
        model[2, :2] = solved[6:]
    normalise = np.array([[1 / size, 0, -centre[0] / size], [0, 1 / size, -centre[1] / size], [0, 0, 1]])
    restore = np.array([[size, 0, centre[0]], [0, size, centre[1]], [0, 0, 1]])
    model = restore @ model @ normalise
    return np.asarray(model / model[2, 2])


def fit_similarity(points: FloatArray, targets: FloatArray, noise: float) -> FloatArray:
    """Fit a robust similarity transform (3, 3) from ``points`` (N, 2) to ``targets`` (N, 2).

    Reweighted least squares from the median shift, in complex numbers. ``noise`` is the residual in pixels at which a
    point's weight has fallen to a quarter; the first round uses sixteen times as much, for sets that rotate or grow.
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
    """Return affine models (K', 3, 3) through K triplets (K, 3, 2), without those of nearly collinear triplets."""
    corners = np.concatenate([points, np.ones((*points.shape[:2], 1))], -1)
    area = np.abs(np.linalg.det(corners))
    extent = np.ptp(points, axis=1).max(-1)
    # 0.1: a triangle at least a tenth as high as it is long; below that noise is magnified more than tenfold
    usable = area > 0.1 * extent * extent + 1e-6
    models = np.tile(np.eye(3), (int(usable.sum()), 1, 1))
    if len(models):
        models[:, :2] = np.swapaxes(np.linalg.solve(corners[usable], targets[usable]), 1, 2)
    return models


CELLS = 8
"""Cells along each side over which support is equalised: a textured corner does not outvote the rest."""

TEXTURE = 5e-4
"""Corner strength (smaller eigenvalue of the 7 px structure tensor, OpenCV's scaling) at which a point has half
weight: the level that sensor noise of 4 grey levels reaches."""

BORDER_WEIGHT = 3.0
"""Weight of the cells along the left, top and right border (1 elsewhere; subjects often stand on the lower one)."""


@dataclass(frozen=True)
class _Sample:
    """Flow of one frame pair at n sample points: positions, targets (n, 2), weights and expected errors (n,)."""

    points: FloatArray
    targets: FloatArray
    weights: FloatArray
    noise: FloatArray

    def agreement(self, model: FloatArray, strictness: float = 1.0) -> FloatArray:
        """Return (n,) in 0..1, the agreement of each point with ``model``.

        The square of the Geman-McClure kernel, which is also the weight of that loss in least squares. Its short tail
        keeps a compromise between two motions from scoring above either.
        """
        moved = model[:, :2] @ self.points.T + model[:, 2:]  # by planes, which is what numpy is fast at
        apart = moved[:2] / (moved[2] if model[2, :2].any() else model[2, 2]) - self.targets.T
        apart *= strictness / self.noise
        kernel: FloatArray = 1.0 / (1.0 + apart[0] ** 2 + apart[1] ** 2)
        return kernel * kernel


STEP = 8
"""Working pixels between sample points."""
HYPOTHESES = 192
"""Affine hypotheses drawn per pair."""
NOISE, NOISE_SHARE = 0.2, 0.01
"""Expected error of the flow: working pixels, plus a share of the motion."""
STILL = 0.06
"""Root-mean-square motion over the frame, working pixels per frame, below which the camera is static."""
MEMORY = 6
"""Pairs on either side that vote on what is background."""
MIN_VALID = 0.3
"""Share of the textured points with consistent forward and backward flow below which a pair counts as a cut."""
MIN_INLIERS = 0.15
"""Least share of the equalised support that the model must explain."""


class GlobalMotion:
    """Robust global motion per frame pair."""

    def estimate(self, scene: Scene) -> Camera:
        """Estimate the motion of every consecutive pair of frames."""
        return self.of_flow(scene.flow)

    def of_flow(self, flow: Flow) -> Camera:
        """Estimate the motion behind the flow of consecutive frames."""
        pairs = len(flow.forward)
        samples = [self._sample(flow, t) for t in range(pairs)]
        candidates = [self._candidates(sample, t) if sample else [] for t, sample in enumerate(samples)]
        both = zip(samples, candidates, strict=True)
        first = [self._best(sample, models, sample.weights) if sample else None for sample, models in both]
        prior = self._background_prior(samples, first)
        homographies = np.tile(np.eye(3), (pairs, 1, 1))
        kinds, inliers = [], np.zeros(pairs)
        for t, sample in enumerate(samples):
            if sample is None:
                same = float(np.abs(flow.images[t].astype(np.int16) - flow.images[t + 1]).mean()) < 1.0
                kinds.append("still" if same else "unknown")
                inliers[t] = float(same)
                continue
            near = [m for m in first[max(0, t - 1) : t + 2] if m is not None]
            model, kind, inliers[t] = self._decide(sample, candidates[t] + near, sample.weights * prior[t])
            homographies[t] = rescale(model, flow.scale)
            kinds.append(kind)
        return Camera(homographies, tuple(kinds), inliers)

    def _sample(self, flow: Flow, t: int) -> _Sample | None:
        """Sample pair ``t`` on a regular grid; None with too little texture or consistent flow."""
        height, width = flow.images.shape[1:]
        step = max(2, min(STEP, min(height, width) // 12))
        rows, columns = np.mgrid[step // 2 : height : step, step // 2 : width : step].reshape(2, -1)
        corner = cv2.cornerMinEigenVal(flow.images[t], 7, ksize=3)[rows, columns].clip(0).astype(np.float64)
        texture = corner / (corner + TEXTURE)
        valid = flow.forward_valid[t, rows, columns]
        if texture.sum() < 6 or texture[valid].sum() < MIN_VALID * texture.sum():
            return None
        points = np.stack([columns, rows], -1).astype(np.float64)
        motion = flow.forward[t, rows, columns].astype(np.float64)
        cell_x, cell_y = columns * CELLS // width, rows * CELLS // height
        cell = cell_y * CELLS + cell_x
        weights = texture * valid
        per_cell = np.bincount(cell, weights, CELLS * CELLS)
        # A quarter of the mean is the floor: a cell with one weak corner must not weigh as much as a textured one.
        weights = weights / np.maximum(per_cell, 0.25 * per_cell.mean())[cell]
        border = (cell_x == 0) | (cell_x == CELLS - 1) | (cell_y == 0)
        weights = np.where(border, BORDER_WEIGHT, 1.0) * weights
        noise = NOISE + NOISE_SHARE * np.hypot(motion[:, 0], motion[:, 1])
        return _Sample(points, points + motion, weights / weights.sum(), noise)

    def _candidates(self, sample: _Sample, seed: int) -> list[FloatArray]:
        """Return the identity and three distinct motions with the most support."""
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(sample.points), size=(HYPOTHESES, 3), p=sample.weights)
        models = affine_through(sample.points[drawn], sample.targets[drawn])
        shifts = np.tile(np.eye(3), (HYPOTHESES // 4, 1, 1))
        shifts[:, :2, 2] = (sample.targets - sample.points)[drawn[: len(shifts), 0]]
        models = np.concatenate([models, shifts])
        some = rng.choice(len(sample.points), size=min(400, len(sample.points)), replace=False)
        few = _Sample(sample.points[some], sample.targets[some], sample.weights[some], sample.noise[some])
        # Lenient, as each hypothesis rests on three noisy points. Single precision suffices and is twice as fast.
        strictness = (0.5 / few.noise).astype(np.float32)
        plane = (np.concatenate([few.points.T, np.ones((1, len(some)))]) * strictness).astype(np.float32)
        apart = models[:, :2].reshape(-1, 3).astype(np.float32) @ plane
        apart = apart.reshape(-1, 2, len(some)) - (few.targets.T * strictness).astype(np.float32)
        kernel = 1.0 / (1.0 + apart[:, 0] ** 2 + apart[:, 1] ** 2)
        agreement = kernel * kernel
        candidates: list[FloatArray] = [np.eye(3)]
        weights = few.weights
        for _ in range(3):
            best = int(np.argmax(agreement @ weights))
            model = self._refine("affine", few, models[best], few.weights, (0.3, 0.5, 0.7, 1.0))
            candidates.append(model)
            weights = weights * (1.0 - few.agreement(model, strictness=0.5))
        return candidates

    def _refine(
        self, kind: Kind, sample: _Sample, start: FloatArray, weights: FloatArray, strictness: tuple[float, ...]
    ) -> FloatArray:
        """Refine ``start`` by iteratively reweighted least squares, one iteration per ``strictness``."""
        model = start
        for strict in strictness:
            model = fit(kind, sample.points, sample.targets, weights * sample.agreement(model, strict))
        return model

    def _best(self, sample: _Sample, models: list[FloatArray], weights: FloatArray) -> FloatArray:
        """Return the candidate with the largest weighted support."""
        return max(models, key=lambda model: float(weights @ sample.agreement(model)))

    def _background_prior(self, samples: list[_Sample | None], models: list[FloatArray | None]) -> FloatArray:
        """Return (pairs, n) weights: how consistently a position followed the motion selected in nearby pairs."""
        size = next((len(s.points) for s in samples if s is not None), 1)
        followed = np.full((len(samples), size), np.nan)
        for t, (sample, model) in enumerate(zip(samples, models, strict=True)):
            if sample is not None and model is not None:
                followed[t] = sample.agreement(model)
        measured = np.isfinite(followed)
        prior = np.ones_like(followed)
        for t in range(len(samples)):
            around = slice(max(0, t - MEMORY), t + MEMORY + 1)
            count = measured[around].sum(0)
            prior[t] = np.where(measured[around], followed[around], 0.0).sum(0) / np.maximum(count, 1)
        # 0.05 keeps a position that was covered so far from being ignored permanently.
        return 0.05 + np.square(prior)

    def _decide(
        self, sample: _Sample, candidates: list[FloatArray], weights: FloatArray
    ) -> tuple[FloatArray, str, float]:
        """Return the background's motion as its simplest sufficient model, its kind and its inlier share."""
        weights = weights / weights.sum()
        coarse = self._best(sample, candidates, weights)
        share = float(weights @ (sample.agreement(coarse, 0.3) > 0.25))
        if share < MIN_INLIERS:
            return np.eye(3), "unknown", share
        # A tilting plane departs from every affine motion, so the richest model is fitted first, leniently.
        rich = self._refine("homography", sample, coarse, weights, (0.25, 0.25, 0.35, 0.5, 0.7, 1.0))
        if weights @ sample.agreement(rich) > weights @ sample.agreement(coarse):
            coarse = rich
        followers = weights * sample.agreement(coarse, 0.5)
        count = float(followers.sum() ** 2 / np.square(followers).sum())
        right, low = (sample.points > sample.points.mean(0)).T
        quarters = np.bincount(2 * right + low, followers, 4)
        kinds: tuple[Kind, ...] = ("translation", "affine", "homography")
        if count < 12:
            kinds = kinds[:1]
        elif count < 40 or quarters.min() <= 0.04 * quarters.sum():  # a homography needs support in all four
            kinds = kinds[:2]
        fitted: list[tuple[float, Kind, FloatArray]] = []
        for kind in kinds:
            model = self._refine(kind, sample, coarse, weights, (0.5, 0.7, 1.0, 1.0, 1.0))
            gap = np.square(apply(model, sample.points) - sample.targets).sum(-1)
            rss = float(followers @ np.minimum(gap, 9 * sample.noise**2) / followers.sum())
            # Bayesian information criterion; neighbouring points share their error, so a quarter of them count.
            cost = count / 2 * np.log(rss + 1e-4) + PARAMETERS[kind] * np.log(max(count / 4, 2.0))
            fitted.append((cost, kind, model))
        _, kind, model = min(fitted, key=lambda one: one[0])
        motion = apply(model, sample.points) - sample.points
        if np.sqrt(np.square(motion).sum(-1).mean()) < STILL:
            return np.eye(3), "still", share
        return model, kind, share
