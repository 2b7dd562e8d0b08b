from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.scores import read_scores, turned
from vmmetrics.errors import SetupError
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.table import Table
from vmmetrics.utils.display.markup import csv_text


def record(clip: str, **fields: Any) -> Record:
    return Record(clip=clip, model=None, path=f"/clips/{clip}", sha256=None, preset="p", protocol="v", **fields)


def write_run(path: Path, records: list[Record], **run: Any) -> Path:
    path.mkdir()
    (path / "run.json").write_text(json.dumps({"format": 1, "configuration": {}, "metrics": [], "sessions": [], **run}))
    (path / "scores.jsonl").write_text("".join(json.dumps(r.to_json()) + "\n" for r in records))
    return path


RECORDS = [
    record("a.mp4", scores={"mss": 0.1}),
    record("b.mp4", scores={"mss": 0.5, "tcs": 0.25}, prompt="a cat", amplitude=0.2, frames=16),
    record("a.mp4", scores={"mss": 0.9}, missing={"pas": "no subject"}),
    record("c.mp4", error="cannot be read"),
]


def test_a_run_gives_the_newest_score_of_each_clip(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", RECORDS)
    for source in (run, str(run), run / "scores.jsonl"):
        scores = read_scores(source)
        assert scores.clips == ("a.mp4", "b.mp4", "c.mp4")
        np.testing.assert_array_equal(scores.values["mss"], [0.9, 0.5, np.nan])
        np.testing.assert_array_equal(scores.values["tcs"], [np.nan, 0.25, np.nan])
        assert np.isnan(scores.values["pas"]).all()  # a metric that no clip has is not passed over in silence
        assert set(scores.values) == {"mss", "tcs", "pas"}
        assert scores.prompts == (None, "a cat", None)
        assert scores.notes == ("run: 1 of 3 clips failed, in whole or in part",)


def test_the_tables_of_a_run_say_the_same(tmp_path: Path) -> None:
    table = Table(RECORDS[1:])
    table.to_csv(tmp_path / "scores.csv")
    for source in (tmp_path / "scores.csv", table):
        scores = read_scores(source)
        assert sorted(scores.clips) == ["a.mp4", "b.mp4", "c.mp4"]
        order = np.argsort(scores.clips)
        np.testing.assert_array_equal(scores.values["mss"][order], [0.9, 0.5, np.nan])
        assert not {"frames", "fps", "seconds", "amplitude", "average", "width", "height"} & set(scores.values)
    assert set(read_scores(tmp_path / "scores.csv", metrics=["amplitude", "MSS"]).values) == {"amplitude", "mss"}


def test_lower_is_better(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", RECORDS, lower_is_better=["mss"])
    scores = turned(read_scores(run), ["tcs"])
    np.testing.assert_array_equal(scores.values["mss"], [-0.9, -0.5, np.nan])
    np.testing.assert_array_equal(scores.values["tcs"], [np.nan, -0.25, np.nan])
    assert "Lower is better, sign turned: mss" in scores.notes
    Table(RECORDS[1:]).to_csv(run / "scores.csv")
    assert np.nanmax(read_scores(run / "scores.csv").values["mss"]) == -0.5
    with pytest.raises(SetupError, match="No metric ssim to turn"):
        turned(read_scores(run), ["ssim"])


def test_clips_of_one_name_from_two_roots_go_by_their_paths(tmp_path: Path) -> None:
    records = [replace(record("1.mp4", scores={"mss": score}), path=f"/{score}/1.mp4") for score in (0.25, 0.5)]
    scores = read_scores(write_run(tmp_path / "run", records))
    assert dict(zip(scores.clips, scores.values["mss"], strict=True)) == {"/0.25/1.mp4": 0.25, "/0.5/1.mp4": 0.5}


def test_sources_side_by_side() -> None:
    one = {"clip": ["x/a.mp4", "x/b.mp4"], "mss": [1, 2], "tcs": [3, 4]}
    two = {"video": ["b", "c", "a"], "mss": [20, 30, 10], "ssim": [0.2, 0.3, 0.1]}
    three = {"file": ["a", "b"], "mss": [100, 200]}
    scores = read_scores([one, two, three])
    assert scores.clips == ("x/a.mp4", "x/b.mp4", "c")
    np.testing.assert_array_equal(scores.values["scores 1:mss"], [1, 2, np.nan])
    np.testing.assert_array_equal(scores.values["scores 2:mss"], [10, 20, 30])
    np.testing.assert_array_equal(scores.values["scores 3:mss"], [100, 200, np.nan])
    np.testing.assert_array_equal(scores.values["tcs"], [3, 4, np.nan])
    np.testing.assert_array_equal(scores.values["ssim"], [0.1, 0.2, 0.3])
    assert set(read_scores([one, two, three], metrics=["mss"]).values) == {f"scores {n}:mss" for n in (1, 2, 3)}
    np.testing.assert_array_equal(turned(read_scores([one, two]), ["mss"]).values["scores 2:mss"], [-10, -20, -30])


def test_sources_of_other_clips_go_below(tmp_path: Path) -> None:
    for name, value in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.csv").write_text(f"clip,mss\n{name}/1.mp4,{value}\n{name}/2.mp4,{value}\n")
    (tmp_path / "a.csv").rename(tmp_path / "first.csv")
    scores = read_scores([tmp_path / "first.csv", tmp_path / "b.csv"], metrics=["mss"])
    assert set(scores.values) == {"first:mss", "b:mss"}  # the same file names: the same clips, as far as names say
    (tmp_path / "b.csv").write_text("clip,mss\nb/3.mp4,2\n")
    scores = read_scores([tmp_path / "first.csv", tmp_path / "b.csv"])
    np.testing.assert_array_equal(scores.values["mss"], [1, 1, 2])
    assert scores.clips == ("a/1.mp4", "a/2.mp4", "b/3.mp4")


def test_clips_of_other_models_are_other_clips() -> None:
    def source(model: str, **scores: list[float]) -> dict[str, list[Any]]:
        return {"clip": [f"{model}/1.mp4", f"{model}/2.mp4"], "model": [model, model], **scores}

    wan, mochi = source("wan", mss=[1, 2]), source("mochi", mss=[3, 4])
    below = read_scores([wan, mochi])
    np.testing.assert_array_equal(below.values["mss"], [1, 2, 3, 4])
    beside = read_scores([wan, mochi, source("Wan", ssim=[5, 6])])
    np.testing.assert_array_equal(beside.values["ssim"], [5, 6, np.nan, np.nan])
    # other metrics under a model that is called differently are of the same clips
    np.testing.assert_array_equal(read_scores([wan, source("Wan2.1", ssim=[5, 6])]).values["ssim"], [5, 6])


def test_named_sources(tmp_path: Path) -> None:
    for folder in ("p", "q"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "scores.csv").write_text("clip,mss\na,1\n")
    scores = read_scores([f"ours={tmp_path}/p/scores.csv", tmp_path / "q" / "scores.csv"])
    assert set(scores.values) == {"ours:mss", "scores:mss"}
    scores = read_scores([tmp_path / "p" / "scores.csv", tmp_path / "q" / "scores.csv"])
    assert set(scores.values) == {"scores 1:mss", "scores 2:mss"}


def test_rows_that_are_there_twice() -> None:
    scores = read_scores({"clip": ["a", "b", "a"], "mss": [1, 2, 1]})
    assert scores.clips == ("a", "b")
    assert any("1 rows are there twice: a" in note for note in scores.notes)
    with pytest.raises(SetupError, match="rows 1 and 3 give a different scores"):
        read_scores({"clip": ["a", "b", "a"], "mss": [1, 2, 3]})


def test_tables_about_models() -> None:
    scores = read_scores({"Models": ["Wan", "Mochi"], "CAS": [62.8, 37.7]})
    assert scores.of_models
    assert scores.models == ("Wan", "Mochi")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "Expected at least one source of scores"),
        ({"clip": ["a"], "note": ["fine"]}, "no column holds scores"),
        ({"clip": ["a", "b", "c"], "x": [1, 2, "odd"]}, "row 3: expected a number in x"),
        ({"clip": ["a"], "mss": ["odd"]}, "row 1: expected a number in mss"),
        ([{"clip": ["a"], "x": [1]}, {"clip": ["b"], "y": [1]}], "no clip in common"),
        ([{"clip": ["a"], "x": [1]}, {"model": ["b"], "x": [1]}], "one scores clips and the other models"),
    ],
)
def test_what_cannot_be_read(source: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        read_scores(source)


def test_directories_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is no run directory"):
        read_scores(tmp_path)
    with pytest.raises(SetupError, match="no such file"):
        read_scores(tmp_path / "nowhere")
    with pytest.raises(SetupError, match="has no clips yet"):
        read_scores(write_run(tmp_path / "run", []))
    with pytest.raises(SetupError, match="No metric xyz in the scores; they have mss"):
        read_scores({"clip": ["a"], "mss": [1]}, metrics=["xyz"])


def test_a_clip_whose_name_a_table_guards_joins_with_its_ratings(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(csv_text([("clip", "pas", "sha256"), ("=x.mp4", 0.5), ("'=y.mp4", 0.25)]))
    scores = read_scores(str(tmp_path / "scores.csv"))
    assert scores.clips == ("=x.mp4", "'=y.mp4")


def test_apostrophes_in_the_table_of_somebody_else_are_theirs(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("clip,pas\n'-ish.mp4,0.5\n'@home.mp4,0.25\n")
    assert read_scores(str(tmp_path / "scores.csv")).clips == ("'-ish.mp4", "'@home.mp4")
