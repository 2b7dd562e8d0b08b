"""Maps of evidence against the motion of a subsequence of frames, per cell: the features of the ordinal classifier.

Every map is normalised by the clip itself (its contrast, the variety of its content, the speed of its motion): neither
the amount of motion nor a low resolution is evidence. Neither is a cut to another shot: frames across it are excluded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from vmmetrics.perception.embedded.flow import inside, look_up, pixel_grid
from vmmetrics.perception.embedded.plausibility.views import SIDE
from vmmetrics.types import BoolArray, FloatArray, UInt8Array
from vmmetrics.utils.weights.manifest import weight_path

# Class constancy: probabilities of ImageNet's classes per cell, compared along the motion.
#
# Where a cell is a dog in one frame and a rug in the next, along its motion, something melts or is painted anew; flames
# and water, which have no shape, mostly stay flames and water (glitter on water less so).

WEIGHTS = "efficientnet-lite0-head"
_DIGITS = 9  # decimals returned: matrix products of different machines and threads differ below


@dataclass(frozen=True)
class ClassHead:
    """The last layers of EfficientNet-lite0, applied to every cell of its deepest map.

    Attributes:
        widen: (320, 1280) 1 × 1 convolution, batch normalisation folded in.
        widen_bias: (1280,) its bias.
        classes: (1280, 1000) linear layer.
        classes_bias: (1000,) its bias.
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
        """Return widened features (..., 1280) of features (..., 320), the input of the other two methods."""
        rows = features.reshape(-1, features.shape[-1]).astype(np.float64)  # one product is faster than many small ones
        wide = np.clip(rows @ self.widen + self.widen_bias, 0, 6)
        return np.asarray(wide.reshape(*features.shape[:-1], -1))


@cache
def load_head() -> ClassHead:
    """Return the head that ships with the package."""
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
"""Cells along each side of the maps; a cell is as wide as a patch of DIS flow."""
CELL = SIDE // CELLS
"""Side of a cell, pixels."""
LAGS = {"step": 0.0, "quarter": 0.25, "half": 0.5}
"""Time over which content is followed, seconds; at least one, two and three frames."""
STILL = 0.5
"""Speed, pixels per frame, below which motion counts as none: about the error of DIS at this size."""

_PALETTE_BLUR = 0.8  # pixels; removes the dither of GIF palettes
_HIGH_PASS = 15  # pixels; broader changes are illumination
_WORST_GAP = 8.0  # pixels; largest forward-backward error of the flow that is counted
_NOISE = 0.15  # share of the content's variety; smaller changes of deep features are noise
_REACH = 0.3  # of the frame; how far content is searched in a neighbouring frame
_OTHER_SHOT = 0.7  # share of the content's variety from which two frames have nothing in common
_SUDDEN = 0.6  # largest change in the steps beside a cut, as a share of the change at the cut


@dataclass(frozen=True)
class PlausibilityEvidence:
    """The evidence in a subsequence of n frames.

    Attributes:
        maps: Name to (n, CELLS, CELLS) float32, larger is worse; NaN in frames without a value.
        flow: (n - 1, CELLS, CELLS, 2) mean motion in each cell from one frame to the next, pixels.
        travel: (n,) mean net displacement of the content, pixels per frame; NaN where unknown.
        cuts: (n - 1,) bool, a cut to another shot between one frame and the next.
        content: (n, n) mean distance per cell between the features of any two frames, in units of their variety.
        gist: (n, n) distance between the pooled features of any two frames.
        kinds: (n, 1000) ImageNet class probabilities of each frame.
        texture: (n,) mean contrast of fine detail, grey levels.
        lags: Frames over which the maps of each lag go.
    """

    maps: dict[str, FloatArray]
    flow: FloatArray
    travel: FloatArray
    cuts: BoolArray
    content: FloatArray
    gist: FloatArray
    kinds: FloatArray
    texture: FloatArray
    lags: dict[str, int]


MAPS: dict[str, tuple[int, int]] = {
    **{f"drift {depth} {lag}": (1, 0) for depth in ("fine", "middle") for lag in LAGS},
    "drift coarse step": (1, 0),
    **{f"{kind} {depth}": (1, 1) for depth in ("fine", "middle") for kind in ("foreign", "rough")},
    **{f"{kind} {depth}": (1, span) for depth in ("fine", "middle") for kind, span in (("new", 0), ("missing", 1))},
    "other kind": (1, 0),
    "foreign kind": (1, 1),
    "unsteady light": (1, 1),
    **dict.fromkeys(("not returning", "misfit", "bent", "bent wide", "strain"), (1, 0)),
    **dict.fromkeys(("jerk", "own jerk", "jerk in pixels"), (1, 1)),
}
"""Name of each map to the least numbers of frames before and after a frame that its value depends on."""


def lag_frames(pace: float) -> dict[str, int]:
    """Return the lags in frames at ``pace`` frames per second."""
    return {name: max(least, round(seconds * pace)) for least, (name, seconds) in enumerate(LAGS.items(), 1)}


def span_of(name: str, lags: dict[str, int]) -> tuple[int, int]:
    """Return the numbers of frames before and after a frame that a map's value depends on."""
    before, after = MAPS[name]
    return lags.get(name.split()[-1], before), after


def gather(images: UInt8Array, features: tuple[FloatArray, ...], pace: float) -> PlausibilityEvidence:
    """Compute the evidence in a subsequence.

    Args:
        images: (n, SIDE, SIDE, 3) uint8 RGB, n of at least 3.
        features: Deep maps of the images, fine to coarse, each (n, rows, rows, channels).
        pace: Frames per second.
    """
    lags = lag_frames(pace)
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
    travel = _follow_content(maps, depths, steps, onward, back, lags)
    flow = np.stack([to_cells(field) for field in onward])
    kinds = _compare_kinds(maps, features[2], onward, back)
    texture = _compare_pictures(maps, grey, onward, back)
    _compare_motion(maps, flow)
    for t in np.flatnonzero(cuts):  # between t and t + 1: values across it are excluded
        for name in MAPS:
            before, after = span_of(name, lags)
            maps[name][max(0, t + 1 - after) : t + 1 + before] = np.nan
        travel[t + 1 : t + 1 + lags["half"]] = np.nan
    pooled = features[2].mean((1, 2))
    return PlausibilityEvidence(maps, flow, travel, cuts, between, squareform(pdist(pooled)), kinds, texture, lags)


def to_cells(plane: FloatArray, cells: int = CELLS) -> FloatArray:
    """Return the mean of ``plane`` (SIDE, SIDE, ...) in each of ``cells`` x ``cells`` cells."""
    return np.asarray(cv2.resize(plane, (cells, cells), interpolation=cv2.INTER_AREA), np.float32)


class _Depth:
    """The feature maps of one depth, in units of the content's spatial variety."""

    def __init__(self, features: FloatArray) -> None:
        half = features.shape[1] // 2
        shifts = ((half, 0), (0, half), (half, half))
        apart = [np.linalg.norm(features - np.roll(features, shift, (1, 2)), axis=-1).mean() for shift in shifts]
        self.features = features / max(float(np.mean(apart)), 1e-6)
        self.cells = features.shape[1]

    def change(self, t: int, other: int, path: FloatArray) -> FloatArray:
        """Return (cells, cells): change of the features of frame ``t`` along ``path`` to frame ``other``.

        Cells that leave the frame get the median of the others.
        """
        target = _along(path, self.cells)
        change = np.linalg.norm(bilinear(self.features[other], target) - self.features[t], axis=-1)
        seen = inside(target, self.cells, self.cells)
        typical = float(np.median(change[seen])) if seen.any() else 0.0
        return np.asarray(np.where(seen, change, typical))

    def nearest(self, t: int, other: int) -> FloatArray:
        """Return (cells, cells): least change to any cell of frame ``other`` within :data:`_REACH` of each cell.

        For motion that the flow cannot follow.
        """
        # in single precision the difference of equal features would be what the processor's products round to
        here, there = (self.features[i].reshape(self.cells**2, -1).astype(np.float64) for i in (t, other))
        squares = (here**2).sum(1)[:, None] + (there**2).sum(1) - 2 * here @ there.T
        nearest = np.where(_within_reach(self.cells), squares, np.inf).min(1)
        return np.asarray(np.sqrt(np.maximum(nearest, 0))).reshape(self.cells, self.cells)

    def distances(self) -> FloatArray:
        """Return (n, n): mean distance per cell between two frames' features."""
        return np.asarray(squareform(pdist(self.features.reshape(len(self.features), -1))) / self.cells)


@cache
def _within_reach(cells: int) -> BoolArray:
    """Return (cells², cells²), True for pairs of cells at most :data:`_REACH` of the frame apart along both axes."""
    rows, columns = np.divmod(np.arange(cells**2), cells)
    apart = np.maximum(abs(rows[:, None] - rows), abs(columns[:, None] - columns))
    return np.asarray(apart <= round(_REACH * cells))


def _along(path: FloatArray, cells: int) -> FloatArray:
    """Return (cells, cells, 2): target of each cell along ``path`` (SIDE, SIDE, 2), in cells."""
    return np.asarray(pixel_grid(cells, cells) + to_cells(path, cells) * (cells / SIDE))


def bilinear(image: FloatArray, points: FloatArray) -> FloatArray:
    """Sample ``image`` (h, w, channels) at ``points`` (h, w, 2) x, y, bilinearly; the border is replicated."""
    height, width = image.shape[:2]
    x, y = np.clip(points[..., 0], 0, width - 1), np.clip(points[..., 1], 0, height - 1)
    left, top = np.minimum(x.astype(int), width - 2), np.minimum(y.astype(int), height - 2)
    across, down = (x - left)[..., None], (y - top)[..., None]
    upper = image[top, left] * (1 - across) + image[top, left + 1] * across
    lower = image[top + 1, left] * (1 - across) + image[top + 1, left + 1] * across
    return np.asarray(upper * (1 - down) + lower * down)


def _cuts(changes: list[FloatArray], between: FloatArray) -> BoolArray:
    """Return (n - 1,) bool, True at a cut: large change, between small ones, without a return to the content before."""
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
    lags: dict[str, int],
) -> FloatArray:
    """Fill the maps of change along the motion and of content missing in both neighbours; return the travel (n,)."""
    pixels = pixel_grid(SIDE, SIDE)
    paths = {"step": onward}
    for lag in ("quarter", "half"):
        ends = list(onward)
        for more in range(1, lags[lag]):
            starts = ends[: len(onward) - more]
            ends = [path + look_up(onward[t + more], pixels + path) for t, path in enumerate(starts)]
        paths[lag] = ends
    for depth, following, name in zip(depths, steps, ("fine", "middle", "coarse"), strict=True):
        for lag in LAGS if name != "coarse" else ("step",):
            for t, path in enumerate(paths[lag]):
                change = following[t] if lag == "step" else depth.change(t, t + lags[lag], path)
                maps[f"drift {name} {lag}"][t + lags[lag]] = _enlarged(change)
        if name == "coarse":
            continue
        earlier = [depth.change(t + 1, t, path) for t, path in enumerate(back)]
        new = [np.minimum(change, depth.nearest(t + 1, t)) for t, change in enumerate(earlier)]
        maps[f"new {name}"][1:] = [_enlarged(change) for change in new]
        for t in range(1, len(onward)):
            maps[f"foreign {name}"][t] = _enlarged(np.minimum(earlier[t - 1], following[t]))
            later = np.minimum(following[t], depth.nearest(t, t + 1))
            maps[f"missing {name}"][t] = _enlarged(np.minimum(new[t - 1], later))
            before, now, after = depth.features[t - 1 : t + 2]
            crooked = ((now - before) ** 2).sum(-1) + ((after - now) ** 2).sum(-1)
            straight = ((after - before) ** 2).sum(-1)
            # 2 for a straight path of the features, 1 for a random walk, 1/2 for frames that share nothing but a mean.
            ratio = 2 * (straight + _NOISE**2) / (crooked + 2 * _NOISE**2)
            maps[f"rough {name}"][t] = _enlarged(2 - ratio)
    half = lags["half"]
    travel = np.full(len(onward) + 1, np.nan)
    travel[half:] = [np.linalg.norm(to_cells(path), axis=-1).mean() / half for path in paths["half"]]
    return travel


def _enlarged(plane: FloatArray) -> FloatArray:
    if len(plane) == CELLS:
        return np.asarray(plane, np.float32)
    return np.asarray(cv2.resize(plane.astype(np.float32), (CELLS, CELLS), interpolation=cv2.INTER_LINEAR))


def _compare_kinds(
    maps: dict[str, FloatArray], features: FloatArray, onward: list[FloatArray], back: list[FloatArray]
) -> FloatArray:
    """Fill the maps of class changes along the motion, to the next frame and to both neighbours.

    Returns:
        (n, 1000) class probabilities of each frame as a whole.
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
) -> FloatArray:
    """Fill the maps of forward-backward errors of the flow, motion-compensated differences and unsteady light.

    Returns:
        (n,) mean contrast of fine detail, grey levels.
    """
    pixels = pixel_grid(SIDE, SIDE)
    light = [np.asarray(cv2.blur(image.astype(np.float32), (_HIGH_PASS,) * 2), np.float32) for image in grey]
    fine = [image.astype(np.float32) - broad for image, broad in zip(grey, light, strict=True)]
    for t in range(1, len(onward)):
        earlier = light[t] - look_up(light[t - 1], pixels + back[t - 1])
        later = light[t] - look_up(light[t + 1], pixels + onward[t])
        for_a_moment = (earlier > 0) == (later > 0)  # brighter than both neighbours, or darker
        change = np.where(for_a_moment, np.minimum(abs(earlier), abs(later)), 0).astype(np.float32)
        maps["unsteady light"][t] = to_cells(change) / (light[t].mean() + 1)
    texture = np.array([np.abs(image).mean() for image in fine])
    contrast = float(texture.mean())
    for t, path in enumerate(onward):
        target = pixels + path
        seen = inside(target, SIDE, SIDE)
        gap = np.minimum(np.linalg.norm(path + look_up(back[t], target), axis=-1), _WORST_GAP) * seen
        speed = np.linalg.norm(to_cells(path), axis=-1)
        maps["not returning"][t + 1] = to_cells(gap) / (1 + speed)
        error = np.abs(fine[t] - look_up(fine[t + 1], target)) * seen
        maps["misfit"][t + 1] = to_cells(error) / (to_cells(np.abs(fine[t])) + contrast / 2 + 1)
    return texture


def _compare_motion(maps: dict[str, FloatArray], flow: FloatArray) -> None:
    """Fill the maps of bending, strain and jerk of the flow."""
    own = flow - np.median(flow.reshape(len(flow), -1, 2), axis=1)[:, None, None]
    for t, (field, rest) in enumerate(zip(flow, own, strict=True)):
        speed = STILL + np.linalg.norm(rest, axis=-1)
        for name, width in (("bent", 3), ("bent wide", 7)):
            maps[name][t + 1] = np.linalg.norm(field - cv2.blur(field, (width, width)), axis=-1) / speed
        # Rate of stretch and shear; rotation and zoom of the whole frame are none.
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
