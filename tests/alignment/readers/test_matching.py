"""Which clip is which where names alone do not say it."""

from __future__ import annotations

from typing import Any

import pytest

from vmmetrics.alignment.readers.read import read_study
from vmmetrics.errors import SetupError

PROMPTS = ("A dog runs.", "a cat", "A dog runs.", "a cat")
SCORES = {
    "clip": ["0.mp4", "1.mp4", "2.mp4", "3.mp4"], "model": ["Gen-2", "Gen-2", "pika", "pika"],
    "prompt": ["a dog  runs", "a cat", "a dog runs", "a cat"], "mss": [1, 2, 3, 4],
}  # fmt: skip
RATINGS: dict[str, Any] = {
    "model": ["pika", "gen2", "pika", "gen2"],
    "prompt": [PROMPTS[n] for n in (1, 0, 0, 1)],
    "q": [4, 1, 3, 2],
}


def test_a_table_of_models_and_prompts_is_joined_by_them() -> None:
    for ratings in (RATINGS, {"id": [1, 2, 3, 4], **RATINGS}):
        study = read_study(SCORES, ratings)
        assert study.clips == tuple(SCORES["clip"])
        assert study.ratings["q"].tolist() == [[1], [2], [3], [4]]
        assert study.raters["q"] == ()  # prompts are no raters
        assert "Clips matched by model and prompt (4)" in study.matching.notes


def test_scores_without_a_clip_are_joined_by_model_and_prompt_too() -> None:
    scores = {name: cells for name, cells in SCORES.items() if name != "clip"}
    clips = {"video": ["w.mp4", "x.mp4", "y.mp4", "z.mp4"], **RATINGS}
    for ratings in (RATINGS, clips):
        assert read_study(scores, ratings).ratings["q"].tolist() == [[1], [2], [3], [4]]


def test_folders_of_models_with_clips_named_by_their_prompts() -> None:
    scores = {"clip": ["gen2/a cat.mp4", "gen2/a dog.mp4", "pika/a cat.mp4", "pika/a dog.mp4"], "mss": [1, 2, 3, 4]}
    ratings = {"model": ["pika", "pika", "gen2", "gen2"], "prompt": ["a dog", "a cat"] * 2, "q": [4, 3, 2, 1]}
    assert read_study(scores, ratings).ratings["q"].tolist() == [[1], [2], [3], [4]]


def test_prompts_by_their_number_in_the_names() -> None:
    scores = {"clip": ["gen2/000.mp4", "gen2/001.mp4", "pika/000.mp4", "pika/001.mp4"], "mss": [1, 2, 3, 4]}
    for more in ({}, {"model": ["gen2", "gen2", "pika", "pika"], "prompt": ["a", "b", "a", "b"]}):
        ratings = {"model": ["pika", "pika", "gen2", "gen2"], "prompt_id": [0, 1, 0, 1], "q": [3, 4, 1, 2]}
        assert read_study({**scores, **more}, ratings).ratings["q"].tolist() == [[1], [2], [3], [4]]


def test_several_raters_of_a_prompt_of_a_model() -> None:
    ratings = {name: cells * 2 for name, cells in RATINGS.items()} | {"rater": ["x"] * 4 + ["y"] * 4}
    assert read_study(SCORES, ratings).raters["q"] == ("x", "y")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"clip": ["0.mp4", "1.mp4"], "mss": [1, 2]}, "models and prompts of the scored clips are not known"),
        ({**SCORES, "prompt": ["p", "q", "p", "q"]}, "2 models and 0 prompts are in both"),
        ({**SCORES, "prompt": ["a cat"] * 4}, r"'a cat' of pika is 2.mp4, 3.mp4 \(scores\)|'a cat' of Gen-2 is 0.mp4"),
        ({"clip": ["other/a cat.mp4"], "mss": [1]}, "not known"),
    ],
)
def test_what_is_missing_is_said(scores: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        read_study(scores, RATINGS)


def test_a_table_with_a_row_per_model_is_about_models() -> None:
    study = read_study(SCORES, {"model": ["gen2", "pika"], "prompt": ["all", "all"], "q": [1, 2]})
    assert study.clips == ("Gen-2", "pika")
    assert study.scores["mss"].tolist() == [1.5, 3.5]


BATTLES = {
    "model_a": ["gen2", "pika", "gen2"],
    "model_b": ["pika", "gen2", "pika"],
    "winner": ["model_a", "model_a", "tie"],
}


def test_battles_of_models_against_their_mean_scores() -> None:
    for scores in (SCORES, {"model": ["gen2", "pika"], "mss": [1.5, 3.5]}):
        study = read_study(scores, BATTLES)
        assert [model.casefold().replace("-", "") for model in study.clips] == ["gen2", "pika"]
        assert study.scores["mss"].tolist() == [1.5, 3.5]
        pairs = study.preferences["preference"]
        assert (pairs.left.tolist(), pairs.outcome.tolist()) == ([0, 1, 0], [1, 1, 0])


def test_battles_on_prompts_are_between_clips_where_the_scores_know_them() -> None:
    prompts = ["a cat", "a dog runs", "another"]
    study = read_study(SCORES, {**BATTLES, "prompt": prompts})
    pairs = study.preferences["preference"]
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == [(1, 3), (2, 0)]
    without = {name: cells for name, cells in SCORES.items() if name != "prompt"}
    alone = read_study(without, {**BATTLES, "prompt": prompts})
    assert alone.preferences["preference"].outcome.tolist() == [1, 1, 0]
    assert any("read as preferences between models" in note for note in alone.matching.notes)


def test_preferences_between_clips_of_known_models_against_scores_of_models() -> None:
    pairs = {"left_video": ["0.mp4", "1.mp4"], "right_video": ["2.mp4", "3.mp4"], "left_model": ["gen2"] * 2,
             "right_model": ["pika"] * 2, "vote_type": ["leftvote", "bothbad_vote"]}  # fmt: skip
    study = read_study({"model": ["gen2", "pika"], "mss": [1, 2]}, pairs)
    assert study.preferences["preference"].outcome.tolist() == [1, 0]
    with pytest.raises(SetupError, match="between clips of unknown models"):
        read_study({"model": ["gen2", "pika"], "mss": [1, 2]}, {k: v for k, v in pairs.items() if "model" not in k})
