"""Small exports in each of Label Studio's forms, as its converter writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.formats.label_studio import answer
from vmmetrics.alignment.readers.ratings import read_ratings
from vmmetrics.alignment.readers.read import read_study
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.errors import SetupError

CLIPS = ("m/1.mp4", "m/2.mp4")
RATERS = ("1", "ann@example.org")
SMOOTHNESS, NATURAL = [[4, 5], [2, 1]], [[3, 2], [5, 4]]
TIMES = {"created_at": "2026-01-02T03:04:05.678901Z", "updated_at": "2026-01-02T03:05:06.789012Z"}


def result(name: str, kind: str, value: Any) -> dict[str, Any]:
    return {
        "id": "Dx_aB91ISN", "from_name": name, "to_name": "video", "type": kind, "origin": "manual",
        "value": {kind: value},
    }  # fmt: skip


def address(clip: str) -> str:
    return f"/data/local-files/?d=clips/{clip}"


def tasks() -> list[dict[str, Any]]:
    """Two clips by two annotators: a rating, a number, a choice, a comment; a skipped annotation and a prediction."""
    content = []
    for row, clip in enumerate(CLIPS):
        annotations = [
            {
                "id": 10 * row + column, "completed_by": person, "was_cancelled": False, "ground_truth": False,
                "lead_time": 7.5 + column, "prediction": {}, "result_count": 4, "unique_id": "8a7e", **TIMES,
                "result": [
                    result("smoothness", "rating", SMOOTHNESS[row][column]),
                    result("natural", "choices", [str(NATURAL[row][column])]),
                    result("amount", "number", 10),
                    result("comment", "textarea", ["fine"]),
                ],
            }
            for column, person in enumerate((1, {"id": 2, "email": RATERS[1], "first_name": "Ann"}))
        ]  # fmt: skip
        skipped = {"id": 99, "completed_by": 3, "was_cancelled": True, "lead_time": 1.0, "result": []}
        content.append(
            {
                "id": row + 1, "inner_id": row + 1, "annotations": [*annotations, skipped], "project": 1, **TIMES,
                "data": {"video": address(clip), "prompt": f"a cat {row}", "take": 3},
                "predictions": [{"id": 1, "score": 0.9, "result": [result("smoothness", "rating", 1)]}],
                "drafts": [], "meta": {}, "total_annotations": 2,
            }
        )  # fmt: skip
    return content


def json_min() -> list[dict[str, Any]]:
    return [
        {
            "video": address(clip), "prompt": f"a cat {row}", "id": row + 1,
            "smoothness": [{"rating": SMOOTHNESS[row][column]}], "natural": str(NATURAL[row][column]),
            "amount": [{"number": 10}], "comment": "fine", "annotator": annotator,
            "annotation_id": 10 * row + column, **TIMES, "lead_time": 7.5 + column,
        }
        for row, clip in enumerate(CLIPS)
        for column, annotator in enumerate((1, RATERS[1]))
    ]  # fmt: skip


def separated(delimiter: str) -> str:
    """The rows of JSON-MIN as CSV: columns by name, results as JSON, texts in quotes."""
    names = sorted(json_min()[0])
    rows = [
        [row[name] if not isinstance(row[name], list) else json.dumps(row[name]) for name in names]
        for row in json_min()
    ]
    quoted = [
        [f'"{cell.replace(chr(34), chr(34) * 2)}"' if isinstance(cell, str) else str(cell) for cell in row]
        for row in ([*names], *rows)
    ]
    return "".join(f"{delimiter.join(row)}\r\n" for row in quoted)


def exported(folder: Path, name: str) -> Path:
    path = folder / name
    texts = {
        "project-1.csv": separated(","), "project-1.tsv": separated("\t"), "tabs.csv": separated("\t"),
        "min.json": json.dumps(json_min()), "full.json": json.dumps(tasks()),
        "full.jsonl": "\n".join(map(json.dumps, tasks())),
    }  # fmt: skip
    path.write_bytes(texts[name].encode())
    return path


@pytest.mark.parametrize("name", ["project-1.csv", "project-1.tsv", "tabs.csv", "min.json", "full.json", "full.jsonl"])
def test_ratings_of_an_export_and_nothing_else_are_read(tmp_path: Path, name: str) -> None:
    scores = {"clip": ["/data/clips/m/1.mp4", "/data/clips/m/2.mp4"], "mss": [0.5, 0.25]}
    study = read_study(scores, exported(tmp_path, name))
    assert set(study.ratings) == {"smoothness", "natural", "amount"}
    assert study.raters["smoothness"] == study.raters["natural"] == RATERS
    assert study.ratings["smoothness"].tolist() == SMOOTHNESS
    assert study.ratings["natural"].tolist() == NATURAL
    assert study.prompts == ("a cat 0", "a cat 1")
    notes = "\n".join(study.matching.notes)
    assert "ignored, not numeric: comment" in notes
    if name.startswith("full"):
        assert "Label Studio: 4 annotations of 2 tasks; 2 skipped ones were left out" in study.matching.notes
    else:
        (bookkeeping,) = (note for note in study.matching.notes if "ignored as bookkeeping columns" in note)
        assert all(column in bookkeeping for column in ("annotation_id", " id", "lead_time", "--map NAME=rating"))


def test_tasks_of_its_library_are_read_as_its_files() -> None:
    assert read_ratings(read_table(tasks(), "ratings")).ratings["smoothness"].tolist() == SMOOTHNESS


def test_an_export_without_annotations_says_so() -> None:
    empty = [{**task, "annotations": []} for task in tasks()]
    with pytest.raises(SetupError, match="ratings: the Label Studio export holds no annotation; annotate its tasks"):
        read_table(empty, "ratings")


def test_several_choices_are_no_number_and_said() -> None:
    rows = [{**row, "signs": {"choices": ["jitter", "blur"]}} for row in json_min()]
    found = read_ratings(read_table(rows, "ratings"))
    assert "signs" not in found.dimensions
    assert "ratings: ignored, not numeric: comment, signs" in found.notes


def test_pairs_are_preferences() -> None:
    rows = [
        {"id": 1, "video1": address("m/1.mp4"), "video2": address("n/1.mp4"), "better": [{"selected": "left"}],
         "annotator": 1, "annotation_id": 5, "lead_time": 2.5},
        {"id": 2, "video1": address("m/2.mp4"), "video2": address("n/2.mp4"), "better": [{"selected": "right"}],
         "annotator": 1, "annotation_id": 6, "lead_time": 2.5},
    ]  # fmt: skip
    found = read_ratings(read_table(rows, "ratings"))
    assert found.clips[0] == "clips/m/1.mp4"
    assert found.pairs["better"].outcome.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("/data/upload/1/0a1b2c3d-a_dog_runs-0.mp4", "a_dog_runs-0.mp4"),
        ("/data/upload/1/abcd-name.mp4", "name.mp4"),
        ("/data/upload/0a1b2c3d-name.mp4", "name.mp4"),
        ("https://studio.example.org/team/data/upload/12/0a1b2c3d-%E7%8C%AB.mp4", "猫.mp4"),
        ("/data/local-files/?d=m/a%20dog%20runs-0.mp4", "m/a dog runs-0.mp4"),
        ("http://localhost:8080/data/local-files/?d=m/1.mp4&t=5", "m/1.mp4"),
        ("s3://bucket/m/1.mp4", "s3://bucket/m/1.mp4"),
        ("/home/me/data/upload/1/cafe-1.mp4", "/home/me/data/upload/1/cafe-1.mp4"),
    ],
)
def test_addresses_of_clips(value: str, name: str) -> None:
    assert read_table({"video": [value], "q": [1]}, "ratings").columns["video"] == [name]


def test_an_upload_is_matched_though_its_blanks_were_replaced() -> None:
    study = read_study(
        {"clip": ["a dog runs, fast!-0.mp4", "a cat-0.mp4"], "mss": [1, 2]},
        {
            "video": ["/data/upload/1/0a1b2c3d-a_cat-0.mp4", "/data/upload/1/1a1b2c3d-a_dog_runs_fast-0.mp4"],
            "q": [20, 10],
        },
    )
    assert study.ratings["q"].tolist() == [[10], [20]]


def test_uploads_of_one_name_are_not_taken_for_one_clip() -> None:
    uploads = ["/data/upload/1/0a1b2c3d-1.mp4", "/data/upload/1/1a1b2c3d-1.mp4", "/data/upload/1/2a1b2c3d-2.mp4"]
    found = read_ratings(read_table({"video": uploads, "q": [1, 2, 3]}, "ratings"))
    assert found.clips == ("0a1b2c3d-1.mp4", "1a1b2c3d-1.mp4", "2.mp4")
    assert any("several uploads are called 1.mp4 and keep the prefix" in note for note in found.notes)


def test_the_clip_is_in_the_column_of_files_whatever_it_is_called() -> None:
    rows = [{("shot_url" if name == "video" else name): cell for name, cell in row.items()} for row in json_min()]
    assert read_ratings(read_table(rows, "ratings")).clips == ("clips/m/1.mp4", "clips/m/2.mp4")
    numbered = [{name: cell for name, cell in row.items() if name != "shot_url"} for row in rows]
    with pytest.raises(SetupError, match="expected a column that names clips"):
        read_ratings(read_table(numbered, "ratings"))


def test_a_clip_that_an_annotator_left_out_is_missing() -> None:
    rows = json_min()
    del rows[1]["smoothness"]
    found = read_ratings(read_table(rows, "ratings"))
    np.testing.assert_array_equal(found.ratings["smoothness"], [[4, np.nan], [2, 1]])


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ('[{"rating": 4}]', 4),
        ([{"rating": 4}], 4),
        ({"rating": 4}, 4),
        ('{"rating": 4.5}', 4.5),
        ([{"choices": ["4"]}], "4"),
        ('{"choices": ["a", "b"]}', "a, b"),
        ([{"number": 3, "original_width": 64, "original_height": 64}], 3),
        ([{"rating": 4}, {"rating": 4}], 4),
        ([{"rating": 4}, {"rating": 5}], [{"rating": 4}, {"rating": 5}]),
        ([], []),
        ("[{not json", "[{not json"),
        ('[{"x": 4, "rating": 1}]', '[{"x": 4, "rating": 1}]'),
        ([{"rating": True}], [{"rating": True}]),
        ("4", "4"),
    ],
)
def test_answers(cell: Any, plain: Any) -> None:
    assert answer(cell) == plain


def test_a_control_called_rating_keeps_its_answer() -> None:
    rows = [{"video": "1.mp4", "rating": {"rating": 4}}, {"video": "2.mp4", "rating": [{"rating": 2}]}]
    assert read_ratings(read_table(rows, "ratings")).ratings["rating"].tolist() == [[4], [2]]
