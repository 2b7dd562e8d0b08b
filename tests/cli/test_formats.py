"""Results for programs, runs that are only shown, and the first clips of many."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.scoring.records import read_records
from vmmetrics.utils.display.records import records, to_csv
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, figure, heads

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def scored(vmmetrics: Any, make_clips: Any, capsys: Captured) -> Path:
    """Score two models' clips into ``run``."""
    assert vmmetrics("score", make_clips("good/1", "good/2", "fair/1", "fair/2"), "--out", "run") == 0
    capsys.readouterr()
    return Path("run")


def test_scores_as_json_are_those_of_the_journal(scored: Path, vmmetrics: Any, capsys: Captured) -> None:
    assert vmmetrics("merge", scored, "-o", "merged", "--format", "json") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    known = {record.clip: record for record in read_records(scored)}
    assert {clip["clip"] for clip in found["clips"]} == known.keys()
    for clip in found["clips"]:
        record = known[clip["clip"]]
        assert {name: clip[name] for name in record.scores} == dict(record.scores)  # in full
        for metric, why in record.missing.items():
            assert clip[metric] is None and clip["reasons"][metric] == why
    scores = [record.scores["mss"] for record in known.values()]
    assert found["means"]["all"]["mss"]["mean"] == pytest.approx(sum(scores) / len(scores))
    assert set(found["means"]["models"]) == {"good", "fair"}
    assert "results:" in err


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "latex"])
def test_each_form_of_each_table(form: str, scored: Path, vmmetrics: Any, capsys: Captured) -> None:
    for arguments in (
        ("merge", scored, "-o", f"of-{form}"),
        ("leaderboard", scored),
        ("diff", scored, scored),
        ("plan",),
        ("weights", "list"),
        ("understand", "list"),
        ("prompts", "stats", "mini", "--no-parse", "--no-embedding"),
    ):
        assert vmmetrics(*arguments, "--format", form) == 0, arguments
        out = capsys.readouterr().out
        if form == "json":
            assert json.loads(out), arguments
        elif form == "csv":
            rows = list(csv.reader(io.StringIO(out)))
            assert len(rows) > 1 and len({len(row) for row in rows}) == 1, arguments
        elif form == "markdown":
            assert "| --:" in out or "| :--" in out, arguments
        else:
            assert out.count(r"\begin{tabular}") == out.count(r"\end{tabular}") >= 1, arguments


def test_records_have_numbers_in_full_and_reasons() -> None:
    table = DisplayTable("t", "T", "", heads("name", "ρ", "n"))
    table.add("a", DisplayCell("0.33", "[0.10, 0.50]", value=1 / 3, interval=(0.1, 0.5)), "1,234")
    table.add("=b", figure(None, why="too few"), "−3")
    first, second = records(table)
    assert first == {"name": "a", "ρ": 1 / 3, "n": 1234, "intervals": {"ρ": [0.1, 0.5]}, "reasons": {}}
    assert second == {"name": "=b", "ρ": None, "n": -3, "intervals": {}, "reasons": {"ρ": "too few"}}
    rows = list(csv.DictReader(io.StringIO(to_csv([table]))))
    assert float(rows[0]["ρ"]) == 1 / 3 and float(rows[0]["ρ_low"]) == 0.1 and rows[0]["ρ_reason"] == ""
    assert rows[1]["name"] == "'=b" and rows[1]["ρ"] == "" and rows[1]["ρ_reason"] == "too few"


@pytest.mark.parametrize("command", ["score", "baselines", "probe"])
def test_a_dry_run_names_clips_and_writes_nothing(
    command: str, vmmetrics: Any, make_clips: Any, capsys: Captured
) -> None:
    clips = make_clips("good/1", "good/2", "fair/1")
    before = sorted(Path().rglob("*"))
    assert vmmetrics(command, clips, "--dry-run", "--limit", 2, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [clip["model"] for clip in found["clips"]] == ["fair", "good"]
    assert any("results: " in line for line in found["plan"])
    assert sorted(Path().rglob("*")) == before


def test_a_dry_run_of_a_run_that_is_there_holds_no_records(
    vmmetrics: Any, make_clips: Any, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = make_clips("a", "b", "raise")
    vmmetrics("score", clips, "-o", "run", "--metrics", "mss")
    capsys.readouterr()
    monkeypatch.setattr("vmmetrics.scoring.records.read_records", None)
    assert vmmetrics("score", clips, "-o", "run", "--metrics", "mss", "--dry-run") == 0
    assert "results: run, which has 2 of these clips" in capsys.readouterr().out


def test_a_refused_address_keeps_the_listing_and_a_wrong_mirror_ends_at_once(
    vmmetrics: Any, make_clips: Any, capsys: Captured
) -> None:
    store = pytest.importorskip("fsspec").filesystem("memory")
    clip = (make_clips("a") / "a.npy").read_bytes()
    for name in ("mine", "other"):
        store.pipe_file(f"/listed/{name}/a.npy", clip)
    try:
        start = ("score", "--metrics", "mss", "-o", "run")
        vmmetrics(*start, "memory://listed/mine", "--mirror", "memory://listed/copy")  # no worker sees this store
        before = Path("run/clips.jsonl").read_bytes()
        assert vmmetrics(*start, "memory://listed/other", "--assume-fps", 5) == 2
        assert Path("run/clips.jsonl").read_bytes() == before
        assert vmmetrics(*start[:-1], "new", "clips", "--mirror", "memory://listed/copy") == 2
        assert "holds another run" in capsys.readouterr().err.replace("\n", " ")
        assert not Path("new").exists()
    finally:
        store.rm("/listed", recursive=True)


def test_a_limit_takes_the_first_clips(vmmetrics: Any, make_clips: Any) -> None:
    assert vmmetrics("score", make_clips("c", "a", "b"), "--limit", 2, "-o", "run") == 0
    assert [Path(record.clip).stem for record in read_records(Path("run"))] == ["a", "b"]


def test_a_device_that_is_not_here_is_refused_before_any_work(
    vmmetrics: Any, make_clips: Any, capsys: Captured
) -> None:
    clips = make_clips("a")
    assert vmmetrics("score", clips, "--preset", "vmbench", "--device", "cuda:99") == 2
    said = capsys.readouterr().err
    assert "--device: " in said and "cpu" in said
    assert not Path("vmmetrics-runs").exists()
