"""State of a remote file, by which a change is seen without reading it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

_ETAGS = ("ETag", "generation", "etag", "blob_id")  # in fsspec's info, by store
_TIMES = ("LastModified", "mtime", "modified", "updated", "created")
_LONGEST = 25  # digits of a time


@dataclass(frozen=True, slots=True)
class FileState:
    """State of a file, by which a change is seen without reading it.

    Attributes:
        bytes: Its size.
        mtime_ns: When it was written, nanoseconds since 1970.
        etag: The store's identifier of its content: an entity tag, a generation or a hash.
    """

    bytes: int | None = None
    mtime_ns: int | None = None
    etag: str | None = None

    def differs(self, other: FileState) -> bool:
        """Return True if two states cannot be of one content: by the tags where both have one, else by the times."""
        if None not in (self.bytes, other.bytes) and self.bytes != other.bytes:
            return True
        if self.etag is not None and other.etag is not None:
            return self.etag != other.etag
        return None not in (self.mtime_ns, other.mtime_ns) and self.mtime_ns != other.mtime_ns

    def to_record(self) -> dict[str, int | str] | None:
        """Return the fields for a record: ``bytes``, and ``etag`` or else ``mtime_ns`` as text; None without any."""
        tag = {"etag": self.etag} if self.etag else {} if self.mtime_ns is None else {"mtime_ns": str(self.mtime_ns)}
        return {**({} if self.bytes is None else {"bytes": self.bytes}), **tag} or None

    @classmethod
    def of(cls, fields: Mapping[str, int | str] | None) -> FileState:
        """Return the state that :meth:`to_record` wrote; fields that do not fit are None."""
        fields = fields or {}
        size, moment, etag = (fields.get(name) for name in ("bytes", "mtime_ns", "etag"))
        stamped = isinstance(moment, str) and moment.isdecimal() and len(moment) < _LONGEST
        return cls(
            size if isinstance(size, int) else None,
            int(str(moment)) if stamped else None,
            etag if isinstance(etag, str) else None,
        )

    def __str__(self) -> str:
        return f"{self.bytes} bytes" + (f", tag {self.etag}" if self.etag else "")


def state_of_info(info: Mapping[str, Any]) -> FileState:
    """Return the state that fsspec's ``info`` or listing of a file gives."""
    size = info.get("size")
    etag = next((str(info[name]) for name in _ETAGS if info.get(name)), None)
    moment = next((info[name] for name in _TIMES if info.get(name)), None)
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if isinstance(moment, datetime):
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    mtime = None if not isinstance(moment, int | float) else int(moment * 1e6) * 1000
    return FileState(size if isinstance(size, int) else None, mtime, etag and etag.strip('"'))


def state_of_headers(headers: Message) -> FileState:
    """Return the state that the headers of a reply give."""
    length, etag = headers.get("Content-Length"), headers.get("ETag")
    try:
        moment = parsedate_to_datetime(headers["Last-Modified"]).timestamp()
    except (TypeError, ValueError):
        moment = None
    size = int(length) if length is not None and re.fullmatch("[0-9]{1,18}", length) else None
    return FileState(size, None if moment is None else int(moment) * 10**9, etag and etag.removeprefix("W/").strip('"'))
