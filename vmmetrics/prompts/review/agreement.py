"""How far reviewers of prompts agree: percent, Cohen's κ and Krippendorff's α, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np

from vmmetrics.prompts.review.decisions import DROP, EDIT, KEEP, VERDICTS, Decision, Standing, reviewers_of
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.agreement import alpha_statistic, cohen_statistic
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, Statistic, estimate, sampled

_SAME = "all said the same of every prompt, so chance would agree as well"
_FEW = "fewer than two prompts were decided by two reviewers"


@dataclass(frozen=True, slots=True)
class ReviewerCounts:
    """What one reviewer decided.

    Attributes:
        name: Who.
        kept: Prompts kept as they are.
        edited: Kept with another text.
        dropped: Dropped.
        seconds: Median time of a decision that stands; None where none was timed, as in a script.
    """

    name: str
    kept: int
    edited: int
    dropped: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Agreed:
    """Agreement in one set of categories; intervals by resampling prompts.

    Attributes:
        percent: Share of the pairs of judgements of one prompt that agree, the mean over prompts, 0 to 1.
        cohen: Cohen's κ, of more than two reviewers the mean over their pairs.
        alpha: Krippendorff's α, nominal.
    """

    percent: Estimate
    cohen: Estimate
    alpha: Estimate


@dataclass(frozen=True, slots=True)
class ReviewAgreement:
    """What several reviewers' decisions say of one another.

    Attributes:
        reviewers: What each decided.
        shared: Prompts that two or more decided upon.
        three: Agreement of keep, edit and drop.
        two: Agreement of staying (kept or edited) and going.
        pairs: The same as ``two`` for each two reviewers who share prompts; of three reviewers or more only.
        differing: Of the shared prompts those with different outcomes (edits to different texts differ): each one's
            decisions by reviewer.
    """

    reviewers: tuple[ReviewerCounts, ...]
    shared: int
    three: Agreed
    two: Agreed
    pairs: Mapping[tuple[str, str], Agreed]
    differing: tuple[Mapping[str, Decision], ...]


def measure_agreement(decisions: Sequence[Decision], resamples: int = RESAMPLES, seed: int = SEED) -> ReviewAgreement:
    """Compare the decisions that stand.

    Args:
        decisions: Of all reviewers, each one's in order of time.
        resamples: Bootstrap samples of the intervals.
        seed: Of the samples.
    """
    names = reviewers_of(decisions)
    verdicts = {name: Standing(decisions, name).verdicts() for name in names}
    keys = list(dict.fromkeys(key for found in verdicts.values() for key in found))
    shared = [key for key in keys if sum(key in found for found in verdicts.values()) > 1]
    three = _matrix(verdicts, shared, {KEEP: 0, EDIT: 1, DROP: 2})
    two = _matrix(verdicts, shared, {KEEP: 0, EDIT: 0, DROP: 1})
    pairs = {}
    if len(names) > 2:
        for first, second in combinations(range(len(names)), 2):
            both = ~np.isnan(two[:, [first, second]]).any(axis=1)
            if both.any():
                pairs[names[first], names[second]] = _agreed(two[both][:, [first, second]], resamples, seed)
    sides = [{name: found[key] for name, found in verdicts.items() if key in found} for key in shared]
    return ReviewAgreement(
        reviewers=tuple(_counts(name, verdicts[name]) for name in names),
        shared=len(shared),
        three=_agreed(three, resamples, seed),
        two=_agreed(two, resamples, seed),
        pairs=pairs,
        differing=tuple(side for side in sides if len({decision.text for decision in side.values()}) > 1),
    )


def _matrix(
    verdicts: Mapping[str, Mapping[str, Decision]], keys: Sequence[str], categories: Mapping[str, int]
) -> FloatArray:
    """(N, R) categories, NaN where a reviewer has not decided."""
    rows = [
        [categories[found[key].decision] if key in found else np.nan for found in verdicts.values()] for key in keys
    ]
    return np.array(rows, dtype=np.float64).reshape(len(keys), len(verdicts))


def _agreed(ratings: FloatArray, resamples: int, seed: int) -> Agreed:
    if len(ratings) < 2:
        none = Estimate(None, n=len(ratings), note=_FEW)
        return Agreed(none, none, none)
    prompts = [str(number) for number in range(len(ratings))]

    def estimates(statistic: Statistic) -> list[Estimate]:
        found, samples = sampled(statistic, prompts, resamples, seed)
        return [estimate(found[s], samples[:, s], prompts, _SAME) for s in range(found.size)]

    (percent,) = estimates(_percent_statistic(ratings))
    return Agreed(percent, estimates(cohen_statistic(ratings))[0], estimates(alpha_statistic(ratings))[0])


def _percent_statistic(ratings: FloatArray) -> Statistic:
    """The share of agreeing pairs of judgements, as a statistic of weighted prompts."""
    counts = np.stack([(ratings == value).sum(axis=1) for value in range(len(VERDICTS))], axis=1).astype(np.float64)
    size = counts.sum(axis=1)
    alike = (counts * (counts - 1)).sum(axis=1) / (size * (size - 1))

    def statistic(weights: FloatArray) -> FloatArray:
        share: FloatArray = (weights @ alike / weights.sum(axis=1))[:, None]
        return share

    return statistic


def _counts(name: str, verdicts: Mapping[str, Decision]) -> ReviewerCounts:
    kinds = [decision.decision for decision in verdicts.values()]
    seconds = [decision.seconds for decision in verdicts.values() if decision.timed]
    kept, edited, dropped = (kinds.count(kind) for kind in VERDICTS)
    return ReviewerCounts(name, kept, edited, dropped, median(seconds) if seconds else None)
