"""Independent motion of the frame where no object is segmented: water, fire, a crowd, leaves."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.functional.pas import fit_global_motion, followed_share, project
from vmmetrics.perception.embedded.camera import TEXTURE
from vmmetrics.perception.embedded.flow import inside, pixel_grid, sample
from vmmetrics.perception.scene import Scene
from vmmetrics.types import BoolArray, FloatArray

PERCEIVED_RATE = 12.0
"""Steps per second in which motion is measured, rounded to whole frames.

At 30 frames per second tracker jitter and invisible trembling would accumulate; and the score does not depend on the
frame rate.
"""
SPACING = 4
"""Working pixels between the sample points."""
EXPLAINED_SHARE = 0.3
"""Least share of the background that a camera motion must explain; else the frame's dominant motion replaces it.

In 20 of 85 clips, mostly generated, nothing was segmented: in 8, jumbled from frame to frame, cameras explained at most
0.13 of the background (median over pairs), in the others 0.61 to 1.
"""
FITTED_POINTS = 400
"""Approximate number of points that the dominant motion is fitted to."""
LEAST_DEPTH = 0.2
"""Least denominator of a fitted homography in the frame, its inverse the largest; beyond, the fit is degenerate and the
identity replaces it."""
FLOW_ERROR = 0.3
"""Error of the flow over one pair, working pixels; over several it grows with the square root of their number."""
CAMERA_ERROR = 0.03
"""Error allowed to the camera model, as a share of the camera's motion."""
GAIN_LEVELS = 3.0
"""Least gain in grey levels of following the flow at a point instead of the camera's motion."""


@dataclass(frozen=True, slots=True)
class OwnMotion:
    """Motion relative to the camera at N points on a regular grid, over S steps of equal length.

    Attributes:
        length: (S, N) float64 clip pixels, 0 within the error, NaN where the point is plain or not followed.
        lost: (S, N) bool, textured, not followed, and not explained by the camera's motion.
        camera: (S, 3, 3) float64, clip pixels at the beginning of a step to those at its end.
    """

    length: FloatArray
    lost: BoolArray
    camera: FloatArray

    def followed_share(self) -> FloatArray:
        """Return (S,), the share of the textured points in view that are followed."""
        return followed_share(np.isfinite(self.length), self.lost)


def perceived_step(clip: Clip) -> int:
    """Return the frame pairs per step of :data:`PERCEIVED_RATE`, at least 1."""
    return max(1, min(round(clip.fps / PERCEIVED_RATE), len(clip) - 1))


def own_motion_of(scene: Scene) -> OwnMotion:
    """Return the frame's motion relative to the camera in steps of :func:`perceived_step`, measured once per scene."""
    return scene.once("own motion", lambda: _measure_steps(scene, perceived_step(scene.clip)))


def _measure_steps(scene: Scene, step: int) -> OwnMotion:
    steps = [_measure_step(scene, start, start + step) for start in range(0, len(scene.clip) - step, step)]
    length, lost, camera = map(np.stack, zip(*steps, strict=True))
    return OwnMotion(length, lost, camera)


def _measure_step(scene: Scene, start: int, stop: int) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return the (N,) own motion, (N,) lost points and (3, 3) camera motion from frame ``start`` to ``stop``."""
    flow, scale = scene.flow, np.array(scene.flow.scale)
    height, width = flow.images.shape[1:]
    grid = pixel_grid(width, height)[SPACING // 2 :: SPACING, SPACING // 2 :: SPACING].reshape(-1, 1, 2)
    column, row = grid.reshape(-1, 2).astype(int).T
    textured = cv2.cornerMinEigenVal(flow.images[start], 7, ksize=3)[row, column] > TEXTURE
    arrival, followed = grid, textured
    for t in range(start, stop):
        valid = sample(flow.forward_valid[t].astype(np.float32), arrival)[0][:, 0] > 0.5
        followed = followed & valid
        arrival = arrival + sample(flow.forward[t], arrival)[0]

    def to_clip(points: FloatArray) -> FloatArray:
        return np.asarray((points.reshape(-1, 2).astype(np.float64) + 0.5) * scale - 0.5)

    points, targets = to_clip(grid), to_clip(arrival)
    camera = _camera_between(scene, start, stop, points[followed], targets[followed])
    at_rest = project(camera, points)
    by_camera = ((at_rest + 0.5) / scale - 0.5).reshape(-1, 1, 2)
    # 3 x 3 means: noise of single pixels says nothing.
    before, after = (cv2.blur(flow.images[t].astype(np.float32), (3, 3)) for t in (start, stop))
    own_gap, camera_gap = (
        np.abs(sample(after, there)[0][:, 0] - before[row, column]) for there in (arrival, by_camera)
    )
    moved = np.hypot(*((targets - at_rest) / scale).T)
    camera_length = np.hypot(*((at_rest - points) / scale).T)
    error = np.maximum(FLOW_ERROR * np.sqrt(stop - start), CAMERA_ERROR * camera_length)
    moves = (moved > error) & (camera_gap - own_gap > GAIN_LEVELS)
    length = np.where(moves, np.hypot(*(targets - at_rest).T), 0.0)
    in_view = inside(by_camera[:, 0], height, width)  # points that leave the frame match by chance only
    lost = textured & ~followed & in_view & (camera_gap > GAIN_LEVELS)
    return np.where(followed & in_view, length, np.nan), lost, camera


def _camera_between(scene: Scene, start: int, stop: int, points: FloatArray, targets: FloatArray) -> FloatArray:
    """Chain the camera's motion from frame ``start`` to ``stop``; where it is unknown, fit the dominant motion.

    ``points`` (N, 2) go to ``targets`` (N, 2), clip pixels.
    """
    camera = scene.camera
    unknown = [camera.kinds[t] == "unknown" or camera.inliers[t] < EXPLAINED_SHARE for t in range(start, stop)]
    if any(unknown) and len(points):
        every = max(1, len(points) // FITTED_POINTS)
        fitted = fit_global_motion(points[::every], targets[::every])
        corners = np.array([[x, y, 1.0] for x in (0, scene.clip.width) for y in (0, scene.clip.height)])
        depth = corners @ fitted[2]
        bends = not np.isfinite(fitted).all() or depth.min() < LEAST_DEPTH or depth.max() > 1 / LEAST_DEPTH
        return np.eye(3) if bends or abs(np.linalg.det(fitted)) < LEAST_DEPTH**3 else fitted
    return camera.between(start, stop)
