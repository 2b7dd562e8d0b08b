"""A clip that takes too long costs itself alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.scoring.api import score
from vmmetrics.scoring.engine import local_workers
from vmmetrics.scoring.scorer import Outcome
from vmmetrics.scoring.session import MemoryStore, Session
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import Task, tasks_of_arrays

pytestmark = pytest.mark.usefixtures("fake_suite")


@pytest.mark.slow
def test_the_clip_fails_and_is_tried_again_on_the_next_start(make_clips: Any, tmp_path: Path) -> None:
    clips, run = make_clips("a", "hang", "z"), tmp_path / "run"
    table = score(clips, metrics=("pas",), jobs=1, timeout=1, out=run)
    assert [bool(record.scores) for record in table] == [True, False, True]
    assert "took longer than 1 s; raise --timeout" in (table[1].error or "")
    assert table[1].sha256 is not None
    assert table[1].seconds >= 1
    score(clips, metrics=("pas",), jobs=1, timeout=1.5, out=run)
    lines = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    assert [line["clip"] for line in lines] == ["a.npy", "hang.npy", "z.npy", "hang.npy"]
    assert "took longer than 1.5 s" in lines[-1]["error"]
    state = json.loads((run / "run.json").read_text())
    assert [session["timeout"] for session in state["sessions"]] == [1, 1.5]
    assert "timeout" not in state["configuration"]


def test_the_clip_that_was_read_ahead_is_not_blamed(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("hang", "z")
    tasks = [Task(f"{name}.npy", None, clips / f"{name}.npy", ("pas",)) for name in ("hang", "z")]
    engine = local_workers(Settings(metrics=("pas",)), 1, 1, tmp_path / "log", ahead=True)
    try:
        records = Session(tasks, engine, MemoryStore()).run()
    finally:
        engine.close()
    assert ["took longer" in (record.error or "") for record in records] == [True, False]
    assert records[1].scores


@pytest.mark.slow
def test_the_slowest_clip_is_told_to_the_listener(make_clips: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[tuple[str, float]] = []

    class Listener:
        def begin(self, total: int, settled: int) -> None: ...

        def warn(self, warnings: Any) -> None: ...

        def advance(self, record: Any) -> None: ...

        def wait(self, name: str, seconds: float, share: float | None) -> None:
            waited.append((name, seconds))

    monkeypatch.setattr("vmmetrics.scoring.session._TICK_SECONDS", 0.1)
    score(make_clips("hang"), metrics=("pas",), jobs=1, timeout=1, listener=Listener())
    assert {name for name, _ in waited} == {"loading models", "hang.npy"}


def test_an_outcome_has_the_task_that_was_submitted_and_not_its_frames_again(tmp_path: Path) -> None:
    (task,) = tasks_of_arrays([np.zeros((4, 16, 24, 3), np.uint8)], ("pas",), fps=8)
    engine = local_workers(Settings(metrics=("pas",)), 1, 60, tmp_path / "log")
    try:
        engine.submit(task)
        outcomes: list[Outcome] = []
        while not outcomes:
            outcomes += engine.collect()
    finally:
        engine.close()
    assert outcomes[0].task is task
    assert outcomes[0].record.scores


def test_a_timeout_needs_a_worker_process_to_end(make_clips: Any) -> None:
    with pytest.raises(ValueError, match="set jobs to 1 or more"):
        score(make_clips("a"), timeout=5)
