"""A study: clips with scores on one side and people's judgements on the other, matched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from types import MappingProxyType

import numpy as np

from vmmetrics.metrics.registry import METRICS, find
from vmmetrics.types import BoolArray, FloatArray, IntArray
from vmmetrics.utils.statistics.agreement import recover_mos
from vmmetrics.utils.statistics.bootstrap import finite, mean_of_defined, prompt_codes
from vmmetrics.utils.statistics.preferences import Preferences


@dataclass(frozen=True, slots=True)
class Matching:
    """Clips matched, and clips that only one side has.

    Attributes:
        matched: Clips with a score and a judgement.
        scores_only: Names of clips with a score and no judgement.
        ratings_only: Names of clips with a judgement and no score.
        notes: What was assumed: by which part of the name clips were matched, rows left out, duplicates.
        columns: Source to its columns, or the keys of its files, and how each was read.
    """

    matched: int
    scores_only: tuple[str, ...] = ()
    ratings_only: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Study:
    """The matched data; everything in this package is computed from it.

    Attributes:
        clips: (N,) names.
        prompts: (N,) key of each clip's prompt, the unit that is resampled; a clip without one is its own prompt.
        models: (N,) key of each clip's generator; "" where that is not known.
        scores: Metric to (N,) float64, NaN where missing. Higher is meant to be better.
        ratings: Dimension to (N, R) float64, NaN where a rater said nothing; R = 1 for averaged ratings.
        raters: Dimension to the names of its R raters, () where the ratings came averaged.
        preferences: Dimension to judgements of pairs.
        pairing: Metric → the dimensions it is compared with.
        matching: How the two sides were joined.
        recovered: Dimension to (N,) recovered quality, which stands for the mean rating where it is given.
        amplitude: (N,) amount of motion of each clip, NaN where missing; None where the scores have no such column.
    """

    clips: tuple[str, ...]
    prompts: tuple[str, ...]
    models: tuple[str, ...]
    scores: Mapping[str, FloatArray]
    ratings: Mapping[str, FloatArray]
    raters: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    preferences: Mapping[str, Preferences] = field(default_factory=lambda: MappingProxyType({}))
    pairing: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    matching: Matching = field(default_factory=lambda: Matching(0))
    recovered: Mapping[str, FloatArray] = field(default_factory=lambda: MappingProxyType({}))
    amplitude: FloatArray | None = None

    def keep(self, clips: BoolArray, note: str) -> Study:
        """Return the clips where (N,) ``clips`` is true, without pairs that involve others; ``why`` is noted."""
        index = np.where(clips, np.cumsum(clips) - 1, -1)
        names, prompts, models = (tuple(compress(of, clips)) for of in (self.clips, self.prompts, self.models))
        return replace(
            self,
            clips=names,
            prompts=prompts,
            models=models,
            scores={name: column[clips] for name, column in self.scores.items()},
            ratings={name: column[clips] for name, column in self.ratings.items()},
            recovered={name: column[clips] for name, column in self.recovered.items()},
            amplitude=None if self.amplitude is None else self.amplitude[clips],
            preferences={dimension: pairs.moved(index) for dimension, pairs in self.preferences.items()},
            matching=replace(self.matching, matched=len(names), notes=(note, *self.matching.notes)),
        )

    def metrics_for(self, dimension: str) -> list[str]:
        """Return the metrics paired with a dimension."""
        return [metric for metric, paired in self.pairing.items() if dimension in paired]

    def rater_names(self, dimension: str) -> tuple[str, ...]:
        """Return the raters of a dimension; those without a name are numbered."""
        columns = range(self.ratings[dimension].shape[1])
        return self.raters.get(dimension) or tuple(f"rater {number + 1}" for number in columns)

    def mean_rating(self, dimension: str) -> FloatArray:
        """Return (N,) mean over the raters who rated a clip, or the quality recovered from them; NaN where none did."""
        if dimension in self.recovered:
            return self.recovered[dimension]
        return mean_of_defined(self.ratings[dimension])

    def amount_of_motion(self) -> FloatArray | None:
        """Return (N,) amplitude, else PAS, NaN where missing; None where no clip has either."""
        amounts = {key for key in METRICS if (metric := find(key)) is not None and metric.is_amount}
        scores = (column for name, column in self.scores.items() if name.rpartition(":")[2] in amounts)
        for column in (self.amplitude, *scores):
            if column is not None and np.isfinite(column).any():
                return np.abs(finite(column))  # PAS is below 0 where it was read as lower-is-better
        return None


def with_recovered_quality(study: Study) -> Study:
    """Return the study with quality from MOS recovery in place of mean ratings, where several people rated.

    The matching says each rater's bias and inconsistency (:func:`vmmetrics.utils.statistics.agreement.recover_mos`).
    """
    qualities, notes = {}, []
    for dimension, ratings in study.ratings.items():
        if ratings.shape[1] < 2:
            continue
        recovered = recover_mos(finite(ratings).T)
        qualities[dimension] = recovered.quality
        raters = zip(study.rater_names(dimension), recovered.bias, recovered.inconsistency, strict=True)
        shown = ", ".join(f"{name} {bias:+.2f} ± {spread:.2f}" for name, bias, spread in raters)
        notes.append(f"{dimension}: quality recovered from its raters (bias ± inconsistency: {shown})")
        notes += [f"{dimension}: {recovered.note}"] if recovered.note else []
    matching = replace(study.matching, notes=(*study.matching.notes, *notes))
    return replace(study, recovered=qualities, matching=matching)


# What one set of clips has in common: metrics, one judgement, prompts and models; nothing missing.


@dataclass(frozen=True, slots=True)
class Sample:
    """Scores of metrics and ratings of a dimension, on the clips that have all of them.

    Attributes:
        metrics: (K,) names.
        scores: (K, N) without NaN.
        ratings: (N,) mean ratings without NaN.
        prompts: (N,) prompt of each clip.
        models: (N,) model of each clip, "" where it is not known.
        amplitude: (N,) amount of motion, NaN where missing; None where no clip has one.
    """

    dimension: str
    metrics: tuple[str, ...]
    scores: FloatArray
    ratings: FloatArray
    prompts: tuple[str, ...]
    models: tuple[str, ...]
    amplitude: FloatArray | None = None

    def keep(self, clips: BoolArray) -> Sample:
        """Return the clips where (N,) ``clips`` is true."""
        prompts, models = (tuple(compress(of_clips, clips)) for of_clips in (self.prompts, self.models))
        amplitude = None if self.amplitude is None else self.amplitude[clips]
        return Sample(
            self.dimension, self.metrics, self.scores[:, clips], self.ratings[clips], prompts, models, amplitude
        )

    def with_named_models(self) -> Sample:
        """Return the clips whose model is known."""
        return self.keep(np.array([model != "" for model in self.models], bool))

    def model_codes(self) -> tuple[IntArray, list[str]]:
        """Return (N,) number of each clip's model, and the models in the order of their names."""
        return prompt_codes(self.models)[0], sorted(set(self.models))


def clips_with_both(study: Study, metric: str, dimension: str) -> BoolArray:
    """Return (N,) bool: clips with both this score and this judgement."""
    mask: BoolArray = np.isfinite(study.scores[metric]) & np.isfinite(study.mean_rating(dimension))
    return mask


def sample_of(study: Study, dimension: str, metrics: Iterable[str], clips: BoolArray) -> Sample:
    """Return these metrics and this dimension on the clips where (N,) ``clips`` is true; all must be finite there."""
    names = tuple(metrics)
    scores = np.stack([np.asarray(study.scores[name], np.float64) for name in names])
    ratings, amplitude = study.mean_rating(dimension), study.amount_of_motion()
    whole = Sample(dimension, names, scores, ratings, study.prompts, study.models, amplitude)
    return whole.keep(clips)


def samples_of(study: Study, dimension: str, metrics: Iterable[str]) -> list[Sample]:
    """Return one sample per set of clips: metrics with scores on the same clips share it and its bootstrap samples."""
    alike: defaultdict[bytes, list[str]] = defaultdict(list)
    for metric in metrics:
        alike[clips_with_both(study, metric, dimension).tobytes()].append(metric)
    return [sample_of(study, dimension, names, np.frombuffer(clips, bool)) for clips, names in alike.items()]


def snapped(means: FloatArray) -> FloatArray:
    """Round means to 12 digits of the largest, so that sums in another order rank equally.

    >>> snapped(np.array([13 / 3 + 11 / 3, 7 / 3 + 17 / 3, np.nan]) / 2)
    array([ 4.,  4., nan])
    """
    finite = np.abs(means[np.isfinite(means)])
    scale = float(finite.max()) if finite.size else 0.0
    return np.round(means / scale, 12) * scale if scale > 0 else means


# Averages over metrics and over dimensions, added to a study.

# The average judgement and the average metric, compared like any others.

AVERAGE = "average"
"""Name of the average metric and of the average dimension."""


def with_averages(study: Study) -> tuple[Study, tuple[str, ...]]:
    """Add the average of the paired dimensions, and of the metrics paired with them, where there are several.

    - The average judgement of a clip is the mean over dimensions of its mean ratings, of clips that have all;
      standardised first where one dimension's ratings span over twice the range of another's. Where the
      same people rated the same clips on every dimension, each one's average is kept, so that they too can be compared.
    - The average score is the mean over metrics (over VMBench's five, where any of them is there, so that baselines
      beside them change nothing), of clips that have all: of the scores themselves where all lie in 0 to
      1, else of standardised scores. It is compared with the average judgement, or with the only one.

    Every metric is then also compared with the average judgement. What already bears the name is left as it is.

    Returns:
        The study with these, and what was averaged, in words.
    """
    metrics = [metric for metric, paired in study.pairing.items() if any(d in study.ratings for d in paired)]
    dimensions = [d for d in study.ratings if any(d in study.pairing[metric] for metric in metrics)]
    pairing, notes = dict(study.pairing), []
    target = dimensions[0] if dimensions else ""
    if len(dimensions) > 1 and AVERAGE not in study.ratings:
        target = AVERAGE
        rated = (of[np.isfinite(of)] for of in map(study.ratings.__getitem__, dimensions))
        ranges = [float(np.ptp(of)) for of in rated if of.size]
        unlike = max(ranges, default=0.0) > _SCALES * min(ranges, default=0.0) > 0
        ratings, raters = _average_judgement(_standardised(study, dimensions) if unlike else study, dimensions)
        study = replace(study, ratings={**study.ratings, AVERAGE: ratings}, raters={**study.raters, AVERAGE: raters})
        pairing |= {metric: (*pairing[metric], AVERAGE) for metric in metrics}
        of = "standardised ratings (their scales differ) of " if unlike else ""
        notes.append(f"average judgement: mean of {of}{', '.join(dimensions)}, on clips that have all")
    published = [metric for metric in metrics if (ours := find(metric)) and ours.column]
    metrics = published or metrics
    if len(metrics) > 1 and AVERAGE not in study.scores and (target == AVERAGE or len(dimensions) == 1):
        average, how = _average_score(study.scores, metrics)
        study = replace(study, scores={**study.scores, AVERAGE: average})
        pairing[AVERAGE] = (target,)
        notes.append(f"average metric: mean of {how} {', '.join(metrics)}, on clips that have all")
    return replace(study, pairing=pairing), tuple(notes)


_SCALES = 2.0  # ratio of the ranges of ratings above which dimensions are rated on unlike scales


def _standardised(study: Study, dimensions: Sequence[str]) -> Study:
    """Return the study with ratings whose means over raters have mean 0 and standard deviation 1."""
    ratings, recovered = {**study.ratings}, {**study.recovered}
    for dimension in dimensions:
        means = study.mean_rating(dimension)
        middle, spread = np.nanmean(means), np.nanstd(means)
        for of in (ratings, recovered):
            if dimension in of:
                of[dimension] = (of[dimension] - middle) / (spread or 1.0)
    return replace(study, ratings=ratings, recovered=recovered)


def _average_judgement(study: Study, dimensions: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    """Return (N, R) ratings where the same raters rated the same clips throughout, else (N, 1) means; and names."""
    raters = study.raters.get(dimensions[0], ())
    first = np.isfinite(study.ratings[dimensions[0]])
    alike = all(
        study.raters.get(d, ()) == raters and np.array_equal(np.isfinite(study.ratings[d]), first) for d in dimensions
    )
    if raters and alike:
        return snapped(np.mean([study.ratings[d] for d in dimensions], axis=0)), raters
    return snapped(np.mean([study.mean_rating(d) for d in dimensions], axis=0))[:, None], ()


def _average_score(scores: Mapping[str, FloatArray], metrics: Sequence[str]) -> tuple[FloatArray, str]:
    """Return (N,) average, NaN where a metric is missing, and of what it is one."""
    table = np.stack([np.asarray(scores[metric], np.float64) for metric in metrics])
    there = np.isfinite(table).all(axis=0)
    complete, average = table[:, there], np.full(table.shape[1], np.nan)
    within = bool(((complete >= 0) & (complete <= 1)).all())
    if not within:
        spread = complete.std(axis=1, keepdims=True)
        complete = (complete - complete.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    average[there] = complete.mean(axis=0)
    return snapped(average), "the scores of" if within else "the standardised scores of"
