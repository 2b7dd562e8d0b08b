"""Recorded answers: by this harness, a benchmark's released code, or any other program."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.answer_rows import TEXTS, RecordedAnswer, answers_in, plain_key
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import ModelAnswer, OneByOne
from vmmetrics.models.questions import LETTERS, NOT_RECORDED, Answered, EntriesByQuestion, Question
from vmmetrics.utils.display.markup import clean, listed, shortened
from vmmetrics.utils.endpoint.messages import Turn

Released = Callable[[Path], Mapping[str, Answered] | None]
"""Reader of a benchmark's own released form of answers; None if the file is none."""
Choose = Callable[[str, Sequence[str]], int | None]
"""Reader of an answer: the index of the option that it chooses, or None."""
_SHOWN, _LONGEST = 5, 40  # keys in a message, and characters of each
_AGREEING = 0.9
"""Share of a file's question texts and right letters that must agree before its numbers count as positions in the
benchmark: a few keys were corrected between versions, another order agrees for one in four."""


class RecordedModel(OneByOne):
    """Model whose answers are read from a file; for its forms see :func:`vmmetrics.models.answer_rows.answers_in`.

    Where a key comes twice, the first answer that is not empty counts. A benchmark may read its own released form
    otherwise. An answer whose row states the same options in another order is mapped to the question's letters.

    Args:
        path: The file.
        answers: Its answers, if already read.
        choose: Reads which option an answer chooses; None leaves all answers as they are.

    Attributes:
        answers: Texts by the file's keys.
        problems: Problems of the file, and how answers were matched, as text with counts.

    Raises:
        SetupError: It cannot be read, or holds no answers.
    """

    sees = False

    def __init__(self, path: Path, answers: Mapping[str, str] | None = None, choose: Choose | None = None) -> None:
        self._choose = choose
        self.name = f"recorded: {path.name}"
        self._path = path
        self.problems: Counter[str] = Counter()
        read = [RecordedAnswer(key, text) for key, text in (answers or {}).items()]
        self._rows: dict[str, RecordedAnswer] = {}
        for row in _disambiguated(list(answers_in(path, self.problems))) if answers is None else read:
            before = self._rows.get(row.key)
            if before is None or (not before.text.strip() and (row.text.strip() or before.error is None)):
                self._rows[row.key] = row
        self.answers = {key: row.text for key, row in self._rows.items() if row.error is None}
        self._matched: dict[str, RecordedAnswer] = {}
        if not self._rows:
            reason = f" ({', '.join(self.problems)})" if self.problems else ""
            raise SetupError(
                f"{path} holds no answers{reason}; expected {{key: text}}, rows with {', '.join(TEXTS[:4])}, a sample "
                "log of lmms-eval, a table of VLMEvalKit, or the output of an OpenAI batch"
            )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Hash of the file's content, independent of its path."""
        options = sorted((row.key, row.options) for row in self._rows.values() if row.options)
        whole = json.dumps([*sorted(self.answers.items()), *options]).encode()
        return {"recorded": hashlib.sha256(whole).hexdigest()}

    def check(self, questions: Sequence[Question]) -> None:
        """Match the answers with questions: by key, by text, by position in the benchmark.

        Raises:
            SetupError: None of the answers is to these questions.
        """
        matches = self._by_keys(questions)
        left = _without(self._rows.values(), matches)
        if left and len(matches) < len(questions):
            by_words = dict(_by_words(left, [q for q in questions if q.id not in matches]))
            left = _without(left, by_words)
            by_position = {} if matches else self._by_position(left, questions, by_words)
            left = _without(left, by_position)
            for how, matched in (("question's words", by_words), ("position in the benchmark", by_position)):
                self._count(f"recorded answers matched by their {how}", len(matched))
            matches |= by_words | by_position
        self._matched = matches
        if questions and not matches:
            ours, theirs = questions[0].id, next(iter(self._rows))
            why = "; ".join(problem for problem in self.problems if "position" in problem)
            raise SetupError(
                f"None of the {len(self._rows)} answers in {self._path} matches a question: "
                f"its keys look like {theirs!r}, the questions' like {ours!r}{why and '; '}{why}"
            )
        names = listed([shortened(clean(row.key), _LONGEST) for row in left], _SHOWN)
        self._count(f"recorded answers that match no question: {names}", len(left))
        reordered = sum(_reordered(matches[q.id], q) for q in questions if q.id in matches)
        self._count("recorded answers mapped to the options' order in the benchmark", reordered)
        errors = sum(row.error is not None for row in matches.values())
        self._count("recorded errors instead of answers", errors)

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:  # noqa: ARG002
        """Return the recorded answer."""
        row = self._matched.get(question.id)
        if row is None:
            return ModelAnswer("", NOT_RECORDED)
        if self._choose is None or row.error is not None or not _reordered(row, question):
            return ModelAnswer(row.text, row.error)
        chosen = self._choose(row.text, row.options)
        # an answer that is not read in its own order is not read in another either
        return ModelAnswer("" if chosen is None else _our_letter(row, chosen, question))

    def _count(self, problem: str, times: int) -> None:
        if times:
            self.problems[problem] += times

    def _by_key(self, question: Question) -> RecordedAnswer | None:
        """Return the answer with a question's key; a description may also use the name of the video."""
        names = (question.id, question.video) if not question.options else (question.id,)
        candidates = (self._rows.get(key) for name in names for key in (name, plain_key(name)))
        return next((row for row in candidates if row is not None), None)

    def _by_keys(self, questions: Sequence[Question]) -> dict[str, RecordedAnswer]:
        """Match answers by key, except keys that are numbers in another order than the benchmark's."""
        matches = [(question, row) for question in questions if (row := self._by_key(question)) is not None]
        signs = [
            sign for question, row in matches if row.key == str(row.position) for sign in _agreement(row, question)
        ]
        fit = sum(signs) >= _AGREEING * len(signs)
        return {question.id: row for question, row in matches if fit or row.key != str(row.position)}

    def _by_position(
        self, rows: Sequence[RecordedAnswer], questions: Sequence[Question], by_words: Mapping[str, RecordedAnswer]
    ) -> dict[str, RecordedAnswer]:
        """Match answers by number, if what the file states about its questions agrees."""
        numbered = [row for row in (*rows, *by_words.values()) if row.position is not None]
        positions = [row.position for row in numbered if row.position is not None]
        if not numbered or len(set(positions)) < len(positions):
            return {}
        first = 1 if min(positions) >= 1 and max(positions) == len(questions) else 0
        inside = [(row, position - first) for row, position in zip(numbered, positions, strict=True)]
        inside = [(row, position) for row, position in inside if position < len(questions)]
        signs = [sign for row, position in inside for sign in _agreement(row, questions[position])]
        words = {id(row): key for key, row in by_words.items()}
        signs += [words[id(row)] == questions[position].id for row, position in inside if id(row) in words]
        if signs and sum(signs) < _AGREEING * len(signs):
            problem = "recorded answers not matched by position: question texts or right letters in the file differ"
            self._count(problem, len(rows))
            return {}
        if not signs and len(numbered) != len(questions):
            self._count("recorded answers not matched by position: the number of questions differs", len(rows))
            return {}
        return {questions[position].id: row for row, position in inside if id(row) not in words}


def _disambiguated(rows: list[RecordedAnswer]) -> list[RecordedAnswer]:
    """Return the rows with their positions as keys where several rows share a key, as with the key of a video."""
    positions: defaultdict[str, set[int | None]] = defaultdict(set)
    for row in rows:
        positions[row.key].add(row.position)
    if all(len(of_key) == 1 for of_key in positions.values()):
        return rows
    return [row if row.position is None else replace(row, key=f"doc {row.position}") for row in rows]


def _without(rows: Iterable[RecordedAnswer], matched: Mapping[str, RecordedAnswer]) -> list[RecordedAnswer]:
    """Return the rows that match no question."""
    used = set(map(id, matched.values()))
    return [row for row in rows if id(row) not in used]


def _agreement(row: RecordedAnswer, question: Question) -> Iterator[bool]:
    """Yield, for each checkable field of a row (text, right letter), True if it agrees with the question."""
    if row.asked is not None:
        yield _folded(question.text) in _folded(row.asked) or _folded(row.asked.split("\n")[0]) in _folded(
            question.text
        )
    if row.right is not None and question.letter is not None:
        right = LETTERS.index(row.right)
        mapped = _reordered(row, question) and right < len(row.options)
        yield (_our_letter(row, right, question) if mapped else row.right) == question.letter


def _reordered(row: RecordedAnswer, question: Question) -> bool:
    """Return True if a row states the options of its question, each once, in another order."""
    theirs, ours = [*map(_folded, row.options)], [*map(_folded, question.options)]
    return theirs != ours and sorted(theirs) == sorted(ours) and len({*ours}) == len(ours)


def _our_letter(row: RecordedAnswer, option: int, question: Question) -> str:
    """Return the question's letter of an option of a row."""
    return LETTERS[[*map(_folded, question.options)].index(_folded(row.options[option]))]


def _by_words(rows: Iterable[RecordedAnswer], questions: Sequence[Question]) -> Iterator[tuple[str, RecordedAnswer]]:
    """Yield each question with the answer whose prompt has its text and options, unless other questions fit."""
    by_words: defaultdict[tuple[str, ...], list[Question]] = defaultdict(list)  # words and options: the questions
    for question in questions:
        by_words[_folded(question.text), *map(_folded, question.options)].append(question)
    beginning: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for words, (question, *_) in by_words.items():
        beginning[_folded(question.text.strip().split("\n")[0])].append(words)
    matched: defaultdict[str, list[RecordedAnswer]] = defaultdict(list)
    for row in rows:
        asked = row.asked or row.key
        whole, lines = _folded(asked), dict.fromkeys(map(_folded, asked.split("\n")))
        near = [words for line in dict.fromkeys((*lines, whole)) for words in beginning.get(line, ())]
        # a file that has the question alone says nothing of the options
        fitting = [words for words in near if whole == words[0] or all(part in whole for part in words)]
        candidates = [question for words in dict.fromkeys(fitting) for question in by_words[words]]
        if len(candidates) > 1 and row.video is not None:
            name = PurePosixPath(row.video).stem
            candidates = [
                question for question in candidates if name in (question.video, PurePosixPath(question.video).stem)
            ]
        if len(candidates) == 1:
            matched[candidates[0].id].append(row)
    yield from ((key, rows_of[0]) for key, rows_of in matched.items() if len(rows_of) == 1)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def released_answers(read: Released, path: Path, questions: Sequence[Question]) -> dict[str, str] | None:
    """Return answers in the benchmark's released form by question; None if the file has another form."""
    released = None
    with suppress(SetupError):
        released = read(path)
    if released is None:
        return None
    entries = EntriesByQuestion(released, questions)
    answers = {question.id: entries.of(question) for question in questions}
    return {key: answered.text for key, answered in answers.items() if answered is not None} or None
