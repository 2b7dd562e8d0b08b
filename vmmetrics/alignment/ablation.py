"""What each metric adds to the combination of all: left out one at a time, and added one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vmmetrics.alignment.bootstrap import RESAMPLES, SEED
from vmmetrics.alignment.combination import FOLDS, FittedCombination, folds_of, standardised
from vmmetrics.alignment.correlation import why_undefined
from vmmetrics.alignment.pairs import Pairs, pairs_of
from vmmetrics.alignment.preference import (
    EQUAL_WEIGHTS,
    FITTED,
    NO_PAIRS,
    NOT_FITTED,
    accuracy_estimate,
    differences,
    half_credits,
)
from vmmetrics.alignment.resampling import Statistic, estimate, sampled, with_note
from vmmetrics.alignment.results import Ablation, CombinationFigure, Estimate
from vmmetrics.alignment.spearman_statistics import group_count, spearman_statistic, within_statistic
from vmmetrics.alignment.study import IntArray, Study
from vmmetrics.types import FloatArray

ORDER_NOTE = "chosen as the best addition on these very clips, which flatters the first few metrics"
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
    weight changes sign between folds, then comes out below 0.

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
    z = standardised([study.scores[metric] for metric in metrics])
    folds = folds_of(study.prompts, FOLDS, seed)
    ways: dict[str, Combine] = {
        EQUAL_WEIGHTS: partial(_equal, z, pairs),
        FITTED: partial(_fitted, z, pairs, folds, seed),
    }
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

    def figure(self, combined: Combined, note: str | None = None) -> CombinationFigure:
        study = self.study
        credits_ = half_credits(combined.margins, self.pairs.outcome)
        undefined = f"no pair counts: {NOT_FITTED}" if self.pairs.decided.size else NO_PAIRS
        accuracy = accuracy_estimate(credits_, self.pairs, study.prompts, self.resamples, self.seed, undefined)
        both = np.flatnonzero(~np.isnan(combined.scores) & ~np.isnan(self.judgements))
        scores, judgements = combined.scores[both], self.judgements[both]
        prompts, models = ([names[clip] for clip in both] for names in (study.prompts, study.models))
        why = _NO_JUDGEMENT if np.isnan(self.judgements).all() else why_undefined(scores, judgements)
        if why is not None:
            spearman = within = Estimate(None, n=both.size, note=why)
        else:
            spearman = self._estimate(spearman_statistic(scores, judgements), prompts, "", both.size)
            inside = within_statistic(scores, judgements, models)
            within = self._estimate(inside, prompts, _NO_MODEL, group_count(models))
        return CombinationFigure(*(with_note(figure, note) for figure in (accuracy, spearman, within)))

    def gain(self, combined: Combined) -> float:
        """What the order of metrics goes by: accuracy, else pooled Spearman, −∞ where there is neither."""
        credits_ = half_credits(combined.margins, self.pairs.outcome)
        if not np.isnan(credits_).all():
            return float(np.nanmean(credits_))
        found = spearman_statistic(combined.scores, self.judgements)(np.ones((1, len(self.judgements))))[0, 0]
        return -np.inf if np.isnan(found) else float(found)

    def _estimate(self, statistic: Statistic, prompts: Sequence[str], undefined: str, n: int) -> Estimate:
        found, samples = sampled(statistic, prompts, self.resamples, self.seed)
        return estimate(found[0], samples[:, 0], prompts, undefined, n)


def _ablation(dimension: str, name: str, combine: Combine, metrics: Sequence[str], bench: _Bench) -> Ablation:
    everything = range(len(metrics))
    full = combine(everything)
    order: list[int] = []
    added = []
    while len(order) < len(metrics):
        # the first of equals, so that the order does not depend on rounding
        candidates = {k: combine([*order, k]) for k in everything if k not in order}
        best = max(candidates, key=lambda k: round(bench.gain(candidates[k]), 9))
        order.append(best)
        note = ORDER_NOTE if len(order) < len(metrics) else None
        added.append((metrics[best], bench.figure(candidates[best], note)))
    return Ablation(
        dimension=dimension,
        combination=name,
        full=bench.figure(full),
        left_out={metrics[k]: bench.figure(combine([other for other in everything if other != k])) for k in everything},
        added=tuple(added),
        weights={metrics[k]: float(w) for k, w in zip(everything, full.weights, strict=True) if not np.isnan(w)},
    )


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
        return study.mean_rating(dimension)
    return np.full(len(study.clips), np.nan)
