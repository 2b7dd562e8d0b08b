"""What the judge is asked: five questions on motion, levels 1 to 5, one JSON object back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmmetrics.metrics.registry import METRICS, registered
from vmmetrics.utils.endpoint import objects_in, refuses

VERSION = 1
"""Changes with any change of what is asked: answers to other questions are other answers."""

LEVELS = (1, 5)
"""Worst and best level of an answer."""

DIMENSIONS = {
    key: asked for key, metric in sorted(registered().items()) if key in METRICS and (asked := metric.question)
}
"""What each of our metrics is about, in our words."""

SYSTEM = (
    "You rate the motion in short video clips. You are shown frames of one clip in order, with the time of each. Judge "
    "only what changes between frames, not beauty, style or whether a description is followed. Use the whole scale; "
    "where you are unsure between two levels, take the lower one. Answer with one JSON object and nothing else."
)

AGAIN = (
    "That answer cannot be used: {why}. Answer with the JSON object alone, every key once, whole numbers from 1 to 5."
)
"""What is said to an answer that cannot be read."""


def question(times: Sequence[float], prompt: str | None) -> str:
    """Return the text that goes with the frames.

    Args:
        times: Seconds of the frames shown.
        prompt: What the clip was generated from, or None.
    """
    about = "" if prompt is None else f" It was made from the text: {prompt!r}."
    lines = [f"- {key}: {text}" for key, text in DIMENSIONS.items()]
    shape = ", ".join(f'"{key}": LEVEL' for key in DIMENSIONS)
    return (
        f"{len(times)} frames of a clip, taken at {', '.join(f'{t:.2f}' for t in times)} seconds.{about}\n"
        f"Rate, each with a whole number from 1 to 5:\n" + "\n".join(lines) + f"\nAnswer as {{{shape}}}."
    )


def schema() -> dict[str, Any]:
    """The JSON schema of an answer."""
    level = {"type": ["integer", "null"], "minimum": LEVELS[0], "maximum": LEVELS[1]}
    return {
        "type": "object",
        "properties": dict.fromkeys(DIMENSIONS, level),
        "required": list(DIMENSIONS),
        "additionalProperties": False,
    }


# How a judge's answer is read.


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
