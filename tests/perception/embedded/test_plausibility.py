from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.metrics import cas
from vmmetrics.perception.embedded.plausibility.evidence import CELLS, MAPS, PlausibilityEvidence, bilinear, gather
from vmmetrics.perception.embedded.plausibility.plausibility import (
    NAMES,
    REASONS,
    WEIGHTS,
    OrdinalModel,
    OrdinalPlausibility,
    summarise,
    view_of,
)
from vmmetrics.perception.embedded.plausibility.views import (
    LEAST,
    LENGTH,
    MOST_VIEWS,
    Backbone,
    pictures,
    subsequences_of,
)
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.utils.weights.manifest import weight_path

STEP = np.array([[1, 0, 2.0], [0, 1, 1.0], [0, 0, 1]])


def blank(frames: int, fps: float) -> Clip:
    return Clip(np.zeros((frames, 8, 8, 3), np.uint8), np.arange(frames) / fps, fps)


def evidence_of(clip: Clip) -> PlausibilityEvidence:
    images = pictures(clip.frames, subsequences_of(clip)[0])
    return gather(images, Backbone(threads=1).features(images))


def numbers_of(clip: Clip) -> dict[str, float]:
    subsequence = subsequences_of(clip)[0]
    return dict(zip(NAMES, summarise(evidence_of(clip), *subsequence.views[0]), strict=True))


def scene_of(clip: Clip, model: OrdinalPlausibility) -> Scene:
    nothing: dict[str, object] = dict.fromkeys(("flow", "camera", "segmenter", "tracker", "pose", "quality"))
    return Scene(clip, Models(**nothing, plausibility=model))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model() -> OrdinalPlausibility:
    return OrdinalPlausibility(threads=1)


@pytest.fixture(scope="module")
def classifier() -> OrdinalModel:
    return OrdinalModel.load(weight_path(WEIGHTS))


@pytest.fixture
def pan(drawn: Callable[..., Clip], moving_views: Callable[..., list]) -> Clip:
    """Gravel under a steady camera, 16 frames."""
    return drawn(moving_views(STEP, 16), size=(240, 160))


def with_frames(clip: Clip, frames: np.ndarray) -> Clip:
    return Clip(np.ascontiguousarray(frames), np.arange(len(frames)) / clip.fps, clip.fps)


def trembling(clip: Clip, rows: slice, columns: slice) -> Clip:
    """Every other frame, a part is pushed aside by eight pixels."""
    frames = clip.frames.copy()
    frames[::2, rows, columns] = np.roll(frames[::2], 8, axis=2)[:, rows, columns]
    return with_frames(clip, frames)


@given(st.integers(1, 400), st.floats(1.0, 120.0))
def test_views_are_even_within_the_clip_and_not_too_many(frames, fps):
    subsequences = subsequences_of(blank(frames, fps))
    views = [subsequence.frames[first:stop] for subsequence in subsequences for first, stop in subsequence.views]
    assert (len(views) == 0) == (frames < LEAST)
    assert len(views) <= MOST_VIEWS
    for view in views:
        assert LEAST <= len(view) <= 1.25 * LENGTH
        assert len(set(np.diff(view))) <= 1
        assert 0 <= view[0] < view[-1] < frames


@pytest.mark.parametrize(("frames", "fps"), [(16, 8.0), (33, 16.0), (49, 8.0), (49, 24.0), (24, 16.0)])
def test_no_frame_of_a_short_clip_is_lost(frames, fps):
    subsequences = subsequences_of(blank(frames, fps))
    seen = {
        f for subsequence in subsequences for first, stop in subsequence.views for f in subsequence.frames[first:stop]
    }
    assert seen == set(range(frames))


def test_bilinear_takes_any_number_of_channels():
    ramp = np.stack([np.add.outer(10.0 * np.arange(4), np.arange(5)) + 100 * c for c in range(7)], -1)
    places = np.full((2, 3, 2), (2.25, 1.5))
    np.testing.assert_allclose(bilinear(ramp, places), np.broadcast_to(17.25 + 100 * np.arange(7.0), (2, 3, 7)))


def test_a_steady_pan_neither_jerks_nor_turns(pan):
    numbers = numbers_of(pan)
    assert numbers["turning round"] <= 0
    assert np.exp(numbers["jerk: mean"]) < 0.1
    assert np.exp(numbers["bent: mean"]) < 0.25
    assert np.exp(numbers["travel"]) - 0.5 == pytest.approx(np.hypot(2 * 160 / 240, 1), rel=0.15)


def test_turning_round_is_seen(pan):
    there_and_back = with_frames(pan, pan.frames[np.r_[0:8, 6:-1:-1][:15]])
    assert numbers_of(there_and_back)["turning round"] > 0.9
    assert numbers_of(there_and_back)["repeating"] > numbers_of(pan)["repeating"]


def test_standing_still_and_jumping_is_seen(pan):
    order = np.array([0, 1, 2, 3, 3, 3, 3, 3, 8, 9, 10, 10, 10, 10, 14, 15])
    stuck = numbers_of(with_frames(pan, pan.frames[order]))
    assert stuck["frozen"] > 0.3
    assert stuck["uneven pace"] > 2 * numbers_of(pan)["uneven pace"]


def test_a_cut_is_left_out(drawn, moving_views):
    shots = [drawn(moving_views(STEP, 8), size=(240, 160), seed=seed) for seed in (0, 50)]
    evidence = evidence_of(with_frames(shots[0], np.concatenate([s.frames for s in shots])))
    assert np.flatnonzero(evidence.cuts).tolist() == [7]
    for name, (before, after) in MAPS.items():
        unknown = np.flatnonzero(np.isnan(evidence.maps[name][:, 0, 0])).tolist()
        spanning = range(8 - after, 8 + before)
        assert unknown == sorted({*range(before), *spanning, *range(16 - after, 16)})


def test_single_foreign_frames_are_no_cuts(pan):
    frames = pan.frames.copy()
    frames[6] = frames[6, ::-1, ::-1]
    assert not evidence_of(with_frames(pan, frames)).cuts.any()


def test_evidence_lies_where_the_defect_is(pan):
    spoilt = evidence_of(trembling(pan, slice(80, 160), slice(120, 240)))
    for name in ("own jerk", "rough fine", "bent", "not returning"):
        values = view_of(spoilt, name, 0, 16).mean(0)
        corner, opposite = values[CELLS // 2 :, CELLS // 2 :].mean(), values[: CELLS // 2, : CELLS // 2].mean()
        assert corner > 1.3 * opposite, name


def test_every_map_has_a_reason_in_words():
    assert all(any(name.startswith(start) for start in REASONS) for name in MAPS)


@settings(max_examples=60)
@given(st.integers(0, len(NAMES) - 2), st.floats(0.0, 5.0), st.integers(0, 1000))
def test_worse_evidence_never_raises_a_score(classifier, which, more, seed):
    numbers = np.random.default_rng(seed).normal(size=len(NAMES)) * classifier.scale + classifier.centre
    worse = numbers.copy()
    worse[which] += more * classifier.scale[which]
    both = classifier.probabilities(np.stack([numbers, worse]))
    np.testing.assert_allclose(both.sum(1), 1, atol=1e-9)
    assert both.min() >= 0
    assert (np.cumsum(both[1]) >= np.cumsum(both[0]) - 1e-12).all()


def test_what_is_unknown_counts_as_usual(classifier):
    usual = classifier.centre.copy()
    unknown = usual.copy()
    unknown[:-1:3] = np.nan
    np.testing.assert_allclose(*classifier.badness(np.stack([usual, unknown])))


def test_a_model_is_kept_as_it_is(tmp_path: Path, classifier):
    classifier.save(tmp_path / "a.npz")
    OrdinalModel.load(tmp_path / "a.npz").save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_model_of_other_numbers_is_refused(tmp_path: Path, classifier, monkeypatch):
    classifier.save(tmp_path / "a.npz")
    monkeypatch.setattr("vmmetrics.perception.embedded.plausibility.plausibility.NAMES", ("something", "else"))
    with pytest.raises(SetupError, match="train it again"):
        OrdinalModel.load(tmp_path / "a.npz")


def test_the_same_clip_gives_the_same_answer(pan, model):
    first = model.classify(scene_of(pan, model))
    np.testing.assert_array_equal(model.classify(scene_of(pan, model)), first)
    two_threads = OrdinalPlausibility(threads=2)
    np.testing.assert_allclose(two_threads.classify(scene_of(pan, two_threads)), first, atol=1e-4)


def test_a_trembling_part_lowers_the_score_and_is_looked_at(pan, model):
    clean = cas.measure(scene_of(pan, model))
    spoilt = cas.measure(scene_of(trembling(pan, slice(80, 160), slice(120, 240)), model))
    assert spoilt.score < clean.score - 0.1
    gain = np.mean([look.gain for look in spoilt.looks], axis=0)
    assert gain[2:, 2:].mean() > 2 * gain[:2, :2].mean()
    where = spoilt.events[-1]
    assert where.box[0] >= 96
    assert where.box[1] >= 64


def test_the_record_says_over_which_frames_each_view_went(drawn, moving_views, model):
    clip = drawn(moving_views(STEP, 33), size=(120, 80), fps=16.0)
    result = cas.measure(scene_of(clip, model))
    assert result.view_frames == ((0, 32), (1, 31))
    assert len(result.view_scores) == len(result.view_frames)
    assert len(result.series["plausibility"]) == 33


def test_three_frames_are_too_few(pan, model):
    assert "3 frames" in cas.measure(scene_of(with_frames(pan, pan.frames[:3]), model)).missing
