"""Motion of whole bodies: amounts by hand, what must not matter, and walkers of known dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.body_motion import DEFECTS, GAITS, broken, figure, panned, reversing, view
from benchmarks.pose_sequences import noisy
from vmmetrics.functional import object_integrity_score
from vmmetrics.functional.body_motion import MOTION_REASONS, body_motion
from vmmetrics.functional.limbs import PARTS
from vmmetrics.types import FloatArray

FPS = 24.0
FRAMES = 49
MIRROR = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]


def evidence(pixels: FloatArray, fps: float = FPS, camera: FloatArray | None = None) -> dict[str, FloatArray]:
    """Reason to (T, 12) of one person seen well throughout."""
    maps = body_motion(pixels[:, None], np.full((len(pixels), 1, 17), 0.9), fps, camera)
    return {reason: deviations[:, 0] for reason, deviations in maps.items()}


def reported(maps: dict[str, FloatArray]) -> set[str]:
    return {reason for reason, deviations in maps.items() if (deviations > 1).any()}


def standing(num_frames: int = FRAMES) -> FloatArray:
    still = replace(GAITS["standing"], swing=0.0)
    return view(figure(still, num_frames, FPS))


def test_a_still_person_scores_one() -> None:
    pixels = standing()
    maps = evidence(pixels)
    assert set(maps) == set(MOTION_REASONS)
    for reason in ("jitters", "slides or floats", "jolted"):
        judged = np.isfinite(maps[reason])
        assert judged.any()
        np.testing.assert_allclose(maps[reason][judged], 0, atol=1e-9)
    scores = np.full((FRAMES, 17), 0.9)
    assert object_integrity_score(pixels, scores, evidence=maps).score == 1


def test_a_forearm_that_alternates_reads_its_amplitude() -> None:
    pixels = standing()
    amplitude = 0.05  # torso lengths to either side, so that third differences are 8 of them
    pixels[::2, 9, 1] += amplitude * 100
    pixels[1::2, 9, 1] -= amplitude * 100
    maps = evidence(pixels)
    forearm = maps["jitters"][:, list(PARTS).index("left forearm")]
    fine, coarse = 8 * amplitude / np.sqrt(20), 2 * amplitude
    allowed = 0.02 + 0.6 / 100 + 2500 / FPS**4 + 0.5 * coarse
    np.testing.assert_allclose(forearm, fine / allowed, rtol=0.1)  # 0.1: the torso length is itself estimated
    others = np.delete(maps["jitters"], list(PARTS).index("left forearm"), axis=1)
    assert not (others > 1).any()


@pytest.mark.parametrize(("speed", "slides"), [(0.3, False), (0.9, True), (3.0, True)])
def test_planted_feet_that_slide_are_at_fault_by_their_speed(speed: float, slides: bool) -> None:
    pixels = standing()
    pixels[..., 0] += (speed * 100 * np.arange(FRAMES) / FPS)[:, None]
    maps = evidence(pixels)
    assert reported(maps) == ({"slides or floats"} if slides else set())
    legs = maps["slides or floats"][FRAMES // 2, [5, 6, 7, 8]]
    np.testing.assert_allclose(legs, speed / 0.6, rtol=0.1)
    assert np.isnan(maps["slides or floats"][:, [0, 1, 2, 3, 4, 9, 10, 11]]).all()


def test_one_resting_foot_carries_the_body() -> None:
    pixels = standing()
    pixels[:, [14, 16], 0] += 30 * np.sin(np.arange(FRAMES) / 2)[:, None]
    assert "slides or floats" not in reported(evidence(pixels))


def test_a_jump_is_no_floating_but_hanging_in_the_air_is() -> None:
    pixels = standing()
    time = (np.arange(FRAMES) - 12) / FPS
    flight = 0.6
    jump = np.where((time > 0) & (time < flight), 0.5 * 19.6 * time * (flight - time), 0.0)
    assert "slides or floats" not in reported(evidence(pixels - np.stack([0 * jump, 100 * jump], 1)[:, None]))
    lifted = np.interp(time, [0, 1], [0, 1.5])
    assert reported(evidence(pixels - np.stack([0 * lifted, 100 * lifted], 1)[:, None])) == {"slides or floats"}


def test_a_jolt_is_at_fault_in_its_frames() -> None:
    pixels = standing()
    pixels[20:, :, 0] += 40  # 0.4 torso lengths at once
    maps = evidence(pixels)
    assert reported(maps) == {"jolted"}
    np.testing.assert_array_equal(np.flatnonzero((maps["jolted"] > 1).all(axis=1)), [19, 20])
    np.testing.assert_allclose(maps["jolted"][20], 0.4 / (200 / FPS**2), rtol=0.1)


def test_two_frames_seen_wrongly_are_no_jolt() -> None:
    pixels = standing()
    pixels[20:22, :, 0] += 40
    assert "jolted" not in reported(evidence(pixels))


@pytest.mark.parametrize("degrees", [0.0, 180.0])
def test_a_knee_past_straight_is_at_fault_whichever_way_one_faces(degrees: float) -> None:
    body = figure(GAITS["standing"], FRAMES, FPS)
    rng = np.random.default_rng(0)
    maps = evidence(view(reversing(body, 40.0, FPS, rng), degrees))
    assert reported(maps) == {"bends backwards"}
    at_fault = np.flatnonzero((maps["bends backwards"] > 1).any(axis=0))
    assert [list(PARTS)[part] for part in at_fault] == ["left thigh", "left calf"]
    assert reported(evidence(view(body, degrees))) == set()


@pytest.mark.parametrize("fps", [12.0, 16.0, 24.0, 30.0, 60.0])
@pytest.mark.parametrize("gait", GAITS)
@pytest.mark.parametrize("degrees", [0.0, 40.0, 90.0])
def test_people_who_walk_and_run_are_innocent(gait: str, degrees: float, fps: float) -> None:
    rng = np.random.default_rng(int(fps + degrees))
    pixels = noisy(view(figure(GAITS[gait], int(2 * fps), fps, 0.3), degrees), rng, 1.0)
    assert reported(evidence(pixels, fps)) == set()


def test_a_panning_camera_is_innocent_where_it_is_known() -> None:
    pixels = view(figure(GAITS["walking"], FRAMES, FPS), 20.0)
    moved, camera = panned(pixels, np.stack([8.0 * np.arange(FRAMES), 30 * np.sin(np.arange(FRAMES) / 6)], axis=1))
    assert reported(evidence(moved, FPS, camera)) == set()
    assert "slides or floats" in reported(evidence(moved))
    assert reported(evidence(moved, FPS, np.full_like(camera, np.nan))) == set()


def defective(name: str, seed: int) -> FloatArray:
    breaker, _, strengths, gaits = DEFECTS[name]
    rng = np.random.default_rng(seed)
    return noisy(view(breaker(figure(GAITS[gaits[0]], FRAMES, FPS), strengths[-1], FPS, rng)), rng, 1.0)


@settings(max_examples=12, deadline=None, phases=[Phase.generate])
@given(
    name=st.sampled_from(sorted(DEFECTS)),
    seed=st.integers(0, 99),
    scale=st.floats(0.8, 4),
    shift=st.tuples(st.floats(-500, 500), st.floats(-500, 500)),
)
def test_neither_position_nor_size_matter(name: str, seed: int, scale: float, shift: tuple[float, float]) -> None:
    pixels = defective(name, seed)
    maps, moved, larger = evidence(pixels), evidence(pixels + np.array(shift)), evidence(pixels * scale)
    for reason in MOTION_REASONS:
        np.testing.assert_allclose(moved[reason], maps[reason], rtol=1e-6, atol=1e-9)
    for reason in MOTION_REASONS[1:]:
        np.testing.assert_allclose(larger[reason], maps[reason], rtol=1e-6, atol=1e-9)
    judged = np.isfinite(maps["jitters"])  # of which more pixels show more
    assert ((larger["jitters"] >= maps["jitters"])[judged] == (scale >= 1)).all()


@pytest.mark.parametrize("name", sorted(DEFECTS))
def test_neither_does_the_side(name: str) -> None:
    pixels = defective(name, 1)
    maps, mirrored = evidence(pixels), evidence((pixels * [-1, 1])[:, MIRROR])
    assert reported(maps) == reported(mirrored) == {DEFECTS[name][1]}
    for reason in MOTION_REASONS[:3]:  # torso and neck are measured on the left alone, and the scale with them
        parts, other = maps[reason][:, 1:9], mirrored[reason][:, [3, 4, 1, 2, 7, 8, 5, 6]]
        np.testing.assert_allclose(other, parts, rtol=0.1, atol=0.2)


@pytest.mark.parametrize("name", sorted(DEFECTS))
def test_broken_dynamics_are_reported_for_their_reason(name: str) -> None:
    breaker, reason, strengths, gaits = DEFECTS[name]
    for gait in gaits:
        results = [broken(gait, breaker, strengths[-1], 0.01, seed) for seed in range(6)]
        assert sum(reason in reasons for _, reasons in results) >= 5
        assert np.mean([result.score for result, _ in results]) < 0.95


def test_nobody_and_a_short_clip_have_no_evidence() -> None:
    assert {e.shape for e in body_motion(np.zeros((5, 0, 17, 2)), np.zeros((5, 0, 17)), FPS).values()} == {(5, 0, 12)}
    for fps in (1.0, 8.0, FPS, 240.0):
        for count in (1, 2, 3, 4, 7, 8, 9, 12, 63, 64, 65):
            maps = evidence(standing(count), fps)
            assert all(deviations.shape == (count, 12) for deviations in maps.values())
            assert reported(maps) == set()


def test_what_is_not_seen_is_not_judged() -> None:
    pixels, scores = standing()[:, None], np.full((FRAMES, 1, 17), 0.9)
    scores[:, :, 15] = 0.2  # one ankle hidden: it may rest
    pixels[..., 0] += 10.0 * np.arange(FRAMES)[:, None, None]
    maps = body_motion(pixels, scores, FPS)
    assert np.isnan(maps["slides or floats"]).all()
    assert np.isnan(maps["jitters"][:, 0, list(PARTS).index("left calf")]).all()
