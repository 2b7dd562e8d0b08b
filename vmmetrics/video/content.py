"""Content of a clip, which makes a record valid for a file, whatever it is called: its bytes, SHA-256 and state.

SHA-256 (hex) is of the bytes of a file, also of one in a row of a Parquet file. Of a folder of frames it is of lines
``name NUL sha256 LF`` of its files, sorted by name; names that begin with a dot and symlinks that are no frames are
left out. Of an array it is of ``shape dtype LF`` and its bytes in C order, then of the timestamps in the same form.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from time import time_ns

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.video.folders import FRAME_SUFFIXES
from vmmetrics.video.shards import row_of, sha256_of_row

_TICK_NS = 2 * 10**9  # the coarsest modification times that are in use, those of FAT
_ANY = ("utf-8", "surrogateescape")


def fingerprint(path: Path) -> str:
    """Return SHA-256 (hex) of a clip on disk.

    Raises:
        OSError: The file or folder cannot be read.
    """
    packed = row_of(path)
    if packed is not None:
        return sha256_of_row(*packed)
    if not path.is_dir():
        return _file_sha256(path)
    digest = hashlib.sha256()
    for file in _files(path):
        digest.update(os.fsencode(file.name) + b"\0" + _file_sha256(file).encode() + b"\n")
    return digest.hexdigest()


def is_there(path: Path) -> bool:
    """Return True if a clip's file, folder, or the Parquet file it is in, exists."""
    packed = row_of(path)
    return path.is_file() or path.is_dir() or (packed is not None and packed[0].is_file())


def array_fingerprint(clip: Clip) -> str:
    """Return SHA-256 (hex) of a clip that was handed in as an array."""
    digest = hashlib.sha256()
    for array in (clip.frames, clip.timestamps):
        digest.update(f"{array.shape} {array.dtype}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and modification times: a cheap test whether a clip was written to in the meantime.

    Raises:
        OSError: The file or folder cannot be read.
    """
    packed = row_of(path)
    files = _files(path) if path.is_dir() else [path if packed is None else packed[0]]
    stats = [(file.name, file.stat()) for file in files]
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def file_state(files: Sequence[tuple[str, int, int]]) -> dict[str, int | str]:
    """Return :func:`state` as runs store it: of a file ``bytes`` and ``mtime_ns``, of a folder a hash of its list.

    Nanoseconds are text: they have more digits than a number of JSON keeps everywhere.
    """
    if len(files) == 1:
        return {"bytes": files[0][1], "mtime_ns": str(files[0][2])}
    lines = hashlib.sha256("".join(f"{name}\0{size} {time}\n" for name, size, time in files).encode(*_ANY))
    return {"files": len(files), "bytes": sum(size for _, size, _ in files), "list": lines.hexdigest()[:32]}


def is_settled(files: Sequence[tuple[str, int, int]]) -> bool:
    """Return True if files are old enough for a later change to show in their modification times."""
    return max((time for _, _, time in files), default=0) < time_ns() - _TICK_NS


def _files(folder: Path) -> list[Path]:
    files = [f for f in folder.iterdir() if f.is_file() and not f.name.startswith(".")]
    # The reader has looked into the frames alone; other symlinks are not hashed.
    candidates = (f for f in files if not f.is_symlink() or f.suffix.lower() in FRAME_SUFFIXES)
    return sorted(candidates, key=lambda f: f.name)


def _file_sha256(path: Path) -> str:
    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:  # so do files of /proc say, and reading some of them waits
            return hashlib.sha256().hexdigest()
        return hashlib.file_digest(file, "sha256").hexdigest()


class InlineClip:
    """The bytes of a clip, fetched on demand; pickling includes them.

    Args:
        fetch: The bytes, or a function that returns them.
    """

    def __init__(self, fetch: bytes | Callable[[], bytes]) -> None:
        self._fetch = fetch

    @property
    def content(self) -> bytes:
        """The file's bytes.

        Raises:
            ClipError: The row holds none.
        """
        return self._fetch if isinstance(self._fetch, bytes) else self._fetch()

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex) of the bytes, as of the file they came from."""
        return hashlib.sha256(self.content).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, InlineClip) and self.sha256 == other.sha256)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __reduce__(self) -> tuple[type[InlineClip], tuple[bytes]]:
        return InlineClip, (self.content,)
