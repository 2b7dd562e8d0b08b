"""One HTML file in place of a report's folder."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from vmmetrics.errors import SetupError
from vmmetrics.viewer.folder import INDEX_PAGE
from vmmetrics.viewer.page import single_page, values_of

MOST_BYTES = 50_000_000
"""Of a page that browsers open and mail programs send."""
_TYPES = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm"}
_PARTS = {"media": "videos", "posters": "posters", "overlays": "overlays", "data": "events and series"}


def write_single(folder: Path) -> None:
    """Turn a report that was written into one page that holds its posters, details, overlays and videos.

    Args:
        folder: The report, with copied or transcoded videos; what is linked from elsewhere stays linked.

    Raises:
        SetupError: It would be over :data:`MOST_BYTES`.
    """
    sizes = {part: sum(path.stat().st_size for path in _files(folder / part)) for part in _PARTS}
    total = sum(_inline_bytes(part, size) for part, size in sizes.items())
    if total > MOST_BYTES:
        largest = max(sizes, key=lambda part: _inline_bytes(part, sizes[part]))
        advice = {"media": "list fewer clips or leave out --single-file", "overlays": "list fewer clips"}
        raise SetupError(
            f"One file would have {total / 1e6:,.0f} MB, more than {MOST_BYTES / 1e6:.0f}: {_listing(sizes)}; "
            f"{advice.get(largest, 'list fewer clips')}, such as --clips worst:50"
        )
    index = _values(folder / "data" / "index.js")[0]
    videos = {f"media/{path.name}": _data_url(path) for path in _files(folder / "media")}
    media = index["clips"]["media"]
    index["clips"]["media"] = [videos.get(unquote(url), url) if isinstance(url, str) else url for url in media]
    inline = {
        "posters": {str(int(path.stem)): _webp_url(path) for path in _files(folder / "posters")},
        "overlays": {str(int(path.stem)): _values(path)[1] for path in _files(folder / "overlays")},
        "details": [_values(path)[1] for path in _files(folder / "data") if path.name != "index.js"],
    }
    text = single_page(index, inline)
    for part in ("app", *_PARTS):
        shutil.rmtree(folder / part)
        (folder / part).mkdir()
    (folder / INDEX_PAGE).write_text(text, "utf-8")


def _values(path: Path) -> list[Any]:
    return values_of(path.read_text("utf-8"))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _inline_bytes(part: str, size: int) -> int:
    return size * 4 // 3 if part in ("media", "posters") else size


def _listing(sizes: dict[str, int]) -> str:
    parts: Iterable[str] = (f"{name} {_inline_bytes(part, sizes[part]) / 1e6:,.1f} MB" for part, name in _PARTS.items())
    return ", ".join(parts)


def _data_url(path: Path) -> str:
    kind = _TYPES.get(path.suffix.lower(), "application/octet-stream")
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _webp_url(path: Path) -> str:
    return f"data:image/webp;base64,{base64.b64encode(path.read_bytes()).decode()}"
