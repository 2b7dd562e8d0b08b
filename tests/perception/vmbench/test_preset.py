"""The vmbench preset: what it needs, what it says of itself, and its five scores with fakes in the networks' place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

sys.path.insert(0, str(Path(__file__).parent))

import released_scripts as scripts
from released_fakes import FakeModels, FakePeople, noise_clip

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.perception.presets import PresetOptions, load_preset
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.views import ViewPlan
from vmmetrics.perception.vmbench import preset as module
from vmmetrics.scoring import suite as suite_module
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.suite import Suite


class FakeClassifier:
    """Drawn logits for every distinct view, softmaxed, in the order of the views."""

    plan = ViewPlan()

    def view_frames(self, scene: Scene) -> list[tuple[int, ...]]:
        return [view.frames for view in self.plan.views(*scene.clip.frames.shape[:3])]

    def logits(self, frames: np.ndarray) -> np.ndarray:
        views = self.plan.views(*frames.shape[:3])
        return np.array([np.random.default_rng(hash(view) % 2**32).normal(0, 1, 5) for view in views])

    def classify(self, scene: Scene) -> np.ndarray:
        rows = np.exp(self.logits(scene.clip.frames))
        return rows / rows.sum(axis=1, keepdims=True)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> FakeModels:
    """All checkpoints are there, and every network answers out of its hat."""
    fakes, people = FakeModels(7), FakePeople(7)
    for name in ("GroundingDINO", "Sam", "Sam2", "CoTracker", "RTMPoseKeypoints"):
        monkeypatch.setattr(module, name, lambda *_, **__: fakes)
    monkeypatch.setattr(module, "RTMDetPersons", lambda *_, **__: people)
    monkeypatch.setattr(module, "QAlignRater", lambda *_, **__: fakes)
    monkeypatch.setattr(module.VideoMAEPlausibility, "published", lambda *_: FakeClassifier())
    monkeypatch.setattr(
        module, "locate", lambda metrics, protocol: dict.fromkeys(module.needed(metrics, protocol), Path())
    )
    monkeypatch.setattr(module, "hashes", lambda names: {f"{name}/file": "00ff" for name in names})
    return fakes


@pytest.mark.parametrize("protocol", ["vmbench", "vmmetrics"])
def test_five_scores(fakes: FakeModels, protocol: Any):
    suite = Suite(preset="vmbench", protocol=protocol)
    scores = suite.score_clip(noise_clip(25, 8.0, (96, 64), seed=3))
    assert scores.errors == {}
    assert {**scores.scores, **scores.missing}.keys() == set(METRICS)
    assert len(scores.scores) >= 4
    assert suite.describe()["comparable"] == (protocol == "vmbench")


@pytest.mark.parametrize("seed", range(4))
def test_every_score_is_the_released_scripts(fakes: FakeModels, seed: int):
    clip = noise_clip(25, 8.0, (96, 64), seed=seed)
    scores = Suite(preset="vmbench", protocol="vmbench").score_clip(clip).scores
    amplitude = scripts.amplitude(fakes, clip.frames, "Horse")
    assert scores["pas"] == pytest.approx(amplitude, rel=1e-5)
    assert scores["tcs"] == pytest.approx(scripts.coherence(fakes, clip.frames, 8.0, "Horse"), abs=1e-12)
    assert scores["ois"] == pytest.approx(scripts.integrity(FakePeople(7), fakes, clip.frames), abs=1e-12)
    assert scores["mss"] == pytest.approx(scripts.smoothness(fakes, clip.frames, amplitude), abs=1e-12)
    assert scores["cas"] == pytest.approx(scripts.commonsense(FakeClassifier().logits(clip.frames)), abs=1e-9)


@pytest.mark.parametrize("length", [2, 3, 9])
def test_windows_are_the_released_ones(length: int):
    fakes, clip = FakeModels(1), noise_clip(length, 8.0)
    fakes.assess(Scene(clip, None))  # type: ignore[arg-type]
    scripts.smoothness(fakes, clip.frames, None)
    assert fakes.asked[0] == fakes.asked[1]


@pytest.mark.parametrize(("amplitude", "limit"), [(None, 0.01), (0.05, 0.01), (0.1, 0.015), (0.3, 0.025), (0.7, 0.03)])
def test_thresholds_are_the_published_ones(fakes: FakeModels, amplitude: float | None, limit: float):
    from vmmetrics.metrics import mss
    from vmmetrics.types import AmplitudeResult

    clip = noise_clip(12, 8.0)
    scene = Suite(preset="vmbench", protocol="vmbench").scene(clip)
    result = mss.measure(scene, "vmbench", None if amplitude is None else AmplitudeResult(0.5, amplitude=amplitude))
    assert result.score == pytest.approx(scripts.smoothness(fakes, clip.frames, amplitude), abs=1e-12)
    assert all(event.threshold == limit for event in result.events)


@pytest.mark.parametrize("protocol", ["vmbench", "vmmetrics"])
def test_a_clip_without_a_subject_gets_the_rest(fakes: FakeModels, protocol: Any):
    clip = noise_clip(25, 8.0)
    scores = Suite(preset="vmbench", protocol=protocol).score_clip(Clip(clip.frames, clip.timestamps, clip.fps))
    assert set(scores.missing) >= {"pas", "tcs"}
    assert all("no subject" in scores.missing[metric] for metric in ("pas", "tcs"))
    assert {"cas", "mss"} <= set(scores.scores)


def test_under_our_own_definition_the_subject_is_looked_for_once(fakes: FakeModels):
    scores = Suite(preset="vmbench", metrics=("pas", "tcs")).score_clip(noise_clip(25, 8.0))
    assert scores.errors == {}
    looked = [question for question in fakes.asked if question[0] == "boxes"]
    assert len(looked) == len(set(looked)) == 4
    assert sum(question[0] == "points" for question in fakes.asked) == 1


def test_what_had_to_be_done_to_fit_is_told(fakes: FakeModels):
    suite = Suite(preset="vmbench", metrics=("cas",))
    clip = noise_clip(25, 8.0)
    suite._preset.models.notes.append("Q-Align: batches of 8: out of memory")  # type: ignore[attr-defined]
    assert "batches of 8" in suite.score_clip(clip).notes[-1]


def test_it_needs_what_its_metrics_ask_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert module.needed(["poses"], "vmbench") == ["rtmdet-m-person", "rtmpose-m-body7"]
    assert "one-align" not in module.needed(["plausibility", "subject", "objects"], "vmmetrics")
    assert "sam-vit-huge" in module.needed(["subject"], "vmbench")
    assert "sam-vit-huge" not in module.needed(None, "vmmetrics")
    monkeypatch.setenv("VMMETRICS_WEIGHTS", str(tmp_path))
    with pytest.raises(SetupError, match=r"vmmetrics weights fetch rtmdet-m-person rtmpose-m-body7"):
        load_preset("vmbench", PresetOptions(abilities=("poses",)))
    with pytest.raises(SetupError, match="cotracker"):  # for PAS, which the threshold of MSS is chosen by
        Suite(preset="vmbench", metrics=("mss",))


def test_without_cotracker_its_licence_is_told(monkeypatch: pytest.MonkeyPatch):
    def absent() -> None:
        raise SetupError("CoTracker3 is not installed")

    monkeypatch.setattr(module, "find_cotracker", absent)
    with pytest.raises(SetupError, match="CoTracker3 is not installed"):
        Suite(preset="vmbench", metrics=("tcs",))


def test_files_are_told_by_their_hashes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("VMMETRICS_WEIGHTS", str(tmp_path))
    assert module.hashes(("videomae-vmbench",)) == {}
    import torch

    place = tmp_path / "videomae-vmbench"
    place.mkdir()
    torch.save({"head.bias": torch.zeros(5)}, place / "vit_g_vmbench.pt")
    import hashlib

    found = module.hashes(("videomae-vmbench",))
    assert found == {
        "videomae-vmbench/vit_g_vmbench.pt": hashlib.sha256((place / "vit_g_vmbench.pt").read_bytes()).hexdigest()
    }


@pytest.fixture
def precision() -> Iterator[Any]:
    import torch

    before = torch.get_float32_matmul_precision()
    yield torch.get_float32_matmul_precision
    torch.set_float32_matmul_precision(before)


@pytest.mark.usefixtures("precision")
def test_tf32_is_asked_for_and_on_record(fakes: FakeModels, monkeypatch: pytest.MonkeyPatch):
    asked: list[PresetOptions] = []
    load = suite_module.load_preset
    monkeypatch.setattr(suite_module, "load_preset", lambda name, wanted: asked.append(wanted) or load(name, wanted))
    plain = Settings("vmbench", "vmbench")
    fast = Settings("vmbench", "vmbench", tf32=True)
    described = [settings.configuration(settings.build()) for settings in (plain, fast)]
    assert [wanted.tf32 for wanted in asked] == [False, True]
    assert "tf32" not in described[0]  # as in runs from before the option
    assert described[1]["tf32"] is True
    assert described[1]["label"] == "preset vmbench, protocol vmbench, TF32"


def test_tf32_is_set_in_the_process_that_scores(precision: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "locate", lambda *_: {})
    monkeypatch.setattr(module, "hashes", lambda *_: {})
    load_preset("vmbench", PresetOptions())
    assert precision() == "highest"
    load_preset("vmbench", PresetOptions(tf32=True))
    assert precision() == "high"
    with pytest.raises(ValueError, match="preset embedded, which runs on the CPU"):
        load_preset("embedded", PresetOptions(tf32=True))
