"""What the judge is asked: five questions on motion, levels 1 to 5, one JSON object back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmmetrics.utils.endpoint import objects_in, refuses

VERSION = 1
"""Changes with any change of what is asked: answers to other questions are other answers."""

LEVELS = (1, 5)
"""Worst and best level of an answer."""

DIMENSIONS = {
    "cas": (
        "plausibility of motion: do things move as gravity, inertia, contact and their own build allow? "
        "5 nothing contradicts experience, 3 one thing plainly does, 1 hardly anything moves as it could."
    ),
    "mss": (
        "smoothness of motion: does the picture stay equally clear while things move, without stutter, flicker, sudden "
        "blur or smearing from frame to frame? 5 clean throughout, 3 disturbed now and then, 1 disturbed all along."
    ),
    "ois": (
        "integrity of bodies and objects: do they keep shape, proportions and number of parts, with joints that bend "
        "as they should? 5 never at fault, 3 at fault for a while, 1 deformed most of the time. "
        "null if the clip shows neither a body nor an object."
    ),
    "pas": (
        "amount of visible motion of the main subject, the camera's own motion left out: "
        "1 none to be seen, 3 moderate, 5 large and lively. This is an amount, not a merit."
    ),
    "tcs": (
        "continuity of existence: does whatever is shown stay there, unless something hides it, it leaves the picture "
        "or there is another reason? 5 nothing appears or vanishes without cause, 3 one thing does, 1 many things do."
    ),
}
"""What each of the five is about, in our words."""

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
