"""Answers that somebody recorded: by this harness, a benchmark's released code, or any other program."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import OneByOne, Said
from vmmetrics.models.questions import LETTERS, NOT_RECORDED, Answered, EntriesByQuestion, Question
from vmmetrics.utils.endpoint.messages import Turn
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.tables import SEPARATORS, json_lines, read_rows

# Answers that need no model: at random, and the letter that is right most often.


class RandomModel(OneByOne):
    """Chooses an option at random; a question's own key and the seed decide, not the order of the questions.

    Args:
        seed: Of the choices.
    """

    sees = False
    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self.identity: Mapping[str, Any] = {"random": seed}
        self._seed = seed

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> Said:  # noqa: ARG002
        """An option, in the words that the question asks for.

        Raises:
            SetupError: The question has no options.
        """
        drawn = hashlib.sha256(f"{self._seed}\0{question.id}".encode("utf-8", "backslashreplace")).digest()
        return _choice(question, turns, int.from_bytes(drawn[:8], "big") % max(1, len(question.options)))


class MajorityModel(OneByOne):
    """Always answers the letter that is right most often in the key: what a model gains that knows only that.

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
            raise SetupError("The majority letter needs questions with options and a key; there are none")
        self._places = [place for place, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
        self.identity: Mapping[str, Any] = {"majority": "".join(LETTERS[place] for place in self._places)}

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> Said:  # noqa: ARG002
        """The most frequent letter that the question has.

        Raises:
            SetupError: The question has no options.
        """
        return _choice(question, turns, next((p for p in self._places if p < len(question.options)), 0))


def _choice(question: Question, turns: Sequence[Turn], place: int) -> Said:
    if not question.options:
        raise SetupError(f"Question {question.id!r} has no options, so there is nothing to guess")
    letter = LETTERS[place]
    lettered = any(re.search(rf"^\W{{0,2}}{letter}\W", turn.text, re.MULTILINE) for turn in turns)
    return Said(letter if lettered else question.options[place])


Released = Callable[[Path], Mapping[str, Answered] | None]
"""How a benchmark reads a file of answers in its own released form."""
IDS = ("id", "uid", "question_id", "question_key", "index", "question", "video_name")
"""Names under which a row may have the key of its question, the first that is there counts."""
TEXTS = ("prediction", "raw_response", "text", "output", "response", "candidate_caption", "caption")
"""Names under which it may have the answer; the first that is there and not empty counts. Not ``answer``: in released
files that is the key, and a key that is taken for answers scores 100 %."""


class RecordedModel(OneByOne):
    """Answers from a file: JSON, JSON lines or a table; ``{key: text}``, ``{key: row}``, or rows with keys in them.

    A list under a key (FAVOR-Bench's results) answers the questions ``key_0``, ``key_1``, ... Where a key comes twice,
    the first answer that is not empty counts. A benchmark may read its own released form otherwise.

    Args:
        path: The file.
        answers: What was read from it, if that was done already.

    Attributes:
        answers: Texts by keys.
        problems: What was wrong with the file, in words, to how often.

    Raises:
        SetupError: It cannot be read, or holds no answers.
    """

    sees = False

    def __init__(self, path: Path, answers: Mapping[str, str] | None = None) -> None:
        self.name = f"recorded: {path.name}"
        self._path = path
        self.problems: Counter[str] = Counter()
        self.answers = dict(answers or {})
        for key, text in answers_in(path, self.problems) if answers is None else ():
            if not self.answers.get(key, "").strip():
                self.answers[key] = text
        if not self.answers:
            raise SetupError(f"{path} holds no answers; expected {{key: text}}, or rows with {', '.join(TEXTS[:4])}")

    @property
    def identity(self) -> Mapping[str, Any]:
        """The file by what is in it, wherever it lies."""
        whole = json.dumps(sorted(self.answers.items())).encode()
        return {"recorded": hashlib.sha256(whole).hexdigest()}

    def check(self, questions: Sequence[Question]) -> None:
        """See that the answers are to these questions.

        Raises:
            SetupError: None of them is.
        """
        if questions and all(self._of(question) is None for question in questions):
            ours, theirs = questions[0].id, next(iter(self.answers))
            raise SetupError(
                f"None of the {len(self.answers)} answers in {self._path} is to one of these questions: "
                f"their keys are like {theirs!r}, the questions' like {ours!r}"
            )

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> Said:  # noqa: ARG002
        """What was recorded."""
        text = self._of(question)
        return Said("", NOT_RECORDED) if text is None else Said(text)

    def _of(self, question: Question) -> str | None:
        """The answer to a question; a description may also go by the name of the video."""
        names = (question.id, question.video) if not question.options else (question.id,)
        found = (self.answers.get(key) for name in names for key in (name, _key(name)))
        return next((text for text in found if text is not None), None)


def released_answers(read: Released, path: Path, questions: Sequence[Question]) -> dict[str, str] | None:
    """Answers as a benchmark reads files of its own form, by question; None where it is none, or not to these."""
    released = None
    with suppress(SetupError):
        released = read(path)
    if released is None:
        return None
    found = EntriesByQuestion(released, questions)
    answers = {question.id: found.of(question) for question in questions}
    return {key: answered.text for key, answered in answers.items() if answered is not None} or None


def answers_in(path: Path, problems: Counter[str] | None = None) -> Iterator[tuple[str, str]]:
    """Keys and texts of the answers in a file, in its order.

    Args:
        path: The file.
        problems: Lines that cannot be read are counted here.

    Raises:
        SetupError: It cannot be read, or none of its lines can.
    """
    table = path.suffix.lower() in (*SEPARATORS, ".parquet")
    for value in read_rows(path) if table else _values(path, Counter() if problems is None else problems):
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            if isinstance(row, Mapping):
                yield from _in_row(row)


def _values(path: Path, problems: Counter[str]) -> list[Any]:
    """The JSON values of a file: the one that it is, or one a line; a line may have been cut off with its program."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} cannot be read: {error}") from error
    with suppress(ValueError):
        return [parse_json(text, gaps=True)]
    lines = text.split("\n")  # other line ends may stand in a text
    return list(json_lines(lines, path, problems, "lines of recorded answers"))


def _in_row(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    key = next((key for name in IDS if (key := _plain(row.get(name))) is not None), None)
    if key is not None:  # without a text: no answer was had
        text = _text(row)
        yield from () if text is None else [(_key(key), text)]
        return
    for name, value in row.items():  # keys and answers
        items = value if isinstance(value, list) else [value]
        for place, item in enumerate(items):
            inner = _text(item) if isinstance(item, Mapping) else _plain(item)
            if inner is not None:
                yield (f"{_key(name)}_{place}" if isinstance(value, list) else _key(name)), inner


def _key(key: str) -> str:
    return str(key).removesuffix(".mp4")


def _text(row: Mapping[str, Any]) -> str | None:
    found = [text for name in TEXTS if (text := _plain(row.get(name))) is not None]
    return next((text for text in found if text.strip()), found[0] if found else None)


def _plain(value: Any) -> str | None:
    """A text or number as text; tables have NaN where nothing is, and 7.0 for 7 beside it."""
    if isinstance(value, float):
        return None if math.isnan(value) else str(int(value)) if value.is_integer() else str(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
