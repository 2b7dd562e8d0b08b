"""Posters of a run: streamed from its journal, checked, and written for the clips of a report."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from vmmetrics.scoring.pictures import POSTERS, Poster
from vmmetrics.utils.storage.journal import iterate_with_text

MOST_BYTES = 1 << 20
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
            (folder / poster_name(row)).write_bytes(read_webp(line["webp"]))
        except ValueError as error:
            damaged.append(f"{POSTERS}, {line['clip']}, {error}; left out")
        else:
            written.add(row)
    more = len(damaged) - _NAMED
    warnings += [*damaged[:_NAMED], *([f"{POSTERS}: {more:,} more posters are damaged"] if more > 0 else [])]
    return written


def poster_name(row: int) -> str:
    """Return the name of the poster of a row."""
    return f"{row:06}.webp"


def read_webp(text: str) -> bytes:
    """Return the bytes of a WebP picture in base64.

    Raises:
        ValueError: It is no such picture, cut off, or larger than a poster can be.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64 ({error})") from error
    if len(data) > MOST_BYTES:
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
