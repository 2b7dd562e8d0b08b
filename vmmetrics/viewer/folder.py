"""Files of a report: where they may be written, a folder of them, or one file with everything."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from vmmetrics.errors import SetupError, refusing
from vmmetrics.utils.storage.atomic import making
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.viewer.page import MARK, call, page, script, single_page, style, values_of

INDEX_PAGE = "index.html"
_PARTS = ("app", "data", "posters", "overlays", "media")
_MARK_BYTES = 4096  # of index.html, in which the mark stands


def earlier_report(target: Path) -> Path | None:
    """Return the folder if it holds an earlier report; None where there is nothing.

    Raises:
        SetupError: It holds something else, which would be lost.
    """
    with refusing("read", target):
        if not target.exists():
            return None
        if not target.is_dir():
            raise SetupError(f"{target} is a file; a report is a folder")
        names = sorted(path.name for path in target.iterdir())
        if not names:
            return None
        index = target / INDEX_PAGE
        start = b""
        if index.is_file():
            with open_regular(index) as file:
                start = file.read(_MARK_BYTES)
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


def write_overlay(folder: Path, row: int, gzipped: bytes) -> None:
    """Write an overlay as a script that the page loads when the clip is opened."""
    text = call("overlay", row, base64.b64encode(gzipped).decode())
    (folder / "overlays" / f"{row:06}.js").write_text(text, "utf-8")


def write_shard(folder: Path, number: int, clips: Sequence[Mapping[str, Any]]) -> None:
    """Write details of clips as a script that the page loads when one of them is opened."""
    (folder / "data" / f"detail-{number:03}.js").write_text(call("detail", number, clips), "utf-8")


def write_page(folder: Path, index: Mapping[str, Any]) -> None:
    """Write the page with its program and the index."""
    (folder / "data" / "index.js").write_text(call("index", index), "utf-8")
    (folder / "app" / "report.js").write_text(script(), "utf-8")
    (folder / "app" / "report.css").write_text(style(), "utf-8")
    (folder / INDEX_PAGE).write_text(page(), "utf-8")


MOST_BYTES = 50_000_000
"""Of a page that browsers open and mail programs send."""
_TYPES = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".webp": "image/webp"}
_INLINED = {"media": "videos", "posters": "posters", "overlays": "overlays", "data": "events and series"}


def write_single(folder: Path) -> None:
    """Turn a report that was written into one page that holds its posters, details, overlays and videos.

    Args:
        folder: The report, with copied or transcoded videos; what is linked from elsewhere stays linked.

    Raises:
        SetupError: It would be over :data:`MOST_BYTES`.
    """
    sizes = {part: sum(path.stat().st_size for path in _files(folder / part)) for part in _INLINED}
    sizes |= {part: sizes[part] * 4 // 3 for part in ("media", "posters")}  # base64
    total = sum(sizes.values())
    if total > MOST_BYTES:
        largest = max(sizes, key=sizes.__getitem__)
        listed = ", ".join(f"{name} {sizes[part] / 1e6:,.1f} MB" for part, name in _INLINED.items())
        advice = {"media": "list fewer clips or leave out --single-file", "overlays": "list fewer clips"}
        raise SetupError(
            f"One file would have {total / 1e6:,.0f} MB, more than {MOST_BYTES / 1e6:.0f}: {listed}; "
            f"{advice.get(largest, 'list fewer clips')}, such as --clips worst:50"
        )
    index = _values(folder / "data" / "index.js")[0]
    videos = {f"media/{path.name}": _data_url(path) for path in _files(folder / "media")}
    media = index["clips"]["media"]
    index["clips"]["media"] = [videos.get(unquote(url), url) if isinstance(url, str) else url for url in media]
    inline = {
        "posters": {str(int(path.stem)): _data_url(path) for path in _files(folder / "posters")},
        "overlays": {str(int(path.stem)): _values(path)[1] for path in _files(folder / "overlays")},
        "details": [_values(path)[1] for path in _files(folder / "data") if path.name != "index.js"],
    }
    text = single_page(index, inline)
    for part in ("app", *_INLINED):
        shutil.rmtree(folder / part)
        (folder / part).mkdir()
    (folder / INDEX_PAGE).write_text(text, "utf-8")


def _values(path: Path) -> list[Any]:
    return values_of(path.read_text("utf-8"))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _data_url(path: Path) -> str:
    kind = _TYPES.get(path.suffix.lower(), "application/octet-stream")
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
