"""The command that writes a report, and ``score --report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.viewer.page import values_of

Captured = pytest.CaptureFixture[str]


def index_of(folder: Path) -> dict[str, Any]:
    index: dict[str, Any] = values_of((folder / "data" / "index.js").read_text("utf-8"))[0]
    return index


def test_it_prints_the_page_and_what_is_left_out(
    vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured
) -> None:
    assert vmmetrics("score", make_clips("good/1", "good/2", "fair/1", "fair/raise"), "--out", "run") == 3
    capsys.readouterr()
    assert vmmetrics("report", "run", "--out", "page", "--clips", "worst:3", "--title", "Mine & yours") == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [str(tmp_path / "page" / "index.html")]
    assert "3 clips in the report" in err
    assert "1 clip: not among the worst 3" in err
    assert "no video" in err
    index = index_of(tmp_path / "page")
    assert index["title"] == "Mine & yours"
    assert index["models"] == ["fair", "good"]


def test_the_first_run_is_the_baseline_and_runs_can_be_named(vmmetrics: Any, make_clips: Any, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert vmmetrics("score", make_clips("1", "2", folder="clips"), "--out", name) == 0
    assert vmmetrics("report", "-q", "old=one", "two", "--out", "page") == 0
    index = index_of(tmp_path / "page")
    assert [run["name"] for run in index["runs"]] == ["old", "two"]
    assert [(change["before"], change["after"]) for change in index["changes"]] == [(0, 1)]


def test_score_writes_it_into_the_run(vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured) -> None:
    for _ in range(2):
        assert vmmetrics("score", make_clips("1", "2"), "--out", "run", "--report", "--format", "json") == 0
        out, err = capsys.readouterr()
        assert len(json.loads(out)["clips"]) == 2
        assert str(Path("run", "report", "index.html")) in err
    assert len(index_of(tmp_path / "run" / "report")["clips"]["name"]) == 2
    assert vmmetrics("score", make_clips("1", "2", "3"), "--out", "run") == 0


def test_wrong_usage_is_2_and_writes_nothing(vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured) -> None:
    assert vmmetrics("score", make_clips("1"), "--out", "run") == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("x")
    (tmp_path / "r.csv").write_text("clip,who,smoothness\n1,a,4\n1,b,-99\n1,c,3\n1,d,2\n")
    for arguments, words in (
        (["run", "--out", "mine"], "holds no report"),
        (["run", "--out", "page", "--clips", "none.txt"], "Expected all, worst:N or a file"),
        (["mine", "--out", "page"], "not a run directory"),
        (["run", "--out", "page", "--media", "burn"], "burn"),
        (["run", "--out", "page", "--overlays", "-1"], "overlays"),
        (["run", "--out", "page", "--ratings", "none.csv"], "none.csv"),
        (["run", "--out", "page", "--ratings", "r.csv", "--map", "who"], "COLUMN=ROLE"),
        (["run", "--out", "page", "--ratings", "r.csv"], "--missing -99"),
    ):
        capsys.readouterr()
        assert vmmetrics("report", *arguments) == 2, arguments
        assert words in capsys.readouterr().err
    assert not (tmp_path / "page").exists()
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["a.txt"]
    stated = ("--map", "who=rater", "--missing", "-99")
    assert vmmetrics("report", "run", "--out", "page", "--ratings", "r.csv", *stated) == 0


def test_it_serves_what_it_wrote(
    vmmetrics: Any, make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Path] = []
    monkeypatch.setattr("vmmetrics.viewer.server.serve", lambda folder, announce: served.append(folder))
    assert vmmetrics("score", make_clips("1"), "--out", "run") == 0
    assert vmmetrics("report", "run", "--out", "page", "--serve") == 0
    assert served == [tmp_path / "page"]
