"""Baselines without a model: random choice, and the letter that is right most often."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import ModelAnswer, OneByOne
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.utils.endpoint.messages import Turn


class RandomModel(OneByOne):
    """Random choice of an option, by the question's key and a seed, independent of the order of questions.

    Args:
        seed: Of the choices.
    """

    sees = False
    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self.identity: Mapping[str, Any] = {"random": seed}
        self._seed = seed

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:  # noqa: ARG002
        """Return a random option, in the form the question asks for.

        Raises:
            SetupError: The question has no options.
        """
        drawn = hashlib.sha256(f"{self._seed}\0{question.id}".encode("utf-8", "backslashreplace")).digest()
        return _choice(question, turns, int.from_bytes(drawn[:8], "big") % max(1, len(question.options)))


class MajorityModel(OneByOne):
    """Baseline that always answers the letter that is right most often in the key.

    Args:
        questions: All questions of the benchmark.

    Raises:
        SetupError: None of them has a key.
    """

    sees = False
    name = "majority letter"

    def __init__(self, questions: Sequence[Question]) -> None:
        counts = Counter(question.answer for question in questions if question.answer is not None)
        if not counts:
            raise SetupError("The majority letter needs questions with options and a key, and the benchmark has none")
        self._ranking = [index for index, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
        self.identity: Mapping[str, Any] = {"majority": "".join(LETTERS[index] for index in self._ranking)}

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:  # noqa: ARG002
        """Return the most frequent letter among those of the question.

        Raises:
            SetupError: The question has no options.
        """
        return _choice(question, turns, next((p for p in self._ranking if p < len(question.options)), 0))


def _choice(question: Question, turns: Sequence[Turn], index: int) -> ModelAnswer:
    if not question.options:
        raise SetupError(f"Question {question.id!r} has no options, so there is nothing to guess")
    letter = LETTERS[index]
    lettered = any(re.search(rf"^\W{{0,2}}{letter}\W", turn.text, re.MULTILINE) for turn in turns)
    return ModelAnswer(letter if lettered else question.options[index])
