"""What the judge is asked: five questions on motion, levels 1 to 5, one JSON object back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
