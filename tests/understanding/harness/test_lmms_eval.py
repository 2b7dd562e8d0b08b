"""Questions as a task of lmms-eval: what the files say, and its sample log, made by hand here, on the way back."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.cli.main import main
from vmmetrics.models.questions import LoadedBenchmark, Question
from vmmetrics.understanding import registry
from vmmetrics.understanding.harness.lmms_eval import write_task
from vmmetrics.understanding.harness.lmms_task import letter_of

OPTIONS = ["left", "right", "it stays"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six questions of one's own about three videos, one of them missing, and one about a part of a video."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"q{n}", "video": f"v{n % 3}", "path": f"v{n % 3}.mp4", "text": "Which way?\nLook well.",
         "options": OPTIONS, "answer": "ABC"[n % 3], "groups": {"task": ["turn"]}}
        for n in range(6)
    ]  # fmt: skip
    rows[2]["answer"] = None
    rows[3] |= {"start": 1, "end": 2}
    rows[5] |= {"path": "gone.mp4", "video": "gone"}
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("v0", "v1", "v2"):
        (folder / f"{name}.mp4").write_bytes(b"video")
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def understand(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as end:
        main(["understand", *arguments])
    return int(str(end.value.code or 0))


def task(folder: Path) -> tuple[str, list[dict[str, Any]], Any]:
    """The YAML file, the questions, and the functions, imported from the folder as lmms-eval does."""
    spec = importlib.util.spec_from_file_location("vmmetrics_tasks", folder / "vmmetrics_tasks.py")
    assert spec is not None and spec.loader is not None
    functions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(functions)
    rows = [json.loads(line) for line in (folder / "vmmetrics_custom.jsonl").read_text("utf-8").splitlines()]
    return (folder / "vmmetrics_custom.yaml").read_text("utf-8"), rows, functions


def written(data: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, list[dict[str, Any]], Any]:
    assert understand(["lmms-eval", "custom", "--data", str(data), "--out", "tasks"]) == 0
    shown = capsys.readouterr()
    assert "1 questions whose video is missing" in shown.err
    assert "1 questions about a part of a video" in shown.err
    assert "--include_path tasks --tasks vmmetrics_custom --log_samples" in shown.out
    return task(Path("tasks"))


def test_the_files_of_a_task(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text, rows, functions = written(data, capsys)
    assert "task: vmmetrics_custom\n" in text
    assert f'test: "{Path("tasks/vmmetrics_custom.jsonl").resolve()}"\n' in text
    names = {line.split("!function vmmetrics_tasks.")[1] for line in text.splitlines() if "!function" in line}
    assert all(callable(getattr(functions, name)) for name in names) and len(names) == 5
    assert [row["id"] for row in rows] == ["q0", "q1", "q2", "q4"]
    assert len({tuple(row) for row in rows}) == 1  # one form, or no table can be made of them
    question = registry.find("custom").load(data).questions[0]
    (turn,) = registry.find("custom").turns(question, "vmmetrics")
    assert functions.doc_to_text(rows[0]) == turn.text
    assert functions.doc_to_text(rows[0], {"pre_prompt": "<", "post_prompt": ">"}) == f"<{turn.text}>"
    assert [functions.doc_to_target(row) for row in rows] == ["A", "B", "", "B"]
    assert functions.doc_to_visual(rows[1]) == [str((data / "v1.mp4").resolve())]
    other = data.parent / "elsewhere"
    other.mkdir()
    (other / "v1.mp4").touch()
    monkeypatch.setenv("VMMETRICS_VIDEOS", str(other))
    assert functions.doc_to_visual(rows[1]) == [str(other / "v1.mp4")]
    with pytest.raises(FileNotFoundError, match="set VMMETRICS_VIDEOS=FOLDER to"):
        functions.doc_to_visual(rows[0])


def test_the_functions_need_nothing_but_python(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(data, capsys)
    code = (
        "import runpy, sys; runpy.run_path('tasks/vmmetrics_tasks.py'); assert not any('vmm' in m for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_a_sample_log_comes_back(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, rows, functions = written(data, capsys)
    said = ["A", "<think>left? A</think>The answer is (C).", "B", "right"]
    scored = [functions.process_results(row, [text]) for row, text in zip(rows, said, strict=True)]
    assert functions.mean([entry["vmmetrics_accuracy"] for entry in scored]) == pytest.approx(
        2 / 3
    )  # one key is hidden
    assert math.isnan(functions.mean([{"right": None}]))
    lines = [
        {"doc_id": n, "target": functions.doc_to_target(row), "filtered_resps": text, **entry, "input": row["prompt"]}
        for n, (row, text, entry) in enumerate(zip(rows, said, scored, strict=True))
    ]
    Path("20260101_samples_vmmetrics_custom.jsonl").write_text("".join(json.dumps(x) + "\n" for x in reversed(lines)))
    log = "recorded:20260101_samples_vmmetrics_custom.jsonl"
    assert (
        understand(["run", "custom", "--data", str(data), "--model", log, "--out", "run"]) == 3
    )  # q3, q5 are not there
    answers = {a["question"]: a for a in map(json.loads, Path("run/answers.jsonl").read_text().splitlines())}
    assert {key: answer["text"] for key, answer in answers.items() if "error" not in answer} == dict(
        zip(("q0", "q1", "q2", "q4"), said, strict=True)
    )
    figures = json.loads(Path("run/figures.json").read_text())["figures"]
    overall = next(f for f in figures if (f["group"], f["measure"]) == ("all", "accuracy"))
    assert overall["value"] == pytest.approx(2 / 5)  # q3 and q5 have no answer and count as wrong, q2 has no key


def test_what_lmms_eval_would_show_otherwise_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    custom = registry.find("custom")
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / name).touch()
    (tmp_path / "frames").mkdir()
    questions = tuple(
        Question(name, name, "Which way?", ("left", "right"), 0, path=tmp_path / name)
        for name in ("a.mp4", "b.mp4", "frames")
    )
    monkeypatch.setattr(type(custom), "policy_for", lambda _, q: "2 fps slowed 4" if q.id == "b.mp4" else None)
    task = write_task(custom, LoadedBenchmark(questions), tmp_path / "tasks")
    assert task.questions == 1
    assert {reason.split(" about ")[1].split(",")[0] for reason in task.left_out} == {
        "a folder of frames",
        "a slowed video",
    }


@pytest.mark.parametrize(
    ("said", "letter"),
    [("B", "B"), ("(b)", None), ("C. it stays", "C"), ("A man turns right", None), ("RIGHT", "B"), ("D", None),
     ("The answer is **A**.", "A"), ("<think>A</think> B", "B"), ("", None), ("Answer: B", "B"),
     ("Answer: **B**", "B"), ("**Answer:** B", "B"), ("Final Answer: (B)", "B"), ("Option B", "B"),
     ("The correct answer is: B. it turns right", "B"), ("The answer is B because it turns", "B"),
     ("answer is A man falls", None), ("The answer is A, as it turns", "A"), ("The answer: a man falls", None),
     ("The options are A and B", None), ("Answer:\n\nB", "B")],
)  # fmt: skip
def test_letters_of_answers(said: str, letter: str | None) -> None:
    assert letter_of(said, OPTIONS) == letter


def test_what_cannot_be_written(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine/utils.py").touch()
    assert understand(["lmms-eval", "custom", "--data", str(data), "--out", "mine"]) == 2
    assert "holds other files" in capsys.readouterr().err
    for video in data.glob("*.mp4"):
        video.unlink()
    assert understand(["lmms-eval", "custom", "--data", str(data), "--out", "tasks"]) == 2
    assert "can ask no question of custom: 6 questions whose video is missing" in capsys.readouterr().err
