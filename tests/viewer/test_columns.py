"""Columns of the index: codes, numbers, reasons why scores are missing, and tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scoring.stored_runs import clip, five
from vmmetrics.scoring.anchors import Place
from vmmetrics.scoring.record import Record
from vmmetrics.viewer.columns import Columns, metric_info
from vmmetrics.viewer.selection import Row
from vmmetrics.viewer.texts import Texts

METRICS = ("motion_index", "cas", "mss", "ois", "pas", "tcs")


def row(record: Record, number: int = 0) -> Row:
    return Row(number, record, record.clip, 0, record.model or "run", Texts((), None))


def columns_of(*records: Record, metrics: Any = None, tags: tuple[str, ...] = (), places: Any = None) -> dict[str, Any]:
    columns = Columns([metric_info(key) for key in METRICS] if metrics is None else metrics, tags)
    for number, record in enumerate(records):
        columns.add(row(record, number), faults=[], media=0, poster=True, overlay=False, places=places or {})
    return columns.to_json()


def test_places_are_by_metric_and_row() -> None:
    index = columns_of(clip("a", five(0.5)), clip("b", five(0.5)), places={"cas": Place(0.5, 54, 57, 0.05)})
    assert index["clips"]["places"] == {"cas": {"0": (54, 57, 0.05), "1": (54, 57, 0.05)}}


def test_rows_of_collapsed_clips_are_listed() -> None:
    still = dict.fromkeys(METRICS[1:], "nothing moves: all 9 frames show the same image")
    short = dict.fromkeys(METRICS[1:], "one frame")
    records = [clip("a", five(0.5)), clip("b", {}, missing=still), clip("c", {}, missing=short)]
    assert columns_of(*records)["clips"]["collapsed"] == [1]


def test_texts_that_repeat_are_stored_once() -> None:
    records = [clip(f"{m}/{p}.mp4", five(0.5), f"prompt {p}") for m in "ab" for p in range(3)]
    index = columns_of(*records, clip("c.mp4", five(0.5)))
    assert (index["models"], index["prompts"]) == (["a", "b", "run"], ["prompt 0", "prompt 1", "prompt 2"])
    assert index["clips"]["model"] == [0, 0, 0, 1, 1, 1, 2]
    assert index["clips"]["prompt"] == [0, 1, 2, 0, 1, 2, -1]


def test_a_score_is_there_or_has_a_reason_and_is_never_0_for_missing() -> None:
    record = Record(
        "a", None, None, None, "embedded", "vmmetrics", {"mss": 0.123456, "pas": 0.5},
        {"ois": "no person", "tcs": "waves"}, ("tcs",), {"cas": "out of memory"},
    )  # fmt: skip
    failed = replace(clip("b", {"mss": 0.5}), error="cannot be decoded")
    index = columns_of(record, failed)
    clips = index["clips"]
    assert {key: clips["scores"][key] for key in METRICS} == {
        "motion_index": [None, None], "cas": [None, None], "mss": [0.1235, None], "ois": [None, None],
        "pas": [0.5, None], "tcs": [None, None],
    }  # fmt: skip
    missing = {
        metric: {of: (index["reasons"][entry["reason"]], entry["kind"]) for of, entry in entries.items()}
        for metric, entries in clips["missing"].items()
    }
    assert missing == {
        "motion_index": {"0": ("no CAS", "missing")}, "cas": {"0": ("out of memory", "failed")}, "mss": {},
        "ois": {"0": ("no person", "missing")}, "pas": {}, "tcs": {"0": ("waves", "not applicable")},
    }  # fmt: skip
    assert [index["reasons"][code] if code >= 0 else None for code in clips["failed"]] == [None, "cannot be decoded"]


def test_a_metric_that_was_not_asked_for_has_neither() -> None:
    index = columns_of(clip("a", {"mss": 0.5}))
    assert index["clips"]["scores"]["tcs"] == [None] and index["clips"]["missing"]["tcs"] == {}


def test_events_are_named_once_a_clip() -> None:
    columns = Columns([metric_info("tcs")], ())
    columns.add(
        row(clip("a", {})),
        faults=[("tcs", "x"), ("tcs", "y"), ("tcs", "x")],
        media=0,
        poster=False,
        overlay=False,
        places={},
    )
    columns.add(
        row(clip("b", {})), faults=[("tcs", "y"), ("mss", "y")], media="u", poster=False, overlay=True, places={}
    )
    index = columns.to_json()
    assert index["events"] == [{"metric": m, "reason": r} for m, r in (("tcs", "x"), ("tcs", "y"), ("mss", "y"))]
    assert index["clips"]["events"] == [[0, 1], [1, 2]]
    assert (index["clips"]["media"], index["clips"]["overlay"]) == ([0, "u"], [0, 1])


def test_tags_are_numbers_or_codes_of_texts() -> None:
    tags = ({"speed": 2.5, "of": "x", "mixed": 3}, {"of": "y", "mixed": "3"}, {"speed": 1, "of": "x", "mixed": "z"})
    index = columns_of(*(clip(f"{n}", {}, tags=tag) for n, tag in enumerate(tags)), tags=("of", "speed", "mixed"))
    assert index["tags"] == [
        {"name": "of", "values": ["x", "y"]}, {"name": "speed", "values": None},
        {"name": "mixed", "values": ["3", "z"]},
    ]  # fmt: skip
    assert index["clips"]["tags"] == {"of": [0, 1, 0], "speed": [2.5, None, 1], "mixed": [0, 0, 1]}


@given(st.floats(-1e15, 1e15))
def test_a_metric_of_ones_own_keeps_six_digits(score: float) -> None:
    index = columns_of(clip("a", {"ssim": score}), metrics=[metric_info("ssim", {"range": [-1e15, 1e15]})])
    assert index["clips"]["scores"]["ssim"] == [pytest.approx(score, rel=1e-5)]


def test_metrics_are_described_as_registered_or_as_the_run_says() -> None:
    assert metric_info("tcs")["label"] == "TCS"
    assert metric_info("pas")["low_is_fault"] is False
    assert metric_info("motion_index")["range"] == [0, 1]
    stated = {"title": "niqe", "range": [0, 100], "lower_is_better": True, "unit": "NIQE"}
    own = metric_info("niqe_like", stated)
    assert (own["title"], own["range"], own["lower_is_better"], own["unit"]) == ("niqe", [0, 100], True, "NIQE")
    assert (own["kind"], own["colour"]) == ("own", "own")


@pytest.mark.parametrize("ends", [None, "01", [0], [1, 0], [0, float("inf")], [True, 2], [0, 1e300], {"a": 1}])
def test_a_range_that_is_none_is_left_out(ends: Any) -> None:
    assert metric_info("odd", {"range": ends})["range"] is None
