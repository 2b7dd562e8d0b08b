from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError
from vmmetrics.metrics import METRICS, registry
from vmmetrics.perception.presets import Preset
from vmmetrics.perception.scene import Models
from vmmetrics.scoring import suite as suite_module
from vmmetrics.scoring.suite import Suite
from vmmetrics.types import AmplitudeResult, MetricResult


@pytest.fixture
def bare_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = SimpleNamespace()
    preset = Preset(Models(nothing, nothing, nothing, nothing, nothing, nothing), {}, {}, published_models=True)
    monkeypatch.setattr(suite_module, "load_preset", lambda name, wanted: preset)


def clip_of(frames: int = 4) -> Clip:
    return Clip(np.zeros((frames, 8, 8, 3), np.uint8), np.arange(frames) / 8.0, 8.0, notes=("assumed 8 fps",))


def measures_giving(monkeypatch: pytest.MonkeyPatch, **measures: object) -> None:
    """Have each of our metrics give 0.5, but for those that are given."""
    for key, metric in registry._registry.items():
        measure = measures.get(key, lambda s, p, **_: MetricResult(0.5))
        monkeypatch.setitem(registry._registry, key, replace(metric, measure=measure, beside=None, not_of=()))


def test_one_metric_failing_leaves_the_others(bare_preset: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> MetricResult:
        raise RuntimeError("no memory left")

    measures_giving(monkeypatch, ois=fail, tcs=lambda s, p: MetricResult(None, "no object"))
    scores = Suite().score_clip(clip_of())
    assert scores.errors == {"ois": "RuntimeError: no memory left"}
    assert scores.missing == {"tcs": "no object"}
    assert scores.scores == {"cas": 0.5, "mss": 0.5, "pas": 0.5}
    assert scores.notes == ("assumed 8 fps",)


def test_mss_is_told_the_amplitude_even_when_pas_is_not_wanted(
    bare_preset: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def measure_mss(scene: object, protocol: str, pas: AmplitudeResult) -> MetricResult:
        seen.append(pas.amplitude)
        return MetricResult(1.0)

    measures_giving(monkeypatch, pas=lambda s, p: AmplitudeResult(0.25, amplitude=0.1), mss=measure_mss)
    scores = Suite(metrics=("mss",)).score_clip(clip_of())
    assert seen == [0.1]
    assert list(scores.results) == ["mss"]


def test_amplitude_is_handed_on(bare_preset: None, monkeypatch: pytest.MonkeyPatch) -> None:
    measures_giving(monkeypatch, pas=lambda s, p: AmplitudeResult(0.25, amplitude=0.1))
    assert Suite().score_clip(clip_of()).amplitude == 0.1
    assert Suite(metrics=("tcs",)).score_clip(clip_of()).amplitude is None


def test_results_come_in_the_order_of_the_metrics(bare_preset: None, monkeypatch: pytest.MonkeyPatch) -> None:
    measures_giving(monkeypatch)
    assert tuple(Suite().score_clip(clip_of()).results) == METRICS


@pytest.mark.parametrize(
    ("preset_is_published", "protocol", "comparable"),
    [(True, "vmbench", True), (True, "vmmetrics", False), (False, "vmbench", False)],
)
def test_only_published_models_under_the_released_protocol_are_comparable(
    monkeypatch: pytest.MonkeyPatch, preset_is_published: bool, protocol: str, comparable: bool
) -> None:
    nothing = SimpleNamespace()
    preset = Preset(Models(*[nothing] * 6), {}, {}, published_models=preset_is_published)
    monkeypatch.setattr(suite_module, "load_preset", lambda name, wanted: preset)
    suite = Suite(protocol=protocol)
    assert suite.describe()["comparable"] is comparable
    assert ("not comparable" in suite.label) is not comparable


def test_unknown_words_are_named() -> None:
    with pytest.raises(ValueError, match="vmbenhc"):
        Suite(protocol="vmbenhc")
    with pytest.raises(ValueError, match="foo"):
        Suite(metrics=("foo",))
    with pytest.raises(ValueError, match="metrics among"):
        Suite(metrics=())
    with pytest.raises(ValueError, match="embeded"):
        Suite(preset="embeded")


def test_unreadable_frames_are_a_clip_error() -> None:
    with pytest.raises(ClipError):
        Suite(metrics=("pas",)).score_clip(np.full((4, 8, 8, 3), np.nan))
