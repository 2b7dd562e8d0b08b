from __future__ import annotations

import numpy as np
import pytest

from vmmetrics.alignment.baselines.catalogue import BASELINES, CPU, chosen
from vmmetrics.alignment.baselines.suite import BaselineSuite
from vmmetrics.clip import Clip

NAMES = {baseline.name for baseline in CPU}


def test_perception_is_asked_once(translated):
    frames = translated(4)
    suite = BaselineSuite()
    scene = suite.scene(Clip(frames, np.arange(4) / 8, 8.0))
    scores = suite.score_scene(scene)
    assert set(scores.scores) == NAMES
    assert scene.calls["flow"] == 1
    assert max(scene.calls.values()) == 1
    assert not {"camera", "objects", "poses", "quality"} & scene.calls.keys()


def test_one_frame_has_only_what_frames_have(translated):
    scores = BaselineSuite().score_clip(translated(1), fps=8, layout="THWC")
    assert set(scores.scores) == {"brisque", "niqe"}
    assert set(scores.missing) == NAMES - {"brisque", "niqe"}
    assert all("one frame" in reason for reason in scores.missing.values())


def test_a_still_clip_is_at_the_end_of_every_scale(translated):
    scores = BaselineSuite().score_clip(np.repeat(translated(1), 4, 0), fps=8, layout="THWC").scores
    expected = {"ssim": 1, "frame_difference": 0, "temporal_flickering": 1, "flow_magnitude": 0, "warping_error": 0}
    assert {name: scores[name] for name in expected} == expected
    assert (scores["forward_backward_error"], scores["track_survival"]) == (0, 1)


@pytest.mark.parametrize("size", [(1, 1), (5, 40), (12, 12), (100, 100)])
def test_small_and_flat_clips_say_what_they_lack(size):
    scores = BaselineSuite().score_clip(np.full((3, *size, 3), 90, np.uint8), fps=8, layout="THWC")
    assert not scores.errors
    assert set(scores.scores) | set(scores.missing) == NAMES
    assert scores.missing.keys() >= {"brisque", "niqe"}
    assert all(np.isfinite(value) for value in scores.scores.values())


def test_a_fault_costs_one_value(translated, monkeypatch):
    suite = BaselineSuite(["ssim", "niqe"])
    monkeypatch.setitem(suite._measures, "ssim", lambda scene: 1 / 0)
    scores = suite.score_clip(translated(2), fps=8, layout="THWC")
    assert scores.errors == {"ssim": "ZeroDivisionError: division by zero"}
    assert set(scores.scores) == {"niqe"}


def test_choosing():
    assert chosen(None) == tuple(baseline.name for baseline in CPU)
    assert chosen(["niqe", "ssim", "niqe"]) == ("ssim", "niqe")
    with pytest.raises(ValueError, match="'psnr'"):
        chosen(["psnr"])
    assert all(BASELINES[name].name == name for name in BASELINES)
