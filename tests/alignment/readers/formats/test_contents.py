"""Small files in the layouts in which others release judgements, values made up here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize(
    "content",
    [
        {"wan": {"1.mp4": 4, "2.mp4": 3}, "mochi": {"1.mp4": 2}},
        {"wan": {"1": 4, "2": 3}, "mochi": {"1": 2}},
        {"wan": [1, 2], "mochi": [3, 4]},
        [{"prompt": "p", "wan": 1, "mochi": 3}],
        [[1, 2], [3, 4]],
    ],
)
def test_clips_that_no_column_names_are_refused(tmp_path: Path, content: Any) -> None:
    scores = {"clip": ["wan/1.mp4", "wan/2.mp4", "mochi/1.mp4", "mochi/2.mp4"], "mss": [1, 2, 3, 4]}
    with pytest.raises(SetupError, match=r"write rows|expected a column that names clips|expected rows"):
        read_study(scores, write(tmp_path / "t.json", content))


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
