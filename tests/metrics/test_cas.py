"""CAS as the suite sees it: a made-up classifier, and what its record says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.metrics import cas
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.scoring.record import result_from_json, result_to_json
from vmmetrics.types import PlausibilityResult


class TwoViews:
    """Finds the first half of a clip perfect, the second bad; frame 4 is seen by both, the last by none."""

    def classify(self, scene: Scene) -> np.ndarray:
        return np.array([[0, 0, 0, 0, 1.0], [1.0, 0, 0, 0, 0]])

    def view_frames(self, scene: Scene) -> list[tuple[int, ...]]:
        return [(0, 2, 4), (4, 6, 8)]


def scene(model: object) -> Scene:
    frames = np.zeros((10, 16, 16, 3), np.uint8)
    clip = Clip(frames, np.arange(10) / 8, 8.0)
    nothing: dict[str, object] = dict.fromkeys(("flow", "camera", "segmenter", "tracker", "pose", "quality"))
    return Scene(clip, Models(**nothing, plausibility=model))


def test_the_result_says_what_the_score_was_made_from():
    result = cas.measure(scene(TwoViews()))
    assert isinstance(result, PlausibilityResult)
    assert result.score == 0.5
    assert result.probabilities == (0.5, 0, 0, 0, 0.5)
    assert result.view_scores == (1.0, 0.0)
    assert result.view_frames == ((0, 4), (4, 8))
    np.testing.assert_array_equal(result.series["plausibility"], [1, 1, 1, 1, 0.5, 0, 0, 0, 0, np.nan])


def test_the_record_keeps_it():
    result = cas.measure(scene(TwoViews()))
    line = json.loads(json.dumps(result_to_json(result), allow_nan=False))
    back = result_from_json("cas", line, result.score, None)
    np.testing.assert_array_equal(back.series["plausibility"], result.series["plausibility"])
    assert replace(back, series={}) == replace(result, series={})


def test_without_a_classifier_it_is_missing():
    assert cas.measure(scene(None)).missing == "this preset has no commonsense classifier"
