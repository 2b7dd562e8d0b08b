"""minFPS: the lowest frame rate at which a question about a video can be answered.

FPS-Bench's procedure: begin at 1 frame per second. Not answerable: one more at a time until it is. Answerable: halve
the rate until it is not, and take the last at which it was. Each annotator by itself; the minimum counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

_OFF: Final = 1e-6


@dataclass(frozen=True, slots=True)
class RateSearch:
    """Result of the search.

    Attributes:
        min_fps: The rate; None where it was not answerable at any.
        tried: Rates in the order in which they were asked, each with whether it was answerable.
    """

    min_fps: float | None
    tried: tuple[tuple[float, bool], ...]


def search(answerable: Callable[[float], bool], native: float, seconds: float) -> RateSearch:
    """Find the lowest rate, starting at 1 frame per second, by steps of 1 up or halving.

    Args:
        answerable: Returns True if the question can be answered at a rate.
        native: The file's own rate, which is tried last on the way up; above it there is nothing to see.
        seconds: Length of the clip: halving ends where a single frame is shown.

    >>> search(lambda rate: rate >= 3.5, 30, 10).min_fps, search(lambda rate: rate >= 0.2, 30, 10).min_fps
    (4.0, 0.25)
    """
    tried: list[tuple[float, bool]] = []

    def ask(rate: float) -> bool:
        tried.append((rate, answerable(rate)))
        return tried[-1][1]

    rate = min(1.0, native)
    if ask(rate):
        while rate * seconds > 1 + _OFF and ask(rate / 2):
            rate /= 2
        return RateSearch(rate, tuple(tried))
    while rate < native - _OFF:
        rate = min(rate + 1, native)
        if ask(rate):
            return RateSearch(rate, tuple(tried))
    return RateSearch(None, tuple(tried))


def frames_on_the_way(native: float, seconds: float) -> tuple[int, float]:
    """Return the rates that :func:`search` tries if none suffices, and the total of frames shown.

    Args:
        native: The file's own rate.
        seconds: Length of the clip.

    >>> frames_on_the_way(3, 2)
    (3, 12.0)
    """
    tried = search(lambda _: False, native, seconds).tried
    return len(tried), sum(max(1.0, rate * seconds) for rate, _ in tried)


def in_words(rate: float) -> str:
    """Return a frame rate as text.

    >>> in_words(4), in_words(1), in_words(0.25)
    ('4 frames a second', '1 frame a second', '1 frame every 4 seconds')
    """
    if rate < 1:
        return f"1 frame every {1 / rate:g} seconds"
    return f"{rate:g} frames a second" if rate > 1 else "1 frame a second"


@dataclass(frozen=True, slots=True)
class QuestionRate:
    """minFPS of a question.

    Attributes:
        question: Its key.
        by: minFPS by annotator; None if no rate sufficed.
        groups: The question's groups.
        known: Its minFPS by construction or as released; None if there is none.
    """

    question: str
    by: Mapping[str, float | None]
    groups: Mapping[str, tuple[str, ...]]
    known: float | None = None

    @property
    def min_fps(self) -> float | None:
        """Minimum over annotators; None if no rate sufficed for any of them."""
        return min((rate for rate in self.by.values() if rate is not None), default=None)


BUCKETS: Final = ((0.0, 1.0, "up to 1"), (1.0, 3.0, "2 to 3"), (3.0, 4.0, "4"), (4.0, 5.0, "5"), (5.0, 6.0, "6"),
                  (6.0, 7.0, "7"), (7.0, 10.0, "8 to 10"), (10.0, float("inf"), "above 10"))  # fmt: skip
"""Buckets above the first number, up to the second; from 4 on FPS-Bench's, which has no lower ones."""
NEVER: Final = "at no rate"


def bucket_of(min_fps: float | None) -> str:
    """Return the bucket of a minFPS.

    >>> bucket_of(4), bucket_of(0.25), bucket_of(None)
    ('4', 'up to 1', 'at no rate')
    """
    if min_fps is None:
        return NEVER
    return next(name for low, high, name in BUCKETS if low < min_fps <= high)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of minFPS over questions.

    Attributes:
        name: Of which: "all", or a value of a grouping.
        n: Questions.
        never: Of these, answerable at no rate; in none of the figures below but ``buckets``.
        mean: Mean minFPS; None for none.
        quartiles: Its quartiles.
        buckets: Questions in each bucket.
    """

    name: str
    n: int
    never: int
    mean: float | None
    quartiles: tuple[float, ...] | None
    buckets: Mapping[str, int]


def distribution(rates_of: Sequence[QuestionRate], name: str = "all") -> Distribution:
    """Summarise minFPS over questions."""
    rates = [rate for question in rates_of if (rate := question.min_fps) is not None]
    counts = Counter(bucket_of(question.min_fps) for question in rates_of)
    buckets = {bucket: counts[bucket] for bucket in (*(name for *_, name in BUCKETS), NEVER)}
    quartiles = tuple(np.quantile(rates, (0.25, 0.5, 0.75)).tolist()) if rates else None
    mean = float(np.mean(rates)) if rates else None
    return Distribution(name, len(rates_of), len(rates_of) - len(rates), mean, quartiles, buckets)


def distributions(rates: Sequence[QuestionRate], grouping: str) -> list[Distribution]:
    """Summarise over all questions, then by value of a grouping in order of first occurrence."""
    of_it: dict[str, list[QuestionRate]] = {}
    for question in rates:
        for name in dict.fromkeys(question.groups.get(grouping, ())):
            of_it.setdefault(name, []).append(question)
    return [distribution(rates), *(distribution(members, name) for name, members in of_it.items())]


def agreement(rates: Iterable[QuestionRate]) -> float | None:
    """Return the share of questions with several annotators whose buckets all agree; None for no such question."""
    agreeing = [len({bucket_of(rate) for rate in q.by.values()}) == 1 for q in rates if len(q.by) > 1]
    return sum(agreeing) / len(agreeing) if agreeing else None


def annotated_min_fps(reference: Mapping[str, Any]) -> float | None:
    """Return the minFPS in a benchmark's question, or None."""
    value = reference.get("min_fps")
    return float(value) if isinstance(value, int | float) and value > 0 else None
