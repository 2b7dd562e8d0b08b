"""Every trap does what it says, by hand, for clips of any size and length; the seed decides all that is random."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import pytest

from vmmetrics.alignment.perturbations.library import PERTURBATIONS
from vmmetrics.alignment.perturbations.traps import OPERATIONS, TRAPS
from vmmetrics.alignment.probe.cases import CLEAN, RATE
from vmmetrics.clip import Clip

STILLS = {"frozen", "still_pan", "still_zoom", "two_layers", "text_card"}
RANDOM = {"grain", "pure_noise"}


def made(name: str, clip: Clip, seed: int = 0) -> np.ndarray:
    return TRAPS[name](clip, np.random.default_rng(seed)).frames


def numbered(count: int) -> Clip:
    """A clip whose frames are of one grey level, 4 times their number."""
    frames = np.full((count, 8, 10, 3), 4, np.uint8) * np.arange(count, dtype=np.uint8)[:, None, None, None]
    return Clip(frames, np.arange(count) / 8, 8.0)


def order(name: str, count: int) -> list[float]:
    """Return which moment each frame of a trap shows."""
    frames = made(name, numbered(count))
    assert np.ptp(frames, axis=(1, 2, 3)).max() == 0
    return (frames[:, 0, 0, 0] / 4).tolist()


def speed(frames: np.ndarray) -> float:
    """Mean optical flow away from the border, pixels a frame."""
    grey = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in frames]
    dis = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    flows = [dis.calc(a, b, None)[16:-16, 16:-16] for a, b in pairwise(grey)]
    return float(np.linalg.norm(flows, axis=-1).mean())


@pytest.fixture(scope="module")
def drifting() -> Clip:
    """Three seconds of gravel that drifts by 4 pixels a frame."""
    coarse = np.random.default_rng(0).integers(0, 255, (16, 40, 3)).astype(np.uint8)
    world = cv2.resize(coarse, (480, 160), interpolation=cv2.INTER_CUBIC)
    return Clip(np.stack([world[20:116, 20 + 4 * t : 148 + 4 * t] for t in range(36)]), np.arange(36) / 12, 12.0)


def test_names_are_free_and_every_trap_says_what_and_why():
    assert not set(TRAPS) & {*PERTURBATIONS, CLEAN, RATE}
    assert all(name == trap.name and trap.what and trap.why for name, trap in TRAPS.items())
    lower = {"blurred", "grain", "strobe", "duplicated", "pure_noise", "black"}
    assert {name for name, trap in TRAPS.items() if trap.expected == "lower"} == lower
    assert {trap.expected for trap in TRAPS.values()} == {"lower", "not higher"}
    slower = {"frozen", "text_card", "slow", "slower", "duplicated", "pure_noise", "black"}
    assert {name for name, trap in TRAPS.items() if trap.motion == "lower"} == slower


@pytest.mark.parametrize("name", TRAPS)
def test_size_length_and_times_stay_and_the_seed_decides_the_frames(name, clip):
    before = clip.frames.copy()
    trap = TRAPS[name](clip, np.random.default_rng(3))
    np.testing.assert_array_equal(clip.frames, before)
    assert trap.frames.shape == before.shape
    assert trap.frames.flags.c_contiguous
    assert (trap.frames != before).any()
    assert trap.notes == (*clip.notes, name)
    np.testing.assert_array_equal(trap.timestamps, clip.timestamps)
    assert (trap.fps, trap.size, trap.name) == (clip.fps, clip.size, clip.name)
    np.testing.assert_array_equal(made(name, clip, seed=3), trap.frames)
    assert (made(name, clip, seed=4) != trap.frames).any() == (name in RANDOM)


@pytest.mark.parametrize("shape", [(2, 48, 64), (1, 33, 47), (3, 5, 7), (2, 1, 1), (2, 64, 1)])
def test_clips_of_any_size_and_length_can_be_changed(shape):
    frames = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    clip = Clip(frames, np.arange(len(frames)) / 8, 8.0)
    changed = [made(name, clip) for name in TRAPS]
    changed += [of(frames, amount) for of in OPERATIONS.values() for amount in (0.02, 0.5, 1.0)]
    assert {(frames.shape, frames.dtype) for frames in changed} == {(frames.shape, frames.dtype)}


def test_time_is_held_turned_repeated_slowed_and_doubled():
    assert order("frozen", 5) == [0] * 5
    assert order("loop_back", 8) == [0, 1, 2, 3, 4, 3, 2, 1]
    assert order("loop_back", 7) == [0, 1, 2, 3, 2, 1, 0]
    assert order("repeat", 6) == [0, 1, 2] * 2
    assert order("repeat", 7) == [0, 1, 2, 3, 0, 1, 2]
    assert order("slow", 6) == [0, 0.5, 1, 1.5, 2, 2.5]
    assert order("slower", 6) == [0, 0.25, 0.5, 0.75, 1, 1.25]
    assert order("duplicated", 6) == [0, 0, 1, 1, 2, 2]
    assert order("averaged", 6) == [0, 1, 2, 3, 4, 5]  # what changes evenly is its own mean


def test_of_two_frames_only_traps_of_three_leave_both_as_they_were():
    clip = replace(numbered(2), frames=np.random.default_rng(0).integers(0, 256, (2, 48, 64, 3)).astype(np.uint8))
    assert {name for name in TRAPS if (made(name, clip) == clip.frames).all()} == {"loop_back", "averaged"}


@pytest.mark.parametrize(("name", "share"), [("slow", 1 / 2), ("slower", 1 / 4), ("duplicated", 1 / 2), ("frozen", 0)])
def test_what_is_slower_moves_by_that_share(name, share, drifting):
    assert speed(drifting.frames) == pytest.approx(4, rel=0.02)
    assert speed(made(name, drifting)) == pytest.approx(4 * share, rel=0.06)


@pytest.mark.parametrize("name", ["loop_back", "averaged", "dark", "blurred", "grain", "strobe"])
def test_what_hides_or_flickers_leaves_the_motion(name, drifting):
    assert speed(made(name, drifting)) == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize("name", sorted(STILLS))
def test_stills_are_made_of_the_first_frame_alone(name, clip):
    other = clip.frames.copy()
    other[1:] = 7
    np.testing.assert_array_equal(made(name, clip), made(name, replace(clip, frames=other)))
    assert (np.diff(made(name, clip).astype(int), axis=0) != 0).any() == (name not in ("frozen", "text_card"))


def test_a_pan_goes_by_a_tenth_of_the_width_and_a_zoom_by_a_fifth_of_the_view():
    x = np.broadcast_to(np.arange(200, dtype=np.uint8)[None, :, None], (100, 200, 3))
    ramp = Clip(np.stack([x] * 5), np.arange(5) / 8, 8.0)
    pan, zoom = made("still_pan", ramp).astype(float), made("still_zoom", ramp).astype(float)
    middle = pan[:, 50, 100, 0]
    assert np.diff(middle) == pytest.approx([5] * 4, abs=1)
    assert middle[-1] - middle[0] == pytest.approx(20, abs=1)
    spans = zoom[:, 50, 190, 0] - zoom[:, 50, 10, 0]
    assert spans == pytest.approx([180 / (1.14 - 0.11 * t) for t in (-1, -0.5, 0, 0.5, 1)], abs=1.5)
    layers = made("two_layers", ramp).astype(float)
    np.testing.assert_array_equal(layers[:, 2], pan[:, 2])  # behind
    assert layers[-1, 60, 100, 0] - layers[0, 60, 100, 0] == pytest.approx(30, abs=1)  # before it, half as far again


def test_light_grain_blur_and_blanks(drifting):
    frames = drifting.frames.astype(float)
    assert np.abs(made("dark", drifting) - frames / 3).max() <= 0.5
    strobe = made("strobe", drifting)
    np.testing.assert_array_equal(strobe[::2], drifting.frames[::2])
    assert np.abs(strobe[1::2] - frames[1::2] / 2).max() <= 0.5
    grey = replace(drifting, frames=np.full_like(drifting.frames, 128))
    grain = made("grain", grey).astype(float) - 128
    assert grain.std() == pytest.approx(20, rel=0.02)
    assert np.corrcoef(grain[0].ravel(), grain[1].ravel())[0, 1] == pytest.approx(0, abs=0.03)
    noise = made("pure_noise", drifting)
    assert (noise.min(), noise.max()) == (0, 255)
    assert noise.mean() == pytest.approx(127.5, abs=0.5)
    assert not made("black", drifting).any()


def test_blur_is_as_heavy_at_every_size():
    spread = {}
    for side in (256, 512):
        edge = np.zeros((2, side, side, 3), np.uint8)
        edge[:, :, side // 2 :] = 255
        row = made("blurred", Clip(edge, np.arange(2) / 8, 8.0))[0, side // 2, :, 0]
        spread[side] = int(((row > 40) & (row < 215)).sum())  # ± one standard deviation of the step's blur
    assert spread[256] == pytest.approx(2 * 4.3, abs=1)
    assert spread[512] == pytest.approx(4 * 4.3, abs=1)


def test_the_card_is_white_with_text_in_the_middle(drifting):
    (card, *others) = made("text_card", drifting)
    assert all((card == other).all() for other in others)
    rows, columns = np.nonzero(card[..., 0] < 128)
    assert (card[[0, -1]] == 255).all()
    assert (rows.min() + rows.max()) / 2 == pytest.approx(48, abs=3)
    assert (columns.min() + columns.max()) / 2 == pytest.approx(64, abs=3)
    assert np.ptp(columns) == pytest.approx(0.8 * 128, rel=0.1)
