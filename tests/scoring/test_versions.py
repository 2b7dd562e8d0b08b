"""Scores that mean different things are not put together in silence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vmmetrics.alignment.readers.scores import read_scores
from vmmetrics.errors import SetupError
from vmmetrics.metrics import registry
from vmmetrics.scoring.api import score
from vmmetrics.scoring.diff import diff
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.scoring.merge import merge

WHAT = r"PAS: version 1 \(.*one\), 2 \(.*two\)"


def make_run(path: Path, name: str, version: int | None) -> Path:
    """A run of two clips that were scored with a version of PAS; None is a record of format 1."""
    path.mkdir()
    configuration = {"preset": "embedded", "protocol": "vmmetrics", "label": "x"}
    header = {"format": 2, "configuration": configuration, "metrics": ["pas"], "sessions": []}
    (path / "run.json").write_text(json.dumps(header))
    stated = {} if version is None else {"score_version": {"pas": version}}
    lines = [
        {"clip": f"{name}{n}.mp4", "model": None, "path": f"/{name}{n}", "sha256": f"{name}{n}", "preset": "embedded",
         "protocol": "vmmetrics", "scores": {"pas": 0.25 * n}, "prompt": f"prompt {n}", **stated}
        for n in range(2)
    ]  # fmt: skip
    (path / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    return make_run(tmp_path / "one", "a", None), make_run(tmp_path / "two", "b", 2)


def test_they_are_not_merged(runs: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=WHAT):
        merge(runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    same = make_run(tmp_path / "three", "c", 1)
    assert len(merge([runs[0], same], tmp_path / "out").table) == 4  # format 1 means version 1


def test_they_are_not_ranked_together(runs: tuple[Path, Path], tmp_path: Path) -> None:
    boards = make_boards([str(run) for run in (*runs, make_run(tmp_path / "three", "c", 2))])
    assert [[row.model for row in board.rows] for board in boards] == [["one"], ["three", "two"]]
    assert all("PAS: version 1 (one), 2 (two, three)" in board.notes[0] for board in boards)


def test_they_are_compared_when_told(runs: tuple[Path, Path]) -> None:
    with pytest.raises(SetupError, match=WHAT):
        diff(*runs)
    assert any("version 1" in note for note in diff(*runs, across_versions=True).notes)


def test_people_who_align_them_are_told(runs: tuple[Path, Path]) -> None:
    notes = read_scores([str(run) for run in runs]).notes
    assert any(note.startswith("Scores mean different things: PAS: version 1 (one), 2 (two)") for note in notes)


@pytest.mark.usefixtures("fake_suite")
def test_a_start_scores_again_what_means_something_else(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    listener = SimpleNamespace(begin=lambda *_: None, advance=lambda _: None, wait=lambda *_: None, warn=told.extend)
    clips, run = make_clips("a", "b"), tmp_path / "run"
    score(clips, out=run)
    monkeypatch.setitem(registry._registry, "pas", replace(registry._registry["pas"], version=2))
    score(clips / "a.npy", metrics=("mss",), out=run, listener=listener)
    assert told == []  # PAS is not asked for
    score(clips / "a.npy", out=run, listener=listener)
    assert told == [
        "1 clip is scored again, because scores mean something else than before: PAS (now version 2)",
        "scores mean different things: PAS: version 1 (1 clip), 2 (1 clip)",
    ]
    del told[:]
    table = score(clips, out=run, listener=listener)
    assert told == ["1 clip is scored again, because scores mean something else than before: PAS (now version 2)"]
    now = {metric: registry.version_of(metric) for metric in registry.METRICS}
    assert now["pas"] == 2
    assert [dict(record.score_version) for record in table] == [now] * 2
    lines = (run / "scores.jsonl").read_bytes()
    score(clips, out=run)
    assert (run / "scores.jsonl").read_bytes() == lines
