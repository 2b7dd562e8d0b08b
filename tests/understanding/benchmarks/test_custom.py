"""Questions of one's own: the form, what is counted, and a run from end to end."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bad_inputs import write_video
from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered, Question
from vmmetrics.understanding import registry
from vmmetrics.understanding.benchmarks.custom import line_of, read_question

CUSTOM = registry.find("custom")
ROW = {"id": "1", "video": "v", "text": "Which way?", "options": ["left", "right"], "answer": "B"}


def write(folder: Path, *rows: Any, name: str = "questions.jsonl") -> Path:
    path = folder / name
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_a_question_is_read(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").touch()
    more = {"path": "clip.mp4", "start": 1, "end": 2.5, "groups": {"task": ["CM"], "kind": "x"}, "reference": {"k": 1}}
    write(tmp_path, ROW | more)
    loaded = CUSTOM.load(tmp_path)
    (found,) = loaded.questions
    assert found == Question(
        "1", "v", "Which way?", ("left", "right"), 1, {"task": ("CM",), "kind": ("x",)}, tmp_path / "clip.mp4", 1, 2.5,
        {"k": 1},
    )  # fmt: skip
    assert loaded.problems == {} and len(next(iter(loaded.source.values()))) == 64
    (turn,) = CUSTOM.turns(found, "vmmetrics")
    assert "Which way?\nA. left\nB. right\n" in turn.text


def test_what_is_off_is_counted_and_never_fatal(tmp_path: Path) -> None:
    rows = [ROW, ROW, ROW | {"id": "2", "answer": None}, ROW | {"id": "3", "answer": "C"},
            ROW | {"id": "4", "options": []}, [1], {"id": 5}, ROW | {"id": "6", "options": "left"},
            '{"id": "torn', ROW | {"id": 0, "groups": {"task": None, "kind": ["x", ""]}}]  # fmt: skip
    loaded = CUSTOM.load(write(tmp_path, *rows))
    assert [(q.id, q.answer) for q in loaded.questions] == [("1", 1), ("2", None), ("3", None), ("0", 1)]
    assert loaded.questions[-1].groups == {"kind": ("x",)}
    assert loaded.problems == {
        "questions with a repeated key, left out": 1,
        "lines that are not objects, left out": 1,
        "lines without id, video, text or options, left out": 3,
        "right answers that are not the letter of an option": 1,
        "hidden answers": 2,
        "questions whose video is missing": 4,
        "lines that are not JSON": 1,
    }


def test_nothing_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="looked for"):
        CUSTOM.load(tmp_path)
    with pytest.raises(SetupError, match="no question of this form"):
        CUSTOM.load(write(tmp_path, {"id": 1}))


@pytest.mark.parametrize("name", ["clip.mp4", "clip", "sub/clip.mp4"])
def test_videos_are_found_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "clip.mp4").touch()
    path = write(tmp_path, ROW | {"path": name})
    assert CUSTOM.load(path, tmp_path / "videos").questions[0].path == tmp_path / "videos" / "clip.mp4"


def test_a_folder_of_frames_is_a_video_if_there_is_no_file_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    assert CUSTOM.load(write(tmp_path, ROW)).questions[0].path is None
    (tmp_path / "v" / "1.png").touch()
    assert CUSTOM.load(tmp_path).questions[0].path == tmp_path / "v"
    (tmp_path / "v.gif").touch()
    assert CUSTOM.load(tmp_path).questions[0].path == tmp_path / "v.gif"


def test_a_name_that_no_file_can_have_is_a_missing_video(tmp_path: Path) -> None:
    loaded = CUSTOM.load(write(tmp_path, ROW | {"path": "x" * 5000}))
    assert loaded.problems == {"questions whose video is missing": 1}


TEXT = st.text(min_size=1, max_size=8).filter(lambda text: text.strip() == text and "\x00" not in text and text)
QUESTIONS = st.builds(
    Question,
    TEXT, TEXT, TEXT, st.lists(TEXT, min_size=2, max_size=6).map(tuple), st.sampled_from([None, 0, 1]),
    st.dictionaries(TEXT, st.lists(TEXT, min_size=1, max_size=2).map(tuple), max_size=2),
    start=st.none() | st.floats(0, 1e6), end=st.none() | st.floats(0, 1e6),
    reference=st.dictionaries(TEXT, st.integers(), max_size=2),
)  # fmt: skip


@given(QUESTIONS)
def test_what_is_written_is_read(question: Question) -> None:
    line = json.loads(json.dumps(line_of(question)))
    assert read_question(line, [], Counter()) == question


def test_paths_below_the_folder_are_written_from_there(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    video = tmp_path / "out" / "v.mp4"
    question = Question("1", "v", "?", ("a", "b"), 0, path=video)
    assert line_of(question, tmp_path / "out")["path"] == "v.mp4"
    assert line_of(question, tmp_path / "other")["path"] == str(video)


def test_scores_by_hand() -> None:
    questions = [Question(str(n), f"v{n % 2}", "?", ("left", "right"), n % 2, {"task": ("CM",)}) for n in range(4)]
    answers = {"0": Answered("0", "A"), "1": Answered("1", "(A)"), "2": Answered("2", "no idea")}
    scored = CUSTOM.score(questions, answers, "vmmetrics")
    assert [(s.value, s.chosen, s.answered) for s in scored] == [
        (1, 0, True),
        (0, 0, True),
        (0, None, False),
        (0, None, False),
    ]
    figures = {(f.group, f.name, f.measure): f.value for f in CUSTOM.figures(questions, scored, "vmmetrics")}
    assert figures["all", "all", "accuracy"] == 0.25 and figures["all", "all", "answered_accuracy"] == 0.5
    assert figures["task", "CM", "accuracy"] == 0.25


def test_a_run_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_video(tmp_path / "v.mp4", np.full((10, 32, 32, 3), 90, np.uint8))
    write(tmp_path, *(ROW | {"id": str(n), "groups": {"task": ["CM"]}} for n in range(6)))
    recorded = tmp_path / "answers.json"
    recorded.write_text(json.dumps({str(n): "B" if n < 4 else "A" for n in range(6)}))
    arguments = ["--data", str(tmp_path / "questions.jsonl"), "--model", f"recorded:{recorded}", "--out"]
    main_ok(["understand", "run", "custom", *arguments, str(tmp_path / "run")])
    assert "custom: recorded" in capsys.readouterr().out
    figures = json.loads((tmp_path / "run" / "figures.json").read_text())["figures"]
    assert next(f for f in figures if f["measure"] == "accuracy")["value"] == pytest.approx(4 / 6)


def main_ok(arguments: list[str]) -> None:
    try:
        main(arguments)
    except SystemExit as stop:
        assert not stop.code
