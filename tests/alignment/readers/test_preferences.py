from __future__ import annotations

from typing import Any

import pytest

from vmmetrics.alignment.readers.judgements import Judgements, RatingOptions
from vmmetrics.alignment.readers.ratings import read_ratings
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.errors import SetupError


def read(source: Any, **options: Any) -> Judgements:
    return read_ratings(read_table(source, "ratings"), RatingOptions(**options))


def said(found: Judgements, dimension: str = "preference") -> list[tuple[str, str, int]]:
    pairs = found.pairs[dimension]
    sides = zip(pairs.left, pairs.right, pairs.outcome, strict=True)
    return [(found.clips[left], found.clips[right], outcome) for left, right, outcome in sides]


WANTED = [("p", "q", 1), ("p", "r", -1), ("q", "r", 0)]


@pytest.mark.parametrize(
    "words",
    [("left", "right", "tie"), ("A", "B", "="), ("1", "2", "tie"), (1, -1, 0), (1.0, -1.0, 0.0), ("a", "b", "same"),
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


GENAI_BENCH = {
    "prompt": ["x", "y", "z"], "left_model": ["a", "a", "b"], "left_video": ["p", "p", "q"],
    "right_model": ["b", "a", "a"], "right_video": ["q", "r", "r"],
    "vote_type": ["leftvote", "rightvote", "bothbad_vote"],
}  # fmt: skip
VA_JUDGER = {
    "case_id": ["1", "2", "3"], "text_prompt": ["x", "y", "z"], "video_1_relative_path": ["p", "p", "q"],
    "video_2_relative_path": ["q", "r", "r"], "reason": ["left of it", "b", "tie"],
    "human_preference_answer": ["video 1 is better", "video 2 is better", "same"],
}  # fmt: skip
VISIONREWARD = {"internal_id": ["1", "2", "3"], "prompt": ["x", "y", "z"], "video1_path": ["p", "p", "q"],
                "video2_path": ["q", "r", "r"], "standard_answer": ["v1_win", "v2_win", "tie"]}  # fmt: skip


@pytest.mark.parametrize("source", [GENAI_BENCH, VA_JUDGER, VISIONREWARD])
def test_released_preferences(source: Any) -> None:
    found = read(source)
    assert found.dimensions == ("preference",)
    assert said(found) == WANTED
    assert found.prompts == ("x", "x", "y")
    assert found.models == (("a", "b", "a") if source is GENAI_BENCH else (None, None, None))


def test_models_called_a_and_b_are_no_outcomes() -> None:
    table = {name: cells for name, cells in GENAI_BENCH.items() if name != "vote_type"}
    with pytest.raises(SetupError, match="expected a column outcome"):
        read(table)
    assert read({**table, "smoother": ["left", "right", "tie"]}).dimensions == ("smoother",)


def test_of_several_columns_with_the_name_of_an_outcome_the_one_that_holds_some_counts() -> None:
    table = {"left": ["p", "p"], "right": ["q", "r"], "label": ["easy", "hard"], "vote": ["left", "tie"]}
    assert said(read(table)) == [("p", "q", 1), ("p", "r", 0)]
    with pytest.raises(SetupError, match="row 1: expected left, right, tie or the name of one of the clips in label"):
        read({name: cells for name, cells in table.items() if name != "vote"})


def test_numbers_are_said() -> None:
    found = read({"left": ["p", "p", "q"], "right": ["q", "r", "r"], "preference": [1, -1, 0]})
    assert (
        "Preferences: left against right, outcome from preference: 1 the first, 0 a tie, -1 the second" in found.notes
    )


def test_the_winner_by_the_name_of_its_model() -> None:
    found = read({"model_a": ["gen2", "pika"], "model_b": ["pika", "gen2"], "winner": ["pika", "pika"]})
    assert said(found) == [("gen2", "pika", -1), ("pika", "gen2", 1)]
    assert found.of_models


@pytest.mark.parametrize("winner", ["tie", "tie (bothbad)", "both good", "="])
def test_battles_of_models(winner: str) -> None:
    found = read(
        {
            "question_id": [1, 2, 3], "model_a": ["p", "p", "q"], "model_b": ["q", "r", "r"], "turn": [1, 1, 1],
            "winner": ["model_a", "model_b", winner], "judge": ["arena_user_1", "u", "v"], "tstamp": [1.5, 2, 3],
        }
    )  # fmt: skip
    assert said(found) == WANTED
    assert found.of_models and found.models == ("p", "q", "r")
    assert found.pairs["preference"].raters == ("arena_user_1", "u", "v")


def test_grades_are_read_by_their_sign_and_said() -> None:
    found = read({"left": ["p", "p", "q"], "right": ["q", "r", "r"], "preference": [-3, 2, 0]})
    assert said(found) == WANTED
    assert any("ITU-T P.910" in note and "the degree is not used" in note for note in found.notes)
    stated = read({"left": ["p", "p", "q"], "right": ["q", "r", "r"], "preference": [1, 6, 4]}, scale=(1, 7))
    assert said(stated) == WANTED


def test_a_column_of_votes_of_any_name_is_read_where_it_is_asked_for() -> None:
    table = {"left": ["p", "p", "q"], "right": ["q", "r", "r"], "which": [1, 2, ""]}
    with pytest.raises(SetupError, match="its first row: left 'p', right 'q', which '1'; --dimension names a column"):
        read(table)
    assert said(read(table, dimensions=["which"]), "which") == WANTED[:2]


PAIRS = {"left": ["p", "p", "q"], "right": ["q", "r", "r"]}


@pytest.mark.parametrize("name", ["ccr", "CMOS", "preference_strength", "grade"])
@pytest.mark.parametrize("grades", [[-1, 1, 0], [-1, 2, 0], [-3, 1, 0]])
def test_a_column_of_grades_is_one_whatever_grades_occur(name: str, grades: list[int]) -> None:
    found = read({**PAIRS, name: grades})
    assert said(found) == WANTED
    assert any("ITU-T P.910" in note for note in found.notes)


def test_columns_of_one_table_are_read_alike() -> None:
    table = {**PAIRS, "smooth": [-1, 1, 0], "natural": [-3, 2, 0]}
    found = read(table, dimensions=["smooth", "natural"])
    assert said(found, "smooth") == said(found, "natural") == WANTED


@pytest.mark.parametrize("name", ["rating", "score", "smooth"])
def test_one_and_minus_one_need_a_name_or_a_scale(name: str) -> None:
    table = {**PAIRS, name: [1, -1, 0]}
    with pytest.raises(SetupError, match="does not say which clip 1 is for: use --scale 1 -1"):
        read(table, dimensions=[name])
    for scale, sign in (((1, -1), 1), ((-1, 1), -1)):
        found = read(table, dimensions=[name], scale=scale)
        assert [outcome for *_, outcome in said(found, found.dimensions[0])] == [sign, -sign, 0]


def test_what_each_column_was_read_as() -> None:
    assert dict(read(GENAI_BENCH).columns) == {
        "prompt": "prompt", "left_model": "left model", "left_video": "left clip", "right_model": "right model",
        "right_video": "right clip", "vote_type": "outcome",
    }  # fmt: skip
    assert read(VA_JUDGER).columns["reason"] == "not read"
    several = read({"path_A": ["p"], "path_B": ["q"], "MQ": ["A"], "TA": ["B"], "rater": ["x"]})
    assert several.columns["MQ"] == "outcome of MQ"
    assert several.columns["rater"] == "rater"


def test_winners_and_losers() -> None:
    found = read({"winner": ["p", "r", "q"], "loser": ["q", "p", "r"], "tie": [0, 0, 1]})
    assert said(found) == [("p", "q", 1), ("r", "p", 1), ("q", "r", 0)]
    found = read({"chosen": ["p", "q"], "rejected": ["q", "r"], "is_tie": ["0.0", "1.0"]})  # as pandas writes it
    assert said(found) == [("p", "q", 1), ("q", "r", 0)]
    assert said(read({"chosen_video": ["p", "r"], "rejected_video": ["q", "p"]})) == [("p", "q", 1), ("r", "p", 1)]


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
        ({"left": ["p", "p"], "right": ["q", "r"], "outcome": [1, 0]}, "0 may be a tie, the left or the right one"),
        ({"left": ["p", "p"], "right": ["q", "r"], "outcome": [3, 4]}, "expected 1 and 2"),
        ({"left": ["p", "p"], "right": ["q", "r"], "note": [1, 2]}, "expected a column outcome"),
        ({"winner": ["p"], "loser": ["q"], "tie": ["perhaps"]}, "expected true or false in tie"),
    ],
)
def test_what_cannot_be_read(source: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        read(source)
    with pytest.raises(SetupError, match=message):
        read(source, form="pairs")


def test_clips_of_one_name_are_told_by_their_models() -> None:
    found = read(
        {
            "video_1": ["1.mp4", "1.mp4", "2.mp4"], "video_2": ["1.mp4", "1.mp4", "2.mp4"],
            "model_1": ["wan", "wan", "mochi"], "model_2": ["mochi", "wan", "wan"], "choice": ["video_1", "tie", "wan"],
        }
    )  # fmt: skip
    assert said(found) == [("wan/1.mp4", "mochi/1.mp4", 1), ("mochi/2.mp4", "wan/2.mp4", -1)]
    assert found.models == ("wan", "mochi", "mochi", "wan")
    assert any("1 rows compare a clip with itself" in note for note in found.notes)
    assert any("clips are read as model_1/video_1" in note for note in found.notes)
