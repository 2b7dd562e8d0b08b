"""Difficulty of prompts from tables of clips: simulated models whose truth is known, and rows that cannot be."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from tests.cli.conftest import command_in
from vmmetrics.errors import SetupError
from vmmetrics.prompts.difficulty import analyse, hard_subset, read_outcomes
from vmmetrics.prompts.entry import PATTERNS, PromptEntry
from vmmetrics.prompts.files import read_entries, write_entries

MODELS = {"ours": 1.0, "theirs": 0.3, "old": -0.8, "older": -1.4}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """120 prompts, twenty a pattern, of which every seventh is 3 logits harder; four models, four clips each."""
    rng = np.random.default_rng(0)
    entries = [
        PromptEntry(f"{n:04d}", f"A thing numbered {n} moves.", "a thing", "thing", "", "moving", PATTERNS[n % 6])
        for n in range(1, 121)
    ]
    write_entries(tmp_path / "list.json", entries)
    with (tmp_path / "clips.csv").open("w") as file:
        table = csv.writer(file)
        table.writerow(["clip", "model", "prompt", "success"])
        for model, ability in MODELS.items():
            for n in range(1, 121):
                for sample in range(4):
                    passed = int(rng.random() < expit(ability - (3 if n % 7 == 0 else 0)))
                    table.writerow([f"{model}/{n:04d}-{sample}.mp4", model, f"{n:04d}", passed])
        table.writerow(["x.mp4", "ours", "0001", ""])
    return tmp_path


def test_models_come_in_order_and_hard_prompts_are_found(study: Path) -> None:
    done = command_in(study, "prompts", "difficulty", "clips.csv", "--prompts", "list.json", "--format", "json",
                      "--size", 30, "--out", "hard.json")  # fmt: skip
    assert done.code == 0, done.err
    parts = json.loads(done.out)
    abilities = {row["model"]: row["ability (logits)"] for row in parts["models"]}
    assert sorted(abilities, key=lambda model: -abilities[model]) == [*MODELS]
    assert sum(row["clips"] for row in parts["models"]) == 1920
    assert read_outcomes([study / "clips.csv"]).unknown == 1
    hard = [entry.index for entry in read_entries(study / "hard.json")]
    assert len(hard) == 30
    assert sum(int(index) % 7 == 0 for index in hard) >= 14  # of 17


def test_the_subset_is_shown_on_models_that_did_not_choose_it(study: Path) -> None:
    outcomes, entries = read_outcomes([study / "clips.csv"]), read_entries(study / "list.json")
    found = hard_subset(outcomes, entries, 30, seed=1)
    assert not set(found.chosen_by) & set(found.shown_on)
    assert {*found.chosen_by, *found.shown_on} == set(MODELS)
    by_hand = []
    for prompt in found.prompts:
        rows = [row for row in csv.DictReader((study / "clips.csv").open()) if row["prompt"] == prompt]
        rows = [row for row in rows if row["model"] in found.shown_on and row["success"]]
        by_hand.append(np.mean([int(row["success"]) for row in rows]))
    assert found.rate.value == pytest.approx(np.mean(by_hand))
    assert found.difference.high is not None and found.difference.high < 0
    counts = {pattern: sum(e.pattern == pattern for e in entries if e.index in found.prompts) for pattern in PATTERNS}
    assert set(counts.values()) == {5}


def test_models_that_differ_in_nothing_show_no_difference(study: Path) -> None:
    """Successes by a coin: the subset that one half finds hardest is no harder for the other half."""
    rng, inside = np.random.default_rng(5), []
    outcomes, entries = read_outcomes([study / "clips.csv"]), read_entries(study / "list.json")
    for seed in range(40):
        outcomes.passed[:] = rng.binomial(outcomes.asked.astype(int), 0.5)
        low, high = (getattr(hard_subset(outcomes, entries, 30, seed).difference, end) for end in ("low", "high"))
        inside.append(low <= 0 <= high)
    assert np.mean(inside) >= 0.85


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model,prompt\na,0001\n", "clips.csv, line 2: expected columns model, prompt and success"),
        ("model,prompt,success\na,1,maybe\n", "clips.csv, line 2: expected success to be 1, 0 or empty but got 'may"),
        ("clip,model,prompt,success\nx,a,1,1\nx,a,1,0\n", "clips.csv, line 3: clip 'x' of 'a' is there twice"),
        ("model,prompt,success\na,1,1\n,1,0\n", "clips.csv, line 3: expected a model and a prompt but got ''"),
        ("model,prompt,success\na,0001,1\na,0002,0\n", "models: a; prompts: 2"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "clips.csv").write_text(text)
    with pytest.raises(SetupError, match=says):
        read_outcomes([tmp_path / "clips.csv"])


def test_tables_without_models_are_of_one_each(tmp_path: Path) -> None:
    """As ``prompts ask`` writes them of a folder of clips; names that look like formulas stay whole."""
    for name in ("wan", "ltx"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "clips.csv").write_text("clip,model,prompt,success\n1.mp4,,1,1.0\n2.mp4,,2,0.0\n")
    assert read_outcomes([tmp_path / name / "clips.csv" for name in ("wan", "ltx")]).models == ("ltx", "wan")
    (tmp_path / "both.csv").write_text("model,prompt,success\n'-a,1,1\n-b,2,0\n")
    assert read_outcomes([tmp_path / "both.csv"]).models == ("-a", "-b")


def test_few_models_and_other_lists_are_refused(study: Path) -> None:
    outcomes, entries = read_outcomes([study / "clips.csv"]), read_entries(study / "list.json")
    with pytest.raises(SetupError, match="needs 4 models"):
        hard_subset(outcomes.of([0, 1, 2]), entries, 10)
    with pytest.raises(SetupError, match="Prompt 0001 is not in the list"):
        analyse(outcomes, entries[1:])
    assert hard_subset(outcomes, entries, 2).rate.low is None
    with pytest.raises(SetupError, match="below the 120 prompts"):
        hard_subset(outcomes, entries, 120)
