"""Open files out of folders that a user names, without ever waiting for one that is no file."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; symlinks are followed.

    Raises:
        OSError: It cannot be opened, or is a pipe, socket or device.
    """
    return open(path, "rb", opener=_descriptor)


def _descriptor(path: str, flags: int) -> int:
    _check(os.stat(path).st_mode, path)  # noqa: PTH116  first: opening some devices does something
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe may be put there in between
    try:
        _check(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
