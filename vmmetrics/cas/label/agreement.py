"""Rater agreement, and goodness of fit of the model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from vmmetrics.cas.label.comparisons import Comparison
from vmmetrics.utils.statistics.bradley_terry import Strengths
from vmmetrics.utils.statistics.ties import LOSS, TIE, WIN

Repeats = Literal["share", "keep"]
TIE_BINS = 3
"""Bins by fitted strength difference in which predicted and observed ties are compared."""


@dataclass(frozen=True, slots=True)
class RepeatCounts:
    """Judgements of one pair by one rater, beyond the first.

    Attributes:
        repeated: Comparisons that a named rater had made before.
        contradicted: Pairs that a named rater judged in more than one way.
    """

    repeated: int
    contradicted: int


def settle_repeats(rows: Sequence[Comparison], policy: Repeats) -> tuple[tuple[Comparison, ...], RepeatCounts]:
    """Decide what a rater's repeated judgements of one pair count for.

    Args:
        rows: Comparisons.
        policy: ``"share"`` divides the weight of each by their number, so that a rater has one voice per pair, split
            where they contradicted themselves; ``"keep"`` counts each in full. Comparisons without a rater are taken
            for different people's and always count in full.

    Returns:
        The comparisons, as many and in the same order, with the weights to fit; and how many repeat.
    """
    judgements: dict[tuple[str, tuple[str, str]], list[Comparison]] = defaultdict(list)
    for row in rows:
        if row.rater is not None:
            judgements[row.rater, row.pair].append(row)
    repeated = sum(len(group) - 1 for group in judgements.values())
    contradicted = sum(len({row.better for row in group}) > 1 for group in judgements.values())
    if policy == "share":
        rows = [
            row if row.rater is None else replace(row, weight=row.weight / len(judgements[row.rater, row.pair]))
            for row in rows
        ]
    return tuple(rows), RepeatCounts(repeated, contradicted)


@dataclass(frozen=True, slots=True)
class RaterSummary:
    """One rater.

    Attributes:
        rater: Name.
        comparisons: How many they made.
        shared: How many judgements of others stand beside theirs (same pair), summed over their comparisons.
        agreed: Share of those that say the same, None where there are none.
        repeated: Comparisons of a pair they had judged before.
        steady: Share of their repeated pairs that they judged the same each time, None where there are none.
        with_fit: Share of their decisions (no ties) that name the clip with the higher fitted strength, None where
            they decided nothing.
    """

    rater: str
    comparisons: int
    shared: int
    agreed: float | None
    repeated: int
    steady: float | None
    with_fit: float | None


def rate_raters(rows: Sequence[Comparison], fit: Strengths) -> list[RaterSummary]:
    """Summarise each named rater, in alphabetic order."""
    by_pair: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    by_rater: dict[str, list[Comparison]] = defaultdict(list)
    for row in rows:
        if row.rater is not None:
            by_pair[row.pair].append(row)
            by_rater[row.rater].append(row)
    strength = dict(zip(fit.items, fit.strength, strict=True))
    summaries = []
    for rater, own in sorted(by_rater.items()):
        same = [row.better == o.better for row in own for o in by_pair[row.pair] if o.rater != rater]
        again: dict[tuple[str, str], list[str | None]] = defaultdict(list)
        for row in own:
            again[row.pair].append(row.better)
        lead = [strength[row.a] - strength[row.b] for row in own]
        decided = [(d > 0) == (row.outcome == "a") for d, row in zip(lead, own, strict=True) if row.outcome != "tie"]
        steady = _share([len(set(outcomes)) == 1 for outcomes in again.values() if len(outcomes) > 1])
        repeated = len(own) - len(again)
        summaries.append(RaterSummary(rater, len(own), len(same), _share(same), repeated, steady, _share(decided)))
    return summaries


def _share(truths: Sequence[bool]) -> float | None:
    return sum(truths) / len(truths) if truths else None


def goodness_of_fit(fit: Strengths) -> dict[str, Any]:
    """Return how well the model describes the comparisons it was fitted to.

    Returns:
        ``log_likelihood``; ``log_likelihood_equal``, that of equal strengths with the best tie share;
        ``decided_right``, the share of decisions for the clip with the higher strength; ``ties``, the tie share
        observed and predicted in all, and by thirds of |strength difference|. (Davidson's model predicts the share
        in all exactly, whatever the data: only the thirds test it.)
    """
    counts, d = fit.pairs.counts, fit.differences()
    total = counts.sum(axis=1)
    predicted = np.exp(fit.model.log_probabilities(d, fit.tau))[:, TIE]
    tied, decided = counts[:, TIE].sum(), counts[:, WIN].sum() + counts[:, LOSS].sum()
    shares = [(tied, tied / total.sum()), (decided, decided / total.sum() / 2)]
    right = counts[d > 0, WIN].sum() + counts[d < 0, LOSS].sum() + (counts[d == 0][:, [WIN, LOSS]].sum()) / 2
    order = np.argsort(np.abs(d), kind="stable")
    bins = [("all", np.arange(len(d))), *zip(("near", "middle", "far"), np.array_split(order, TIE_BINS), strict=True)]
    return {
        "log_likelihood": fit.log_likelihood,
        "log_likelihood_equal": float(sum(n * math.log(share) for n, share in shares if n > 0)),
        "decided_right": float(right / decided),
        "ties": [
            {
                "pairs": name,
                "comparisons": float(total[inside].sum()),
                "observed": float(counts[inside, TIE].sum() / total[inside].sum()),
                "predicted": float(total[inside] @ predicted[inside] / total[inside].sum()),
            }
            for name, inside in bins
            if len(inside)
        ],
    }
