from __future__ import annotations

from typing import Any

import pytest

from vmmetrics.alignment.readers.judgements import Judgements
from vmmetrics.alignment.readers.ratings import read_ratings
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.errors import SetupError


def read(source: Any, **options: Any) -> Judgements:
    return read_ratings(read_table(source, "ratings"), **options)


def said(found: Judgements, dimension: str = "preference") -> list[tuple[str, str, int]]:
    pairs = found.pairs[dimension]
    sides = zip(pairs.left, pairs.right, pairs.outcome, strict=True)
    return [(found.clips[left], found.clips[right], outcome) for left, right, outcome in sides]


WANTED = [("p", "q", 1), ("p", "r", -1), ("q", "r", 0)]


@pytest.mark.parametrize(
    "words",
    [("left", "right", "tie"), ("A", "B", "="), ("1", "2", "0"), (1, -1, 0), (1.0, 2.0, 0.0), ("a", "b", "same"),
     ("Left", "RIGHT", "Equal"), ("p", "r", "tie"), (1, 0, 0.5), ("video1", "video2", "draw")],
)  # fmt: skip
def test_every_way_to_write_an_outcome(words: tuple[Any, Any, Any]) -> None:
    found = read({"left": ["p", "p", "q"], "right": ["q", "r", "r"], "preference": list(words)})
    assert said(found) == WANTED


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("clip_a", "clip_b"),
        ("video1_path", "video2_path"),
        ("a", "b"),
        ("path_A", "path_B"),
        ("left clip", "right clip"),
    ],
)
def test_every_way_to_name_the_sides(left: str, right: str) -> None:
    found = read({left: ["p", "p", "q"], right: ["q", "r", "r"], "standard_answer": ["left", "right", "tie"]})
    assert said(found) == WANTED


def test_winners_and_losers() -> None:
    found = read({"winner": ["p", "r", "q"], "loser": ["q", "p", "r"], "tie": [0, 0, 1]})
    assert said(found) == [("p", "q", 1), ("r", "p", 1), ("q", "r", 0)]


def test_raters_prompts_models_and_dimensions() -> None:
    found = read(
        {
            "left": ["p", "p"], "right": ["q", "q"], "outcome": ["left", "tie"], "dimension": ["smooth", "whole"],
            "rater": ["x", "y"], "prompt": ["t", "t"], "model_a": ["m", "m"], "model_b": ["n", "n"],
        }
    )  # fmt: skip
    assert found.dimensions == ("smooth", "whole")
    assert found.pairs["smooth"].raters == ("x",)
    assert found.prompts == ("t", "t")
    assert found.models == ("m", "n")


def test_a_column_of_outcomes_per_dimension() -> None:
    found = read({"path_A": ["p", "p"], "path_B": ["q", "r"], "MQ": ["A", "same"], "TA": ["B", "B"], "fps": [8, 8]})
    assert said(found, "MQ") == [("p", "q", 1), ("p", "r", 0)]
    assert said(found, "TA") == [("p", "q", -1), ("p", "r", -1)]


def test_what_is_left_out_is_said() -> None:
    found = read({"left": ["p", "p", "p"], "right": ["p", "q", "r"], "outcome": ["left", "", "right"]})
    assert said(found) == [("p", "r", -1)]
    assert any("1 rows compare a clip with itself" in note for note in found.notes)
    assert any("1 preferences are blank" in note for note in found.notes)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"left": ["p", "p"], "right": ["q", "r"], "outcome": ["left", "wow"]}, "row 2: expected left, right, tie"),
        ({"left": ["p", "p"], "right": ["q", "r"], "outcome": [1, 0]}, "0 may be a tie or the right one"),
        ({"left": ["p", "p"], "right": ["q", "r"], "outcome": [3, 4]}, "expected 1, 2 and 0"),
        ({"left": ["p", "p"], "right": ["q", "r"], "note": [1, 2]}, "expected a column outcome"),
        ({"winner": ["p"], "loser": ["q"], "tie": ["perhaps"]}, "expected true or false in tie"),
    ],
)
def test_what_cannot_be_read(source: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        read(source)
    with pytest.raises(SetupError, match=message):
        read(source, form="pairs")
