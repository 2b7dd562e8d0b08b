"""Comparison category rating (ITU-T P.910): two clips of one prompt in turn, the second rated against the first."""

from __future__ import annotations

from typing import ClassVar

from vmmetrics.rating.designs import DEPARTURE, GREY_SECONDS
from vmmetrics.rating.designs.pair import Pair


class Ccr(Pair):
    """Comparison category rating. Answers are −3 (the second is much worse) to 3 (much better)."""

    key = "ccr"
    first = -1
    asks: ClassVar = {"motion": "ccr_question"}
    labels = ("first_video", "second_video")
    reads = frozenset({"within_model", "active", "stop_error"})
    means = "cmos.csv"
    turns = True
    outcomes: ClassVar = {
        -3: "much worse", -2: "worse", -1: "slightly worse", 0: "the same",
        1: "slightly better", 2: "better", 3: "much better",
    }  # fmt: skip

    @property
    def method(self) -> tuple[str, str]:
        """No clause, since it departs from the standard's, and the method."""
        shown = f"two clips of one prompt in random order, {GREY_SECONDS:g} s of grey between them"
        return "", f"comparison category rating from -3 to 3: {shown}. {DEPARTURE.format('8.3')}"

    def make_choices(self) -> dict[int, str]:
        """Return the grades of the second clip."""
        return {value: words.replace(" ", "_") for value, words in self.outcomes.items()}
