"""Figures of variety against counting by hand and against slow second implementations."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.statistics import diversity
from vmmetrics.prompts.statistics.diversity import (
    bleu_grams,
    count_grams,
    distinct_n,
    neighbours,
    number_words,
    openings,
    self_bleu,
    share_alone,
    words_of,
)
from vmmetrics.prompts.statistics.measures import measure, take_apart
from vmmetrics.utils.text.similarity import number_labels

texts = st.lists(st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join), min_size=1, max_size=7)


def slow_grams(text: str, size: int) -> Counter[tuple[str, ...]]:
    words = words_of(text)
    return Counter(tuple(words[at : at + size]) for at in range(len(words) - size + 1))


def slow_bleu(text: str, others: list[str]) -> float:
    """By the definition: clipped precision, 0.1 for none, brevity against the nearest length, the shorter of two."""
    logs = 0.0
    for size in (1, 2, 3, 4):
        own = slow_grams(text, size)
        most = {gram: max(slow_grams(other, size)[gram] for other in others) for gram in own}
        matched = sum(min(number, most[gram]) for gram, number in own.items())
        if size == 1 and matched == 0:
            return 0.0
        logs += math.log((matched or 0.1) / max(sum(own.values()), 1)) / 4
    length = len(words_of(text))
    nearest = min((abs(len(words_of(o)) - length), len(words_of(o))) for o in others)[1]
    return math.exp(logs + min(0.0, 1 - nearest / length))


def bleu_of(prompts: list[str], kept: np.ndarray | None = None) -> float:
    words = number_words(prompts)
    return self_bleu(words, bleu_grams(words), kept)


def test_self_bleu_by_hand() -> None:
    # both share four of five words, three of four pairs, two of three triples, one of two quadruples: product 1/5
    assert bleu_of(["a b c d e", "a b c d f"]) == pytest.approx(0.2**0.25)


def test_self_bleu_of_the_same_text_twice_and_of_strangers() -> None:
    assert bleu_of(["one two three four five"] * 2) == pytest.approx(1)
    assert bleu_of(["one two three four", "five six seven eight"]) == 0


def test_self_bleu_needs_two() -> None:
    assert math.isnan(bleu_of(["alone"]))


@given(texts)
@settings(max_examples=150)
def test_self_bleu_is_the_slow_one(prompts: list[str]) -> None:
    if len(prompts) > 1:
        expected = [slow_bleu(p, prompts[:i] + prompts[i + 1 :]) for i, p in enumerate(prompts)]
        assert bleu_of(prompts) == pytest.approx(np.mean(expected))


def test_self_bleu_is_nltks() -> None:
    bleu = pytest.importorskip("nltk.translate.bleu_score")
    prompts = ["the cat sat on the mat today", "the dog sat on the mat", "a red cat sat", "on the mat the cat sat up"]
    split = [words_of(p) for p in prompts]
    smooth = bleu.SmoothingFunction().method1
    scores = [
        bleu.sentence_bleu(split[:i] + split[i + 1 :], own, smoothing_function=smooth) for i, own in enumerate(split)
    ]
    assert bleu_of(prompts) == pytest.approx(np.mean(scores))


@given(texts, st.data())
@settings(max_examples=100)
def test_a_part_measures_as_if_alone(prompts: list[str], data: st.DataObject) -> None:
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(prompts), max_size=len(prompts))))
    part = [prompt for prompt, chosen in zip(prompts, kept, strict=True) if chosen]
    words, alone = number_words(prompts), number_words(part)
    for size in (1, 2, 3):
        mine, own = distinct_n(count_grams(words, size), kept), distinct_n(count_grams(alone, size))
        assert mine == own or (math.isnan(mine) and math.isnan(own))
    mine, own = bleu_of(prompts, kept), bleu_of(part)
    assert mine == pytest.approx(own, nan_ok=True)


@given(texts, st.integers(1, 4))
@settings(max_examples=100)
def test_counts_are_those_of_counters(prompts: list[str], size: int) -> None:
    grams = count_grams(number_words(prompts), size)
    expected = [slow_grams(prompt, size) for prompt in prompts]
    assert sorted(zip(grams.owner.tolist(), grams.count.tolist(), strict=True)) == sorted(
        (owner, number) for owner, counts in enumerate(expected) for number in counts.values()
    )
    total = sum(sum(counts.values()) for counts in expected)
    if total:
        assert distinct_n(grams) == len(set().union(*expected)) / total


def test_distinct_n_by_hand() -> None:
    words = number_words(["a a b", "a b"])
    assert distinct_n(count_grams(words, 1)) == 2 / 5
    assert distinct_n(count_grams(words, 2)) == 2 / 3  # aa, ab, ab
    assert math.isnan(distinct_n(count_grams(words, 4)))


def test_openings_are_shared_whatever_the_case_and_signs() -> None:
    labels = number_labels(openings(["The red, red fox runs", "the Red red dog", "A red fox", "The red"]))
    assert 1 - share_alone(labels) == 0.5
    assert share_alone(labels[[0, 2, 3]]) == 1
    assert math.isnan(share_alone(labels[:0]))


def test_neighbours_by_hand() -> None:
    angles = np.radians([0, 10, 90])
    nearest, pairs = neighbours(np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32))
    assert nearest == pytest.approx([np.cos(angles[1]), np.cos(angles[1]), np.cos(np.radians(80))], abs=1e-6)
    assert pairs == 1


def test_neighbours_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(0).normal(size=(23, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = neighbours(vectors)
    monkeypatch.setattr(diversity, "_BLOCK", 4)
    parted = neighbours(vectors)
    cosines = vectors @ vectors.T
    assert whole[1] == parted[1] == np.count_nonzero(np.triu(cosines, 1) > diversity.NEAR_DUPLICATE) > 0
    np.fill_diagonal(cosines, -1)
    assert parted[0] == pytest.approx(cosines.max(axis=1))
    assert whole[0] == pytest.approx(cosines.max(axis=1))


@pytest.mark.parametrize("number", [0, 1])
def test_no_neighbours(number: int) -> None:
    nearest, pairs = neighbours(np.ones((number, 2), np.float32))
    assert (nearest.size, pairs) == (0, 0)
    entries = [PromptEntry("0001", "A kite.", "", "", "", "")] * number
    assert math.isnan(measure(take_apart(entries, vectors=np.ones((number, 2), np.float32)))["distance"])


def test_n_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        count_grams(number_words(["a"]), 0)
