"""Append-only file of JSON lines that survives interruption at any byte."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeVar

from vmmetrics.errors import SetupError, cannot, refusing
from vmmetrics.utils.schema import convert, parse_json
from vmmetrics.utils.storage.opening import open_regular

Line = dict[str, Any]
_NAMED = 5  # damaged lines that are named one by one

T = TypeVar("T")

LONGEST_LINE = 1 << 28
"""Bytes of a line; longer ones are skipped as damaged and never read as a whole."""


class RawLine(NamedTuple):
    """A complete line without its end, and the offsets at which it begins and the next one does."""

    text: bytes
    start: int
    end: int


def encode(line: Line) -> bytes:
    """Return a line of compact, strict (no NaN) JSON in UTF-8; bytes of file names that are not UTF-8 are escaped."""
    text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


class Journal:
    """Reads what was appended so far, appends more. The caller holds the lock of the directory around every call.

    Attributes:
        path: The file.
        damaged: Complete lines that were skipped: number (from 1) and fault.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged: list[tuple[int, str]] = []
        self._offset = 0
        self._lines = 0
        self._exists = False
        self._written = 0  # size of the file after the last write

    def read_new(self, like: type = Line) -> list[Line]:
        """Return the complete lines that were not returned before. A last line without its end is left alone.

        Args:
            like: Lines that do not convert to it (:func:`vmmetrics.utils.schema.convert`) are skipped.

        Raises:
            SetupError: The file was removed or cut short since it was read or written.
        """
        return [line for line, _ in self._read(like)]

    def read_as(self, kind: type[T]) -> list[T]:
        """Return :meth:`read_new` with every line converted."""
        return [converted for _, converted in self._read(kind)]

    def _read(self, kind: type[T]) -> Iterator[tuple[Line, T]]:
        for raw in self.raw_lines(self._offset):
            self._lines += 1
            self._offset = raw.end
            try:
                yield decoded(raw.text, kind)
            except ValueError as error:
                self.damaged.append((self._lines, str(error)))

    def raw_lines(self, start: int) -> Iterator[RawLine]:
        """Read the complete lines from an offset on, one at a time.

        Raises:
            SetupError: The file was removed or cut short since it was read or written.
        """
        if self._check_file(start):
            with _opened(self.path) as file:
                file.seek(start)
                yield from _raw_lines(file, start)

    def warnings(self, then: str = "") -> list[str]:
        """Return texts on the lines skipped since the last call, up to a limit.

        Args:
            then: Text on what happens to such a line.
        """
        new, self.damaged = self.damaged, []
        return sentences(self.path.name, new, then)

    def mend(self) -> list[str]:
        """Do :meth:`cut_torn_tail`; return a text if anything was removed."""
        cut = self.cut_torn_tail()
        return [f"{self.path.name}: cut {cut} bytes of an unfinished line"] if cut else []

    def cut_torn_tail(self) -> int:
        """Remove the rest of an interrupted write behind the last line end; return the number of bytes."""
        if not self.path.exists():
            return 0
        with _opened(self.path, "rb+") as file:
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
        self.write(b"".join(encode(line) for line in lines))

    def write(self, data: bytes) -> None:
        """Write whole lines that :func:`encode` made and return once they are on the disk.

        Raises:
            SetupError: As for :meth:`append`.
        """
        try:
            self.cut_torn_tail()  # another process may have been killed in the middle of a line since we looked
            new = not self._check_file()
            with open_regular(self.path, "ab") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                self._written = file.tell()
            self._exists = True
            if new:
                sync_folder(self.path.parent)
        except OSError as error:
            raise SetupError(f"{cannot('write', self.path, error)}; earlier results are saved") from error

    def _check_file(self, start: int = 0) -> bool:
        """Return True if the file exists; raise if it lost lines that were read or written before."""
        size = self.path.stat().st_size if self.path.exists() else -1
        if (self._exists or start) and size < max(self._offset, self._written, start):
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


def iterate_lines(
    path: Path, containing: bytes = b"", like: type = Line, warnings: list[str] | None = None
) -> Iterator[Line]:
    """Return the complete lines of a journal, one at a time; nothing where there is no file.

    Args:
        path: The file.
        containing: Lines without these bytes are left out.
        like: Lines that do not convert to it are skipped.
        warnings: Receives texts on skipped lines.
    """
    return (line for line, _ in iterate_with_text(path, containing, like, warnings))


def iterate_with_text(
    path: Path, containing: bytes = b"", like: type = Line, warnings: list[str] | None = None
) -> Iterator[tuple[Line, bytes]]:
    """Yield :func:`iterate_lines`, each with the line as it stands, its end included."""
    if not path.exists():
        return
    damaged = []
    with _opened(path) as file:
        for number, raw in enumerate(_raw_lines(file, 0), 1):
            if containing in raw.text:
                try:
                    yield decoded(raw.text, like)[0], raw.text + b"\n"
                except ValueError as error:
                    damaged.append((number, str(error)))
    if warnings is not None:
        warnings += sentences(path.name, damaged)


def _opened(path: Path, mode: Literal["rb", "rb+"] = "rb") -> IO[bytes]:
    with refusing("read" if mode == "rb" else "write", path):
        return open_regular(path, mode)


def _raw_lines(file: IO[bytes], start: int) -> Iterator[RawLine]:
    """Yield the complete lines of a file that was opened at ``start``; of one that is too long the first piece."""
    while raw := file.readline(LONGEST_LINE):
        text, end = raw, start + len(raw)
        while raw and not raw.endswith(b"\n"):
            raw = file.readline(LONGEST_LINE)  # no more of it is held
            end += len(raw)
        if not raw:
            return
        yield RawLine(text.removesuffix(b"\n"), start, end)
        start = end


def sentences(name: str, damaged: Sequence[tuple[int, str]], then: str = "") -> list[str]:
    """Return texts on skipped lines of a file, up to a limit."""
    texts = [f"{name} line {number} is damaged and was skipped ({fault}){then}" for number, fault in damaged[:_NAMED]]
    more = len(damaged) - _NAMED
    return [*texts, f"{name}: {more:,} more lines are damaged and were skipped{then}"] if more > 0 else texts


def decoded(raw: bytes, kind: type[T]) -> tuple[Line, T]:
    """Return a line parsed, and converted to ``kind``.

    Raises:
        ValueError: It is not JSON, or does not convert; the text says why.
    """
    try:
        line = parse_json(raw)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    return line, convert(kind, line)


def _end_of_last_line(file: Any, size: int, block: int = 1 << 16) -> int:
    """Return the offset behind the last line end, looking backwards; 0 where there is none."""
    start = size
    while start > 0:
        stop, start = start, max(0, start - block)
        file.seek(start)
        position = file.read(stop - start).rfind(b"\n")
        if position >= 0:
            return int(start + position + 1)
    return 0
