"""Every perturbation: the same each time, next to nothing near strength 0, more with strength, and true to its word."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.cas_recipe.ladder import DEFECTS as LADDER
from vmmetrics.alignment.perturbations.frames import TIMINGS, burst_frames
from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES, PERTURBATIONS
from vmmetrics.alignment.perturbations.motion import smooth_walk
from vmmetrics.alignment.perturbations.objects import ClipObjects, NotApplicableError
from vmmetrics.clip import Clip
from vmmetrics.functional.motion_index import INDEX_METRICS
from vmmetrics.metrics import METRICS

OF_PICTURES = [n for n in DEFECTS if n not in TIMINGS]
STRENGTHS = (0.25, 0.5, 0.75, 1.0)


def made(name: str, strength: float, clip: Clip, objects: ClipObjects | None, seed: int = 3):
    return PERTURBATIONS[name](clip, strength, np.random.default_rng(seed), objects)


def first_of(clip: Clip, objects: ClipObjects, count: int) -> tuple[Clip, ClipObjects]:
    frames, timestamps = clip.frames[:count], clip.timestamps[:count]
    return replace(clip, frames=frames, timestamps=timestamps), ClipObjects(
        objects.labels[:count], objects.people[:count]
    )


def damage(name: str, strength: float, clip: Clip, objects: ClipObjects) -> float:
    """Mean grey-level change, averaged over seeds for what draws another place each time."""
    changes = [made(name, strength, clip, objects, seed).clip.frames.astype(int) - clip.frames for seed in range(3)]
    return float(np.mean(np.abs(changes)))


def test_the_library_holds_the_ladder_and_the_glitches_and_every_metric_but_names_owners_once():
    assert set(LADDER) < set(DEFECTS)
    assert {"blur", "noise", "blocking", "ghost", "warp", "stutter", "drop", "vanish", "appear"} < set(DEFECTS)
    assert set(INDEX_METRICS) <= {p.owner for p in DEFECTS.values()} <= set(METRICS)
    assert {p.owner for p in INVARIANCES.values()} == {None}
    assert set(PERTURBATIONS) == set(DEFECTS) | set(INVARIANCES)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_the_same_seed_gives_the_same_clip_and_the_clip_given_is_left_alone(name, clip, objects):
    before = clip.frames.copy()
    once, again = made(name, 0.7, clip, objects), made(name, 0.7, clip, objects)
    np.testing.assert_array_equal(clip.frames, before)
    np.testing.assert_array_equal(once.clip.frames, again.clip.frames)
    np.testing.assert_array_equal(once.clip.timestamps, again.clip.timestamps)
    assert (once.frames, once.boxes, once.breaks) == (again.frames, again.boxes, again.breaks)
    assert once.clip.notes[-1].startswith(name)
    assert once.clip.frames.shape != before.shape or (once.clip.frames != before).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_PICTURES)
def test_it_is_next_to_nothing_near_strength_0_and_grows(name, clip, objects):
    clip, objects = first_of(clip, objects, 20)
    amounts = [damage(name, s, clip, objects) for s in (0.01, *STRENGTHS)]
    assert amounts[0] <= 0.3 * amounts[-1]
    assert all(more >= 0.93 * less for less, more in pairwise(amounts))
    assert amounts[-1] > 1.1 * amounts[1]


@pytest.mark.parametrize("name", DEFECTS)
def test_the_frames_and_boxes_named_are_those_that_changed(name, clip, objects):
    found = made(name, 0.6, clip, objects)
    count = len(found.clip)
    differs = found.clip.frames.astype(int) != clip.frames[:count]
    assert set(found.frames) == {t for t in range(count) if differs[t].any()}
    for t, (x0, y0, x1, y1) in zip(found.frames, found.boxes, strict=True):
        outside = differs[t].any(-1)
        outside[int(y0) : int(y1), int(x0) : int(x1)] = False
        assert not outside.any()
        assert differs[t, int(y0)].any() and differs[t, :, int(x1) - 1].any()


def numbered(clip: Clip) -> Clip:
    """A clip whose frames say their number, and that moves enough to be judged by its order."""
    shade = (5 * np.arange(len(clip), dtype=np.uint8))[:, None, None, None]
    return replace(clip, frames=np.broadcast_to(shade, clip.frames.shape).copy())


@pytest.mark.parametrize("name", TIMINGS)
def test_breaks_are_where_the_order_breaks_and_more_is_out_of_place_when_stronger(name, clip):
    counted = []
    for strength in STRENGTHS:
        found = made(name, strength, numbered(clip), None)
        order = found.clip.frames[:, 0, 0, 0].astype(int) // 5
        expected = [t for t in range(1, len(order)) if order[t] != order[t - 1] + 1]
        assert list(found.breaks) == expected
        assert len(found.clip.timestamps) == len(found.clip)
        counted.append(len(clip) - int((order == np.arange(len(order))).sum()))  # frames not in their place
    assert counted[0] > 0
    assert counted[-1] > counted[0]
    assert all(more >= less for less, more in pairwise(counted))


@pytest.mark.parametrize("name", ["reversal", "loop", "shuffle", "stutter", "drop"])
def test_time_is_left_alone_near_strength_0(name, clip):
    found = made(name, 0.01, numbered(clip), None)
    assert found.frames == found.breaks == ()


def test_a_defect_of_time_says_why_it_cannot_be_done_to_a_still_clip(clip):
    still = replace(clip, frames=np.repeat(clip.frames[:1], len(clip), axis=0))
    for name in TIMINGS:
        with pytest.raises(NotApplicableError, match="too little motion to see the defect"):
            made(name, 1.0, still, None)


@pytest.mark.parametrize("name", ["vanish", "appear", "limb_stretch", "limb_snap"])
def test_what_needs_a_thing_says_what_it_lacks(name, clip, objects):
    with pytest.raises(NotApplicableError, match="needs the clip's object masks and poses"):
        made(name, 1.0, clip, None)
    nothing = ClipObjects(np.zeros_like(objects.labels), objects.people[:, :0])
    with pytest.raises(NotApplicableError, match=r"no moving object|no forearm"):
        made(name, 1.0, clip, nothing)


def test_too_short_a_clip_is_refused_and_so_is_a_strength_out_of_range(clip):
    short = replace(clip, frames=clip.frames[:4], timestamps=clip.timestamps[:4])
    with pytest.raises(NotApplicableError, match="8 frames"):
        made("boil", 1.0, short, None)
    for strength in (0.0, 1.01, float("nan")):
        with pytest.raises(ValueError, match="strength"):
            made("boil", strength, clip, None)


def test_what_vanishes_is_gone_where_it_was_and_nothing_else_is(clip, objects):
    found = made("vanish", 1.0, clip, objects)
    assert found.frames == tuple(range(len(clip) // 2, len(clip)))
    t = 25
    changed = (found.clip.frames[t] != clip.frames[t]).any(-1)
    assert changed[objects.labels[t] > 0].mean() > 0.98
    assert changed[objects.labels[t] == 0].mean() < 0.15
    early = made("appear", 1.0, clip, objects)
    assert early.frames == tuple(range(len(clip) // 2))


def test_who_a_moving_part_belongs_to_vanishes_with_it(clip, objects):
    person = np.full((36, 1, 17, 2), np.nan)
    body = {
        0: (0, -34),
        5: (-6, -24),
        6: (6, -24),
        11: (-5, 0),
        12: (5, 0),
        13: (-5, 14),
        14: (5, 14),
        15: (-5, 28),
        16: (5, 28),
    }
    for joint, place in body.items():
        person[:, 0, joint] = np.array([40, 48]) + place
    part = np.zeros_like(objects.labels)
    part[:, 30:46, 36:44] = 1  # of the trunk
    gone = made("vanish", 1.0, clip, ClipObjects(part, person)).clip.frames[20] != clip.frames[20]
    assert gone[74, 45].any() and gone[14, 40].any()  # a foot, the head
    assert not gone[48, 90].any()
    far = made("vanish", 1.0, clip, ClipObjects(part, np.add(person, (60, 0)))).clip.frames[20] != clip.frames[20]
    assert not far[74, 45].any() and not far[74, 105].any()


def test_a_limb_out_of_the_picture_cannot_be_changed(clip, objects):
    outside = ClipObjects(objects.labels, np.add(objects.people, (0, 90)))
    with pytest.raises(NotApplicableError, match="no forearm"):
        made("limb_snap", 1.0, clip, outside)


def test_a_snapped_limb_is_where_it_was_turned_to(clip, objects):
    person = objects.people[:, 0]
    lit = clip.frames.copy() // 4
    for t in range(len(clip)):
        for share in np.linspace(0.1, 1.0, 30):
            x, y = np.round(person[t, 7] + share * (person[t, 9] - person[t, 7])).astype(int)
            lit[t, y - 1 : y + 2, x - 1 : x + 2] = 255
    limb = replace(clip, frames=lit)
    found = made("limb_snap", 0.9, limb, objects)  # by 90 degrees
    t = found.frames[2]
    joint, end = person[t, 7], person[t, 9]
    turned = joint + 0.6 * np.array([-(end - joint)[1], (end - joint)[0]])
    x, y = np.round(turned).astype(int)
    assert found.clip.frames[t, y - 1 : y + 2, x - 1 : x + 2].max() > 180
    assert lit[t, y - 1 : y + 2, x - 1 : x + 2].max() < 100
    assert len(found.frames) == round(0.5 * clip.fps)


def test_what_is_drawn_by_time_goes_by_the_frames_at_low_rates():
    assert len(burst_frames(8, 1e-9, np.random.default_rng(0))) <= 2 * 8
    assert smooth_walk(np.random.default_rng(0), 8, 0.3e-9).shape == (8,)
