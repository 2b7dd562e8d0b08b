"""SHA-256 (hex) of the content of a clip: what makes a record valid for a file, whatever it is called.

A file: SHA-256 of its bytes. A folder of frames: SHA-256 of the lines ``name NUL sha256 LF`` of its files, sorted by
name; names that begin with a dot and symlinks that are no frames are left out. An array: SHA-256 of ``shape dtype LF``
and its bytes in C order, the timestamps behind them likewise.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.video.containers import open_regular
from vmmetrics.video.folders import FRAME_SUFFIXES


def fingerprint(path: Path) -> str:
    """SHA-256 (hex) of a clip on disk.

    Raises:
        OSError: The file or folder cannot be read.
    """
    if not path.is_dir():
        return _file_sha256(path)
    whole = hashlib.sha256()
    for file in _files(path):
        whole.update(os.fsencode(file.name) + b"\0" + _file_sha256(file).encode() + b"\n")
    return whole.hexdigest()


def array_fingerprint(clip: Clip) -> str:
    """SHA-256 (hex) of a clip that was handed in as an array."""
    whole = hashlib.sha256()
    for array in (clip.frames, clip.timestamps):
        whole.update(f"{array.shape} {array.dtype}\n".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


def state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and modification times: a cheap test whether a clip was written to in the meantime.

    Raises:
        OSError: The file or folder cannot be read.
    """
    files = _files(path) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files]
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def _files(folder: Path) -> list[Path]:
    files = [f for f in folder.iterdir() if f.is_file() and not f.name.startswith(".")]
    # The reader has looked into the frames alone; other symlinks are not hashed.
    ours = (f for f in files if not f.is_symlink() or f.suffix.lower() in FRAME_SUFFIXES)
    return sorted(ours, key=lambda f: f.name)


def _file_sha256(path: Path) -> str:
    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:  # so do files of /proc say, and reading some of them waits
            return hashlib.sha256().hexdigest()
        return hashlib.file_digest(file, "sha256").hexdigest()
