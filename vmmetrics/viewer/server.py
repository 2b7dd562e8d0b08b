"""Server of one report on this machine, with byte ranges, without which browsers cannot seek in a video.

Reachable are the files of the report folder, and the videos outside of it that its index links, one by one. The report
lies below segments of a random token, as many as links lead upwards (``/T/T/T/index.html``), so that every link
(``../../clips/a.mp4``) has a URL of its own (``/T/clips/a.mp4``) that no other page and no other user can guess.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from vmmetrics.errors import SetupError, os_reason
from vmmetrics.utils.request_rules import HOST, RefusedError, check_host
from vmmetrics.utils.server import Handler, LoopbackServer
from vmmetrics.utils.storage.opening import open_regular, read_regular
from vmmetrics.viewer.page import values_of

_VIDEOS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm"}
_TYPES = {
    **_VIDEOS, ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".webp": "image/webp",
}  # fmt: skip


def serve(folder: Path, port: int = 0, announce: Callable[[str], None] = print) -> None:
    """Serve a report on this machine until Ctrl-C.

    Args:
        folder: The report.
        port: Port; 0 takes a free one.
        announce: Receives the URL.

    Raises:
        SetupError: It is not a report, or the port is taken.
    """
    with ReportServer(folder, port) as server, suppress(KeyboardInterrupt):
        announce(server.url)
        server.serve_forever()


class ReportServer(LoopbackServer):
    """Server of a report on the loopback interface.

    Args:
        folder: The report.
        port: Port; 0 takes a free one.

    Attributes:
        url: URL of the page.

    Raises:
        SetupError: It is not a report, or the port is taken.
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        if not (folder / "index.html").is_file():
            raise SetupError(f"{folder} is not a report: it has no index.html")
        token = secrets.token_urlsafe(12)
        links = {link: levels for link in linked_videos(folder) if (levels := _levels(link))}
        depth = 1 + max(links.values(), default=0)
        self.root = folder.resolve()
        self.prefix = f"/{token}" * depth + "/"
        self.linked = {
            f"/{token}" * (depth - levels) + "/" + link.removeprefix("../" * levels): folder.absolute() / link
            for link, levels in links.items()
        }
        self._targets = {file: os.path.realpath(file) for file in self.linked.values()}
        super().__init__(_Handler, port)
        self.url = f"http://{HOST}:{self.port}{self.prefix}index.html"

    def file_at(self, path: str) -> Path | None:
        """Return the file at a decoded URL path, or None where there is none to be served."""
        if path in self.linked:
            file = self.linked[path]
            return file if os.path.realpath(file) == self._targets[file] else None  # a link to something else since
        if not path.startswith(self.prefix) or "\0" in path:
            return None
        parts = path.removeprefix(self.prefix).split("/")
        if any(part.startswith(".") or not part for part in parts):
            return None
        file = self.root.joinpath(*parts)
        inside = Path(os.path.realpath(file)).is_relative_to(self.root)  # a loop of links raises nothing
        return file if inside and file.is_file() else None


def linked_videos(folder: Path) -> Iterator[str]:
    """Yield the decoded relative paths of the videos that the index of a report links; none of a single file.

    Raises:
        SetupError: The index cannot be read.
    """
    path = folder / "data" / "index.js"
    try:
        if not path.exists():  # a report in one file
            return
        index = values_of(read_regular(path).decode())[0]
        for name, media in zip(index["clips"]["name"], index["clips"]["media"], strict=True):
            if isinstance(media, int) and media < 0:
                continue
            url = media if isinstance(media, str) else index["bases"][media] + quote(name, safe="/")
            link = os.fsdecode(unquote_to_bytes(url))
            if Path(link).suffix.lower() in _VIDEOS:
                yield link
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {os_reason(error)}; write the report again") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise SetupError(f"{path} is damaged; write the report again") from error


def _levels(link: str) -> int:
    """Return the number of folders that a link leads upwards; 0 too for one that does so further on."""
    parts = link.split("/")
    levels = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    return 0 if ".." in parts[levels:] else levels


class _Handler(Handler):
    """Answers GET and HEAD."""

    server: ReportServer
    protocol_version = "HTTP/1.1"
    # Scripts and styles are restricted further by the policy in the page.
    policy = "default-src 'self' 'unsafe-inline' data: blob:; connect-src 'none'"
    idle_seconds = 60.0

    def get(self) -> None:
        check_host(self.headers.get_all("Host", []), self.server.port)
        file = self.server.file_at(os.fsdecode(unquote_to_bytes(self.path.partition("?")[0])))
        try:
            opened = None if file is None else open_regular(file)
        except (OSError, ValueError):  # NUL in the name
            opened = None
        if file is None or opened is None:
            raise RefusedError(HTTPStatus.NOT_FOUND)
        with opened:
            self.send_file(opened, _TYPES.get(file.suffix.lower(), "application/octet-stream"))
