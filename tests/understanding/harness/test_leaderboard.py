"""Runs side by side: order, steps and files against what was written by hand."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.cli.main import main
from vmmetrics.understanding.harness.leaderboard import RunBoard, compare_runs, make_boards

QUESTIONS = 12
"""Two about each of six videos; the right option is the second, tasks take turns."""
GOOD, FAIR, POOR = "B" * 12, "BBBBBBBBAAAA", "BAABAABAAAAA"


@pytest.fixture
def understand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.chdir(tmp_path)
    lines = [
        {"id": f"q{i}", "video": f"v{i // 2}", "text": "Which?", "options": ["up", "down", "left", "right"],
         "answer": "B", "groups": {"task": [["turns", "jumps"][i % 2]], "half": ["first" if i < 6 else "last"]}}
        for i in range(QUESTIONS)
    ]  # fmt: skip
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def run(*arguments: object) -> int:
        try:
            main(["understand", *map(str, arguments)])
        except SystemExit as stop:
            return int(stop.code or 0)
        return 0

    return run


def answered(understand: Callable[..., int], name: str, letters: str, fps: float | None = None) -> Path:
    """A scored run of recorded answers; as if frames had been shown, where a rate is given."""
    path = Path(f"{name}.json")
    path.write_text(json.dumps({f"q{i}": letter for i, letter in enumerate(letters)}))
    arguments = ("run", "custom", "--data", "questions.jsonl", "--model", f"recorded:{path}", "--out", name)
    assert understand(*arguments) in (0, 3)  # 3: some without an answer
    if fps is not None:
        answers = Path(name) / "answers.jsonl"
        lines = [json.loads(line) for line in answers.read_text().splitlines()]
        shown = {"seconds": [0.0, 1 / fps], "policy": f"{fps:g} fps", "fps": fps}
        answers.write_text("".join(json.dumps(line | {"shown": shown}) + "\n" for line in lines))
    return Path(name)


@pytest.fixture
def board(understand: Callable[..., int]) -> RunBoard:
    runs = [answered(understand, *parts) for parts in (("poor", POOR, 2.0), ("good", GOOD), ("fair", FAIR, 8.0))]
    (found,) = make_boards([*runs, runs[0]], "vmmetrics")
    return found


def test_the_best_stands_first_and_each_is_held_against_the_next(board: RunBoard) -> None:
    assert [row.scores.model for row in board.rows] == [
        "recorded: good.json",
        "recorded: fair.json",
        "recorded: poor.json",
    ]
    assert [row.overall.value for row in board.rows] == pytest.approx([1, 8 / 12, 3 / 12])
    assert board.columns == ["turns", "jumps"]
    assert {name: figure.value for name, figure in board.rows[2].cells.items()} == pytest.approx(
        {"turns": 2 / 6, "jumps": 1 / 6}
    )
    first, second = board.steps
    assert first is not None and second is not None
    assert first.difference == pytest.approx(4 / 12) and second.difference == pytest.approx(5 / 12)
    alone = compare_runs(Path("fair"), Path("good"), "vmmetrics").differences[0]
    assert (first.p, first.low, first.high) == (alone.p, alone.low, alone.high)
    assert first.p_holm == pytest.approx(min(1.0, 2 * min(first.p, second.p)) if first.p <= second.p else first.p)


def test_rates_that_were_shown(board: RunBoard) -> None:
    assert [row.rate for row in board.rows] == [None, 8.0, 2.0]


def test_every_file_says_the_same(understand: Callable[..., int], board: RunBoard, capsys: Any) -> None:
    capsys.readouterr()
    said = {}
    for form in ("text", "csv", "json", "markdown", "latex"):
        options = ("--format", form, "--group-by", "half")
        assert understand("leaderboard", "poor", "good", "fair", *options) == 0
        said[form] = capsys.readouterr().out
    printed = said["text"]
    assert printed.index("good.json") < printed.index("fair.json") < printed.index("poor.json")
    rows = list(csv.DictReader(said["csv"].splitlines()))
    written = json.loads(said["json"])["figures"]
    assert [{name: "" if value is None else str(value) for name, value in row.items()} for row in written] == rows
    assert all(isinstance(row[name], str) for row in written for name in ("model", "group", "name"))
    of_poor = {(row["group"], row["name"]): row["value"] for row in rows if row["model"] == "recorded: poor.json"}
    assert {key: float(value) for key, value in of_poor.items()} == pytest.approx(
        {("all", "all"): 0.25, ("half", "first"): 2 / 6, ("half", "last"): 1 / 6}
    )
    assert "| recorded: poor.json |" in said["markdown"] and "0.250" in said["markdown"]
    table = [line for line in said["latex"].splitlines() if line.endswith(r"\\")]
    assert {line.count(" & ") for line in table} == {6}


def test_runs_that_were_asked_different_questions_say_so(understand: Callable[..., int], board: RunBoard) -> None:
    answered(understand, "part", "AB")
    (found,) = make_boards([Path("part"), Path("good")], "vmmetrics")
    (step,) = found.steps
    assert step is not None and step.n == QUESTIONS  # what was not answered is wrong, and was asked
    lines = Path("questions.jsonl").read_text().splitlines(keepends=True)
    Path("questions.jsonl").write_text("".join(lines[:6]))
    answered(understand, "few", GOOD[:6])
    (found,) = make_boards([Path("few"), Path("fair")], "vmmetrics")
    assert any("same questions" in note for note in found.notes)
    assert found.steps[0] is not None and found.steps[0].n == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["good", "nowhere"], "is not the folder of a run"),
        (["good", "--protocol", "upstream"], "is not scored"),
        (["good", "--group-by", "colour"], "it has task, half"),
    ],
)
def test_wrong_usage_is_told(
    understand: Callable[..., int], arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answered(understand, "good", GOOD)
    capsys.readouterr()
    assert understand("leaderboard", *arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())
