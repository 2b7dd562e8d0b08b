"""What speaks against the motion of a strand of frames, cell by cell: the maps that the ladder's classifier weighs.

Everything is measured against what the clip itself shows (its contrast, the variety of its content, the speed of its
motion), so that neither much motion nor little is evidence, nor is a coarse picture. A cut to another shot is none
either: what would span it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.flow import inside, look_up, pixel_grid
from vmmetrics.perception.embedded.plausibility.views import SIDE
from vmmetrics.types import BoolArray, FloatArray, UInt8Array
from vmmetrics.utils.weights.manifest import weight_path

# What frames show, by name: the probabilities of ImageNet's classes, place by place, and whether they keep.
#
# A thing stays what it is. Where a place is a dog in one frame and a rug in the next, along its motion, something melts
# or is drawn anew; flames and water, which keep no shape, mostly stay flames and water (glitter on water less so).

WEIGHTS = "efficientnet-lite0-head"
_DIGITS = 9  # decimals of what is handed on: matrix products of different machines and threads differ below


@dataclass(frozen=True)
class ClassHead:
    """The last layers of EfficientNet-lite0, applied to every cell of its deepest map.

    Attributes:
        widen: (320, 1280) 1 × 1 convolution, batch normalisation folded in.
        widen_bias: (1280,).
        classes: (1280, 1000) linear layer.
        classes_bias: (1000,).
    """

    widen: NDArray[np.float64]
    widen_bias: NDArray[np.float64]
    classes: NDArray[np.float64]
    classes_bias: NDArray[np.float64]

    def cells(self, wide: FloatArray) -> NDArray[np.float64]:
        """Return probabilities (..., 1000) of widened features (..., 1280), each cell by itself."""
        logits = wide.reshape(-1, wide.shape[-1]) @ self.classes + self.classes_bias
        return _softmax(logits.reshape(*wide.shape[:-1], -1))

    def frames(self, wide: FloatArray) -> NDArray[np.float64]:
        """Return probabilities (n, 1000) of whole frames from (n, rows, columns, 1280), as in training."""
        return _softmax(wide.mean((1, 2)) @ self.classes + self.classes_bias)

    def widened(self, features: FloatArray) -> NDArray[np.float64]:
        """Return (..., 1280) of features (..., 320), what both of the others start from."""
        rows = features.reshape(-1, features.shape[-1]).astype(np.float64)  # one product is faster than many small ones
        wide = np.clip(rows @ self.widen + self.widen_bias, 0, 6)
        return np.asarray(wide.reshape(*features.shape[:-1], -1))


@cache
def load_head() -> ClassHead:
    """Return the head that ships."""
    with np.load(weight_path(WEIGHTS), allow_pickle=False) as stored:
        return ClassHead(*(stored[name].astype(np.float64) for name in ClassHead.__dataclass_fields__))


def divergence(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the Jensen-Shannon divergence (...) of distributions (..., K), 0 to log 2 nats."""
    both = entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2
    return np.asarray(np.round(np.maximum(both, 0), _DIGITS))


def entropy(distribution: FloatArray) -> FloatArray:
    """Return the entropy (...) of distributions (..., K) in nats."""
    return np.asarray(-(distribution * np.log(distribution + 1e-12)).sum(-1))


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


CELLS = 20
"""Cells along each side of the maps; a cell is a patch of DIS flow wide."""
CELL = SIDE // CELLS
LAGS = (1, 2, 4)
"""Frames over which content is followed: 1/8 to 1/2 s."""
STILL = 0.5
"""Pixels per frame, about the error of DIS at this size: motion below counts as none when speeds are compared."""

_PALETTE_BLUR = 0.8  # pixels; takes away the dither of GIF palettes
_HIGH_PASS = 15  # pixels; changes broader than that are light
_WORST_GAP = 8.0  # pixels; a flow that does not come back by more has simply failed
_NOISE = 0.15  # of the variety of the content: changes of deep features below are noise
_OTHER_SHOT = 0.7  # of the variety of the content: from here on two frames have nothing in common
_SUDDEN = 0.6  # of the change at a cut is the most that the steps beside it may have


@dataclass(frozen=True)
class PlausibilityEvidence:
    """The evidence in a strand of n frames.

    Attributes:
        maps: Name to (n, CELLS, CELLS) float32, the more the worse; NaN in frames for which it cannot be had.
        flow: (n - 1, CELLS, CELLS, 2) mean motion in each cell from one frame to the next, pixels.
        travel: (n,) how far content gets on average, pixels per frame, to and fro not counted; NaN where unknown.
        cuts: (n - 1,) bool, a cut to another shot between one frame and the next.
        content: (n, n) distance between the content of any two frames, cell by cell, in the content's own variety.
        gist: (n, n) distance between any two frames as wholes.
        kinds: (n, 1000) probabilities of what each frame shows, by ImageNet's classes.
    """

    maps: dict[str, FloatArray]
    flow: FloatArray
    travel: FloatArray
    cuts: BoolArray
    content: FloatArray
    gist: FloatArray
    kinds: FloatArray


MAPS: dict[str, tuple[int, int]] = {
    **{f"drift {depth} {lag}": (lag, 0) for depth in ("fine", "middle") for lag in LAGS},
    "drift coarse 1": (1, 0),
    **{f"{kind} {depth}": (1, 1) for depth in ("fine", "middle") for kind in ("foreign", "rough")},
    "other kind": (1, 0),
    "foreign kind": (1, 1),
    "not returning": (1, 0),
    "misfit": (1, 0),
    "bent": (1, 0),
    "bent wide": (1, 0),
    "strain": (1, 0),
    "jerk": (1, 1),
    "own jerk": (1, 1),
    "jerk in pixels": (1, 1),
}
"""Name of each map to the frames before and after a frame that its value there depends on."""


def gather(images: UInt8Array, features: tuple[FloatArray, ...]) -> PlausibilityEvidence:
    """Measure a strand.

    Args:
        images: (n, SIDE, SIDE, 3) uint8 RGB, n of at least 3.
        features: Deep maps of the images, fine to coarse, each (n, rows, rows, channels).
    """
    count = len(images)
    grey = [cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), (0, 0), _PALETTE_BLUR) for image in images]
    dis: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    onward = [dis.calc(a, b, None) for a, b in pairwise(grey)]
    back = [dis.calc(b, a, None) for a, b in pairwise(grey)]
    depths = [_Depth(f) for f in features]
    steps = [[depth.change(t, t + 1, path) for t, path in enumerate(onward)] for depth in depths]
    between = depths[1].distances()
    cuts = _cuts(steps[1], between)
    maps = {name: np.full((count, CELLS, CELLS), np.nan, np.float32) for name in MAPS}
    travel = _follow_content(maps, depths, steps, onward, back)
    flow = np.stack([to_cells(field) for field in onward])
    kinds = _compare_kinds(maps, features[2], onward, back)
    _compare_pictures(maps, grey, onward, back)
    _compare_motion(maps, flow)
    for t in np.flatnonzero(cuts):  # between t and t + 1: what spans it is left out
        for name, (before, after) in MAPS.items():
            maps[name][max(0, t + 1 - after) : t + 1 + before] = np.nan
        travel[t + 1 : t + 1 + LAGS[-1]] = np.nan
    pooled = features[2].mean((1, 2))
    return PlausibilityEvidence(maps, flow, travel, cuts, between, _distances(pooled), kinds)


def to_cells(plane: FloatArray, cells: int = CELLS) -> FloatArray:
    """Return the mean of ``plane`` (SIDE, SIDE, ...) in each of ``cells`` x ``cells`` cells."""
    return np.asarray(cv2.resize(plane, (cells, cells), interpolation=cv2.INTER_AREA), np.float32)


class _Depth:
    """The deep maps of one depth, in units of how much the content differs from place to place."""

    def __init__(self, features: FloatArray) -> None:
        half = features.shape[1] // 2
        shifts = ((half, 0), (0, half), (half, half))
        apart = [np.linalg.norm(features - np.roll(features, shift, (1, 2)), axis=-1).mean() for shift in shifts]
        self.features = features / max(float(np.mean(apart)), 1e-6)
        self.cells = features.shape[1]

    def change(self, t: int, other: int, path: FloatArray) -> FloatArray:
        """Return (cells, cells): by how much content of frame ``t`` changes along ``path`` to frame ``other``.

        What leaves the picture is given the median of the rest: nothing is known of it.
        """
        target = _along(path, self.cells)
        change = np.linalg.norm(bilinear(self.features[other], target) - self.features[t], axis=-1)
        seen = inside(target, self.cells, self.cells)
        typical = float(np.median(change[seen])) if seen.any() else 0.0
        return np.asarray(np.where(seen, change, typical))

    def distances(self) -> FloatArray:
        """Return (n, n): mean distance of two frames' content, in place."""
        return np.asarray(_distances(self.features.reshape(len(self.features), -1)) / self.cells)


def _along(path: FloatArray, cells: int) -> FloatArray:
    """Return (cells, cells, 2): where the content of each cell gets to along ``path`` (SIDE, SIDE, 2), in cells."""
    return np.asarray(pixel_grid(cells, cells) + to_cells(path, cells) * (cells / SIDE))


def _distances(rows: FloatArray) -> FloatArray:
    squares = (rows**2).sum(1)
    return np.asarray(np.sqrt(np.maximum(squares[:, None] + squares[None] - 2 * rows @ rows.T, 0)))


def bilinear(image: FloatArray, points: FloatArray) -> FloatArray:
    """Return ``image`` (h, w, channels), any number of channels, at ``points`` (h, w, 2) x, y; beyond it, its edge."""
    height, width = image.shape[:2]
    x, y = np.clip(points[..., 0], 0, width - 1), np.clip(points[..., 1], 0, height - 1)
    left, top = np.minimum(x.astype(int), width - 2), np.minimum(y.astype(int), height - 2)
    across, down = (x - left)[..., None], (y - top)[..., None]
    upper = image[top, left] * (1 - across) + image[top, left + 1] * across
    lower = image[top + 1, left] * (1 - across) + image[top + 1, left + 1] * across
    return np.asarray(upper * (1 - down) + lower * down)


def _cuts(changes: list[FloatArray], between: FloatArray) -> BoolArray:
    """Find cuts: frames with nothing in common, between steps that are small, and no return to what was before."""
    step = np.array([change.mean() for change in changes])
    cuts = step > _OTHER_SHOT
    for t in np.flatnonzero(cuts):
        beside = [step[s] for s in (t - 1, t + 1) if 0 <= s < len(step)]
        returns = 1 <= t < len(step) - 1 and between[t - 1, t + 2] < _SUDDEN
        cuts[t] = max(beside) < _SUDDEN * step[t] and not returns
    return cuts


def _follow_content(
    maps: dict[str, FloatArray],
    depths: list[_Depth],
    steps: list[list[FloatArray]],
    onward: list[FloatArray],
    back: list[FloatArray],
) -> FloatArray:
    """Fill in how much content changes on its way, and how much of a frame neither neighbour has; return the travel."""
    pixels = pixel_grid(SIDE, SIDE)
    paths = {1: onward}
    for lag in LAGS[1:]:
        half = paths[lag // 2]
        pairs = zip(half, half[lag // 2 :], strict=False)
        paths[lag] = [first + look_up(second, pixels + first) for first, second in pairs]
    for depth, following, name in zip(depths, steps, ("fine", "middle", "coarse"), strict=True):
        for lag in LAGS if name != "coarse" else (1,):
            for t, path in enumerate(paths[lag]):
                change = following[t] if lag == 1 else depth.change(t, t + lag, path)
                maps[f"drift {name} {lag}"][t + lag] = _enlarged(change)
        if name == "coarse":
            continue
        for t in range(1, len(onward)):
            from_left = depth.change(t, t - 1, back[t - 1])
            maps[f"foreign {name}"][t] = _enlarged(np.minimum(from_left, following[t]))
            before, now, after = depth.features[t - 1 : t + 2]
            crooked = ((now - before) ** 2).sum(-1) + ((after - now) ** 2).sum(-1)
            straight = ((after - before) ** 2).sum(-1)
            # 2 for a straight path of the features, 1 for a random walk, 1/2 for frames that share nothing but a mean.
            ratio = 2 * (straight + _NOISE**2) / (crooked + 2 * _NOISE**2)
            maps[f"rough {name}"][t] = _enlarged(2 - ratio)
    longest = paths[LAGS[-1]]
    travel = np.full(len(onward) + 1, np.nan)
    travel[LAGS[-1] :] = [np.linalg.norm(to_cells(path), axis=-1).mean() / LAGS[-1] for path in longest]
    return travel


def _enlarged(plane: FloatArray) -> FloatArray:
    if len(plane) == CELLS:
        return np.asarray(plane, np.float32)
    return np.asarray(cv2.resize(plane.astype(np.float32), (CELLS, CELLS), interpolation=cv2.INTER_LINEAR))


def _compare_kinds(
    maps: dict[str, FloatArray], features: FloatArray, onward: list[FloatArray], back: list[FloatArray]
) -> FloatArray:
    """Fill in where something is of another kind in the next frame, along its motion, and where in both neighbours.

    Returns:
        (n, 1000) probabilities of what each frame shows as a whole.
    """
    head, cells = load_head(), features.shape[1]
    wide = head.widened(features)
    here = head.cells(wide)

    def changed(frames: NDArray[np.intp], others: NDArray[np.intp], paths: list[FloatArray]) -> FloatArray:
        moved = [bilinear(features[other], _along(path, cells)) for other, path in zip(others, paths, strict=True)]
        return divergence(here[frames], head.cells(head.widened(np.stack(moved))))

    count = len(features)
    later = changed(np.arange(count - 1), np.arange(1, count), onward)
    earlier = changed(np.arange(1, count), np.arange(count - 1), back)
    maps["other kind"][1:] = [_enlarged(plane) for plane in later]
    maps["foreign kind"][1:-1] = [_enlarged(plane) for plane in np.minimum(later[1:], earlier[:-1])]
    return head.frames(wide)


def _compare_pictures(
    maps: dict[str, FloatArray], grey: list[UInt8Array], onward: list[FloatArray], back: list[FloatArray]
) -> None:
    """Fill in where the flow does not come back, and where the picture differs from what it should be."""
    pixels = pixel_grid(SIDE, SIDE)
    fine = [image.astype(np.float32) - cv2.blur(image.astype(np.float32), (_HIGH_PASS,) * 2) for image in grey]
    contrast = float(np.mean([np.abs(image).mean() for image in fine]))
    for t, path in enumerate(onward):
        target = pixels + path
        seen = inside(target, SIDE, SIDE)
        gap = np.minimum(np.linalg.norm(path + look_up(back[t], target), axis=-1), _WORST_GAP) * seen
        speed = np.linalg.norm(to_cells(path), axis=-1)
        maps["not returning"][t + 1] = to_cells(gap) / (1 + speed)
        error = np.abs(fine[t] - look_up(fine[t + 1], target)) * seen
        maps["misfit"][t + 1] = to_cells(error) / (to_cells(np.abs(fine[t])) + contrast / 2 + 1)


def _compare_motion(maps: dict[str, FloatArray], flow: FloatArray) -> None:
    """Fill in where things bend, stretch and jerk."""
    own = flow - np.median(flow.reshape(len(flow), -1, 2), axis=1)[:, None, None]
    for t, (field, rest) in enumerate(zip(flow, own, strict=True)):
        speed = STILL + np.linalg.norm(rest, axis=-1)
        for name, width in (("bent", 3), ("bent wide", 7)):
            maps[name][t + 1] = np.linalg.norm(field - cv2.blur(field, (width, width)), axis=-1) / speed
        # How fast the picture is stretched or sheared; turning and zoom of the whole are none.
        by_y, by_x = (np.asarray(g) for g in np.gradient(field, float(CELL), axis=(0, 1)))
        growth = by_x[..., 0] + by_y[..., 1]
        stretch, shear = by_x[..., 0] - by_y[..., 1], by_x[..., 1] + by_y[..., 0]
        maps["strain"][t + 1] = np.sqrt(stretch**2 + shear**2 + (growth - np.median(growth)) ** 2)
        if t + 1 == len(flow):
            continue
        for name, fields in (("jerk", flow), ("own jerk", own)):
            following = bilinear(fields[t + 1], pixel_grid(CELLS, CELLS) + field / CELL)
            change = np.linalg.norm(following - fields[t], axis=-1)
            speeds = np.linalg.norm(fields[t], axis=-1) + np.linalg.norm(following, axis=-1)
            maps[name][t + 1] = change / (STILL + speeds)
            if name == "jerk":
                maps["jerk in pixels"][t + 1] = change
