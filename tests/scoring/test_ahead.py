"""The next clip is read while one is scored, and nothing else changes by it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from threading import Event
from typing import Any

import fake_suite as fakes
import numpy as np
import pytest

from vmmetrics.scoring import scorer
from vmmetrics.scoring.api import score

pytestmark = pytest.mark.usefixtures("fake_suite")
PATIENCE = 60
"""Seconds for what never comes; the tests do not depend on how fast a machine is."""


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fakes.FakeSuite, "reads_ahead", True)


@pytest.fixture
def was_read() -> dict[str, Event]:
    """By the stem of a clip, what is set once it was read."""
    return defaultdict(Event)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, was_read: dict[str, Event]) -> list[str]:
    """The stems of the clips that were read, in order."""
    read, stems = scorer.read_clip, []

    def reading(path: Path, **options: Any) -> Any:
        clip = read(path, **options)
        stems.append(path.stem)
        was_read[path.stem].set()
        return clip

    monkeypatch.setattr(scorer, "read_clip", reading)
    return stems


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
    ahead: None, make_clips: Any, monkeypatch: pytest.MonkeyPatch, reads: list[str], was_read: dict[str, Event]
) -> None:
    rate, following, scored = fakes.FakeSuite.score_clip, {"a": "b", "b": "c"}, []

    def scoring(self: Any, clip: Any, **options: Any) -> Any:
        name = Path(clip.name).stem
        assert name not in following or was_read[following[name]].wait(PATIENCE)
        scored.append(name)
        return rate(self, clip, **options)

    monkeypatch.setattr(fakes.FakeSuite, "score_clip", scoring)
    table = score(make_clips("a", "b", "c"))
    assert not any(record.failed for record in table)
    assert scored == ["a", "b", "c"]
    assert reads == ["a", "b", "c"]  # none twice


def test_a_clip_that_changes_after_it_was_read_is_read_again(
    ahead: None, make_clips: Any, monkeypatch: pytest.MonkeyPatch, reads: list[str], was_read: dict[str, Event]
) -> None:
    clips = make_clips("a", "b")
    rate = fakes.FakeSuite.score_clip

    def changing(self: Any, clip: Any, **options: Any) -> Any:
        if clip.name.endswith("a.npy"):
            assert was_read["b"].wait(PATIENCE)
            np.save(clips / "b.npy", np.full((5, 16, 24, 3), 200, np.uint8))
        return rate(self, clip, **options)

    monkeypatch.setattr(fakes.FakeSuite, "score_clip", changing)
    table = score(clips)
    assert [record.frames for record in table] == [4, 5]
    assert reads == ["a", "b", "b"]


@pytest.mark.slow
def test_a_worker_that_dies_is_not_blamed_on_the_clip_before(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vmmetrics.scoring.engine import local_workers
    from vmmetrics.scoring.settings import Settings

    clips = make_clips("a", "kill", "b")
    tasks = [scorer.Task(f"{n}.npy", None, clips / f"{n}.npy", ("mss",)) for n in ("a", "kill", "b")]
    engine = local_workers(Settings(metrics=("mss",)), 1, 60, tmp_path / "log", ahead=True)
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
