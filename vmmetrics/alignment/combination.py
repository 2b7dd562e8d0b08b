"""Combinations of metrics: by equal weights, or by weights cross-fitted to preferences.

Every metric is standardised over the clips that have it; a clip without it stands at its mean, 0. Standardising looks
at no judgement, so it is done once. Weights are fitted by logistic regression on differences of two clips (Bradley and
Terry, Biometrika 1952) with a ridge, the standard normal prior on each weight, so that none runs away where pairs are
few. A pair is judged by weights fitted without any clip of its prompts, and for an unseen generator also without any
clip of its two models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.special import expit

from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import Statistic
from vmmetrics.utils.statistics.preferences import Preferences

# Pairs of clips and which of them people prefer: as they were judged, or from mean ratings.

MAX_CLIPS = 200
"""Maximum clips of one prompt that are paired with each other; of more, a random 200 (19,900 pairs)."""
_SAME = 1e-9  # mean ratings of whole or half steps that differ at all differ by far more
_CELLS = 4_000_000  # weights of pairs held at a time, 32 MB


def pairs_of(study: Study, dimension: str, seed: int) -> tuple[Preferences, str]:
    """Return the pairs that people judged on a dimension; where there are none, all pairs of rated clips of one prompt.

    Args:
        study: The study.
        dimension: One of its dimensions.
        seed: Of the choice of clips of a prompt that has over 200.
    """
    judged = study.preferences.get(dimension)
    if judged is not None and judged.outcome.size:
        pairs = replace(judged, outcome=np.sign(judged.outcome).astype(np.int64))
        return pairs, "pairs that people judged, each judgement counted once"
    source = "pairs of clips of one prompt, preferred by mean rating"
    none = np.zeros(0, np.int64)
    if dimension not in study.ratings:
        return Preferences(none, none, none), source
    mean = study.mean_rating(dimension)
    of_prompt: dict[str, list[int]] = {}
    for clip in np.flatnonzero(np.isfinite(mean)):
        of_prompt.setdefault(study.prompts[clip], []).append(int(clip))
    rng = np.random.default_rng(seed)
    chosen: list[tuple[int, int]] = []
    for prompt in sorted(of_prompt):
        clips = of_prompt[prompt]
        if len(clips) > MAX_CLIPS:
            clips = sorted(rng.choice(clips, MAX_CLIPS, replace=False).tolist())
            source = f"pairs of clips of one prompt (of at most {MAX_CLIPS} random ones), preferred by mean rating"
        chosen.extend(combinations(clips, 2))
    left, right = np.array(chosen, np.int64).reshape(-1, 2).T
    apart = mean[left] - mean[right]
    outcome = np.where(np.abs(apart) <= _SAME, 0, np.sign(apart)).astype(np.int64)
    return Preferences(left, right, outcome), source


def share_statistic(pairs: Preferences, credits_: FloatArray, prompts: Sequence[str]) -> tuple[Statistic, list[str]]:
    """Return the mean credit of pairs as a statistic of weighted prompts.

    A pair of one prompt has the weight of its prompt, a pair of two prompts the product of theirs.

    Args:
        pairs: M pairs.
        credits_: (M, S) credit of each pair, NaN where it does not count.
        prompts: (N,) prompt of each clip.

    Returns:
        (B, P) weights of prompts to (B, S) means, NaN where no pair counts; and the names of those P prompts, which
        are the ones that counted pairs belong to.
    """
    counted = np.flatnonzero(~np.isnan(credits_).all(axis=1))
    ends = np.stack([pairs.left[counted], pairs.right[counted]])
    names, codes = np.unique(np.asarray(prompts, dtype=object)[ends].astype(str), return_inverse=True)
    low, high = np.sort(codes.reshape(2, -1), axis=0)
    units, unit = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    there = ~np.isnan(credits_[counted])
    sums, counts = np.zeros((2, units.shape[1], credits_.shape[1]))
    np.add.at(sums, unit.ravel(), np.where(there, credits_[counted], 0.0))
    np.add.at(counts, unit.ravel(), there)
    one, other = units
    crossing = one != other

    def statistic(weights: FloatArray) -> FloatArray:
        rows = max(1, _CELLS // max(1, one.size))
        parts = []
        for start in range(0, len(weights), rows):
            block = weights[start : start + rows]
            weight = block[:, one] * np.where(crossing, block[:, other], 1.0)
            total = weight @ counts
            parts.append(np.divide(weight @ sums, total, out=np.full(total.shape, np.nan), where=total > 0))
        return np.concatenate(parts)

    return statistic, names.tolist()


FOLDS = 10
"""Cross-validation folds over prompts; with ten prompts or fewer, one fold each."""
MODEL_FOLDS = 8
"""Cross-validation folds over models, two left out at a time; with eight models or fewer, one fold each."""
MIN_FIT_PAIRS = 10
"""Minimum pairs to fit weights on."""
MAX_FIT_PAIRS = 20_000
"""Maximum pairs used by a fit; more change the weights by under 0.01."""
_RIDGE = 1.0  # precision of the standard normal prior on a weight of standardised differences
_STEPS = 50  # of Newton's method, which the ridge brings home in about five
_SMALL = 1e-10  # of a step


def standardised(scores: Sequence[FloatArray]) -> FloatArray:
    """Return (N, K) scores less their mean over their standard deviation; 0 where missing, NaN for clips without any.

    Args:
        scores: K metrics, (N,) each, NaN where missing.
    """
    table = np.column_stack(list(scores)).astype(np.float64)
    there = ~np.isnan(table)
    counts = np.maximum(there.sum(axis=0), 1)
    centred = np.where(there, table - np.where(there, table, 0).sum(axis=0) / counts, 0)
    deviation = np.sqrt((centred**2).sum(axis=0) / counts)
    varied = deviation > _SMALL * np.maximum(1, np.abs(np.where(there, table, 0)).max(axis=0, initial=0))
    z: FloatArray = np.where(varied, centred / np.where(varied, deviation, 1), 0)
    z[~there.any(axis=1)] = np.nan
    return z


def folds_of(groups: Sequence[str], count: int, seed: int) -> IntArray:
    """Return (N,) fold of each clip: its group's, groups dealt out at random to ``count`` folds of equal size."""
    names, group = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    dealt = np.random.default_rng(seed).permutation(names.size) % min(count, max(1, names.size))
    return dealt.astype(np.int64)[group]


def fit_weights(differences: FloatArray, outcome: IntArray) -> FloatArray:
    """Return the weights under which people's preferences are likeliest, with the ridge.

    Args:
        differences: (M, K) left clip's standardised scores less the right one's.
        outcome: (M,) 1 or −1.

    Returns:
        (K,) weights.
    """
    towards = differences * outcome[:, None]
    weights = np.zeros(towards.shape[1])
    for _ in range(_STEPS):
        chance = expit(-(towards @ weights))  # of the pair going the other way
        slope = towards.T @ chance - _RIDGE * weights
        curve = (towards * (chance * (1 - chance))[:, None]).T @ towards + _RIDGE * np.eye(weights.size)
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.abs(step).max(initial=0) < _SMALL:
            break
    return weights


class FittedCombination:
    """A fitted combination whose weights for a pair never saw its prompts (nor its models).

    Args:
        z: (N, K) standardised scores, NaN rows for clips without any.
        pairs: The pairs that weights are fitted to.
        folds: (N,) fold of each clip's prompt.
        model_folds: (N,) fold of each clip's model where models are to be unseen as well.
        seed: Of the choice of pairs where there are over 20,000.
    """

    def __init__(
        self, z: FloatArray, pairs: Preferences, folds: IntArray, model_folds: IntArray | None = None, seed: int = 0
    ):
        self._z = z
        self._prompt_folds = folds
        self._model_folds = np.full(len(z), -1) if model_folds is None else model_folds
        self._seed = seed
        complete = ~np.isnan(z[pairs.left]).any(axis=1) & ~np.isnan(z[pairs.right]).any(axis=1)
        used = np.flatnonzero(complete & (pairs.outcome != 0))
        self._ends = np.stack([pairs.left[used], pairs.right[used]])
        self._differences = z[self._ends[0]] - z[self._ends[1]]
        self._outcome = pairs.outcome[used]
        self._fitted: dict[tuple[frozenset[int], frozenset[int]], FloatArray | None] = {}

    def weights(self, clips: IntArray) -> FloatArray | None:
        """Return (K,) weights fitted without the prompts and models of these clips; None with too few pairs to fit."""
        # where models may be seen all are in fold −1, which none is left out for
        prompts = frozenset(self._prompt_folds[clips].tolist())
        models = frozenset(self._model_folds[clips].tolist()) - {-1}
        key = (prompts, models)
        if key not in self._fitted:
            left_out = np.isin(self._prompt_folds, list(prompts)) | np.isin(self._model_folds, list(models))
            use = np.flatnonzero(~left_out[self._ends].any(axis=0))
            if use.size > MAX_FIT_PAIRS:
                use = np.random.default_rng(self._seed).choice(use, MAX_FIT_PAIRS, replace=False)
            enough = use.size >= MIN_FIT_PAIRS
            self._fitted[key] = fit_weights(self._differences[use], self._outcome[use]) if enough else None
        return self._fitted[key]

    def margins(self, pairs: Preferences) -> FloatArray:
        """Return (M,) score of the left clip less the right one's; NaN where a score or the fit is missing."""
        return self._by_fold(np.stack([pairs.left, pairs.right]), self._z[pairs.left] - self._z[pairs.right])

    def scores(self) -> FloatArray:
        """Return (N,) scores by weights fitted without the clip's prompt (and model), NaN where undefined."""
        return self._by_fold(np.arange(len(self._z))[None], self._z)

    def _by_fold(self, clips: IntArray, z: FloatArray) -> FloatArray:
        """Return (M,) sums of (M, K) values by weights fitted without the (C, M) clips of each row."""
        sums = np.full(len(z), np.nan)
        keys = np.concatenate([np.sort(fold[clips], axis=0) for fold in (self._prompt_folds, self._model_folds)])
        _, first, kind = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        for number, example in enumerate(first):
            members = np.flatnonzero(kind.ravel() == number)
            if (weights := self.weights(clips[:, example])) is not None:
                sums[members] = z[members] @ weights
        return sums

    def mean_weights(self) -> FloatArray:
        """Return (K,) mean over the folds of prompts, NaN where nothing could be fitted."""
        each = [self.weights(np.array([example])) for example in np.unique(self._prompt_folds, return_index=True)[1]]
        fitted = [weights for weights in each if weights is not None]
        return np.mean(fitted, axis=0) if fitted else np.full(self._z.shape[1], np.nan)
