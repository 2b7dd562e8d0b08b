from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.cas.label.comparisons import read_comparisons
from vmmetrics.cas.label.label import LabelSettings, label_clips
from vmmetrics.cas.label.videoreward import MotionReward, RewardStep, compare_rewards, reward_clips
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.video import discover
from vmmetrics.video.prompts import Prompts


def test_probabilities_are_those_of_the_training_loss() -> None:
    lines = compare_rewards([RewardStep("x", 1.0), RewardStep("y", -0.5)])
    chances = {line["winner"]: line["weight"] for line in lines}
    assert chances["a"] == pytest.approx(1 / (1 + math.exp(-(1.5 - math.log(5)))))
    assert chances["b"] == pytest.approx(1 / (1 + math.exp(-(-1.5 - math.log(5)))))
    assert sum(chances.values()) == pytest.approx(1)


def test_soft_comparisons_give_the_rewards_back(tmp_path: Path) -> None:
    raw = np.random.default_rng(0).normal(0, 2, 12)
    lines = compare_rewards([RewardStep(f"{k:02d}", float(value), prompt="p") for k, value in enumerate(raw)])
    file = tmp_path / "c.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    labels = label_clips(read_comparisons([file]).rows, settings=LabelSettings(ties="rao-kupper"))
    np.testing.assert_allclose(labels.fit.strength, raw - raw.mean(), atol=1e-6)
    assert labels.fit.tau == pytest.approx(math.log(5), abs=1e-6)
    assert labels.fit.prior_sd is None
    assert labels.rows()[0]["comparisons"] == pytest.approx(11)
    assert labels.repeats.repeated == 0


def test_the_outcomes_of_a_pair_share_one_weight() -> None:
    lines = compare_rewards([RewardStep("x", 0.0), RewardStep("y", 0.0)])
    assert {line["winner"]: line["weight"] for line in lines} == pytest.approx({"a": 1 / 6, "tie": 4 / 6, "b": 1 / 6})


def test_prompts_are_kept_apart_unless_asked() -> None:
    clips = [RewardStep("x", 0.0, prompt="p"), RewardStep("y", 1.0, prompt="p"), RewardStep("z", 2.0, prompt="q")]
    assert {(line["a"], line["b"]) for line in compare_rewards(clips)} == {("x", "y")}
    across = compare_rewards(clips, across_prompts=True)
    assert len({(line["a"], line["b"]) for line in across}) == 3
    assert across[-1]["prompt_a"] == "p"
    assert across[-1]["prompt_b"] == "q"


class Brightness:
    """Stands in for the model: counts its calls."""

    calls = 0

    def score(self, clip: Clip) -> MotionReward:
        self.calls += 1
        return MotionReward(float(clip.frames.mean()), 0.0)


def test_rewards_are_kept_as_they_come_and_not_scored_twice(tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    folder.mkdir()
    for name, value in (("dark", 10), ("light", 200)):
        np.save(folder / f"{name}.npy", np.full((3, 8, 8, 3), value, np.uint8))
    (folder / "torn.mp4").write_bytes(b"no video")
    rewards, model = tmp_path / "rewards.jsonl", Brightness()
    sources, prompts = discover([folder]), Prompts(None, folder)
    steps = list(reward_clips(sources, prompts, model, "one", rewards))
    assert [(step.clip, step.reward) for step in steps] == [
        ("dark.npy", 10.0),
        ("light.npy", 200.0),
        ("torn.mp4", None),
    ]
    assert steps[2].error
    assert [step.clip for step in steps if step.reward is not None] == ["dark.npy", "light.npy"]
    np.save(folder / "dark.npy", np.full((3, 8, 8, 3), 50, np.uint8))
    again = list(reward_clips(sources, prompts, model, "one", rewards))
    assert [(step.reward, step.cached) for step in again[:2]] == [(50.0, False), (200.0, True)]
    assert model.calls == 3
    with pytest.raises(SetupError, match="another model"):
        list(reward_clips(sources, prompts, model, "two", rewards))
