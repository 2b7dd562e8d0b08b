"""Pictures of a clip in a run directory: posters in a journal, and a file per clip of what the models saw."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmmetrics.errors import cannot
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.storage.atomic import write_atomically

POSTERS = "posters.jsonl"
"""File of the run directory: a line per clip and session."""
OVERLAYS = "overlays"
"""Folder of the run directory."""
_MOST_BYTES = 64 * 2**20  # of an overlay when unpacked


@dataclass(frozen=True, slots=True)
class Pictures:
    """What pages and pictures show of a clip.

    Attributes:
        poster: The frame in the middle as WebP, some 2 to 12 KB; b"" for none.
        overlay: From :func:`vmmetrics.scoring.show.overlay.encode_overlay`, some 3 to 40 KB; b"" where none was wanted.
    """

    poster: bytes = b""
    overlay: bytes = b""


@dataclass(frozen=True, slots=True)
class Poster:
    """A line of :data:`POSTERS`; ``webp`` is in base64."""

    clip: str
    path: str | None
    sha256: str
    webp: str


def poster_line(clip: str, path: str | None, sha256: str, poster: bytes) -> dict[str, Any]:
    """Return the line of :data:`POSTERS` that keeps a poster."""
    return asdict(Poster(clip, path, sha256, base64.b64encode(poster).decode()))


def overlay_path(run: Path, sha256: str) -> Path:
    """Return where the overlay of the clip with this hash lies in a run directory."""
    return run / OVERLAYS / sha256[:2] / f"{sha256}.json.gz"


def keep_overlay(run: Path, sha256: str, overlay: bytes) -> None:
    """Put an overlay into a run directory; what an earlier one of the clip has besides is kept.

    Raises:
        SetupError: It cannot be written.
    """
    path = overlay_path(run, sha256)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        older = path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise cannot("write", path, error) from error
    write_atomically(path, _combined(older, overlay) if older else overlay)


def _combined(older: bytes, newer: bytes) -> bytes:
    """Return the overlay with what either has, of both the newer; the newer alone where the older is damaged."""
    try:
        before, now = (dict(unpacked(data)) for data in (older, newer))
    except (TypeError, ValueError):
        return newer
    return packed({**before, **now})


def packed(overlay: dict[str, Any]) -> bytes:
    """Return JSON, gzipped; the same bytes for the same object."""
    text = json.dumps(overlay, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "backslashreplace"), mtime=0)


def unpacked(data: bytes) -> Any:
    """Return what :func:`packed` was given.

    Raises:
        ValueError: It is not gzipped, no JSON, cut off or over 64 MB.
    """
    unpacking = zlib.decompressobj(wbits=31)
    try:
        text = unpacking.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"not gzipped ({error})") from error
    if not unpacking.eof:
        raise ValueError(f"cut off, or over {_MOST_BYTES // 2**20} MB")
    return parse_json(text)
