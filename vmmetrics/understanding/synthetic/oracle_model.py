"""The oracle of the synthetic suite as a model: it answers from the frames shown, and fails where they are too few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import OneByOne, Said
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.synthetic.files import reading_of
from vmmetrics.understanding.synthetic.oracle import answer, find_markers
from vmmetrics.utils.endpoint import Turn

UNSURE = "The frames do not show it."
"""Said where they leave several options, or none."""
_NOT_OURS = "The oracle answers questions of the synthetic suite only"


class OracleModel(OneByOne):
    """Knows what to look for in each question of the suite; sees nothing but what it is shown."""

    sees = True
    name = "oracle"

    def __init__(self) -> None:
        self.identity: Mapping[str, Any] = {"oracle": 1}

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> Said:  # noqa: ARG002
        """A letter, or that the frames do not show it.

        Raises:
            SetupError: It is no question of the synthetic suite.
        """
        place = look_up(question, frames)
        return Said(UNSURE if place is None else LETTERS[place])


def look_up(question: Question, frames: Frames, begun: float = 0.0) -> int | None:
    """Index of the option that frames show to be right; None where they do not.

    Args:
        question: Of the synthetic suite.
        frames: Of its clip.
        begun: Second of the clip at which they begin to be taken.

    Raises:
        SetupError: It is no question of the synthetic suite.
    """
    try:
        reading = reading_of(question.reference["reading"])
    except KeyError as error:
        raise SetupError(_NOT_OURS) from error
    times = [begun + second for second in frames.shown.seconds]
    return answer(reading, find_markers(frames.pictures, reading.markers), seconds_of(question), times)


def seconds_of(question: Question) -> float:
    """Length of a question's clip.

    Raises:
        SetupError: It is no question of the synthetic suite.
    """
    try:
        return float(question.reference["frames"] / question.reference["fps"])
    except KeyError as error:
        raise SetupError(_NOT_OURS) from error
