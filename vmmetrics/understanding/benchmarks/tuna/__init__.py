"""TUNA (Kong et al., 2025), and its files in the forms users have: Parquet, tables made from it, JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.benchmarks.files import Row, fields_of, stem_of, text_of, videos_below
from vmmetrics.utils.tables import read_rows

DATA: Final = data_file("tuna")
"""The data file of both benchmarks."""
SEPARATOR: Final = " / "
"""Separator of visual characteristic and group in names of figures."""

_ANSWERS: Final = ("prediction", "candidate_caption", "caption")
"""Fields that may hold an answer."""


def characteristics_of(value: Any, problems: Counter[str]) -> tuple[str, ...]:
    """Parse comma-separated visual characteristics, ignoring case, spaces and hyphens.

    Args:
        value: ``"High-Dynamic,Multi-Scene"``, or a list of them.
        problems: Receives counts of problems.
    """
    named = value if isinstance(value, list | tuple) else text_of(value).split(",")
    by_plain = {_plain(name): name for name in DATA["characteristics"]}
    listed = [_plain(name) for name in named if _plain(name)]
    if any(name not in by_plain for name in listed):
        problems["rows with an unknown visual characteristic"] += 1
    matches = tuple(dict.fromkeys(by_plain[name] for name in listed if name in by_plain))
    if ("Low-Dynamic" in matches) == ("High-Dynamic" in matches):
        problems["rows that are not either Low-Dynamic or High-Dynamic"] += 1
    return matches


def matching_name(value: Any, names: Sequence[str]) -> str | None:
    """Return the name that a field matches in any spelling; None if it matches none."""
    return {_plain(name): name for name in names}.get(_plain(value))


def _plain(value: Any) -> str:
    return "".join(letter for letter in text_of(value).casefold() if letter.isalnum())


def find_files(data: Path, patterns: Sequence[str]) -> list[Path]:
    """Return the named file, or all matching files of a folder, the likeliest first."""
    if data.is_file():
        return [data]
    files = (path for pattern in patterns for path in sorted(data.glob(pattern)) if path.is_file())
    return list(dict.fromkeys(files))


def video_of(row: Mapping[str, Any]) -> str:
    """Return the key of a row's video: its name without folder or suffix."""
    names = map(text_of, (row.get("video"), row.get("video_path"), row.get("video_index")))
    return stem_of(next(filter(None, names), ""))


def number_of(row: Mapping[str, Any], position: int) -> str:
    """Return a row's number in the released runner's table, from 0: its index there, else its position."""
    index = text_of(row.get("index"))
    return index if index.isdecimal() else str(position)


def videos_in(folder: Path) -> dict[str, Path]:
    """Return the video files below a folder by key, preferring the release's folders."""
    return videos_below([folder / name for name in DATA["video_folders"]])


def read_answers(path: Path) -> dict[str, Answered]:
    """Read a model's answers from a file in one of the released forms.

    A submission (``{index: caption}``), the intermediate file of the captions' scorer (a list of objects with ``index``
    and ``candidate_caption``), or the table that the released runner makes, with ``index`` and ``prediction``, saved as
    TSV, CSV or Parquet. What a table marks as missing is an empty answer.

    Raises:
        SetupError: The file is unreadable or has none of these forms.
    """
    answers: dict[str, Answered] = {}
    for row in read_rows(path):
        for key, text in _answers_in(row).items():
            if key and (isinstance(text, str) or text is None or text != text):
                answers[key] = Answered(key, text_of(text))
    if not answers:
        raise SetupError(f"{path}: no answers found; expected an object of them by index, or rows with {_ANSWERS}")
    return answers


def _answers_in(row: Any) -> dict[str, Any]:
    fields = fields_of(row)
    present = [name for name in _ANSWERS if name in fields]
    if present:
        return {text_of(fields.get("index", fields.get("video"))): fields[present[0]]}
    return {} if "index" in fields else {text_of(key): text for key, text in fields.items()}


# TUNA-CAP's two files brought together: the table of videos, and the annotations that captions are scored with.
#
# The released table numbers its rows from 0, the annotations are called ``TUNA_0001`` and so on, and captions made with
# the table match nothing when they are scored. Here a row finds its annotation by the video, by the index, or by the
# number in it; the last two only where the visual characteristics, which both files have, say so too.

_AGREEING: Final = 0.9
"""Least share of pairs with equal characteristics for an index to be trusted. One row off, about a quarter agree: the
sum of squared shares of the eight sets of characteristics, by the paper's counts."""
_NUMBER: Final = re.compile(r"(\d{1,9})$")


def annotations_of(rows: Sequence[Row], annotations: Sequence[Row], problems: Counter[str]) -> list[Row | None]:
    """Return the annotation of each row, in order; None where it has none.

    Args:
        rows: Of the table.
        annotations: Of the annotations' file.
        problems: Receives counts of problems.
    """
    matched: list[Row | None] = [None] * len(rows)
    indices, named = ([text_of(one.get("index")) for one in table] for table in (rows, annotations))
    after = [str(int(index) + 1) if index.isdecimal() and len(index) < 10 else "" for index in indices]
    numbers = [str(int(number[1])) if (number := _NUMBER.search(index)) else "" for index in named]
    videos = [video_of(one) if one.get("video") or one.get("video_path") else "" for one in annotations]
    ways = (list(map(video_of, rows)), videos, False), (indices, named, True), (after, numbers, True)
    for of_rows, of_annotations, doubtful in ways:
        by_key = {key: annotations[position] for position, key in reversed([*enumerate(of_annotations)]) if key}
        pairs = [by_key.get(key) for key in of_rows]
        agreeing = [
            _characteristics(row) == _characteristics(pair) for row, pair in zip(rows, pairs, strict=True) if pair
        ]
        if agreeing and (not doubtful or sum(agreeing) >= _AGREEING * len(agreeing)):
            matched = pairs
            break
    if annotations:
        used = {id(one) for one in matched}
        problems["annotations without a row of the table, left out"] += sum(id(one) not in used for one in annotations)
    return matched


def _characteristics(row: Row) -> frozenset[str]:
    return frozenset(characteristics_of(row.get("visual_characteristic"), Counter()))
