from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered, Question
from vmmetrics.understanding.benchmarks.favor import perspective_of
from vmmetrics.understanding.benchmarks.favor_mcq import BENCHMARK, upstream_judge
from vmmetrics.understanding.benchmarks.files import stem_of

OPTIONS = ["walks", "walks left", "Walks left, then sits", "runs", " sits down."]

# What the released runner's own lines gave for these (run by hand on inputs of ours).
JUDGED = [
    ("walks", "He walks.", True),
    ("walks", "He walks left.", False),
    ("walks", "WALKS LEFT, THEN SITS", False),
    ("walks left", "The man Walks Left", True),
    ("walks left", "Walks left, then sits", True),  # longer options are looked for with case
    ("runs", str(OPTIONS), True),  # echo of all options
    ("walks", str(OPTIONS), False),
    ("runs", "", False),
    ("runs", "A. runs", True),
    (" sits down.", "sits down", False),  # the mark at the end must be there
    (" sits down.", "he sits down.", True),
    ("Walks left, then sits", "walks left, then sits!", True),
]


def question(index: int, options: list[str], correct: str, task: str = "AS") -> dict[str, object]:
    return {"question": f"What happens {index}?", "options": options, "correct_answer": correct, "task_type": task}


def nested() -> list[dict[str, object]]:
    return [
        {"video_name": "7R8ZU.mp4", "questions": [question(0, OPTIONS, "runs"), question(1, OPTIONS, "walks", "CM")]},
        {"video_name": "P01|ego_3.mp4.mp4", "questions": [question(2, OPTIONS, "sits down", "NSM")]},
    ]


def answered(texts: dict[str, str]) -> dict[str, Answered]:
    return {key: Answered(key, text) for key, text in texts.items()}


@pytest.mark.parametrize(("correct", "output", "right"), JUDGED)
def test_released_judgement(correct: str, output: str, right: bool) -> None:
    assert upstream_judge(correct, OPTIONS, output) is right


def test_names() -> None:
    assert stem_of("videos\\FAVOR-Bench\\x|1.MP4") == "x|1"
    assert perspective_of("x|1") == "first-person"
    assert perspective_of("7R8ZU") == "third-person"


def test_nested_list_and_flat_twin_are_one(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "video_perspective.json").write_text(json.dumps(nested()))
    flat = [
        {"question_key": f"{stem_of(row['video_name'])}_{index}", "video_name": row["video_name"], **item}
        for row in nested()
        for index, item in enumerate(row["questions"])  # type: ignore[arg-type, var-annotated]
    ]
    (tmp_path / "b" / "question_perspective.json").write_text(json.dumps(flat))
    with (tmp_path / "c.tsv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(flat[0]), delimiter="\t")
        table.writeheader()
        table.writerows(flat)
    first = BENCHMARK.load(tmp_path / "a")
    assert first.questions == BENCHMARK.load(tmp_path / "b").questions == BENCHMARK.load(tmp_path / "c.tsv").questions
    assert [q.id for q in first.questions] == ["7R8ZU_0", "7R8ZU_1", "P01|ego_3_0"]
    assert [q.answer for q in first.questions] == [3, 0, 4]  # the last differs in space and mark only
    assert first.questions[2].groups["perspective"] == ("first-person",)
    assert first.problems == {"questions whose video is missing": 3}


def test_videos_are_found_where_they_may_lie(tmp_path: Path) -> None:
    (tmp_path / "video_perspective.json").write_text(json.dumps(nested()))
    folder = tmp_path / "videos" / "FAVOR-Bench"
    folder.mkdir(parents=True)
    (folder / "7R8ZU.mp4").touch()
    (folder / "P01_ego_3.MP4").touch()
    loaded = BENCHMARK.load(tmp_path)
    assert [q.path and q.path.name for q in loaded.questions] == ["7R8ZU.mp4", "7R8ZU.mp4", "P01_ego_3.MP4"]
    assert not loaded.problems


def test_dirty_rows_are_counted(tmp_path: Path) -> None:
    rows = [
        *nested(),
        {"questions": []},
        7,
        {"video_name": "q", "questions": [question(0, ["one"], "one"), "no object", question(1, OPTIONS, "swims"),
                                          question(2, OPTIONS[:4], "runs", "XX"),
                                          {"question": "hidden?", "options": OPTIONS, "task_type": "as"}]},
    ]  # fmt: skip
    (tmp_path / "video_perspective.json").write_text(json.dumps(rows))
    loaded = BENCHMARK.load(tmp_path)
    assert len(loaded.questions) == 6
    assert loaded.problems == {
        "rows without a video name": 2,
        "questions without text or options, left out": 1,
        "questions that are not objects": 1,
        "right answers that match no option": 1,
        "questions with other than 5 options": 1,
        "questions of an unknown task": 1,
        "hidden answers": 1,
        "questions whose video is missing": 6,
    }
    scored = BENCHMARK.score(loaded.questions, answered({q.id: "A" for q in loaded.questions}), "vmmetrics")
    assert [entry.value for entry in scored] == [0, 1, 0, None, 0, None]
    assert next(f.n for f in BENCHMARK.figures(loaded.questions, scored, "vmmetrics")) == 4


@pytest.mark.parametrize("text", ["{", '{"a": ' * 5000])
def test_unreadable_files_are_said_to_be(tmp_path: Path, text: str) -> None:
    with pytest.raises(SetupError, match="looked for"):
        BENCHMARK.load(tmp_path)
    (tmp_path / "video_perspective.json").write_text(text)
    with pytest.raises(SetupError, match="not readable"):
        BENCHMARK.load(tmp_path)


def test_options_as_text_are_never_run(tmp_path: Path) -> None:
    bad = question(0, [], "x") | {"options": "__import__('os').system('touch pwned')"}
    (tmp_path / "video_perspective.json").write_text(json.dumps([{"video_name": "a", "questions": [bad]}]))
    with pytest.raises(SetupError, match="1 questions without text or options"):
        BENCHMARK.load(tmp_path)


def test_what_is_asked(tmp_path: Path) -> None:
    (tmp_path / "video_perspective.json").write_text(json.dumps(nested()))
    asked = BENCHMARK.load(tmp_path).questions[0]
    (ours,) = BENCHMARK.turns(asked, "vmmetrics")
    (released,) = BENCHMARK.turns(asked, "upstream")
    assert "C. Walks left, then sits\n" in ours.text
    assert str(OPTIONS) in released.text
    assert "A. " not in released.text


def made(count: int, seed: int = 0) -> list[Question]:
    rng = random.Random(seed)
    tasks = ["AS", "HAC", "SAD", "MAD", "CM"]
    questions = []
    for index in range(count):
        video = f"v{index % 1776}" + ("|e" if index % 9 == 0 else "")
        view, task = perspective_of(video), rng.choice(tasks)
        options = tuple(f"option {place} of {index} does things" for place in range(5))
        groups = {"task": (task,), "perspective": (view,), "perspective and task": (f"{view} {task}",)}
        answer = rng.randrange(5)
        questions.append(Question(str(index), video, "?", options, answer, groups,
                                  reference={"answer": options[answer]}))  # fmt: skip
    return questions


@pytest.mark.parametrize("protocol", ["vmmetrics", "upstream"])
def test_as_many_answers_as_the_benchmark_has(protocol: str) -> None:
    questions = made(8184)
    answers = answered({q.id: q.options[(int(q.id) * 7) % 5] for q in questions})
    scored = BENCHMARK.score(questions, answers, protocol)  # type: ignore[arg-type]
    figures = BENCHMARK.figures(questions, scored, protocol)  # type: ignore[arg-type]
    by_hand = sum(q.answer == (int(q.id) * 7) % 5 for q in questions) / 8184
    assert figures[0].value == pytest.approx(by_hand, abs=5e-5)


def test_figures_of_a_partial_run() -> None:
    questions = made(200)
    half = answered({q.id: f"({q.letter})" for q in questions[:100]} | {q.id: "no idea" for q in questions[100:150]})
    figures = {(f.group, f.name, f.measure): f for f in
               BENCHMARK.figures(questions, BENCHMARK.score(questions, half, "vmmetrics"), "vmmetrics")}  # fmt: skip
    accuracy = figures["all", "all", "accuracy"]
    assert (accuracy.value, accuracy.n, accuracy.answered, accuracy.chance) == (0.5, 200, 0.5, pytest.approx(0.2))
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert 0.4 < accuracy.low < 0.5 < accuracy.high < 0.6
    assert figures["all", "all", "answered_accuracy"].value == 1
    ego = figures["perspective", "first-person", "accuracy"]
    assert ego.n == sum("|" in q.video for q in questions)


def test_released_denominators_are_fixed() -> None:
    questions = made(200)
    texts = answered({q.id: q.options[q.answer or 0] for q in questions})
    figures = BENCHMARK.figures(questions, BENCHMARK.score(questions, texts, "upstream"), "upstream")
    assert [f.name for f in figures] == ["all", "AS", "HAC", "SAD", "MAD", "CM", "NSM"]
    assert figures[0].value == pytest.approx(round(200 / 8184 * 100, 2) / 100)
    asked = sum(q.groups["task"] == ("AS",) for q in questions)
    assert figures[1].value == pytest.approx(round(asked / 2637 * 100, 2) / 100)
    assert "2637" in figures[1].note


def test_one_video_has_no_interval() -> None:
    questions = [q for q in made(4000) if q.video == "v5"]
    scored = BENCHMARK.score(questions, answered({q.id: "A" for q in questions}), "vmmetrics")
    figure = BENCHMARK.figures(questions, scored, "vmmetrics")[0]
    assert (figure.low, figure.high, figure.clusters) == (None, None, 1)
    assert "no interval" in figure.note


def test_published_rows_stand_beside() -> None:
    rows = {row.model: row for row in BENCHMARK.references}
    assert rows["GPT-4o"].figures["accuracy", "all", "all"] == pytest.approx(0.4118)
    assert rows["GPT-4o"].figures["accuracy", "perspective and task", "first-person AS"] == pytest.approx(0.459)
    assert ("accuracy", "perspective", "first-person") not in rows["people"].figures
    # GPT-4o's overall accuracy is its two perspectives' over their counts
    views = rows["GPT-4o"].figures
    both = [views["accuracy", "perspective", view] * n for view, n in (("third-person", 7288), ("first-person", 896))]
    assert sum(both) / 8184 == pytest.approx(views["accuracy", "all", "all"], abs=1e-4)


def test_perfect_answers_reproduce_counts() -> None:
    """Counts by task and perspective in the data file add up as the paper's do."""
    import tomllib

    path = Path(__file__).parents[3] / "vmmetrics" / "understanding" / "benchmarks" / "favor.toml"
    mcq = tomllib.loads(path.read_text())["mcq"]
    tasks = list(mcq["tasks"])
    assert sum(mcq["released"][task] for task in tasks) == mcq["released"]["all"] == 8184
    for task in tasks:
        assert sum(view.get(task, 0) for view in mcq["counts"].values()) == mcq["released"][task]
