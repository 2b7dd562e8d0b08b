"""The classifier over views: equal to the released arithmetic done the long way round."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vmmetrics.clip import Clip  # noqa: E402
from vmmetrics.errors import ClipError  # noqa: E402
from vmmetrics.metrics import cas  # noqa: E402
from vmmetrics.perception.scene import Models, Scene  # noqa: E402
from vmmetrics.perception.views import Viewer, ViewPlan  # noqa: E402
from vmmetrics.perception.vmbench.adapters import plausibility as module  # noqa: E402
from vmmetrics.perception.vmbench.adapters.plausibility import VideoMAEPlausibility  # noqa: E402
from vmmetrics.perception.vmbench.checkpoints import read_checkpoint  # noqa: E402
from vmmetrics.perception.vmbench.ported.videomae import Architecture, VideoMAE  # noqa: E402
from vmmetrics.perception.vmbench.runtime import DTYPES  # noqa: E402
from vmmetrics.scoring.show.findings import explain  # noqa: E402
from vmmetrics.scoring.suite import Suite  # noqa: E402

TINY = Architecture(width=24, depth=2, heads=2, mlp_width=48, patch=8, image=16, frames=4)
PLAN = ViewPlan(frames=4, rate=2, size=16)
FRAMES = np.random.default_rng(0).integers(0, 256, (30, 20, 36, 3), dtype=np.uint8)


@pytest.fixture
def model() -> VideoMAE:
    model = VideoMAE(TINY, 5)
    model.initialise(0)
    with torch.no_grad():
        model.head.weight.mul_(1e4)  # so that views differ
    return model.eval()


def scene(frames: np.ndarray, plausibility: VideoMAEPlausibility) -> Scene:
    nothing: dict[str, object] = dict.fromkeys(("flow", "camera", "segmenter", "tracker", "pose", "quality"))
    return Scene(Clip(frames, np.arange(len(frames)) / 8, 8.0), Models(**nothing, plausibility=plausibility))


def test_equals_one_view_after_another(model: VideoMAE):
    rows = []
    for view in PLAN.views(*FRAMES.shape[:3]):
        with torch.inference_mode():
            logits = model(torch.from_numpy(Viewer(FRAMES, PLAN).cut(view))[None])[0].double().numpy()
        rows.append(np.exp(logits) / np.exp(logits).sum())
    got = VideoMAEPlausibility(model, PLAN).probabilities(FRAMES)
    assert got.shape == (30, 5)
    assert np.ptp(got[:, 0]) > 0.01
    np.testing.assert_allclose(got, rows, atol=1e-6)


def test_equal_views_run_once(model: VideoMAE, monkeypatch: pytest.MonkeyPatch):
    seen = []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda batch: seen.append(len(batch)) or forward(batch))
    square = FRAMES[:7, :20, :20]  # too short for two stretches, no room for two crops
    got = VideoMAEPlausibility(model, PLAN).probabilities(square)
    assert seen == [1]
    assert np.ptp(got, axis=0).max() == 0


def test_batches_change_nothing(model: VideoMAE, monkeypatch: pytest.MonkeyPatch):
    plausibility = VideoMAEPlausibility(model, PLAN)
    whole = plausibility.probabilities(FRAMES)
    values = TINY.tokens * (2 * TINY.mlp_width + 8 * TINY.width)
    monkeypatch.setattr(module, "BATCH_MEMORY", 4 * values * 2)  # room for two views in float32
    assert plausibility._batch_size() == 2
    np.testing.assert_allclose(plausibility.probabilities(FRAMES), whole, atol=1e-6)


def test_cas_from_a_checkpoint(model: VideoMAE, tmp_path: Path):
    torch.save({"model": model.state_dict(), "architecture": asdict(TINY), "rate": 2}, tmp_path / "c.pt")
    plausibility = VideoMAEPlausibility.of(read_checkpoint(tmp_path / "c.pt"))
    assert plausibility.plan == PLAN
    result = cas.measure(scene(FRAMES, plausibility))
    expected = plausibility.probabilities(FRAMES).mean(axis=0) @ [0, 0.25, 0.5, 0.75, 1]
    assert result.score == pytest.approx(expected, abs=1e-12)
    assert len(result.view_scores) == 30
    assert result.view_frames[0] == (0, 6)
    assert result.view_frames[-1] == (22, 28)


def test_an_answer_that_is_no_number_is_an_error(model: VideoMAE):
    with torch.no_grad():
        model.head.bias[2] = torch.nan
    result = VideoMAEPlausibility(model, replace(PLAN, segments=1, crops=1))
    with pytest.raises(ClipError, match="not finite in fp32"):
        result.probabilities(FRAMES)


def test_what_it_looked_at_is_the_slope_of_hiding_it(model: VideoMAE):
    judge = VideoMAEPlausibility(model, PLAN)
    looked_at = scene(FRAMES, judge)
    looks = judge.saliency(looked_at)
    worst = int(np.argmin(looked_at.probabilities @ np.linspace(0, 1, 5)))
    assert [look.frame for look in looks] == list(judge.view_frames(looked_at)[worst])  # four moments of one frame
    # independently: fade one part of one frame a little towards the frame's mean colour
    place = PLAN.views(*FRAMES.shape[:3])[worst]
    pixels = Viewer(FRAMES, PLAN).cut(place)
    columns = (np.arange(16) + place.left) * 5 // PLAN.resized(20, 36)[1]
    rows = np.arange(16) * 5 // 16
    inside = (rows[:, None] == 2) & (columns[None] == columns[8])
    step = 1e-2
    mean = pixels.mean((2, 3), keepdims=True)
    faded = pixels.copy()
    faded[:, 1] = np.where(inside, pixels[:, 1] + step * (mean - pixels)[:, 1], pixels[:, 1])

    def log_odds(batch: np.ndarray) -> float:
        with torch.inference_mode():
            p = model(torch.from_numpy(batch)[None]).double().softmax(-1).numpy()[0] @ np.linspace(0, 1, 5)
        return float(np.log(p / (1 - p)))

    slope = (log_odds(faded) - log_odds(pixels)) / step
    assert abs(slope) > 1e-3
    assert looks[1].gain[2][columns[8]] == pytest.approx(slope, rel=0.05, abs=1e-4)


def test_where_memory_does_not_do_it_explains_all_the_same(model: VideoMAE, monkeypatch: pytest.MonkeyPatch):
    judge = VideoMAEPlausibility(model, PLAN)
    looked_at = scene(FRAMES, judge)
    with_room = judge.saliency(looked_at)
    assert not model.checkpointing
    forward = model.forward

    def full(batch: torch.Tensor) -> torch.Tensor:
        if not model.checkpointing:
            raise torch.OutOfMemoryError
        return forward(batch)

    monkeypatch.setattr(model, "forward", full)
    np.testing.assert_allclose(
        [look.gain for look in judge.saliency(looked_at)], [look.gain for look in with_room], atol=1e-6
    )


def test_a_checkpoint_takes_the_place_of_the_embedded_classifier(model: VideoMAE, tmp_path: Path):
    file = tmp_path / "mine.pt"
    torch.save({"model": model.state_dict(), "architecture": asdict(TINY), "rate": 2}, file)
    own = Suite(metrics=("cas",), cas_model=file)
    described = own.describe()
    assert "cas-ladder" not in described["weights"]
    assert described["weights"]["mine.pt"] == hashlib.sha256(file.read_bytes()).hexdigest()
    result = own.score_clip(FRAMES, fps=8).results["cas"]
    expected = VideoMAEPlausibility.of(read_checkpoint(file)).probabilities(FRAMES).mean(0) @ np.linspace(0, 1, 5)
    assert result.score == pytest.approx(expected, abs=1e-9)
    assert 0.5 < result.score < 0.95  # from which on it is explained when it is shown
    assert result.looks == ()
    shown = explain(own.scene(Clip(FRAMES, np.arange(30) / 8, 8.0)), {"cas": result})["cas"]
    assert len(shown.looks) == 4
    assert shown.events[: len(result.events)] == result.events
    assert explain(own.scene(Clip(FRAMES, np.arange(30) / 8, 8.0)), {"cas": shown})["cas"] is shown


def test_a_clip_below_fair_is_explained_when_it_is_scored(model: VideoMAE, monkeypatch: pytest.MonkeyPatch):
    judge = VideoMAEPlausibility(model, PLAN)
    passes: list[int] = []
    looked = judge.saliency
    monkeypatch.setattr(judge, "saliency", lambda scene: passes.append(1) or looked(scene))
    score = cas.measure(scene(FRAMES, judge)).score
    assert score is not None
    for limit, count in ((score, 0), (score + 1e-9, 4)):
        judge.explained_below = limit
        result = cas.measure(scene(FRAMES, judge))
        assert result.score == score
        assert len(result.looks) == count
    assert passes == [1]


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_weights_kept_in_half_give_the_same(model: VideoMAE, precision: Any, tmp_path: Path):
    torch.save({"model": model.state_dict(), "architecture": asdict(TINY), "rate": 2}, tmp_path / "c.pt")
    kept = VideoMAEPlausibility.of(read_checkpoint(tmp_path / "c.pt"), "cpu", precision)
    assert kept._model.get().blocks[0].mlp.fc1.weight.dtype == DTYPES[precision]
    assert kept._model.get().fc_norm.weight.dtype == torch.float32
    cast = VideoMAEPlausibility(model, PLAN, "cpu", precision)
    assert cast._model.get().blocks[0].mlp.fc1.weight.dtype == torch.float32
    assert np.array_equal(kept.probabilities(FRAMES), cast.probabilities(FRAMES))
