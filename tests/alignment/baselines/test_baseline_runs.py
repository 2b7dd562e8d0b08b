from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.alignment.baselines import suite as suite_module
from vmmetrics.alignment.baselines.suite import measure
from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.scoring.anchors import COLUMNS as ANCHOR_COLUMNS
from vmmetrics.scoring.merge import merge
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import read_events, read_records
from vmmetrics.scoring.table import COLUMNS, Table

SOME = ("ssim", "frame_difference", "brisque")
ROOT = Path(__file__).parents[3]


def header(run: Path) -> dict:
    return json.loads((run / "run.json").read_text())


def test_a_run_holds_what_was_promised(clips, tmp_path):
    table = measure(clips, only=SOME, out=tmp_path / "run")
    records = {record.clip: record for record in read_records(tmp_path / "run")}
    assert set(records) == {"slow/moves.npy", "slow/still.npy", "fast/moves.npy", "fast/broken.mp4"}
    assert set(records["slow/moves.npy"].scores) == set(SOME)
    assert records["slow/still.npy"].missing.keys() == {"ssim", "frame_difference"}
    assert records["fast/broken.mp4"].error
    assert (records["slow/moves.npy"].preset, records["slow/moves.npy"].model) == ("baselines", "slow")
    run = header(tmp_path / "run")
    assert run["metrics"] == sorted(SOME)
    assert run["lower_is_better"] == ["brisque", "frame_difference"]
    assert run["parts"]["brisque"]["weights"]["brisque-live"]
    assert table.by_model()["fast"]["ssim"].mean < table.by_model()["slow"]["ssim"].mean
    rows = list(csv.DictReader((tmp_path / "run" / "scores.csv").open()))
    assert set(SOME) < set(rows[0])
    assert not {"cas", "average", "amplitude"} & set(rows[0])
    still = next(row for row in rows if row["clip"] == "slow/still.npy")
    assert still["ssim"] == "" and "ssim: one frame" in still["missing"]


def test_more_baselines_may_join_and_only_they_are_measured(clips, tmp_path, monkeypatch):
    run = tmp_path / "run"
    measure(clips, only=("ssim",), out=run)
    asked = []
    score = suite_module.BaselineSuite.score_clip
    spy = lambda self, clip, **kw: asked.append((clip.name, self.metrics)) or score(self, clip, **kw)  # noqa: E731
    monkeypatch.setattr(suite_module.BaselineSuite, "score_clip", spy)
    table = measure(clips, only=("ssim", "frame_difference"), out=run)
    assert {metrics for _, metrics in asked} == {("frame_difference",)}
    assert set(table[1].scores) == {"ssim", "frame_difference"}
    assert header(run)["lower_is_better"] == ["frame_difference"]
    asked.clear()
    measure(clips, only=SOME[:2], out=run)
    assert asked == []


def test_a_baseline_of_another_model_is_refused(clips, tmp_path):
    run = tmp_path / "run"
    measure(clips, only=("brisque", "ssim"), out=run)
    changed = header(run)
    changed["parts"]["brisque"]["weights"]["brisque-live"] = "00ff"
    (run / "run.json").write_text(json.dumps(changed))
    measure(clips, only=("ssim",), out=run)  # what it does not touch plays no part
    with pytest.raises(SetupError, match=r"brisque\.weights\.brisque-live"):
        measure(clips, only=("brisque",), out=run)


def test_shards_merge(clips, tmp_path):
    whole = measure(clips, only=SOME, out=tmp_path / "whole")
    for part in (1, 2):
        measure(clips, only=SOME, out=tmp_path / f"part{part}", shard=(part, 2))
    merged = merge([tmp_path / "part1", tmp_path / "part2"], tmp_path / "merged")
    assert {r.clip: r.scores for r in merged.table} == {r.clip: r.scores for r in whole}
    assert header(tmp_path / "merged")["lower_is_better"] == ["brisque", "frame_difference"]
    assert header(tmp_path / "merged")["parts"] == header(tmp_path / "whole")["parts"]


def test_a_table_of_metrics_and_baselines_has_both():
    mixed = Record("a", None, None, None, "embedded", "vmmetrics", {"tcs": 0.5, "ssim": 0.9}, {"niqe": "flat"})
    table = Table([mixed])
    assert table.metrics == ("tcs", "niqe", "ssim")
    first = ("clip", "model", *METRICS, "motion_index", "average", "amplitude", "own_change")
    first = (*first, *ANCHOR_COLUMNS, "niqe", "ssim")
    assert table.columns[: len(first)] == first
    assert (table.rows()[0]["ssim"], table.rows()[0]["niqe"], table.rows()[0]["cas"]) == (0.9, None, None)
    assert Table([]).columns == COLUMNS
    assert table.mean()["ssim"].mean == 0.9


def test_events_and_parquet_know_baselines(clips, tmp_path):
    measure(clips / "fast" / "moves.npy", only=SOME, out=tmp_path / "run")
    (record,) = read_records(tmp_path / "run")
    assert tuple(read_events(tmp_path / "run", record)) == tuple(sorted(SOME))
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = parquet.read_table(tmp_path / "run" / "scores.parquet")
    assert columns["ssim"].to_pylist() == [record.scores["ssim"]]
    assert str(columns["ssim"].type) == "double"


def test_arrays_and_nothing_kept(translated):
    table = measure([translated(3), translated(3, (5, 5))], only=("ssim",), fps=8, layout="THWC")
    assert table[0].scores["ssim"] > table[1].scores["ssim"]
    assert "ssim" in repr(table).lower()


@pytest.mark.slow
def test_killed_outright_it_goes_on(tmp_path, translated, capsys):
    """SIGKILL after the first clips; the same command then ends where an undisturbed run does."""
    folder = tmp_path / "clips"
    folder.mkdir()
    for number in range(5):
        np.save(folder / f"{number}.npy", np.tile(translated(4, (number, 1)), (2, 1, 2, 1)))
    run = tmp_path / "run"
    command = [sys.executable, "-m", "vmmetrics", "baselines", str(folder), "--out", str(run), "--metrics", "ssim,niqe"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    journal = run / "scores.jsonl"
    while not (journal.exists() and b"\n" in journal.read_bytes()) and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = len(read_records(run))
    assert done >= 1
    with pytest.raises(SystemExit) as stop:
        main([*command[3:], "--jobs", "0"])
    assert stop.value.code == 0
    if done < 5:
        assert f"{done} of 5 clips were scored before" in capsys.readouterr().err
    undisturbed = measure(folder, only=("ssim", "niqe"))
    assert {r.clip: r.scores for r in read_records(run)} == {r.clip: r.scores for r in undisturbed}
