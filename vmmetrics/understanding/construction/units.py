"""Outcomes of a recipe's units (videos or questions), and their lines in a journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import find_video, line_of, read_question
from vmmetrics.utils.storage.journal import Line
from vmmetrics.utils.tables import read_rows, seconds

# What questions are made from: captions by video, annotations, questions that exist.


@dataclass(frozen=True, slots=True)
class SourceClip:
    """A video with its caption or annotation.

    Attributes:
        key: Of the video.
        caption: Its caption.
        path: Its file; None where it is not there.
        start: Where in the file it begins, seconds; None is its beginning.
        end: Where it ends.
        fields: Everything else the row says.
    """

    key: str
    caption: str
    path: Path | None = None
    start: float | None = None
    end: float | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def question(self, key: str, text: str, options: tuple[str, ...], **groups: str) -> Question:
        """Return a question on the clip whose first option is right.

        Args:
            key: Suffix of its id, unique within the video.
            text: The question.
            options: The right one first.
            groups: Its value in each grouping.
        """
        grouped = {name: (value,) for name, value in groups.items()}
        return Question(f"{self.key}-{key}", self.key, text, options, 0, grouped, self.path, self.start, self.end)


def read_clips(path: Path, videos: Path | None, annotated: bool) -> tuple[dict[str, SourceClip], dict[str, int]]:
    """Read clips from JSON lines, JSON, CSV, TSV or Parquet, or from an object with a row for each video.

    Fields: ``video``, ``caption``, optionally ``path``, ``start``, ``end``. FAVOR-Bench's annotations come as an object
    with a row for each video.

    Args:
        path: The file.
        videos: Folder of the videos; None looks beside the file.
        annotated: Rows may have annotations in place of a caption.

    Returns:
        Clips by key in the file's order; and problems as text, with counts.

    Raises:
        SetupError: It cannot be read, or there are none in it.
    """
    if path.is_dir():
        raise SetupError(f"{path} is a folder; name the file with the captions or annotations")
    rows = read_rows(path)
    whole = rows[0] if path.suffix == ".json" and len(rows) == 1 and isinstance(rows[0], Mapping) else {}
    if whole and "video" not in whole and all(isinstance(row, Mapping) for row in whole.values()):
        rows = [{"video": name, **row} for name, row in whole.items()]
    problems: Counter[str] = Counter()
    clips: dict[str, SourceClip] = {}
    for row in rows:
        fields = row if isinstance(row, Mapping) else {}
        key = str(fields.get("video") or fields.get("video_name") or "").strip()
        caption = " ".join(str(fields.get("caption") or "").split())
        if not key or not (caption or annotated):
            problems["rows without a video or a caption, left out"] += 1
        elif key in clips:
            problems["rows about a repeated video, left out"] += 1
        else:
            file = find_video(str(fields.get("path") or key), [videos, path.parent])
            times = seconds(fields.get("start")), seconds(fields.get("end"))
            clips[key] = SourceClip(key, caption, file, *times, dict(fields))
            problems["videos that are missing"] += file is None
    if not clips:
        raise SetupError(f"{path}: nothing to make questions from; expected rows with video and caption")
    return clips, dict(+problems)


def read_people(path: Path) -> dict[str, dict[str, str]]:
    """Read people's answers: rows of ``id``, ``reviewer`` and ``answer``, a letter.

    Returns:
        Question's id to reviewer to letter; of two answers of one reviewer the last counts.

    Raises:
        SetupError: It cannot be read, or a row has another form.
    """
    letters: dict[str, dict[str, str]] = {}
    for number, row in enumerate(read_rows(path), start=1):
        fields = row if isinstance(row, Mapping) else {}
        question, reviewer, answer = (str(fields.get(name) or "").strip() for name in ("id", "reviewer", "answer"))
        if not (question and reviewer and answer):
            raise SetupError(f"{path}: entry {number}: expected id, reviewer and answer")
        letters.setdefault(question, {})[reviewer] = answer
    return letters


WRITTEN, LEFT_OUT, REFUSED, UNUSABLE = "written", "left out", "refused", "unusable"
"""Final statuses: questions were written (perhaps none passed); the rules leave the unit out; the model refused or its
answer was unusable."""
UNREACHABLE, NO_VIDEO = "unreachable", "no video"
"""Statuses not stored, so that the same command tries again: the model is unreachable; the video is unreadable."""


@dataclass(frozen=True, slots=True)
class RejectedQuestion:
    """A rejected question.

    Attributes:
        question: It, the right option marked.
        stage: Stage that rejected it: "checks", "first frame", "blind", ...
        reasons: Reasons, as text.
    """

    question: Question
    stage: str
    reasons: tuple[str, ...]

    def to_json(self) -> Line:
        """Return the question's line, with the reasons of its rejection."""
        return line_of(self.question) | {"rejected": {"stage": self.stage, "reasons": list(self.reasons)}}


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """Outcome of one unit of work: a video, or for gates a question.

    Attributes:
        unit: Its key.
        status: One of the statuses above.
        why: Reason of any status but "written"; for that, failures.
        accepted: Questions that passed.
        rejected: Questions that did not.
    """

    unit: str
    status: str = WRITTEN
    why: str = ""
    accepted: tuple[Question, ...] = ()
    rejected: tuple[RejectedQuestion, ...] = ()

    @property
    def final(self) -> bool:
        """True if the outcome is stored; otherwise the unit is tried again."""
        return self.status not in (UNREACHABLE, NO_VIDEO)

    def to_json(self) -> Line:
        """Return the journal line."""
        line: Line = {"unit": self.unit, "status": self.status} | ({"why": self.why} if self.why else {})
        line["accepted"] = [line_of(question) for question in self.accepted]
        return line | {"rejected": [rejection.to_json() for rejection in self.rejected]}


def read_outcome(line: Mapping[str, Any], where: Mapping[str, Question]) -> UnitOutcome:
    """Read a journal line.

    Args:
        line: It.
        where: By unit, something that knows the video's file and times now, whatever they were when the line was
            written.

    Raises:
        ValueError: It is no outcome.
    """
    try:
        unit = str(line["unit"])
        accepted = tuple(_restored(row, where.get(unit)) for row in line["accepted"])
        rejected = tuple(
            RejectedQuestion(
                _restored(row, where.get(unit)), row["rejected"]["stage"], tuple(row["rejected"]["reasons"])
            )
            for row in line["rejected"]
        )
        return UnitOutcome(unit, str(line["status"]), str(line.get("why", "")), accepted, rejected)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no outcome: {error}") from error


def _restored(row: Any, listed: Question | None) -> Question:
    question = read_question(row, [], Counter())
    if question is None:
        raise ValueError("no question")
    return question if listed is None else replace(question, path=listed.path, start=listed.start, end=listed.end)


def noted(question: Question, name: str, value: Any) -> Question:
    """Return the question with a note in its reference: its provenance or a filter's answers."""
    return replace(question, reference={**question.reference, name: value})
