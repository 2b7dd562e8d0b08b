"""The preset's adapters at small sizes and with random weights behind the metrics, all but CoTracker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from released_fakes import FakeModels, noise_clip  # noqa: E402

from benchmarks.vmbench_networks import random_models  # noqa: E402
from vmmetrics.metrics import METRICS  # noqa: E402
from vmmetrics.perception.presets import Preset  # noqa: E402
from vmmetrics.perception.vmbench.adapters import grounding  # noqa: E402
from vmmetrics.scoring import suite as suite_module  # noqa: E402
from vmmetrics.scoring.suite import Suite  # noqa: E402


@pytest.fixture(scope="module")
def models() -> Iterator[Any]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    models = random_models("cpu", small=True, tracker=False)
    fakes = FakeModels(3)
    released: Any = models.released
    yield replace(
        models,
        tracker=replace(models.tracker, points=fakes),  # type: ignore[type-var]
        released=replace(released, points=fakes),
    )
    torch.set_num_threads(threads)


@pytest.mark.parametrize("protocol", ["vmbench", "vmmetrics"])
def test_five_metrics(models: Any, protocol: Any, monkeypatch: pytest.MonkeyPatch):
    preset = Preset(models, {}, {}, published_models=True)
    monkeypatch.setattr(suite_module, "load_preset", lambda name, wanted: preset)
    monkeypatch.setattr(grounding, "SHORT_SIDE", 96)  # at 800, Grounding DINO alone would take minutes
    monkeypatch.setattr(grounding, "LONG_SIDE", 160)
    clip = noise_clip(6, 4.0, (96, 64), seed=2)
    scores = Suite(preset="vmbench", protocol=protocol).score_clip(clip)
    assert scores.errors == {}
    assert set(scores.results) == set(METRICS)
    if protocol == "vmbench":
        assert set(scores.scores) == set(METRICS)
        again = Suite(preset="vmbench", protocol=protocol).score_clip(clip)
        assert again.scores == scores.scores
        np.testing.assert_array_less(-1e-9, list(scores.scores.values()))
