"""The notebooks of the docs run from top to bottom, and are kept without outputs."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def executed(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Return the code cells of a notebook after a run in its own folder, with this Python and its commands."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(path.parent)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(cells: list[dict], kind: str) -> list[str]:
    """Return the text of every output of a MIME type, streams as ``text/plain``."""
    texts = []
    for output in (output for cell in cells for output in cell["outputs"]):
        if output.output_type == "stream":
            texts += [output.text] * (kind == "text/plain")
        else:
            texts += [output.data[kind]] if kind in output.get("data", {}) else []
    return texts


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["align_with_ratings", "score_and_look", "toy_grpo"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_outputs_are_committed(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []


@pytest.mark.slow
def test_scoring_and_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = executed(ROOT / "docs" / "notebooks" / "score_and_look.ipynb", monkeypatch)
    assert "zeroscope" in outputs(cells, "text/html")[0] or "cars-drive-fast" in outputs(cells, "text/html")[0]
    assert len(outputs(cells, "image/png")) == 1
    assert "mss" in outputs(cells, "text/plain")[-1]


@pytest.mark.slow
def test_aligning_with_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = executed(ROOT / "docs" / "notebooks" / "align_with_ratings.ipynb", monkeypatch)
    claims, figures = outputs(cells, "text/plain")
    assert claims.startswith("- ")
    assert {line.split()[0] for line in figures.splitlines()} >= {"cas", "mss", "pas", "motion_index"}


@pytest.mark.slow
def test_a_policy_learns_what_the_reward_says(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = executed(ROOT / "docs" / "notebooks" / "toy_grpo.ipynb", monkeypatch)
    (learnt,) = [text for text in outputs(cells, "text/plain") if "stillness" in text]
    shares = {line.split()[0]: dict(re.findall(r"(\w[\w ]*) (\d\.\d+)", line[10:])) for line in learnt.splitlines()}
    assert float(shares["ours"]["as it is"]) > 0.9
    assert float(shares["stillness"]["frozen"]) > 0.9
