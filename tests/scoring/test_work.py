"""One clip from file to outcome: whatever a suite answers ends in a record."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import fake_suite as fakes
import pytest

from vmmetrics.scoring.scorer import ClipReader, Scorer
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import Task
from vmmetrics.types import MetricResult
from vmmetrics.utils.storage.scratch import Scratch
from vmmetrics.video.content import state

pytestmark = pytest.mark.usefixtures("fake_suite")


def task(folder: Path, name: str) -> Task:
    return Task(f"{name}.npy", None, folder / f"{name}.npy", ("mss",))


@pytest.mark.parametrize(("score", "error"), [(1.5, "ValueError"), (0.5j, "TypeError")])
def test_a_score_that_no_record_can_hold_is_the_error_of_its_clip(
    score: Any, error: str, make_clips: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = fakes.FakeScores({"mss": MetricResult(score)}, {})
    monkeypatch.setattr(fakes.FakeSuite, "score_clip", lambda *_: scores)
    outcome = Scorer(Settings(metrics=("mss",))).score(task(make_clips("a"), "a"))
    assert error in (outcome.record.error or "")
    assert outcome.record.sha256 is not None
    assert not outcome.record.scores
    assert not outcome.events


def test_a_clip_read_ahead_that_is_not_wanted_is_not_waited_for(make_clips: Any) -> None:
    clips, go_on = make_clips("a", "b"), Event()

    def read(task: Task, path: Path | None) -> Any:
        assert path is None
        assert task.clip == "a.npy" or go_on.wait(60)
        return task.clip

    reader = ClipReader(Scratch(), read)
    reader.ahead(task(clips, "b"), decode=True)
    assert reader.clip(task(clips, "a"), state(clips / "a.npy")) == ("a.npy", None)
    go_on.set()
