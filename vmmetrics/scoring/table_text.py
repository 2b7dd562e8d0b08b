"""Sentences beneath a table of scores: what its brackets are, what is missing or failed and why, lowered indices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from vmmetrics.scoring.anchors import ANCHORED, Place
from vmmetrics.scoring.record import INDEX_NEEDS, Record
from vmmetrics.scoring.summary import NAMED_COLLAPSED, Summary
from vmmetrics.types import collapse_of


class Scores(Protocol):
    """What the sentences need of a table of scores."""

    records: Sequence[Record]

    @property
    def summary(self) -> Summary:
        """Counts of the records."""

    def places(self, record: Record) -> dict[str, Place]:
        """Return the places of a record's scores among real footage."""

    def no_place(self, record: Record) -> str:
        """Return why scores of a record have no place."""

    def __len__(self) -> int: ...


_SHOWN_REASONS = 10  # of missing scores, those of collapsed clips apart
_Reason = tuple[str, tuple[str, ...], bool]
_Clips = tuple[int, list[str]]


def anchor_lines(table: Scores, clips: int | None = None) -> list[str]:
    """Return what the numbers in brackets are, with the first of them as an example, or why there are none.

    Args:
        table: The table.
        clips: Number of clips that are shown, from the first; None for all.
    """
    lines: dict[str, None] = {}
    legend = ""
    for record in table.records[:clips]:
        places = table.places(record)
        if places and not legend:
            place = next(places[key] for key in ANCHORED if key in places)
            legend = (
                f"({place.above}/{place.sources}): {place}; rounded to what harmless changes of a clip leave in 90 %"
            )
            lines[legend] = None
        if reason := table.no_place(record):
            lines[f"no place among real footage: {reason}"] = None
    return list(lines)


def missing_lines(table: Scores) -> list[str]:
    """Return lines with the clips without a score by reason, those whose index is lowered, and the downscaled ones.

    Collapsed clips come first, a line for each kind; the most frequent of the other reasons follow.
    """
    reasons = table.summary.reasons
    collapsed = _by_kind((key, clips) for key, clips in reasons.items() if collapse_of(key[0]))
    others = [(key, clips) for key, clips in reasons.items() if not collapse_of(key[0])]
    others.sort(key=lambda item: -item[1][0])
    lines = [_missing_line(len(table), *item) for item in (*collapsed, *others[:_SHOWN_REASONS])]
    summary, total = table.summary, len(table)
    lowered = [f"{clip} {remark}" for clip, remark in summary.remarks]
    smaller = [f"{clip} at {width}x{height}" for clip, (width, height) in summary.downscaled_clips]
    lines += _named_lines("INDEX lowered", summary.remarked, total, lowered)
    lines += _named_lines("downscaled to fit --max-memory", summary.downscaled, total, smaller)
    rest = len(others) - _SHOWN_REASONS
    return [*lines, *([f"- {rest} more reasons of missing scores: column missing of scores.csv"] if rest > 0 else [])]


def _named_lines(what: str, clips: int, total: int, named: Sequence[str]) -> list[str]:
    """Return a line on some clips, the first of which are named; none without any."""
    more = [f"and {clips - len(named)} more"] if clips > len(named) else []
    return [f"- {what} in {clips} of {total} clips: {'; '.join([*named, *more])}"] if clips else []


def _by_kind(reasons: Iterable[tuple[_Reason, _Clips]]) -> list[tuple[_Reason, _Clips]]:
    """Return reasons of collapsed clips, one a kind: those of stills and slide shows name a number of images each."""
    kinds: dict[tuple[str | None, tuple[str, ...], bool], tuple[str, _Clips]] = {}
    for (reason, metrics, foreign), (clips, names) in reasons:
        key = (collapse_of(reason), metrics, foreign)
        known, (count, others) = kinds.get(key, (reason, (0, [])))
        text = known if known == reason else re.sub(r"\b\d+ ", "", known)
        kinds[key] = (text, (count + clips, [*others, *names][:NAMED_COLLAPSED]))
    merged = [((text, metrics, foreign), clips) for (_, metrics, foreign), (text, clips) in kinds.items()]
    return sorted(merged, key=lambda item: -item[1][0])


def _missing_line(total: int, about: _Reason, of: _Clips) -> str:
    (reason, metrics, foreign), (clips, names) = about, of
    share = f"{clips} of {total} clips" if clips < total else "every clip" if clips > 1 else "the clip"
    more = f" and {clips - len(names)} more" if clips > len(names) else ""
    collapse = collapse_of(reason) is not None and {*INDEX_NEEDS} <= {*metrics}
    named = clips < total or (collapse and clips > 1)
    label = ", ".join(metric.upper() for metric in metrics)
    verb = ("do not apply to" if len(metrics) > 1 else "does not apply to") if foreign else "missing in"
    which = f" ({', '.join(names)}{more})" if named else ""
    return f"- {label} {verb} {share}: {'collapsed, ' if collapse else ''}{reason}{which}"


def remarks(table: Scores, clips: int | None = None) -> list[str]:
    """Return all that is said beneath a table: brackets, notes on the run, reasons of missing scores, and failures.

    Args:
        table: The table.
        clips: Number of clips that are shown, from the first; None for all.
    """
    failed, number = table.summary.failures, table.summary.failed
    more = [f"- {number - len(failed)} more clips failed"] if number > len(failed) else []
    notes = (f"- {text}" for text in table.summary.notes)
    return [
        *anchor_lines(table, clips),
        *notes,
        *missing_lines(table),
        *(f"- {clip} failed: {why}" for clip, why in failed),
        *more,
    ]
