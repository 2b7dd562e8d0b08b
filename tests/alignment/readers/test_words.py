from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.judgements import Judgements
from vmmetrics.alignment.readers.ratings import read_ratings
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.errors import SetupError


def read(**columns: list[Any]) -> Judgements:
    clips = [f"{number}.mp4" for number in range(len(next(iter(columns.values()))))]
    return read_ratings(read_table({"clip": clips, "rater": ["ann"] * len(clips), **columns}, "ratings"))


def ratings(found: Judgements, dimension: str = "q") -> list[float]:
    return found.ratings[dimension][:, 0].tolist()


@pytest.mark.parametrize(
    "words",
    [
        ["Bad", "Poor", "Fair", "Good", "Excellent"],
        ["Very annoying", "Annoying", "Slightly annoying", "Perceptible, but not annoying", "Imperceptible"],
        ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "STRONGLY AGREE"],
        ["strongly disagree", "somewhat disagree", "neutral", "somewhat agree", "strongly agree"],
        ["very poor", "poor", "average", "good", "very good"],
        ["very bad", "bad", "OK", "good", "very good"],
        ["1 - Awful", "2 - Meh", "3 - So so", "4 - Fine", "5 - Superb"],
        ["Bad (1)", "Poor (2)", "Fair (3)", "Good (4)", "Excellent (5)"],
        ["1 (Bad)", "2 (Poor)", "3 (Fair)", "4 (Good)", "5 (Excellent)"],
        ["1: bad", "2", "3. fair", "4", "5 = excellent"],
        ["Poor", "Fair", "Good", "Very good", "Excellent"],
        ["very poor", "poor", "fair", "good", "excellent"],
        ["very bad", "bad", "neutral", "good", "excellent"],
        ["5 - Bad", "4 - Poor", "3 - Fair", "2 - Good", "1 - Excellent"],
    ],
)
def test_five_levels_are_five_numbers_and_said(words: list[str]) -> None:
    found = read(q=words)
    assert ratings(found) == [1, 2, 3, 4, 5]
    (note,) = (note for note in found.notes if note.startswith("ratings: q: "))
    assert all(str(number) in note for number in (1, 5))


def test_seven_levels_where_a_column_of_the_table_has_seven() -> None:
    found = read(
        q=["strongly disagree", "disagree", "slightly disagree", "neutral"], z=["agree", "disagree", "agree", "agree"]
    )
    assert ratings(found) == [1, 2, 3, 4]
    assert ratings(found, "z") == [6, 2, 6, 6]


def test_blanks_are_ratings_that_nobody_gave() -> None:
    np.testing.assert_array_equal(ratings(read(q=["good", "", "n/a", None, "poor"])), [4, np.nan, np.nan, np.nan, 2])


@pytest.mark.parametrize(
    "cells",
    [
        ["nice", "good", "blurry at the end", "fine"],
        ["cat 1", "cat 2", "dog 3"],
        ["1 dog", "1 cat", "2 dogs"],
        ["10:30", "11:45", "9:00"],
    ],
)
def test_comments_are_no_ratings(cells: list[str]) -> None:
    found = read(q=cells, smoothness=[1] * len(cells))
    assert found.dimensions == ("smoothness",)
    assert "ratings: ignored, not numeric: q" in found.notes
    assert found.columns["q"] == "not numeric, not read"


def test_a_word_beside_a_scale_is_named_with_its_row_and_what_helps() -> None:
    with pytest.raises(
        SetupError, match=r"row 3: q mixes 'meh' with the scale bad, poor, fair, good, excellent: .*--map q=ignore"
    ):
        read(q=["good", "bad", "meh", "fair"])


def test_words_on_no_known_scale_are_shown() -> None:
    with pytest.raises(SetupError, match=r"write words of unknown scales as numbers: q holds 'wow', 'lame'"):
        read(q=["wow", "lame"])


def test_words_in_a_column_of_ratings() -> None:
    found = read_ratings(
        read_table({"clip": ["a", "b"], "dimension": ["q", "q"], "rating": ["Good", "Bad"]}, "ratings")
    )
    assert ratings(found) == [4, 1]


def test_six_levels() -> None:
    found = read(q=["excellent", "very good", "good", "fair", "poor", "very poor"])
    assert ratings(found) == [6, 5, 4, 3, 2, 1]


def test_each_word_that_occurs_is_named() -> None:
    found = read(q=["average", "fair", "neutral", "very poor", "very good"])
    assert ratings(found) == [3, 3, 3, 1, 5]
    assert any("very poor 1, poor 2, fair/average/neutral 3, good 4, very good 5" in note for note in found.notes)


LABELS = {
    "smooth": ["1 (Excellent)", "2 (Good)", "1 (Excellent)"],
    "natural": ["1 (Excellent)", "3 (Fair)", "5 (Bad)"],
}


def test_labels_that_fall_are_turned_alike_in_all_columns() -> None:
    found = read(**LABELS)
    assert ratings(found, "smooth") == [5, 4, 5]
    assert ratings(found, "natural") == [5, 3, 1]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1 (Excellent)"], [5]),
        (["1 (Excellent)", "2 (Good)"], [5, 4]),
        (["0 - Excellent", "1 - Good"], [4, 3]),
        (["5 (Excellent)"], [5]),
        (["4 (Excellent)", "0 (Bad)"], [4, 0]),
        (["3 (Fair)"], [3]),
        (["10 (Bad)", "1 (Excellent)"], [1, 10]),
    ],
)
def test_labels_are_turned_by_the_ends_of_their_scale(cells: list[str], expected: list[int]) -> None:
    assert ratings(read(q=cells)) == expected


def test_columns_whose_labels_contradict_each_other_are_read_alone() -> None:
    found = read(q=["1 (Excellent)", "2 (Good)"], z=["5 (Excellent)", "4 (Good)"])
    assert ratings(found) == ratings(found, "z") == [5, 4]


def test_the_direction_of_high_and_low_is_said() -> None:
    found = read(realism=["high", "low"])
    assert ratings(found, "realism") == [4, 2]
    assert any("high 4" in note and "higher counts as better" in note for note in found.notes)
