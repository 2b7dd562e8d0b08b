"""How a judge's answer is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vmmetrics.baselines.judge.questions import DIMENSIONS, LEVELS
from vmmetrics.endpoint import objects_in, refuses


@dataclass(frozen=True, slots=True)
class Answer:
    """What a judge said of a clip.

    Attributes:
        levels: Level by dimension, None where the judge found nothing to rate; empty where there is no answer.
        missing: Why there is no answer, or None. One of few texts, so that they can be counted.
    """

    levels: Mapping[str, int | None]
    missing: str | None = None


REFUSED = Answer({}, "the judge refused to rate the clip")


def read_answer(text: str) -> Answer:
    r"""Read an answer: the first JSON object in it, whatever stands around.

    >>> read_answer('```json\n{"cas": 4, "mss": 5, "ois": null, "pas": 2, "tcs": 3}\n```').levels["ois"] is None
    True
    >>> read_answer('{"cas": 4}').missing
    "the judge's answer was unusable: a dimension is missing"
    """
    found = next(objects_in(text), None)
    if found is None:
        return REFUSED if refuses(text) else _unusable("no JSON object" if text.strip() else "it was empty")
    levels: dict[str, int | None] = {}
    for key in DIMENSIONS:
        if key not in found:
            return _unusable("a dimension is missing")
        level = found[key]
        if isinstance(level, float) and level.is_integer():
            level = int(level)
        if level is not None and (isinstance(level, bool) or not isinstance(level, int)):
            return _unusable("a level is no whole number")
        if level is not None and not LEVELS[0] <= level <= LEVELS[1]:
            return _unusable("a level is outside of 1..5")
        levels[key] = level
    return Answer(levels)


def _unusable(why: str) -> Answer:
    return Answer({}, f"the judge's answer was unusable: {why}")
