"""One set of ratings, written in every form, must come out as the same numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.alignment.readers.judgements import Judgements, RatingOptions
from vmmetrics.alignment.readers.ratings import read_ratings
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.errors import SetupError


def read(source: Any, **options: Any) -> Judgements:
    return read_ratings(read_table(source, "ratings"), RatingOptions(**options))


Votes = Mapping[tuple[str, str, str], float]  # clip, dimension, rater
CLIPS, DIMENSIONS, RATERS = ("a.mp4", "b.mp4", "c.mp4"), ("temporal_quality", "integrity"), ("1", "2")

votes = st.fixed_dictionaries(
    {(c, d, r): st.integers(1, 5) | st.just(math.nan) for c in CLIPS for d in DIMENSIONS for r in RATERS}
).filter(lambda said: any(not math.isnan(vote) for vote in said.values()))


def expected(said: Votes) -> dict[str, list[list[float]]]:
    return {d: [[said[c, d, r] for r in RATERS] for c in CLIPS] for d in DIMENSIONS}


def blank(value: float) -> float | str:
    return "" if math.isnan(value) else value


@given(votes)
def test_long_cells_and_wide_are_the_same(said: Votes) -> None:
    long = [{"clip": c, "rater": r, **{d: blank(said[c, d, r]) for d in DIMENSIONS}} for r in RATERS for c in CLIPS]
    cells = [
        {"video": c, "annotator": r, "aspect": d, "score": blank(said[c, d, r])}
        for r in RATERS
        for c in CLIPS
        for d in DIMENSIONS
    ]
    wide = [{"file": c, **{f"{d}_{r}": blank(said[c, d, r]) for d in DIMENSIONS for r in RATERS}} for c in CLIPS]
    for source in (long, cells, wide):
        found = read(source, scale=(1, 5))
        assert found.clips == CLIPS
        there = {d for (_, d, _), vote in said.items() if not math.isnan(vote)}
        assert set(found.ratings) == there
        for dimension, matrix in expected(said).items():
            if dimension not in there:
                assert f"{dimension}: left out, as it has no rating" in found.notes
                continue
            assert found.raters[dimension] == RATERS
            np.testing.assert_array_equal(found.ratings[dimension], matrix)


def test_averaged() -> None:
    found = read({"name": ["a", "b"], "smoothness": [3.5, 2.25], "frames": [16, 16], "prompt": ["x y", "z"]})
    assert found.ratings["smoothness"].tolist() == [[3.5], [2.25]]
    assert found.raters["smoothness"] == ()
    assert found.dimensions == ("smoothness",)
    assert found.prompts == ("x y", "z")


@pytest.mark.parametrize(
    "columns",
    [("q_1", "q_2"), ("q_rater1", "q_rater2"), ("q1", "q2"), ("rater1_q", "rater2_q"), ("q.r1", "q.r2"),
     ("q annotator 1", "q annotator 2")],
)  # fmt: skip
def test_names_of_wide_columns(columns: tuple[str, str]) -> None:
    found = read({"clip": ["a", "b"], columns[0]: [1, 2], columns[1]: [3, 4]})
    assert found.dimensions == ("q",)
    assert found.raters["q"] == ("1", "2")
    assert found.ratings["q"].tolist() == [[1, 3], [2, 4]]


def test_raters_without_a_dimension_rate_one() -> None:
    found = read({"clip": ["a", "b"], "rater1": [1, 2], "rater2": [3, 4]})
    assert found.ratings["rating"].tolist() == [[1, 3], [2, 4]]
    named = read({"clip": ["a", "b"], "q_ann": [1, 2], "q_bob": [3, 4]}, form="wide")
    assert named.raters["q"] == ("ann", "bob")


def test_words_are_not_taken_for_raters() -> None:
    found = read({"clip": ["a", "b"], "motion_smoothness": [1, 2], "motion_effects": [3, 4]})
    assert found.dimensions == ("motion_smoothness", "motion_effects")


def test_summaries_of_raters_are_left_out_and_said() -> None:
    found = read({"clip": ["a", "b"], "q_1": [1, 2], "q_2": [3, 4], "q_mean": [2, 3], "other": [5, 5]})
    assert found.dimensions == ("other", "q")
    assert any("q_mean" in note for note in found.notes)


def test_rows_of_unnamed_raters_are_kept_apart() -> None:
    found = read({"clip": ["a", "b", "a", "b"], "q": [1, 2, 3, 4]})
    assert found.ratings["q"].tolist() == [[1, 3], [2, 4]]
    assert any("not named" in note for note in found.notes)
    cells = read({"clip": ["a", "a", "b"], "dimension": ["q", "q", "q"], "rating": [1, 3, 2]})
    np.testing.assert_array_equal(cells.ratings["q"], [[1, 3], [2, math.nan]])


def test_a_rater_who_repeats_counts_once() -> None:
    found = read({"clip": ["a", "a", "b", "b"], "rater": ["x"] * 4, "q": [1, 3, 2, 2]})
    assert found.ratings["q"].tolist() == [[2], [2]]
    assert found.raters["q"] == ("x",)
    assert any("2 repeated ratings" in note and "1 of them with another rating" in note for note in found.notes)


def test_clips_of_one_name_by_several_models() -> None:
    found = read({"clip": ["1", "1", "2", "2"], "model": ["m", "n", "m", "n"], "q": [1, 2, 3, 4]})
    assert found.clips == ("m/1", "n/1", "m/2", "n/2")
    assert found.models == ("m", "n", "m", "n")


def test_what_each_column_was_read_as() -> None:
    long = {"clip": ["a", "b"], "rater": ["x", "y"], "prompt": ["p", "q"], "model": ["m", "n"], "smooth": [1, 2],
            "lead_time": [1, 2], "comment": ["fine", "hm"]}  # fmt: skip
    assert dict(read(long).columns) == {
        "clip": "clip", "rater": "rater", "prompt": "prompt", "model": "model", "smooth": "rating of smooth",
        "lead_time": "bookkeeping, not read", "comment": "not numeric, not read",
    }  # fmt: skip
    wide = read({"clip": ["a", "b"], "q_1": [1, 2], "q_2": [3, 4], "q_mean": [2, 3]}).columns
    assert (wide["q_1"], wide["q_mean"]) == ("rating of q by 1", "mean of ratings, not read")
    cells = read({"clip": ["a"], "aspect": ["q"], "score": [1]}).columns
    assert dict(cells) == {"clip": "clip", "aspect": "dimension", "score": "rating"}


def test_rows_about_models() -> None:
    found = read({"model": ["m", "n"], "q": [1, 2]})
    assert found.of_models
    assert found.models == found.clips == ("m", "n")


BOOKKEEPING = (
    "annotation_id", "id", "lead_time", "created_at", "updated_at", "annotation_time", "duration", "duration_s",
    "batch", "confidence", "index", "Timestamp", "WorkTimeInSeconds", "AssignmentId", "HITId", "seed",
    "Duration (in seconds)",
)  # fmt: skip


@pytest.mark.parametrize("name", BOOKKEEPING)
def test_bookkeeping_is_no_rating_unless_asked_for(name: str) -> None:
    for columns in ({"q": [4, 2]}, {"rater": ["x", "x"], "q": [4, 2]}, {"q_1": [4, 2], "q_2": [4, 2]}):
        table = {"clip": ["a", "b"], name: [7, 9], **columns}
        found = read(table)
        assert found.dimensions == ("q",)
        assert f"ratings: ignored as bookkeeping columns: {name} (--map NAME=rating reads one)" in found.notes
        assert set(read(table, dimensions=[name]).dimensions) == {"q", name}
    with pytest.raises(SetupError, match=r"no column holds ratings; it has .*ignored as bookkeeping columns: "):
        read({"clip": ["a", "b"], name: [7, 9]})


def test_a_comment_in_words_of_a_scale_is_no_rating_unless_asked_for() -> None:
    table = {"clip": ["a", "b"], "smooth": [4, 2], "comment": ["good", "bad"]}
    assert read(table).dimensions == ("smooth",)
    assert read(table, dimensions=["comment"]).ratings["comment"].tolist() == [[4], [1]]


def test_bookkeeping_by_each_rater_is_no_rating() -> None:
    table = {"clip": ["a", "b"], "q_1": [1, 2], "q_2": [3, 4], "lead_time_1": [7, 8], "lead_time_2": [8, 9]}
    assert read(table).dimensions == ("q",)
    assert set(read(table, dimensions=["lead_time"]).dimensions) == {"q", "lead_time"}


def test_names_of_the_video_quality_field() -> None:
    found = read({"stimulus": ["a", "a"], "observer": ["x", "y"], "score": [1, 2]})
    assert found.raters["score"] == ("x", "y")
    assert read({"PVS": ["a", "b"], "O1": [1, 2], "O2": [3, 4]}).ratings["rating"].tolist() == [[1, 3], [2, 4]]


def test_a_worker_is_a_rater() -> None:
    found = read({"clip": ["a", "a"], "WorkerId": ["x", "y"], "AssignmentId": [1, 2], "q": [1, 2]})
    assert found.raters["q"] == ("x", "y")


def test_bookkeeping_is_no_preference() -> None:
    pairs = {"left": ["p", "q"], "right": ["q", "r"], "smoother": ["left", "right"], "order": ["left", "left"]}
    assert read(pairs).dimensions == ("smoother",)
    assert read(pairs, dimensions=["order"]).dimensions == ("smoother", "order")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            {"shot": ["a"], "q": [1]},
            {},
            r"expected a column that names clips .* got shot, q; its first row: shot 'a', q '1'; .*--clip-column",
        ),
        ({"clip": ["a"], "q": [1]}, {"scale": (5, 1)}, "lowest rating first"),
        ({"clip": ["a"], "words": ["wow"]}, {}, "no column holds ratings"),
        ({"clip": ["a", "b", "c"], "q": [1, 2, "fine"]}, {}, "row 3: expected a number in q but got 'fine'"),
        ({"clip": ["a"], "q": [7]}, {"scale": (1, 5)}, "q of a: expected a rating from 1 to 5 but got 7"),
        ({"clip": ["a"], "q": [1]}, {"form": "long"}, "expected a column rater"),
        ({"clip": ["a"], "q": [1]}, {"form": "cells"}, "expected columns dimension and rating"),
        ({"clip": ["a"], "q": [1]}, {"clip_column": "file"}, "no column 'file'"),
    ],
)
def test_what_cannot_be_read(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        read(source, **options)


@pytest.mark.parametrize("text", ["a" + " " * 20_000 + "x", "7" + " " * 20_000 + "(", "a" * 50_000, "[" * 50_000])
def test_long_texts_are_read_at_once(text: str) -> None:
    """Each of these took minutes, as a header or as a cell, with patterns that try every way to split it."""
    table = {
        "clip": ["1.mp4", "2.mp4"],
        "Timestamp": ["1", "2"],
        "said": [text, text],
        text: ["good", "bad"],
        "q": [1, 2],
    }
    assert read(table).ratings["q"].tolist() == [[1], [2]]
    with pytest.raises(SetupError, match="row 1: expected left, right, tie"):
        read({"left": ["p"], "right": ["q"], "outcome": [text]})
