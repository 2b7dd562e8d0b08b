"""What each metric adds to the combination of all: left out one at a time, and added one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vmmetrics.alignment.combination import FOLDS, FittedCombination, Pairs, folds_of, pairs_of, standardised
from vmmetrics.alignment.preference import (
    EQUAL_WEIGHTS,
    FITTED,
    NO_PAIRS,
    NOT_FITTED,
    accuracy_estimates,
    differences,
    half_credits,
)
from vmmetrics.alignment.results import Ablation, CombinationFigure
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, alike, estimate, finite, sampled, with_note
from vmmetrics.utils.statistics.correlation import group_count, spearman_statistic, why_undefined, within_statistic

ORDER_NOTE = "chosen as the best addition on these very clips, which flatters the first few metrics"
LEAST_RESAMPLES = 200
"""Bootstrap samples that large studies come down to: an end of the interval is then off by 7 % of its width."""
_DRAWN = 20_000_000  # clips times samples: 1,000 samples of 20,000 clips
_NONE = Estimate(None)
_NO_JUDGEMENT = "there is no rating, only preferences"
_NO_MODEL = "no model has three clips with differing scores and judgements"


@dataclass(frozen=True, slots=True)
class Combined:
    """Scores of a combination.

    Attributes:
        margins: (M,) score of each pair's left clip less the right one's, NaN where there is none.
        scores: (N,) score of each clip, NaN where there is none.
        weights: (K,) weight of each metric, NaN where none could be fitted.
    """

    margins: FloatArray
    scores: FloatArray
    weights: FloatArray


Combine = Callable[[Sequence[int]], Combined]
"""Columns of the standardised scores to their combination."""


def measure_ablations(
    study: Study, dimension: str, metrics: Sequence[str], resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[Ablation, ...]:
    """Ablations of the combination by equal weights and of the fitted one.

    Metrics are added in the order in which each next one gains most preference accuracy (without pairs, pooled
    Spearman). That order is chosen on the clips it is then reported on, so the figures of the first few flatter; their
    notes say so. The fitted combination's weights for a clip are fitted on other prompts. Its scores of different folds
    come from different weights, which pairs of one prompt never see and Spearman does: a metric without use, whose
    weight changes sign between folds, then comes out below 0. Over 20,000 clips there are fewer bootstrap samples, down
    to 200, since each of them is worked out for four combinations per metric.

    Args:
        study: The study.
        dimension: One of its dimensions.
        metrics: Metrics that face it.
        resamples: Bootstrap samples.
        seed: Of the samples and the folds.

    Returns:
        Equal weights, then fitted; nothing for fewer than two metrics.
    """
    if len(metrics) < 2:
        return ()
    pairs = pairs_of(study, dimension, seed)
    z = standardised([finite(study.scores[metric]) for metric in metrics])
    folds = folds_of(study.prompts, FOLDS, seed)
    ways: dict[str, Combine] = {
        EQUAL_WEIGHTS: partial(_equal, z, pairs),
        FITTED: partial(_fitted, z, pairs, folds, seed),
    }
    resamples = min(resamples, max(LEAST_RESAMPLES, _DRAWN // max(1, len(study.clips))))
    bench = _Bench(study, pairs, _judgements(study, dimension), resamples, seed)
    return tuple(_ablation(dimension, name, combine, metrics, bench) for name, combine in ways.items())


@dataclass(frozen=True, slots=True)
class _Bench:
    """What every combination is held against."""

    study: Study
    pairs: Pairs
    judgements: FloatArray
    resamples: int
    seed: int

    def figures(self, combinations: Sequence[Combined]) -> list[CombinationFigure]:
        """How each combination does; those that score the same clips share their bootstrap samples."""
        credits_ = np.column_stack([half_credits(each.margins, self.pairs.outcome) for each in combinations])
        undefined = f"no pair counts: {NOT_FITTED}" if self.pairs.decided.size else NO_PAIRS
        prompts = self.study.prompts
        accuracies = accuracy_estimates(credits_, self.pairs, prompts, self.resamples, self.seed, undefined)
        scores = np.column_stack([each.scores for each in combinations])
        found = [CombinationFigure(accuracy, _NONE, _NONE) for accuracy in accuracies]
        for columns in alike(scores):
            for column, spearman, within in zip(columns, *self._correlations(scores[:, columns]), strict=True):
                found[column] = CombinationFigure(accuracies[column], spearman, within)
        return found

    def _correlations(self, scores: FloatArray) -> tuple[list[Estimate], list[Estimate]]:
        """Pooled Spearman and mean within-model Spearman of the columns of (N, K), NaN in the same rows."""
        both = np.flatnonzero(~np.isnan(scores[:, 0]) & ~np.isnan(self.judgements))
        scores, judgements = scores[both], self.judgements[both]
        if np.isnan(self.judgements).all():
            reasons: list[str | None] = [_NO_JUDGEMENT] * scores.shape[1]
        else:
            reasons = [why_undefined(column, judgements) for column in scores.T]
        pooled = [Estimate(None, n=both.size, note=reason) for reason in reasons]
        inside = list(pooled)
        defined = np.flatnonzero([reason is None for reason in reasons])
        if not defined.size:
            return pooled, inside
        prompts, models = ([names[clip] for clip in both] for names in (self.study.prompts, self.study.models))
        for statistic, into, undefined, n in (
            (spearman_statistic(scores[:, defined], judgements), pooled, "", both.size),
            (within_statistic(scores[:, defined], judgements, models), inside, _NO_MODEL, group_count(models)),
        ):
            values, samples = sampled(statistic, prompts, self.resamples, self.seed)
            for column, value, drawn in zip(defined, values, samples.T, strict=True):
                into[column] = estimate(value, drawn, prompts, undefined, n)
        return pooled, inside

    def gain(self, combined: Combined) -> float:
        """What the order of metrics goes by: accuracy, else pooled Spearman, −∞ where there is neither."""
        credits_ = half_credits(combined.margins, self.pairs.outcome)
        if not np.isnan(credits_).all():
            return float(np.nanmean(credits_))
        found = spearman_statistic(combined.scores, self.judgements)(np.ones((1, len(self.judgements))))[0, 0]
        return -np.inf if np.isnan(found) else float(found)


def _ablation(dimension: str, name: str, combine: Combine, metrics: Sequence[str], bench: _Bench) -> Ablation:
    everything = range(len(metrics))
    full = combine(everything)
    order: list[int] = []
    steps: list[Combined] = []
    while len(order) < len(metrics):
        # of equals the first, so that the order does not depend on rounding
        candidates = {k: combine([*order, k]) for k in everything if k not in order}
        best = max(candidates, key=lambda k: round(bench.gain(candidates[k]), 9))
        order.append(best)
        steps.append(candidates[best])
    without = [combine([other for other in everything if other != k]) for k in everything]
    figures = bench.figures([full, *without, *steps])
    added = [_flattered(figure) for figure in figures[len(metrics) + 1 : -1]]
    return Ablation(
        dimension=dimension,
        combination=name,
        full=figures[0],
        left_out=dict(zip(metrics, figures[1:], strict=False)),
        added=tuple(zip((metrics[k] for k in order), [*added, figures[-1]], strict=True)),
        weights={metric: float(w) for metric, w in zip(metrics, full.weights, strict=True) if not np.isnan(w)},
    )


def _flattered(figure: CombinationFigure) -> CombinationFigure:
    """The same with the note that its metrics were chosen on these clips."""
    parts = (figure.accuracy, figure.spearman, figure.within_model)
    return CombinationFigure(*(with_note(part, ORDER_NOTE) for part in parts))


def _equal(z: FloatArray, pairs: Pairs, columns: Sequence[int]) -> Combined:
    scores = z[:, list(columns)].mean(axis=1)
    return Combined(differences(scores, pairs), scores, np.full(len(columns), 1 / len(columns)))


def _fitted(z: FloatArray, pairs: Pairs, folds: IntArray, seed: int, columns: Sequence[int]) -> Combined:
    fitted = FittedCombination(z[:, list(columns)], pairs, folds, seed=seed)
    weights = fitted.mean_weights()
    return Combined(
        fitted.margins(pairs), fitted.scores(), np.full(len(columns), np.nan) if weights is None else weights
    )


def _judgements(study: Study, dimension: str) -> FloatArray:
    if dimension in study.ratings:
        return finite(study.mean_rating(dimension))
    return np.full(len(study.clips), np.nan)
