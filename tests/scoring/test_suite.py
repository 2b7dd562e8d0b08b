from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from threading import Event, get_ident
from types import SimpleNamespace

import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError
from vmmetrics.metrics import METRICS, registry
from vmmetrics.perception.presets import Preset
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.scoring import suite as suite_module
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.suite import Suite
from vmmetrics.types import AmplitudeResult, MetricResult
from vmmetrics.utils import progress
from vmmetrics.video import read_clip

NOTHING = SimpleNamespace()
BARE = Preset(Models(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING), {}, {}, published_models=True)


@pytest.fixture
def bare_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_module, "load_preset", lambda name, wanted: BARE)


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_module, "load_preset", lambda name, wanted: replace(BARE, side_by_side=True))


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


def test_a_metric_that_exits_costs_its_own_score(bare_preset: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class OddError(BaseException):
        def __str__(self) -> str:
            raise ValueError

    def leave(*_: object, **__: object) -> MetricResult:
        sys.exit(7)

    def fail(*_: object, **__: object) -> MetricResult:
        raise OddError

    measures_giving(monkeypatch, ois=leave, tcs=fail)
    scores = Suite().score_clip(clip_of())
    assert scores.errors == {"ois": "SystemExit: 7", "tcs": "OddError"}
    assert scores.scores == {"cas": 0.5, "mss": 0.5, "pas": 0.5}


def test_a_failing_own_change_costs_the_factor_and_no_score(bare_preset: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(clip: Clip) -> float:
        raise np.linalg.LinAlgError("singular")

    measures_giving(monkeypatch)
    monkeypatch.setattr(suite_module, "own_change", fail)
    monkeypatch.setattr(Scene, "unjudgeable", None)
    scores = Suite().score_clip(clip_of())
    assert (list(scores.scores), scores.errors, scores.own_change) == (list(METRICS), {}, None)
    assert scores.index is not None
    assert scores.notes[-1].startswith("own change failed, so no factor is in INDEX: LinAlgError: singular")


def test_the_index_of_a_suite_is_that_of_its_record(bare_preset: None, monkeypatch: pytest.MonkeyPatch) -> None:
    measures_giving(monkeypatch)
    monkeypatch.setattr(suite_module, "own_change", lambda clip: 0.00423456789)
    monkeypatch.setattr(Scene, "unjudgeable", None)
    scores = Suite().score_clip(clip_of())
    stored = Record("a", None, None, None, "embedded", "vmmetrics", scores.scores, own_change=0.004235)
    assert (scores.own_change, scores.index) == (stored.own_change, stored.motion_index)


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


def test_metrics_run_beside_one_another_and_wait_for_what_they_read(
    two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    amplitudes, others = [], Event()

    def measure_pas(scene: object, protocol: str) -> AmplitudeResult:
        assert others.wait(60), "no other metric ran meanwhile"
        return AmplitudeResult(0.25, amplitude=0.1)

    def measure_mss(scene: object, protocol: str, pas: AmplitudeResult) -> MetricResult:
        amplitudes.append(pas.amplitude)
        return MetricResult(1.0)

    def measure_cas(scene: object, protocol: str) -> MetricResult:
        others.set()
        return MetricResult(0.5)

    measures_giving(monkeypatch, pas=measure_pas, mss=measure_mss, cas=measure_cas)
    scores = Suite().score_clip(clip_of())
    assert scores.errors == {}
    assert scores.scores == {"cas": 0.5, "mss": 1.0, "ois": 0.5, "pas": 0.25, "tcs": 0.5}
    assert amplitudes == [0.1]


def test_a_failure_keeps_no_thread_waiting(two_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> MetricResult:
        raise RuntimeError("no memory left")

    measures_giving(monkeypatch, pas=fail, mss=lambda s, p, pas: MetricResult(1.0 if pas is None else 0.0))
    scores = Suite().score_clip(clip_of())
    assert scores.errors == {"pas": "RuntimeError: no memory left"}
    assert scores.scores["mss"] == 1.0


def test_metrics_of_users_run_in_the_thread_of_the_caller(two_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def measure_theirs(scene: object, protocol: str) -> MetricResult:
        threads.append(get_ident())
        return MetricResult(0.5)

    measures_giving(monkeypatch, cas=measure_theirs, tcs=measure_theirs, ois=measure_theirs)
    for key in ("cas", "tcs", "ois"):
        theirs = replace(registry._registry[key], source={"file": "mine.py"})
        monkeypatch.setitem(registry._registry, key, theirs)
    Suite().score_clip(clip_of())
    assert threads == [get_ident()] * 3


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


@pytest.mark.parametrize("metrics", [METRICS, ("cas",), ("pas",)])
def test_the_share_done_of_a_clip_grows_to_the_whole(metrics: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    monkeypatch.setattr(progress, "_share_listeners", [shares.append])
    sample = Path(__file__).parents[1] / "data/samples/cogvideo/woman-walks-and-sits.mp4"
    Suite(metrics=metrics).score_clip(
        replace(whole := read_clip(sample), frames=whole.frames[:8], timestamps=whole.timestamps[:8])
    )
    assert shares == pytest.approx(sorted(shares))
    assert shares[-1] == pytest.approx(1)
    assert len(set(shares)) >= {METRICS: 6, ("cas",): 1, ("pas",): 4}[metrics]


def test_a_file_is_read_with_the_layout_given(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.random.default_rng(0).integers(0, 256, (3, 3, 32, 48), dtype=np.uint8))
    suite = Suite(metrics=("mss",))
    with pytest.raises(ClipError, match="layout="):
        suite.score_clip(path)
    assert suite.score_clip(path, layout="CTHW").errors == {}
