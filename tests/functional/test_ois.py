"""OIS: the released code against a naive second implementation; the default on bodies with known defects."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.pose_sequences import DEFECTS, f1, noisy, snapped, stretched, walker
from vmmetrics.functional import object_integrity_score

LENGTHS = [(5, 11), (5, 7), (7, 9), (6, 8), (8, 10), (11, 13), (13, 15), (12, 14), (14, 16), (5, 6), (11, 12), (0, 5)]
ANGLES = [(5, 7, 9), (6, 8, 10), (7, 5, 11), (8, 6, 12), (5, 11, 13), (6, 12, 14), (11, 13, 15), (12, 14, 16)]


def _reference_vmbench(points, scores):
    """The rules of docs/protocols.md, number by number; None where the released code takes a maximum of nothing."""
    total = len(points)
    normal_parts = 0
    for a, b in LENGTHS:
        lengths = [math.dist(points[t, a], points[t, b]) for t in range(total) if min(scores[t, a], scores[t, b]) > 0.3]
        lengths = [value for value in lengths if value > 1e-6]
        steady = all(abs(y - x) / x <= 0.45 for x, y in itertools.pairwise(lengths))
        normal_parts += len(lengths) < total // 2 or steady
    normal_joints = 0
    for a, b, c in ANGLES:
        angles = []
        for t in range(total):
            if min(scores[t, a], scores[t, b], scores[t, c]) > 0.3:
                (ax, ay), (bx, by), (cx, cy) = points[t, a], points[t, b], points[t, c]
                norm = math.hypot(ax - bx, ay - by) * math.hypot(cx - bx, cy - by)
                cosine = ((ax - bx) * (cx - bx) + (ay - by) * (cy - by)) / norm if norm else math.nan
                angles.append(math.degrees(math.acos(min(1, max(-1, cosine)))) if norm else math.nan)
        if len(angles) < total // 3:
            normal_joints += 1
        elif len(angles) < 2:
            return None
        else:
            normal_joints += all(abs(y - x) <= 30 for x, y in itertools.pairwise(angles))
    return normal_parts / 24 + normal_joints / 16


@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**32),
    num_frames=st.integers(1, 14),
    step=st.sampled_from([0.0, 2.0, 10.0, 60.0]),
    confident=st.floats(0.3, 1),
    coincide=st.booleans(),
)
def test_vmbench_equals_reference(seed, num_frames, step, confident, coincide):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 300, (1, 17, 2)) + rng.normal(0, step, (num_frames, 17, 2)).cumsum(axis=0)
    scores = np.where(rng.random((num_frames, 17)) < confident, 0.9, rng.choice([0.0, 0.3]))
    if coincide:  # a limb without length
        points[rng.integers(num_frames), 7] = points[rng.integers(num_frames), 5]
    points[scores <= 0.3] = np.nan  # never looked at
    expected = _reference_vmbench(points, scores)
    if expected is None:
        with pytest.raises(ValueError, match=r"Expected .* but got"):
            object_integrity_score(points, scores, protocol="vmbench")
    else:
        assert object_integrity_score(points, scores, protocol="vmbench").score == pytest.approx(expected, abs=1e-9)


def test_vmbench_worked_by_hand():
    points = np.random.default_rng(0).uniform(100, 300, (17, 2))
    clip, scores = np.repeat(points[None], 6, axis=0), np.ones((6, 17))
    # the left wrist moves straight away from the elbow by half a forearm: no angle changes, one length by 50 %
    clip[3:, 9] += 0.5 * (clip[3:, 9] - clip[3:, 7])
    result = object_integrity_score(clip, scores, protocol="vmbench")
    assert result.score == pytest.approx(0.5 * 11 / 12 + 0.5)
    (event,) = result.events
    assert (event.target, event.frames) == ("left forearm", (3,))
    assert event.magnitude == pytest.approx(0.5) and event.threshold == 0.45


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found_under_noise(defect):
    assert f1(defect, range(12)) >= 0.9


def test_clean_bodies_score_full():
    for seed in range(10):
        body = noisy(walker(), np.random.default_rng(seed))
        assert object_integrity_score(body, np.full((48, 17), 0.9)).score >= 0.99


def test_turning_and_approaching_are_no_fault():
    body = walker()
    turn = np.cos(np.linspace(0, 2 * np.pi, 48))  # once round: widths shrink to nothing and come back mirrored
    body[..., 0] = (body[..., 0] - 320) * turn[:, None] + 320
    nearer = np.exp(np.linspace(0, 1.5, 48))
    body = (body - [320, 240]) * nearer[:, None, None] + [320, 240]
    assert object_integrity_score(body, np.full((48, 17), 0.9)).score >= 0.99


def test_scale_does_not_matter():
    rng = np.random.default_rng(0)
    body = walker()
    snapped(body, slice(20, 28))
    body = noisy(body, rng)
    small, large = (object_integrity_score(body * factor, np.full((48, 17), 0.9)) for factor in (0.3, 4.0))
    assert small.score == pytest.approx(large.score, abs=1e-9)


def test_persons_are_judged_one_by_one():
    clean, broken = walker(), walker() + 200
    stretched(broken, slice(10, 20))
    both = np.stack([clean, broken], axis=1)
    scores = np.full((48, 2, 17), 0.9)
    both[30:, 1], scores[30:, 1] = np.nan, 0.0  # the second leaves
    result = object_integrity_score(both, scores)
    assert {event.target for event in result.events} == {"person 2: left forearm"}
    # 48 × 12 + 30 × 12 judged, 10 of them at fault
    assert result.score == pytest.approx(1 - 10 / (78 * 12), abs=3 / (78 * 12))


def test_gaps_are_not_jumps():
    body = walker()
    scores = np.full((48, 17), 0.9)
    body[10:16], scores[10:16] = np.nan, 0.0
    result = object_integrity_score(body, scores)
    assert result.score == 1.0 and (result.series["faults"] == 0).all()


@pytest.mark.parametrize(("steps", "at_fault"), [(1, True), (4, False)])
def test_a_forearm_that_leaps_is_at_fault_but_not_one_that_accelerates_and_brakes(steps, at_fault):
    body = np.repeat(walker()[:1], 48, axis=0)
    ramp = np.concatenate([np.zeros(15), np.linspace(0, 1, steps + 1), np.ones(8), np.linspace(1, 0, steps + 1)])
    raised = np.pad(ramp, (0, 48 - len(ramp)))  # aside and back, half a torso length
    body[:, 10] += 50 * raised[:, None] * [1.0, 0.0]
    assert bool(object_integrity_score(body, np.full((48, 17), 0.9)).events) == at_fault


def test_missing():
    assert object_integrity_score(np.zeros((1, 17, 2)), np.ones((1, 17))).missing
    assert object_integrity_score(np.zeros((5, 0, 17, 2)), np.ones((5, 0, 17))).missing == "no person"
    assert object_integrity_score(np.zeros((5, 17, 2)), np.zeros((5, 17))).missing == "no person"


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(2, 20), st.sampled_from([0.0, 1.0, 100.0]))
def test_any_input_gives_a_score_in_range(seed, num_frames, step):
    rng = np.random.default_rng(seed)
    points = rng.normal(0, step, (num_frames, 2, 17, 2))
    points[rng.random((num_frames, 2)) < 0.3] = np.nan
    result = object_integrity_score(points, rng.random((num_frames, 2, 17)))
    assert result.missing or 0 <= result.score <= 1


@pytest.mark.parametrize(
    ("points", "scores", "protocol"),
    [
        (np.zeros((5, 16, 2)), np.ones((5, 16)), "vmmetrics"),
        (np.zeros((5, 17, 2)), np.ones((4, 17)), "vmmetrics"),
        (np.zeros((0, 17, 2)), np.ones((0, 17)), "vmmetrics"),
        (np.full((5, 17, 2), np.inf), np.ones((5, 17)), "vmmetrics"),
        (np.zeros((5, 17, 2)), np.full((5, 17), np.nan), "vmmetrics"),
        (np.zeros((5, 2, 17, 2)), np.ones((5, 2, 17)), "vmbench"),
        (np.full((5, 17, 2), np.nan), np.ones((5, 17)), "vmbench"),
        (np.zeros((1, 17, 2)), np.ones((1, 17)), "vmbench"),
        (np.zeros((5, 17, 2)), np.ones((5, 17)), "coco"),
    ],
)
def test_refuses(points, scores, protocol):
    with pytest.raises(ValueError, match=r"Expected .* but got"):
        object_integrity_score(points, scores, protocol=protocol)
