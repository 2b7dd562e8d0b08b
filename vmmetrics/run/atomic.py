"""Files that are put in place whole: readers see the old one or the new one."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from vmmetrics.errors import cannot
from vmmetrics.run.journal import sync_folder


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that readers see the old file or the new one, never half of it.

    Raises:
        SetupError: It cannot be written.
    """
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text in one step; a file name that is not UTF-8 keeps its bytes as escapes.

    Raises:
        SetupError: It cannot be written.
    """
    write_atomically(path, text.encode("utf-8", "backslashreplace"))


def write_atomically(path: Path, data: bytes) -> None:
    """Replace ``path`` by a file with ``data`` in one step, on the disk when this returns.

    Raises:
        SetupError: It cannot be written; what was there before still is.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):  # a name too long, a folder that went away: the first reason counts
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise cannot("write", path, error) from error
        raise
