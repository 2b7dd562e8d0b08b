"""The overall index: by hand, and monotone in each score."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.functional import motion_index, still_factor
from vmmetrics.metrics import METRICS

SHARE = st.floats(0, 1)
SCORES = st.fixed_dictionaries({"cas": SHARE, "mss": SHARE}, optional={"ois": SHARE, "pas": SHARE, "tcs": SHARE})


def test_by_hand():
    scores = {"cas": 0.36, "mss": 0.85, "ois": 0.9, "pas": 0.05, "tcs": 0.5}
    by_hand = (0.36**2 * 0.6) ** (1 / 3) * (1 - 0.2 * 0.1) * (1 - 0.05 * 0.5) * (1 - 0.2 * 0.5)
    assert motion_index(scores).score == pytest.approx(by_hand, abs=1e-12)


def test_the_best_and_the_worst_clip():
    assert motion_index(dict.fromkeys(METRICS, 1.0)).score == 1.0
    assert motion_index(dict.fromkeys(METRICS, 0.0)).score == 0.0


@given(SCORES, st.sampled_from(METRICS), SHARE)
def test_never_falls_when_a_score_rises(scores, key, other):
    if key not in scores:
        return
    low, high = sorted((scores[key], other))
    assert motion_index({**scores, key: low}).score <= motion_index({**scores, key: high}).score + 1e-12


@given(SCORES, SHARE, SHARE)
def test_never_falls_with_more_own_change_and_at_most_halves(scores, one, other):
    low, high = sorted((one, other))
    without = motion_index(scores).score
    assert without / 2 - 1e-12 <= motion_index(scores, low).score <= motion_index(scores, high).score + 1e-12
    assert motion_index(scores, high).score <= without + 1e-12


def test_a_still_moved_as_a_whole_has_half_the_index_and_the_reason():
    scores = {"cas": 0.512, "mss": 1.0}
    result = motion_index(scores, 0.0)
    assert result.score == pytest.approx(0.32)
    assert [event.reason for event in result.events] == ["×0.5: one picture moved as a whole"]
    assert motion_index(scores, 1.0) == motion_index(scores) == motion_index(scores, None)
    assert still_factor(0.0) == 0.5


def test_a_factor_that_is_shown_as_1_is_not_remarked():
    assert motion_index({"cas": 1, "mss": 1}, 0.00499999).events == ()
    assert motion_index({"cas": 1, "mss": 1}, 0.00495).events[0].reason.startswith("×0.99")


@pytest.mark.parametrize("own_change", [-0.1, 1.1, math.nan])
def test_refuses_an_own_change_that_is_no_share(own_change):
    with pytest.raises(ValueError, match="Expected own_change"):
        motion_index({"cas": 1, "mss": 1}, own_change)


@given(SCORES)
def test_lies_between_0_and_1_and_what_is_missing_takes_nothing_off(scores):
    index = motion_index(scores).score
    assert 0 <= index <= motion_index({key: scores[key] for key in ("cas", "mss")}).score <= 1


@pytest.mark.parametrize(
    ("scores", "missing"), [({"cas": 0.5}, "mss"), ({}, "cas, mss"), ({"mss": 1, "tcs": 1}, "cas")]
)
def test_says_what_is_missing(scores, missing):
    assert motion_index(scores).missing == f"no score for {missing}"


@pytest.mark.parametrize(
    "scores", [{"cas": 1.5, "mss": 1}, {"cas": math.nan, "mss": 1}, {"cas": 1, "mss": 1, "fvd": 0.1}]
)
def test_refuses_what_is_no_score(scores):
    with pytest.raises(ValueError, match="Expected"):
        motion_index(scores)
