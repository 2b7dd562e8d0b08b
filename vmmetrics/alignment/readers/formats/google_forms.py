"""Responses of a form, and any table with a column per clip: a row is a person."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.names import stem
from vmmetrics.alignment.readers.source_table import SourceTable, is_blank, stacked, texts
from vmmetrics.utils.display.markup import listed
from vmmetrics.video.discover import CLIP_SUFFIXES

_SUFFIX = "|".join(re.escape(suffix) for suffix in sorted(CLIP_SUFFIXES))
_FILE = re.compile(rf"[^\s\[\]()\"'“”?,;]+(?:{_SUFFIX})(?![\w.])", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\[(?P<inside>[^\[\]]+)\]\s*$")
_BETWEEN = re.compile(r"^(?:(?:or|vs|versus|against|and)\b\W*)+|(?:\b(?:or|vs|versus|against|and)\W*)+$", re.IGNORECASE)
_SIGNS = " :;,-–—_|/?.![]()"
_TIMESTAMP = frozenset({"timestamp", "submitted_at", "completion_time", "start_time"})
_PEOPLE = (*called.RATER, "name", "your_name", "full_name", "nickname", "respondent", "response_id")
_SUMMARIES = frozenset({"mean", "average", "avg", "mos", "std", "sd", "median", "total", "count"})
_MEANS = frozenset({"mean", "average", "avg", "mos"})
_ONE_DIMENSION, _OUTCOME = "rating", "outcome"
_SHOWN, _LONGEST = 3, 60  # columns in a note; letters of a question that names a dimension
_LONGEST_HEAD = 1000  # letters of a header that may hold a clip's name
_LEAST_STEM = 3  # letters of a clip's name without suffix that is looked for inside a question


class ClipColumn(NamedTuple):
    """Clips and question in the header of a column.

    Attributes:
        clips: The clip, or the two clips that are compared.
        question: What is asked of it, or of the two; "" where the header is the clip alone.
    """

    clips: tuple[str, ...]
    question: str


def detect(table: SourceTable, clips: Collection[str]) -> bool:
    """Return True if several headers hold clips, one or two each, and no other column does; arguments as of `rows`."""
    clip_columns = _columns_of_clips(table, clips)
    others = (cells for name, cells in table.columns.items() if name not in clip_columns)
    filled = ([cell for cell in cells if not is_blank(cell)] for cells in others)
    return (
        len(clip_columns) > 1
        and len({len(of.clips) for of in clip_columns.values()}) == 1
        and not any(cells and all(map(called.is_clip_file, cells)) for cells in filled)
    )


def rows(table: SourceTable, clips: Collection[str]) -> SourceTable:
    """Return a row per person and clip of a table with a column per clip.

    Args:
        table: The table: a header holds the name of a clip, as in ``clip.mp4``, ``How smooth is clip.mp4?``, and Google
            Forms' ``How smooth is it? [clip.mp4]``; or of two, ``a.mp4 or b.mp4?``.
        clips: Clips that are known: their names count without suffix too.
    """
    clip_columns = _columns_of_clips(table, clips)
    if (
        all(len(of.clips) > 1 for of in clip_columns.values())
        and len({of.question for of in clip_columns.values()}) == 1
    ):
        clip_columns = {name: of._replace(question="") for name, of in clip_columns.items()}
    others = [name for name in table.columns if name not in clip_columns]
    people, person = _people(table, others)
    aspect = first_column(others, called.DIMENSION)
    heads = ("clip",) if len(next(iter(clip_columns.values())).clips) == 1 else ("left", "right")
    alone = _ONE_DIMENSION if len(heads) == 1 else _OUTCOME
    questions = list(dict.fromkeys(of.question or alone for of in clip_columns.values()))
    by_clip: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for name, of in clip_columns.items():
        question, times = of.question or alone, by_clip.setdefault(of.clips, [{}])
        if question in times[-1]:  # asked a second time
            times.append({})
        times[-1][question] = name
    answered = [row for row, rater in enumerate(people) if rater is None or normalised(rater) not in _SUMMARIES]
    if not answered:  # only means and deviations of people: the row of means, which is no one's
        answered = [row for row, rater in enumerate(people) if normalised(rater or "") in _MEANS][:1]
        people = [None] * len(table)
    raters = {"rater": people} if any(people[row] is not None for row in answered) else {}
    aspects = {} if aspect is None else {"dimension": table.columns[aspect]}
    nobody = [None] * len(table)
    views: list[dict[str, Sequence[Any]]] = [
        {
            **{head: [clip] * len(table) for head, clip in zip(heads, names, strict=True)},
            **raters,
            **{question: table.columns[asked[question]] if question in asked else nobody for question in questions},
            **aspects,
        }
        for names, times in by_clip.items()
        for asked in times
    ]
    columns = stacked(answered, views)
    note = f"A column per clip: {listed(list(clip_columns), _SHOWN)}; raters from {person or 'the rows, a person each'}"
    used = dict.fromkeys(others, "not read") | {
        name: f"{' against '.join(of.clips)}: {of.question or _ONE_DIMENSION}" for name, of in clip_columns.items()
    }
    used |= {person: "rater"} if person else {}
    used |= {aspect: "dimension"} if aspect else {}
    origins = dict.fromkeys(columns, "")
    return replace(table, columns=columns, notes=(*table.notes, note), origins=origins, used=used)


def _columns_of_clips(table: SourceTable, clips: Collection[str]) -> dict[str, ClipColumn]:
    """Return the columns whose header holds a clip's name."""
    names = [name for name in map(str, table.columns) if len(name) <= _LONGEST_HEAD]
    is_form = any(normalised(name) in _TIMESTAMP for name in names)
    files = {name: _of_header(name, {}) for name in names}
    paths: dict[str, str] = {}
    for clip in clips:
        parts = PurePosixPath(clip.replace("\\", "/")).parts
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[-depth:])
            paths[_spelt(path)] = path
            paths.setdefault(_spelt(stem(path)), path)
    whole = sum(_spelt(name) in paths for name in names)
    if not is_form and sum(of is not None for of in files.values()) < 2 and whole < 2:
        return {}
    if not is_form and _names_clips(table, names, paths):
        paths = {}  # a column names clips: numbers in the header are raters, though clips may be called so
    bracketed = is_form and sum(_IN_BRACKETS.search(name) is not None for name in names) > 1
    columns = {}
    for name in names:
        if normalised(name) in {*_TIMESTAMP, *_PEOPLE} or (called.is_bookkeeping(name) and _spelt(name) not in paths):
            continue
        of = _of_header(name, paths) if is_form or files[name] else None
        if of is None and _spelt(name) in paths:
            of = ClipColumn((paths[_spelt(name)],), "")
        if of is None and bracketed and (match := _IN_BRACKETS.search(name)):
            of = ClipColumn((match["inside"].strip(),), _question(name[: match.start()]))
        if of is not None:
            columns[name] = of
    return columns


def _names_clips(table: SourceTable, names: Sequence[str], paths: Mapping[str, str]) -> bool:
    """Return True if a column names clips, by its header or by its cells."""
    free = [name for name in names if not called.describes_clip(name)]
    if first_column(free, called.CLIP):
        return True
    people = first_column(free, _PEOPLE)
    cells = (
        [cell for cell in texts(table, name) if cell] for name in free if name != people and _spelt(name) not in paths
    )
    return any(
        values and len(set(values)) == len(values) and {*map(_spelt, values)} <= paths.keys() for values in cells
    )


def _of_header(header: str, paths: Mapping[str, str]) -> ClipColumn | None:
    """Parse a header by the clip names in it, longest first, else by the file names in it."""
    rest, matches = _spelt(header), list[tuple[int, str]]()
    question = header if len(rest) == len(header) else rest
    for name in sorted((name for name in paths if name in rest), key=len, reverse=True):
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", rest)
        if match is not None and (len(name) >= _LEAST_STEM or len(name) == len(header)):
            matches.append((match.start(), paths[name]))
            rest, question = (
                text[: match.start()] + " " * len(match[0]) + text[match.end() :] for text in (rest, question)
            )
    if not matches:
        matches = [(match.start(), match[0]) for match in _FILE.finditer(header)]
        question = _FILE.sub(" ", header)
    if len(matches) not in {1, 2}:
        return None
    return ClipColumn(tuple(clip for _, clip in sorted(matches)), _question(question))


def _spelt(name: str) -> str:
    """Return a name as it is compared: "clip_1" may be written "Clip 1"."""
    return name.casefold().replace("_", " ").replace("-", " ")


def _question(text: str) -> str:
    """Return a question without the clip: its words, brackets and signs at the ends dropped."""
    words = " ".join(re.sub(r"\[\s*\]|\(\s*\)|\"\s*\"", " ", text).split())
    words = re.sub(r"\s+([?.!,:;])", r"\1", words).strip(_SIGNS)
    return _BETWEEN.sub("", words).strip(_SIGNS)[:_LONGEST].strip()


def _people(table: SourceTable, others: Sequence[str]) -> tuple[list[str | None], str | None]:
    """Return the person of each row, and the column that names them; None throughout where one row is no one's."""
    person = first_column(others, _PEOPLE)
    if person is None and others and normalised(others[0]) in {"", "unnamed_0", "index"}:
        person = others[0] if called.is_text(table.columns[others[0]]) else None
    if person is not None:
        return [name or f"response {row}" for row, name in enumerate(texts(table, person), 1)], person
    if len(table) == 1:
        return [None], None
    return [f"response {row}" for row in range(1, len(table) + 1)], None
