"""Folder of a report: where it may be written, and the files in it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, cannot
from vmmetrics.utils.storage.atomic import making
from vmmetrics.viewer.page import MARK, call, page, script, style

INDEX_PAGE = "index.html"
_PARTS = ("app", "data", "posters", "overlays", "media")
_MARK_BYTES = 4096  # of index.html, in which the mark stands


def earlier_report(target: Path) -> Path | None:
    """Return the folder if it holds an earlier report; None where there is nothing.

    Raises:
        SetupError: It holds something else, which would be lost.
    """
    try:
        if not target.exists():
            return None
        if not target.is_dir():
            raise SetupError(f"{target} is a file; a report is a folder")
        names = sorted(path.name for path in target.iterdir())
        if not names:
            return None
        index = target / INDEX_PAGE
        start = index.open("rb").read(_MARK_BYTES) if index.is_file() else b""
    except OSError as error:
        raise cannot("read", target, error) from error
    if MARK.encode() not in start:
        raise SetupError(f"{target} is not empty and holds no report; choose another folder")
    if foreign := [name for name in names if name not in (*_PARTS, INDEX_PAGE)]:
        raise SetupError(f"{target} holds more than a report: {foreign[0]}; move that, or choose another folder")
    return target


@contextmanager
def making_report(target: Path) -> Iterator[Path]:
    """Make a report under a hidden name; it takes the place of an absent or empty folder or of an earlier report."""
    earlier_report(target)
    with making(target, replace=True) as folder:
        for name in _PARTS:
            (folder / name).mkdir()
        yield folder
        for name in _PARTS:
            if not any((folder / name).iterdir()):
                (folder / name).rmdir()


def overlay_name(row: int) -> str:
    """Return the name of the overlay of a row."""
    return f"{row:06}.js"


def write_overlay(folder: Path, row: int, gzipped: bytes) -> None:
    """Write an overlay as a script that the page loads when the clip is opened."""
    text = call("overlay", row, base64.b64encode(gzipped).decode())
    (folder / "overlays" / overlay_name(row)).write_text(text, "utf-8")


def write_shard(folder: Path, number: int, clips: Sequence[Mapping[str, Any]]) -> None:
    """Write details of clips as a script that the page loads when one of them is opened."""
    (folder / "data" / f"detail-{number:03}.js").write_text(call("detail", number, clips), "utf-8")


def write_page(folder: Path, index: Mapping[str, Any]) -> None:
    """Write the page with its program and the index."""
    (folder / "data" / "index.js").write_text(call("index", index), "utf-8")
    (folder / "app" / "report.js").write_text(script(), "utf-8")
    (folder / "app" / "report.css").write_text(style(), "utf-8")
    (folder / INDEX_PAGE).write_text(page(), "utf-8")
