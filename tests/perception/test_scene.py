from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.perception.scene import Models, Scene


class CountingQuality:
    def __init__(self, error: Exception | None = None) -> None:
        self.runs = 0
        self.error = error

    def assess(self, scene: Scene) -> np.ndarray:
        self.runs += 1
        if self.error:
            raise self.error
        return np.ones(len(scene.clip))


def scene_with(quality: CountingQuality) -> Scene:
    unused = SimpleNamespace()
    clip = Clip(np.zeros((3, 4, 5, 3), np.uint8), np.arange(3) / 8.0, 8.0)
    return Scene(clip, Models(unused, unused, unused, unused, unused, quality))


def test_an_ability_runs_once_and_only_when_asked() -> None:
    quality = CountingQuality()
    scene = scene_with(quality)
    assert quality.runs == 0
    first, second = scene.quality, scene.quality
    assert first is second
    assert quality.runs == 1
    assert scene.calls == {"quality": 1}


def test_a_failure_is_given_again_without_running_again() -> None:
    quality = CountingQuality(RuntimeError("no memory"))
    scene = scene_with(quality)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no memory"):
            _ = scene.quality
    assert quality.runs == 1


def test_a_preset_without_plausibility_says_so() -> None:
    with pytest.raises(SetupError, match="no plausibility model"):
        _ = scene_with(CountingQuality()).probabilities
