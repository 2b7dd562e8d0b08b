"""Global (camera) motion from the dense flow: which motion is the background's, and the simplest model of it.

The largest coherent motion need not be the camera's: a subject may fill half of the frame. Three things tell them
apart: a background surrounds its subject, so support counts by the area of the frame it is spread over and more
along the left, top and right border; it is the same place a moment later, so neighbouring pairs vote; and its
motion is that of one plane or one far scene, so it is explained more precisely than a body is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from vmmetrics.perception.embedded.motion_models import PARAMETERS, Kind, affine_through, apply, fit, rescale
from vmmetrics.perception.protocols import Camera, Flow
from vmmetrics.types import FloatArray

if TYPE_CHECKING:
    from vmmetrics.perception.scene import Scene

CELLS = 8
"""Coarse cells along each side over which support is levelled, so that a textured corner does not outvote the rest."""

TEXTURE = 5e-4
"""Corner strength (smaller eigenvalue of the 7 px structure tensor, OpenCV's scaling) at which a point has half
weight: about what sensor noise of 4 grey levels alone reaches."""

BORDER_WEIGHT = 3.0
"""Weight of the cells along the left, top and right border (1 elsewhere; subjects often stand on the lower one)."""


@dataclass(frozen=True)
class _Sample:
    """Flow of one pair at the sample points: where they go, and how much each says."""

    points: FloatArray
    targets: FloatArray
    weights: FloatArray
    noise: FloatArray

    def agreement(self, model: FloatArray, strictness: float = 1.0) -> FloatArray:
        """(n,) in 0..1: how well each point follows ``model``.

        The square of Geman-McClure's kernel, which is also the weight that his loss gives in least squares. Its short
        tail keeps a compromise between two motions from beating either.
        """
        apart = (apply(model, self.points) - self.targets) * (strictness / self.noise)[:, None]
        kernel: FloatArray = 1.0 / (1.0 + apart[:, 0] ** 2 + apart[:, 1] ** 2)
        return kernel * kernel


@dataclass(frozen=True)
class GlobalMotion:
    """Robust global motion per frame pair.

    Attributes:
        step: Working pixels between sample points.
        hypotheses: Affine hypotheses drawn per pair.
        noise: Expected error of the flow in working pixels ...
        noise_share: ... plus this share of the motion.
        still: Root-mean-square motion over the frame, working pixels a frame, below which the camera stands still.
        memory: Pairs on either side that vote on what is background.
        min_valid: Share of the textured points whose flow must hold both ways; fewer means a cut.
        min_inliers: Share of the (levelled) support that the model must explain.
    """

    step: int = 8
    hypotheses: int = 192
    noise: float = 0.2
    noise_share: float = 0.01
    still: float = 0.06
    memory: int = 6
    min_valid: float = 0.3
    min_inliers: float = 0.15

    def estimate(self, scene: Scene) -> Camera:
        """Estimate the motion of every consecutive pair of frames."""
        flow = scene.flow
        pairs = len(flow.forward)
        samples = [self._sample(flow, t) for t in range(pairs)]
        candidates = [self._candidates(sample, t) if sample else [] for t, sample in enumerate(samples)]
        first = [
            self._best(sample, models, sample.weights) if sample else None
            for sample, models in zip(samples, candidates, strict=True)
        ]
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
        """Sample pair ``t`` on a regular grid; None where too little is textured or the flow does not hold."""
        height, width = flow.images.shape[1:]
        step = max(2, min(self.step, min(height, width) // 12))
        rows, columns = np.mgrid[step // 2 : height : step, step // 2 : width : step].reshape(2, -1)
        corner = cv2.cornerMinEigenVal(flow.images[t], 7, ksize=3)[rows, columns].clip(0).astype(np.float64)
        texture = corner / (corner + TEXTURE)
        valid = flow.forward_valid[t, rows, columns]
        if texture.sum() < 6 or texture[valid].sum() < self.min_valid * texture.sum():
            return None
        points = np.stack([columns, rows], -1).astype(np.float64)
        motion = flow.forward[t, rows, columns].astype(np.float64)
        cell_x, cell_y = columns * CELLS // width, rows * CELLS // height
        cell = cell_y * CELLS + cell_x
        weights = texture * valid
        per_cell = np.bincount(cell, weights, CELLS * CELLS)
        # A quarter of the mean is the floor: a cell with one weak corner must not weigh like a textured one.
        weights = weights / np.maximum(per_cell, 0.25 * per_cell.mean())[cell]
        border = (cell_x == 0) | (cell_x == CELLS - 1) | (cell_y == 0)
        weights = np.where(border, BORDER_WEIGHT, 1.0) * weights
        noise = self.noise + self.noise_share * np.hypot(motion[:, 0], motion[:, 1])
        return _Sample(points, points + motion, weights / weights.sum(), noise)

    def _candidates(self, sample: _Sample, seed: int) -> list[FloatArray]:
        """Up to three different motions with much support, and standing still."""
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(sample.points), size=(self.hypotheses, 3), p=sample.weights)
        models = affine_through(sample.points[drawn], sample.targets[drawn])
        shifts = np.tile(np.eye(3), (self.hypotheses // 4, 1, 1))
        shifts[:, :2, 2] = (sample.targets - sample.points)[drawn[: len(shifts), 0]]
        models = np.concatenate([models, shifts])
        some = rng.choice(len(sample.points), size=min(400, len(sample.points)), replace=False)
        few = _Sample(sample.points[some], sample.targets[some], sample.weights[some], sample.noise[some])
        # Lenient, as each hypothesis hangs on three noisy points. Single precision is ample and twice as fast.
        strictness = (0.5 / few.noise).astype(np.float32)
        plane = (np.concatenate([few.points.T, np.ones((1, len(some)))]) * strictness).astype(np.float32)
        apart = models[:, :2].reshape(-1, 3).astype(np.float32) @ plane
        apart = apart.reshape(-1, 2, len(some)) - (few.targets.T * strictness).astype(np.float32)
        kernel = 1.0 / (1.0 + apart[:, 0] ** 2 + apart[:, 1] ** 2)
        agreement = kernel * kernel
        found: list[FloatArray] = [np.eye(3)]
        weights = few.weights
        for _ in range(3):
            best = int(np.argmax(agreement @ weights))
            model = self._refine("affine", few, models[best], few.weights, (0.3, 0.5, 0.7, 1.0))
            found.append(model)
            weights = weights * (1.0 - few.agreement(model, strictness=0.5))
        return found

    def _refine(
        self, kind: Kind, sample: _Sample, start: FloatArray, weights: FloatArray, strictness: tuple[float, ...]
    ) -> FloatArray:
        """Iteratively reweighted least squares from ``start``, one step per ``strictness``."""
        model = start
        for strict in strictness:
            model = fit(kind, sample.points, sample.targets, weights * sample.agreement(model, strict))
        return model

    def _best(self, sample: _Sample, models: list[FloatArray], weights: FloatArray) -> FloatArray:
        """The candidate with the largest weighted support."""
        return max(models, key=lambda model: float(weights @ sample.agreement(model)))

    def _background_prior(self, samples: list[_Sample | None], models: list[FloatArray | None]) -> FloatArray:
        """(pairs, n) weights: how steadily a place followed the motion chosen around that time."""
        size = next((len(s.points) for s in samples if s is not None), 1)
        followed = np.full((len(samples), size), np.nan)
        for t, (sample, model) in enumerate(zip(samples, models, strict=True)):
            if sample is not None and model is not None:
                followed[t] = sample.agreement(model)
        known = np.isfinite(followed)
        prior = np.ones_like(followed)
        for t in range(len(samples)):
            around = slice(max(0, t - self.memory), t + self.memory + 1)
            count = known[around].sum(0)
            prior[t] = np.where(known[around], followed[around], 0.0).sum(0) / np.maximum(count, 1)
        # 0.05 keeps a place that was covered until now from being ignored for good.
        return 0.05 + np.square(prior)

    def _decide(
        self, sample: _Sample, candidates: list[FloatArray], weights: FloatArray
    ) -> tuple[FloatArray, str, float]:
        """Choose the background's motion and its simplest sufficient model."""
        weights = weights / weights.sum()
        coarse = self._best(sample, candidates, weights)
        share = float(weights @ (sample.agreement(coarse, 0.3) > 0.25))
        if share < self.min_inliers:
            return np.eye(3), "unknown", share
        # A plane that tilts bends away from every affine motion, so the richest model is fitted first, from far.
        rich = self._refine("homography", sample, coarse, weights, (0.25, 0.25, 0.35, 0.5, 0.7, 1.0))
        if weights @ sample.agreement(rich) > weights @ sample.agreement(coarse):
            coarse = rich
        followers = weights * sample.agreement(coarse, 0.5)
        count = float(followers.sum() ** 2 / np.square(followers).sum())
        kinds: tuple[Kind, ...] = ("translation", "affine", "homography")
        if count < 12:
            kinds = kinds[:1]
        elif count < 40 or not self._spread(sample.points, followers):
            kinds = kinds[:2]
        best: tuple[float, Kind, FloatArray] | None = None
        for kind in kinds:
            model = self._refine(kind, sample, coarse, weights, (0.5, 0.7, 1.0, 1.0, 1.0))
            gap = np.square(apply(model, sample.points) - sample.targets).sum(-1)
            rss = float(followers @ np.minimum(gap, 9 * sample.noise**2) / followers.sum())
            # Bayesian information; flow at neighbouring points shares its error, so a quarter of them count.
            cost = count / 2 * np.log(rss + 1e-4) + PARAMETERS[kind] * np.log(max(count / 4, 2.0))
            if best is None or cost < best[0]:
                best = (cost, kind, model)
        assert best is not None  # noqa: S101  (kinds is never empty)
        _, kind, model = best
        motion = apply(model, sample.points) - sample.points
        if np.sqrt(np.square(motion).sum(-1).mean()) < self.still:
            return np.eye(3), "still", share
        return model, kind, share

    @staticmethod
    def _spread(points: FloatArray, weights: FloatArray) -> bool:
        """Whether the weight reaches into all four quarters of the frame, as a homography needs."""
        right, low = (points > points.mean(0)).T
        quarters = np.bincount(2 * right + low, weights, 4)
        return bool(quarters.min() > 0.04 * quarters.sum())
