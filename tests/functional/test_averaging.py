"""The mean of the five, and what it refuses to average."""

from __future__ import annotations

import pytest

from vmmetrics.functional import average
from vmmetrics.types import MetricResult

FIVE = {"cas": 0.312, "mss": 0.619, "ois": 0.73, "pas": 0.034, "tcs": 0.885}


def test_published_row():
    # OpenSora v1.2 in the published table: 31.2, 61.9, 73.0, 3.4, 88.5, average 51.6
    assert average(FIVE).score == pytest.approx(0.516, abs=1e-12)


def test_takes_results_and_names_what_is_missing():
    scores = {**FIVE, "ois": MetricResult(None, "no person"), "tcs": MetricResult(1.0)}
    assert average(scores).missing == "no score for ois"
    assert average(scores, over=("mss", "tcs")).score == pytest.approx((0.619 + 1) / 2)
    assert average({}).missing == "no score for cas, mss, ois, pas, tcs"
    assert average({"mss": 0.5}, over=("mss", "pas")).missing == "no score for pas"


@pytest.mark.parametrize("bad", [{"mms": 1.0}, {"PAS": 1.0}, {"pas": float("nan")}, {"pas": "high"}])
def test_refuses(bad):
    with pytest.raises(ValueError, match=r"Expected .* but got"):
        average(bad)


@pytest.mark.parametrize("over", [(), ("pas", "pas"), ("average",)])
def test_refuses_over(over):
    with pytest.raises(ValueError, match=r"Expected .* but got"):
        average(FIVE, over=over)


def test_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'mss'"):
        average({"mms": 1.0})
