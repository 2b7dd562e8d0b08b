"""``vmmetrics rate share`` of studies and runs, and ``rate pool`` of what they share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import RunCommand
from tests.rating.made import hash_of
from tests.rating.unplayed import made
from tests.scoring import stored_runs
from vmmetrics.alignment.readers.read import read_study
from vmmetrics.alignment.study_report import align
from vmmetrics.rating.sharing import read_share


def house(folder: Path, first: int, design: str = "acr", models: int = 2, **configuration: Any) -> tuple[Path, Path]:
    """Write a study whose raters take every item, and a run with a noisy score of what they say."""
    results = made(folder, first=first, design=design, models=models, items=40, traps=0, repeats=0)
    rng, records = np.random.default_rng(first), []
    for clip in results.study.clips.values():
        said = hash_of(clip.id) % 5 / 5 if design == "acr" else hash_of(clip.id) % models / models
        scores = {
            "mss": float(np.clip(0.3 + 0.4 * said + 0.1 * rng.normal(), 0, 1)),
            "tcs": float(rng.uniform()),
            "pas": float(rng.uniform()),
        }
        records.append(stored_runs.clip(clip.clip, scores, clip.prompt))
    return results.study.path, Path(stored_runs.write(folder / f"run{first}", records, **configuration))


def test_two_houses_share_and_pool(vmmetrics: RunCommand, tmp_path: Path, capsys: Any) -> None:
    for number in range(3):
        study, run = house(tmp_path, 1000 * number)
        assert vmmetrics("rate", "share", study, "--run", run, "--out", f"{number}.json", "--key", "ours") == 0
        assert "6 raters, 40 clips" in capsys.readouterr().err
    shared = read_share(Path("0.json")).figures["motion"]
    assert vmmetrics("rate", "export", tmp_path / "study0", "--out", "export") == 0
    report = align(read_study(str(tmp_path / "run0"), str(Path("export") / "ratings.csv")))
    (aligned,) = [one for one in report.alignments if one.metric == "mss" and one.dimension == "motion"]
    assert np.tanh(shared["mss"]["pooled"].z) == pytest.approx(aligned.spearman.value, abs=0.01)
    assert np.tanh(shared["mss"]["within_model"].z) == pytest.approx(aligned.within_model.mean.value, abs=0.02)
    capsys.readouterr()
    assert vmmetrics("rate", "pool", "0.json", "1.json", "2.json", "--out", "plots", "--format", "json") == 0
    pooled = json.loads(capsys.readouterr().out)
    assert [row["study"] for row in pooled["studies"]] == ["0", "1", "2"]
    rows = {(row["metric"], row["figure"]): row for row in pooled["pooled"]}
    best = rows["mss", "over all clips"]
    low, high = best["intervals"]["pooled"]
    assert low < best["pooled"] < high and best["pooled"] > 0.3 and best["studies"] == 3
    assert abs(rows["tcs", "over all clips"]["pooled"]) < 0.3
    plot = (Path("plots") / "mss-motion.svg").read_text()
    assert "all studies" in plot and "another study" in plot and "amplitude constant" in plot
    assert vmmetrics("rate", "pool", "0.json", "1.json") == 0
    assert "τ" in capsys.readouterr().out


def test_pairs_share_the_preferences_that_a_metric_shares(vmmetrics: RunCommand, tmp_path: Path, capsys: Any) -> None:
    for number in range(2):
        study, run = house(tmp_path, 1000 * number, "pair", models=3)
        assert vmmetrics("rate", "share", study, "--run", run, "--out", f"{number}.json") == 0
    capsys.readouterr()
    assert vmmetrics("rate", "pool", "0.json", "1.json", "--format", "json") == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["pooled"]}
    assert {row["figure"] for row in rows.values()} == {"preferences"}
    assert rows["mss"]["pooled"] > 0.7 and rows["mss"]["another study"] in (None, "–")
    assert rows["tcs"]["intervals"]["pooled"][0] < 0.5
    study, run = house(tmp_path, 3000, "pair")
    assert vmmetrics("rate", "share", study, "--run", run, "--out", "few.json") == 2
    assert "20 clips, of 30" in capsys.readouterr().err  # 20 prompts of two models make 20 pairs


def test_a_share_needs_answers_and_a_pool_two_files(vmmetrics: RunCommand, tmp_path: Path, capsys: Any) -> None:
    study, run = house(tmp_path, 0)
    answers = study / "answers.jsonl"
    answers.write_bytes(answers.read_bytes().partition(b"\n")[0] + b"\n")
    assert vmmetrics("rate", "share", study, "--run", run, "--out", "a.json") == 2
    assert "counts yet, 0 were excluded" in " ".join(capsys.readouterr().err.split())
    answers.unlink()
    assert vmmetrics("rate", "share", study, "--run", run, "--out", "a.json") == 2
    assert "no answers yet" in capsys.readouterr().err
    assert vmmetrics("rate", "pool", "a.json") == 2
    assert vmmetrics("rate", "pool", "a.json", "a.json") == 2
    assert "two files or more" in capsys.readouterr().err


def test_other_scores_are_refused(vmmetrics: RunCommand, tmp_path: Path, capsys: Any) -> None:
    for number, changed in enumerate(({}, {"weights": {"a": "01"}}, {"preset": "vmbench"})):
        study, run = house(tmp_path, 1000 * number, **changed)
        assert vmmetrics("rate", "share", study, "--run", run, "--out", f"{number}.json") == 0
    capsys.readouterr()
    assert vmmetrics("rate", "pool", "0.json", "1.json", "2.json") == 2
    err = capsys.readouterr().err
    assert "models and weights:" in err and "preset: embedded (0, 1); vmbench (2)" in err
