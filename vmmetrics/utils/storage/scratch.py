"""Scratch folder of bounded size for downloads that are used once, shared by the processes of a machine."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from vmmetrics.errors import BusyError, ClipError, SetupError, os_reason
from vmmetrics.utils.storage.atomic import remove_leftovers, temporary_of
from vmmetrics.utils.storage.lock import ByteLocks
from vmmetrics.utils.storage.remote import RemoteError, download
from vmmetrics.utils.storage.state import FileState

DEFAULT_BYTES = 10 * 2**30
"""Bytes that a scratch folder may hold unless another bound is given."""
WAIT_SECONDS = 120.0
"""How long a download waits for room that other files take before the run is ended."""
_POLL_SECONDS = 0.2
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


class ScratchError(SetupError):
    """Nothing can be fetched on this machine."""


class ScratchFullError(ScratchError, BusyError):
    """There is no room for the next file, and none became free."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was fetched.

    Attributes:
        path: Its path until it is removed.
        sha256: Of its bytes.
        state: Its state in the store.
    """

    path: Path
    sha256: str
    state: FileState

    def remove(self) -> None:
        """Remove it, which makes room for others."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder and its bound; each process has a folder of its own in it, which goes with the process.

    Attributes:
        folder: The folder; None for ``vmmetrics-scratch-USER`` in the system's folder for temporary files.
        bytes: Most bytes of all files in it.
    """

    folder: str | None = None
    bytes: int = DEFAULT_BYTES

    @property
    def path(self) -> Path:
        """The folder."""
        user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
        return Path(self.folder or Path(tempfile.gettempdir(), f"vmmetrics-scratch-{user}")).absolute()

    def sweep(self) -> None:
        """Remove what processes that ended left there.

        Raises:
            SetupError: The folder cannot be made or written.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.folder is None and hasattr(os, "getuid") and self.path.stat().st_uid != os.getuid():
                raise SetupError(f"{self.path} belongs to somebody else; name a folder with --scratch")
            remove_leftovers(self.path)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise SetupError(f"Cannot use {self.path} as scratch folder: {os_reason(error)}; see --scratch") from error

    def discard(self) -> None:
        """Remove the files of this process, and those that ended processes left."""
        shutil.rmtree(_own_folder(self.path), ignore_errors=True)
        remove_leftovers(self.path)

    def fetch(self, uri: str, expected: FileState) -> Fetched:
        """Download a file, as soon as there is room for it.

        Args:
            uri: Its address.
            expected: State that it must have; unknown fields are None.

        Raises:
            ClipError: It cannot be fetched, is not the one expected, or is larger than the whole folder may be.
            ScratchError: The folder cannot be used, is full, or a package is missing that opens the address.
        """
        folder = _own_folder(self.path)
        suffix = PurePosixPath(urlsplit(uri).path).suffix
        path = folder / f"{next(_NUMBERS)}{suffix if _SUFFIX.fullmatch(suffix) else ''}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sha256, state = download(uri, path, expected, lambda size: self._reserve(path, size))
        except RemoteError as error:
            raise ClipError(str(error)) from error
        except OSError as error:
            if error.errno in _FULL:
                raise ScratchFullError(
                    f"The scratch folder {self.path} is full ({os_reason(error)}): make room, or name another with "
                    "--scratch"
                ) from error
            raise ScratchError(f"Cannot write to {self.path}: {os_reason(error)}; see --scratch") from error
        except ScratchError:
            raise
        except SetupError as error:
            raise ScratchError(str(error)) from error
        return Fetched(path, sha256, state)

    def _reserve(self, path: Path, size: int) -> None:
        """Make the file as long as it is about to be, once all files together stay within the bound."""
        if size > self.bytes:
            raise ClipError(
                f"It has {_megabytes(size)} and the scratch folder may hold {_megabytes(self.bytes)}; raise "
                "--scratch DIR:SIZE"
            )
        waited = 0.0
        while (used := self._used_if_full(path, size)) is not None:
            if waited >= WAIT_SECONDS:
                raise ScratchFullError(
                    f"The scratch folder {self.path} is full: {used}, and no room became free in {waited:.0f} s; make "
                    "room, or name another with --scratch DIR:SIZE"
                )
            time.sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS

    def _used_if_full(self, path: Path, size: int) -> str | None:
        with _GUARD, _lock(self.path).holding(0):
            used = 0
            for file in self.path.glob(".*/*"):
                with contextlib.suppress(OSError):  # it was removed this moment
                    used += 0 if file == path else file.stat().st_size
            if used + size > self.bytes:
                return f"{_megabytes(used)} of {_megabytes(self.bytes)} are taken"
            try:
                with path.open("ab") as opened:
                    _allocate(opened.fileno(), size)
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                return os_reason(error)
        return None


def _megabytes(number: int) -> str:
    """Return a size in MiB as text, with at least two digits.

    >>> _megabytes(50_000), _megabytes(2**30)
    ('0.048 MiB', '1,024 MiB')
    """
    size = number / 2**20
    return f"{size:,.0f} MiB" if size >= 10 else f"{size:.2g} MiB"


def _allocate(descriptor: int, size: int) -> None:
    """Give a file its size, with blocks on the disk where the system can."""
    os.truncate(descriptor, size)
    if size and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError as error:
            if error.errno in _FULL:
                os.truncate(descriptor, 0)
                raise


_FULL = (errno.ENOSPC, errno.EDQUOT)
_NUMBERS = count()
_GUARD = threading.Lock()  # the system's locks do not tell threads apart


@cache
def _lock(folder: Path) -> ByteLocks:
    return ByteLocks(folder / "scratch.lock")


@cache
def _own_folder(folder: Path) -> Path:
    return temporary_of(folder / "clips")
