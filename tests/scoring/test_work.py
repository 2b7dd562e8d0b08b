"""One clip from file to outcome: whatever a suite answers ends in a record."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import fake_suite as fakes
import pytest

from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.task import Task
from vmmetrics.scoring.work import Scorer
from vmmetrics.types import MetricResult

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


class Unread(Future[Any]):
    """A clip that must not be waited for."""

    def result(self, timeout: float | None = None) -> Any:
        pytest.fail("waited for a clip that is not wanted")


def test_a_clip_read_ahead_that_is_not_wanted_is_not_waited_for(make_clips: Any) -> None:
    clips = make_clips("a", "b")
    scorer = Scorer(Settings(metrics=("mss",)))
    scorer._ahead = (task(clips, "b"), None, Unread())
    assert scorer.score(task(clips, "a")).record.scores
    assert scorer._ahead is None
