"""Change of a clip's frames that no single image moved as a whole explains.

A photograph that is panned, zoomed, turned or tilted, also in two layers that shift against each other, can be rebuilt
from any of its frames by one or two homographies. Footage cannot: things, water, leaves and depth change otherwise.
Each of three moments is rebuilt from an earlier and a later frame; the share of the frame that they do not rebuild is
the own change. A second layer counts as depth only where the background moves: before a camera at rest it is a thing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import cv2
import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.camera import Kind, apply, fit, rescale
from vmmetrics.perception.embedded.flow import pixel_grid
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

SHORT_SIDE, LONG_SIDE = 192, 768
"""Largest sides of the working images, pixels."""
LEAST_SIDE = 96
"""Least side: flow at half of it fails below 48."""
STEPS = 48
"""Most steps over which the camera is followed; longer clips are subsampled."""
MOMENTS = (1 / 3, 1 / 2, 2 / 3)
"""Moments that are rebuilt, as a share of the clip."""
REACH = 1 / 3
"""Distance to the frames they are rebuilt from, as a share of the clip: motion adds up, noise does not."""
OVERLAP = 0.6
"""Least share of the frame that both show; a fast camera shortens the distance."""
BLUR = 1.5
"""Standard deviation in pixels of the blur before comparison, against grain and compression."""
LEAST_SECONDS = 0.6
"""Shortest clip that is judged: in less, people hardly move."""
LEVELS, DISPLACEMENT = 4.0, 0.3
"""Difference that counts: grey levels, plus pixels of displacement times the slope. Of 10 photographs moved in 17 ways,
with grain of 8 levels, H.264 at crf 28 or light that drifts by a quarter."""
FULL_CONTRAST, LEAST_LEVELS = 32.0, 1.0
"""Standard deviation in grey levels from which :data:`LEVELS` counts in full, and its least value: at night and in fog
less of a difference is a difference."""
QUIETEST, NOISES, MOST_NOISE = 0.3, 2.5, 12.0
"""Share of the pixels that say how noisy the clip is, standard deviations of that noise that do not count, and the most
grey levels that are taken for noise."""
BLACK, WHITE = 8, 245
"""Grey levels from which pixels may be clipped."""
LEAST_SLOPE = 1.0
"""Slope of a point whose flow is used, grey levels a pixel."""
MATCH = 0.8
"""Distance in pixels within which a point follows a layer."""
LEAST_PAN = 0.01
"""Median displacement of the background between the frames compared, as a share of the width, from which a second layer
can be parallax; before a camera at rest it is a thing that moves."""
RIM = 0.15
"""Share of the frame along each border whose most frequent layer is the background."""
LEAST_LAYER = 0.02
"""Least share of the points that make a second layer."""
_NORMAL_QUIETEST = 0.385  # that quantile of the size of a standard normal deviation
_SPACING = 4  # pixels between points of a layer
_OPENING = np.ones((5, 5), np.uint8)  # smallest region that counts: errors of registration are thinner
_EDGES = np.ones((3, 3), np.uint8)  # a slope beside a pixel counts as its own


def own_change(clip: Clip) -> float | None:
    """Return the share of the frame, 0..1, that changes as no image moved as a whole in one or two layers would.

    None for clips of less than :data:`LEAST_SECONDS`.
    """
    if len(clip) < 2 or len(clip) < LEAST_SECONDS * clip.fps:
        return None
    images = _grey(clip.frames[:: max(1, -(-(len(clip) - 1) // STEPS))])
    camera = _follow(images)
    last = len(images) - 1
    return float(np.mean([_unexplained(images, camera, round(share * last)) for share in MOMENTS]))


def _grey(frames: UInt8Array) -> UInt8Array:
    height, width = frames.shape[1:3]
    factor = min(SHORT_SIDE / min(height, width), LONG_SIDE / max(height, width))
    size = max(LEAST_SIDE, round(width * factor)), max(LEAST_SIDE, round(height * factor))
    way = cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
    return np.stack([cv2.resize(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), size, interpolation=way) for frame in frames])


def _follow(images: UInt8Array) -> list[FloatArray]:
    """Return the (3, 3) motion from the first image to each, roughly, from flow at half the size."""
    dis: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    height, width = images.shape[1:]
    small = [cv2.resize(image, (width // 2, height // 2), interpolation=cv2.INTER_AREA) for image in images]
    points, index = _points(height // 2, width // 2, 6)
    motion: list[FloatArray] = [np.eye(3)]
    scale = (width / (width // 2), height / (height // 2))
    for image, following in pairwise(small):
        targets = points + dis.calc(image, following, None)[index]
        weights = np.minimum(_slope(image)[index] + 0.3, 8.0)
        step: FloatArray = np.eye(3)
        step[:2, 2] = np.median(targets - points, axis=0)
        for noise in (5.6, 2.8, 1.4, 1.4, 0.7, 0.35, 0.35):
            kind: Kind = "affine" if noise > 1.4 else "homography"
            step = fit(kind, points, targets, weights * _near(step, points, targets, noise))
        motion.append(rescale(step if _sound(step) else np.eye(3), scale) @ motion[-1])
    return motion


def _unexplained(images: UInt8Array, camera: list[FloatArray], middle: int) -> float:
    """Return the share of the image ``middle`` that an earlier and a later image do not rebuild.

    One is enough where a second layer may cover a place in the other; else the mean of their differences counts.
    """
    blurred = _blurred(images[middle])
    gaps, covers = [], False
    reach = max(1, round(REACH * (len(images) - 1)))
    for other in (max(middle - reach, 0), min(middle + reach, len(images) - 1)):
        while abs(other - middle) > 1 and not _overlaps(camera[other] @ np.linalg.inv(camera[middle]), blurred.shape):
            other = middle + int((other - middle) * 0.6)
        if other != middle:
            motion = camera[other] @ np.linalg.inv(camera[middle])
            layers = _layers(images[middle], images[other], motion if _sound(motion) else np.eye(3))
            covers |= len(layers) > 1
            gaps.append(_gap(blurred, [_warp(_blurred(images[other]), layer, np.nan) for layer in layers]))
    noise = float(np.mean([np.nanquantile(gap, QUIETEST) for gap in gaps])) / _NORMAL_QUIETEST
    seen = np.maximum(np.isfinite(gaps).sum(axis=0), 1)  # the borders in one of them only
    gap = np.nan_to_num(np.fmin.reduce(gaps) if covers else np.nansum(gaps, axis=0) / seen)
    levels = LEVELS * min(1.0, float(blurred.std()) / FULL_CONTRAST)
    levels = max(levels, LEAST_LEVELS, min(NOISES * noise, MOST_NOISE))
    allowed = levels + DISPLACEMENT * cv2.dilate(_slope(blurred), _EDGES)
    changed = (gap > allowed).astype(np.uint8)
    return float(cv2.morphologyEx(changed, cv2.MORPH_OPEN, _OPENING).mean())


def _layers(image: UInt8Array, other: UInt8Array, motion: FloatArray) -> list[FloatArray]:
    """Return the homographies from ``image`` to ``other`` of the background and, where it moves, of another layer."""
    dis: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    height, width = image.shape
    points, index = _points(height, width, _SPACING)

    def remaining(layer: FloatArray) -> FloatArray:
        """Return the flow at the points that ``layer`` leaves."""
        moved = np.clip(_warp(other.astype(np.float32), layer, None), 0, 255).astype(np.uint8)
        return np.asarray(dis.calc(image, moved, None)[index], np.float64)

    targets = points + remaining(motion)
    arrival = apply(motion, targets)
    slope = _slope(image)[index]
    free = ((arrival > 0) & (arrival < (width - 1, height - 1))).all(1)
    textured = free & (slope > LEAST_SLOPE)
    free = textured if textured.sum() >= 200 else free & (slope > LEAST_SLOPE / 3)
    layers: list[FloatArray] = []
    members: list[BoolArray] = []
    while len(layers) < 2:
        chosen = _largest(points, targets, free)
        if chosen is None or (layers and chosen.sum() < LEAST_LAYER * len(points)):
            break
        layer = _fit_closely(motion, points[chosen], targets[chosen])
        for _ in range(2):
            layer = _fit_closely(layer, points[chosen], points[chosen] + remaining(layer)[chosen])
        layers.append(layer)
        members.append(chosen)
        free = free & (np.hypot(*(apply(np.linalg.inv(motion) @ layer, points) - targets).T) > 1.5)
    if not layers:
        return [motion]
    rim = (np.abs((points + 0.5) / (width, height) - 0.5) > 0.5 - RIM).any(1)
    background = int(np.argmax([(chosen & rim).sum() for chosen in members]))
    moved = apply(layers[background], points[members[background]]) - points[members[background]]
    pans = np.median(np.hypot(*moved.T)) > LEAST_PAN * width
    return layers if pans else [layers[background]]


def _largest(points: FloatArray, targets: FloatArray, free: BoolArray) -> BoolArray | None:
    """Return (N,) bool, the most points among ``free`` that one homography moves to their targets; None without any."""
    if free.sum() < 25:
        return None
    found, inliers = cv2.findHomography(points[free], targets[free], cv2.RANSAC, MATCH, maxIters=400, confidence=0.995)
    if found is None or not _sound(np.asarray(found, np.float64)):
        return None
    chosen = np.zeros_like(free)
    chosen[free] = inliers.ravel() > 0
    return chosen


def _fit_closely(motion: FloatArray, points: FloatArray, targets: FloatArray) -> FloatArray:
    """Return ``motion`` after the homography from ``points`` to ``targets``."""
    step: FloatArray = np.eye(3)
    step[:2, 2] = np.median(targets - points, axis=0)
    for noise in (1.0, 0.5, 0.25, 0.25):
        step = fit("homography", points, targets, _near(step, points, targets, noise))
    fitted = motion @ step
    return fitted / fitted[2, 2] if _sound(fitted) else motion


def _gap(image: FloatArray, warped: list[FloatArray]) -> FloatArray:
    """Return the difference of ``image`` from the best of ``warped``, brightness and contrast fitted; NaN outside."""
    gain, offset = 1.0, 0.0
    sparse, of = image[::3, ::3], np.stack([one[::3, ::3] for one in warped])
    for scale in (16.0, 8.0, 4.0, 4.0, 4.0):
        gaps = np.nan_to_num(np.abs(gain * of + offset - sparse), nan=np.inf)
        best = gaps.argmin(0)[None]
        gap, there = (np.take_along_axis(values, best, 0)[0] for values in (gaps, of))
        seen = np.isfinite(gap) & (np.fmin(there, sparse) > BLACK) & (np.fmax(there, sparse) < WHITE)
        if seen.sum() < 50:
            break
        there, here = there[seen], sparse[seen]
        weights = (1 + np.square(gap[seen] / scale)) ** -2
        there_mean, here_mean = np.average(there, weights=weights), np.average(here, weights=weights)
        product = np.average((there - there_mean) * (here - here_mean), weights=weights)
        square = np.average(np.square(there - there_mean), weights=weights)
        gain = float(np.clip((product + 4) / (square + 4), 0.5, 2))  # 4: a plain image says nothing of contrast
        offset = here_mean - gain * there_mean
    return np.asarray(np.fmin.reduce([_difference(image, one, gain, offset) for one in warped]))


def _difference(image: FloatArray, warped: FloatArray, gain: float, offset: float) -> FloatArray:
    """Return the absolute difference; beside white is known only how bright it is at least, beside black at most."""
    (white, black), (warped_white, warped_black) = (_clipped(each) for each in (image, np.nan_to_num(warped, nan=128)))
    lighter = gain * warped + offset - image
    unknown = np.where(lighter < 0, warped_white | black, white | warped_black)
    return np.where(unknown, 0.0, np.abs(lighter))


def _clipped(image: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return (h, w) bool, beside a white and beside a black pixel: the blur has spread them."""
    return cv2.dilate(image, _OPENING) >= WHITE, cv2.erode(image, _OPENING) <= BLACK


def _warp(image: FloatArray, motion: FloatArray, outside: float | None) -> FloatArray:
    """Return ``image`` as seen from before ``motion``; ``outside`` fills the rest, None repeats the border."""
    mode = cv2.BORDER_REPLICATE if outside is None else cv2.BORDER_CONSTANT
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = image.shape[1], image.shape[0]
    return np.asarray(
        cv2.warpPerspective(image, motion, size, flags=flags, borderMode=mode, borderValue=outside or 0.0)
    )


def _overlaps(motion: FloatArray, shape: tuple[int, ...]) -> bool:
    return _sound(motion) and bool(_warp(np.ones(shape, np.float32), motion, 0.0).mean() > OVERLAP)


def _sound(motion: FloatArray) -> bool:
    """Return False for degenerate motion: mirrored, of more than five times the area, or strongly foreshortened."""
    if not np.isfinite(motion).all() or abs(motion[2, 2]) < 1e-6:
        return False
    motion = motion / motion[2, 2]
    return bool(0.2 < np.linalg.det(motion[:2, :2]) < 5 and np.abs(motion[2, :2]).max() < 0.004)


def _near(motion: FloatArray, points: FloatArray, targets: FloatArray, noise: float) -> FloatArray:
    weights: FloatArray = (1 + np.square(apply(motion, points) - targets).sum(-1) / noise**2) ** -2
    return weights


def _blurred(image: UInt8Array) -> FloatArray:
    return np.asarray(cv2.GaussianBlur(image.astype(np.float32), (0, 0), BLUR))


def _slope(image: UInt8Array | FloatArray) -> FloatArray:
    """Return the slope of an image, grey levels a pixel."""
    floats = image.astype(np.float32)
    across, down = cv2.Sobel(floats, cv2.CV_32F, 1, 0, scale=1 / 8), cv2.Sobel(floats, cv2.CV_32F, 0, 1, scale=1 / 8)
    return np.hypot(across, down)


def _points(height: int, width: int, spacing: int) -> tuple[FloatArray, tuple[slice, ...] | Any]:
    """Return (N, 2) float64 points on a grid, and the index of their pixels."""
    points = pixel_grid(width, height)[spacing // 2 :: spacing, spacing // 2 :: spacing].reshape(-1, 2)
    return points.astype(np.float64), (points[:, 1].astype(int), points[:, 0].astype(int))
