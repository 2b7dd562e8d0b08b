"""The folder of a run from somebody else: a wrong field is a sentence, a wrong line is passed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.understanding.harness.running import RunFolder, read_answers, read_run
from vmmetrics.understanding.harness.scoring import read_scores

CONFIGURATION = {"benchmark": "tiny", "data": {"a.json": "00"}, "model": {"name": "m"}, "frames": {"policy": "2 fps"}}
RUN = {"format": 1, "kind": "understanding", "configuration": CONFIGURATION, "sessions": [{"data": "d", "limit": None}]}
FIGURES = {"benchmark": "tiny", "model": "m", "frames": "2 fps", "figures": []}
LINE = {"question": "q", "video": "v", "groups": {"task": ["a"]}, "value": 1, "chosen": 0, "answered": True}
LINE |= {"parts": {}, "detail": {}}


def write(folder: Path, run: Any = RUN, figures: Any = FIGURES, line: Any = LINE) -> Path:
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "figures.json").write_text(json.dumps(figures))
    (folder / "scores.jsonl").write_text(json.dumps(line) + "\n")
    return folder


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("sessions", None, "sessions: expected a list but got None"),
        ("sessions", [], "the settings of the run are missing"),
        ("sessions", [5], "sessions.0: expected an object but got 5"),
        ("sessions", [{"data": 5}], "sessions.0.data: expected text"),
        ("configuration", [], "configuration: expected an object"),
        ("configuration", {**CONFIGURATION, "data": {"a": 5}}, "configuration.data.a: expected text but got 5"),
        ("configuration", {**CONFIGURATION, "model": {}}, "configuration.model.name: expected a value"),
        ("configuration", {**CONFIGURATION, "frames": "x"}, "configuration.frames: expected an object"),
        ("kind", 5, "no run of 'understand'"),
    ],
)
def test_a_wrong_field_of_the_run_is_said(tmp_path: Path, field: str, value: Any, says: str) -> None:
    assert read_run(write(tmp_path)) == RUN
    with pytest.raises(SetupError, match=says):
        read_run(write(tmp_path, {**RUN, field: value}))
    with pytest.raises(SetupError, match=says):  # nor is it resumed
        RunFolder(tmp_path, CONFIGURATION, {})


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a":' * 100_000, "NaN", '{"format": ' + "1" * 5000 + "}"])
def test_what_is_no_run_is_said(tmp_path: Path, text: str) -> None:
    write(tmp_path)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(SetupError, match=r"run\.json"):
        read_run(tmp_path)


def test_answers_that_do_not_fit_are_passed_over(tmp_path: Path) -> None:
    lines = [{"question": "a", "text": "A"}, {"question": 5}, {"question": "b", "shown": {"policy": 5}},
             {"question": "c", "usage": {"cost": "x"}}, {"question": "d", "seconds": True}]  # fmt: skip
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    answers, warnings = read_answers(tmp_path)
    assert list(answers) == ["a"]
    assert len(warnings) == 4
    assert warnings[2].startswith("answers.jsonl line 4 is damaged and was skipped (usage.cost: expected a finite")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"figures": {**FIGURES, "figures": [5]}}, r"figures\.json, figures\.0: expected an object"),
        ({"figures": {**FIGURES, "model": 5}}, r"figures\.json, model: expected text"),
        ({"line": {**LINE, "groups": {"task": "a"}}}, r"scores\.jsonl line 1 .*groups\.task: expected a list"),
        ({"line": {**LINE, "value": "x"}}, r"scores\.jsonl line 1 .*value: expected a finite number"),
        ({"line": 5}, r"scores\.jsonl line 1 .*expected an object but got 5"),
    ],
)
def test_scores_that_do_not_fit_are_said(tmp_path: Path, wrong: dict[str, Any], says: str) -> None:
    assert read_scores(write(tmp_path), CONFIGURATION, "vmmetrics").scored[0].value == 1
    with pytest.raises(SetupError, match=says):
        read_scores(write(tmp_path, **wrong), CONFIGURATION, "vmmetrics")
