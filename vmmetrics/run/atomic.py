"""Files that are put in place whole: readers see the old one or the new one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from vmmetrics.run.journal import sync_folder


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that readers see the old file or the new one, never half of it."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode("utf-8", "backslashreplace"))


def write_atomically(path: Path, data: bytes) -> None:
    """Replace ``path`` by a file with ``data`` in one step, on the disk when this returns."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
