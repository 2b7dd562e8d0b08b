"""Permutation tests of correlations inside models: the ratings of all models take another order of prompts together.

What a prompt does to the clips of every model stays together, as it is in the data. For few prompts this replaces the
bootstrap: most samples of five prompts hold two or three, which are easily in perfect order, and Student's t has three
degrees of freedom. Share of 120 simulated studies of four models, per cent, in which a mean ρ within models of 0.52 is
significant, and a useless metric; and whose interval holds the truth (of the bootstrap in brackets):

    prompts   5          6          8          12
    found     31 (2)     55 (0)     63 (29)    91 (88)
    useless   4 (0)      9 (1)      4 (2)      6 (3)
    held      96 (99)    96 (100)   89 (97)    91 (97)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from scipy import linalg, stats

from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import (
    LEAST_PROMPTS,
    RESAMPLES,
    SEED,
    Estimate,
    alike,
    interval_note,
    mean_of_defined,
    prompt_codes,
    quotient,
)
from vmmetrics.utils.statistics.ranks import unit_ranks

SHUFFLES = 1000
"""Random orders of prompts."""
BELOW = 12
"""Prompts from which on the bootstrap is as good."""
LEVEL = 0.05
"""Significance level, to which the intervals belong."""
_EXACT = 6  # prompts of which all 720 orders are tried
_NEAR_ONE = 1 - 1e-6
_SAME = 1e-9  # correlations that differ by less differ by rounding alone


def prompt_shuffles(prompts: Sequence[str], models: Sequence[str], seed: int) -> Iterator[IntArray]:
    """Yield the clips in random orders of their prompts, alike for all models; each clip stays in its model.

    Args:
        prompts: (N,) prompt of each clip.
        models: (N,) model of each clip.
        seed: Of the random numbers.

    Yields:
        (N,) indices, :data:`SHUFFLES` times: clip i takes the rating of clip ``[i]``. Where a model lacks prompts its
        others move up; clips of one prompt and model come in any order.
    """
    prompt, count = prompt_codes(prompts)
    rng = np.random.default_rng(seed)
    draws = ((rng.random(len(prompt)), rng.permutation(count)) for _ in range(SHUFFLES))
    yield from _moved(prompt, prompt_codes(models)[0], draws)


def _few_orders(prompts: Sequence[str], models: Sequence[str], seed: int) -> Iterator[IntArray]:
    """Yield as :func:`prompt_shuffles`, the given order first; of up to six prompts every order instead."""
    prompt, count = prompt_codes(prompts)
    if count <= _EXACT:
        still = np.zeros(len(prompt))
        orders = ((still, np.array(order)) for order in permutations(range(count)))
        yield from _moved(prompt, prompt_codes(models)[0], orders)
    else:
        yield np.arange(len(prompt))
        yield from prompt_shuffles(prompts, models, seed)


def _moved(prompt: IntArray, model: IntArray, orders: Iterator[tuple[FloatArray, IntArray]]) -> Iterator[IntArray]:
    by_model = np.lexsort((prompt, model))
    for ties, order in orders:
        shuffle = np.empty_like(by_model)
        shuffle[by_model] = by_model[np.lexsort((ties, order[prompt[by_model]], model[by_model]))]
        yield shuffle


def shuffled_within_model(
    scores: FloatArray, ratings: FloatArray, prompts: Sequence[str], models: Sequence[str], seed: int
) -> FloatArray:
    """Return (K, R, S) Spearman of (K, N) scores with (N,) shuffled ratings in each of S models, in order of name."""
    model, count = prompt_codes(models)
    x, y = np.empty(scores.shape), np.empty(ratings.shape)
    for number in range(count):
        x[:, model == number] = unit_ranks(scores[:, model == number])
        y[model == number] = unit_ranks(ratings[None, model == number])[0]
    member = np.eye(count)[model]
    return np.stack([(x * y[order]) @ member for order in _few_orders(prompts, models, seed)], axis=1)


def shuffled_without_both(
    scores: FloatArray, ratings: FloatArray, prompts: Sequence[str], models: Sequence[str], seed: int
) -> FloatArray:
    """Return (K, R) correlations of ranks less model and prompt, those of the (N,) ratings shuffled.

    What is left of the ratings' ranks is shuffled (as by ter Braak 1992), so that effects of prompts that both sides
    share, which are no part of the hypothesis, do not widen the distribution.
    """
    groups = [np.eye(count)[code] for code, count in map(prompt_codes, (prompts, models))]
    basis = linalg.orth(np.hstack(groups))
    ranks = stats.rankdata(np.vstack([scores, ratings]), axis=1)
    rest = ranks - (ranks @ basis) @ basis.T
    *_, y = rest = rest / np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), _SAME)
    parts = np.hstack([rest[:-1].T, basis])  # with clips missing, shuffled ratings have a part that these explain
    products = np.stack([y[order] @ parts for order in _few_orders(prompts, models, seed)], axis=1)
    explained = (products[len(scores) :] ** 2).sum(axis=0)
    return quotient(products[: len(scores)], np.sqrt(np.maximum(1 - explained, 0)), _SAME)


def permutation_estimate(value: float, shuffled: FloatArray, *, n: int, prompts: int) -> Estimate:
    """Return a correlation with p and interval from its values in shuffles.

    p is the share of shuffles as far from 0. The interval holds the correlations no farther from the found one, on
    Fisher's scale, than the farthest insignificant one is from 0: it leaves out 0 where p is below 0.05.

    Args:
        value: The correlation.
        shuffled: (R,) its values in shuffles, the given order among them.
        n: How many clips (models) it rests on.
        prompts: How many prompts were permuted.

    Returns:
        The figure; without an interval where no order could be significant.
    """
    if prompts < LEAST_PROMPTS:
        return Estimate(value, n=n, note=interval_note(prompts))
    far = np.sort(np.abs(np.nan_to_num(shuffled)))
    shares = 1 - np.searchsorted(far, far - _SAME) / len(far)
    p = 1 - float(np.searchsorted(far, abs(value) - _SAME)) / len(far)
    if shares[-1] >= LEVEL:
        note = f"no interval: of the orders of {prompts} prompts too few differ for p below {LEVEL}"
        return Estimate(value, p=p, n=n, note=note)
    reach = math.atanh(min(float(far[shares >= LEVEL].max()), _NEAR_ONE))
    centre = math.atanh(min(max(value, -_NEAR_ONE), _NEAR_ONE))
    low, high = min(value, math.tanh(centre - reach)), max(value, math.tanh(centre + reach))
    return Estimate(value, low, high, p, n, interval_note(prompts))


# Soft pairwise accuracy (Thompson, Mathur, Deutsch and Khayrallah, "Improving Statistical Significance in Human
# Evaluation of Automatic Metrics via Soft Pairwise Accuracy", WMT 2024): for every pair of models the one-sided p that
# the first is the better, by people and by the metric; then the mean of 1 − |p by people − p by the metric|. p is that
# of a paired permutation test: the two models' scores are swapped at random prompt by prompt, with the same swaps for
# people and metric. Unlike there, half of the swaps that leave the difference as it is count: p of the pair the other
# way round is then 1 − p and the accuracy does not depend on the order of the models, which matters where ratings are
# often equal.

_ALL_PATTERNS = 9  # swaps up to which every pattern is tried: 2**9 < RESAMPLES
_TIE = 1e-12  # of the largest difference possible: what differs by less differs by rounding alone
_CELLS = 4_000_000  # numbers held at a time, 32 MB


def one_sided_p(scores: FloatArray, resamples: int = RESAMPLES, seed: int = SEED) -> FloatArray:
    """Return one-sided p values of a permutation test that the first model of each pair is better, by each judge.

    Args:
        scores: (K, M, P) judges (people, metrics), models, prompts; NaN where missing. A prompt counts for a pair
            where both models have a score.
        resamples: Random swaps; up to 9 prompts all 2^P are tried instead.
        seed: Of the swaps, which are the same for all judges and pairs.

    Returns:
        (K, M·(M − 1)/2) in (0, 1), pairs (0, 1), (0, 2), ..., (1, 2), ...; 1/2 for equal scores, NaN without a prompt.
    """
    judges, models, prompts = scores.shape
    first, second = np.triu_indices(models, 1)
    p = np.full((judges, first.size), np.nan)
    # pairs of all judges side by side, so many at a time that differences and swapped differences stay small
    columns = np.stack([axis.ravel() for axis in np.indices(p.shape)])
    step = max(1, _CELLS // max(1, prompts, resamples))
    for start in range(0, columns.shape[1], step):
        judge, pair = columns[:, start : start + step]
        differences = scores[judge, first[pair]] - scores[judge, second[pair]]  # (columns, P)
        covered = ~np.isnan(differences).all(axis=1)
        parts = np.nan_to_num(differences[covered])
        observed, rounding = parts.sum(axis=1), _TIE * np.abs(parts).sum(axis=1)
        above, swaps = np.zeros(len(parts)), 0
        for signs in _sign_blocks(prompts, resamples, seed, max(1, _CELLS // step)):
            moved = signs @ parts.T - observed
            above += (moved > rounding).sum(axis=0) + 0.5 * (np.abs(moved) <= rounding).sum(axis=0)
            swaps += len(signs)
        if prompts > _ALL_PATTERNS:  # the scores as they are belong to the random ones
            above, swaps = above + 0.5, swaps + 1
        p[judge[covered], pair[covered]] = above / max(swaps, 1)
    return p


def soft_pairwise_accuracy(
    people: FloatArray, metrics: FloatArray, resamples: int = RESAMPLES, seed: int = SEED
) -> FloatArray:
    """Return the soft pairwise accuracy of each metric.

    Args:
        people: (M, P) mean ratings of models by prompts, NaN where missing.
        metrics: (K, M, P) scores of the metrics, NaN where missing; ratings of cells that a metric lacks are left out.
        resamples: Random swaps.
        seed: Of the swaps.

    Returns:
        (K,) in 0..1, NaN where no two models share a prompt. A metric that knows nothing gets about 1/2 where people
        are sure of every pair and about 2/3 where they know nothing either.
    """
    accuracy = np.full(len(metrics), np.nan)
    unknown = np.isnan(metrics) | np.isnan(people)
    cells = np.where(unknown, np.nan, metrics).reshape(len(metrics), people.size)
    for group in alike(cells.T):
        judges = np.concatenate([np.where(unknown[group[:1]], np.nan, people), cells[group].reshape(-1, *people.shape)])
        by_people, *by_metrics = one_sided_p(judges, resamples, seed)
        accuracy[group] = mean_of_defined(1 - np.abs(np.array(by_metrics) - by_people))
    return accuracy


def _sign_blocks(width: int, resamples: int, seed: int, rows: int) -> Iterator[FloatArray]:
    """Yield signs ±1, (up to ``rows``, width) at a time: all patterns if few, else ``resamples`` random ones."""
    if width <= _ALL_PATTERNS:
        yield 1.0 - 2.0 * ((np.arange(2**width)[:, None] >> np.arange(width)) & 1)
        return
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, rows):
        drawn = rng.integers(2, size=(min(rows, resamples - start), width), dtype=np.int8)
        yield 1.0 - 2.0 * drawn
