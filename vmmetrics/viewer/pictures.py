"""Pictures of a report: posters and overlays that runs kept, and overlays that the models of a run draw again."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from PIL import Image

from vmmetrics.errors import VMMetricsError, os_reason
from vmmetrics.scoring.pictures import POSTERS, Poster, overlays
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.scored_clip import recall
from vmmetrics.scoring.show.overlay import encode_overlay
from vmmetrics.utils.storage.journal import iterate_with_text
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.viewer.folder import write_overlay
from vmmetrics.viewer.selection import Row, badness

# Posters: streamed from the journal of a run, checked, and written for the clips of a report.

MOST_POSTER_BYTES = 1 << 20
"""Of a poster: those that scoring keeps have 2 to 12 KB."""
_LONGEST_SIDE = 4096
_NAMED = 3  # damaged posters that are named one by one


def write_posters(run: Path, rows: Mapping[tuple[str, str | None], int], folder: Path, warnings: list[str]) -> set[int]:
    """Write the posters of clips as ``<row>.webp``; of several of one clip the newest counts.

    Args:
        run: Run directory.
        rows: Rows in the report by key and hash of the clip.
        folder: Where to.
        warnings: Receives texts on damaged lines and posters.

    Returns:
        The rows that have one.
    """
    written: set[int] = set()
    damaged: list[str] = []
    for line, _ in iterate_with_text(run / POSTERS, like=Poster, warnings=warnings):
        row = rows.get((line.get("path") or line["clip"], line["sha256"]))
        if row is None:
            continue
        try:
            (folder / f"{row:06}.webp").write_bytes(read_webp(line["webp"]))
        except ValueError as error:
            damaged.append(f"{POSTERS}, {line['clip']}, {error}; left out")
        else:
            written.add(row)
    more = len(damaged) - _NAMED
    warnings += [*damaged[:_NAMED], *([f"{POSTERS}: {more:,} more posters are damaged"] if more > 0 else [])]
    return written


def read_webp(text: str) -> bytes:
    """Return the bytes of a WebP picture in base64.

    Raises:
        ValueError: It is no such picture, cut off, or larger than a poster can be.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64 ({error})") from error
    if len(data) > MOST_POSTER_BYTES:
        raise ValueError(f"{len(data):,} bytes, more than a poster has")
    try:
        width, height = Image.open(io.BytesIO(data), formats=["WEBP"]).size
    except Exception as error:  # Pillow's readers raise whatever the damage provokes
        raise ValueError("not a WebP picture") from error
    if int.from_bytes(data[4:8], "little") + 8 != len(data):
        raise ValueError("not a whole WebP picture")
    if max(width, height) > _LONGEST_SIDE:
        raise ValueError(f"{width} x {height} pixels, more than a poster has")
    return data


# Overlays.

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


_MOST_OVERLAY_BYTES = 8 << 20  # gzipped; those that scoring keeps have 1 to 40 KB


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
        if data.startswith(b"\x1f\x8b") and len(data) <= _MOST_OVERLAY_BYTES:
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
