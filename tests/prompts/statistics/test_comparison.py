"""Two lists at equal size: what is drawn, what is put on one footing, the command and its picture."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from prompt_samples import BY_HAND, random_list, without_model

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.files import write_entries
from vmmetrics.prompts.statistics.measures import measure, take_apart
from vmmetrics.prompts.statistics.report import Prepared, compare, prepare


def bare(entries: list[PromptEntry], name: str = "list") -> Prepared:
    return prepare(entries, name, parse=False, embed=False)


def test_the_smaller_list_counts_as_it_is_and_the_larger_is_drawn_from() -> None:
    small, large = random_list(20, 0), random_list(60, 1)
    found = compare(bare(small), bare(large), None, draws=30)
    assert found.size == 20
    words = found.figures["distinct_1"]
    assert words.first.draws == 1
    assert words.first.mean == words.first.low == measure(take_apart(small))["distinct_1"]
    assert words.second.draws == 30
    assert words.second.low < words.second.mean < words.second.high


def test_a_drawn_figure_is_that_of_the_drawn_prompts() -> None:
    """Two of three prompts: the mean over many draws is near the mean over the three pairs."""
    three = BY_HAND[:3]
    found = compare(bare(three), bare(BY_HAND), None, size=2, draws=600)
    pairs = [measure(take_apart([three[a], three[b]]))["self_bleu"] for a, b in ((0, 1), (0, 2), (1, 2))]
    spread = found.figures["self_bleu"].first
    assert spread.mean == pytest.approx(np.mean(pairs), abs=0.02)
    assert (spread.low, spread.high) == (pytest.approx(min(pairs)), pytest.approx(max(pairs)))


def test_size_alone_makes_no_difference() -> None:
    """Halves of one list, one three times as large: unlike as they are, alike at equal size."""
    entries = random_list(400, 5)
    found = compare(bare(entries[:300]), bare(entries[300:]), None, draws=60, size=80)
    assert found.first.figures["distinct_2"] < 0.8 * found.second.figures["distinct_2"]
    pair = found.figures["distinct_2"]
    assert abs(pair.first.mean - pair.second.mean) < 0.05 * pair.second.mean
    assert pair.first.low < pair.second.mean < pair.first.high


def test_a_list_against_itself_is_no_more_varied() -> None:
    found = compare(bare(BY_HAND), bare(BY_HAND), None)
    assert all(pair.more_varied == 0.5 for pair in found.figures.values())


def test_the_more_varied_list_is_named_whichever_way_the_figure_runs() -> None:
    same = [replace(BY_HAND[0], index=f"{number:04d}") for number in range(4)]
    found = compare(bare(BY_HAND), bare(same), None).figures
    assert found["actions"].more_varied == found["openings"].more_varied == found["self_bleu"].more_varied == 1


def test_actions_are_put_on_one_footing() -> None:
    """One side knows base forms and the other does not: both are compared by their words."""
    entries = [replace(BY_HAND[0], action=action, action_lemma="pour") for action in ("pouring tea", "pouring milk")]
    foreign = [replace(entry, action_lemma="") for entry in entries]
    found = compare(bare(entries), bare(foreign), None)
    assert found.first.figures["actions"] == 1
    assert found.figures["actions"].first.mean == found.figures["actions"].second.mean == 2
    assert "compared by their words" in found.notes[0]


def test_only_what_both_know_is_compared() -> None:
    found = compare(bare(BY_HAND), bare(random_list(4, 0)), None)
    assert "classes" in found.first.figures
    assert "classes" not in found.figures


@pytest.mark.parametrize("size", [1, 5])
def test_sizes_that_cannot_be(size: int) -> None:
    with pytest.raises(SetupError, match="from 2 to 4"):
        compare(bare(BY_HAND), bare(random_list(9, 0)), None, size=size)


def test_the_same_seed_draws_the_same() -> None:
    sides = bare(BY_HAND), bare(random_list(30, 4))
    first, again, other = (compare(*sides, None, draws=9, seed=seed).figures for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from vmmetrics.cli.main import main

    without_model(monkeypatch)
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.jsonl"
    write_entries(ours, BY_HAND)
    write_entries(theirs, random_list(12, 0))
    said = {}
    for form, picture in (("text", tmp_path / "both.png"), ("json", tmp_path / "both.svg")):
        with pytest.raises(SystemExit) as stop:
            main(["prompts", "compare", str(ours), str(theirs), "--draws", "5", "--no-parse",
                  "--picture", str(picture), "--format", form])  # fmt: skip
        assert stop.value.code == 0
        assert picture.stat().st_size > 10_000
        said[form] = capsys.readouterr().out
    found = json.loads(said["json"])
    assert found["at_equal_size"]["size"] == 4
    assert found["second"]["prompts"] == 12
    assert {"distance", "self_bleu"} <= found["at_equal_size"]["figures"].keys()
    assert "theirs has no tags" in (tmp_path / "both.svg").read_text()
    shown = said["text"]
    assert "variety at equal size: 4 prompts" in shown
    assert "unknown" in shown


def test_lists_of_one_name_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from vmmetrics.cli.main import main

    for folder in ("a", "b"):
        write_entries(tmp_path / folder / "list.json", BY_HAND)
    with pytest.raises(SystemExit):
        main(["prompts", "compare", str(tmp_path / "a/list.json"), str(tmp_path / "b/list.json"), "--no-parse",
              "--no-embedding", "--format", "json"])  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert found["first"]["name"] != found["second"]["name"]
