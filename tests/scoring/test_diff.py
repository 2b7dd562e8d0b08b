from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import vmmetrics
from vmmetrics.errors import SetupError
from vmmetrics.scoring.diff import MeanDifference, RunDifference
from vmmetrics.scoring.diff_text import diff_parts, missing_verdict, verdict
from vmmetrics.scoring.record import Record
from vmmetrics.utils.display.tables import Lines, to_markdown

CONFIGURATION = {
    "preset": "embedded", "protocol": "vmmetrics", "models": {"flow": "DIS"}, "weights": {"a": "00"},
    "comparable": False, "label": "preset embedded: not comparable", "versions": {"av": "18"},
}  # fmt: skip


def clip(name: str, scores: Mapping[str, float], sha256: str | None = None, **other: Any) -> Record:
    model = name.partition("/")[0] if "/" in name else None
    return Record(name, model, f"/x/{name}", sha256 or f"of {name}", "embedded", "vmmetrics", scores, **other)


def write(path: Path, records: Sequence[Record], header: Mapping[str, Any] | None = None, **configuration: Any) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    metrics = sorted({metric for record in records for metric in (*record.scores, *record.missing, *record.errors)})
    run = {"format": 1, "configuration": {**CONFIGURATION, **configuration}, "metrics": metrics, "sessions": []}
    (path / "run.json").write_text(json.dumps({**run, **(header or {})}))
    (path / "scores.jsonl").write_text("".join(json.dumps(record.to_json()) + "\n" for record in records))
    return path


def compared(folder: Path, before: Sequence[Record], after: Sequence[Record], **other: Any) -> RunDifference:
    return vmmetrics.diff(write(folder / "before", before), write(folder / "after", after, **other))


def of(found: RunDifference, metric: str, model: str | None = None) -> MeanDifference:
    return next(d for d in found.differences if (d.metric, d.model) == (metric, model))


def noisy(count: int, level: float, seed: int) -> list[float]:
    return np.clip(np.random.default_rng(seed).normal(level, 0.05, count), 0, 1).tolist()


def test_a_mean_difference_is_tested_in_pairs_as_by_scipy(tmp_path: Path) -> None:
    first, second = noisy(11, 0.5, 1), noisy(11, 0.55, 2)
    names = [f"{n}.mp4" for n in range(11)]
    found = compared(
        tmp_path,
        [clip(name, {"mss": value}) for name, value in zip(names, first, strict=True)],
        [clip(name, {"mss": value}) for name, value in zip(names, second, strict=True)],
    )
    known = stats.permutation_test(
        (np.subtract(second, first),), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    (d,) = found.differences
    assert (d.clips, d.prompts, d.lost, d.gained) == (11, 11, 0, 0)
    assert (d.before, d.after) == (pytest.approx(np.mean(first)), pytest.approx(np.mean(second)))
    assert d.difference == pytest.approx(np.mean(second) - np.mean(first))
    assert d.p == pytest.approx(known.pvalue)
    boot = stats.bootstrap((np.subtract(second, first),), np.mean, method="percentile", rng=0)
    assert (d.low, d.high) == pytest.approx(tuple(boot.confidence_interval), abs=0.005)


def test_the_clips_of_one_prompt_count_once(tmp_path: Path) -> None:
    moved = {"a1": 0.2, "a2": 0.4, "b1": -0.3}
    before = [clip(f"{name}.mp4", {"mss": 0.5}, prompt=name[0]) for name in moved]
    after = [clip(f"{name}.mp4", {"mss": 0.5 + by}, prompt=name[0]) for name, by in moved.items()]
    (d,) = compared(tmp_path, before, after).differences
    assert (d.clips, d.prompts, d.difference) == (3, 2, pytest.approx((0.3 - 0.3) / 2))


def test_clips_are_paired_by_what_they_share(tmp_path: Path) -> None:
    before = [
        clip("same.mp4", {"mss": 0.1}),
        clip("renamed.mp4", {"mss": 0.2}, "content"),
        clip("format.mp4", {"mss": 0.3}),
        clip("20250101_120000.mp4", {"mss": 0.4}, prompt="a dog  runs"),
        clip("gone.mp4", {"mss": 0.5}),
        clip("twice-0.mp4", {"mss": 0.5}, prompt="a cat"),
        clip("twice-1.mp4", {"mss": 0.5}, prompt="a cat"),
    ]
    after = [
        clip("same.mp4", {"mss": 0.1}),
        clip("other.mp4", {"mss": 0.2}, "content"),
        clip("format.webm", {"mss": 0.3}),
        clip("20250202_130000.mp4", {"mss": 0.4}, prompt="a dog runs"),
        clip("new.mp4", {"mss": 0.9}),
        clip("again.mp4", {"mss": 0.5}, prompt="a cat"),  # which of the two it is, nobody knows
    ]
    found = compared(tmp_path, before, after)
    assert found.paired_by == {"name": 1, "content": 1, "name without its ending": 1, "prompt": 1}
    assert all(pair.difference("mss") == 0 for pair in found.pairs)
    assert set(found.gone) == {"gone.mp4", "twice-0.mp4", "twice-1.mp4"}
    assert set(found.new) == {"new.mp4", "again.mp4"}


def test_one_model_each_is_paired_whatever_the_folders_are_called(tmp_path: Path) -> None:
    found = compared(tmp_path, [clip("step-1/x.mp4", {"mss": 0.1})], [clip("step-2/x.mp4", {"mss": 0.3})])
    assert found.paired_by == {"name within its model": 1}
    two = [clip("step-1/x.mp4", {"mss": 0.1}), clip("step-1b/y.mp4", {"mss": 0.1})]
    with pytest.raises(SetupError, match="nothing to compare"):
        compared(tmp_path, two, [clip("step-2/x.mp4", {"mss": 0.3})])


def test_what_is_lost_failed_or_new_is_in_no_mean_and_is_said(tmp_path: Path) -> None:
    before = [clip(f"{n}.mp4", {"cas": 0.5, "mss": 0.9}) for n in range(4)]
    after = [
        clip("0.mp4", {"cas": 0.5, "mss": 0.8}),
        clip("1.mp4", {"cas": 0.5}, missing={"mss": "one frame"}),
        clip("2.mp4", {}, error="The file is empty"),
        clip("3.mp4", {"cas": 0.5}, errors={"mss": "ValueError: broken"}),
        clip("4.mp4", {"cas": 0.1, "mss": 0.1}),
    ]
    found = compared(tmp_path, before, after)
    d = of(found, "mss")
    assert (d.clips, d.lost, d.difference) == (1, 3, pytest.approx(-0.1))
    assert found.metrics == ("motion_index", "cas", "mss")
    assert found.failed == {"2.mp4": "The file is empty", "3.mp4": "MSS: ValueError: broken"}
    text = "\n".join(map(to_markdown, diff_parts(found)))
    for said in ("1 new: 4.mp4", "2 failed now: 2.mp4", "their score (in no mean of it above): INDEX 3, CAS 1, MSS 3"):
        assert said in text, said
    assert json.loads(json.dumps(found.to_json()))["differences"][0]["metric"] == "motion_index"


def test_clips_that_failed_do_not_pass_and_clips_without_a_score_are_counted(tmp_path: Path) -> None:
    before = [clip(f"{n}.mp4", {"cas": 0.5, "mss": 0.5}) for n in range(20)]
    rest = before[:10]
    dead = [clip(f"{n}.mp4", {}, error="The file is empty") for n in range(10, 20)]
    said = "could not be computed now for "
    said += "10 clips with a score in the first run: 10.mp4, 11.mp4, 12.mp4, 13.mp4, 14.mp4 and 5 more"
    for metric, name in (("mss", "MSS"), ("any", "any metric")):
        assert verdict(compared(tmp_path / metric, before, [*rest, *dead]), metric) == (False, f"failed: {name} {said}")
    found = compared(tmp_path / "index", before, [*rest, *dead])  # of INDEX a share may fail
    assert (verdict(found, "motion_index", 0.5)[0], verdict(found, "motion_index", 0.49)[0]) == (True, False)
    broken = [clip(f"{n}.mp4", {"cas": 0.5}, errors={"mss": "broken"}) for n in range(10, 20)]
    found = compared(tmp_path / "errors", before, [*rest, *broken])
    assert [verdict(found, metric)[0] for metric in ("mss", "motion_index", "cas")] == [False, False, True]
    short = [clip(f"{n}.mp4", {"cas": 0.5}, missing={"mss": "one frame"}) for n in range(10, 20)]
    found = compared(tmp_path / "short", before, [*rest, *short])
    passed, line = verdict(found, "mss")
    assert passed and "10 clips with a score in the first run left out, without one in the second" in line
    assert verdict(found, "motion_index")[1].startswith("failed: INDEX missing now in 10 of 20 clips: 10.mp4, ")
    assert (verdict(found, "motion_index", 0.5)[0], verdict(found, "motion_index", 0.49)[0]) == (True, False)
    again = compared(tmp_path / "again", [*rest, *dead], [*rest, *dead])
    assert verdict(again, "mss")[0]  # they failed before as well


def test_worse_is_what_chance_does_not_do_in_some_model(tmp_path: Path) -> None:
    names = [f"{model}/{n}.mp4" for model in ("good", "bad") for n in range(12)]
    start = dict(zip(names, noisy(24, 0.7, 3), strict=True))
    jitter = dict(zip(names, noisy(24, 0.0, 4), strict=True))
    before = [clip(name, {"mss": score}) for name, score in start.items()]
    after = [
        clip(name, {"mss": score - 0.2 if name.startswith("bad") else score + jitter[name] / 10})
        for name, score in start.items()
    ]
    found = compared(tmp_path, before, after)
    assert [d.model for d in found.worse("mss")] == ["bad"]
    passed, said = verdict(found, "mss")
    assert not passed
    assert said == "failed: worse in MSS of bad −0.200 [−0.200, −0.200] over 12 clips, p < 0.001"
    same, said = verdict(compared(tmp_path / "same", before, before), "any")
    assert same
    assert "not shown to be worse in any metric: MSS of bad 0.000" in said
    with pytest.raises(ValueError, match="any or one of mss"):
        verdict(found, "cas")


def test_less_may_be_better(tmp_path: Path) -> None:
    header = {"lower_is_better": ["brisque"]}
    before = [clip(f"{n}.mp4", {"brisque": 0.2 + n / 100}) for n in range(10)]
    after = [clip(f"{n}.mp4", {"brisque": 0.3 + n / 90}) for n in range(10)]
    found = vmmetrics.diff(write(tmp_path / "a", before, header), write(tmp_path / "b", after, header))
    assert found.worse("brisque")
    back = vmmetrics.diff(tmp_path / "b", tmp_path / "a")
    assert not back.worse("brisque")


def test_nothing_in_common_does_not_pass_and_too_few_are_told(tmp_path: Path) -> None:
    before = [clip(f"{n}.mp4", {"mss": 0.5}) for n in range(3)]
    short = [clip(f"{n}.mp4", {}, missing={"mss": "one frame"}) for n in range(3)]
    passed, said = verdict(compared(tmp_path / "lost", before, short), "mss")
    assert (passed, said) == (False, "failed: no clip has a score in both runs in MSS")
    lower = [clip(f"{n}.mp4", {"mss": 0.1}) for n in range(2)]
    passed, said = verdict(compared(tmp_path / "few", before, lower), "mss")
    assert passed  # of two prompts p is 1/2 at least
    assert "2 prompts are too few to show it: MSS −0.400" in said
    assert "1 clip of the first run left out" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"protocol": "vmbench"}, "protocol: "),
        ({"weights": {"a": "11"}}, "weights.a: "),
        ({"models": {"flow": "RAFT"}}, "models.flow: "),
    ],
)
def test_runs_that_were_scored_otherwise_are_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(SetupError, match=f"(?s)cannot be compared:.*{said}"):
        compared(tmp_path, [clip("a.mp4", {"mss": 0.5})], [clip("a.mp4", {"mss": 0.5})], **change)


def test_other_versions_and_definitions_are_told(tmp_path: Path) -> None:
    records = [clip("a.mp4", {"mss": 0.5, "own": 0.5})]
    one = write(tmp_path / "a", records, {"parts": {"own": {"version": "1"}}})
    two = write(tmp_path / "b", records, {"parts": {"own": {"version": "2"}}}, versions={"av": "15"})
    found = vmmetrics.diff(one, two)
    assert found.metrics == ("mss",)
    remarks = next(part for part in diff_parts(found) if isinstance(part, Lines))
    assert "own is left out: the runs define it differently" in remarks.lines
    assert any("versions.av: 18" in line for line in remarks.lines)
    assert not any("INDEX" in line for line in remarks.lines)


def test_indexes_of_two_formulas_are_told(tmp_path: Path) -> None:
    """A run of version 1 has no own change, so that the factor of version 2 alone lowers INDEX."""
    scores = {"cas": 0.5, "mss": 0.9}
    one = write(tmp_path / "a", [clip("a.mp4", scores)], motion_index="1")
    two = write(tmp_path / "b", [clip("a.mp4", scores, own_change=0.0)], motion_index="2")
    found = vmmetrics.diff(one, two)
    assert of(found, "motion_index").difference < 0
    assert any(note.startswith(f"INDEX versions differ: 1 ({one}), 2 ({two}); ") for note in found.notes)
    assert any(note.startswith("INDEX versions differ: not stated ") for note in compared_notes(tmp_path, two))


def compared_notes(folder: Path, run: Path) -> Sequence[str]:
    return vmmetrics.diff(write(folder / "older", [clip("a.mp4", {"cas": 0.5, "mss": 0.9})]), run).notes


def test_clips_with_an_index_are_not_missing_because_another_metric_failed(tmp_path: Path) -> None:
    scores = {"cas": 0.5, "mss": 0.9, "ois": 0.9, "own": 0.5}
    before = [clip(f"{n}.mp4", scores) for n in range(8)]
    after = [clip(f"{n}.mp4", {"cas": 0.5, "mss": 0.9}, errors={"ois": "no", "own": "no"}) for n in range(8)]
    found = compared(tmp_path, before, after)
    assert verdict(found, "motion_index", 0.0)[0]
    assert missing_verdict(found, 0.0) == (
        True,
        "passed: INDEX missing now in 0 of 8 clips; allowed: 0% (--fail-missing)",
    )
    assert "OIS could not be computed now" in verdict(found, "ois")[1]


def test_the_share_without_an_index_is_of_each_model_and_of_the_second_run(tmp_path: Path) -> None:
    """9 of the 10 clips of one model are 8 % of all; new clips count, and those without an index before."""
    scores = {"cas": 0.5, "mss": 0.9}
    before = [clip(f"{model}/{n}.mp4", scores) for model, clips in (("a", 100), ("b", 10)) for n in range(clips)]
    short = [clip(f"b/{n}.mp4", {}, missing=dict.fromkeys(scores, "one frame")) for n in range(9)]
    found = compared(tmp_path, before, [*before[:100], *short, before[-1]])
    names = "b/0.mp4, b/1.mp4, b/2.mp4, b/3.mp4, b/4.mp4 and 4 more"
    said = f"failed: INDEX missing now in 9 of 10 clips of b: {names}; allowed: 10% (--fail-missing)"
    assert verdict(found, "motion_index") == missing_verdict(found, 0.1) == (False, said)
    assert verdict(found, "motion_index", 0.9)[0]
    late = [clip("b/new.mp4", {}, error="The file is empty")]
    same = vmmetrics.diff(write(tmp_path / "c", [*before[:100], *short]), write(tmp_path / "d", [*short, *late]))
    assert "10 of 10 clips: b/0.mp4, " in missing_verdict(same, 0.1)[1]
    with pytest.raises(ValueError, match="both runs need CAS and MSS"):
        missing_verdict(compared(tmp_path / "mss", [clip("a.mp4", {"mss": 1})], [clip("a.mp4", {"mss": 1})]), 0.1)


def test_the_clips_that_changed_most_come_first(tmp_path: Path) -> None:
    before = [clip(f"{n}.mp4", {"mss": 0.5}) for n in range(5)]
    after = [clip(f"{n}.mp4", {"mss": 0.5 + by}) for n, by in enumerate((0.1, -0.4, 0.0, 0.3, -0.2))]
    found = compared(tmp_path, before, after)
    assert [pair.after.clip for pair in found.most_changed(3)] == ["1.mp4", "3.mp4", "4.mp4"]
    assert len(found.most_changed(9)) == 4
