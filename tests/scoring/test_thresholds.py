from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from vmmetrics.scoring.record import Record
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.thresholds import MissingCheck, Threshold, judge, read_threshold


def clip(name: str, scores: Mapping[str, float], **found: Any) -> Record:
    model = name.partition("/")[0] if "/" in name else None
    return Record(name, model, f"/x/{name}", "00", "embedded", "vmmetrics", scores, **found)


def test_every_model_must_pass_and_only_scored_clips_count() -> None:
    table = Table(
        [
            clip("a/1.mp4", {"mss": 0.9}),
            clip("a/2.mp4", {"mss": 0.7}),
            clip("a/3.mp4", {}, missing={"mss": "one frame"}),
            clip("b/1.mp4", {"mss": 0.3}),
            clip("b/2.mp4", {}, error="The file is empty"),
            clip("c/1.mp4", {}, missing={"mss": "one frame"}),
        ]
    )
    passed, failed, empty, *missing = judge(table, [Threshold("mss", 0.8)])
    assert (passed.passed, failed.passed, empty.passed) == (True, False, False)  # 0.8 is not under 0.8
    assert str(passed) == "passed: MSS of a 0.8000 over 2 of 3 clips, 0.0000 above 0.8"
    assert str(failed) == "failed: MSS of b 0.3000 over 1 of 2 clips, 0.5000 under 0.8"
    assert str(empty) == "failed: MSS of c: the clip has no score; required: at least 0.8"
    assert [str(check) for check in missing] == [
        f"failed: {clips} failed or have no MSS without having collapsed; allowed: 10% (--fail-missing)"
        for clips in ("1 of 3 clips of a", "1 of 2 clips of b", "1 of 1 clips of c")
    ]


def test_a_gate_counts_the_clips_that_lack_its_metric() -> None:
    """Without INDEX in the run; OIS may have nothing to judge, and what does not apply or collapsed lacks nothing."""
    short, foreign = {"mss": "one frame"}, {"not_applicable": ("mss",)}
    still = {"mss": "nothing moves: all 9 frames show the same image"}
    records = [clip(f"{n}.mp4", {"mss": 0.95, "ois": 0.9}) for n in range(4)]
    records += [clip("4.mp4", {"ois": 0.9}, missing=short), clip("5.mp4", {"ois": 0.9}, missing=short, **foreign)]
    records += [clip("6.mp4", {}, missing=still), clip("7.mp4", {"mss": 0.95}, missing={"ois": "no person"})]
    records += [clip("8.mp4", {"mss": 0.95}, errors={"ois": "broken"}), clip("9.mp4", {}, error="empty")]
    mss = MissingCheck(0.1, None, 2, 10, "mss")
    assert judge(Table(records), [Threshold("mss", 0.5), Threshold("mss", 0.6)])[2:] == [mss]
    ois = judge(Table(records), [Threshold("ois", 0.5)], most_missing=0.2)[1]
    assert str(ois) == "passed: 2 of 10 clips failed in OIS; allowed: 20% (--fail-missing)"


def test_a_share_of_exactly_what_is_allowed_passes() -> None:
    for most, missing, clips in ((0.29, 29, 100), (0.58, 29, 50), (0.57, 57, 100), (0.07, 7, 100), (0.0, 0, 0)):
        assert MissingCheck(most, None, missing, clips).passed, most
    assert not MissingCheck(0.29, None, 30, 100).passed
    assert "allowed: 0.5% (--fail-missing)" in str(MissingCheck(0.005, None, 1, 100))


def test_one_model_is_judged_as_a_whole_and_clips_of_none_are_not_passed_over() -> None:
    (all_of_it,) = judge(Table([clip("1.mp4", {"cas": 0.512, "mss": 1.0})]), [Threshold("motion_index", 0.64 - 1e-9)])
    assert all_of_it.passed
    assert all_of_it.model is None
    mixed = Table([clip("a/1.mp4", {"mss": 0.9}), clip("b/1.mp4", {"mss": 0.9}), clip("stray.mp4", {"mss": 0.1})])
    assert [verdict.passed for verdict in judge(mixed, [Threshold("mss", 0.5)])] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "metrics", "said"),
    [
        ("mss", ("mss",), "METRIC=NUMBER"),
        ("mss=", ("mss",), "METRIC=NUMBER"),
        ("mss=nan", ("mss",), "METRIC=NUMBER"),
        ("mss=0.5x", ("mss",), "METRIC=NUMBER"),
        ("cas=0.5", ("mss",), "expected one of mss, which are scored"),
        ("index=0.5", ("mss",), "INDEX needs cas and mss"),
        ("INDEX=50", ("cas", "mss"), "INDEX lies between 0 and 1, so 50 says nothing; 50 of 100 is 0.5"),
        ("mss=-0.1", ("mss",), "MSS lies between 0 and 1, so -0.1 says nothing"),
    ],
)
def test_what_cannot_be_tested_is_said(text: str, metrics: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_threshold(text, metrics)


def test_a_threshold_is_read_whatever_its_case() -> None:
    assert read_threshold(" MSS = 0.5", ("mss", "pas")) == Threshold("mss", 0.5)
    assert read_threshold("motion_index=1e-1", ("cas", "mss")) == Threshold("motion_index", 0.1)


def test_less_that_is_better_cannot_fail_under(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    import vmmetrics.scoring.thresholds as module

    monkeypatch.setattr(module, "find", lambda key: SimpleNamespace(higher_is_better=key != "jerk", range=(0, 1)))
    assert read_threshold("mss=0.5", ("mss",)).metric == "mss"
    with pytest.raises(ValueError, match="less of jerk is better"):
        read_threshold("jerk=0.5", ("jerk",))


def test_the_released_definition_has_no_index() -> None:
    with pytest.raises(ValueError, match="no INDEX under protocol vmbench"):
        read_threshold("INDEX=0.5", ("cas", "mss"), "vmbench")
