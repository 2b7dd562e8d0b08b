"""Preferences between two items: left, right and outcome, one by one and as arrays; raters' repeats and agreement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal, TypeVar

from vmmetrics.types import IntArray

Outcome = Literal[1, 0, -1]
Repeats = Literal["share", "keep"]
LEFT: Outcome = 1
TIE: Outcome = 0
RIGHT: Outcome = -1
P = TypeVar("P", bound="Preference")


@dataclass(frozen=True, slots=True)
class Preference:
    """One judgement of two items.

    Attributes:
        left: Name of the first item.
        right: Name of the second item, another one.
        outcome: :data:`LEFT`, :data:`RIGHT` or :data:`TIE`.
        weight: How many judgements it counts for, above 0.
        rater: Who judged, or None.
    """

    left: str
    right: str
    outcome: Outcome
    weight: float = 1.0
    rater: str | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """The two items in alphabetic order."""
        return (self.left, self.right) if self.left < self.right else (self.right, self.left)

    @property
    def better(self) -> str | None:
        """The item that was preferred, or None for a tie."""
        return {LEFT: self.left, RIGHT: self.right, TIE: None}[self.outcome]


@dataclass(frozen=True, slots=True)
class Preferences:
    """Judgements of pairs of items, by the items' numbers.

    Attributes:
        left: (M,) index of the item shown on the left.
        right: (M,) index of the item shown on the right.
        outcome: (M,) :data:`LEFT`, :data:`RIGHT` or :data:`TIE`.
        raters: (M,) who judged; "" where that is not known.
    """

    left: IntArray
    right: IntArray
    outcome: IntArray
    raters: tuple[str, ...] = ()

    def moved(self, index: IntArray) -> Preferences:
        """Return the preferences between remaining items, by the (N,) new index of each item, −1 if left out."""
        left, right = index[self.left], index[self.right]
        mask = (left >= 0) & (right >= 0)
        return Preferences(left[mask], right[mask], self.outcome[mask], tuple(compress(self.raters, mask)))


@dataclass(frozen=True, slots=True)
class RepeatCounts:
    """Judgements of one pair by one rater, beyond the first.

    Attributes:
        repeated: Comparisons that a named rater had made before.
        contradicted: Pairs that a named rater judged in more than one way.
    """

    repeated: int
    contradicted: int


def settle_repeats(rows: Sequence[P], policy: Repeats) -> tuple[tuple[P, ...], RepeatCounts]:
    """Decide what a rater's repeated judgements of one pair count for.

    Args:
        rows: Comparisons.
        policy: ``"share"`` divides the weight of each by their number, so that a rater has one voice per pair, split
            where they contradicted themselves; ``"keep"`` counts each in full. Comparisons without a rater are taken
            for different people's and always count in full.

    Returns:
        The comparisons, as many and in the same order, with the weights to fit; and how many repeat.
    """
    judgements: dict[tuple[str, tuple[str, str]], list[P]] = defaultdict(list)
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


def rate_raters(rows: Sequence[Preference], strength: Mapping[str, float]) -> list[RaterSummary]:
    """Summarise each named rater, in alphabetic order, beside the fitted strength of each item."""
    by_pair: dict[tuple[str, str], list[Preference]] = defaultdict(list)
    by_rater: dict[str, list[Preference]] = defaultdict(list)
    for row in rows:
        if row.rater is not None:
            by_pair[row.pair].append(row)
            by_rater[row.rater].append(row)
    summaries = []
    for rater, own in sorted(by_rater.items()):
        same = [row.better == o.better for row in own for o in by_pair[row.pair] if o.rater != rater]
        again: dict[tuple[str, str], list[str | None]] = defaultdict(list)
        for row in own:
            again[row.pair].append(row.better)
        lead = [strength[row.left] - strength[row.right] for row in own]
        decided = [(d > 0) == (row.outcome == LEFT) for d, row in zip(lead, own, strict=True) if row.outcome != TIE]
        steady = _share([len(set(outcomes)) == 1 for outcomes in again.values() if len(outcomes) > 1])
        repeated = len(own) - len(again)
        summaries.append(RaterSummary(rater, len(own), len(same), _share(same), repeated, steady, _share(decided)))
    return summaries


def _share(truths: Sequence[bool]) -> float | None:
    return sum(truths) / len(truths) if truths else None
