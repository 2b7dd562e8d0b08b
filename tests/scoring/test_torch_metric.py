from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from vmmetrics.scoring import torch_metric  # noqa: E402
from vmmetrics.scoring.clip_scores import ClipScores  # noqa: E402
from vmmetrics.types import MetricResult  # noqa: E402


class FakeSuite:
    """Scores a clip by its mean grey level; pure black has no score, pure white fails."""

    def __init__(self, preset: str, protocol: str, metrics: tuple[str, ...]) -> None:
        self.metrics = tuple(metrics)

    def score_clip(self, clip: object) -> ClipScores:
        level = float(clip.frames.mean()) / 255
        if level == 1.0:
            return ClipScores("clip", {}, dict.fromkeys(self.metrics, "too bright"), 0.0)
        result = MetricResult(level) if level else MetricResult(None, "black")
        return ClipScores("clip", dict.fromkeys(self.metrics, result), {}, 0.0)


@pytest.fixture
def metric(monkeypatch: pytest.MonkeyPatch) -> torch_metric.VideoMotionScore:
    monkeypatch.setattr(torch_metric, "Suite", FakeSuite)
    return torch_metric.VideoMotionScore(fps=8, metrics=("pas",))


def grey(level: int) -> torch.Tensor:
    return torch.full((4, 3, 16, 20), level, dtype=torch.uint8)


def test_means_skip_missing_and_failed_clips_and_count_them(metric: torch_metric.VideoMotionScore) -> None:
    metric.update(torch.stack([grey(51), grey(0)]))
    with pytest.warns(UserWarning, match="too bright"):
        metric.update([grey(102), grey(255)])
    computed = metric.compute()
    assert float(computed["pas"]) == pytest.approx((51 + 102) / 255 / 2)
    assert computed["scored"] == {"pas": 2}
    assert computed["missing"] == {"pas": 1}
    assert computed["failed"] == {"pas": 1}


def test_without_a_score_there_is_no_mean(metric: torch_metric.VideoMotionScore) -> None:
    metric.update([grey(0)])
    assert "pas" not in metric.compute()


def test_an_unreadable_clip_is_counted_as_failed(metric: torch_metric.VideoMotionScore) -> None:
    with pytest.warns(UserWarning, match="could not be read"):
        metric.update([torch.full((4, 3, 16, 20), float("nan"))])
    assert metric.compute()["failed"] == {"pas": 1}


def test_states_of_processes_add_up(metric: torch_metric.VideoMotionScore, monkeypatch: pytest.MonkeyPatch) -> None:
    other = torch_metric.VideoMotionScore(fps=8, metrics=("pas",))
    metric.update([grey(51)])
    other.update([grey(153), grey(204)])
    metric._reduce_states(other.metric_state)  # what torchmetrics does when it gathers processes
    assert float(metric.compute()["pas"]) == pytest.approx((51 + 153 + 204) / 255 / 3)


def test_reset_starts_again(metric: torch_metric.VideoMotionScore) -> None:
    metric.update([grey(51)])
    metric.reset()
    assert metric.compute()["scored"] == {"pas": 0}


def test_it_is_found_under_its_public_name() -> None:
    from vmmetrics.torch_metric import VideoMotionScore

    assert VideoMotionScore is torch_metric.VideoMotionScore
