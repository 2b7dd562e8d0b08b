"""The open description end to end: files, both protocols, what is recorded, ratings by a judge."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests import endpoint_server as server
from tests.understanding.build_models import run_main
from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered
from vmmetrics.understanding.benchmarks import favor_caption
from vmmetrics.understanding.benchmarks.favor.similarity import Similarity, installed_similarity
from vmmetrics.understanding.benchmarks.favor.upstream import FILE
from vmmetrics.understanding.benchmarks.favor_caption import BENCHMARK
from vmmetrics.understanding.harness.leaderboard import compare_runs, make_boards
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import EndpointSettings

ANNOTATIONS = {
    "AB123": {
        "caption": "The camera pans left. A man opens the door, walks in and sits down.",
        "camera_motion": "Pans left",
        "motion_list": "Subject 1: Man [Opens the door, Walks in, Sits down]",
        "chronological_motion_list": "Opens the door (Subject 1), Walks in (Subject 1), Sits down (Subject 1)",
    },
    "P01|ego_1": {
        "caption": "First-person view. The subject washes a plate and a woman laughs.",
        "camera_motion": "First-person",
        "motion_list": "Subject1: First-person subject [Washes a plate] Subject2: Woman [Laughs]",
        "chronological_motion_list": "Washes a plate (Subject1), Laughs (Subject2)",
    },
}

LISTS = {"COMMON_VERBS": ["open", "walk", "sit"], "PHRASAL_VERBS": ["sit down"], "PLURAL_FORMS": {"man": "men"}}
"""Lists of ours in the released form."""


@pytest.fixture(autouse=True)
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same results wherever the tests run."""
    monkeypatch.setattr(favor_caption, "installed_similarity", lambda: installed_similarity("words"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "FAVOR_gt_annotations.json").write_text(json.dumps(ANNOTATIONS))
    return tmp_path


def own_captions() -> dict[str, Answered]:
    return {name: Answered(name, entry["caption"]) for name, entry in ANNOTATIONS.items()}


def test_human_captions_score_high_and_others_low(data: Path) -> None:
    questions = BENCHMARK.load(data).questions
    assert [q.id for q in questions] == ["AB123", "P01|ego_1"]
    scored = BENCHMARK.score(questions, own_captions(), "vmmetrics")
    assert [entry.value for entry in scored] == [pytest.approx(1.0), pytest.approx(1.0)]
    swapped = {
        "AB123": Answered("", ANNOTATIONS["P01|ego_1"]["caption"]),
        "P01|ego_1": Answered("", "A dog digs a hole."),
    }
    assert max(entry.value or 0 for entry in BENCHMARK.score(questions, swapped, "vmmetrics")) < 0.1
    figures = BENCHMARK.figures(questions, scored, "vmmetrics")
    assert [f.measure for f in figures if f.group == "all"] == [
        "composite", "camera f1", "subject f1", "subject order", "chronology f1", "chronology order"]  # fmt: skip
    assert "overlap of words" in figures[0].note
    assert figures[0].note.startswith("values depend on wording: compare answers of one style only, or rate them with")
    assert {f.name for f in figures if f.group == "perspective"} == {"third-person", "first-person"}


def test_missing_empty_and_failed_answers(data: Path) -> None:
    questions = BENCHMARK.load(data).questions
    answers = {"AB123": Answered("AB123", "  "), "P01|ego_1": Answered("P01|ego_1", "A woman laughs.", error="gone")}
    ours = BENCHMARK.score(questions, answers, "vmmetrics")
    assert [(entry.value, entry.answered) for entry in ours] == [(0.0, False), (0.0, False)]
    theirs = BENCHMARK.score(questions, answers, "upstream")
    assert [entry.value for entry in theirs] == [None, None]
    assert BENCHMARK.figures(questions, theirs, "upstream")[0].value is None


def test_of_what_nothing_was_read_is_counted(data: Path) -> None:
    questions = BENCHMARK.load(data).questions
    answers = {
        "AB123": Answered("AB123", "视频中，一名男子走进房间。"),
        "P01|ego_1": Answered("P01|ego_1", "A woman laughs."),
    }
    scored = BENCHMARK.score(questions, answers, "vmmetrics")
    assert scored[0].value == 0
    assert "1 descriptions could not be parsed" in BENCHMARK.figures(questions, scored, "vmmetrics")[0].note
    scored = BENCHMARK.score(questions, own_captions(), "vmmetrics")
    assert "could not be parsed" not in BENCHMARK.figures(questions, scored, "vmmetrics")[0].note


def test_runs_scored_by_two_similarities_are_said_to_be(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = data / "captions.json"
    said.write_text(json.dumps({name: entry["caption"] for name, entry in ANNOTATIONS.items()}))
    for name in ("one", "two"):
        monkeypatch.setattr(favor_caption, "installed_similarity", lambda name=name: Similarity(None, name))
        command = ["understand", "run", "favor-caption", "--model", f"recorded:{said}", "--data", str(data)]
        assert run_main([*command, "--out", str(data / name)]) == 0
    notes = compare_runs(data / "one", data / "two", "vmmetrics").notes
    assert notes[0].startswith("values depend on wording: ")
    assert make_boards([data / "one"], "vmmetrics")[0].notes[0] == notes[0]
    assert any("text similarity: one" in note and "text similarity: two" in note for note in notes)
    assert not any("similarity" in note for note in compare_runs(data / "one", data / "one", "vmmetrics").notes)


def test_runs_taken_apart_in_two_ways_are_not_compared(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = data / "captions.json"
    said.write_text(json.dumps({name: entry["caption"] for name, entry in ANNOTATIONS.items()}))
    for name in ("one", "two"):
        monkeypatch.setattr(favor_caption, "_OUR_STEP", f"first step: {name}")
        command = ["understand", "run", "favor-caption", "--model", f"recorded:{said}", "--data", str(data)]
        assert run_main([*command, "--out", str(data / name)]) == 0
    line = json.loads((data / "one" / "scores.jsonl").read_text().splitlines()[0])
    assert line["detail"]["method"].startswith("first step: one; composite")
    with pytest.raises(SetupError, match=r"two ways.*: first step: one; .* and first step: two; "):
        compare_runs(data / "one", data / "two", "vmmetrics")
    with pytest.raises(SetupError, match="score both again"):
        make_boards([data / "one", data / "two"], "vmmetrics")
    assert make_boards([data / "one"], "vmmetrics")


def test_upstream_takes_the_released_first_steps_output(data: Path) -> None:
    (data / FILE).write_bytes(pickle.dumps(LISTS))
    questions = BENCHMARK.load(data).questions
    assert questions[0].reference["dictionaries"] == str(data / FILE)
    output = data / "step1.json"
    output.write_text(json.dumps({"AB123.mp4": {"model_caption": "x", "num_subjects": "", **ANNOTATIONS["AB123"]}}))
    answers = BENCHMARK.read_answers(output)
    scored = BENCHMARK.score(questions, answers, "upstream")
    assert scored[0].value == pytest.approx(1.0)
    assert scored[1].value is None
    note = BENCHMARK.figures(questions, scored, "upstream")[0].note
    assert "verb lists: released" in note
    assert "left out" in note
    assert "first step: as submitted" in note
    texts = BENCHMARK.score(questions, own_captions(), "upstream")
    note = BENCHMARK.figures(questions, texts, "upstream")[0].note
    assert "first step: ours (split 2), not the released one" in note
    assert "submit its output" in note
    (data / FILE).write_bytes(pickle.dumps({"COMMON_VERBS": ["open"]}))
    with pytest.raises(SetupError, match="PHRASAL_VERBS"):
        BENCHMARK.score(questions, answers, "upstream")


def test_predictions_come_as_a_list_or_an_object(data: Path) -> None:
    for value in (
        [{"AB123": "A man walks."}, {"P01|ego_1": "It rains."}],
        {"AB123.mp4": "A man walks.", "P01|ego_1": "It rains."},
    ):
        path = data / "predictions.json"
        path.write_text(json.dumps(value))
        read = BENCHMARK.read_answers(path)
        assert {name: answer.text for name, answer in read.items()} == {
            "AB123": "A man walks.",
            "P01|ego_1": "It rains.",
        }


def test_annotations_come_with_the_questions_too(tmp_path: Path) -> None:
    rows = [{"video_name": f"{name}.mp4", "questions": [], **entry} for name, entry in ANNOTATIONS.items()]
    (tmp_path / "video_perspective.json").write_text(json.dumps([*rows, rows[0], {"video_name": "x"}, 3]))
    loaded = BENCHMARK.load(tmp_path)
    assert [q.id for q in loaded.questions] == list(ANNOTATIONS)
    assert loaded.problems == {
        "questions whose video is missing": 2,
        "rows without annotations, left out": 2,
        "questions with a repeated key, left out": 1,
    }
    with pytest.raises(SetupError, match="annotations of FAVOR-Bench"):
        BENCHMARK.load(tmp_path / "nowhere")


def judged(body: dict[str, Any]) -> Any:
    right = "opens the door" in json.dumps(body["messages"][1]).split("Description:")[1]
    made = {"correctness_reasons": "because", "correctness": 9 if right else 2, "detailedness_reasons": "so",
            "detailedness": 8 if right else 11}  # fmt: skip
    return server.completion(json.dumps(made))


def test_a_judge_rates_beside_the_scores(data: Path, tmp_path: Path) -> None:
    script = server.Script(answer=judged)
    url, stop = server.serve(script)
    try:
        client = Client(EndpointSettings(url, "judge"), tmp_path / "replies", first_pause=0.01)
        questions = BENCHMARK.load(data).questions
        scored = BENCHMARK.score(questions, own_captions(), "vmmetrics", client)
        assert scored[0].parts["correctness"] == 9
        assert scored[0].parts["detailedness"] == 8
        assert "correctness" not in scored[1].parts  # 11 is no rating, however often it is asked for
        assert "10" in scored[1].detail["judge"]
        assert "ratings" not in script.requests[0][1]
        nothing = BENCHMARK.score(questions, {}, "vmmetrics", client)
        assert [entry.parts["correctness"] for entry in nothing] == [1, 1]
        means = {f.measure: f.value for f in BENCHMARK.figures(questions, scored, "vmmetrics") if f.group == "all"}
        assert means["correctness"] == 9
    finally:
        stop()
    with pytest.raises(SetupError, match="endpoint"):
        BENCHMARK.score(questions, own_captions(), "vmmetrics", tmp_path)


def test_published_rows() -> None:
    rows = {row.model: row.figures for row in BENCHMARK.references}
    assert rows["GPT-4o"]["composite", "all", "all"] == pytest.approx(0.495)
    assert rows["GPT-4o"]["correctness", "all", "all"] == 4.33
    # the overall composite is the perspectives' over 1,580 and 196 videos
    views = [rows["GPT-4o"]["composite", "perspective", view] for view in ("third-person", "first-person")]
    assert (views[0] * 1580 + views[1] * 196) / 1776 == pytest.approx(0.495, abs=1e-4)
