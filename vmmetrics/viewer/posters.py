"""Posters of a run: streamed from its journal, checked, and written for the clips of a report."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path

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
    size = webp_size(data)
    if size is None or int.from_bytes(data[4:8], "little") + 8 != len(data):
        raise ValueError("not a WebP picture")
    if not 0 < min(size) <= max(size) <= _LONGEST_SIDE:
        raise ValueError(f"{size[0]} x {size[1]} pixels, more than a poster has")
    return data


def webp_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height in the header of a WebP picture (RFC 9649), or None where it is none."""
    if len(data) < 30 or data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    kind = data[12:16]
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None
