"""The metric of docs/own-metric.md, through the command line and two workers."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import command_in
from vmmetrics.metrics import registry
from vmmetrics.utils import plugins

ROOT = Path(__file__).parents[2]
(CODE,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "own-metric.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips of two models, one with two jumps of light, the plugin, and a run of both."""
    place = tmp_path_factory.mktemp("own")
    (place / "own.py").write_text(CODE)
    rng = np.random.default_rng(0)
    for model, jumps in (("steady", 0), ("flashing", 2)):
        for name in "ab":
            frames = rng.integers(90, 110, (9, 32, 48, 3)).astype(np.uint8)
            frames[4] += 40 if jumps else 0
            (place / "clips" / model).mkdir(parents=True, exist_ok=True)
            np.save(place / "clips" / model / f"{name}.npy", frames)
    return place


@pytest.fixture(scope="module")
def command(folder: Path) -> Callable[..., str]:
    """Run a command as a process of its own would: none knows what plugins of another registered."""

    def run(*arguments: str, code: int = 0) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(registry, "_registry", dict(registry._registry))
            plugins._run.cache_clear()
            done = command_in(folder, *arguments)
        assert done.code == code, done.err
        return done.out + done.err

    return run


@pytest.fixture(scope="module")
def scored(command: Callable[..., str]) -> str:
    return command("score", "clips", "--plugin", "own.py", "--metrics", "light,pas", "--jobs", "2", "--out", "run")


def scores(folder: Path) -> dict[str, str]:
    with (folder / "run" / "scores.csv").open(newline="") as file:
        return {row["clip"]: row["light"] for row in csv.DictReader(file)}


def test_it_fits_on_a_page() -> None:
    assert len(CODE.splitlines()) <= 40


def test_it_is_scored_by_two_workers(folder: Path, scored: str) -> None:
    assert {clip: float(value) for clip, value in scores(folder).items()} == {
        "flashing/a.npy": 0.75, "flashing/b.npy": 0.75, "steady/a.npy": 1.0, "steady/b.npy": 1.0,
    }  # fmt: skip
    assert re.search(r"clip +PAS +light", scored)
    events = [json.loads(line) for line in (folder / "run" / "events.jsonl").read_text().splitlines()]
    faults = {line["clip"]: line["metrics"]["light"]["events"] for line in events}
    assert [event["frames"] for event in faults["flashing/a.npy"]] == [[4], [5]]
    assert faults["steady/a.npy"] == []


def test_what_registered_it_stands_in_the_run(folder: Path, scored: str) -> None:
    run = json.loads((folder / "run" / "run.json").read_text())
    source = run["parts"]["light"]["source"]
    assert source["plugin"] == "own.py"
    assert len(source["sha256"]) == 64
    assert "light" in run["metrics"]


def test_it_is_resumed_with_the_same_file_only(folder: Path, command: Callable[..., str], scored: str) -> None:
    again = ("score", "clips", "--plugin", "own.py", "--metrics", "light,pas", "--out", "run")
    before = (folder / "run" / "scores.jsonl").read_bytes()
    command(*again)
    assert (folder / "run" / "scores.jsonl").read_bytes() == before
    (folder / "own.py").write_text(CODE.replace("JUMP = 8.0", "JUMP = 9.0"))
    try:
        assert "light.source.sha256" in command(*again, code=2)
    finally:
        (folder / "own.py").write_text(CODE)


def test_models_are_ranked_by_it(command: Callable[..., str], scored: str) -> None:
    said = command("leaderboard", "run", "--sort-by", "light", "--no-published")
    assert "steady over flashing: +0.250" in said
    assert "No column 'dark' to rank by; there are motion_index, average, cas" in command(
        "leaderboard", "run", "--sort-by", "dark", code=2
    )


def test_it_is_drawn(folder: Path, command: Callable[..., str], scored: str) -> None:
    command("show", "run", "flashing/a.npy", "--out", "a.png")
    assert (folder / "a.png").stat().st_size > 1000


@pytest.mark.slow
def test_it_is_probed(folder: Path, command: Callable[..., str]) -> None:
    shutil.copy(ROOT / "tests" / "data" / "samples" / "zeroscope" / "woman-walks-and-sits.mp4", folder / "good.mp4")
    what = ("--metrics", "light", "--defects", "flicker", "--invariances", "none", "--jobs", "2")
    command("probe", "good.mp4", "--plugin", "own.py", *what, "--no-rates", "--out", "probe")
    report = json.loads((folder / "probe" / "report.json").read_text())
    assert [metric["name"] for metric in report["metrics"]] == ["light"]


def test_people_are_asked_about_it(folder: Path, command: Callable[..., str], scored: str) -> None:
    rows = [f"{clip},{'5' if clip.startswith('steady') else '2'}" for clip in scores(folder)]
    (folder / "ratings.csv").write_text("\n".join(["clip,motion", *rows]))
    command("align", "run", "ratings.csv", "--out", "study", "--resamples", "50")
    table = (folder / "study" / "table.csv").read_text()
    assert "light" in table
