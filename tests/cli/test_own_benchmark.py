"""The benchmark of docs/understanding.md, "A benchmark of your own", through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import command_in
from vmmetrics.understanding import registry
from vmmetrics.utils import plugins

ROOT = Path(__file__).parents[2]
_TEXT = (ROOT / "docs" / "understanding.md").read_text("utf-8").partition("## A benchmark of your own")[2]
CODE = re.findall(r"```python\n(.*?)```", _TEXT, re.DOTALL)[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin, and four questions about clips."""
    place = tmp_path_factory.mktemp("own")
    (place / "doors.py").write_text(CODE)
    data = place / "data"
    data.mkdir()
    rows = []
    for number in range(4):
        np.save(data / f"{number}.npy", np.full((8, 32, 32, 3), 40 * number, np.uint8))
        row = {"video": f"{number}.npy", "question": "What does the door do?", "options": ["opens", "closes"]}
        rows.append({**row, "answer": number % 2, "task": "doors"})
    (data / "doors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "answers.json").write_text(json.dumps(dict.fromkeys("0123", "A")))
    return place


def understand(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run a command as a process of its own would: none knows what plugins of another registered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_REGISTERED", {})
        plugins._run.cache_clear()
        done = command_in(folder, "understand", *arguments)
    assert done.code == code, done.err
    return done.out + done.err


@pytest.fixture(scope="module")
def asked(folder: Path) -> str:
    given = ("--plugin", "doors.py", "--data", "data", "--out", "run", "--frames", "2 uniform")
    return understand(folder, "run", "doors", "--model", "recorded:answers.json", *given)


def test_it_fits_on_a_page() -> None:
    assert len(CODE.splitlines()) <= 40


def test_it_is_listed(folder: Path) -> None:
    assert "doors" in understand(folder, "list", "--plugin", "doors.py")
    assert "doors" not in understand(folder, "list")


def test_it_is_asked_and_scored(folder: Path, asked: str) -> None:
    figures = json.loads((folder / "run" / "figures.json").read_text())["figures"]
    assert figures[0]["value"] == 0.5
    configuration = json.loads((folder / "run" / "run.json").read_text())["configuration"]
    assert configuration["plugin"]["plugin"] == "doors.py"
    assert len(configuration["plugin"]["sha256"]) == 64


def test_it_is_scored_again_and_ranked(folder: Path, asked: str) -> None:
    assert "doors" in understand(folder, "score", "run", "--plugin", "doors.py")
    assert "No benchmark is called 'doors'" in understand(folder, "score", "run", code=2)
    assert "0.5" in understand(folder, "leaderboard", "run", "--plugin", "doors.py", "--format", "csv")


def test_a_file_that_fails_is_said(folder: Path) -> None:
    (folder / "broken.py").write_text("x = (")
    assert "SyntaxError" in understand(folder, "list", "--plugin", "broken.py", code=2)
