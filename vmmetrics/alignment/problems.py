"""What a study could not say, and why, gathered from the notes of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from vmmetrics.alignment.results import Estimate, Grouped, PairAlignment

_NAMES = (
    "metric",
    "first",
    "second",
    "rater",
    "name",
    "dimension",
    "combination",
)  # fields that say what a part is about


def problems_of(parts: Iterable[Any]) -> tuple[str, ...]:
    """One line per statistic without a value, each once, in the order of the parts.

    Of a metric that has no correlation over all clips nothing else is listed, since the reason is the same; of a group
    (a prompt, a model) neither, since its mean speaks for it.

    Args:
        parts: Parts of a :class:`~vmmetrics.alignment.results.StudyReport`.
    """
    return tuple(dict.fromkeys(line for part in parts for line in _lines(part)))


def _lines(part: Any) -> Iterator[str]:
    about = " × ".join(str(getattr(part, name)) for name in _NAMES if hasattr(part, name))
    if isinstance(part, PairAlignment) and part.spearman.value is None:
        yield f"{about}: {part.spearman.note}"
        return
    for where, note in _missing(part):
        yield f"{about}, {where}: {note}"


def _missing(part: Any) -> Iterator[tuple[str, str]]:
    """The statistics without a value inside a part, by the names of their fields, and why."""
    for field in fields(part):
        value, label = getattr(part, field.name), field.name.replace("_", " ")
        if isinstance(value, Grouped):
            value = value.mean
        if isinstance(value, Estimate):
            if value.value is None:
                yield label, value.note or "not defined"
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                if isinstance(inner, Estimate) and inner.value is None:
                    yield f"{label} {key}", inner.note or "not defined"
        elif is_dataclass(value):
            yield from ((f"{label}, {inner}", note) for inner, note in _missing(value))
