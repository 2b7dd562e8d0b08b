from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from vmmetrics.scoring.record import Record, result_from_json, result_to_json, uneven_times
from vmmetrics.types import Event, MetricResult
from vmmetrics.utils.schema import convert

RECORD = Record(
    *("m/a.mp4", "m", "/x/m/a.mp4", "ab", "embedded", "vmmetrics", {"pas": 0.5}, {"ois": "no person"}),
    amplitude=0.1, frames=9, fps=8.0, size=(64, 48), prompt="a dog", notes=("assumed",), seconds=1.0,
)  # fmt: skip

RECORD_LINE = json.dumps(RECORD.to_json()).encode()


def test_a_record_survives_its_line() -> None:
    assert convert(Record, json.loads(RECORD_LINE)) == Record.from_line(RECORD_LINE) == RECORD
    assert convert(Record, {**RECORD.to_json(), "field of a later version": 1}) == RECORD


@pytest.mark.parametrize("share", [1.2, -0.1])
def test_an_own_change_that_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="own_change"):
        Record.from_line(json.dumps({**RECORD.to_json(), "own_change": share}).encode())


def test_added_metrics_join_what_was_known() -> None:
    new = replace(RECORD, scores={"mss": 0.9}, missing={}, amplitude=None, notes=("late",), seconds=0.5)
    whole = new.over(RECORD)
    assert whole.scores == {"pas": 0.5, "mss": 0.9}
    assert whole.missing == {"ois": "no person"}
    assert (whole.amplitude, whole.seconds, whole.notes) == (0.1, 1.5, ("assumed", "late"))


def test_a_metric_scored_anew_replaces_whatever_it_was() -> None:
    old = replace(RECORD, errors={"mss": "broken"})
    assert replace(RECORD, scores={"mss": 0.9}, missing={}).over(old).errors == {}
    worse = replace(RECORD, scores={}, missing={"pas": "one frame"}, amplitude=None).over(old)
    assert (worse.scores, worse.missing["pas"], worse.amplitude) == ({}, "one frame", None)


@pytest.mark.parametrize("change", [{"sha256": "cd"}, {"prompt": "a cat"}, {"error": "damaged"}])
def test_another_input_brings_nothing_over(change: dict[str, str]) -> None:
    new = replace(RECORD, scores={"mss": 0.9}, missing={})
    assert new.over(replace(RECORD, **change)) == new


def test_events_and_series_survive_to_six_digits() -> None:
    event = Event("tcs", (3, 4), "vanished", "object 1", (1.0, 2.0, 3.123456789, 4.0), 0.25, None, "left")
    result = MetricResult(0.5, events=(event, Event("tcs", (1,), "x")), series={"a": np.array([np.nan, 1 / 3])})
    line = json.loads(json.dumps(result_to_json(result), allow_nan=False))
    back = result_from_json("tcs", line, 0.5, None)
    assert back.events[1] == result.events[1]
    assert back.events[0] == Event("tcs", (3, 4), "vanished", "object 1", (1.0, 2.0, 3.12346, 4.0), 0.25, None, "left")
    np.testing.assert_array_equal(np.isnan(back.series["a"]), [True, False])
    assert back.series["a"][1] == 0.333333


def test_times_are_kept_where_the_rate_does_not_give_them() -> None:
    even = np.round(np.arange(30) / 29.97, 3)  # as Matroska rounds them
    assert uneven_times(even, 29.97) is None
    held = np.array([0, 1 / 30, 0.2, 0.2333333])
    assert uneven_times(held, 3 / held[-1]) == (0.0, 0.033333, 0.2, 0.233333)
    assert uneven_times(np.zeros(1), 8.0) is None


def test_what_scores_mean_goes_with_them() -> None:
    old = replace(RECORD, score_version={"pas": 1, "ois": 1})
    new = replace(RECORD, scores={"mss": 0.9}, missing={}, score_version={"mss": 2})
    assert new.over(old).score_version == {"pas": 1, "ois": 1, "mss": 2}


@pytest.mark.parametrize("line", [b"{}", b"[", b'{"clip": "a", "model": 5}', RECORD_LINE.replace(b"0.5", b"NaN")])
def test_a_line_that_is_no_record_is_refused_in_the_same_words_as_ever(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"expected|not JSON"):
        Record.from_line(line)
