"""Details of clips: runs of frames, and events of stored results."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scoring.stored_runs import clip
from vmmetrics.scoring.record import result_to_json
from vmmetrics.types import Event, MetricResult
from vmmetrics.viewer.details import detail_of, faults_of, results_of, runs_of
from vmmetrics.viewer.selection import Row
from vmmetrics.viewer.texts import Texts


@given(st.sets(st.integers(0, 200)))
def test_runs_hold_exactly_the_frames(frames: set[int]) -> None:
    runs = runs_of(sorted(frames))
    assert set(chain.from_iterable(range(first, last + 1) for first, last in runs)) == frames
    assert all(after - last > 1 for (_, last), (after, _) in pairwise(runs))


def row(**fields: Any) -> Row:
    record = clip("a.mp4", {"tcs": 0.75, "mss": 0.5}, frames=8, fps=8.0, size=(64, 48), **fields)
    return Row(0, record, record.clip, 0, "run", Texts((), None))


def test_stored_results_come_back_with_their_numbers() -> None:
    event = Event("tcs", (2, 3), "vanished", "object 1", (1.04, 2.0, 30.0, 40.0), 0.123456, 0.3)
    excused = Event("tcs", (5,), "appeared", excuse="came from behind")
    result = MetricResult(0.75, None, (event, excused), {"present": [1.0, float("nan"), 0.123456]})  # type: ignore[dict-item]
    warnings: list[str] = []
    results = results_of(row(), {"tcs": result_to_json(result)}, warnings)
    detail = detail_of(row(), results, {})
    assert not warnings
    assert detail["events"] == [
        {"metric": "tcs", "frames": [(2, 3)], "reason": "vanished", "target": "object 1", "box": [1.0, 2.0, 30.0, 40.0],
         "magnitude": 0.1235, "threshold": 0.3, "cost": 25.0, "excuse": None},
        {"metric": "tcs", "frames": [(5, 5)], "reason": "appeared", "target": None, "box": None, "magnitude": None,
         "threshold": None, "cost": 0.0, "excuse": "came from behind"},
    ]  # fmt: skip
    assert detail["series"] == {"tcs": {"present": [1.0, None, 0.1235]}}
    assert faults_of(results, row()) == [("tcs", "vanished")]


@pytest.mark.parametrize("line", [5, {}, {"events": [{}], "series": {}}, {"events": [], "series": {"a": ["x"]}}])
def test_a_damaged_result_is_left_out_with_a_warning(line: Any) -> None:
    warnings: list[str] = []
    good = result_to_json(MetricResult(0.5))
    assert set(results_of(row(), {"tcs": line, "mss": good}, warnings)) == {"mss"}
    assert len(warnings) == 1 and "tcs of a.mp4" in warnings[0]


def test_costs_are_unknown_where_the_frames_or_the_protocol_are() -> None:
    result = MetricResult(0.75, None, (Event("tcs", (2,), "vanished"), Event("tcs", (3,), "left", excuse="edge")))
    for fields in ({"frames": None}, {"protocol": "other"}):
        record = row().record
        changed = Row(0, type(record)(**{**record.to_json(), **fields}), "a.mp4", 0, "run", Texts((), None))
        detail = detail_of(changed, {"tcs": result}, {})
        assert [event["cost"] for event in detail["events"]] == [None, 0]
        assert detail["lost"] == {}
