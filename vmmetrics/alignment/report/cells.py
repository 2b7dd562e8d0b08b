"""Tables of an alignment report before they are printed, typeset or put on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vmmetrics.alignment.results import StudyReport
from vmmetrics.alignment.study import Study, with_averages
from vmmetrics.alignment.study_report import without_models
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.statistics.bootstrap import Estimate

# What a report was computed from: the study it was given, less what was left out, with what was averaged.


def study_of(study: Study, report: StudyReport) -> Study:
    """The study that the numbers of a report speak of, from the study that was given.

    Args:
        study: What ``align`` was called with.
        report: What it returned.
    """
    left_out = set(report.settings.get("left out", ())) & set(study.models)
    return with_averages(replace(without_models(study, left_out), facing=report.facing))[0]


def flat_settings(report: StudyReport) -> Iterator[tuple[str, Any]]:
    """Settings by name, those inside others as ``outer.inner``; lists with commas."""
    for name, setting in report.settings.items():
        if isinstance(setting, Mapping):
            yield from ((f"{name}.{inner}", value) for inner, value in setting.items())
        elif isinstance(setting, list | tuple):
            yield name, ", ".join(map(str, setting))
        else:
            yield name, setting


NONE = "–"
"""Where there is no number."""
MINUS = "−"
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        text: What it says.
        below: Said smaller: an interval, or which model.
        mark: Number of its footnote, 0 for none.
    """

    text: str = ""
    below: str = ""
    mark: int = 0

    @property
    def raised(self) -> str:
        """The footnote's number as superscript digits, or nothing."""
        return str(self.mark).translate(_SUPERSCRIPT) if self.mark else ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: Head.
        number: Whether it holds numbers (right-aligned) or names.
        hint: What the head means, in a sentence.
    """

    name: str
    number: bool = True
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row.

    Attributes:
        cells: One per column.
        reference: Stands below a rule: something to read the rows above against.
    """

    cells: tuple[Cell, ...]
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: Short name, unique in a report.
        title: Title.
        caption: How to read it.
        columns: Columns.
        rows: Rows, those of reference last.
        notes: Footnotes, from 1.
    """

    key: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences.

    Attributes:
        key: Short name, unique in a report.
        title: Title.
        lines: One or more.
    """

    key: str
    title: str
    lines: tuple[str, ...]


Part = Table | Lines


@dataclass(slots=True)
class Footnotes:
    """Numbers footnotes; the same words share a number."""

    notes: list[str] = field(default_factory=list)

    def mark(self, note: str | None) -> int:
        """The number of a note, 0 for none."""
        if not note:
            return 0
        shown = clean(note)
        if shown not in self.notes:
            self.notes.append(shown)
        return self.notes.index(shown) + 1

    def estimate(self, estimate: Estimate, *, interval: bool = True, digits: int = 2) -> Cell:
        """A statistic with its interval, or a dash; either with the reason as footnote."""
        below = bounds(estimate.low, estimate.high, digits) if interval and estimate.value is not None else ""
        note = estimate.note if interval or estimate.value is None else None
        return Cell(number(estimate.value, digits), below, self.mark(note))


def number(value: float | None, digits: int = 2) -> str:
    """A number, or a dash.

    >>> number(0.614), number(-0.128), number(-0.001), number(None)
    ('0.61', '−0.13', '0.00', '–')
    """
    if value is None:
        return NONE
    text = f"{abs(value):.{digits}f}"
    return MINUS + text if value < 0 and float(text) else text


def bounds(low: float | None, high: float | None, digits: int = 2) -> str:
    """An interval, or nothing."""
    return "" if low is None or high is None else f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(p: float | None) -> str:
    """A p value.

    >>> p_value(0.0123), p_value(0.0001), p_value(None)
    ('0.012', '< 0.001', '–')
    """
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count(value: int | None) -> str:
    """A whole number.

    >>> count(12345), count(None)
    ('12,345', '–')
    """
    return NONE if value is None else f"{value:,}"


def named(text: str) -> Cell:
    """A name that a user gave."""
    return Cell(clean(text))


def listed(names: Sequence[str], most: int) -> str:
    """Names with commas, the rest counted.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(clean(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
