"""Overlays of a report: those that runs kept, and some that are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vmmetrics.errors import VMMetricsError
from vmmetrics.scoring.pictures import overlays
from vmmetrics.viewer.folder import write_overlay
from vmmetrics.viewer.overlays import redraw
from vmmetrics.viewer.rows import Row
from vmmetrics.viewer.selection import badness

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
        data = b"" if file is None else file.read_bytes()
        if data.startswith(b"\x1f\x8b") and len(data) <= _MOST_BYTES:
            write_overlay(folder, row.number, data)
            written.add(row.number)
        elif data:  # else there is none, or the power went before it was on the disk
            warnings.append(f"the overlay of {row.name} is damaged; left out")
    return written


def drawable(row: Row) -> bool:
    """Return True if the overlay of a clip can be drawn again: it was scored, and from a file."""
    return row.record.error is None and row.record.path is not None


def redraw_overlays(
    run: Path, rows: Sequence[Row], folder: Path, warnings: list[str], advance: Callable[[], None]
) -> set[int]:
    """Draw overlays of a run's clips again; return the numbers of the clips that have one then.

    Args:
        run: Run directory.
        rows: Clips without an overlay.
        folder: The report.
        warnings: Receives the reasons why overlays cannot be drawn.
        advance: Called after every clip.
    """
    written: set[int] = set()
    for row in rows:
        try:
            write_overlay(folder, row.number, redraw(run, row.record, warnings))
            written.add(row.number)
        except VMMetricsError as error:
            warnings.append(f"no overlay of {row.name}: {row.text(str(error))}")
        advance()
    return written


def worst(rows: Sequence[Row], most: int) -> list[Row]:
    """Return so many of the clips whose overlay can be drawn again, worst first."""
    return sorted(filter(drawable, rows), key=lambda row: (badness(row.record), row.number))[:most]
