"""Questions of your own, as ``vmmetrics understand build`` writes them: one JSON object a line.

``{"id": "v1-3", "video": "v1", "path": "v1.mp4", "text": "Which way ...?", "options": ["left", "right"], "answer": "B",
"groups": {"task": ["CM"]}}``. ``path``, ``start``, ``end``, ``groups``, ``reference`` may be left out; a missing
``answer`` is a hidden one. Both protocols are one: there is no released scorer.
"""

# ruff: noqa: ARG002 - of an interface

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.benchmarks.files import fields_of, text_of
from vmmetrics.understanding.harness.benchmark import Figure, QuestionFile, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice
from vmmetrics.understanding.harness.statistics import accuracy_figures, pair_figures
from vmmetrics.utils.endpoint.messages import Turn
from vmmetrics.utils.tables import seconds
from vmmetrics.video.folders import frame_files

_DATA: Final = data_file("custom")
_ENDINGS: Final = ("", ".mp4", ".webm", ".mkv", ".avi", ".mov", ".gif")


class Custom(MultipleChoice):
    """The benchmark; see :class:`vmmetrics.understanding.harness.choices.MultipleChoice`."""

    name = "custom"
    title = "this form (id, video, text and options)"
    data = _DATA
    form = "{instruction}\n\n{text}\n{options}\n\n{asked}"

    def find(self, data: Path) -> Path:
        """Return the named file, or the one in a folder.

        Raises:
            SetupError: None exists.
        """
        files = [data] if data.is_file() else [path for name in _DATA["files"] for path in sorted(data.glob(name))]
        if not files:
            raise SetupError(f"{data}: no questions found; looked for {', '.join(_DATA['files'])}")
        return files[0]

    def questions(self, source: QuestionFile) -> Iterable[Question]:
        """Read the questions, one a line."""
        for row in source.rows:
            question = read_question(row, [*source.folders, source.path.parent], source.problems)
            if question is not None:
                yield question

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all questions, over answered ones, and in each grouping; minimal pairs both right."""
        groupings = dict.fromkeys(name for question in questions for name in question.groups)
        return accuracy_figures(questions, scored, tuple(groupings)) + pair_figures(questions, scored)


def asked(question: Question, blind: bool = False) -> tuple[Turn, ...]:
    """Return the conversation with a model, without the frames.

    Args:
        question: With options.
        blind: True if no frames are shown, which the text states.
    """
    instruction = _DATA["blind" if blind else "instruction"]
    return (Turn("user", "\n".join([instruction, "", question.text, *question.lettered, "", _DATA["asked"]])),)


def read_question(row: Any, folders: Sequence[Path | None], problems: Counter[str]) -> Question | None:
    """Read a question from its line; None if it is invalid.

    Args:
        row: The JSON value.
        folders: Where its video is looked for, in turn.
        problems: Receives counts of problems.
    """
    if not isinstance(row, Mapping):
        problems["lines that are not objects, left out"] += 1
        return None
    texts = {name: text_of(row.get(name)) for name in ("id", "video", "text")}
    options = row.get("options")
    if not all(texts.values()) or not isinstance(options, list) or not 2 <= len(options) <= len(LETTERS):
        problems["lines without id, video, text or options, left out"] += 1
        return None
    letter = str(row.get("answer") or "").strip().upper()
    position = LETTERS.find(letter) if len(letter) == 1 else -1
    answer = position if 0 <= position < len(options) else None
    if answer is None and row.get("answer") not in (None, ""):
        problems["right answers that are not the letter of an option"] += 1
    return Question(
        **texts,
        options=tuple(str(option) for option in options),
        answer=answer,
        groups=_groups(fields_of(row.get("groups"))),
        path=find_video(text_of(row.get("path")) or texts["video"], folders),
        start=seconds(row.get("start")),
        end=seconds(row.get("end")),
        reference=fields_of(row.get("reference")),
    )


def line_of(question: Question, folder: Path | None = None) -> dict[str, Any]:
    """Return the line of a question, as :func:`read_question` reads it.

    Args:
        question: It.
        folder: Where the line will stand: a video below it is named from there, others by their whole path.
    """
    line: dict[str, Any] = {"id": question.id, "video": question.video, "text": question.text}
    line |= {"options": list(question.options), "answer": question.letter}
    if question.path is not None:
        whole = question.path.resolve()
        inside = folder is not None and whole.is_relative_to(folder.resolve())
        line["path"] = str(whole.relative_to(folder.resolve())) if inside and folder is not None else str(whole)
    line |= {name: value for name in ("start", "end") if (value := getattr(question, name)) is not None}
    if question.groups:
        line["groups"] = {name: list(values) for name, values in question.groups.items()}
    return line | ({"reference": dict(question.reference)} if question.reference else {})


def find_video(name: str, folders: Sequence[Path | None]) -> Path | None:
    """Find a video file, or folder of frames, by name with or without suffix; None if there is none.

    Args:
        name: A path, from one of the folders or from the root; or the end of one.
        folders: Where it is looked for, in turn.
    """
    path_named = Path(name)
    roots = [folder for folder in folders if folder is not None]
    candidates = [path_named] if path_named.is_absolute() else [folder / path_named for folder in roots]
    candidates += [folder / path_named.name for folder in roots]
    try:
        files = (
            path for candidate in candidates for ending in _ENDINGS if (path := Path(f"{candidate}{ending}")).is_file()
        )
        match = next(files, None)
        return match or next(
            (candidate for candidate in candidates if candidate.is_dir() and frame_files(candidate)), None
        )
    except (OSError, ValueError):  # no file can have such a name
        return None


def _groups(groups: Mapping[Any, Any]) -> dict[str, tuple[str, ...]]:
    listed = {str(name): values if isinstance(values, list) else [values] for name, values in groups.items()}
    read = {name: tuple(filter(None, map(text_of, values))) for name, values in listed.items()}
    return {name: values for name, values in read.items() if values}


BENCHMARK: Final = Custom()
