from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vmmetrics.alignment.readers.read import read_study
from vmmetrics.errors import SetupError

SCORES = {"clip": ["m/1.mp4", "m/2.mp4", "n/1.mp4", "n/2.mp4", "n/3.mp4"], "mss": [1, 2, 3, 4, 5]}
RATINGS = {"clip": ["n/2", "m/1", "m/2", "n/1", "z/1"], "smoothness": [40, 10, 20, 30, 99]}


def test_clips_are_joined_in_the_order_of_the_scores_and_the_rest_is_named() -> None:
    study = read_study(SCORES, RATINGS)
    assert study.clips == ("m/1.mp4", "m/2.mp4", "n/1.mp4", "n/2.mp4")
    assert study.scores["mss"].tolist() == [1, 2, 3, 4]
    assert study.ratings["smoothness"].tolist() == [[10], [20], [30], [40]]
    assert study.matching.matched == 4
    assert study.matching.scores_only == ("n/3.mp4",)
    assert study.matching.ratings_only == ("z/1",)
    assert study.matching.notes[0] == "Clips matched by path without suffix (4)"


def test_prompts_and_models_from_folders_are_said() -> None:
    study = read_study(SCORES, RATINGS)
    assert study.prompts == ("1", "2", "1", "2")
    assert study.models == ("m", "m", "n", "n")
    assert any("Prompts and models taken from file names: a folder per model" in n for n in study.matching.notes)


@pytest.mark.parametrize(
    ("clips", "pattern"),
    [
        (["001_m.gif", "002_m.gif", "001_n.gif", "002_n.gif"], "PROMPT_MODEL"),
        (["m-7_001.gif", "m-7_002.gif", "n_001.gif", "n_002.gif"], "MODEL_PROMPT"),
    ],
)
def test_prompts_and_models_from_names(clips: list[str], pattern: str) -> None:
    study = read_study({"clip": clips, "mss": range(4)}, {"clip": clips, "q": range(4)})
    assert study.prompts == ("001", "002", "001", "002")
    assert study.models == (clips[0].strip("01.gif_"), clips[0].strip("01.gif_"), "n", "n")
    assert any(pattern in note for note in study.matching.notes)


def test_names_without_a_design_give_no_groups() -> None:
    clips = ["001_take.gif", "002_scene.gif", "003_shot.gif"]
    study = read_study({"clip": clips, "mss": range(3)}, {"clip": clips, "q": range(3)})
    assert study.models == ("", "", "")
    assert len(set(study.prompts)) == 3
    assert any("each counts as its own prompt" in note for note in study.matching.notes)


def test_columns_go_before_names_and_ratings_before_scores() -> None:
    scores = {**SCORES, "prompt": list("abcde"), "model": ["s"] * 5}
    study = read_study(scores, {**RATINGS, "prompt": ["p", "q", "q", "p", "p"]})
    assert study.prompts == ("q", "q", "p", "p")
    assert study.models == ("s",) * 4


def test_preferences_between_clips_with_scores() -> None:
    pairs = {
        "left": ["m/1", "m/2", "m/1"], "right": ["n/1", "n/2", "gone/1"], "outcome": ["left", "tie", "right"],
        "rater": ["x", "y", "x"], "prompt": ["one", "two", "one"],
    }  # fmt: skip
    study = read_study(SCORES, pairs)
    assert study.clips == ("m/1.mp4", "m/2.mp4", "n/1.mp4", "n/2.mp4")
    found = study.preferences["preference"]
    assert (found.left.tolist(), found.right.tolist(), found.outcome.tolist()) == ([0, 1], [2, 3], [1, 0])
    assert found.raters == ("x", "y")
    assert study.prompts == ("one", "two", "one", "two")
    assert study.pairing == {"mss": ("preference",)}
    assert study.ratings == {}
    assert "1 preferences name a clip without scores and were left out" in study.matching.notes


def test_dimensions_and_metrics_that_are_asked_for() -> None:
    scores = {**SCORES, "ssim": [1] * 5}
    ratings = {**RATINGS, "static_quality": [1] * 5}
    study = read_study(scores, ratings, metrics=["ssim"], dimensions=["static quality"])
    assert set(study.scores) == {"ssim"}
    assert set(study.ratings) == {"static_quality"}
    with pytest.raises(SetupError, match="No dimension beauty in the ratings; they have smoothness, static_quality"):
        read_study(scores, ratings, dimensions=["beauty"])


def test_bookkeeping_that_is_asked_for_is_read() -> None:
    ratings = {**RATINGS, "lead_time": [5, 4, 3, 2, 1]}
    assert set(read_study(SCORES, ratings).ratings) == {"smoothness"}
    assert set(read_study(SCORES, ratings, dimensions=["lead_time"]).ratings) == {"lead_time"}
    assert read_study(SCORES, ratings, pairing={"mss": "lead_time"}).pairing == {"mss": ("lead_time",)}


def test_ratings_of_clips_against_scores_of_models() -> None:
    ratings = {"clip": ["1", "2", "3"], "model": ["m", "m", "n"], "q_1": [1, 2, 5], "q_2": [3, np.nan, 4]}
    study = read_study({"model": ["M", "N"], "mss": [0.1, 0.2]}, ratings)
    assert study.clips == ("M", "N")
    np.testing.assert_array_equal(study.ratings["q"], [[1.5, 3], [5, 4]])
    with pytest.raises(SetupError, match="the ratings name no model"):
        read_study({"model": ["M", "N"], "mss": [0.1, 0.2]}, {"clip": ["1"], "q": [1]})


def test_what_cannot_be_joined(tmp_path: Path) -> None:
    with pytest.raises(
        SetupError, match=r"No clip is in both: the scores have 'm/1.mp4', 'm/2.mp4', 'n/1.mp4', \.\.\.; the"
    ):
        read_study(SCORES, {"clip": ["x", "y"], "q": [1, 2]})
    with pytest.raises(SetupError, match=r"m/1.mp4, n/1.mp4 \(scores\) and 1 \(ratings\)"):
        read_study(SCORES, {"clip": ["1", "2"], "q": [1, 2]})
    with pytest.raises(SetupError, match="Expected one of long, cells"):
        read_study(SCORES, RATINGS, format="excel")
    with pytest.raises(SetupError, match="is a folder but not a released set"):
        read_study(SCORES, tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(SetupError, match="scores come first and ratings last"):
        read_study(SCORES, tmp_path)


def test_a_column_of_another_name() -> None:
    scores = {"shot": SCORES["clip"], "mss": SCORES["mss"]}
    study = read_study(scores, RATINGS, clip_column="shot")
    assert study.matching.matched == 4


def test_a_rater_of_other_clips_is_left_out_and_said() -> None:
    ratings = {"clip": ["a", "b", "c"], "rater": ["x", "x", "y"], "q": [1, 2, 3]}
    study = read_study({"clip": ["a", "b"], "mss": [1, 2]}, ratings)
    assert study.raters["q"] == ("x",)
    assert study.ratings["q"].tolist() == [[1], [2]]
    assert "q: rated none of the matched clips: y" in study.matching.notes


def test_two_clips_and_one_clip() -> None:
    two = read_study({"clip": ["a", "b"], "mss": [1, None]}, {"clip": ["a", "b"], "q": [1, 2]})
    np.testing.assert_array_equal(two.scores["mss"], [1, np.nan])
    one = read_study({"clip": ["a"], "mss": [1]}, {"clip": ["a"], "q": [1]})
    assert one.clips == ("a",)


def test_columns_in_other_scripts_are_told_apart() -> None:
    scores = {"clip": ["1", "2", "3"], "mss": [0.9, 0.4, 0.1]}
    ratings = {"clip": ["1", "2", "3"], "质量": [5, 2, 1], "流畅": [1, 2, 5]}
    study = read_study(scores, ratings, dimensions=["质量"])
    assert study.pairing["mss"] == ("质量",)
    assert set(read_study(scores, ratings, pairing={"mss": ["流畅"]}).pairing["mss"]) == {"流畅"}


def test_a_column_of_scores_may_be_called_confidence() -> None:
    study = read_study({"clip": ["1", "2"], "confidence": [0.9, 0.4]}, {"clip": ["1", "2"], "smoothness": [5, 2]})
    assert "confidence" in study.scores


def test_a_run_given_last_is_said_before_the_ratings_are_read_as_scores(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(SetupError, match="scores come first and ratings last"):
        read_study({"clip": ["1", "1"], "rater": ["a", "b"], "rating": [1, 2]}, tmp_path)
