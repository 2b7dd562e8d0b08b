from __future__ import annotations

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


def test_what_is_no_run(vmmetrics: Any, tmp_path: Path, capsys: Captured) -> None:
    assert vmmetrics("leaderboard", tmp_path) == 2
    assert "no run directory" in capsys.readouterr().err
