"""The embedded commonsense classifier: an ordinal model of evidence against the motion of a clip.

Views (:mod:`.views`) → deep features and flow at one size and frame rate → evidence per cell (:mod:`.evidence`) →
summary statistics → five probabilities. Trained on corruption levels by ``python -m benchmarks.cas_recipe.recipe``,
without any rating.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.perception.embedded.plausibility import evidence as measured
from vmmetrics.perception.embedded.plausibility.evidence import MAPS, STILL, PlausibilityEvidence
from vmmetrics.perception.embedded.plausibility.views import Backbone, pictures, subsequences_of
from vmmetrics.perception.scene import Scene
from vmmetrics.types import BoolArray, FloatArray, IntArray, SaliencyMap
from vmmetrics.utils.weights.manifest import weight_path

# The classifier, trained on corruption levels: a sum of ramps, each of which can only count against a clip.
#
#     e[f] = (x[f] − centre[f] − Σ_c slope[c, f] · (condition[c] − its centre)) / scale[f]
#     z = Σ_f Σ_r w[r, f] · ramp_r(e[f]),   P(at least k levels below Perfect) = σ(z − θ_k)
#
# The slopes are the growth of each number with the conditions (speed, texture, frame rate) in clean clips; only the
# excess is evidence.
#
# No weight is negative and every number is "larger is worse", so worse evidence never raises a score, and a clip unlike
# any corruption level follows the same rule. That keeps so small a training set from overfitting.

# From the evidence in a view to the numbers that the classifier weighs; in all of them, larger is worse.
#
# Of each map: its mean, the worst tenth of cells and frames, and its worst cells; and, since real footage is mostly
# undisturbed however much moves, its best quarter and its calm frames. Of the view as a whole: unevenness of motion,
# reversals, repetitions, and the straightness of its path in feature space.

SUMMARIES = ("mean", "worst tenth", "worst place", "best quarter", "calm moment")
_FLOOR = 0.02
"""Added before a logarithm; smaller values are rounding in every map."""
_LINEAR = ("rough fine", "rough middle")
"""Maps without logarithm: ratios around 1."""
_FAR = 0.5
"""Distance in seconds, at least four frames, from which frames are similar by chance or repetition, not proximity."""
_WHOLE = (
    "uneven pace", "frozen", "turning round", "turning round on average", "camera jerk", "worst camera jerk",
    "uneven change", "worst change", "repeating", "repeating against steps",
    "crooked content 2", "crooked content 4", "crooked gist 2", "crooked gist 4", "kinds that change",
)  # fmt: skip
CONDITIONS = ("travel", "speed of the fastest", "texture", "pace")
"""Numbers that are no evidence: the others are compared with what is usual for clean clips under these conditions."""
NAMES = (*(f"{name}: {summary}" for name in MAPS for summary in SUMMARIES), *_WHOLE, *CONDITIONS)
"""Names of the numbers, in order."""
_FASTEST = 0.9
"""Quantile of the cells' speeds that is their fastest."""


def summarise(evidence: PlausibilityEvidence, first: int, stop: int, pace: float) -> FloatArray:
    """Return the numbers (len(NAMES),) of the view from ``first`` up to ``stop``; NaN where undefined.

    Args:
        evidence: Of the subsequence.
        first: First frame of the view.
        stop: Its last frame plus 1.
        pace: Frames per second of the subsequence.
    """
    maps = [summarise_map(name, view_of(evidence, name, first, stop)) for name in MAPS]
    flow, cuts = evidence.flow[first : stop - 1], evidence.cuts[first : stop - 1]
    content, gist = (d[first:stop, first:stop] for d in (evidence.content, evidence.gist))
    shot = np.concatenate([[0], np.cumsum(cuts)])
    change = _change(content, cuts, max(4, round(_FAR * pace)))
    whole = [*_pace(flow, cuts), *_turns(flow, cuts), *change, *_ways(content, gist, shot)]
    kinds = _kinds(evidence.kinds[first:stop], shot)
    return np.concatenate([*maps, [*whole, kinds, *_conditions(evidence, first, stop, pace)]])


def _conditions(evidence: PlausibilityEvidence, first: int, stop: int, pace: float) -> tuple[float, ...]:
    """Return the logarithms of :data:`CONDITIONS`; views too short for a net displacement have the speed instead."""
    speeds = np.linalg.norm(evidence.flow[first : stop - 1][~evidence.cuts[first : stop - 1]], axis=-1)
    far = evidence.travel[first + evidence.lags["half"] : stop]
    far = far[~np.isnan(far)]
    if len(far) == 0:
        far = speeds.mean((1, 2))
    travel = float(np.log(STILL + far.mean())) if len(far) else np.nan
    fastest = np.quantile(speeds, _FASTEST) if len(speeds) else 0.0
    texture = evidence.texture[first:stop].mean()
    return travel, float(np.log(STILL + fastest)), float(np.log(1 + texture)), float(np.log(pace))


def view_of(evidence: PlausibilityEvidence, name: str, first: int, stop: int) -> FloatArray:
    """Return the frames (k, CELLS, CELLS) of a map that depend only on frames of the view and span no cut."""
    before, after = measured.span_of(name, evidence.lags)
    frames = evidence.maps[name][first + before : stop - after]
    return frames[~np.isnan(frames[:, 0, 0])]


def summarise_map(name: str, values: FloatArray) -> FloatArray:
    """Return the statistics (..., len(SUMMARIES)) of a map's ``values`` (..., k, CELLS, CELLS); NaN where k is 0."""
    *variants, count, _, _ = values.shape
    if count == 0:
        return np.full((*variants, len(SUMMARIES)), np.nan)
    flat = values.reshape(*variants, count, -1)
    all_cells = flat.reshape(*variants, -1)
    best, worst = np.quantile(all_cells, (0.25, 0.9), axis=-1)
    worst_cells, calm = np.quantile(flat.mean(-2), 0.95, axis=-1), np.quantile(flat.mean(-1), 0.25, axis=-1)
    numbers = np.stack([all_cells.mean(-1), worst, worst_cells, best, calm], axis=-1)
    return numbers if name in _LINEAR else np.log(numbers + _FLOOR)


def _pace(flow: FloatArray, cuts: BoolArray) -> tuple[float, float]:
    speed = np.linalg.norm(flow, axis=-1).mean((1, 2))[~cuts]
    if len(speed) == 0:
        return np.nan, np.nan
    usual = float(np.quantile(speed, 0.8))
    frozen = float((speed < 0.15 * usual).mean()) if usual > STILL else 0.0
    return float(speed.std() / (speed.mean() + 0.3 * STILL)), frozen


def _turns(flow: FloatArray, cuts: BoolArray) -> tuple[float, float, float, float]:
    """Return the reversal of the motion, largest and mean, and the jerk of the camera, mean and largest."""
    against, jerks = [0.0], [0.0]
    camera = np.median(flow.reshape(len(flow), -1, 2), axis=1)
    for t in range(len(flow) - 1):
        if cuts[t] or cuts[t + 1]:
            continue
        before, after = flow[t].ravel(), flow[t + 1].ravel()
        lengths = float(np.linalg.norm(before)), float(np.linalg.norm(after))
        moving = min(1.0, min(lengths) / (STILL * np.sqrt(before.size / 2)))
        against.append(float(-(before @ after) / (lengths[0] * lengths[1] + 1e-6) * moving))
        speeds = float(np.linalg.norm(camera[t]) + np.linalg.norm(camera[t + 1]))
        jerks.append(float(np.linalg.norm(camera[t + 1] - camera[t]) / (STILL + speeds)))
    mean = len(against) - 1 or 1
    return max(against), sum(against) / mean, sum(jerks) / mean, max(jerks)


def _change(content: FloatArray, cuts: BoolArray, far_apart: int) -> tuple[float, float, float, float]:
    """Return the unevenness of the content's change, and the similarity of frames far apart."""
    steps = np.diagonal(content, 1)[~cuts]
    rows, columns = np.nonzero(np.subtract.outer(np.arange(len(content)), np.arange(len(content))) >= far_apart)
    if len(steps) == 0 or len(rows) == 0:
        return np.nan, np.nan, np.nan, np.nan
    far = content[rows, columns]
    usual = float(np.median(steps)) + _FLOOR * float(np.median(far)) + 1e-6
    alike = -float(far.min()) / (float(np.median(far)) + 1e-6)
    return float(steps.std() / (steps.mean() + 1e-6)), float(steps.max() / usual), alike, -float(far.min()) / usual


def _ways(content: FloatArray, gist: FloatArray, shot: FloatArray) -> list[float]:
    """Return log ratios of the squared path length from frame to frame to the squared direct distance."""
    ways = []
    for distances in (content, gist):
        steps = np.diagonal(distances, 1) ** 2
        for lag in (2, 4):
            starts = [t for t in range(len(distances) - lag) if shot[t] == shot[t + lag]]
            straight = sum(float(distances[t, t + lag]) ** 2 for t in starts)
            along = sum(float(steps[t : t + lag].sum()) for t in starts)
            ways.append(float(np.log((along + 1e-6) / (straight + 1e-6))) if starts else np.nan)
    return ways


def _kinds(kinds: FloatArray, shot: FloatArray) -> float:
    """Return the log change of the frames' class probabilities within shots."""
    spread = 0.0
    for number in np.unique(shot):
        frames = kinds[shot == number]
        spread += len(frames) * float(measured.entropy(frames.mean(0)) - measured.entropy(frames).mean())
    return float(np.log(max(spread, 0.0) / len(kinds) + _FLOOR))


WEIGHTS = "cas-ladder"
RAMPS = ((-2.0, 1.0), (0.0, 2.0), (1.5, 4.5))
"""Begin and end of each ramp, in standard deviations from the centre of clean clips."""
LEVEL_COUNT = 5
"""Levels of commonsense: Bad, Poor, Fair, Good, Perfect."""


@dataclass(frozen=True)
class OrdinalModel:
    """The trained classifier.

    Attributes:
        centre: (F,) centre of each number in clean clips.
        slope: (C, F) its growth there with each of :data:`CONDITIONS`.
        scale: (F,) its spread over the corruption levels.
        weights: (len(RAMPS), F), none negative.
        thresholds: (4,) ascending: below Perfect, Good, Fair, Poor.
    """

    centre: FloatArray
    slope: FloatArray
    scale: FloatArray
    weights: FloatArray
    thresholds: FloatArray

    def badness(self, numbers: FloatArray) -> FloatArray:
        """Return z (N,) of the numbers (N, F) of N views; larger is worse."""
        return np.asarray(self.shares(numbers).sum(1))

    def shares(self, numbers: FloatArray) -> FloatArray:
        """Return (N, F), the contribution of each number to z."""
        ramps = ramped(standardised(numbers, self.centre, self.slope, self.scale))
        return np.asarray(np.einsum("rnf,rf->nf", ramps, self.weights))

    def probabilities(self, numbers: FloatArray) -> FloatArray:
        """Return (N, 5) float64, Bad to Perfect, for the numbers (N, F) of views."""
        below = sigmoid(self.badness(numbers)[:, None] - self.thresholds)
        return (-np.diff(below, axis=1, prepend=1.0, append=0.0))[:, ::-1]

    def save(self, path: Path) -> None:
        """Write the model to ``path``; the same model gives the same bytes."""
        np.savez(path, names=np.array(NAMES), **{name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def load(cls, path: Path) -> OrdinalModel:
        """Read a model.

        Raises:
            SetupError: The file was trained on other numbers than this version measures.
        """
        with np.load(path, allow_pickle=False) as stored:
            if stored["names"].tolist() != list(NAMES):
                raise SetupError(f"{path} was trained on other numbers than this version measures; train it again")
            return cls(**{name: stored[name] for name in cls.__dataclass_fields__})


def standardised(numbers: FloatArray, centre: FloatArray, slope: FloatArray, scale: FloatArray) -> FloatArray:
    """Return (N, F) numbers in units of ``scale``, relative to clean clips under the same conditions (last columns)."""
    conditions = np.nan_to_num(numbers[:, -len(CONDITIONS) :] - centre[-len(CONDITIONS) :])
    return np.asarray((numbers - centre - conditions @ slope) / scale)


def ramped(standard: FloatArray) -> FloatArray:
    """Return (len(RAMPS), N, F) of standardised numbers (N, F); NaN counts as the centre of clean clips."""
    values = np.nan_to_num(standard, nan=0.0, posinf=0.0, neginf=0.0)
    return np.stack([np.clip(values, low, high) - low for low, high in RAMPS])


def sigmoid(values: FloatArray) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-values)) without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(values / 2)), np.float64)


PARTS = 4
"""Parts along each side of the frame that are masked in turn for the saliency."""
MOMENTS = 4
"""Time intervals of a view in which they are masked."""
_LITTLE = 0.2  # share of the largest gain below which a part's gain is split evenly over the intervals
_NO_GAIN = 1e-6  # splits the gain evenly where no single interval changes anything
MAPS_HIDDEN = 12
"""Maps that are masked: those that contribute most to the view; the others hardly change."""

REASONS = {
    "drift": "appearance changes along the motion",
    "foreign": "content absent from both neighbouring frames",
    "foreign kind": "content changes class for a moment",
    "other kind": "content changes class",
    "rough": "appearance oscillates",
    "new": "content absent from the frame before",
    "missing": "content absent from both neighbouring frames",
    "unsteady light": "light changes for a moment",
    "not returning": "motion cannot be tracked",
    "misfit": "content differs from its motion-compensated prediction",
    "bent": "neighbouring parts move inconsistently",
    "strain": "shapes stretch and shrink",
    "jerk": "jerky motion",
    "own jerk": "jerky motion relative to the camera",
}
"""Event reason of a map, by the beginning of its name."""


@dataclass(frozen=True, slots=True)
class _View:
    """A view: its clip frames, the evidence of its subsequence, its first position there, its numbers."""

    frames: tuple[int, ...]
    evidence: PlausibilityEvidence
    first: int
    numbers: FloatArray


class OrdinalPlausibility:
    """Commonsense classifier with five ordered levels from embedded features, without torch.

    Args:
        threads: Threads to use, None for two; the result does not depend on it. The network gets half of them, as
            other abilities run at the same time.
    """

    explained_below = float("inf")
    """Explanations are cheap, so that every clip gets one."""

    def __init__(self, threads: int | None = None) -> None:
        self.backbone = Backbone(threads=max(1, (threads or 2) // 2))
        self.model = OrdinalModel.load(weight_path(WEIGHTS))

    def classify(self, scene: Scene) -> FloatArray:
        """Return (V, 5) float64, one row per view, Bad..Perfect; V is 0 for a clip of fewer than four frames."""
        views = self._views(scene)
        if not views:
            return np.zeros((0, LEVEL_COUNT))
        return self.model.probabilities(np.stack([view.numbers for view in views]))

    def view_frames(self, scene: Scene) -> list[tuple[int, ...]]:
        """Return the frame indices of the view behind each row of :meth:`classify`, ascending."""
        return [view.frames for view in self._views(scene)]

    def unsteadiness(self, scene: Scene) -> FloatArray:
        """Return (T,) in 0..1, the deviation of each frame's class probabilities from both neighbouring frames.

        The smaller of two Jensen-Shannon divergences of ImageNet's classes, in bits, that three quarters of the cells
        reach, as fast things change a part of the frame and what is spoilt or painted anew all of it. At the frame
        rate of the views, interpolated between their frames; 0 for clips that are too short.
        """
        unsteadiness_of: dict[int, float] = {}
        for view in self._views(scene):
            maps = view.evidence.maps["foreign kind"][view.first : view.first + len(view.frames)]
            defined = ~np.isnan(maps[:, 0, 0])  # not at the ends and beside cuts, where a neighbour is missing
            calm = np.quantile(maps, 0.25, axis=(1, 2)) / np.log(2)
            unsteadiness_of |= {view.frames[i]: float(calm[i]) for i in np.flatnonzero(defined)}
        if not unsteadiness_of:
            return np.zeros(len(scene.clip))
        frames = sorted(unsteadiness_of)
        return np.interp(np.arange(len(scene.clip)), frames, [unsteadiness_of[f] for f in frames])

    def saliency(self, scene: Scene) -> tuple[SaliencyMap, ...]:
        """Return the saliency of the worst view: the decrease of its z with parts of the evidence masked.

        A part is masked by limiting its cells to the frame's best quarter, in the maps that contribute most.
        """
        views = self._views(scene)
        if not views:
            return ()
        badness = self.model.badness(np.stack([view.numbers for view in views]))
        return self._occlusion(views[int(np.argmax(badness))])

    def _views(self, scene: Scene) -> list[_View]:
        return scene.once("plausibility evidence", lambda: self._measure(scene))

    def _measure(self, scene: Scene) -> list[_View]:
        views = []
        for subsequence in subsequences_of(scene.clip):
            images = pictures(scene.clip.frames, subsequence.frames)
            evidence = measured.gather(images, self.backbone.features(images), subsequence.pace)
            for first, stop in subsequence.views:
                numbers = summarise(evidence, first, stop, subsequence.pace)
                views.append(_View(subsequence.frames[first:stop], evidence, first, numbers))
        return sorted(views, key=lambda view: view.frames)

    def _occlusion(self, view: _View) -> tuple[SaliencyMap, ...]:
        usual = np.full((1, len(NAMES)), np.nan)
        excess = self.model.shares(view.numbers[None])[0] - self.model.shares(usual)[0]
        by_map = excess[: len(view.evidence.maps) * len(SUMMARIES)].reshape(-1, len(SUMMARIES)).sum(1)
        names = [list(view.evidence.maps)[i] for i in np.argsort(-by_map, kind="stable")[:MAPS_HIDDEN]]
        before = float(self.model.badness(view.numbers[None])[0])

        def gain(first: int, stop: int, cells: BoolArray) -> FloatArray:
            falls = np.zeros((PARTS, PARTS))
            if cells.any():
                falls[cells] = before - self.model.badness(_hidden(view, names, (first, stop), np.argwhere(cells)))
            return np.maximum(falls, 0.0)

        # A part at fault throughout hardly shows with a quarter of the time masked: distribute the gain of the whole.
        whole = gain(0, MOMENTS, np.ones((PARTS, PARTS), np.bool_))
        matters = whole > _LITTLE * whole.max()
        alone = np.stack([gain(moment, moment + 1, matters) for moment in range(MOMENTS)]) + _NO_GAIN
        reason = next(text for start, text in sorted(REASONS.items(), reverse=True) if names[0].startswith(start))
        looks = []
        for moment, gains in enumerate(whole * alone / alone.sum(0)):
            index = round((moment + 0.5) / MOMENTS * (len(view.frames) - 1))
            looks.append(SaliencyMap(view.frames[index], tuple(map(tuple, gains.tolist())), reason))
        return tuple(looks)


def _hidden(view: _View, names: list[str], moments: tuple[int, int], parts: IntArray) -> FloatArray:
    """Return the numbers (P, F) of ``view`` with one of ``parts`` (P, 2: row, column) of the ``names`` maps masked.

    It is masked from one interval up to another.
    """
    numbers = np.tile(view.numbers, (len(parts), 1))
    edges = np.linspace(0, measured.CELLS, PARTS + 1).astype(int)
    for name in names:
        values = view_of(view.evidence, name, view.first, view.first + len(view.frames))
        if len(values) == 0:
            continue
        start, stop = (round(len(values) * m / MOMENTS) for m in moments)
        masked = np.tile(values, (len(parts), 1, 1, 1))
        if stop > start:
            good = np.quantile(values[start:stop].reshape(stop - start, -1), 0.25, axis=1)[:, None, None]
            for variant, (row, column) in zip(masked, parts, strict=True):
                cells = variant[start:stop, edges[row] : edges[row + 1], edges[column] : edges[column + 1]]
                np.minimum(cells, good, out=cells)
        at = NAMES.index(f"{name}: {SUMMARIES[0]}")
        numbers[:, at : at + len(SUMMARIES)] = summarise_map(name, masked)
    return numbers
