"""Regular files that a user or a stranger names: opened without waiting for pipes and devices, read up to a bound."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import IO, Final, Literal, overload

LARGEST: Final = 1 << 28
"""Bytes of a file that is read as a whole, where no smaller bound is known."""


@overload
def open_regular(path: Path) -> BufferedReader: ...


@overload
def open_regular(path: Path, mode: Literal["rb", "rb+", "ab"]) -> IO[bytes]: ...


def open_regular(path: Path, mode: Literal["rb", "rb+", "ab"] = "rb") -> IO[bytes]:
    """Open a regular file; symlinks are followed. ``"ab"`` makes one where there is none.

    Raises:
        OSError: It cannot be opened, or is a pipe, socket or device.
    """
    return open(path, mode, opener=_descriptor)


def read_regular(path: Path, most: int = LARGEST) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file.
        most: Bytes.

    Raises:
        OSError: As for :func:`open_regular`, or it is larger.
    """
    with open_regular(path) as file:
        data = file.read(min(most, os.fstat(file.fileno()).st_size) + 1)  # a buffer no larger than the file
        data += file.read(most + 1 - len(data))  # what was appended meanwhile
    if len(data) > most:
        raise OSError(errno.EFBIG, f"Larger than {most // 2**20} MiB", str(path))
    return data


def _descriptor(path: str, flags: int) -> int:
    try:
        _check(os.stat(path).st_mode, path)  # noqa: PTH116  first: opening some devices does something
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)  # a pipe may be put there in between
    try:
        _check(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
