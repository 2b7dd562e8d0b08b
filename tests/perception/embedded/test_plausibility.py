from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.metrics import cas
from vmmetrics.perception.embedded.plausibility.evidence import (
    CELLS,
    MAPS,
    PlausibilityEvidence,
    bilinear,
    gather,
    lag_frames,
    span_of,
)
from vmmetrics.perception.embedded.plausibility.plausibility import (
    CONDITIONS,
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
    MOST_FRAMES,
    MOST_PACE,
    SECONDS,
    SIDE,
    Backbone,
    pictures,
    subsequences_of,
)
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.types import PlausibilityResult
from vmmetrics.utils.weights.manifest import weight_path

STEP = np.array([[1, 0, 2.0], [0, 1, 1.0], [0, 0, 1]])


def blank(frames: int, fps: float) -> Clip:
    return Clip(np.zeros((frames, 8, 8, 3), np.uint8), np.arange(frames) / fps, fps)


def evidence_of(clip: Clip) -> PlausibilityEvidence:
    subsequence = subsequences_of(clip)[0]
    return evidence_in(pictures(clip.frames, subsequence.frames), subsequence.pace)


def evidence_in(images: np.ndarray, pace: float = 8.0) -> PlausibilityEvidence:
    return gather(images, Backbone(threads=1).features(images), pace)


def numbers_of(clip: Clip) -> dict[str, float]:
    subsequence = subsequences_of(clip)[0]
    return dict(zip(NAMES, summarise(evidence_of(clip), *subsequence.views[0], subsequence.pace), strict=True))


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


@pytest.mark.slow
@given(st.integers(1, 400), st.floats(1.0, 120.0))
def test_views_are_even_within_the_clip_and_not_too_many(frames, fps):
    subsequences = subsequences_of(blank(frames, fps))
    views = [subsequence.frames[first:stop] for subsequence in subsequences for first, stop in subsequence.views]
    assert (len(views) == 0) == (frames < LEAST)
    assert len(views) == 1 or sum(map(len, views)) <= 1.25 * MOST_FRAMES
    for subsequence in subsequences:
        stride = subsequence.frames[1] - subsequence.frames[0]
        assert subsequence.pace == pytest.approx(fps / stride)
        assert subsequence.pace <= 1.5 * MOST_PACE or frames // (stride + 1) < LEAST
    for view in views:
        assert LEAST <= len(view) <= 1.25 * max(LEAST, round(SECONDS * subsequences[0].pace))
        assert len(set(np.diff(view))) <= 1
        assert 0 <= view[0] < view[-1] < frames


@pytest.mark.parametrize(("frames", "fps"), [(16, 8.0), (33, 16.0), (49, 8.0), (49, 24.0), (24, 16.0)])
def test_no_frame_of_a_short_clip_is_lost(frames, fps):
    subsequences = subsequences_of(blank(frames, fps))
    seen = {
        f for subsequence in subsequences for first, stop in subsequence.views for f in subsequence.frames[first:stop]
    }
    assert seen == set(range(frames))


@pytest.mark.parametrize("seconds", [3, 5, 8, 10, 15])
@pytest.mark.parametrize("fps", [8.0, 24.0, 30.0])
def test_nothing_of_a_clip_of_some_seconds_is_unseen(seconds, fps):
    frames = round(seconds * fps)
    seen = {f for sub in subsequences_of(blank(frames, fps)) for a, b in sub.views for f in sub.frames[a:b]}
    assert seen == set(range(frames))


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [30, 60, 300])
def test_views_of_a_long_clip_are_spread_over_it(seconds):
    frames = seconds * 30
    middles = sorted((sub.frames[a] + sub.frames[b - 1]) / 2 for sub in subsequences_of(blank(frames, 30.0))
                     for a, b in sub.views)  # fmt: skip
    assert len(middles) == MOST_FRAMES // 60
    assert max(np.diff([0, *middles, frames])) < 2 * frames / len(middles)


def test_a_small_thing_that_stutters_repeats_no_frames():
    frames = np.full((24, 120, 160, 3), 90, np.uint8)
    at = np.cumsum([1, 6] * 12)
    for frame, x in zip(frames, at, strict=True):
        cv2.circle(frame, (10 + int(x), 60), 6, (220, 220, 220), -1)
    (subsequence,) = subsequences_of(Clip(frames, np.arange(24) / 16, 16.0))
    assert subsequence.frames == tuple(range(24))


@pytest.mark.parametrize(("fps", "pace", "count"), [(8.0, 8.0, 1), (24.0, 24.0, 1), (30.0, 30.0, 1), (60.0, 30.0, 2)])
def test_frame_rates_up_to_thirty_are_kept_and_higher_ones_split(fps, pace, count):
    subsequences = subsequences_of(blank(round(2 * fps), fps))
    assert {subsequence.pace for subsequence in subsequences} == {pace}
    assert [subsequence.frames for subsequence in subsequences] == [
        tuple(range(offset, round(2 * fps), count)) for offset in range(count)
    ]


@pytest.mark.parametrize(
    ("shown", "fps"),
    [(np.repeat(np.arange(16), 2), 16.0), (np.arange(20) * 4 // 5, 10.0), (np.repeat(np.arange(16), 3), 24.0)],
    ids=["8 to 16", "8 to 10", "8 to 24"],
)
def test_frames_repeated_by_a_conversion_of_the_rate_are_left_out(pan, shown, fps):
    converted = Clip(np.ascontiguousarray(pan.frames[shown]), np.arange(len(shown)) / fps, fps)
    (views,), (plain,) = subsequences_of(converted), subsequences_of(pan)
    assert (views.views, views.pace) == (plain.views, pytest.approx(plain.pace))
    np.testing.assert_array_equal(converted.frames[list(views.frames)], pan.frames)


@pytest.mark.parametrize("order", [np.r_[0:6, [6] * 5, 7:12], np.r_[0:8, 7, 8:15]], ids=["freeze", "one repeat"])
def test_a_freeze_and_a_single_repeat_are_no_conversion(pan, order):
    (subsequence,) = subsequences_of(with_frames(pan, pan.frames[order]))
    assert subsequence.frames == tuple(range(16))


def test_content_is_followed_over_seconds():
    assert lag_frames(8.0) == {"step": 1, "quarter": 2, "half": 4}
    assert lag_frames(24.0) == {"step": 1, "quarter": 6, "half": 12}
    assert lag_frames(2.0) == {"step": 1, "quarter": 2, "half": 3}


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
    for name in MAPS:
        before, after = span_of(name, evidence.lags)
        unknown = np.flatnonzero(np.isnan(evidence.maps[name][:, 0, 0])).tolist()
        spanning = range(8 - after, 8 + before)
        assert unknown == sorted({*range(before), *spanning, *range(16 - after, 16)})


def test_single_foreign_frames_are_no_cuts(pan):
    frames = pan.frames.copy()
    frames[6] = frames[6, ::-1, ::-1]
    assert not evidence_of(with_frames(pan, frames)).cuts.any()


def test_small_changes_are_not_lost_in_the_rounding_of_products(pan):
    """Against differences taken one by one: by products in single precision they depend on the processor."""
    images = pictures(pan.frames, np.arange(8))
    rng = np.random.default_rng(0)
    features = [rng.gamma(1, 2, np.shape(found)).astype(np.float32) for found in Backbone(threads=1).features(images)]
    for of in features:
        of[4] = of[3] + rng.normal(0, 1e-3, of[3].shape)
    pooled = features[2].mean((1, 2))
    evidence = gather(images, features, 8.0)
    assert evidence.gist[3, 4] == pytest.approx(np.linalg.norm(pooled[4] - pooled[3]), rel=1e-4)
    near, far = (np.linalg.norm(features[1][other] - features[1][3]) for other in (4, 0))
    assert evidence.content[3, 4] / evidence.content[3, 0] == pytest.approx(near / far, rel=1e-4)


def test_evidence_lies_where_the_defect_is(pan):
    spoilt = evidence_of(trembling(pan, slice(80, 160), slice(120, 240)))
    for name in ("own jerk", "rough fine", "bent", "not returning"):
        values = view_of(spoilt, name, 0, 16).mean(0)
        corner, opposite = values[CELLS // 2 :, CELLS // 2 :].mean(), values[: CELLS // 2, : CELLS // 2].mean()
        assert corner > 1.3 * opposite, name


def block(textures: list[np.ndarray], columns: list[int]) -> np.ndarray:
    """A textured block of 48 pixels on still gravel, at those columns of the frames."""
    ground = np.random.default_rng(1).integers(90, 140, (20, 20, 3)).astype(np.uint8)
    frames = np.stack([cv2.resize(ground, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)] * len(columns))
    for frame, texture, column in zip(frames, textures, columns, strict=True):
        frame[56:104, column : column + 48] = texture
    return frames


def test_content_that_jumps_further_than_the_flow_follows_is_not_missing():
    rng = np.random.default_rng(0)
    textures = [np.kron(rng.integers(0, 255, (6, 6, 3)), np.ones((8, 8, 1))).astype(np.uint8) for _ in range(6)]
    jumps = [8, 48, 88, 48, 8, 48]  # a quarter of the frame each
    moved, replaced = evidence_in(block(textures[:1] * 6, jumps)), evidence_in(block(textures, jumps))
    for depth, share in (("fine", 0.2), ("middle", 0.6)):  # the cells of the middle depth see more of the ground
        inside = [(t, slice(8, 12), slice(jumps[t] // 8 + 1, jumps[t] // 8 + 5)) for t in range(1, 5)]
        foreign, missing, other = (
            np.mean([evidence.maps[f"{name} {depth}"][where].mean() for where in inside])
            for evidence, name in ((moved, "foreign"), (moved, "missing"), (replaced, "missing"))
        )
        assert missing < share * foreign, depth
        assert depth == "middle" or missing < share * other  # the middle depth hardly tells the two apart


def test_light_is_unsteady_where_one_frame_is_brighter():
    images = np.full((8, SIDE, SIDE, 3), 100, np.uint8)
    images[4] = 120  # for a moment
    light = evidence_in(images).maps["unsteady light"]
    np.testing.assert_allclose(light[4], 20 / 121, rtol=1e-4)
    np.testing.assert_allclose(light[[1, 2, 3, 5, 6]], 0, atol=1e-6)
    images[5:] = 120  # and from then on
    np.testing.assert_allclose(evidence_in(images).maps["unsteady light"][1:-1], 0, atol=1e-6)


def test_unsteady_light_lies_on_the_patch(pan):
    still = pictures(pan.frames[[0] * 8], range(8))
    still[4, 40:120, 40:120] = np.clip(still[4, 40:120, 40:120].astype(int) + 40, 0, 255)
    light = evidence_in(still).maps["unsteady light"]
    patch = np.zeros((CELLS, CELLS), bool)
    patch[7:13, 7:13] = True  # the middle of the patch, and away from its edge
    assert light[4][patch].min() > 0.15
    assert light[4][0].max() < 0.02
    assert np.nanmax(light[[1, 2, 6]]) < 0.02


def test_every_map_has_a_reason_in_words():
    assert all(any(name.startswith(start) for start in REASONS) for name in MAPS)


@settings(max_examples=60)
@given(st.integers(0, len(NAMES) - len(CONDITIONS) - 1), st.floats(0.0, 5.0), st.integers(0, 1000))
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
    unknown[: -len(CONDITIONS) : 3] = np.nan
    np.testing.assert_allclose(*classifier.badness(np.stack([usual, unknown])))


@pytest.mark.parametrize("place", range(len(CONDITIONS)), ids=CONDITIONS)
def test_growth_usual_under_a_condition_is_no_evidence(classifier, place):
    changed = classifier.centre.copy()
    changed[place - len(CONDITIONS)] += 1
    evidence = slice(0, -len(CONDITIONS))
    grown = changed.copy()
    grown[evidence] += classifier.slope[place, evidence]
    usual, expected = classifier.badness(np.stack([classifier.centre, grown]))
    assert expected == pytest.approx(usual)
    assert classifier.badness(changed[None])[0] != pytest.approx(usual)  # the condition alone does matter


def test_a_model_is_kept_as_it_is(tmp_path: Path, classifier):
    classifier.save(tmp_path / "a.npz")
    OrdinalModel.load(tmp_path / "a.npz").save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_model_of_other_numbers_is_refused(tmp_path: Path, classifier, monkeypatch):
    classifier.save(tmp_path / "a.npz")
    monkeypatch.setattr("vmmetrics.perception.embedded.plausibility.plausibility.NAMES", ("something", "else"))
    with pytest.raises(SetupError, match="train it again"):
        OrdinalModel.load(tmp_path / "a.npz")


@pytest.mark.slow
def test_the_same_clip_gives_the_same_answer(pan, model):
    first = model.classify(scene_of(pan, model))
    np.testing.assert_array_equal(model.classify(scene_of(pan, model)), first)
    two_threads = OrdinalPlausibility(threads=2)
    np.testing.assert_allclose(two_threads.classify(scene_of(pan, two_threads)), first, atol=1e-4)


@pytest.mark.slow
def test_a_part_of_another_scene_in_every_other_frame_lowers_the_score_and_is_looked_at(
    pan, model, drawn, moving_views
):
    part = np.s_[::2, 80:160, 120:240]
    frames = pan.frames.copy()
    frames[part] = drawn(moving_views(STEP, 16), size=(240, 160), seed=7).frames[part]
    clean, spoilt = (cas.measure(scene_of(clip, model)) for clip in (pan, with_frames(pan, frames)))
    assert spoilt.score < clean.score - 0.1
    assert_looked_at_below_right(spoilt)
    where = spoilt.events[-1]
    assert where.box[0] >= 96
    assert where.box[1] >= 64


def test_a_trembling_part_is_looked_at(pan, model):
    clean = cas.measure(scene_of(pan, model))
    spoilt = cas.measure(scene_of(trembling(pan, slice(80, 160), slice(120, 240)), model))
    assert 1 - spoilt.score > 2 * (1 - clean.score)  # a quarter of the frame costs 0.02
    assert_looked_at_below_right(spoilt)


def assert_looked_at_below_right(result: PlausibilityResult) -> None:
    gain = np.mean([look.gain for look in result.looks], axis=0)
    assert gain[2:, 2:].mean() > 2 * gain[:2, :2].mean()


@pytest.mark.slow
def test_the_record_says_over_which_frames_each_view_went(drawn, moving_views, model):
    clip = drawn(moving_views(STEP, 33), size=(120, 80), fps=48.0)
    result = cas.measure(scene_of(clip, model))
    assert result.view_frames == ((0, 32), (1, 31))
    assert len(result.view_scores) == len(result.view_frames)
    assert len(result.series["plausibility"]) == 33


def test_three_frames_are_too_few(pan, model):
    assert "3 frames" in cas.measure(scene_of(with_frames(pan, pan.frames[:3]), model)).missing
