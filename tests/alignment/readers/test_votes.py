from __future__ import annotations

import pytest

from vmmetrics.alignment.readers.votes import outcome_of, reading_of

LEFT, RIGHT, TIE = 1, -1, 0


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (LEFT, ("leftvote", "A is better", "video 1 is better", "v1_win", "model_a", "A>B", "[[A>>B]]", "Left",
                "first video", "Video 1 is much better", "B is worse", "model_b loses", "a slightly better", "2 < 1")),
        (RIGHT, ("rightvote", "B is better", "video 2 is better", "v2_win", "model_b", "B>A", "A<B", "right wins",
                 "2nd", "second video", "video2", "left is much worse")),
        (TIE, ("tievote", "bothbad_vote", "tie (bothbad)", "both good", "both bad", "same good", "same bad",
               "A=B=Good", "=", "no preference", "about equal", "neither", "both are good", "A and B are equal",
               "no difference", "tie")),
        (None, ("a dog", "", "good", "better", "left and right", "yes", "video 3 is better", "both of my hands",
                "1 > 1", "the same dog", "best of all", "lefty")),
    ],
)  # fmt: skip
def test_words_and_signs(outcome: int | None, words: tuple[str, ...]) -> None:
    assert {word: outcome_of(word) for word in words} == dict.fromkeys(words, outcome)


def outcomes(cells: list[str], scale: tuple[float, float] | None = None) -> list[int | None]:
    reading = reading_of(cells, scale)
    assert not isinstance(reading, str), reading
    return [reading.outcome(cell) for cell in cells]


def test_grades_of_the_second_against_the_first() -> None:
    """ITU-T P.910, comparison category rating: 3 is "much better", said of the second clip."""
    words = ["much worse", "worse", "slightly worse", "the same", "slightly better", "better", "Much Better"]
    expected = [LEFT] * 3 + [TIE] + [RIGHT] * 3
    assert outcomes(words) == expected
    assert outcomes(["-3", "-2", "-1", "0", "1", "2", "+3"]) == expected
    assert outcomes(["-1.5", "2"]) == [LEFT, RIGHT]


def test_what_is_dropped_or_assumed_is_said() -> None:
    for cells in (["-3", "2"], ["much better", "the same"], ["A is much better", "tie"], ["A>>B", "A=B"]):
        reading = reading_of(cells)
        assert not isinstance(reading, str)
        assert "the degree is not used" in reading.how
    plain = reading_of(["left", "tie"])
    assert not isinstance(plain, str)
    assert plain.how == ""


@pytest.mark.parametrize(
    ("scale", "cells", "expected"),
    [
        ((1, 7), ["1", "3", "4", "7"], [LEFT, LEFT, TIE, RIGHT]),
        ((7, 1), ["1", "3", "4", "7"], [RIGHT, RIGHT, TIE, LEFT]),
        ((3, -3), ["-3", "0", "2"], [RIGHT, TIE, LEFT]),
        ((0, 100), ["0", "50.0", "51"], [LEFT, TIE, RIGHT]),
    ],
)
def test_a_scale_says_whose_the_grades_are(scale: tuple[float, float], cells: list[str], expected: list[int]) -> None:
    assert outcomes(cells, scale) == expected


@pytest.mark.parametrize(
    ("cells", "scale", "reason"),
    [
        (["1", "5", "7"], None, "--scale 1 7"),
        (["1", "0"], None, "0 may be a tie, the left or the right one"),
        (["2", "1", "0"], None, "it holds only 0, 1 and 2, where 0 may be a tie, the left"),
        (["0", "2"], None, "it holds only 0 and 2, where 0 may be a tie, the left"),
        (["1", "8"], (1, 7), "grades from 1 to 7"),
        (["4", "-2"], None, "--scale FIRST SECOND"),
    ],
)
def test_numbers_that_can_mean_several_things(cells: list[str], scale: tuple[float, float] | None, reason: str) -> None:
    reading = reading_of(cells, scale)
    assert isinstance(reading, str) and reason in reading
