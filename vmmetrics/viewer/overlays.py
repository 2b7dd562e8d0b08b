"""Overlays of clips whose run kept none: perceived again by the run's models."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from vmmetrics.scoring.recall import recall
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.show.overlay import encode_overlay


def redraw(run: Path, record: Record, warnings: list[str] | None = None) -> bytes:
    """Return the overlay of a clip; its models run only where the run kept none.

    Args:
        run: Run directory.
        record: One of its records.
        warnings: Receives texts on differences between the models of the run and those here.

    Raises:
        ClipError: The clip could not be scored, or its file has moved or changed since.
        SetupError: The run's models are not here, or a file of the run is damaged.
    """
    recalled = recall(run, record.key)  # names need not be unique
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
