"""``vmmetrics cas label`` from files to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from vmmetrics.cas.label.comparisons import Comparison, ListedClip
from vmmetrics.cas.label.label import LabelSettings, label_clips
from vmmetrics.cli.cas import label
from vmmetrics.errors import SetupError
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE

APP = typer.Typer()
APP.command("label")(label)


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(APP, [str(a) for a in arguments])


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def judged(clips: list[str], beta: np.ndarray, number: int, seed: int = 0, **more: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    lines = []
    for turn in range(number):
        i, j = rng.choice(len(clips), 2, replace=False)
        p = np.exp([beta[i] - beta[j], -0.3 + (beta[i] - beta[j]) / 2, 0.0])
        winner = ("a", "tie", "b")[rng.choice(3, p=p / p.sum())]
        lines.append({"a": clips[i], "b": clips[j], "winner": winner, "rater": f"r{turn % 4}", **more})
    return lines


@pytest.fixture
def comparisons(tmp_path: Path) -> Path:
    clips = [f"m{k % 2}/{k}.mp4" for k in range(10)]
    return write_lines(tmp_path / "c.jsonl", judged(clips, np.linspace(2, -2, 10), 300))


def test_labels_and_their_record(comparisons: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    result = run(comparisons, "--out", out, "--repeat-votes", "keep")
    assert result.exit_code == 0, result.output
    rows = read_lines(out)
    assert len(rows) == 10
    assert sorted(row["level"] for row in rows) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    best = next(row for row in rows if row["clip"] == "m0/0.mp4")
    assert best["level_name"] == ("Bad", "Poor", "Fair", "Good", "Perfect")[best["level"]]
    assert best["level"] >= 3
    assert best["group"] == "m0"
    assert best["low"] < best["strength"] < best["high"]
    for row in rows:
        assert sum(row["level_probs"]) == pytest.approx(1, abs=1e-5)
        assert (row["high"] - row["low"]) / 2 == pytest.approx(1.96 * row["se"], rel=1e-3)
    assert sum(row["comparisons"] for row in rows) == 600
    record = json.loads((tmp_path / "labels.meta.json").read_text())
    assert record["comparisons"] == 300
    assert record["settings"]["ties"] == record["tie_model"]["name"] == "davidson"
    assert record["prior_sd"] is None
    assert record["maximum_without_prior"]
    assert record["components"] == [{"component": 0, "clips": 10, "strong_parts": 1, "first": "m0/0.mp4"}]
    assert len(record["cuts"][0]["strengths"]) == 4
    assert [rater["rater"] for rater in record["raters"]] == ["r0", "r1", "r2", "r3"]
    assert len(record["inputs"][0]["sha256"]) == 64
    assert "uncertain" in result.output or record["uncertain_clips"] == 0


def test_the_same_input_gives_the_same_labels(comparisons: Path, tmp_path: Path) -> None:
    for name in ("one.jsonl", "two.jsonl"):
        assert run(comparisons, "--out", tmp_path / name, "--ties", "rao-kupper", "--cut", "normal").exit_code == 0
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_fixed_cuts(comparisons: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    assert run(comparisons, "--out", out, "--cut", "fixed", "--at", "-1,-0.3,0.3,1").exit_code == 0
    for row in read_lines(out):
        assert row["level"] == np.searchsorted([-1, -0.3, 0.3, 1], row["strength"])
    with pytest.raises(SetupError, match="needs four cuts"):
        CliRunner().invoke(APP, [str(comparisons), "--out", str(out), "--cut", "fixed"], catch_exceptions=False)


def test_asking_goes_round(comparisons: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    assert run(comparisons, "--ask", 6, "--pairs-out", pairs).exit_code == 0
    asked = read_lines(pairs)
    assert len(asked) == 6
    assert all(line["winner"] is None and line["reason"] == "inform" for line in asked)
    unanswered = run(pairs, "--out", tmp_path / "labels.jsonl")
    assert isinstance(unanswered.exception, SetupError)
    assert f"{pairs}:1: expected winner" in str(unanswered.exception)
    answered = write_lines(tmp_path / "answers.jsonl", [line | {"winner": "tie"} for line in asked])
    assert run(comparisons, answered, "--out", tmp_path / "labels.jsonl").exit_code == 0


def test_the_first_pairs_need_no_comparisons(tmp_path: Path) -> None:
    clips = write_lines(tmp_path / "clips.jsonl", [{"clip": f"{k}", "prompt": "pq"[k % 2]} for k in range(8)])
    pairs = tmp_path / "pairs.jsonl"
    assert run("--clips", clips, "--ask", 6, "--pairs-out", pairs).exit_code == 0
    lines = read_lines(pairs)
    assert len(lines) == 6
    assert all("prompt" in line and (int(line["a"]) - int(line["b"])) % 2 == 0 for line in lines)
    assert run("--clips", clips, "--ask", 28, "--pairs-out", pairs, "--across-prompts").exit_code == 0
    assert any("prompt_a" in line for line in read_lines(pairs))


@pytest.mark.parametrize(
    "arguments",
    [[], ["c.jsonl"], ["c.jsonl", "--ask", "3"], ["--ask", "3", "--pairs-out", "p"], ["c.jsonl", "--at", "x"]],
)
def test_wrong_usage(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_components_are_shown(tmp_path: Path) -> None:
    lines = [{"winner": "x", "loser": "y"}, {"winner": "v", "loser": "w"}, {"winner": "w", "loser": "v"}]
    out = tmp_path / "labels.jsonl"
    result = run(write_lines(tmp_path / "c.jsonl", lines), "--out", out)
    assert "component 0: 2 clips with v, 1 strongly connected part\n" in result.output
    assert "component 1: 2 clips with x, 2 strongly connected parts\n" in result.output
    assert "prior used, normal with standard deviation 1.5" in result.output
    assert {row["clip"]: row["component"] for row in read_lines(out)} == {"v": 0, "w": 0, "x": 1, "y": 1}


def test_an_input_is_not_overwritten(comparisons: Path) -> None:
    before = comparisons.read_bytes()
    assert run(comparisons, "--out", comparisons).exit_code == 2
    assert comparisons.read_bytes() == before


def rows_of(lines: list[dict[str, Any]], prompt: str | None = None) -> list[Comparison]:
    return [
        Comparison(
            r["a"], r["b"], {"a": LEFT, "b": RIGHT, "tie": TIE}[r["winner"]], prompt_left=prompt, prompt_right=prompt
        )
        for r in lines
    ]


def test_prompts_that_are_not_linked_are_levelled_apart_and_it_says_so() -> None:
    one = rows_of(judged([f"p{k}" for k in range(6)], np.linspace(3, -3, 6), 150), "p")
    other = rows_of(judged([f"q{k}" for k in range(6)], np.linspace(3, -3, 6) + 50, 150, 1), "q")
    labels = label_clips([*one, *other])
    assert labels.scope == "component"
    assert labels.fit.graph.components == 2
    rows = {row["clip"]: row for row in labels.rows()}
    assert rows["p0"]["level"] == rows["q0"]["level"] == 4
    assert rows["p0"]["component"] != rows["q0"]["component"]
    assert any("not across components" in note for note in labels.notes)
    linked = label_clips(
        [*one, *other, Comparison("p0", "q5", RIGHT), Comparison("p0", "q5", RIGHT), Comparison("p1", "q4", RIGHT)]
    )
    assert linked.scope == "pooled"
    assert linked.fit.prior_sd == 1.5  # q never lost to p: a prior is needed, and stated
    assert any(note.startswith("prior used") for note in linked.notes)
    rows = {row["clip"]: row for row in linked.rows()}
    assert rows["q0"]["level"] == 4
    assert rows["p5"]["level"] == 0
    apart = label_clips([*one, *other], settings=LabelSettings(scope="prompt"))
    assert any("not across prompts" in note for note in apart.notes)
    pooled = label_clips([*one, *other], settings=LabelSettings(scope="pooled"))
    assert any("as if each group were equally good" in note for note in pooled.notes)


def test_no_prior_means_no_labels_where_one_is_needed() -> None:
    rows = [Comparison("x", "y", LEFT), Comparison("y", "z", LEFT)]
    with pytest.raises(SetupError, match="no maximum"):
        label_clips(rows, settings=LabelSettings(prior="none"))
    assert label_clips(rows).fit.prior_sd == 1.5
    assert label_clips(rows, settings=LabelSettings(prior="always", prior_sd=0.5)).fit.prior_sd == 0.5


def test_listed_clips_without_comparisons_are_kept_without_a_level() -> None:
    listed = [ListedClip(name, "p", "g") for name in "xyzw"]
    labels = label_clips([Comparison("x", "y", LEFT), Comparison("y", "x", LEFT), Comparison("y", "z", TIE)], listed)
    row = labels.rows()[0]
    assert row["clip"] == "w"
    assert row["level"] is row["strength"] is row["level_probs"] is None
    assert row["comparisons"] == 0
    assert any("1 clips were in no comparison" in note for note in labels.notes)


def test_levels_per_prompt_need_prompts() -> None:
    with pytest.raises(SetupError, match="x has none"):
        label_clips([Comparison("x", "y", LEFT)], settings=LabelSettings(scope="prompt"))
