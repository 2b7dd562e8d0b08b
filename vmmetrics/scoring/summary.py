"""Counts, scores and reasons of many records, in columns of numbers: a few bytes a clip."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vmmetrics.metrics.registry import in_order, label, registered
from vmmetrics.scoring.anchors import ANCHORED, Place
from vmmetrics.scoring.record import FIRST_VERSION, Record
from vmmetrics.scoring.versions import differing
from vmmetrics.types import INDEX_NEEDS, IntArray, collapse_of
from vmmetrics.utils.statistics.paired import MANY, Mean, mean_with_interval

INDEX = "motion_index"
"""The motion index; means are of the clips judged."""
INDEX_OR_ZERO = "motion_index_or_0"
"""The motion index with that of collapsed clips (:attr:`Record.collapsed`) as 0."""
_EVERY = ""  # in place of a metric: clips that failed as a whole
_SOME = 100  # scores of a group of a large run from which on nothing is drawn
DOWNSCALED, IN_WINDOWS = "downscaled to fit --max-memory", "scored in windows of 5 s"
SHORTER = "shorter than the motions of their prompts"
"""Keys of :attr:`Summary.reduced`."""
_NAMED = 3  # clips of a kind that are named
NAMED_COLLAPSED = 5
"""Collapsed clips of a kind that are named."""
_MOST_REASONS = 1000  # reasons whose clips are counted; a metric of one's own may write a number into each
MOST_VALUES = 1000
"""Values of a tag from which on it has no breakdown; such a tag, for instance a seed, identifies clips."""


class Summary:
    """Counts and columns of some records, filled record by record.

    Args:
        records: The first of them.

    Attributes:
        clips: Number of records.
        failed: How many of them failed, as a whole or in one metric.
        failures: The first that failed: name and reason.
        reasons: Clips without a score by reason, the metrics concerned, and whether these do not apply to the clips:
            their number, and the names of the first.
        collapsed: Number of collapsed clips.
        remarked: How many have an index that a factor lowers.
        remarks: The first of those: name, factor and reason.
        reduced: How many were scored at a smaller size to fit the memory, in windows, or are shorter than the motions
            of their prompts: by text, their number, and the first with their size, and windows and drift.
        telling: Name of the clip on disk with the lowest score of a metric whose low scores are faults, or None.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.clips = self.failed = self.remarked = 0
        self.remarks: list[tuple[str, str]] = []
        self.reduced: dict[str, tuple[int, list[str]]] = {}
        self.failures: list[tuple[str, str]] = []
        self.reasons: dict[tuple[str, tuple[str, ...], bool], tuple[int, list[str]]] = {}
        self.collapsed = 0
        self._prompts = array("q")
        self._unjudged: dict[str, bytearray] = {}
        self.telling: str | None = None
        self._lowest = math.inf
        self._metrics: set[str] = set()
        self._versions: Counter[tuple[str, int]] = Counter()
        self._scores: dict[str, array[float]] = {}
        self._foreign: dict[str, bytearray] = {}
        self._groups: dict[str, tuple[dict[str | float, int], array[int]]] = {}
        available = registered()
        self._ours = available.keys()
        self._at_fault = {key for key, metric in available.items() if metric.low_is_fault}
        for record in records:
            self.add(record, record.motion_index)

    def add(self, record: Record, index: float | None) -> None:
        """Take in a record and its index."""
        scores = dict(record.scores)
        self._metrics.update(scores, record.missing, record.errors)
        if record.path and not record.error and not self._ours.isdisjoint(scores):
            lowest = min((score for metric, score in scores.items() if metric in self._at_fault), default=1)
            if lowest < self._lowest:
                self.telling, self._lowest = record.clip, lowest
        stated = record.score_version
        self._versions.update((metric, stated.get(metric, FIRST_VERSION)) for metric in record.scores)
        or_zero = record.index_or_zero if index is None else index
        scores |= {name: value for name, value in ((INDEX, index), (INDEX_OR_ZERO, or_zero)) if value is not None}
        self.collapsed += index is None and or_zero is not None
        lacking = [m for m in (INDEX, *record.missing, *record.errors) if record.unjudged_in(m)]
        self._flag(self._unjudged, lacking if record.error is None else [_EVERY])
        self._prompts.append(hash(prompt_of(record)))
        for metric, score in scores.items():
            column = self._scores.get(metric)
            if column is None or len(column) < self.clips:
                column = self._scores.setdefault(metric, array("d"))
                _pad(column, self.clips, math.nan)
            column.append(score)
        self._flag(self._foreign, record.not_applicable)
        self._count_reasons(record)
        for name, value in record.tags.items():
            self._group(f"tag {name}", value)
        if record.model is not None:
            self._group("model", record.model)
        if record.fits is not None:
            self._group("fits", "yes" if record.fits else "no")
            if not record.fits:
                self._name(SHORTER, record.clip)
        if record.index_remark:
            self.remarked += 1
            if len(self.remarks) < _NAMED:
                self.remarks.append((record.clip, record.index_remark))
        if size := record.scored_size:
            self._name(DOWNSCALED, f"{record.clip} at {size[0]}x{size[1]}")
        if record.windows:
            drifts = [f"{label(metric)} {change:+.2f}" for metric, change in record.drift.items()]
            drifting = f", drift {', '.join(drifts)}" if drifts else ""
            self._name(IN_WINDOWS, f"{record.clip} in {len(record.windows)}{drifting}")
        if record.failed:
            self.failed += 1
            if len(self.failures) < _NAMED:
                why = next(filter(None, [record.error, *record.errors.values()]))
                self.failures.append((record.clip, why))
        self.clips += 1

    def _name(self, what: str, clip: str) -> None:
        count, named = self.reduced.get(what, (0, []))
        self.reduced[what] = count + 1, [*named, clip][:_NAMED]

    def _count_reasons(self, record: Record) -> None:
        alike: dict[tuple[str, bool], list[str]] = {}
        for metric, reason in record.missing.items():
            alike.setdefault((reason, metric in record.not_applicable), []).append(metric)
        for (reason, foreign), metrics in alike.items():
            key = (reason, in_order(metrics), foreign)
            if key in self.reasons or len(self.reasons) < _MOST_REASONS:
                clips, names = self.reasons.get(key, (0, []))
                most = NAMED_COLLAPSED if collapse_of(reason) else _NAMED
                self.reasons[key] = (clips + 1, [*names, record.clip] if clips < most else names)

    def _flag(self, columns: dict[str, bytearray], names: Iterable[str]) -> None:
        """Set the flag of the record that is taken in, in some columns."""
        for name in names:
            flags = columns.setdefault(name, bytearray())
            _pad(flags, self.clips, 0)
            flags.append(1)

    def _flags(self, columns: dict[str, bytearray], name: str) -> NDArray[np.bool_]:
        flags = columns.get(name, bytearray())
        _pad(flags, self.clips, 0)
        return np.frombuffer(flags, np.bool_)

    def _group(self, name: str, value: str | float) -> None:
        codes, column = self._groups.setdefault(name, ({}, array("l")))
        if len(codes) >= MOST_VALUES and name != "model":
            return
        _pad(column, self.clips, -1)
        column.append(codes.setdefault(value, len(codes)))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that any record says anything about."""
        return in_order(self._metrics)

    @property
    def notes(self) -> list[str]:
        """Notes on metrics whose scores have several versions, and on tags with too many values for a breakdown."""
        counts = sorted(self._versions.items())
        sources = [(f"{n} clip{'s' * (n > 1)}", {metric: (version,)}) for (metric, version), n in counts]
        mixed = [f"metric versions differ: {text}" for text in differing(sources).values()]
        many = [tag for tag in self.tags if len(self._groups[f"tag {tag}"][0]) >= MOST_VALUES]
        return mixed + [f"tag {tag} has {MOST_VALUES:,} values or more: not in breakdown.csv" for tag in many]

    @property
    def indexed(self) -> bool:
        """True if any record has a motion index."""
        return INDEX in self._scores

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags that any record has, the pattern first."""
        names = (name.removeprefix("tag ") for name in self._groups if name.startswith("tag "))
        return tuple(sorted(names, key=lambda name: (name != "pattern", name)))

    @property
    def models(self) -> dict[str, IntArray]:
        """Numbers of the records of each model, ascending, by its name."""
        return {str(model): rows for model, rows in self._rows("model").items()}

    @property
    def fits(self) -> dict[str | float, IntArray]:
        """Numbers of the records that last as long as their prompt's motion needs ("yes"), and of shorter ones."""
        return self._rows("fits")

    def by_tag(self, name: str) -> dict[str | float, IntArray]:
        """Return numbers of the records with each value of a tag, ascending; none for :data:`MOST_VALUES` or more."""
        rows = self._rows(f"tag {name}")
        return rows if len(rows) < MOST_VALUES else {}

    def _rows(self, group: str) -> dict[str | float, IntArray]:
        codes, column = self._groups.get(group, ({}, array("l")))
        if not codes:
            return {}
        numbers = np.frombuffer(column, np.dtype("l"))
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(-1, len(codes)), side="right")
        rows = np.split(order, ends[:-1])[1:]  # those without a value come first
        values = sorted(codes, key=lambda value: (isinstance(value, str), value))
        return {value: rows[codes[value]] for value in values}

    def mean(self, rows: IntArray | None = None, many: int | None = None) -> dict[str, Mean]:
        """Return mean and 95 % interval over prompts by metric, where there is a score, and of the index twice.

        The index is that of the clips judged (:data:`INDEX`), and with collapsed ones as 0 (:data:`INDEX_OR_ZERO`).

        Args:
            rows: Numbers of the records; None for all.
            many: As of :func:`mean_with_interval`; None for 100 in a large run.
        """
        many = drawn_below(self.clips) if many is None else many
        chosen = slice(None) if rows is None else rows
        prompts = np.frombuffer(self._prompts, np.int64)[chosen] if self.clips else np.zeros(0, np.int64)
        means = {}
        for name in (*self.metrics, INDEX, INDEX_OR_ZERO):
            column = self._scores.get(name, array("d"))
            _pad(column, self.clips, math.nan)
            scores = np.frombuffer(column, np.float64)[chosen]
            scored = ~np.isnan(scores)
            means[name] = mean_with_interval(scores[scored], many, prompts[scored])
        return {name: mean for name, mean in means.items() if mean is not None}

    def unjudged(self, rows: IntArray, metric: str = INDEX) -> int:
        """Return how many of some records are unjudged in a metric (:meth:`Record.unjudged_in`)."""
        return int((self._flags(self._unjudged, metric) | self._flags(self._unjudged, _EVERY))[rows].sum())

    def foreign(self, metric: str, rows: IntArray | None = None) -> int:
        """Return how many of some records a metric does not apply to."""
        flagged = self._flags(self._foreign, metric)
        return int(flagged.sum() if rows is None else flagged[rows].sum())


def drawn_below(clips: int) -> int | None:
    """Return ``many`` of :func:`mean_with_interval` for any part of a run of so many clips."""
    return _SOME if clips >= MANY else None  # or the parts together would take as long as the whole


def prompt_of(record: Record) -> str:
    """Return what a clip is drawn by in bootstrap samples: its prompt, or its name where it has none."""
    return " ".join(record.prompt.split()) if record.prompt else f"\0{record.clip}"


def _pad(column: array[float] | array[int] | bytearray, length: int, value: float) -> None:
    """Lengthen a column that the last records had nothing for."""
    if len(column) < length:
        column.extend([value] * (length - len(column)))  # type: ignore[list-item]


# Sentences beneath a table of scores: what its brackets are, what is missing or failed and why, lowered indices.


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
    """Return lines with the clips without a score by reason, those whose index is lowered, and the reduced ones.

    Collapsed clips come first, a line for each kind; the most frequent of the other reasons follow.
    """
    reasons = table.summary.reasons
    collapsed = _by_kind((key, clips) for key, clips in reasons.items() if collapse_of(key[0]))
    others = [(key, clips) for key, clips in reasons.items() if not collapse_of(key[0])]
    others.sort(key=lambda item: -item[1][0])
    lines = [_missing_line(len(table), *item) for item in (*collapsed, *others[:_SHOWN_REASONS])]
    summary, total = table.summary, len(table)
    lowered = [f"{clip} {remark}" for clip, remark in summary.remarks]
    lines += _named_lines("INDEX lowered", summary.remarked, total, lowered)
    lines += reduced_lines(summary)
    rest = len(others) - _SHOWN_REASONS
    return [*lines, *([f"- {rest} more reasons of missing scores: column missing of scores.csv"] if rest > 0 else [])]


def reduced_lines(summary: Summary) -> list[str]:
    """Return lines with the clips that were scored at a smaller size, and those that were scored in windows."""
    kinds = ((what, summary.reduced[what]) for what in (DOWNSCALED, IN_WINDOWS, SHORTER) if what in summary.reduced)
    return [line for what, (count, named) in kinds for line in _named_lines(what, count, summary.clips, named)]


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
    names_of = ", ".join(map(label, metrics))
    verb = ("do not apply to" if len(metrics) > 1 else "does not apply to") if foreign else "missing in"
    which = f" ({', '.join(names)}{more})" if named else ""
    return f"- {names_of} {verb} {share}: {'collapsed, ' if collapse else ''}{reason}{which}"


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
