from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

Captured = pytest.CaptureFixture[str]


def test_from_clips_to_tables(vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured) -> None:
    clips = make_clips("good/1", "good/2", "fair/1", "fair/2")
    assert vmmetrics("score", clips, "--out", "run") == 0
    capsys.readouterr()
    assert vmmetrics("leaderboard", "run", "--sort-by", "mss") == 0
    shown = capsys.readouterr().out
    assert "good" in shown
    assert "fair" in shown
    assert "Wan2.1" in shown
    assert "not comparable" in shown
    assert "not the mean of its columns" in shown
    assert "common prompts, p " in shown
    for form in ("json", "csv", "markdown", "latex"):
        assert vmmetrics("leaderboard", "run", "--format", form) == 0
        assert "good" in capsys.readouterr().out
    assert vmmetrics("leaderboard", "run", "--sort-by", "mss", "--no-published") == 0
    assert "Wan2.1" not in capsys.readouterr().out


def test_json_has_names_as_they_are_and_published_rows_no_preset_of_ours(
    vmmetrics: Any, make_clips: Any, capsys: Captured
) -> None:
    names = ["007", "1_3", "nan", "True", "=m"]
    assert vmmetrics("score", make_clips(*(f"{name}/1" for name in names)), "--out", "run") == 0
    capsys.readouterr()
    assert vmmetrics("leaderboard", "run", "--sort-by", "mss", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)["models"]
    assert sorted(row["model"] for row in rows if row["source"] == "scored") == sorted(names)
    assert all(isinstance(row["mss"], float) and isinstance(row["clips"], int) for row in rows[: len(names)])
    published = [row for row in rows if row["source"] == "published"]
    assert published and {(row["preset"], row["protocol"]) for row in published} == {(None, None)}
    assert None not in {row[name] for row in rows[: len(names)] for name in ("preset", "protocol")}


def test_it_ranks_by_the_index_and_says_which_metric_a_model_lacks(
    vmmetrics: Any, make_clips: Any, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = make_clips("one/1", "two/1")
    assert vmmetrics("score", clips, "--metrics", "mss", "--out", "run") == 0
    capsys.readouterr()
    assert vmmetrics("leaderboard", "run", "--no-published") == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "- one is not ranked by INDEX: none of 1 clips has a score in CAS (not scored)" in lines
    assert "- All models can be ranked by MSS: --sort-by mss" in lines
    monkeypatch.setenv("FAKE_SUITE_CAS", "1")
    assert vmmetrics("score", clips, "--out", "run") == 0
    capsys.readouterr()
    for by in ([], ["--sort-by", "INDEX"]):
        assert vmmetrics("leaderboard", "run", *by, "--no-published") == 0
        shown = capsys.readouterr().out
        assert "1. two" in shown
        assert "ranked by INDEX" in shown
    assert vmmetrics("leaderboard", "run", "--sort-by", "beauty") == 2
    assert "there are motion_index, average, cas" in capsys.readouterr().err


def test_what_is_no_run(vmmetrics: Any, tmp_path: Path, capsys: Captured) -> None:
    assert vmmetrics("leaderboard", tmp_path) == 2
    assert "not a run directory" in capsys.readouterr().err
