"""Results of a review: the resulting list, and reviewer agreement (percent, Cohen's κ, Krippendorff's α)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.review.decisions import (
    DROP,
    VERDICTS,
    ReviewDecision,
    Rule,
    corrected,
    key_of,
    reviews,
    value_of,
)
from vmmetrics.utils.statistics.agreement import alpha_statistic, cohen_statistic
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, Statistic, estimate, sampled

# A list after review: what was kept, with the new texts, and what reviewers do not agree on.


@dataclass(frozen=True, slots=True)
class Applied:
    """A list, split by the reviewers' decisions, each part in the list's order.

    Attributes:
        kept: Entries that stay, edited ones with their new text; provenance says who reviewed them, and under
            ``before`` of that what an earlier review had left there.
        edited: How many of them have a new text.
        corrected: How many of them have a field corrected.
        dropped: Entries that go.
        conflicts: Entries that the reviewers differ on, as they were; a third person can review them.
        undecided: Entries with fewer decisions than required.
    """

    kept: tuple[PromptEntry, ...]
    edited: int
    corrected: int
    dropped: tuple[PromptEntry, ...]
    conflicts: tuple[PromptEntry, ...]
    undecided: tuple[PromptEntry, ...]


def apply_decisions(
    entries: Sequence[PromptEntry], decisions: Sequence[ReviewDecision], rule: Rule = Rule.UNANIMOUS, reviewers: int = 1
) -> Applied:
    """Apply the standing decisions to a list.

    Args:
        entries: The list.
        decisions: Of all reviewers, each one's in order of time.
        rule: Rule that resolves disagreement.
        reviewers: How many must have decided upon an entry; at least 1.

    Raises:
        SetupError: A correction does not fit an entry.
    """
    standing = reviews(decisions)
    verdicts = [own.verdicts() for own in standing.values()]
    accepted: list[PromptEntry] = []
    others: dict[str, list[PromptEntry]] = {"dropped": [], "conflicts": [], "undecided": []}
    for entry in entries:
        key = key_of(entry)
        votes = [own[key] for own in verdicts if key in own]
        if len(votes) < max(1, reviewers):
            others["undecided"].append(entry)
            continue
        agreed = _outcome(votes, rule)
        corrections = _corrections([standing[vote.reviewer].corrections[key] for vote in agreed], rule)
        if agreed and agreed[0].decision == DROP:
            others["dropped"].append(entry)
        elif not agreed or corrections is None:
            others["conflicts"].append(entry)
        else:
            accepted.append(_reviewed(entry, agreed, corrections))
    edited, fixed = (
        sum(what in entry.provenance["review"] for entry in accepted) for what in ("edited_from", "corrected_from")
    )
    return Applied(
        tuple(accepted), edited, fixed, *(tuple(others[name]) for name in ("dropped", "conflicts", "undecided"))
    )


def _outcome(votes: Sequence[ReviewDecision], rule: Rule) -> list[ReviewDecision]:
    """Return the decisions for the winning outcome (a text, or None for dropping); empty if none wins."""
    drops = [vote for vote in votes if vote.text is None]
    if rule is Rule.ANY_DROP and drops:
        return drops
    (text, count), *_ = Counter(vote.text for vote in votes).most_common(1)
    return [vote for vote in votes if vote.text == text] if count >= _needed(votes, rule) else []


def _needed(votes: Sequence[ReviewDecision], rule: Rule) -> int:
    return len(votes) // 2 + 1 if rule is Rule.MAJORITY else len(votes)


def _corrections(by_field: Sequence[Mapping[str, ReviewDecision]], rule: Rule) -> dict[str, ReviewDecision] | None:
    """Return the winning correction of each field; None where reviewers differ and none wins."""
    agreed: dict[str, ReviewDecision] = {}
    for field in dict.fromkeys(name for one in by_field for name in one):
        votes = sorted((one[field] for one in by_field if field in one), key=lambda vote: vote.when)
        (value, count), *_ = Counter(vote.value for vote in votes).most_common(1)
        if count < _needed(votes, rule):
            return None
        agreed[field] = [vote for vote in votes if vote.value == value][-1]
    return agreed


def _reviewed(
    entry: PromptEntry, agreed: Sequence[ReviewDecision], corrections: Mapping[str, ReviewDecision]
) -> PromptEntry:
    """Return the reviewed entry, with reviewers, time and original values in its provenance."""
    try:
        new = corrected(entry, {field: correction.value for field, correction in corrections.items()})
    except ValueError as error:
        raise SetupError(f"{entry.index}: {error}") from error
    review: dict[str, Any] = {
        "by": [decision.reviewer for decision in agreed],
        "when": max(decision.when for decision in (*agreed, *corrections.values())),
    }
    text = agreed[0].text or entry.prompt
    if text != entry.prompt:
        review["edited_from"] = entry.prompt
    before = {field: value_of(entry, field) for field in corrections}
    changed = {field: value for field, value in before.items() if value != value_of(new, field)}
    if changed:
        review["corrected_from"] = changed
    earlier = entry.provenance.get("review")
    if isinstance(earlier, Mapping) and {key: earlier[key] for key in earlier if key != "before"} == review:
        review = dict(earlier)  # the same one applied once more is not said twice
    elif earlier is not None:
        review["before"] = earlier
    return replace(new, prompt=text, provenance={**entry.provenance, "review": review})


_SAME = "all reviewers gave every prompt the same verdict, so chance would agree as well"


@dataclass(frozen=True, slots=True)
class ReviewerCounts:
    """Decisions of one reviewer, counted.

    Attributes:
        name: Name of the reviewer.
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
    """Agreement in one set of categories, with intervals by resampling prompts.

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
    """Agreement of several reviewers.

    Attributes:
        reviewers: Counts for each.
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
    differing: tuple[Mapping[str, ReviewDecision], ...]


def measure_review_agreement(
    decisions: Sequence[ReviewDecision], resamples: int = RESAMPLES, seed: int = SEED
) -> ReviewAgreement:
    """Measure the agreement of the standing decisions.

    Args:
        decisions: Of all reviewers, each one's in order of time.
        resamples: Bootstrap samples of the intervals.
        seed: Of the samples.
    """
    verdicts = {name: own.verdicts() for name, own in reviews(decisions).items()}
    names = list(verdicts)
    keys = list(dict.fromkeys(key for own in verdicts.values() for key in own))
    shared = [key for key in keys if sum(key in own for own in verdicts.values()) > 1]
    three = _matrix(verdicts, shared, {verdict: number for number, verdict in enumerate(VERDICTS)})
    two = _matrix(verdicts, shared, {verdict: int(verdict == DROP) for verdict in VERDICTS})
    pairs = {}
    if len(names) > 2:
        for first, second in combinations(range(len(names)), 2):
            both = ~np.isnan(two[:, [first, second]]).any(axis=1)
            if both.any():
                pairs[names[first], names[second]] = _agreed(two[both][:, [first, second]], resamples, seed)
    sides = [{name: own[key] for name, own in verdicts.items() if key in own} for key in shared]
    counts = []
    for name in names:
        kinds = [decision.decision for decision in verdicts[name].values()]
        seconds = [decision.seconds for decision in verdicts[name].values() if decision.timed]
        keeps, edited, dropped = (kinds.count(kind) for kind in VERDICTS)
        counts.append(ReviewerCounts(name, keeps, edited, dropped, median(seconds) if seconds else None))
    return ReviewAgreement(
        reviewers=tuple(counts),
        shared=len(shared),
        three=_agreed(three, resamples, seed),
        two=_agreed(two, resamples, seed),
        pairs=pairs,
        differing=tuple(side for side in sides if len({decision.text for decision in side.values()}) > 1),
    )


def _matrix(
    verdicts: Mapping[str, Mapping[str, ReviewDecision]], keys: Sequence[str], categories: Mapping[str, int]
) -> NDArray[np.floating[Any]]:
    """Return (N, R) categories, NaN where a reviewer has not decided."""
    rows = [[categories[own[key].decision] if key in own else np.nan for own in verdicts.values()] for key in keys]
    return np.array(rows, dtype=np.float64).reshape(len(keys), len(verdicts))


def _agreed(ratings: NDArray[np.floating[Any]], resamples: int, seed: int) -> Agreed:
    if len(ratings) < 2:
        none = Estimate(None, n=len(ratings), note="fewer than two prompts were decided by two reviewers")
        return Agreed(none, none, none)
    prompts = [str(number) for number in range(len(ratings))]

    def estimates(statistic: Statistic) -> list[Estimate]:
        values, samples = sampled(statistic, prompts, resamples, seed)
        return [estimate(values[s], samples[:, s], prompts, _SAME) for s in range(values.size)]

    (percent,) = estimates(_percent_statistic(ratings))
    return Agreed(percent, estimates(cohen_statistic(ratings))[0], estimates(alpha_statistic(ratings))[0])


def _percent_statistic(ratings: NDArray[np.floating[Any]]) -> Statistic:
    """Return the share of agreeing pairs of judgements, as a statistic of weighted prompts."""
    counts = np.stack([(ratings == value).sum(axis=1) for value in range(len(VERDICTS))], axis=1).astype(np.float64)
    size = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (size * (size - 1))

    def statistic(weights: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        share: NDArray[np.floating[Any]] = (weights @ agreeing / weights.sum(axis=1))[:, None]
        return share

    return statistic
