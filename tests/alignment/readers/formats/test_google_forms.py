"""Responses as Google Forms exports them, and tables turned on their side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vmmetrics.alignment.readers.read import read_study
from vmmetrics.alignment.study import Study
from vmmetrics.errors import SetupError

SCORES = {"clip": ["m/clip_1.mp4", "m/clip_2.mp4", "m/a dog runs-0.mp4"], "mss": [0.9, 0.1, 0.5]}
RATED = [[4, 2], [5, 1], [3, np.nan]]
ANSWERS = (("4", "5", "3"), ("2", "1", ""))


def read(folder: Path, heads: list[str], rows: list[list[str]]) -> Study:
    file = folder / "responses.csv"
    file.write_text("\n".join(",".join(f'"{cell}"' for cell in row) for row in (heads, *rows)) + "\n")
    return read_study(SCORES, file)


@pytest.mark.parametrize(
    ("heads", "dimension"),
    [
        (["clip_1.mp4", "clip_2.mp4", "a dog runs-0.mp4"], "rating"),
        (["clip_1", "clip_2", "a dog runs-0"], "rating"),
        (
            ["How smooth is clip_1.mp4?", "How smooth is clip_2.mp4?", "How smooth is a dog runs-0.mp4?"],
            "How smooth is",
        ),
        (["Clip 1", "Clip 2", "A dog runs 0"], "rating"),
        (["Smoothness of clip_1", "Smoothness of clip_2", "Smoothness of a dog runs-0"], "Smoothness of"),
        (["Smoothness [clip_1.mp4]", "Smoothness [clip_2.mp4]", "Smoothness [a dog runs-0.mp4]"], "Smoothness"),
        (["Smoothness? [clip_1]", "Smoothness? [clip_2]", "Smoothness? [a dog runs-0]"], "Smoothness"),
        (["clip_1.mp4 [Smoothness]", "clip_2.mp4 [Smoothness]", "a dog runs-0.mp4 [Smoothness]"], "Smoothness"),
    ],
)
@pytest.mark.parametrize("people", [["Timestamp"], ["Timestamp", "Email Address"], ["Timestamp", "Your name"]])
def test_a_form_with_a_column_per_clip(tmp_path: Path, heads: list[str], dimension: str, people: list[str]) -> None:
    named = len(people) > 1
    rows = [
        ["2026/11/02 1:02:03 PM GMT+1", *([name] if named else []), *said, "nice clips"]
        for name, said in zip(("ann@example.org", "bob@example.org"), ANSWERS, strict=True)
    ]
    study = read(tmp_path, [*people, *heads, "Any comments?"], rows)
    assert set(study.ratings) == {dimension}
    assert study.clips == tuple(SCORES["clip"])
    assert study.raters[dimension] == (
        ("ann@example.org", "bob@example.org") if named else ("response 1", "response 2")
    )
    np.testing.assert_array_equal(study.ratings[dimension], RATED)
    assert any("A column per clip" in note for note in study.matching.notes)


def test_clips_of_one_name_are_told_by_the_folders_in_the_header(tmp_path: Path) -> None:
    file = tmp_path / "responses.csv"
    file.write_text("Timestamp,Smooth? [m/1.mp4],Smooth? [n/1.mp4],Smooth? [n/2]\n1,4,5,1\n")
    study = read_study({"clip": ["m/1.mp4", "n/1.mp4", "n/2.mp4"], "mss": [1, 2, 3]}, file)
    assert study.ratings["Smooth"].tolist() == [[4], [5], [1]]


def test_two_questions_of_each_clip_one_in_words(tmp_path: Path) -> None:
    heads = [
        "Timestamp",
        "Smooth? [clip_1.mp4]",
        "Smooth? [clip_2.mp4]",
        "Natural? [clip_1.mp4]",
        "Natural? [clip_2.mp4]",
    ]
    study = read(tmp_path, heads, [["1", "4", "5", "Good", "Bad"], ["2", "2", "1", "Fair", "Excellent"]])
    assert study.ratings["Smooth"].tolist() == [[4, 2], [5, 1]]
    assert study.ratings["Natural"].tolist() == [[4, 3], [1, 5]]


def test_a_form_that_asks_which_of_two_is_better(tmp_path: Path) -> None:
    heads = ["Timestamp", "Username", "clip_1.mp4 or clip_2.mp4?"]
    heads += ["clip_2.mp4 vs. clip_1.mp4"]
    study = read(tmp_path, heads, [["1", "ann", "A", "Right"], ["2", "bob", "Same", "A"]])
    pairs = study.preferences["preference"]
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.outcome.tolist(), pairs.raters, strict=True)) == [
        (0, 1, 1, "ann"), (1, 0, -1, "ann"), (0, 1, 0, "bob"), (1, 0, 1, "bob")
    ]  # fmt: skip


def test_two_questions_about_each_pair_are_two_dimensions(tmp_path: Path) -> None:
    heads = ["Timestamp", "Which is smoother: clip_1.mp4 or clip_2.mp4?", "Which is real: clip_1.mp4 or clip_2.mp4?"]
    study = read(tmp_path, heads, [["1", "clip_1.mp4", "clip_2.mp4"], ["2", "clip_1.mp4", "same"]])
    outcomes = {name: pairs.outcome.tolist() for name, pairs in study.preferences.items()}
    assert outcomes == {"Which is smoother": [1, 1], "Which is real": [-1, 0]}


def test_a_clip_that_is_asked_about_twice_has_the_mean(tmp_path: Path) -> None:
    rows = [["1", "4", "5", "2"], ["2", "1", "3", "1"]]
    study = read(tmp_path, ["Timestamp", "clip_1.mp4", "clip_2.mp4", "Clip 1"], rows)
    assert study.ratings["rating"].tolist() == [[3, 1], [5, 3]]


@pytest.mark.parametrize(
    "heads", [["clip_1.mp4", "clip_2.mp4", "a dog runs-0.mp4"], ["clip_1", "clip_2", "a dog runs-0"]]
)
@pytest.mark.parametrize("corner", ["rater", ""])
def test_a_table_turned_on_its_side(tmp_path: Path, heads: list[str], corner: str) -> None:
    rows = [["ann", *ANSWERS[0]], ["bob", *ANSWERS[1]], ["mean", "3", "3", "3"]]
    study = read(tmp_path, [corner, *heads], rows)
    assert study.raters["rating"] == ("ann", "bob")
    np.testing.assert_array_equal(study.ratings["rating"], RATED)


def test_means_turned_on_their_side(tmp_path: Path) -> None:
    study = read(tmp_path, ["", "clip_1.mp4", "clip_2.mp4"], [["MOS", "3.5", "2.25"], ["std", "1", "1"]])
    assert study.ratings["rating"].tolist() == [[3.5], [2.25]]
    assert study.raters["rating"] == ()


def test_a_row_per_person_and_aspect(tmp_path: Path) -> None:
    rows = [["ann", "smooth", "4", "5"], ["ann", "natural", "1", "2"]]
    study = read(tmp_path, ["rater", "aspect", "clip_1.mp4", "clip_2.mp4"], rows)
    assert study.ratings["smooth"].tolist() == [[4], [5]]
    assert study.ratings["natural"].tolist() == [[1], [2]]


def test_numbers_in_a_header_beside_a_column_of_clips_are_raters() -> None:
    scores = {"clip": ["1.mp4", "2.mp4"], "mss": [1, 2]}
    study = read_study(scores, {"clip": ["1", "2"], "1": [4, 5], "2": [3, 2]})
    assert study.ratings["rating"].tolist() == [[4, 3], [5, 2]]


@pytest.mark.parametrize("head", ["clips", "videos", "clip", "item", "stimuli"])
@pytest.mark.parametrize("suffix", ["", ".mp4"])
def test_numbers_in_a_header_beside_clips_of_any_heading_are_raters(tmp_path: Path, head: str, suffix: str) -> None:
    (tmp_path / "t.csv").write_text(f"{head},1,2,3\n1{suffix},4,5,3\n2{suffix},3,2,1\n3{suffix},1,1,2\n")
    options = {"clip_column": head} if head in {"item", "stimuli"} else {}
    study = read_study({"clip": ["1.mp4", "2.mp4", "3.mp4"], "mss": [1, 2, 3]}, tmp_path / "t.csv", **options)
    assert study.ratings["rating"].tolist() == [[4, 5, 3], [3, 2, 1], [1, 1, 2]]


@pytest.mark.parametrize("head", ["rater", "", "participant"])
def test_numbered_people_beside_numbered_clips(tmp_path: Path, head: str) -> None:
    (tmp_path / "t.csv").write_text(f"{head},1,2,3\n1,4,5,3\n2,3,2,1\n")
    study = read_study({"clip": ["1.mp4", "2.mp4", "3.mp4"], "mss": [1, 2, 3]}, tmp_path / "t.csv")
    assert study.ratings["rating"].tolist() == [[4, 3], [5, 2], [3, 1]]


@pytest.mark.parametrize("raters", ["a,b", "A,B"])
def test_words_of_two_raters_beside_clips_are_no_comparisons(tmp_path: Path, raters: str) -> None:
    (tmp_path / "t.csv").write_text(f"clip,{raters}\nx.mp4,Good,Bad\ny.mp4,Fair,Excellent\n")
    scores, (first, second) = {"clip": ["x.mp4", "y.mp4"], "mss": [1, 2]}, raters.split(",")
    with pytest.raises(SetupError, match=f"people or dimensions: say --map {first!r}=rater --map {second!r}=rater"):
        read_study(scores, tmp_path / "t.csv")
    study = read_study(scores, tmp_path / "t.csv", roles={first: "rater", second: "rater"})
    assert study.ratings["rating"].tolist() == [[4, 1], [3, 5]] and study.raters["rating"] == (first, second)
