from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered, Question
from vmmetrics.understanding.benchmarks.files import listed
from vmmetrics.understanding.benchmarks.tuna import DATA
from vmmetrics.understanding.benchmarks.tuna_mcq import BENCHMARK, upstream_letter
from vmmetrics.understanding.harness.benchmark import Figure, Scored

ORDERED = "Order the items:\nA. turns\nB. runs left\nC. waves"
READ = [  # what the released code, run on these, made of them (a longer comparison found no difference in 300,000)
    ("D", "", "D"), ("Based on the frames, D", "", "B"), ("According to the video, D", "", "A"),
    ("Because it ends so (C)", "", "B"), ("Best answer: D", "", "B"), ("The best option is D", "", "D"),
    ("The answer is D.", "", "D"), ("d) turns", "", "Z"), ("nan", "", "Z"), ("it turns", ORDERED, "A"),
    ("it turns and waves", ORDERED, "Z"), ("nan", ORDERED, "Z"), ("Answer: c", "", "Z"),
    ("\n", "Which?\nA. a", "Z"), ("nan", "Which?\nA. a", "A"), ("the Camera turns", "", "C"),
    ("Option: B, not C", "", "B"),
]  # fmt: skip
TASKS = [
    ("Camera Motion", "Camera State", "High-Dynamic,Multi-Scene"),
    ("Action Sequence", "Subject Action", "Low-Dynamic"),
    ("Scene Transition", "Background Scene", "High-Dynamic"),
    ("Camera Motion", "Camera State", "High-Dynamic,Multi-Subject"),
]
RIGHT = [1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0]
RATING = {  # the released get_dimension_rating on TASKS * 3 with RIGHT
    ("all", "all"): 0.5, ("skill", "Camera State"): 0.5, ("skill", "Background Scene"): 0.333,
    ("skill", "Subject Action"): 0.667, ("task", "Camera Motion"): 0.5, ("task", "Scene Transition"): 0.333,
    ("task", "Action Sequence"): 0.667, ("characteristic", "Low-Dynamic"): 0.667,
    ("characteristic", "High-Dynamic"): 0.444, ("characteristic", "Multi-Subject"): 0.333,
    ("characteristic", "Multi-Scene"): 0.667,
    ("characteristic and skill", "High-Dynamic / Camera State"): 0.5,
    ("characteristic and skill", "High-Dynamic / Background Scene"): 0.333,
    ("characteristic and task", "High-Dynamic / Camera Motion"): 0.5,
    ("characteristic and task", "Multi-Subject / Camera Motion"): 0.333,
    ("characteristic and task", "Low-Dynamic / Action Sequence"): 0.667,
}  # fmt: skip
OPTIONS = ["it pans left", "it's still, then tilts", 'it "zooms" in', "it shakes"]


def row(index: int, place: int = 0, **given: Any) -> dict[str, Any]:
    task, skill, characteristic = TASKS[place % len(TASKS)]
    return {
        "index": index, "video_index": f"TUNA_{place + 1:04d}", "video": f"clip{place}",
        "video_path": f"./video/clip{place}.mp4", "visual_characteristic": characteristic, "skill": skill, "task": task,
        "question": f"What happens in {place}?", "answer": "B", "candidates": OPTIONS,
    } | given  # fmt: skip


def write_tsv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)


def load_tsv(folder: Path, rows: Sequence[dict[str, Any]]) -> tuple[Question, ...]:
    write_tsv(folder / "TUNA_MCQ.tsv", rows)
    return BENCHMARK.load(folder).questions


def by_name(figures: Sequence[Figure], measure: str = "accuracy") -> dict[tuple[str, str], float | None]:
    return {(figure.group, figure.name): figure.value for figure in figures if figure.measure == measure}


@pytest.mark.parametrize(("prediction", "question", "letter"), READ)
def test_released_letter(prediction: str, question: str, letter: str) -> None:
    assert upstream_letter(prediction, question) == letter


@pytest.mark.parametrize(
    "written",
    [
        OPTIONS,
        tuple(OPTIONS),
        json.dumps(OPTIONS),
        str(OPTIONS),
        str(tuple(OPTIONS)),
        str(np.array(OPTIONS, object)),
        f"\n{OPTIONS}\n",
    ],
)
def test_options_in_every_spelling(written: Any) -> None:
    assert listed(written) == list(OPTIONS)


@pytest.mark.parametrize(
    "written", ["__import__('os').system('true')", "[x for x in 'abcd']", "['a', open('x')]", "[" * 5000, "", None, 7.0]
)
def test_text_is_never_run(written: Any) -> None:
    assert listed(written) == []


def test_one_option_of_two_glued_texts_is_what_python_means_by_it() -> None:
    assert listed("['a', 'b' 'c']") == ["a", "bc"]


def test_table_json_and_parquet_are_one(tmp_path: Path) -> None:
    rows = [row(index, index) for index in range(4)]
    folders = {name: tmp_path / name for name in ("table", "json", "parquet")}
    for folder in folders.values():
        folder.mkdir()
    write_tsv(folders["table"] / "TUNA_MCQ.tsv", [{**one, "candidates": str(one["candidates"])} for one in rows])
    (folders["json"] / "TUNA-MCQ.json").write_text(json.dumps(rows))
    pytest.importorskip("pyarrow")
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    (folders["parquet"] / "tuna_mcq").mkdir()
    parquet.write_table(arrow.Table.from_pylist(rows), folders["parquet"] / "tuna_mcq" / "test-00000-of-00001.parquet")
    loaded = {name: BENCHMARK.load(folder) for name, folder in folders.items()}
    assert loaded["table"].questions == loaded["json"].questions == loaded["parquet"].questions
    first = loaded["table"].questions[0]
    assert (first.id, first.video, first.options, first.letter) == ("0", "clip0", tuple(OPTIONS), "B")
    assert first.groups["characteristic and task"] == ("High-Dynamic / Camera Motion", "Multi-Scene / Camera Motion")
    assert len(next(iter(loaded["json"].source.values()))) == 64


def test_videos_are_found_where_they_are(tmp_path: Path) -> None:
    for place, folder in enumerate(("video", "videos", ".")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"clip{place}.mp4").touch()
    write_tsv(tmp_path / "TUNA_MCQ.tsv", [row(index, index) for index in range(4)])
    loaded = BENCHMARK.load(tmp_path)
    assert [question.path is not None for question in loaded.questions] == [True, True, True, False]
    assert loaded.problems == {"questions whose video is missing": 1}


def test_dirty_rows_are_counted(tmp_path: Path) -> None:
    rows = [
        row(0, answer="(b)."),
        row(1, answer=OPTIONS[2]),
        row(2, answer=""),
        row(3, answer="E"),
        row(4, candidates="import os"),
        row(5, question=" "),
        row(0),
        row(6, task="camera motion", skill="camera_state", visual_characteristic=" low dynamic, Multi-Scene"),
        row(7, task="Camera Motion", skill="Object Attribute", visual_characteristic="Fast"),
        row(8, task="Dreams"),
        row(9, candidates=str(OPTIONS[:3])),
    ]
    write_tsv(tmp_path / "TUNA_MCQ.tsv", rows)
    loaded = BENCHMARK.load(tmp_path / "TUNA_MCQ.tsv")
    found = {question.id: question for question in loaded.questions}
    assert list(found) == ["0", "1", "2", "3", "6", "7", "8", "9"]
    assert [found[key].answer for key in found] == [1, 2, None, None, 1, 1, 1, 1]
    assert found["6"].groups["characteristic"] == ("Low-Dynamic", "Multi-Scene")
    assert found["6"].groups["task"] == ("Camera Motion",)
    assert found["7"].groups["skill"] == ("Camera State",)
    problems = dict(loaded.problems)
    assert problems.pop("questions whose video is missing") == 8
    assert problems == {
        "hidden answers": 1,
        "right answers that match no option": 1,
        "rows without a video, a question or options, left out": 2,
        "questions with a repeated key, left out": 1,
        "questions whose skill belongs to another task; the task counts": 1,
        "rows with an unknown visual characteristic": 1,
        "rows that are not either Low-Dynamic or High-Dynamic": 1,
        "questions of an unknown task": 1,
        "questions with other than 4 options": 1,
    }


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"TUNA_MCQ\.tsv"):
        BENCHMARK.load(tmp_path)
    write_tsv(tmp_path / "TUNA_MCQ.tsv", [row(0, candidates="none")])
    with pytest.raises(SetupError, match="no question of TUNA-MCQ in it: 1 rows without"):
        BENCHMARK.load(tmp_path)


def test_names_that_no_file_has_are_missing_videos(tmp_path: Path) -> None:
    names = ["x" * 300, "../outside", "a\0b", "..", ".mp4"]
    (tmp_path / "outside.mp4").touch()
    folder = tmp_path / "data"
    folder.mkdir()
    lines = [json.dumps(row(index, video=name)) for index, name in enumerate(names)]
    (folder / "tuna_mcq.jsonl").write_text("\n".join([*lines, "{torn"]))
    loaded = BENCHMARK.load(folder)
    assert [question.path for question in loaded.questions] == [None] * 4  # the last is the ending of no name
    assert loaded.problems["questions whose video is missing"] == 4
    assert loaded.problems["lines that are not JSON"] == 1


def test_what_is_said(tmp_path: Path) -> None:
    question = load_tsv(tmp_path, [row(0)])[0]
    system, user = BENCHMARK.turns(question, "vmmetrics")
    assert (system.role, user.role) == ("system", "user")
    lines = user.text.splitlines()
    assert "Question: What happens in 0?" in lines
    assert [f"{letter}. {option}" for letter, option in zip("ABCD", OPTIONS, strict=True)] == lines[-5:-1]
    assert "correct" not in user.text
    assert not any(word in user.text for word in ("High-Dynamic", "Camera Motion"))


def test_protocols_differ_where_the_released_reading_is_wrong(tmp_path: Path) -> None:
    said = ["Because of the tilt: (D)", "b)", "According to what I see, the answer is B", "", "B", "A man tilts it"]
    questions = load_tsv(tmp_path, [row(index) for index in range(len(said) + 1)])
    answers = {str(index): Answered(str(index), text) for index, text in enumerate(said)}
    ours = BENCHMARK.score(questions, answers, "vmmetrics")
    released = BENCHMARK.score(questions, answers, "upstream")
    assert [scored.value for scored in ours] == [0, 1, 1, 0, 1, 0, 0]
    assert [scored.chosen for scored in ours] == [3, 1, 1, None, 1, None, None]
    assert [scored.answered for scored in ours] == [True, True, True, False, True, False, False]
    assert [scored.value for scored in released] == [1, 0, 0, 0, 1, 0, 0]
    figures = BENCHMARK.figures(questions, ours, "vmmetrics")
    assert by_name(figures)["all", "all"] == pytest.approx(3 / 7)
    assert by_name(figures, "answered_accuracy")["all", "all"] == pytest.approx(3 / 4)
    assert figures[0].answered == pytest.approx(4 / 7)
    assert figures[0].chance == 0.25


def test_recorded_answers(tmp_path: Path) -> None:
    write_tsv(tmp_path / "a.tsv", [row(index, prediction="B" * (index != 1)) for index in range(3)])
    (tmp_path / "b.json").write_text(json.dumps({"0": "B", "1": None, "2": "B", "3": ["B"]}))
    (tmp_path / "c.jsonl").write_text(
        '\ufeff{"index": 0, "prediction": "B"}\r\n{"index": 1, "prediction": NaN}\n{"2": "B"}'
    )
    for name in ("a.tsv", "b.json", "c.jsonl"):
        answers = BENCHMARK.read_answers(tmp_path / name)
        assert {key: answered.text for key, answered in answers.items()} == {"0": "B", "1": "", "2": "B"}
    (tmp_path / "d.json").write_text("[[1, 2], 3]")
    write_tsv(tmp_path / "e.tsv", [row(0)])  # the questions: their key is no answer
    for name in ("d.json", "e.tsv"):
        with pytest.raises(SetupError, match="no answers"):
            BENCHMARK.read_answers(tmp_path / name)


def test_answers_by_the_numbers_of_the_table_where_the_questions_have_others(tmp_path: Path) -> None:
    """The released runner numbers the rows of the Parquet file anew."""
    rows = [row(0) | {"index": key} for key in ("TUNA_0001_1", "TUNA_0001_2")]
    (tmp_path / "TUNA-MCQ.json").write_text(json.dumps(rows))
    questions = BENCHMARK.load(tmp_path).questions
    answers = {"0": Answered("0", "B"), "1": Answered("1", "C")}
    assert [scored.chosen for scored in BENCHMARK.score(questions, answers, "vmmetrics")] == [1, 2]


def test_an_answer_with_an_error_is_none(tmp_path: Path) -> None:
    questions = load_tsv(tmp_path, [row(0)])
    answers = {"0": Answered("0", "B", error="cut off")}
    for protocol in ("vmmetrics", "upstream"):
        scored = BENCHMARK.score(questions, answers, protocol)[0]
        assert (scored.value, scored.answered) == (0, False)


def test_a_hidden_key_is_wrong_as_released_and_not_scored_as_ours(tmp_path: Path) -> None:
    questions = load_tsv(tmp_path, [row(0, answer=""), row(1)])
    answers = {str(index): Answered(str(index), "B") for index in range(2)}
    assert [scored.value for scored in BENCHMARK.score(questions, answers, "upstream")] == [0, 1]
    ours = BENCHMARK.score(questions, answers, "vmmetrics")
    assert [scored.value for scored in ours] == [None, 1]
    assert BENCHMARK.figures(questions, ours, "vmmetrics")[0].n == 1


def test_figures_are_the_released_ones(tmp_path: Path) -> None:
    questions = load_tsv(tmp_path, [row(index, index, video="clip") for index in range(len(RIGHT))])  # no intervals
    scored = [Scored(question.id, right) for question, right in zip(questions, RIGHT, strict=True)]
    released = by_name(BENCHMARK.figures(questions, scored, "upstream"))
    assert {key: released[key] for key in RATING} == RATING
    ours = by_name(BENCHMARK.figures(questions, scored, "vmmetrics"))
    assert {key: round(ours[key] or 0, 3) for key in RATING} == RATING


def test_published_rows_agree_with_themselves() -> None:
    """Tasks weighted by their counts give the printed average, as the facts derive: for all rows that are here."""
    counts = {task: about["n"] for task, about in DATA["mcq"]["tasks"].items()}
    assert sum(counts.values()) == 1432
    for reference in BENCHMARK.references:
        mean = sum(counts[task] * reference.figures["accuracy", "task", task] for task in counts) / 1432
        assert mean == pytest.approx(reference.figures["accuracy", "all", "all"], abs=0.006), reference.model
