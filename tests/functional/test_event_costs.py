"""Event costs add up to the loss, and equal the gain when the event is undone and the clip scored again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.functional import (
    ObjectHistory,
    commonsense_adherence_score,
    motion_smoothness_score,
    object_integrity_score,
    perceptible_amplitude_score,
    temporal_coherence_score,
)
from vmmetrics.functional.event_costs import event_costs as divided
from vmmetrics.functional.shapes import shape_constancy_score
from vmmetrics.metrics.registry import find
from vmmetrics.types import Event, MetricResult

T = 20
SIZE = (100.0, 100.0)


def history(present: list[bool]) -> ObjectHistory:
    """An object in the middle of the frame that its points do not excuse: they are lost with it."""
    seen = np.array(present)
    grid = np.stack(np.meshgrid([30.0, 50.0, 70.0], [30.0, 50.0, 70.0]), axis=-1).reshape(1, -1, 2)
    tracks = np.repeat(grid, len(seen), axis=0)
    visible = np.repeat(seen[:, None], tracks.shape[1], axis=1)
    return ObjectHistory(seen, np.arange(len(seen)), tracks, visible, int(np.argmax(seen)))


presences = st.lists(st.lists(st.booleans(), min_size=T, max_size=T).filter(any), min_size=1, max_size=4)


def event_costs(metric, *more):
    known = find(metric)
    return divided(known and known.division, *more)


def score_tcs(objects, protocol):
    return temporal_coherence_score(objects, frame_size=SIZE, num_frames=T, protocol=protocol)


def adds_up(costs, result):
    assert sum(cost or 0 for cost in costs.costs) + costs.unexplained == pytest.approx(costs.lost)
    assert len(costs.costs) == len(result.events)
    assert all(c == 0 for c, e in zip(costs.costs, result.events, strict=True) if e.excuse is not None)


@settings(max_examples=40)  # the score is taken anew without each object's faults
@given(presences, st.sampled_from(["vmmetrics", "vmbench"]))
def test_tcs_costs_of_an_object_are_what_the_score_gains_without_its_faults(present, protocol):
    objects = [history(p) for p in present]
    result = score_tcs(objects, protocol)
    costs = event_costs("tcs", result, T, protocol)
    adds_up(costs, result)
    if result.score is None:
        return
    assert costs.lost == pytest.approx(1 - result.score) and costs.unexplained == pytest.approx(0, abs=1e-9)
    still = history([True] * T)
    for index in range(len(objects)):
        own = [c for c, e in zip(costs.costs, result.events, strict=True) if e.target == f"object {index + 1}"]
        longest = max((len(run) for run in "".join("1" if p else "0" for p in present[index]).split("0")), default=0)
        if protocol == "vmmetrics" and longest < 3:
            assert all(cost == 0 for cost in own)  # it does not count as an object
            continue
        mended = [*objects[:index], still, *objects[index + 1 :]]
        assert sum(own) == pytest.approx(score_tcs(mended, protocol).score - result.score)


def test_tcs_shares_an_object_among_its_unexcused_events():
    gone = history([True] * 6 + [False] * 8 + [True] * 6)
    costs = event_costs("tcs", score_tcs([gone, history([True] * T)], "vmmetrics"), T, "vmmetrics")
    assert costs.costs == pytest.approx((0.25, 0.25)) and costs.lost == pytest.approx(0.5)


drops = st.lists(st.booleans(), min_size=T - 1, max_size=T - 1)


def quality_of(flags):
    """Quality that drops in the flagged frames, and goes up slowly enough not to count in any other."""
    values = [0.9]
    for flag in flags:
        values.append(values[-1] - 0.03 if flag else min(values[-1] + 0.005, 1.0))
    return np.array(values)


@given(drops, st.integers(0, T - 2))
def test_mss_cost_is_the_gain_without_the_drop(flags, index):
    result = motion_smoothness_score(quality_of(flags), threshold=0.02)
    costs = event_costs("mss", result, T, "vmmetrics")
    adds_up(costs, result)
    assert costs.unexplained == pytest.approx(0, abs=1e-9)
    mended = motion_smoothness_score(quality_of([*flags[:index], False, *flags[index + 1 :]]), threshold=0.02)
    at_frame = sum(c for c, e in zip(costs.costs, result.events, strict=True) if e.frames == (index + 1,))
    assert at_frame == pytest.approx(mended.score - result.score)


@given(drops, st.lists(st.floats(0, 1), min_size=T, max_size=T))
def test_mss_loss_without_an_event_is_the_unsteadiness_of_the_other_frames(flags, unsteadiness):
    result = motion_smoothness_score(quality_of(flags), threshold=0.02, unsteadiness=unsteadiness)
    extended = replace(
        result, events=tuple(replace(e, frames=tuple(range(e.frames[0], T))) for e in result.events)
    )  # as the metric does, up to the frame in which the quality is back
    costs = event_costs("mss", extended, T, "vmmetrics")
    adds_up(costs, extended)
    others = sum(u**2 for u, flag in zip(unsteadiness, [False, *flags], strict=True) if not flag)
    assert costs.unexplained == pytest.approx(others / T, abs=1e-9)


@given(drops)
def test_released_mss_costs_one_frame_each(flags):
    result = motion_smoothness_score(quality_of(flags), threshold=0.02, protocol="vmbench")
    costs = event_costs("mss", result, T, "vmbench")
    adds_up(costs, result)
    assert costs.unexplained == pytest.approx(0, abs=1e-9)


X = [150, 147, 153, 143, 157, 170, 130, 175, 125, 178, 122, 162, 138, 163, 137, 163, 137]
Y = [60, 57, 57, 60, 60, 100, 100, 130, 130, 160, 160, 165, 165, 215, 215, 262, 262]
STANDING = np.column_stack([X, Y]).astype(float)  # COCO's 17 keypoints
STILL = np.tile(np.stack([STANDING, np.add(STANDING, (200, 0))]), (T, 1, 1, 1))
faulty_cells = st.lists(st.tuples(st.integers(0, T - 1), st.integers(0, 1), st.integers(0, 11)), max_size=12)


@settings(max_examples=12)  # the score is taken anew without each part
@given(faulty_cells)
def test_ois_cost_is_the_gain_without_the_part(cells):
    def score(left_out=None):
        evidence = np.zeros((T, 2, 12))
        for frame, person, part in cells:
            if (person, part) != left_out:
                evidence[frame, person, part] = 2.0
        return object_integrity_score(STILL, np.ones(STILL.shape[:-1]), evidence={"melts": evidence})

    result = score()
    costs = event_costs("ois", result, T, "vmmetrics")
    adds_up(costs, result)
    assert costs.unexplained == pytest.approx(0, abs=1e-9)
    parts = sorted({(person, part) for _, person, part in cells})  # the order of the events
    for cost, pair in zip(costs.costs, parts, strict=True):
        assert cost == pytest.approx(score(pair).score - result.score)


def test_released_ois_costs_a_24th_for_a_part_and_a_16th_for_a_joint():
    points = STILL[:, 0].copy()
    points[10:, 9] = points[10:, 7] + [45.0, 0.0]  # the left wrist jumps: a forearm and an elbow
    result = object_integrity_score(points, np.ones((T, 17)), protocol="vmbench")
    costs = event_costs("ois", result, T, "vmbench")
    adds_up(costs, result)
    assert {e.target: c for c, e in zip(costs.costs, result.events, strict=True)} == pytest.approx(
        {"left forearm": 1 / 24, "left elbow": 1 / 16}
    )
    assert costs.unexplained == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("objects", [1, 2])
def test_surfaces_of_one_object_carry_the_loss_and_those_of_several_none(objects):
    shape = (8, 6, 6)
    owners = np.ones(shape, int)
    owners[:, :, 3:] = objects
    anew = np.where(np.arange(8) < 4, 0.0, 1.0)[:, None, None] * np.ones(shape)
    result = shape_constancy_score(
        anew[None], np.ones(shape), np.zeros((*shape, 2)), owners, range(8), num_frames=8, tile=(9, 9)
    )
    costs = event_costs("ois", result, 8, "vmmetrics")
    adds_up(costs, result)
    assert costs.lost == pytest.approx(1 - result.score) and costs.lost > 0.1
    assert costs.costs == ((pytest.approx(costs.lost),) if objects == 1 else (None, None))


def test_cas_loss_is_that_of_the_level_not_of_the_place():
    result = commonsense_adherence_score([0.5, 0.5, 0, 0, 0])
    result = replace(result, events=(*result.events, Event("cas", (3,), "moves too fast", magnitude=0.2)))
    costs = event_costs("cas", result, T, "vmmetrics")
    assert costs.costs == pytest.approx((0.875, None)) and costs.unexplained == 0
    nearly = commonsense_adherence_score([0, 0, 0, 0.1, 0.9])
    assert event_costs("cas", nearly, T, "vmmetrics").unexplained == pytest.approx(0.025)


def test_amounts_own_metrics_and_missing_scores_lose_nothing():
    still = perceptible_amplitude_score(None, None, SIZE, fps=8)
    events = (Event("sharp", (1,), "blurred"), Event("sharp", (2,), "blurred", excuse="bokeh"))
    for metric, result, costs in (
        ("pas", still, (None,)),
        ("sharp", MetricResult(0.2, events=events), (None, 0.0)),
        ("tcs", MetricResult(None, "no object", events=events), (None, 0.0)),
    ):
        answer = event_costs(metric, result, T, "vmmetrics")
        assert (answer.costs, answer.lost, answer.unexplained) == (costs, 0.0, 0.0)


def test_events_that_cost_more_than_was_lost_have_no_cost():
    older = MetricResult(0.9, events=tuple(Event("mss", (t,), "quality drops") for t in range(5)))
    costs = event_costs("mss", older, T, "vmmetrics")
    assert costs.costs == (None,) * 5 and costs.unexplained == pytest.approx(0.1)


@pytest.mark.parametrize("protocol", ["vmmetrics", "vmbench"])
@pytest.mark.parametrize("metric", ["cas", "mss", "ois", "tcs"])
def test_a_loss_without_events_is_unexplained(metric, protocol):
    excused = Event(metric, (1,), "vanished", excuse="left the frame")
    for events, costs in (((), ()), ((excused,), (0.0,))):
        answer = event_costs(metric, MetricResult(0.75, events=events), T, protocol)
        assert (answer.costs, answer.lost, answer.unexplained) == (costs, 0.25, 0.25)


def test_events_of_parts_without_frames_are_not_divided():
    bent = MetricResult(0.75, events=(Event("ois", (), "joint bends too fast", "left knee"),))
    costs = event_costs("ois", bent, T, "vmmetrics")
    assert costs.costs == (None,) and costs.unexplained == 0.25
