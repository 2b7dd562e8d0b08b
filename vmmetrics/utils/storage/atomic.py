"""Atomic writes: readers see the old file or the new one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from vmmetrics.errors import cannot
from vmmetrics.utils.storage.journal import sync_folder


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


def write_atomically(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace ``path`` by a file with ``data`` in one step; if ``durable``, it is on the disk when this returns.

    Raises:
        SetupError: It cannot be written; what was there before still is.
    """
    with writing(path, durable=durable) as file:
        file.write(data)


@contextlib.contextmanager
def writing(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` in one step when the block ends, if ``durable`` on the disk by then.

    Raises:
        SetupError: It cannot be written; what was there before still is.
    """
    temporary = temporary_of(path)
    try:
        with temporary.open("wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if durable:
            sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):  # a name too long, a folder that went away: the first reason counts
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise cannot("write", path, error) from error
        raise


@contextlib.contextmanager
def making(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """Make a folder under a hidden name; it takes the place of an absent or empty one when the block ends.

    Args:
        folder: Its name in the end.
        replace: Let it take the place of a folder with files, which is then removed.

    Yields:
        The folder while it is made; nothing of it is left where the block raises.
    """
    building = temporary_of(folder)
    try:
        building.mkdir(parents=True)
        yield building
        if folder.exists() and replace:
            _replace_folder(folder, building)
        else:
            if folder.exists():
                folder.rmdir()
            building.replace(folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def _replace_folder(folder: Path, building: Path) -> None:
    """Move a folder into the place of another, and remove that."""
    older = temporary_of(folder.with_name(f"{folder.name}.old"))
    folder.replace(older)
    try:
        building.replace(folder)
    except BaseException:
        older.replace(folder)
        raise
    shutil.rmtree(older, ignore_errors=True)


_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
_TEMPORARY = re.compile(r"\..+\.(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]{1,9})\.partial", re.DOTALL)
_ABANDONED_SECONDS = 24 * 3600  # no file takes as long to write; of other machines nothing else is known


def temporary_of(path: Path) -> Path:
    """Return the hidden name beside ``path`` for this process's temporary file; remove those of dead processes."""
    _remove_leftovers(path.parent.absolute())
    return path.with_name(f".{path.name}.{_HOST}-{os.getpid()}.partial")


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that ended were making in a folder under names of :func:`temporary_of`."""
    with contextlib.suppress(OSError):
        for left in list(folder.iterdir()):
            name = _TEMPORARY.fullmatch(left.name)
            if name is None:
                continue
            with contextlib.suppress(OSError):
                old = time.time() - left.lstat().st_mtime > _ABANDONED_SECONDS
                if old or (name["host"] == _HOST and not _alive(int(name["pid"]))):
                    shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()


_remove_leftovers = cache(remove_leftovers)  # per folder and process: a folder of replies is written to often


def _alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # no way to ask there that does no harm
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True
