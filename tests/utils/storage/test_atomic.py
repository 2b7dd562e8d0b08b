"""Files put in place whole, and what killed writers leave behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.utils.storage import atomic

DEAD = 2**22 + 1  # above the largest process id there is on Linux


@pytest.fixture(autouse=True)
def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test looks as a process that has just been started would."""
    atomic._remove_leftovers.cache_clear()


def left(folder: Path, name: str, host: str, pid: int, hours: float = 0) -> Path:
    path = folder / f".{name}.{host}-{pid}.partial"
    path.touch()
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))
    return path


def test_what_dead_writers_left_is_removed(tmp_path: Path) -> None:
    dead = left(tmp_path, "run.json", atomic._HOST, DEAD)
    folder = tmp_path / f".merged.{atomic._HOST}-{DEAD}.partial"
    folder.mkdir()
    (folder / "scores.jsonl").touch()
    abandoned = left(tmp_path, "scores.csv", "0123abcd", 1, hours=30)
    kept = [
        left(tmp_path, "run.json", atomic._HOST, os.getppid()),
        left(tmp_path, "run.json", "0123abcd", DEAD),
        tmp_path / ".scores.csv.123",
        tmp_path / ".hidden.partial",
    ]
    for path in kept:
        path.touch()
    atomic.write_text(tmp_path / "a.txt", "text")
    assert not any(path.exists() for path in (dead, folder, abandoned))
    assert all(path.exists() for path in kept)
    assert (tmp_path / "a.txt").read_text() == "text"


def test_a_folder_is_looked_through_once(tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "a.txt", "text")
    dead = left(tmp_path, "a.txt", atomic._HOST, DEAD)
    atomic.write_text(tmp_path / "a.txt", "text")
    assert dead.exists()


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(SetupError, match=r"Cannot write .*folder: "):
        atomic.write_text(tmp_path / "folder", "text")
    with pytest.raises(SetupError, match="File name too long"):
        atomic.write_text(tmp_path / ("a" * 300), "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
