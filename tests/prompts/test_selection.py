"""Balanced subsets: bounds against brute force, balance, edges, and the command."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.errors import SetupError
from vmmetrics.prompts import selection
from vmmetrics.prompts.entry import PATTERNS, PromptEntry, Tags
from vmmetrics.prompts.files import read_entries, write_entries
from vmmetrics.prompts.selection import Objective, apportion, exchange, greedy, objective_for, select, total_variation


def value(objective: Objective, chosen: Sequence[int]) -> float:
    return objective.value(objective.parts(chosen))


def entry(number: int, generator: np.random.Generator, patterns: int = 2) -> PromptEntry:
    pick = generator.integers
    return PromptEntry(
        index=f"{number:04d}",
        prompt=f"prompt {number}",
        subject="a thing",
        subject_noun=f"noun{pick(4)}",
        place=f"place{pick(4)}",
        action="doing",
        pattern=PATTERNS[number % patterns],
        action_lemma=f"verb{pick(5)}",
        subject_class=f"class{pick(3)}",
        tags=Tags(
            skeleton=("none", "person", "animal")[pick(3)],
            amplitude=("small", "medium", "large")[pick(3)],
            speed=("slow", "moderate", "fast")[pick(3)],
            subjects=("one", "one", "one", "several")[pick(4)],
        ),
    )


def some(number: int, seed: int = 0, patterns: int = 2) -> list[PromptEntry]:
    generator = np.random.default_rng(seed)
    return [entry(place, generator, patterns) for place in range(number)]


def units(number: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(number, 3)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(12))
def test_greedy_reaches_its_bound(seed: int) -> None:
    entries, size = some(10, seed), 4
    objective = objective_for(entries, size, vectors=units(10, seed) if seed % 2 else None)
    best = max(value(objective, choice) for choice in combinations(range(10), size))
    chosen = greedy(objective, np.zeros(10, np.int64), [size], np.random.default_rng(seed))
    assert value(objective, chosen) >= (1 - 1 / math.e) * best


@pytest.mark.parametrize("seed", range(6))
def test_balanced_greedy_reaches_its_bound(seed: int) -> None:
    entries, size = some(10, seed), 4
    objective = objective_for(entries, size)
    groups = np.array([PATTERNS.index(e.pattern) for e in entries])
    balanced = [c for c in combinations(range(10), size) if Counter(groups[list(c)].tolist()) == {0: 2, 1: 2}]
    best = max(value(objective, choice) for choice in balanced)
    chosen = greedy(objective, groups, [2, 2], np.random.default_rng(seed))
    assert value(objective, chosen) >= best / 2


@pytest.mark.parametrize("seed", range(6))
def test_lazy_is_plain_greedy(seed: int) -> None:
    """Every choice adds as much as any other prompt would have."""
    entries, size = some(24, seed), 10
    objective = objective_for(entries, size, vectors=units(24, seed) if seed % 2 else None)
    chosen = greedy(objective, np.zeros(24, np.int64), [size], np.random.default_rng(seed))
    for step in range(size):
        before, left = chosen[:step], [place for place in range(24) if place not in chosen[:step]]
        assert value(objective, [*before, chosen[step]]) == pytest.approx(
            max(value(objective, [*before, place]) for place in left)
        )


@pytest.mark.parametrize("seed", range(8))
def test_exchange_leaves_nothing_that_one_swap_would_better(seed: int) -> None:
    entries, size = some(20, seed), 6
    objective = objective_for(entries, size, vectors=units(20, seed) if seed % 2 else None)
    groups = np.array([PATTERNS.index(e.pattern) for e in entries])
    before = greedy(objective, groups, [3, 3], np.random.default_rng(seed))
    after = exchange(objective, groups, before)
    assert Counter(groups[after].tolist()) == {0: 3, 1: 3}
    assert value(objective, after) >= value(objective, before) - 1e-9
    for position, place in enumerate(after):
        rest = after[:position] + after[position + 1 :]
        others = [other for other in range(20) if groups[other] == groups[place] and other not in after]
        assert value(objective, after) >= max(value(objective, [*rest, other]) for other in others) - 1e-6


@given(st.integers(0, 1000), st.data())
@settings(max_examples=40)
def test_objective_is_monotone_and_submodular(seed: int, data: st.DataObject) -> None:
    objective = objective_for(some(8, seed), 3, vectors=units(8, seed))
    order = data.draw(st.permutations(range(8)))
    cut, further = sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6))))
    small, large, new = order[:cut], order[:further], order[7]
    gain = value(objective, [*small, new]) - value(objective, small)
    later = value(objective, [*large, new]) - value(objective, large)
    assert gain >= later - 1e-9
    assert later >= -1e-9


def test_objective_by_hand() -> None:
    first, *_ = some(1)
    twin, other = replace(first, index="0001"), replace(first, index="0002", place="elsewhere", action_lemma="else")
    objective = objective_for([first, twin, other], 2)
    assert objective.parts([0, 1])["action"] == 0.5  # the second verb is the first's
    assert objective.parts([0, 2])["action"] == 1
    assert objective.parts([0, 2])["subject"] == 1  # there is but one
    assert objective.parts([0, 1])["speed"] == 1  # all have one speed: any two keep the proportion
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    assert objective_for([first, twin, other], 2, vectors=vectors).parts([0, 1])["likeness"] == pytest.approx(2 / 3)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8).filter(any), st.integers(1, 60))
def test_apportionment_keeps_to_the_shares(counts: list[int], size: int) -> None:
    found = apportion(counts, size)
    assert sum(found) == size
    assert all(abs(n - size * c / sum(counts)) < 1 for n, c in zip(found, counts, strict=True))


def test_balance_is_exact() -> None:
    found = select(some(90, patterns=3), 30, seed=1, random_subsets=20)
    assert list(found.patterns.values()) == [10, 10, 10]
    assert len(set(found.places)) == 30
    assert list(found.places) == sorted(found.places)


def test_a_remainder_goes_to_the_largest_patterns() -> None:
    entries = some(20, patterns=2)
    more = [replace(e, pattern=PATTERNS[1]) for e in some(3)]
    found = select(entries + more, 5, seed=0, random_subsets=5)
    assert dict(found.patterns) == {PATTERNS[0]: 2, PATTERNS[1]: 3}


def test_the_seed_decides_and_nothing_else() -> None:
    entries = some(60)
    first, again, other = (select(entries, 12, seed=seed, random_subsets=5) for seed in (7, 7, 8))
    assert first == again
    assert first.places != other.places


@pytest.mark.parametrize("size", [1, 2, 20])
def test_edge_sizes(size: int) -> None:
    found = select(some(20), size, seed=0, random_subsets=3)
    assert len(found.places) == size
    if size == 20:
        assert found.objective.chosen == pytest.approx(found.objective.mean)
        assert found.mean_distance is not None
        assert found.mean_distance.chosen == 0


@pytest.mark.parametrize("size", [0, 21])
def test_sizes_that_cannot_be(size: int) -> None:
    with pytest.raises(SetupError, match="from 1 to 20"):
        select(some(20), size, seed=0)


def test_balance_that_cannot_be() -> None:
    entries = [*some(10, patterns=1), replace(some(1)[0], pattern=PATTERNS[1])]
    with pytest.raises(SetupError, match=r"biological motion has 1 of 3.*--no-balance"):
        select(entries, 6, seed=0)
    assert len(select(entries, 6, seed=0, balanced=False, random_subsets=3).places) == 6


def test_a_list_without_patterns_or_tags() -> None:
    entries = [replace(e, pattern="", tags=None, action_lemma="", subject_class="") for e in some(12)]
    with pytest.raises(SetupError, match="12 of 12 prompts have no pattern"):
        select(entries, 4, seed=0)
    found = select(entries, 4, seed=0, balanced=False, random_subsets=3)
    assert set(found.parts) == {"action", "subject", "place"}
    assert found.mean_distance is None


def test_a_mini_subset_keeps_the_proportions_better_than_chance() -> None:
    found = select(some(600, patterns=6), 60, seed=0, random_subsets=300)
    assert found.mean_distance is not None
    assert found.mean_distance.better == 0
    assert found.mean_distance.chosen < found.mean_distance.low
    assert found.objective.better == 0


def test_distances_by_hand() -> None:
    assert total_variation(np.array([2, 0]), np.array([1, 3])) == pytest.approx(0.75)
    entries = [
        replace(e, tags=Tags(speed=speed)) for e, speed in zip(some(4), ("slow", "slow", "fast", "fast"), strict=True)
    ]
    objective = objective_for(entries, 2)
    assert selection.tag_distances(objective, [0, 1])["speed"] == 0.5
    assert selection.tag_distances(objective, [0, 2])["speed"] == 0


def test_nearness_alone_picks_one_of_each_cluster() -> None:
    same = some(1)[0]
    vectors = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    found = select([same] * 12, 3, seed=0, balanced=False, vectors=vectors, random_subsets=3)
    assert {place // 4 for place in found.places} == {0, 1, 2}


def test_long_lists_are_represented_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "REPRESENTED", 5)
    entries = some(40)
    found = select(entries, 6, seed=0, vectors=units(40, 0), random_subsets=3)
    assert found == select(entries, 6, seed=0, vectors=units(40, 0), random_subsets=3)
    monkeypatch.setattr(selection, "LONGEST_LIST", 39)
    with pytest.raises(SetupError, match="up to 39 prompts"):
        select(entries, 6, seed=0, vectors=units(40, 0))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from vmmetrics.cli.main import main

    source, out = tmp_path / "all.json", tmp_path / "some.json"
    entries = some(60)
    write_entries(source, entries)
    said = {}
    for form in ("text", "json"):
        with pytest.raises(SystemExit) as stop:
            main(["prompts", "select", str(source), "--count", "12", "--seed", "3", "--out", str(out), "--draws", "50",
                  "--format", form])  # fmt: skip
        assert stop.value.code == 0
        said[form] = capsys.readouterr().out
    chosen = read_entries(out)
    expected = select(entries, 12, seed=3, random_subsets=50)
    assert chosen == [entries[place] for place in expected.places]
    assert json.loads(said["json"])["objective"]["chosen"] == expected.objective.chosen
    shown = said["text"]
    assert "12 of 60 prompts: fluid dynamics 6, biological motion 6" in shown
    assert f"{expected.objective.chosen:.3f}" in shown


def test_the_command_refuses_a_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from vmmetrics.cli.main import main

    for number, told in ((6, "from 1 to 6"), (0, "The list holds no prompts")):
        write_entries(tmp_path / "all.json", some(number))
        with pytest.raises(SystemExit) as stop:
            main(["prompts", "select", str(tmp_path / "all.json"), "--count", "9", "--out", str(tmp_path / "out.json")])
        assert stop.value.code == 2
        assert told in capsys.readouterr().err
        assert not (tmp_path / "out.json").exists()


def test_the_command_writes_over_no_list(tmp_path: Path) -> None:
    from vmmetrics.cli.main import main

    source = tmp_path / "all.json"
    write_entries(source, some(6))
    with pytest.raises(SystemExit) as stop:
        main(["prompts", "select", str(source), "--count", "2", "--out", str(source)])
    assert stop.value.code == 2
    assert read_entries(source) == some(6)
