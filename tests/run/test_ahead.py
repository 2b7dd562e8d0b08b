"""The next clip is read while one is scored, and nothing else changes by it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import fake_suite as fakes
import numpy as np
import pytest

from vmmetrics.run import score, work

pytestmark = pytest.mark.usefixtures("fake_suite")


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fakes.FakeSuite, "reads_ahead", True)


def values(table: Any) -> dict[str, Any]:
    return {r.clip: (dict(r.scores), dict(r.missing), dict(r.errors), r.error, r.sha256) for r in table}


def test_scores_and_errors_are_the_same(make_clips: Any, monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    clips = make_clips("a", "raise", "b", "noone", "c")
    (clips / "broken.npy").write_bytes(b"no clip")
    alone = values(score(clips))
    request.getfixturevalue("ahead")
    assert values(score(clips)) == alone
    assert alone["broken.npy"][3] and alone["raise.npy"][3] and alone["c.npy"][0]


def test_the_next_clip_is_read_while_one_is_scored(
    ahead: None, make_clips: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[tuple[str, str]] = []
    read, rate = work.read_clip, fakes.FakeSuite.score_clip

    def reading(path: Path, **options: Any) -> Any:
        log.append(("read", path.stem))
        return read(path, **options)

    def scoring(self: Any, clip: Any, **options: Any) -> Any:
        log.append(("begin", Path(clip.name).stem))
        time.sleep(0.2)
        log.append(("end", Path(clip.name).stem))
        return rate(self, clip, **options)

    monkeypatch.setattr(work, "read_clip", reading)
    monkeypatch.setattr(fakes.FakeSuite, "score_clip", scoring)
    score(make_clips("a", "b", "c"))
    assert log.index(("read", "b")) < log.index(("end", "a")) < log.index(("begin", "b"))
    assert log.index(("read", "c")) < log.index(("end", "b"))
    assert [step for step, _ in log].count("read") == 3  # none twice


def test_a_clip_that_changes_after_it_was_read_is_read_again(
    ahead: None, make_clips: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = make_clips("a", "b")
    rate = fakes.FakeSuite.score_clip

    def changing(self: Any, clip: Any, **options: Any) -> Any:
        if clip.name.endswith("a.npy"):
            time.sleep(0.1)
            np.save(clips / "b.npy", np.full((5, 16, 24, 3), 200, np.uint8))
        return rate(self, clip, **options)

    monkeypatch.setattr(fakes.FakeSuite, "score_clip", changing)
    table = score(clips)
    assert [record.frames for record in table] == [4, 5]


def test_a_worker_that_dies_is_not_blamed_on_the_clip_before(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vmmetrics.run.engine import Workers
    from vmmetrics.run.settings import Settings

    clips = make_clips("a", "kill", "b")
    tasks = [work.Task(f"{n}.npy", None, clips / f"{n}.npy", ("mss",)) for n in ("a", "kill", "b")]
    engine = Workers(Settings(metrics=("mss",)), 1, tmp_path / "log", ahead=True)
    outcomes = []
    try:
        for task, following in zip(tasks, [*tasks[1:], None], strict=True):
            engine.submit(task, following)
            while engine.busy:
                outcomes += engine.collect()
    finally:
        engine.close()
    assert [outcome.task.clip for outcome in outcomes] == ["a.npy", "kill.npy", "b.npy"]
    assert [outcome.record.error is None for outcome in outcomes] == [True, False, True]
    assert "SIGKILL" in outcomes[1].record.error
