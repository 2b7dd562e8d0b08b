"""Absolute category rating (ITU-T P.910): one clip at a time, on a scale from bad to excellent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vmmetrics.rating.designs import LEAST_SHARED, Z99, Design, broken
from vmmetrics.rating.trials import Item, Trial

LEAST_VOTES = 8
"""Votes from which equal ones may be a habit: a last session may be of one item."""


class Acr(Design):
    """Absolute category rating. Answers are 1 (bad) to the number of levels."""

    key = "acr"
    opinions = True
    asks: ClassVar = {"motion": "acr_question"}
    labels: ClassVar[tuple[str, ...]] = ("",)
    columns: ClassVar[tuple[str, ...]] = ("clip",)
    reads = frozenset({"levels"})
    means = "mos.csv"
    scale = "level"
    """Beginning of the names of the texts of its five levels."""
    needs = "there must be clips"

    def make_items(self) -> list[Item]:
        """Return every clip."""
        clips = self.study.clips.values()
        return [Item(clip.id, (clip.id,), clip.prompt or clip.clip, (clip.model or "",)) for clip in clips]

    @property
    def method(self) -> tuple[str, str]:
        """Clause of the standard, and the method."""
        return "ITU-T P.910 (10/2023), 8.1", f"absolute category rating on {self.settings.levels} levels"

    def make_choices(self) -> dict[int, str]:
        """Return the levels; of 11 the ends have names, of 9 every other one."""
        levels = self.settings.levels
        named = (1, 5) if levels == 11 else (1, 2, 3, 4, 5)
        step = (levels - 1) // (len(named) - 1)
        return {at + 1: "" if at % step else f"{self.scale}_{named[at // step]}" for at in range(levels)}

    def arrange(self, item: Item, shown: Counter[tuple[str, ...]], rng: np.random.Generator) -> tuple[str, ...]:  # noqa: ARG002
        """Return the clip."""
        return item.clips

    def gold_trial(self, clip: str, rng: np.random.Generator) -> Trial:  # noqa: ARG002
        """Return the gold version of a clip, whose motion is bad."""
        return Trial("gold", clip, (broken(clip),), 1)

    def again(self, trial: Trial) -> Trial:
        """Return the same trial."""
        return replace(trial, kind="repeat")

    def straight(self, values: Sequence[float]) -> tuple[float, bool]:
        """Return the variance of the votes in levels of five."""
        variance = float(np.var(np.array(values) / self.step)) if values else 0.0
        return variance, len(values) < LEAST_VOTES or variance >= self.rules.variance

    def steady(self, votes: Sequence[tuple[float, float]]) -> tuple[float, bool]:
        """Return the mean difference of repeated votes in levels of five."""
        apart = float(np.mean([abs(first - again) for first, again in votes])) / self.step if votes else 0.0
        return apart, apart <= self.rules.unsteady

    def agreement(self, own: Mapping[str, float], others: Mapping[str, Sequence[float]]) -> tuple[float, float] | None:
        """Return Pearson's r with the means of the others, its interval by Fisher's transform."""
        shared = [key for key in own if others.get(key)]
        mine = np.array([own[key] for key in shared], float)
        theirs = np.array([sum(others[key]) / len(others[key]) for key in shared])
        if len(shared) < LEAST_SHARED or not theirs.std():
            return None
        return correlation(mine, theirs, len(shared))


def correlation(mine: NDArray[Any], theirs: NDArray[Any], number: int) -> tuple[float, float]:
    """Return Pearson's r, and the upper end of its 99 % interval as of so many values by Fisher's transform."""
    r = float(np.corrcoef(mine, theirs)[0, 1]) if mine.std() else 0.0
    return r, math.tanh(math.atanh(min(max(r, -0.999), 0.999)) + Z99 / math.sqrt(number - 3))
