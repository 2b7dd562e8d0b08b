"""Pictures of clips in a run directory: posters in a journal, and an overlay file per clip."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, cannot
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.storage.atomic import write_atomically
from vmmetrics.utils.storage.opening import read_regular

POSTERS = "posters.jsonl"
"""File of the run directory: a line per clip and session."""
OVERLAYS = "overlays"
"""Folder of the run directory."""
_SHA256 = re.compile("[0-9a-f]{64}")
_SUFFIX = ".json.gz"
_MOST_BYTES = 64 * 2**20  # of an overlay when unpacked


@dataclass(frozen=True, slots=True)
class Pictures:
    """Pictures of a clip for pages.

    Attributes:
        poster: The frame in the middle as WebP, some 2 to 12 KB; b"" for none.
        overlay: From :func:`vmmetrics.scoring.show.overlay.encode_overlay`, some 3 to 40 KB; b"" for none.
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
    """Return the line of :data:`POSTERS` for a poster."""
    return asdict(Poster(clip, path, sha256, base64.b64encode(poster).decode()))


def overlay_path(run: Path, sha256: str) -> Path:
    """Return the path of the overlay of the clip with this hash in a run directory.

    Raises:
        SetupError: It is not a SHA-256; the record is damaged.
    """
    if not _SHA256.fullmatch(sha256):
        raise SetupError(f"A record of {run} is damaged: sha256: expected 64 hex digits but got {sha256[:80]!r}")
    return run / OVERLAYS / sha256[:2] / f"{sha256}{_SUFFIX}"


def overlays(run: Path) -> Iterator[tuple[str, Path]]:
    """Yield the hashes and files of the overlays of a run directory, one folder after the other, without links."""
    for folder in sorted((run / OVERLAYS).glob("[0-9a-f][0-9a-f]")):
        if folder.is_symlink():
            continue
        with os.scandir(folder) as entries:
            for entry in entries:
                sha256 = entry.name.removesuffix(_SUFFIX)
                is_overlay = entry.name == f"{sha256}{_SUFFIX}" and _SHA256.fullmatch(sha256)
                if is_overlay and entry.is_file(follow_symlinks=False) and entry.stat().st_size <= _MOST_BYTES:
                    yield sha256, folder / entry.name


def keep_overlay(run: Path, sha256: str, overlay: bytes) -> None:
    """Store an overlay in a run directory atomically, merged with an earlier one of the clip.

    It is not synced to disk, as an overlay can be made again.

    Raises:
        SetupError: It cannot be written.
    """
    path = overlay_path(run, sha256)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        older = read_regular(path, _MOST_BYTES) if path.is_file() else b""
    except OSError as error:
        raise cannot("write", path, error) from error
    write_atomically(path, _combined(older, overlay) if older else overlay, durable=False)


def _combined(older: bytes, newer: bytes) -> bytes:
    """Return the two overlays merged, the newer one first; the newer alone if the older is damaged."""
    try:
        old, new = (dict(unpacked(data)) for data in (older, newer))
    except (TypeError, ValueError):
        return newer
    return packed({**old, **new})


def packed(overlay: dict[str, Any]) -> bytes:
    """Return JSON, gzipped; the same bytes for the same object."""
    text = json.dumps(overlay, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "backslashreplace"), mtime=0)


def unpacked(data: bytes) -> Any:
    """Return the object that :func:`packed` encoded.

    Raises:
        ValueError: It is not gzipped JSON, cut off, or over 64 MB.
    """
    unpacking = zlib.decompressobj(wbits=31)
    try:
        text = unpacking.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"not gzipped ({error})") from error
    if not unpacking.eof:
        raise ValueError(f"cut off, or over {_MOST_BYTES // 2**20} MB")
    return parse_json(text)
