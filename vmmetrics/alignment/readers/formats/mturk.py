"""Results of a batch of Amazon Mechanical Turk, as its requester site writes them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vmmetrics.alignment.readers.columns import is_clip_file
from vmmetrics.alignment.readers.source_table import SourceTable, is_blank, stacked
from vmmetrics.utils.schema import parse_json

_INPUT, _ANSWER = "Input.", "Answer."
_JSON = "Answer.taskAnswers"
_NUMBER = re.compile(r"(?<!\d)0*(\d+)(?!\d)")
_OF_CHOICES = frozenset({"true", "false"})


def detect(table: SourceTable, _: Collection[str]) -> bool:
    """Return True if a table is the results of a batch."""
    return "HITId" in table.columns and any(str(name).startswith(_ANSWER) for name in table.columns)


def rows(table: SourceTable, _: Collection[str]) -> SourceTable:
    """Return the answers of a batch as a table of clips, workers and answers.

    Rejected assignments are left out and counted. Where a task shows several clips, ``Input.video_1`` to
    ``Input.video_9``, and asks of each, ``Answer.smoothness_1`` to ``Answer.smoothness_9``, a row is made of each clip.
    """
    names = list(map(str, table.columns))
    valid = [row for row in range(len(table)) if not _is_rejected(table, row)]
    inputs = {name[len(_INPUT) :]: name for name in names if name.startswith(_INPUT)}
    answers, sources = _answers(table, valid)
    columns = {short: [table.columns[name][row] for row in valid] for short, name in inputs.items()}
    origins = {**inputs, **sources}
    if "WorkerId" in names:
        columns["WorkerId"] = [table.columns["WorkerId"][row] for row in valid]
    columns |= {f"Answer.{name}" if name in columns else name: cells for name, cells in answers.items()}
    used = dict.fromkeys(
        (name for name in names if name not in {*inputs.values(), "WorkerId"}), "bookkeeping, not read"
    )
    used |= dict.fromkeys((name for name in names if name.startswith(_ANSWER)), "answers")
    rejected = len(table) - len(valid)
    note = f"Amazon Mechanical Turk: {len(valid)} assignments" + (
        f"; {rejected} rejected ones were left out" if rejected else ""
    )
    plain = replace(table, columns=columns, notes=(*table.notes, note), origins=origins, used=used)
    return _clip_by_clip(plain, inputs, answers)


def _is_rejected(table: SourceTable, row: int) -> bool:
    status = table.columns.get("AssignmentStatus")
    if status is not None and str(status[row]).strip().casefold() == "rejected":
        return True
    marks = (table.columns.get(name) for name in ("Reject", "RejectionTime"))
    return any(cells is not None and not is_blank(cells[row]) for cells in marks)


def _answers(table: SourceTable, rows: Sequence[int]) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Return the question to its answers, and to the column they were in; boxes of one question are one answer."""
    by_question: dict[str, list[Any]] = {}
    sources: dict[str, str] = {}
    boxes: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name in map(str, table.columns):
        if not name.startswith(_ANSWER) or name == _JSON:
            continue
        question, _, choice = name[len(_ANSWER) :].rpartition(".")
        cells = {str(cell).strip().casefold() for cell in table.columns[name] if not is_blank(cell)}
        if question and cells <= _OF_CHOICES:
            boxes[question][choice] = name
        else:
            sources[name[len(_ANSWER) :]] = name
            by_question[name[len(_ANSWER) :]] = [table.columns[name][row] for row in rows]
    for question, choices in boxes.items():
        sources[question] = next(iter(choices.values()))
        by_question[question] = [
            _chosen(
                {choice: str(table.columns[name][row]).strip().casefold() == "true" for choice, name in choices.items()}
            )
            for row in rows
        ]
    if _JSON in table.columns:
        parsed = [_of_json(table.columns[_JSON][row]) for row in rows]
        for question in dict.fromkeys(name for answers in parsed for name in answers):
            by_question[question] = [answers.get(question) for answers in parsed]
            sources.setdefault(question, _JSON)
    return by_question, sources


def _of_json(cell: Any) -> dict[str, Any]:
    """Return the answers of one assignment: ``[{"smoothness": {"1": false, "4": true}, "comment": "fine"}]``."""
    content = cell
    if isinstance(cell, str):
        try:
            content = parse_json(cell, gaps=True)
        except ValueError:
            return {}
    answers: dict[str, Any] = {}
    for part in content if isinstance(content, list) else [content]:
        for name, value in part.items() if isinstance(part, Mapping) else ():
            answers[str(name)] = _plain(value)
    return answers


def _plain(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if value and all(isinstance(marked, bool) for marked in value.values()):
        return _chosen(value)
    return _plain(next(iter(value.values()))) if len(value) == 1 else None


def _chosen(marks: Mapping[str, bool]) -> str | None:
    return ", ".join(choice for choice, marked in marks.items() if marked) or None


def _clip_by_clip(table: SourceTable, inputs: Collection[str], answers: Collection[str]) -> SourceTable:
    """Return the table with a row per clip, where tasks show several clips and ask of each by its number."""
    clips = {n: name for name in inputs if any(map(is_clip_file, table.columns[name])) and (n := _number(name))}
    asked: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name in answers:
        if (number := _number(name)) in clips:
            asked[_NUMBER.sub("", name).strip(" _.-") or "rating"][number] = name
    asked = defaultdict(dict, {question: of for question, of in asked.items() if len(of) > 1})
    if len(clips) < 2 or not asked:
        return table
    several = {*clips.values(), *(name for of in asked.values() for name in of.values())}
    shared = [name for name in table.columns if name not in {*several, "video"}]
    nobody = [None] * len(table)
    views = [
        {
            "video": table.columns[clip],
            **{name: table.columns[name] for name in shared},
            **{question: table.columns[of[number]] if number in of else nobody for question, of in asked.items()},
        }
        for number, clip in clips.items()
    ]
    columns = stacked(range(len(table)), views)
    used = {**table.used, **{table.origins.get(name, name): "clip" for name in clips.values()}}
    for question, of in asked.items():
        used |= {table.origins.get(name, name): f"answers: {question}" for name in of.values()}
    note = f"{len(clips)} clips in a task, by their number: {', '.join(clips.values())}"
    origins = {name: origin for name, origin in table.origins.items() if name not in several}
    origins |= dict.fromkeys(("video", *asked), "")
    return replace(table, columns=columns, notes=(*table.notes, note), origins=origins, used=used)


def _number(name: str) -> str:
    """Return the one number in a name; "" where there is none, or several."""
    numbers = _NUMBER.findall(name)
    return numbers[0] if len(numbers) == 1 else ""
