"""Results of the metrics as values."""

from __future__ import annotations

import numpy as np

from vmmetrics.types import AmplitudeResult, Event, MetricResult, PlausibilityResult


def test_a_result_is_shown_in_one_line_whatever_it_holds() -> None:
    events = (Event("tcs", (3,), "vanished"), Event("tcs", (5,), "vanished", excuse="left through the edge"))
    scored = AmplitudeResult(0.25, events=events, series={"speed": np.zeros(5000)}, amplitude=1.0)
    assert repr(scored) == "AmplitudeResult(0.2500; events: 2, at cost: 1)"
    assert repr(PlausibilityResult(None, "one frame")) == "PlausibilityResult(missing: one frame)"
    assert repr(MetricResult(1.0)) == "MetricResult(1.0000)"
