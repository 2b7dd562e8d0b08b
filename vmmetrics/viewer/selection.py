"""Choice of the clips that a report lists: the worst, all, or those in a file."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.errors import SetupError, refusing
from vmmetrics.metrics.registry import find
from vmmetrics.scoring.prompt_scores import score_of
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.summary import INDEX
from vmmetrics.types import INDEX_NEEDS
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.viewer.sources import Source
from vmmetrics.viewer.texts import Texts

MOST_CLIPS = 100_000
"""Clips in one page: Chromium opens as many in under 5 s (``python -m benchmarks.report_scale``)."""
_SUGGESTED = 2000
_NAMED = 5  # unknown names in a message
_WORST = re.compile(r"worst:([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Selection:
    """Clips that are listed.

    Attributes:
        positions: By source, positions of its records, ascending.
        reason: Why the others are left out; "" where all are listed.
    """

    positions: tuple[tuple[int, ...], ...]
    reason: str = ""

    def __len__(self) -> int:
        return sum(map(len, self.positions))


def select(sources: Sequence[Source], clips: str | os.PathLike[str], by: str = INDEX) -> Selection:
    """Choose the clips of a report.

    Args:
        sources: The runs.
        clips: ``"all"``; ``"worst:N"``: those that failed, then those of the lowest :func:`badness`; or a file with
            a name a line, as the table of scores has it, or with the run's name and a slash in front.
        by: Index by which clips are the worst.

    Raises:
        SetupError: The file cannot be read or names a clip that no run has, N is 0, or there are too many clips.
    """
    text, total = os.fspath(clips), sum(len(source.records) for source in sources)
    if text == "all":
        selection = Selection(tuple(tuple(range(len(source.records))) for source in sources))
    elif match := _WORST.fullmatch(text):
        selection = _worst(sources, int(match[1]), by)
    elif Path(text).is_file():
        selection = _named(sources, Path(text))
    else:
        raise SetupError(f"Expected all, worst:N or a file with names of clips but got {text!r}")
    if len(selection) > MOST_CLIPS:
        raise SetupError(
            f"{len(selection):,} clips are more than a page opens in a few seconds ({MOST_CLIPS:,}); list some of them "
            f"with --clips worst:{_SUGGESTED} or --clips FILE: statistics are over all {total:,} clips in any case"
        )
    return selection


def badness(record: Record, by: str = INDEX) -> tuple[int, float]:
    """Return the key by which clips are sorted, worst first.

    Clips that failed come first, then clips by an index; one without an index by its lowest score of a metric
    whose low scores are faults, on that metric's range; clips without any such score last.
    """
    if record.failed:
        return 0, 0.0
    if (index := score_of(record, by)) is not None:
        return 1, index
    shares = [_share(metric, score) for metric, score in record.scores.items()]
    lowest = min((share for share in shares if share is not None), default=None)
    return (2, 0.0) if lowest is None else (1, lowest)


def _share(key: str, score: float) -> float | None:
    """Return a score as a share of its metric's range; None where a low score is no fault."""
    metric = find(key)
    if metric is None or not metric.low_is_fault:
        return None
    low, high = metric.range
    share = (score - low) / (high - low) if math.isfinite(high - low) and high > low else None
    return share if share is None or metric.higher_is_better else 1 - share


def _worst(sources: Sequence[Source], most: int, index: str) -> Selection:
    if not most:
        raise SetupError("--clips worst:N needs at least 1 clip")
    ranked = sorted(
        (badness(record, index), run, position)
        for run, source in enumerate(sources)
        for position, record in enumerate(source.records)
    )
    chosen: list[list[int]] = [[] for _ in sources]
    for _, run, position in sorted(ranked[:most], key=lambda entry: entry[1:]):
        chosen[run].append(position)
    indexed = any({*INDEX_NEEDS} <= record.scores.keys() for source in sources for record in source.records)
    by = ("motion index" if index == INDEX else index) if indexed else "score"
    reason = f"not among the worst {most:,} clips by {by}" if len(ranked) > most else ""
    return Selection(tuple(map(tuple, chosen)), reason)


def _named(sources: Sequence[Source], file: Path) -> Selection:
    with refusing("read", file):
        lines = read_regular(file).decode("utf-8", "surrogateescape").splitlines()
    asked = dict.fromkeys(line.strip() for line in lines if line.strip())
    if not asked:
        raise SetupError(f"{file} names no clip")
    used: set[str] = set()
    chosen: list[tuple[int, ...]] = []
    for source in sources:
        positions = []
        for position, (record, name) in enumerate(zip(source.records, source.names, strict=True)):
            matches = {record.clip, name, f"{source.name}/{name}"} & asked.keys()
            if matches:
                used |= matches
                positions.append(position)
        chosen.append(tuple(positions))
    if unknown := [name for name in asked if name not in used]:
        raise SetupError(f"{file} names clips that no run has: {listed(unknown, _NAMED)}")
    total = sum(len(source.records) for source in sources)
    selection = Selection(tuple(chosen))
    return Selection(selection.positions, f"not in {file.name}" if len(selection) < total else "")


@dataclass(frozen=True, slots=True)
class Row:
    """A clip of a report.

    Attributes:
        number: Position in the report.
        record: Its record.
        name: Its name, unlike those of other clips of the run.
        run: Position of its run.
        model: Its model as the leaderboard names it.
        texts: Removes paths and hosts.
    """

    number: int
    record: Record
    name: str
    run: int
    model: str
    texts: Texts

    def text(self, text: str) -> str:
        """Return a text on the clip without paths and hosts."""
        return self.texts(text, self.record, self.name)


def rows_of(sources: Sequence[Source], selection: Selection, texts: Texts) -> list[list[Row]]:
    """Return the clips of each run that are listed."""
    rows: list[list[Row]] = []
    number = 0
    for run, (source, positions) in enumerate(zip(sources, selection.positions, strict=True)):
        models: dict[str | None, str] = {}
        of_run = []
        for position in positions:
            record = source.records[position]
            if record.model not in models:
                models[record.model] = texts(source.run.model_name(record.model))
            of_run.append(Row(number, record, source.names[position], run, models[record.model], texts))
            number += 1
        rows.append(of_run)
    return rows
