"""MSS against naive second implementations of both protocols."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vmmetrics.functional import SMOOTHNESS_THRESHOLDS, motion_smoothness_score

QUALITIES = st.lists(st.floats(0, 1), min_size=2, max_size=40)
AMPLITUDES = st.one_of(st.none(), st.floats(0, 2), st.sampled_from([0.1, 0.3, 0.5]))


def _reference_vmbench(quality: list[float], amplitude: float | None) -> float:
    limit = 0.01
    if amplitude is not None and amplitude >= 0.1:
        limit = 0.015 if amplitude < 0.3 else 0.025 if amplitude < 0.5 else 0.03
    flagged = set()
    for t in range(len(quality) - 1):
        if abs(quality[t + 1] - quality[t]) > limit:
            flagged |= {t, t + 1}
    return 1 - len(flagged) / len(quality)


def _reference_paper(quality: list[float], limit: float) -> tuple[float, list[int]]:
    flagged = [t for t in range(1, len(quality)) if quality[t - 1] - quality[t] > limit]
    return 1 - len(flagged) / len(quality), flagged


@given(QUALITIES, AMPLITUDES)
def test_vmbench_equals_reference(quality, amplitude):
    result = motion_smoothness_score(quality, amplitude, protocol="vmbench")
    assert result.score == pytest.approx(_reference_vmbench(quality, amplitude), abs=1e-9)


@given(QUALITIES, st.floats(0, 0.5))
def test_default_equals_paper(quality, limit):
    assume(all(abs(abs(a - b) - limit) > 1e-12 for a, b in itertools.pairwise(quality)))
    result = motion_smoothness_score(quality, threshold=limit)
    score, flagged = _reference_paper(quality, limit)
    assert result.score == pytest.approx(score, abs=1e-12)
    assert [event.frames for event in result.events] == [(t,) for t in flagged]


def test_a_rise_costs_nothing_by_default():
    quality = [0.2, 0.2, 0.9, 0.9]
    assert motion_smoothness_score(quality, threshold=0.1).score == 1.0
    assert motion_smoothness_score(quality, threshold=0.1, protocol="vmbench").score == 0.5


def test_table_rows():
    table = SMOOTHNESS_THRESHOLDS["vmbench"]
    expected = {None: 0.01, 0.0: 0.01, 0.0999: 0.01, 0.1: 0.015, 0.3: 0.025, 0.4999: 0.025, 0.5: 0.03, 9.0: 0.03}
    assert {a: table.at(a) for a in expected} == expected
    # diagonals per second: a clip of 6 s
    assert SMOOTHNESS_THRESHOLDS["vmmetrics"].at(0.31 / 6) == 0.025


def test_one_frame():
    assert motion_smoothness_score([0.5]).missing
    assert motion_smoothness_score([0.5], protocol="vmbench").score == 1.0


def test_series_and_event_magnitude():
    result = motion_smoothness_score([0.8, 0.5, 0.6], threshold=0.1)
    np.testing.assert_allclose(result.series["change"], [np.nan, -0.3, 0.1])
    (event,) = result.events
    assert event.magnitude == pytest.approx(0.3) and event.threshold == 0.1 and event.reason == "quality drops"


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (([],), {}),
        (([[0.5]],), {}),
        (([0.5, np.nan],), {}),
        (([0.5, 1.1],), {}),
        (([-0.1, 0.5],), {}),
        (([0.5, 0.5], -1.0), {}),
        (([0.5, 0.5], float("nan")), {}),
        (([0.5, 0.5],), {"threshold": -0.1}),
        (([0.5, 0.5],), {"threshold": float("inf")}),
        (([0.5, 0.5],), {"protocol": "vbench"}),
    ],
)
def test_refuses(args, kwargs):
    with pytest.raises(ValueError, match=r"Expected .* but got"):
        motion_smoothness_score(*args, **kwargs)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30), st.floats(0.01, 0.5))
def test_each_frame_costs_the_larger_of_drop_and_unsteadiness(frames, threshold):
    quality, unsteady = (list(values) for values in zip(*frames, strict=True))
    cost = [unsteady[0] ** 2]
    for (before, _), (now, unsteadiness) in itertools.pairwise(frames):
        cost.append(1.0 if before - now > threshold else unsteadiness**2)
    result = motion_smoothness_score(quality, threshold=threshold, unsteadiness=unsteady)
    assert result.score == pytest.approx(1 - sum(cost) / len(cost), abs=1e-12)


@pytest.mark.parametrize("unsteadiness", [[0.1], [0.1, 1.2], [-0.1, 0.0], [[0.1, 0.2]]])
def test_unsteadiness_is_a_share_per_frame(unsteadiness):
    with pytest.raises(ValueError, match="unsteadiness"):
        motion_smoothness_score([0.5, 0.5], unsteadiness=unsteadiness)


def test_vmbench_takes_no_unsteadiness():
    with pytest.raises(ValueError, match="released"):
        motion_smoothness_score([0.5, 0.5], unsteadiness=[0.1, 0.1], protocol="vmbench")
