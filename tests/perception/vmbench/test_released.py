"""The released control flow: equal to a plain re-statement of the scripts on the same fake answers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

import released_scripts as scripts
from released_fakes import FakeModels, FakePeople, noise_clip

from vmmetrics.clip import Clip
from vmmetrics.metrics import ois, pas, tcs
from vmmetrics.perception.points import released_key_frames, released_step
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.perception.vmbench.released import Released, identify, pixel_boxes, recompressed, shrunk_boxes


def scene_of(clip: Clip, fakes: FakeModels) -> Scene:
    released = Released(fakes, fakes, fakes, fakes, FakePeople(fakes.seed), fakes)
    return Scene(clip, Models(*[None] * 6, released=released))  # type: ignore[arg-type]


seeds = st.integers(0, 2**31)


@settings(max_examples=40)
@given(seed=seeds, frames=st.integers(2, 40), fps=st.sampled_from([2.0, 3.0, 4.0, 6.0, 8.0, 8.9, 24.0]))
def test_tcs_equals_the_script(seed: int, frames: int, fps: float):
    clip = noise_clip(frames, fps, seed=seed % 97)
    result = tcs.measure(scene_of(clip, FakeModels(seed)), "vmbench")
    assert result.score == pytest.approx(scripts.coherence(FakeModels(seed), clip.frames, fps, "Horse"), abs=1e-12)


def test_tcs_meets_every_case():
    """The fakes above do vanish, come back, are excused and are not: else equality would say little."""
    excuses, scores, repeated = set(), set(), False
    for seed in range(60):
        result = tcs.measure(scene_of(noise_clip(36, 5.0, seed=seed), FakeModels(seed)), "vmbench")
        excuses |= {event.excuse for event in result.events}
        scores.add(result.score)
        gone = [event.target for event in result.events if event.reason.startswith("vanish")]
        repeated |= len(gone) > len(set(gone))
    assert None in excuses
    assert len(excuses) >= 5
    assert repeated
    assert len(scores) > 10
    assert min(scores) < 0.7


def test_tcs_asks_what_the_script_asks():
    """The same questions to detector, masks and propagation; the points once per object instead of once per event."""
    for seed in range(10):
        clip, ours, theirs = noise_clip(30, 6.0, seed=seed), FakeModels(seed), FakeModels(seed)
        tcs.measure(scene_of(clip, ours), "vmbench")
        scripts.coherence(theirs, clip.frames, 6.0, "Horse")
        for kind in ("boxes", "masks", "propagate"):  # ours detects in all key frames before it follows
            same = [[q for q in fake.asked if q[0] == kind] for fake in (ours, theirs)]
            assert same[0] == same[1]
        grids = [[q for q in fake.asked if q[0] == "grid"] for fake in (ours, theirs)]
        assert set(grids[0]) == set(grids[1])
        assert len(grids[0]) == len(set(grids[0]))


@settings(max_examples=40)
@given(seed=seeds, boxes=st.integers(0, 3), size=st.sampled_from([(64, 48), (48, 64), (64, 36), (40, 40), (90, 30)]))
def test_pas_equals_the_script(seed: int, boxes: int, size: tuple[int, int]):
    clip = noise_clip(7, 8.0, size, seed=seed % 97)
    result = pas.measure(scene_of(clip, FakeModels(seed, boxes)), "vmbench")
    expected = scripts.amplitude(FakeModels(seed, boxes), clip.frames, "Horse")
    # A difference of two amplitudes of about one diagonal, each of which the script rounds to float32.
    assert result.score == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert result.amplitude == result.score


def test_pas_asks_what_the_script_asks():
    for seed in range(20):
        clip, ours, theirs = noise_clip(5, 8.0, seed=seed), FakeModels(seed), FakeModels(seed)
        pas.measure(scene_of(clip, ours), "vmbench")
        scripts.amplitude(theirs, clip.frames, "Horse")
        assert sorted(map(str, ours.asked)) == sorted(map(str, theirs.asked))


@settings(max_examples=30)
@given(seed=seeds, frames=st.integers(6, 40))
def test_ois_equals_the_script(seed: int, frames: int):
    clip = noise_clip(frames, 8.0, seed=seed % 97)
    result = ois.measure(scene_of(clip, FakeModels(seed)), "vmbench")
    expected = scripts.integrity(FakePeople(seed), FakeModels(seed), clip.frames)
    assert result.score == pytest.approx(expected, abs=1e-12)


def test_ois_meets_every_case():
    scores = {ois.measure(scene_of(noise_clip(20, 8.0, seed=s), FakeModels(s)), "vmbench").score for s in range(12)}
    assert len(scores) > 4
    assert min(scores) < 0.8


def test_without_a_subject_pas_and_tcs_are_missing_under_either_protocol():
    clip = noise_clip(8, 8.0)
    clip = Clip(clip.frames, clip.timestamps, clip.fps)
    for protocol in ("vmbench", "vmmetrics"):
        for metric in (pas, tcs):
            result = metric.measure(scene_of(clip, FakeModels()), protocol)
            assert "no subject" in (result.missing or "")
    assert ois.measure(scene_of(clip, FakeModels()), "vmbench").score is not None


def test_a_released_event_carries_its_box():
    for seed in range(20):
        result = tcs.measure(scene_of(noise_clip(36, 5.0, seed=seed), FakeModels(seed, wild=False)), "vmbench")
        for event in result.events:
            assert event.box is not None
            assert event.box[0] < event.box[2]
            assert event.frames[0] % 4 == 0
        if result.events:
            return
    raise AssertionError("no event in any clip")


def test_identities():
    left, right = np.zeros((2, 10, 20), bool)
    left[:, :8], right[:, 12:] = True, True
    near = left.copy()
    near[:, 8:10] = True  # 80 of 100 pixels shared
    far = left.copy()
    far[0:8, 8:12] = True  # 80 of 112
    masks, count = identify([right, near], {4: left}, 4)
    assert list(masks) == [5, 4]
    assert count == 5
    assert masks[4] is near
    masks, count = identify([far], {4: left}, 4)
    assert list(masks) == [5]
    masks, count = identify([left, near, np.zeros_like(left)], {2: left, 3: near}, 3)  # the first that fits, both times
    assert list(masks) == [2]
    assert masks[2] is near
    assert count == 3


def test_an_overlap_of_exactly_three_quarters_is_another_object():
    mask, other = np.zeros((2, 1, 8), bool)
    mask[0, :3], other[0, :4] = True, True
    assert list(identify([mask], {1: other}, 1)[0]) == [2]


def test_boxes_for_sam_are_shrunk_as_measured():
    """The worked example of 480 x 720: SAM is given (128, 66.7, 512, 533.3) where (142.2, 71.1, ...) is right."""
    box = shrunk_boxes(np.array([[100, 50, 400, 400]], np.float32), 720, 480)
    in_sam = box[0] * [1024 / 720, 683 / 480, 1024 / 720, 683 / 480]
    np.testing.assert_allclose(in_sam, [128, 66.667, 512, 533.333], atol=1e-3)


def test_boxes_in_pixels():
    boxes = pixel_boxes(np.array([[0.5, 0.5, 0.5, 0.25]], np.float32), 80, 40)
    assert boxes.dtype == np.float32
    np.testing.assert_array_equal(boxes, [[20, 15, 60, 25]])


def test_recompressed_frames_keep_their_colours():
    frame = np.zeros((16, 16, 3), np.uint8)
    frame[..., 0] = 200
    again = recompressed(frame)
    assert again[..., 0].mean() > 180
    assert again[..., 2].mean() < 20


def test_key_frames():
    assert released_key_frames(15, 8.0).tolist() == [0, 7, 14]
    assert released_step(23.976) == 22
    assert released_step(23.9996) == 23  # 24, from times in whole milliseconds
    with pytest.raises(ValueError, match="at least 2"):
        released_key_frames(9, 1.0)
