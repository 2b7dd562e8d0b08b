"""TUNA-CAP's two files brought together: the table of videos, and the annotations that captions are scored with.

The released table numbers its rows from 0, the annotations are called ``TUNA_0001`` and so on, and captions made with
the table match nothing when they are scored. Here a row finds its annotation by the video, by the index, or by the
number in it; the last two only where the visual characteristics, which both files have, say so too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vmmetrics.understanding.tuna.reading import characteristics_of, text_of, video_of

Row = Mapping[str, Any]

_AGREEING: Final = 0.9
"""Share of pairs with the same characteristics for an index to be trusted. One row off, about a quarter agree: the sum
of squares of the shares of the eight sets of characteristics, by the paper's counts."""
_NUMBER: Final = re.compile(r"(\d{1,9})$")


def annotations_of(rows: Sequence[Row], annotations: Sequence[Row], problems: Counter[str]) -> list[Row | None]:
    """The annotation of each row, in their order; None where it has none.

    Args:
        rows: Of the table.
        annotations: Of the annotations' file.
        problems: What was wrong is counted here.
    """
    found: list[Row | None] = [None] * len(rows)
    ways: tuple[tuple[Callable[[Row], str], Callable[[Row], str], bool], ...] = (
        (video_of, _own_video, False),
        (_index, _index, True),
        (_row_number, _index_number, True),
    )
    for of_row, of_annotation, doubtful in ways:
        known = {of_annotation(one): one for one in reversed(annotations) if of_annotation(one)}
        pairs = [known.get(of_row(row)) for row in rows]
        if any(pairs) and not (doubtful and not _agree(rows, pairs)):
            found = pairs
            break
    if annotations:
        taken = {id(one) for one in found}
        problems["annotations without a row of the table, left out"] += sum(id(one) not in taken for one in annotations)
    return found


def _agree(rows: Sequence[Row], pairs: Sequence[Row | None]) -> bool:
    alike = [_characteristics(row) == _characteristics(pair) for row, pair in zip(rows, pairs, strict=True) if pair]
    return sum(alike) >= _AGREEING * len(alike)


def _characteristics(row: Row) -> frozenset[str]:
    return frozenset(characteristics_of(row.get("visual_characteristic"), Counter()))


def _own_video(annotation: Row) -> str:
    return video_of(annotation) if annotation.get("video") or annotation.get("video_path") else ""


def _index(row: Row) -> str:
    return text_of(row.get("index"))


def _row_number(row: Row) -> str:
    number = _NUMBER.match(_index(row))
    return str(int(number[1]) + 1) if number else ""


def _index_number(annotation: Row) -> str:
    number = _NUMBER.search(_index(annotation))
    return str(int(number[1])) if number else ""
