from __future__ import annotations

import cv2
import numpy as np
import pytest

from benchmarks.cas_recipe.harmless import HARMLESS, RECORDED, Beside, recorded
from benchmarks.cas_recipe.ladder import (
    CLEAN,
    DEFECTS,
    DRAWN,
    FLUID_DEFECTS,
    HARMLESS_DRAWN,
    PERFECT,
    RECORDED_DRAWN,
    Look,
    Member,
    cut_window,
    draw_look,
    inject,
    members,
)
from benchmarks.cas_recipe.renders import render
from benchmarks.cas_recipe.sources import Source
from vmmetrics.alignment.perturbations.frames import SEVERITY_LEVELS
from vmmetrics.alignment.perturbations.motion import displace, follow, noise_field, smooth_walk

FPS = 8.0
OF_TIME = ("reversal", "loop", "freeze_jump", "shuffle")


@pytest.fixture(scope="module")
def clip() -> np.ndarray:
    """Sixteen frames of gravel that drifts, with a disc of other gravel that goes the other way."""
    rng = np.random.default_rng(0)
    world = cv2.resize(rng.integers(0, 255, (16, 24, 3)).astype(np.uint8), (360, 240), interpolation=cv2.INTER_CUBIC)
    thing = cv2.resize(rng.integers(0, 255, (16, 24, 3)).astype(np.uint8), (360, 240), interpolation=cv2.INTER_CUBIC)
    y, x = np.mgrid[:120, :160]
    frames = []
    for t in range(16):
        frame = world[20:140, 20 + t : 180 + t].copy()
        disc = (x - 50 - 2 * t) ** 2 + (y - 60) ** 2 < 30**2
        frame[disc] = np.roll(thing, 2 * t, axis=1)[:120, 100:260][disc]
        frames.append(frame)
    return np.stack(frames)


def made(name: str, severity: int, clip: np.ndarray, seed: int = 0) -> np.ndarray:
    return inject(name, clip, severity, FPS, np.random.default_rng(seed))


def beside(clip: np.ndarray) -> Beside:
    other = np.ascontiguousarray(255 - clip)
    return Beside(other, clip[np.minimum(3 * np.arange(len(clip)), len(clip) - 1)], np.repeat(clip, 3, axis=0))


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_changes_the_clip_the_same_way_each_time(name, clip):
    before = clip.copy()
    once, again = made(name, 3, clip), made(name, 3, clip)
    np.testing.assert_array_equal(clip, before)
    np.testing.assert_array_equal(once, again)
    assert once.shape == clip.shape
    assert once.dtype == np.uint8
    assert (once != clip).any()


@pytest.mark.parametrize("name", [n for n in DEFECTS if n not in OF_TIME])
def test_the_strongest_rung_changes_more_than_the_weakest(name, clip):
    weak, strong = (np.abs(made(name, rung, clip).astype(int) - clip).mean() for rung in (1, SEVERITY_LEVELS))
    assert strong > 1.15 * weak > 0


@pytest.mark.parametrize("name", OF_TIME)
def test_defects_of_time_show_only_frames_of_the_clip(name, clip):
    for rung in range(1, SEVERITY_LEVELS + 1):
        for frame in made(name, rung, clip):
            assert any(np.array_equal(frame, other) for other in clip)


def test_time_turns_round_as_often_as_the_rung_says(clip):
    numbered = np.broadcast_to(np.arange(64, dtype=np.uint8)[:, None, None, None], (64, 8, 8, 3)).copy()
    for rung, turns in zip((1, 2, 3), (1, 2, 3), strict=True):
        order = made("reversal", rung, numbered)[:, 0, 0, 0].astype(int)
        steps = np.diff(order)
        assert set(np.abs(steps)) == {1}
        assert np.count_nonzero(np.diff(steps)) >= turns  # the ends of the clip turn it too


def test_a_freeze_lasts_longer_with_the_rung(clip):
    held = [
        (np.abs(np.diff(made("freeze_jump", r, clip).astype(int), axis=0)).max((1, 2, 3)) == 0).sum() for r in (1, 4)
    ]
    assert held[1] > held[0] > 0


def test_foreign_frames_come_more_often_with_the_rung(clip):
    foreign = [(made("interleave", r, clip) != clip).any((1, 2, 3)).sum() for r in range(1, SEVERITY_LEVELS + 1)]
    assert foreign == sorted(foreign)
    assert foreign[0] == 1


def test_displacing_by_whole_pixels_is_shifting(clip):
    moved = displace(clip[0], np.broadcast_to(np.array([3.0, -2.0]), (120, 160, 2)))
    np.testing.assert_array_equal(moved[10:-10, 10:-10], clip[0][8:-12, 13:-7])


def test_following_goes_with_the_thing(clip):
    path = follow(clip, np.array([50.0, 60.0]), 25.0)
    gone = np.hypot(*(path - (50, 60) - 2 * np.arange(16)[:, None] * (1, 0)).T)
    assert gone.max() < 30  # still on it, though it has gone by its radius
    assert path[-1, 0] > 55  # while the ground went the other way


def test_noise_and_walk_are_of_unit_order(clip):
    rng = np.random.default_rng(1)
    assert np.sqrt((noise_field(rng, clip, 20.0) ** 2).mean()) == pytest.approx(1, abs=1e-5)
    walk = smooth_walk(rng, 2000, 4.0)
    assert walk[0] == 0
    assert 0.3 < walk.std() < 1.5


def test_a_window_has_the_look_it_was_asked_for(clip):
    look = Look(60, 8.0, 1.0)
    source = np.repeat(clip, 8, axis=0)  # 128 frames
    window = cut_window(source, 30.0, look, 0.0)
    assert window.shape == (16, 60, 80, 3)
    expected = cv2.resize(source[4 * 5], (80, 60), interpolation=cv2.INTER_AREA)  # 30 / 8 frames a second: every fourth
    np.testing.assert_array_equal(window[5], expected)


def test_a_short_source_gives_what_it_has(clip):
    assert len(cut_window(clip[:5], 30.0, Look(60, 8.0, 3.0), 0.5)) == 5


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_harmless_changes_the_clip_the_same_way_each_time(name, clip):
    before = clip.copy()
    once, again = (HARMLESS[name](clip, beside(clip), np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(clip, before)
    np.testing.assert_array_equal(once, again)
    assert once.dtype == np.uint8
    assert once.shape[1:] == clip.shape[1:]
    assert 4 <= len(once) <= len(clip)
    assert len(once) < len(clip) or (once != clip).any()


def test_a_fade_begins_with_one_shot_and_ends_with_the_other(clip):
    for seed in range(4):
        faded = HARMLESS["dissolve"](clip, beside(clip), np.random.default_rng(seed))
        np.testing.assert_array_equal(faded[0], clip[0])
        np.testing.assert_array_equal(faded[-1], 255 - clip[-1])


def test_a_pace_never_stands_still_nor_goes_back(clip):
    numbered = np.broadcast_to(np.arange(48, dtype=np.uint8)[:, None, None, None], (48, *clip.shape[1:])).copy()
    for seed in range(5):
        paced = HARMLESS["pace"](clip, Beside(clip, clip, numbered), np.random.default_rng(seed))
        assert np.diff(paced[:, 0, 0, 0].astype(int)).min() >= 1


def test_who_passes_comes_and_goes(clip):
    passed = HARMLESS["passer"](clip, beside(clip), np.random.default_rng(0))
    changed = (passed != clip).mean((1, 2, 3))
    assert changed.max() > 0.03
    assert min(changed[0], changed[-1]) == 0


@pytest.mark.parametrize("name", RECORDED)
def test_another_recording_changes_the_clip_the_same_way_each_time(name, clip):
    before = clip.copy()
    once, again = (recorded(clip, FPS, np.random.default_rng(5)) for _ in range(2))
    assert set(once) == set(RECORDED)
    np.testing.assert_array_equal(clip, before)
    np.testing.assert_array_equal(once[name], again[name])
    assert (once[name].shape, once[name].dtype) == (clip.shape, np.uint8)
    assert (once[name] != clip).any()


def test_a_held_recording_shows_every_frame_twice(clip):
    held = recorded(clip, FPS, np.random.default_rng(0))["held"]
    np.testing.assert_array_equal(held, clip[np.arange(len(clip)) // 2])


PLAIN = Look(40, FPS, 1.0)


def group_of(clip: np.ndarray, look: Look = PLAIN, seed: int = 0, fluid: bool = False) -> list[Member]:
    small = np.ascontiguousarray(clip[:, ::3, ::3])
    source = Source("gravel", lambda: (clip, FPS), fluid)
    return list(members(3, source, small, look, beside(small), np.random.default_rng(seed)))


def test_members_carry_their_level(clip):
    group = group_of(clip)
    clean = [m for m in group if m.severity == 0]
    assert clean[0].kind == CLEAN
    assert len({m.kind for m in clean}) == 1 + HARMLESS_DRAWN + RECORDED_DRAWN
    assert {m.level for m in clean} == {PERFECT}
    defects = [m for m in group if m.severity]
    assert len({m.kind for m in defects}) == len(defects) == DRAWN
    for member in defects:
        assert member.level == PERFECT - member.severity
        seeded = np.random.default_rng([3, DEFECTS.index(member.kind)])
        expected = inject(member.kind, np.ascontiguousarray(clip[:, ::3, ::3]), member.severity, 8.0, seeded)
        np.testing.assert_array_equal(member.frames, expected)


def test_every_defect_and_rung_is_drawn_sometimes_the_weakest_least(clip):
    drawn = [(m.kind, m.severity) for seed in range(12) for m in group_of(clip, seed=seed) if m.severity]
    assert {kind for kind, _ in drawn} == set(DEFECTS)
    counts = [sum(rung == severity for _, rung in drawn) for severity in range(1, SEVERITY_LEVELS + 1)]
    assert 0 < counts[0] == min(counts)


def test_a_palette_is_that_of_the_look(clip):
    for member in group_of(clip, Look(40, 8.0, 1.0, colours=32)):
        assert len(np.unique(member.frames[4].reshape(-1, 3), axis=0)) <= 32


def test_defects_of_time_need_motion(clip):
    still = np.repeat(clip[:1], 16, axis=0)
    kinds = {m.kind for seed in range(8) for m in group_of(still, seed=seed)}
    assert kinds.isdisjoint(OF_TIME)
    assert "boil" in kinds
    assert CLEAN in kinds


def test_fluids_have_only_defects_of_the_whole_frame_and_of_time(clip):
    kinds = {m.kind for seed in range(8) for m in group_of(clip, seed=seed, fluid=True) if m.severity}
    assert kinds == set(FLUID_DEFECTS)


def test_looks_drawn_are_within_reason():
    looks = [draw_look(np.random.default_rng(seed)) for seed in range(60)]
    assert all(100 < look.short_side < 300 and 0.8 <= look.speed <= 3.5 for look in looks)
    assert {look.fps for look in looks} == {8.0, 12.0, 16.0, 24.0, 30.0}
    assert any(look.colours for look in looks)
    assert any(look.jpeg for look in looks)


def test_a_render_is_clean_and_the_same_each_time(monkeypatch):
    monkeypatch.setattr("benchmarks.cas_recipe.renders.SECONDS", 0.5)
    frames, fps = render(1)
    np.testing.assert_array_equal(frames, render(1)[0])
    assert frames.shape == (12, 300, 400, 3)
    assert fps == 24.0
    assert (render(2)[0] != frames).any()
