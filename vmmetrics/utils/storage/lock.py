"""Locks on single bytes of one file: held by a process, dropped by the system the moment it dies.

A run directory has one lock file. Byte 0 is held while its files are read or written, byte 1 while ``run.json`` is, and
each clip in hand holds a byte of its own, so that several processes can share one directory and a killed one leaves
nothing behind that somebody has to clean up.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from vmmetrics.errors import SetupError, os_reason

JOURNAL = 0
"""Byte held while the journals are read or appended to."""
CONFIGURATION = 1
"""Byte held while ``run.json`` is read and rewritten."""
_FIRST_CLAIM = 16
_POLL_SECONDS = 0.02  # between two tries where the system offers no waiting


def claim_byte(key: str) -> int:
    """Return the lock byte of the clip with this key; a hash of 48 bits, so that collisions are rare."""
    return _FIRST_CLAIM + int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:6], "big")


class ByteLocks:
    """Exclusive locks on bytes of one file. One object per file and process; not for several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._locked: set[int] = set()

    def try_acquire(self, byte: int) -> bool:
        """Take the lock on ``byte`` if nobody else holds it.

        Raises:
            SetupError: The file system has no locks, or the lock file was removed or replaced since it was opened.
        """
        if byte in self._locked:
            return False
        try:
            _apply(_LOCK, self._descriptor, byte)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                return False
            raise SetupError(
                f"The file system of {self._path.parent} cannot lock files ({os_reason(error)}); "
                "put the run directory on a local disk"
            ) from error
        self._locked.add(byte)
        try:
            self._check_file()
        except SetupError:
            self.release(byte)  # or whoever tries again waits for ever
            raise
        return True

    def _check_file(self) -> None:
        """Raise where other processes would lock another file: two could then do the same work."""
        try:
            same = os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))  # noqa: PTH116
        except OSError:
            same = False
        if not same:
            raise SetupError(
                f"{self._path} was removed or replaced while this process used it; earlier results are saved: "
                "run the same command again"
            )

    def release(self, byte: int) -> None:
        """Give the lock on ``byte`` back."""
        _apply(_UNLOCK, self._descriptor, byte)
        self._locked.discard(byte)

    @contextmanager
    def holding(self, byte: int) -> Iterator[None]:
        """Wait for the lock on ``byte`` and hold it for the block."""
        while not self.try_acquire(byte):
            time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            self.release(byte)

    def close(self) -> None:
        """Drop every lock and close the file."""
        os.close(self._descriptor)
        self._locked.clear()


class Locked:
    """Holds locks until it is closed, at the latest at the end of a ``with`` block."""

    _locks: ByteLocks

    def close(self) -> None:
        """Drop the locks: another process may go on."""
        self._locks.close()

    def claim(self, key: str) -> bool:
        """Claim a clip unless another process has; a claim ends with its process."""
        return self._locks.try_acquire(claim_byte(key))

    def release(self, key: str) -> None:
        """Give a claimed clip back."""
        self._locks.release(claim_byte(key))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    _BYTES = 2**40  # offsets that file systems take; two clips at work hardly ever share one

    _LOCK, _UNLOCK = msvcrt.LK_NBLCK, msvcrt.LK_UNLCK  # type: ignore[attr-defined,unused-ignore]

    def _apply(action: int, descriptor: int, byte: int) -> None:
        os.lseek(descriptor, byte % _BYTES, os.SEEK_SET)
        msvcrt.locking(descriptor, action, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    _LOCK, _UNLOCK = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN

    def _apply(action: int, descriptor: int, byte: int) -> None:
        fcntl.lockf(descriptor, action, 1, byte)
