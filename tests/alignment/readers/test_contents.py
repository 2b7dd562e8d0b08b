"""Small files in the layouts in which others release judgements, values made up here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.read import read_study
from vmmetrics.errors import SetupError


def write(path: Path, content: Any) -> Path:
    text = "\n".join(map(json.dumps, content)) if path.suffix == ".jsonl" else json.dumps(content)
    path.write_text(text)
    return path


UVE = {
    str(number): {
        "video_a": f"mochi/{number}.mp4", "video_b": f"OpenSora1.2/{number}.mp4", "prompt": f"p{number}",
        "dataset": "videogen", "aspect": "temporal_visual_quality", "subaspects": aspects, "preference": preference,
        "difficulty": "easy",
    }
    for number, (aspects, preference) in enumerate([
        (["motion_naturalness", "flickering"], "A is better"), (["motion_naturalness"], "B is better"),
        (["motion_naturalness"], "same good"), (["flickering"], "same bad"),
    ])
}  # fmt: skip


def test_uve_bench(tmp_path: Path) -> None:
    clips = [f"videogen/{model}/{number}.mp4" for model in ("mochi", "OpenSora1.2") for number in range(4)]
    study = read_study({"clip": clips, "mss": range(8)}, write(tmp_path / "annotations.json", UVE))
    natural, flickering = study.preferences["motion_naturalness"], study.preferences["flickering"]
    assert (natural.left.tolist(), natural.right.tolist()) == ([0, 1, 2], [4, 5, 6])
    assert natural.outcome.tolist() == [1, -1, 0]
    assert flickering.outcome.tolist() == [1, 0]
    assert study.models == ("mochi",) * 4 + ("OpenSora1.2",) * 4
    assert study.prompts == ("p0", "p1", "p2", "p3") * 2


def test_the_log_of_an_arena(tmp_path: Path) -> None:
    lines = [
        {"tstamp": 1.5, "type": "chat", "model": "gen2", "start": 1, "finish": 2},
        {"tstamp": 2.5, "type": "leftvote", "models": ["gen2", "pika"], "states": [], "ip": "1.2.3.4"},
        {"tstamp": 3.5, "type": "rightvote", "models": ["", ""],
         "states": [{"model_name": "pika"}, {"model_name": "gen2"}]},
        {"tstamp": 4.5, "type": "bothbad_vote", "models": ["gen2", "pika"], "states": [], "ip": "1.2.3.4"},
    ]  # fmt: skip
    scores = {"clip": ["gen2/1.mp4", "gen2/2.mp4", "pika/1.mp4", "pika/2.mp4"], "mss": [3, 5, 1, 2]}
    study = read_study(scores, write(tmp_path / "2026-conv.jsonl", lines))
    assert study.clips == study.models == ("gen2", "pika")
    assert study.scores["mss"].tolist() == [4, 1.5]
    pairs = study.preferences["preference"]
    assert list(zip(pairs.left.tolist(), pairs.outcome.tolist(), strict=True)) == [(0, 1), (1, -1), (0, 0)]
    assert "Arena log: 3 votes; 1 lines are no votes and were left out" in study.matching.notes


def test_rows_under_a_key_with_models_called_code(tmp_path: Path) -> None:
    rows = [
        {"filename": f"{number:03}.mp4", "code": model, "prompt": f"p{number}", "spatial_quality": 60 + number,
         "temporal_quality": 40 - number, "alignment": 50}
        for model in ("gen2", "zeroscope")
        for number in range(2)
    ]  # fmt: skip
    clips = [f"{model}/{number:03}.mp4" for model in ("gen2", "zeroscope") for number in range(2)]
    study = read_study({"clip": clips, "mss": range(4)}, write(tmp_path / "MOS.json", {"version": 1, "data": rows}))
    assert study.ratings["temporal_quality"].tolist() == [[40], [39], [40], [39]]
    assert study.pairing["mss"] == ("temporal_quality",)
    assert study.models == ("gen2", "gen2", "zeroscope", "zeroscope")


def test_lists_of_four_models_ratings_are_those_of_fetv(tmp_path: Path) -> None:
    ratings = [[model + prompt / 1000 for prompt in range(619)] for model in range(4)]
    clips = ["cogvideo/0.mp4", "text2video-zero/1.mp4", "modelscope-t2v/618.mp4", "zeroscope/10.mp4"]
    study = read_study({"clip": clips, "mss": range(4)}, write(tmp_path / "temAVGmos.json", ratings))
    np.testing.assert_allclose(study.ratings["temporal_quality"][:, 0], [0, 1.001, 2.618, 3.01])
    with pytest.raises(SetupError, match=r"lists of 2, 2 numbers, which do not say whose they are; write"):
        read_study({"clip": clips, "mss": range(4)}, write(tmp_path / "x.json", [[1, 2], [3, 4]]))


@pytest.mark.parametrize(
    "names", [("1.mp4", "2.mp4"), ("1", "2"), ("m/1.mp4", "m/2.mp4")], ids=["files", "numbers", "paths"]
)
def test_clips_by_model(tmp_path: Path, names: tuple[str, str]) -> None:
    said = {"m": dict(zip(names, (4, 3), strict=True)), "n": {"1.mp4" if "." in names[0] else "1": 2}}
    scores = {"clip": ["n/1.mp4", "m/1.mp4", "m/2.mp4"], "mss": [1, 2, 3]}
    study = read_study(scores, write(tmp_path / "t.json", said))
    assert study.ratings["score"].tolist() == [[2], [4], [3]]
    assert study.models == ("n", "m", "m")
    several = {model: {clip: {"smooth": value} for clip, value in of.items()} for model, of in said.items()}
    assert read_study(scores, write(tmp_path / "t.json", several)).ratings["smooth"].tolist() == [[2], [4], [3]]


@pytest.mark.parametrize(
    "row",
    [
        {"ratings": [{"rater": "x", "smooth": 4}, {"rater": "y", "smooth": 2}]},
        {"ratings": [4, 2]},
        {"annotations": {"smooth": [4, 2]}},
    ],
)
def test_what_each_rater_said_inside_a_row(tmp_path: Path, row: dict[str, Any]) -> None:
    rows = [{"video": "1.mp4", "prompt": "p", **row}]
    study = read_study({"clip": ["1.mp4"], "mss": [1]}, write(tmp_path / "t.json", rows))
    (ratings,) = study.ratings.values()
    assert ratings.tolist() == [[4, 2]]


@pytest.mark.parametrize("first", [0, 1])
def test_a_list_per_model_is_told_by_the_numbers_of_its_clips(tmp_path: Path, first: int) -> None:
    clips = [f"{model}/{first + number:04}.mp4" for model in ("gen2", "pika") for number in (1, 0)]
    study = read_study({"clip": clips, "mss": range(4)}, write(tmp_path / "mos.json", {"gen2": [1, 2], "pika": [3, 4]}))
    assert study.ratings["rating"].tolist() == [[2], [1], [4], [3]]
    assert study.models == ("gen2", "gen2", "pika", "pika")


def models_side_by_side(folder: Path, clips: list[str], text: str) -> dict[str, float]:
    (folder / "mos.csv").write_text(text)
    study = read_study({"clip": clips, "mss": range(len(clips))}, folder / "mos.csv")
    return dict(zip(study.clips, study.ratings["rating"][:, 0].tolist(), strict=True))


CLIPS = ["wan/0.mp4", "wan/1.mp4", "mochi/0.mp4", "mochi/1.mp4"]


@pytest.mark.parametrize("head", ["index", "id", "clip_id", "No."])
@pytest.mark.parametrize("cells", [("1", "0"), ("1.mp4", "0.mp4"), ("v2_1.mp4", "v2_0.mp4")])
def test_a_column_per_model_beside_the_numbers_of_its_clips(tmp_path: Path, head: str, cells: tuple[str, str]) -> None:
    text = f"{head},wan,mochi\n{cells[0]},5,4\n{cells[1]},2,1\n"
    expected = {"wan/1.mp4": 5, "mochi/1.mp4": 4, "wan/0.mp4": 2, "mochi/0.mp4": 1}
    assert models_side_by_side(tmp_path, CLIPS, text) == expected


def test_numbers_that_count_rows_are_no_numbers_of_clips_from_one(tmp_path: Path) -> None:
    clips = ["wan/1.mp4", "wan/2.mp4", "mochi/1.mp4", "mochi/2.mp4"]
    found = models_side_by_side(tmp_path, clips, ",wan,mochi\n0,5,4\n1,2,1\n")
    assert found == {"wan/1.mp4": 5, "mochi/1.mp4": 4, "wan/2.mp4": 2, "mochi/2.mp4": 1}


def test_the_last_number_of_a_name_counts(tmp_path: Path) -> None:
    clips = [f"{model}/v2_{number}.mp4" for model in ("wan", "mochi") for number in (0, 1, 10)]
    found = models_side_by_side(tmp_path, clips, "wan,mochi\n5,4\n3,3\n2,1\n")
    assert list(found.values()) == [5, 3, 2, 4, 3, 1]


@pytest.mark.parametrize("clips", [[f"{m}/{n}.mp4" for m in ("wan", "mochi") for n in (1, 2, 3)], CLIPS])
def test_rows_without_numbers_must_be_as_many_as_clips(tmp_path: Path, clips: list[str]) -> None:
    """With clip 0 of four failed, counting would begin at the wrong clip."""
    with pytest.raises(SetupError, match=r"4 rows and \d clips of wan; .* a column index"):
        models_side_by_side(tmp_path, clips, "wan,mochi\n5,4\n3,3\n2,1\n2,2\n")


@pytest.mark.parametrize("name", ["train_data.txt", "train_data.csv"])
def test_lines_without_a_header(tmp_path: Path, name: str) -> None:
    """T2VQA-DB's ``name|prompt|mos``; the same with commas."""
    lines = ["0001.mp4|a cat, a dog, and a fox|55.5", "0002.mp4|it's|20"]
    text = lines if name.endswith("txt") else ["0001.mp4,a cat,55.5", '0002.mp4,"it\'s",20']
    (tmp_path / name).write_text("\n".join(text) + "\n")
    study = read_study({"clip": ["v/0001.mp4", "v/0002.mp4"], "mss": [1, 2]}, tmp_path / name)
    assert study.ratings["rating"].tolist() == [[55.5], [20]]
    assert study.prompts == (text[0][9:].rpartition("|" if name.endswith("txt") else ",")[0], "it's")
    assert f"{name}: no header; its columns are read as clip, prompt, rating" in study.matching.notes


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "leftvote"}],
        [{"type": ["x"]}],
        {"data": []},
        {"0": {"video_a": 1}},
        [[1], ["a"]],
        [[]],
        [{"ratings": [{"rater": "x"}]}, {"ratings": 3.5}],
    ],
)
def test_what_is_none_of_them_is_an_error_in_words(tmp_path: Path, content: Any) -> None:
    with pytest.raises(SetupError):
        read_study({"clip": ["a.mp4"], "mss": [1]}, write(tmp_path / "t.json", content))
