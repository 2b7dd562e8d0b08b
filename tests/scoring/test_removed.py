"""Files that are taken away while a run is at work: it ends with a message, or goes on without."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.scoring.api import score
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.utils.storage.journal import Journal

pytestmark = pytest.mark.usefixtures("fake_suite")


class AfterFirst:
    """A listener that does something once the first clip is done, or the last."""

    def __init__(self, act: Callable[[], object], after: int = 1) -> None:
        self._act, self._left = act, after

    def begin(self, total: int, settled: int) -> None: ...

    def warn(self, warnings: Any) -> None: ...

    def wait(self, name: str, seconds: float, share: float | None) -> None: ...

    def advance(self, record: Any) -> None:
        self._left -= 1
        if self._left == 0:
            self._act()


@pytest.mark.parametrize("after", [1, 3])
@pytest.mark.parametrize("name", ["scores.jsonl", "run.lock"])
def test_a_file_of_the_run_is_removed(name: str, after: int, make_clips: Any, tmp_path: Path) -> None:
    clips, run = make_clips("a", "b", "c"), tmp_path / "run"
    with pytest.raises(SetupError, match=rf"{name} was removed or .*( start again|run the same command again)"):
        score(clips, out=run, listener=AfterFirst((run / name).unlink, after))
    assert [bool(record.scores) for record in score(clips, out=run)] == [True] * 3


def test_a_lock_that_another_process_has_made_anew(make_clips: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"

    def replace() -> None:
        (run / "run.lock").unlink()
        (run / "run.lock").touch()

    with pytest.raises(SetupError, match=r"run\.lock was removed or replaced"):
        score(make_clips("a", "b"), out=run, listener=AfterFirst(replace))


def test_scores_that_were_cut_short(make_clips: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    listener = AfterFirst(lambda: (run / "scores.jsonl").write_bytes(b""))
    with pytest.raises(SetupError, match=r"scores\.jsonl was removed or cut short"):
        score(make_clips("a", "b"), out=run, listener=listener)


@pytest.mark.parametrize("jobs", [0, 1])
def test_the_run_directory_is_removed(jobs: int, make_clips: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(SetupError, match=r"run\.lock was removed"):
        score(make_clips("a", "b"), out=run, jobs=jobs, listener=AfterFirst(lambda: shutil.rmtree(run)))
    assert not run.exists()


@pytest.mark.parametrize("jobs", [0, 1])
def test_the_clips_are_removed(jobs: int, make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("a", "b", "c")
    table = score(clips, out=tmp_path / "run", jobs=jobs, listener=AfterFirst(lambda: shutil.rmtree(clips)))
    assert [record.failed for record in table][0::2] == [False, True]
    assert "does not exist" in (table[2].error or "")


def test_the_first_trouble_is_what_is_said(make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise SetupError("the disk is full")

    def fails(*_: Any) -> Any:
        raise OSError("no table either")

    monkeypatch.setattr(RunDirectory, "append", full)
    monkeypatch.setattr("vmmetrics.scoring.run.export", fails)
    with pytest.raises(SetupError, match="the disk is full"):
        score(make_clips("a"), out=tmp_path / "run")


def test_a_journal_is_not_begun_anew_behind_our_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append([{"n": 1}])
    journal.path.unlink()
    with pytest.raises(SetupError, match=r"j\.jsonl was removed"):
        journal.append([{"n": 2}])
    assert not journal.path.exists()
