"""A file of JSON lines that is only ever appended to, and survives being cut off anywhere."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, cannot

Line = dict[str, Any]


def encode(line: Line) -> bytes:
    """One JSON line: compact, strict (no NaN), UTF-8; a file name that is not UTF-8 keeps its bytes as escapes."""
    text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


class Journal:
    """Reads what was appended so far, appends more. The caller holds the lock of the directory around every call.

    Attributes:
        path: The file.
        damaged: Line numbers (from 1) that are complete but no JSON object; they are passed over.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged: list[int] = []
        self._offset = 0
        self._lines = 0
        self._exists = False

    def read_new(self) -> list[Line]:
        """Return the complete lines that were not returned before. A last line without its end is left alone.

        Raises:
            SetupError: The file was removed or cut short since it was read or written.
        """
        if not self._check_file():
            return []
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self._offset += end
        lines = []
        for raw in data[:end].split(b"\n")[:-1]:
            self._lines += 1
            line = decode(raw)
            if line is None:
                self.damaged.append(self._lines)
            else:
                lines.append(line)
        return lines

    def cut_torn_tail(self) -> int:
        """Remove what follows the last line end, the rest of a write that was cut off; return how many bytes."""
        if not self.path.exists():
            return 0
        with self.path.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            keep = _end_of_last_line(file, size)
            if keep < size:
                file.truncate(keep)
                os.fsync(file.fileno())
        return size - keep

    def append(self, lines: Iterable[Line]) -> None:
        """Write ``lines`` and return once they are on the disk.

        Raises:
            ValueError: A value is NaN or infinite; nothing was written.
            SetupError: The disk is full or failing; what was written of the lines is cut off by the next append. Or the
                file was removed or cut short since it was read or written.
        """
        data = b"".join(encode(line) for line in lines)
        try:
            self.cut_torn_tail()  # another process may have been killed in the middle of a line since we looked
            new = not self._check_file()
            with self.path.open("ab") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            self._exists = True
            if new:
                sync_folder(self.path.parent)
        except OSError as error:
            raise SetupError(f"{cannot('write', self.path, error)}; what was scored before is kept") from error

    def _check_file(self) -> bool:
        """Whether the file is there; raise where it no longer holds what was read or written before."""
        size = self.path.stat().st_size if self.path.exists() else -1
        if self._exists and size < self._offset:
            raise SetupError(
                f"{self.path} was removed or cut short while this process used it; put it back, or start again "
                "without it"
            )
        self._exists = size >= 0
        return self._exists


def sync_folder(folder: Path) -> None:
    """Make new names in ``folder`` survive a power cut, where the system lets a program ask for that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def iterate_lines(path: Path, containing: bytes = b"") -> Iterator[Line]:
    """The complete lines of a journal that contain some bytes, one at a time; nothing where there is no file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for raw in file:
            line = decode(raw) if containing in raw and raw.endswith(b"\n") else None
            if line is not None:
                yield line


def decode(raw: bytes) -> Line | None:
    """The JSON object in one line, or None where there is none."""
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _end_of_last_line(file: Any, size: int, block: int = 1 << 16) -> int:
    """Offset behind the last line end, looking backwards; 0 where there is none."""
    start = size
    while start > 0:
        stop, start = start, max(0, start - block)
        file.seek(start)
        found = file.read(stop - start).rfind(b"\n")
        if found >= 0:
            return int(start + found + 1)
    return 0
