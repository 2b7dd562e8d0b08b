"""What a study could not say, and why, gathered from the notes of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any

from vmmetrics.alignment.bootstrap import Estimate
from vmmetrics.alignment.results import (
    Ablation,
    Agreement,
    Ceiling,
    Difference,
    Grouped,
    NameBaseline,
    PairAlignment,
    PreferenceAccuracy,
    StudyReport,
)

_KINDS: dict[type, str] = {
    NameBaseline: "name of the model",
    Difference: "difference",
    Ceiling: "human ceiling",
    Agreement: "agreement of raters",
    PreferenceAccuracy: "preferences",
    Ablation: "ablation",
}
_SUBJECT = ("metric", "first", "second", "name", "dimension", "combination")  # fields that say what a part is about
_NAMED = 4  # subjects of one line; the others are counted


def problems_of(report: StudyReport) -> tuple[str, ...]:
    """One line for what lacks the same statistics for the same reason, in the order of the report.

    Of a metric that has no correlation over all clips nothing else is listed, since the reason is the same; of a group
    (a prompt, a model) neither, since its mean speaks for it.

    >>> _line(["m × motion", "n × motion"], ("pooled", "within model"), "the scores are all the same")
    'm × motion, n × motion (pooled, within model): the scores are all the same'
    """
    hopeless = {(pair.metric, pair.dimension) for pair in report.alignments if pair.spearman.value is None}
    lines: dict[tuple[tuple[str, ...], str], list[str]] = {}
    people = (report.ceilings, report.agreements, report.preferences, report.ablations)
    for part in chain(report.alignments, report.baselines, report.differences, *people):
        if isinstance(part, Difference) and {(part.first, part.dimension), (part.second, part.dimension)} & hopeless:
            continue
        by_note: dict[str, list[str]] = {}
        for where, note in _missing(part):
            by_note.setdefault(note, []).append(where)
        kind = f"{_KINDS[type(part)]}, " if type(part) in _KINDS else ""
        about = kind + " × ".join(str(getattr(part, name)) for name in _SUBJECT if hasattr(part, name))
        for note, statistics in by_note.items():
            lines.setdefault((tuple(statistics), note), []).append(about)
    return tuple(_line(subjects, where, note) for (where, note), subjects in lines.items())


def _missing(part: Any) -> Iterator[tuple[str, str]]:
    """The statistics without a value inside a part, by the names of their fields, and why."""
    if isinstance(part, PairAlignment) and part.spearman.value is None:
        yield "", part.spearman.note or ""
        return
    for field in fields(part):
        value, label = getattr(part, field.name), field.name.replace("_", " ")
        if isinstance(value, Grouped):
            value = value.mean
        if isinstance(value, Estimate):
            inner: Mapping[str, Any] = {label: value}
        elif isinstance(value, Mapping):
            inner = {f"{label} {key}": estimate for key, estimate in value.items()}
        else:
            inner = {}
            if is_dataclass(value):
                yield from ((f"{label}: {where}", note) for where, note in _missing(value))
        for where, estimate in inner.items():
            if isinstance(estimate, Estimate) and estimate.value is None:
                yield where, estimate.note or ""


def _line(subjects: list[str], where: tuple[str, ...], note: str) -> str:
    more = f" and {len(subjects) - _NAMED} more" if len(subjects) > _NAMED else ""
    statistics = f" ({', '.join(where)})" if any(where) else ""
    return f"{', '.join(subjects[:_NAMED])}{more}{statistics}: {note}"
