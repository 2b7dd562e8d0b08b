from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.filter.filtering import EMBEDDING, MEANING, N_GRAMS, FilterSettings, likeness_measures
from vmmetrics.utils.text.embedding import PACKAGE, embed, embedding_installed
from vmmetrics.utils.text.similarity import take_distinct

GROUPS = [
    [
        "A grey heron spears a small fish at the edge of a muddy creek and lifts it clear of the water.",
        "At the edge of a muddy creek a grey heron spears a small fish and lifts it out of the water.",
        "A grey heron at the edge of the muddy creek spears a small fish, lifting it clear of the water.",
    ],
    [
        "Three brass cogs turn on a workshop bench until the pin of the smallest slips out and rolls away.",
        "Three brass cogs turn on a workshop bench until the pin of the largest slips out and rolls away.",
    ],
    ["Hail drums on the tin roof of a shed, bounces into the gutter and piles up there in a white bank."],
    ["A forklift backs out of a truck with a pallet of bricks and sets it down on the wet yard."],
]
TEXTS = [text for group in GROUPS for text in group]
FIRST = [0, 3, 5, 6]


def entries(texts: Sequence[str]) -> list[PromptEntry]:
    return [PromptEntry("0001", text, "", "", "", "") for text in texts]


def taken(found: list[list[object]]) -> list[int]:
    return [place for place, matches in enumerate(found) if not matches]


def test_same_sentence_with_a_word_changed() -> None:
    found = take_distinct(range(len(TEXTS)), likeness_measures(entries(TEXTS), None, FilterSettings()))
    assert [match.measure for match in found[4]] == [N_GRAMS]
    assert found[4][0].index == 3
    # by hand: 19 words have 15 5-grams, and the changed word is in 5 of them
    assert found[4][0].likeness == pytest.approx(10 / 15)
    assert {3, 5, 6} <= set(taken(found))


@pytest.mark.skipif(not embedding_installed(), reason=f"{PACKAGE} is not installed")
def test_same_scene_in_other_words() -> None:
    found = take_distinct(
        range(len(TEXTS)), likeness_measures(entries(TEXTS), embed, FilterSettings(without=frozenset({N_GRAMS})))
    )
    assert taken(found) == FIRST
    assert all(match.measure == EMBEDDING and match.likeness >= 0.9 for matches in found for match in matches)


def test_figures_of_both_are_told() -> None:
    vectors = np.eye(len(TEXTS), dtype=np.float32)
    vectors[4] = vectors[3]
    found = take_distinct(range(len(TEXTS)), likeness_measures(entries(TEXTS), lambda _: vectors, FilterSettings()))
    assert {match.measure: match.index for match in found[4]} == {EMBEDDING: 3, N_GRAMS: 3}


def test_case_and_punctuation_do_not_count() -> None:
    texts = ["Two dogs, both wet, run up the beach.", "TWO DOGS both wet run up the beach!"]
    found = take_distinct([0, 1], likeness_measures(entries(texts), None, FilterSettings()))
    assert found[1][0].likeness == 1


def test_short_texts_repeat_only_themselves() -> None:
    found = take_distinct(
        [0, 1, 2], likeness_measures(entries(["A dog runs", "A dog runs fast", "a dog runs"]), None, FilterSettings())
    )
    assert taken(found) == [0, 1]


def test_one_event_in_other_words_is_one_shot() -> None:
    """The likeness is the mean of the cosines of prompts, 0.6, and of subject with action, 0.9."""
    prompts = ["one", "other"]
    written = [PromptEntry("0001", text, "", noun, "", "falling") for text, noun in zip(prompts, "ab", strict=True)]
    vectors = {"one": 0.0, "other": np.arccos(0.6), "third": 0.0, "a falling": 0.0, "b falling": np.arccos(0.9)}

    def embedding(texts: Sequence[str]) -> np.ndarray:
        angles = [vectors.get(text, 0.0) for text in texts]
        return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)

    measures = likeness_measures([*written, entries(["third"])[0]], embedding, FilterSettings())
    found = take_distinct([0, 1, 2], measures)
    assert [(match.measure, match.index) for match in found[1]] == [(MEANING, 0)]
    assert found[1][0].likeness == pytest.approx(0.75)
    assert [match.measure for match in found[2]] == [EMBEDDING]  # equal words; of its event nothing is known
