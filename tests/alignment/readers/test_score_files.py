"""Scores in the forms in which other programs release them; every file is made here, with values of our own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers import score_files
from vmmetrics.alignment.readers.read import read_study
from vmmetrics.alignment.readers.score_tables import SourceScores
from vmmetrics.alignment.readers.scores import read_scores, turned
from vmmetrics.errors import SetupError

PROMPTS = ("a dog runs on a beach", "a cat plays the piano")


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def dimension(folder: str, values: list[Any], mean: float = 0.5, **more: Any) -> list[Any]:
    """A dimension as VBench writes it: its mean, and an entry per clip."""
    clips = [f"{folder}/{prompt}-0.mp4" for prompt in PROMPTS]
    return [mean, [{"video_path": c, "video_results": v, **more} for c, v in zip(clips, values, strict=True)]]


def column(scores: SourceScores, metric: str) -> dict[str, float]:
    return {clip: float(value) for clip, value in zip(scores.clips, scores.values[metric], strict=True)}


def test_results_of_vbench(tmp_path: Path) -> None:
    content = {
        "imaging_quality": dimension("./videos/wan", [71.5, 60.25], mean=0.65875),  # the mean is scaled, clips are not
        "dynamic_degree": dimension("./videos/wan", [True, False]),
        "subject_consistency": dimension("./videos/wan", [0.5, 0.75], video_sim=9.0, cnt=16),
        "Human Action": dimension("./videos/wan", [True, None]),
    }
    scores = read_scores(write(tmp_path / "results_2025-01-01-10:00:00_eval_results.json", content))
    assert scores.clips == tuple(f"./videos/wan/{prompt}-0.mp4" for prompt in PROMPTS)
    assert scores.prompts == PROMPTS  # from VBench's names
    assert set(scores.models) == {"wan"}
    np.testing.assert_array_equal(scores.values["imaging_quality"], [71.5, 60.25])
    np.testing.assert_array_equal(scores.values["dynamic_degree"], [1, 0])
    np.testing.assert_array_equal(scores.values["human_action"], [1, np.nan])
    assert set(scores.values) == {"imaging_quality", "dynamic_degree", "subject_consistency", "human_action"}
    (roles,) = scores.columns.values()
    assert roles["video_path"] == "clip"
    assert roles["Human Action"] == "score human_action"
    assert "mean of all clips" in roles["first entry of a dimension"]
    study = read_study(tmp_path / "results_2025-01-01-10:00:00_eval_results.json",
                       {"clip": [f"{p}-0" for p in PROMPTS], "smoothness": [5, 2]})  # fmt: skip
    assert study.prompts == PROMPTS


def test_prompts_come_from_the_list_beside_the_results(tmp_path: Path) -> None:
    clip = "v/clip.mp4"
    results = {"motion_smoothness": [0.5, [{"video_path": clip, "video_results": 0.5}]]}
    write(tmp_path / "x_full_info.json", [{"prompt_en": "a dog", "dimension": ["scene"], "video_list": [clip]}])
    assert read_scores(write(tmp_path / "x_eval_results.json", results)).prompts == ("a dog",)


@pytest.mark.parametrize("given", ["the folder", "its files"])
def test_a_file_for_each_dimension_and_model(tmp_path: Path, given: str) -> None:
    files = [
        write(tmp_path / "a_eval_results.json", {"motion_smoothness": dimension("videos/wan", [0.5, 0.25])}),
        write(tmp_path / "b_eval_results.json", {"dynamic_degree": dimension("videos/wan", [True, False])}),
        write(tmp_path / "c_eval_results.json", {"motion_smoothness": dimension("videos/mochi", [1.0, 0.75])}),
    ]
    write(tmp_path / "config.json", {"seed": 1})
    scores = read_scores(tmp_path if given == "the folder" else files)
    assert set(scores.values) == {"motion_smoothness", "dynamic_degree"}
    assert column(scores, "motion_smoothness") == {
        f"videos/{model}/{prompt}-0.mp4": value
        for (model, prompt), value in zip(
            [(m, p) for m in ("wan", "mochi") for p in PROMPTS], [0.5, 0.25, 1.0, 0.75], strict=True
        )
    }
    assert sorted(set(map(str, scores.models))) == ["mochi", "wan"]


def test_folders_are_models_where_clips_have_the_same_names(tmp_path: Path) -> None:
    for model, values in (("wan", [0.5, 0.25]), ("mochi", [1.0, 0.75])):
        write(tmp_path / model / "r_eval_results.json", {"motion_smoothness": dimension("./videos", values)})
    scores = read_scores(tmp_path)
    assert scores.models == ("mochi", "mochi", "wan", "wan")
    np.testing.assert_array_equal(scores.values["motion_smoothness"], [1.0, 0.75, 0.5, 0.25])
    assert len(set(scores.clips)) == 4
    (tmp_path / "mochi" / "r_eval_results.json").rename(tmp_path / "wan" / "again_eval_results.json")
    with pytest.raises(SetupError, match=r"again_eval_results\.json and r_eval_results\.json give .* different scores"):
        read_scores(tmp_path)


@pytest.mark.parametrize("given", ["the folder", "all files", "one metric"])
def test_results_of_fetv(tmp_path: Path, given: str) -> None:
    root, files = tmp_path / "auto_eval_results", []
    for m, metric in enumerate(("UMTScore", "Otter-VQA")):
        for g, model in enumerate(("cogvideo", "ground-truth")):
            content = {str(sentence): 10 * m + g + sentence / 4 for sentence in range(3)}
            files.append(write(root / metric / f"auto_eval_results_{model}.json", content))
    scores = read_scores({"the folder": root, "all files": files, "one metric": root / "UMTScore"}[given])
    assert set(scores.values) == {"UMTScore"} | (set() if given == "one metric" else {"Otter-VQA"})
    assert column(scores, "UMTScore") == {
        f"{model}/{sentence}": g + sentence / 4
        for g, model in enumerate(("cogvideo", "ground-truth")) for sentence in range(3)
    }  # fmt: skip
    if given != "one metric":
        assert column(scores, "Otter-VQA")["ground-truth/2"] == 11.5
    assert set(scores.models) == {"cogvideo", "ground-truth"}


def test_a_score_for_each_clip_is_called_as_its_file(tmp_path: Path) -> None:
    scores = read_scores(write(tmp_path / "mss.json", {"a.mp4": 0.5, "b.mp4": None}))
    assert set(scores.values) == {"mss"} and scores.clips == ("a.mp4", "b.mp4")


@pytest.mark.parametrize("values", [[0.5, 0.25], [1.0, 0.75]])
def test_one_file_name_in_several_folders_is_of_several_models_whatever_the_scores(
    tmp_path: Path, values: list[float]
) -> None:
    for model, scored in (("wan", [0.5, 0.25]), ("mochi", values)):
        write(tmp_path / model / "r_eval_results.json", {"motion_smoothness": dimension("./videos", scored)})
    scores = read_scores(tmp_path)
    assert scores.models == ("mochi", "mochi", "wan", "wan")
    np.testing.assert_array_equal(scores.values["motion_smoothness"], [*values, 0.5, 0.25])


NESTED = [
    {"wan": {"1.mp4": 0.5, "2.mp4": 0.25}, "mochi": {"1.mp4": 1, "2.mp4": 0}},
    {"mss": {"1.mp4": 0.5, "2.mp4": 0.25}},
    {"wan": {"1": {"mss": 0.5}, "2": {"mss": 1}}},
]


@pytest.mark.parametrize("content", NESTED)
def test_clips_under_models_or_metrics_are_refused(tmp_path: Path, content: Any) -> None:
    for source in (write(tmp_path / "score.json", content), content):
        with pytest.raises(SetupError, match=r"names of clips .* write rows"):
            read_scores(source)


def test_scores_nested_by_clip(tmp_path: Path) -> None:
    by_clip = {"a": {"mss": 0.5, "motion_consistency": 1, "fps": 8}, "b": {"mss": 0.25, "motion_consistency": 0}}
    scores = read_scores(write(tmp_path / "x.json", by_clip))
    assert scores.clips == ("a", "b")
    assert set(scores.values) == {"mss", "motion_consistency"}
    np.testing.assert_array_equal(scores.values["motion_consistency"], [1, 0])


def test_logs_of_evalcrafter(tmp_path: Path) -> None:
    lines = [
        "2024-04-07 10:00:00 Vid: 0001.mp4,  Current flow_score: 1.5, Current avg. flow_score: 1.5 ",
        "2024-04-07 10:00:01 Vid: 0000.mp4,  Current flow_score: 2.5e-1, Current avg. flow_score: 0.875 ",
        "2024-04-07 10:00:02 Final average flow_score: 0.875, Total videos: 2",
    ]
    write(tmp_path / "flow_score_record.txt", "\n".join(lines))
    warping = "Vid: 0000.mp4,  Current warping_error: tensor(0.5, device='cuda:0'), Current avg. warping_error: 0.5 "
    write(tmp_path / "warping_error_record.txt", f"2024-04-07 10:00:00 {warping}\n")
    write(tmp_path / "IS_record.txt", "2024-04-07 10:00:00 IS: 17.5, std: 0.5\n")
    write(tmp_path / "dover.csv", "path, aesthetic score, technical score, overall/final score\n"
          "0000, 51.5, 60.25,55.0\n0001, 40.0, 30.0,35.0\nAvg. scores: 45.75, 45.125,45.0\n")  # fmt: skip
    scores = read_scores(tmp_path)
    assert column(scores, "flow_score") == {"0000.mp4": 0.25, "0001.mp4": 1.5}
    assert column(scores, "VQA_A") == {"0000.mp4": 51.5, "0001.mp4": 40}
    assert scores.values["warping_error"][scores.clips.index("0000.mp4")] == -0.5  # lower is better
    assert any("IS_record.txt" in note for note in scores.notes)
    once = turned(read_scores(tmp_path / "warping_error_record.txt"), ["warping_error"])
    np.testing.assert_array_equal(once.values["warping_error"], [-0.5])  # and is not turned back


def test_true_and_false_in_a_table() -> None:
    scores = read_scores({"clip": ["a", "b", "c"], "moves": [True, False, None], "passed": ["True", "False", "True"]})
    np.testing.assert_array_equal(scores.values["moves"], [1, 0, np.nan])
    np.testing.assert_array_equal(scores.values["passed"], [1, 0, 1])


def test_a_run_without_its_folder(tmp_path: Path) -> None:
    line = {"clip": "a.mp4", "model": "wan", "path": "/a.mp4", "preset": "p", "scores": {"mss": 0.5}, "frames": 16}
    scores = read_scores(write(tmp_path / "scores.jsonl", json.dumps(line) + "\n"))
    assert column(scores, "mss") == {"a.mp4": 0.5}
    assert set(scores.values) == {"mss"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"readme.txt": "hello"}, r"holds no scores by clip: found readme\.txt; expected run\.json"),
        ({"x_eval_results.json": {"motion_smoothness": 0.5}}, "one number for each of motion_smoothness and no clips"),
        ({"run1/run.json": {}}, "holds run directories; give them one by one: .*run1"),
        ({}, "found nothing; expected"),
    ],
)
def test_folders_without_scores(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    for name, content in files.items():
        write(tmp_path / name, content)
    with pytest.raises(SetupError, match=message):
        read_scores(tmp_path)


def test_files_without_scores(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="one number for each of motion_smoothness, dynamic_degree and no clips"):
        read_scores(write(tmp_path / "final.json", {"motion_smoothness": 0.5, "dynamic_degree": 1}))
    with pytest.raises(SetupError, match="no line 'Vid: CLIP"):
        read_scores(write(tmp_path / "IS_record.txt", "nothing"))
    for content in ([0.5, 1, None], {"mss": [0.5, 1]}):
        with pytest.raises(SetupError, match="numbers without clips, which do not say whose they are"):
            read_scores(write(tmp_path / "list.json", content))
    assert read_scores(write(tmp_path / "list.json", {"clip": [1, 2], "mss": [0.5, 1]})).clips == ("1", "2")
    with pytest.raises(SetupError, match=r"expected \{sentence: score\}"):
        read_scores(write(tmp_path / "UMTScore" / "auto_eval_results_wan.json", {"0": [1, 2]}))
    with pytest.raises(SetupError, match=r"no column holds scores: clip \(clip\), note \(passed over: not numbers\)"):
        read_scores({"clip": ["a"], "note": ["fine"]})


def test_columns_of_bookkeeping_in_nested_scores_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    content = {"1.mp4": {"mss": 0.5, "height": 480}, "2.mp4": {"mss": 0.25, "height": 720}}
    path = write(tmp_path / "x.json", content)
    for source in (path, content):
        assert read_scores(source, metrics=["height"]).values["height"].tolist() == [480, 720]


def test_a_long_line_of_a_log_is_passed_over_at_once(tmp_path: Path) -> None:
    good = "Vid: 0001.mp4,  Current flow_score: 1.5, Current avg. flow_score: 1.5"
    path = write(tmp_path / "flow_score_record.txt", f"{'Vid:a ' * 20000}\n{good}\n")
    began = perf_counter()
    assert read_scores(path).clips == ("0001.mp4",)
    assert perf_counter() - began < 1  # the square of the line's length would be many seconds


def test_only_so_many_files_of_a_folder_are_visited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_files, "MOST_FILES", 5)
    for number in range(50):
        results = {"motion_smoothness": dimension("./videos", [number, 0])}
        write(tmp_path / f"{number:02}" / "a_eval_results.json", results)
    visited: list[str] = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (visited.append(path), real(path))[1])
    scores = read_scores(tmp_path)
    assert len(scores.clips) == 10 and len(visited) < 12
