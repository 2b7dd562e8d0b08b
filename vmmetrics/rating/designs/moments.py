"""Moments: raters mark when and where something is wrong with the motion of a clip, or say that nothing is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.rating.designs import LEAST_SHARED, broken
from vmmetrics.rating.designs.acr import LEAST_VOTES, Acr, correlation
from vmmetrics.rating.moments import KINDS, MOST_MARKS, Mark, Numbers, Span, coverage, joined, marked_share, span_iou
from vmmetrics.rating.study import Study
from vmmetrics.rating.trials import Answer, Trial

_WHOLE = 0.1  # unmarked share of a clip that is marked as a whole
_PARTS = 20  # of a clip, for the agreement of a rater with the others
_SLACK = 0.1  # seconds that a browser's duration of a clip may be longer


class MarkedVote(float):
    """Share of a clip's time that is not marked, 0 to 1.

    Attributes:
        spans: What is marked, as shares of the clip's duration.
    """

    spans: Sequence[Span]

    @cached_property
    def parts(self) -> Numbers:
        """Share of each part of the clip that is marked."""
        return coverage(self.spans, _PARTS)


@lru_cache(maxsize=2**17)
def vote_of(marks: tuple[Mark, ...], seconds: float) -> MarkedVote:
    """Return the vote of marks in a clip of so many seconds."""
    vote = MarkedVote(round(1 - marked_share(marks, seconds), 6))
    vote.spans = joined([(mark.begin / seconds, mark.end / seconds) for mark in marks])
    return vote


class Moments(Acr):
    """Marks of moments. The answer is the number of the first mark's kind, or 0: nothing is wrong."""

    key = "moments"
    asks: ClassVar = {"unmarked_share": "moments_question"}
    reads = frozenset[str]()
    marks = MOST_MARKS
    vote_seconds = 20.0

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        if len(self.settings.questions) > 1:
            raise SetupError("marks answer one question: give one --question, or none")

    @property
    def method(self) -> tuple[str, str]:
        """The method; it is of no standard."""
        return "", "marks of when and where something is wrong, which no clause describes"

    def make_choices(self) -> dict[int, str]:
        """Return the kinds of marks, and that nothing is wrong."""
        return {number: f"mark_{kind}" for number, kind in enumerate(KINDS, 1)} | {0: "mark_nothing"}

    @property
    def tolerance(self) -> float:
        """Difference from the middle kind up to which a gold item is marked, with any kind."""
        return (len(KINDS) - 1) / 2

    def gold_trial(self, clip: str, rng: np.random.Generator) -> Trial:  # noqa: ARG002
        """Return the gold version of a clip: there is something to mark at any time."""
        return Trial("gold", clip, (broken(clip),), (len(KINDS) + 1) // 2)

    def check(self, trial: Trial, answer: Answer) -> None:
        """Refuse what is no answer: marks that do not go with the value, or do not end within the clip."""
        super().check(trial, answer)
        first = next((mark.kind for mark in answer.marks), 0)
        alone = trial.kind == "trap" and not answer.marks  # a check asks for a kind, not for a mark
        if not alone and set(answer.values.values()) != {first}:
            raise ValueError(f"values: expected {first}, the kind of the first mark")
        seconds = self.seconds(trial.media)
        if any(mark.end > seconds + _SLACK for mark in answer.marks):
            raise ValueError(f"marks: expected an end up to {seconds:g} s")

    def vote(self, trial: Trial, answer: Answer, dimension: str) -> MarkedVote:  # noqa: ARG002
        """Return the share of the clip's time without a mark."""
        return vote_of(answer.marks, self.seconds(trial.media))

    def straight(self, values: Sequence[float]) -> tuple[float, bool]:
        """Return the share of answers that mark the whole clip; that nothing is wrong may be true of every item."""
        share = float(np.mean(np.array(values) < _WHOLE)) if values else 0.0
        return share, len(values) < LEAST_VOTES or share <= self.rules.one_side

    def steady(self, votes: Sequence[tuple[Any, Any]]) -> tuple[float, bool]:
        """Return how many repeated clips have marks in both answers, and none at the same time."""
        apart = (one.spans and other.spans and span_iou(one.spans, other.spans) == 0 for one, other in votes)
        contradictions = sum(map(bool, apart))
        return float(contradictions), contradictions <= self.rules.contradictions

    def agreement(self, own: Mapping[str, Any], others: Mapping[str, Sequence[Any]]) -> tuple[float, float] | None:
        """Return Pearson's r of what is marked with the others' mean, over parts of the clips; as of one part a clip.

        Whoever marks nothing is judged by gold items: nothing may be wrong.
        """
        shared = [key for key in own if others.get(key)]
        mine = np.array([own[key].parts for key in shared])
        theirs = np.array([np.mean([one.parts for one in others[key]], axis=0) for key in shared])
        if len(shared) < LEAST_SHARED or not mine.std() or not theirs.std():
            return None
        return correlation(mine.ravel(), theirs.ravel(), len(shared))
