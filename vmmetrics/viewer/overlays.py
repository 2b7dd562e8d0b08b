"""Overlays of a report: those that runs kept, and some that the models of the run draw again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median

from vmmetrics.errors import VMMetricsError, os_reason
from vmmetrics.scoring.pictures import overlays
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.scored_clip import recall
from vmmetrics.scoring.show.overlay import encode_overlay
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.viewer.folder import write_overlay
from vmmetrics.viewer.selection import Row, badness

SECONDS = 20.0
"""Of drawing overlays again unasked, by the times of scoring."""


def redraw(run: Path, record: Record, warnings: list[str] | None = None, *, fetch: bool = False) -> bytes:
    """Return the overlay of a clip; its models run only where the run kept none.

    Args:
        run: Run directory.
        record: One of its records.
        warnings: Receives texts on differences between the models of the run and those here.
        fetch: Contact the addresses that the run names.

    Raises:
        ClipError: The clip could not be scored, or its file has moved or changed since.
        SetupError: The run's models are not here, or a file of the run is damaged.
    """
    recalled = recall(run, record.key, fetch=fetch)  # names need not be unique
    if warnings is not None:
        warnings += recalled.warnings
    return encode_overlay(recalled.clip, recalled.perceived)


def seconds_per_clip(records: Iterable[Record]) -> float:
    """Return the median time in seconds that scoring took per clip, more than redrawing does; 0 where not recorded."""
    seconds = [record.seconds for record in records if record.error is None and record.seconds > 0]
    return median(seconds) if seconds else 0.0


def estimate(seconds_per_clip: float, clips: int) -> str:
    """Return the longest time that redrawing is expected to take, as text.

    >>> estimate(5.4, 200), estimate(5.4, 1), estimate(0, 3)
    ('up to 18 min (5.4 s a clip)', 'up to 5 s', 'of unknown duration')
    """
    total = seconds_per_clip * clips
    if not total:
        return "of unknown duration"
    minutes = total / 60
    length = f"{total:.0f} s" if total < 90 else f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
    return f"up to {length}" + (f" ({seconds_per_clip:.2g} s a clip)" if clips > 1 else "")


_MOST_BYTES = 8 << 20  # gzipped; those that scoring keeps have 1 to 40 KB


def write_overlays(run: Path, rows: Sequence[Row], folder: Path, warnings: list[str]) -> set[int]:
    """Write the overlays that a run kept; return the numbers of the clips that have one.

    Args:
        run: Run directory.
        rows: Its clips.
        folder: The report.
        warnings: Receives texts on damaged files.
    """
    stored = dict(overlays(run))
    written: set[int] = set()
    for row in rows:
        file = stored.get(row.record.sha256 or "")
        try:
            data = b"" if file is None else read_regular(file)
        except OSError as error:
            warnings.append(f"the overlay of {row.name} cannot be read: {os_reason(error)}; left out")
            continue
        if data.startswith(b"\x1f\x8b") and len(data) <= _MOST_BYTES:
            write_overlay(folder, row.number, data)
            written.add(row.number)
        elif data:  # else there is none, or a crash truncated it
            warnings.append(f"the overlay of {row.name} is damaged; left out")
    return written


def drawable(row: Row) -> bool:
    """Return True if the overlay of a clip can be drawn again: it was scored as a whole, and from a file."""
    return row.record.error is None and row.record.path is not None and not row.record.windows


def redraw_overlays(
    run: Path,
    rows: Sequence[Row],
    folder: Path,
    warnings: list[str],
    advance: Callable[[], None],
    *,
    fetch: bool = False,
) -> set[int]:
    """Draw overlays of a run's clips again; return the numbers of the clips that have one then.

    Args:
        run: Run directory.
        rows: Clips without an overlay.
        folder: The report.
        warnings: Receives the reasons why overlays cannot be drawn.
        advance: Called after every clip.
        fetch: Contact the addresses that the run names.
    """
    written: set[int] = set()
    for row in rows:
        try:
            write_overlay(folder, row.number, redraw(run, row.record, warnings, fetch=fetch))
            written.add(row.number)
        except VMMetricsError as error:
            warnings.append(f"no overlay of {row.name}: {row.text(str(error))}")
        advance()
    return written


def worst(rows: Sequence[Row], most: int | None) -> list[Row]:
    """Return so many of the clips whose overlay can be drawn again, worst first.

    Args:
        rows: The clips.
        most: Their number at most; None for what takes :data:`SECONDS`, of clips whose files and models are here.
    """
    chosen = list(filter(drawable, rows))
    if most is None:
        chosen = [row for row in chosen if row.record.preset == "embedded" and Path(str(row.record.path)).exists()]
        seconds = seconds_per_clip(row.record for row in chosen)
        most = int(SECONDS / seconds) if seconds else 0
    return sorted(chosen, key=lambda row: (badness(row.record), row.number))[:most]
