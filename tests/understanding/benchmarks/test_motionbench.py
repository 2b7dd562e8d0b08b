from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered
from vmmetrics.models.recorded import released_answers
from vmmetrics.understanding.benchmarks.motionbench import (
    BENCHMARK,
    polish,
    released_figures,
    split_options,
)

# What the released tools gave for these texts of ours (run on THUDM/MotionBench dcc9b07).
POLISHED = {
    "(A) x": "A", "A. x": "A", "Answer: (C)": "C", "The answer is B": "T", "**C**": "*", "b": "b", "foo (x) (B)": "x",
    ")A": "", "": "", "  (D": "D", "((B)": "", "C) because (A)": "C", "\tE": "E", "( A )": "A", "A(B": "B",
}  # fmt: skip


def text(count: int = 4) -> str:
    return "\n".join(["What does it do?", *(f"{letter}. it does {letter}" for letter in "ABCDEF"[:count])])


def record(name: str, kind: str, *answers: str, uid: str = "", **more: Any) -> dict[str, Any]:
    qa = [{"uid": f"{uid or name}_{k}", "question": text(), "answer": key} for k, key in enumerate(answers)]
    return {"question_type": kind, "key": name, "video_path": f"{name}.mp4", "qa": qa, **more}


RECORDS = [
    record("a", "Motion Recognition", "A"),
    record("b", "Motion Recognition", "B"),
    record("c", "Motion Recognition", "C"),
    record("d", "Camera Motion", "D"),
    record("e", "Camera Motion", "A"),
    record("f", "Action Order", "NA"),
    record("g", "Repetition Count", "NA"),
    record("h", "Repetition Count", "B"),
]
RAW = [
    {"a_0": "(A) it does"}, {"b_0": "The answer is B"}, {"c_0": "x"}, {"c_0": "C. it does C"}, {"d_0": "D"},
    {"d_0": "(A)"}, {"e_0": "**A**"}, {"f_0": "B"}, {"h_0": None}, {"zz": "A"},
    {"a_0": "no idea"},
]  # fmt: skip
# What the released tools gave for the two lists above.
RELEASED_LETTERS = {
    "a_0": "A", "b_0": "T", "c_0": "C", "d_0": "D", "e_0": "*", "f_0": "B", "h_0": "", "zz": "A",
}  # fmt: skip


def write(folder: Path, records: list[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "video_info.meta.jsonl").write_text("\n".join(map(json.dumps, records)))
    return folder


def answered(**texts: str) -> dict[str, Answered]:
    return {key: Answered(key, said) for key, said in texts.items()}


@pytest.mark.parametrize(("said", "letter"), POLISHED.items())
def test_released_letters(said: str, letter: str) -> None:
    assert polish(said) == letter


def test_released_accuracy(tmp_path: Path) -> None:
    loaded = BENCHMARK.load(write(tmp_path, RECORDS))
    (tmp_path / "raw.jsonl").write_text("\n".join(map(json.dumps, RAW)))
    answers = BENCHMARK.read_answers(tmp_path / "raw.jsonl", "upstream")
    assert {uid: said.text for uid, said in answers.items()} == RELEASED_LETTERS
    figures = released_figures(loaded.questions, BENCHMARK.score(loaded.questions, answers, "upstream"))
    # acc 3/7, answered_acc 3/7 of 7 answers, one of them to a hidden key; g is unanswered, hidden, and yet in the total
    values = {(figure.measure, figure.name): figure.value for figure in figures}
    assert values["accuracy", "all"] == values["answered_accuracy", "all"] == 0.42857142857142855
    assert [(figure.n, figure.note) for figure in figures[:1]] == [(7, "")] and figures[1].n == 7
    tasks = {name: value for (_, name), value in values.items() if name != "all"}
    assert tasks == {"MR": 0.6666666666666666, "CM": 0.5, "RC": 0.0}


def test_finished_answers_are_compared_as_they_are(tmp_path: Path) -> None:
    questions = BENCHMARK.load(write(tmp_path, RECORDS)).questions
    (tmp_path / "final.json").write_text(json.dumps({"a_0": "A. it does", "b_0": "B", "c_0": 3}))
    answers = BENCHMARK.read_answers(tmp_path / "final.json", "upstream")
    answered_right = released_figures(questions, BENCHMARK.score(questions, answers, "upstream"))[1]
    assert (answered_right.value, answered_right.n) == (1 / 3, 3)  # the counting script makes no letter of "A. it does"
    ours = BENCHMARK.score(questions, BENCHMARK.read_answers(tmp_path / "final.json", "vmmetrics"), "vmmetrics")
    assert [entry.value for entry in ours] == [1, 1, 0, 0, 0, None, None, 0]


def test_answers_in_other_forms_are_left_to_the_general_rules(tmp_path: Path) -> None:
    rows = [{"uid": f"{letter}_0", "prediction": "A"} for letter in "abc"]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "objects.json").write_text(json.dumps({row["uid"]: row for row in rows}))
    questions = BENCHMARK.load(write(tmp_path, RECORDS[:3])).questions
    for name in ("rows.jsonl", "objects.json"):
        read = partial(BENCHMARK.read_answers, protocol="vmmetrics")
        assert released_answers(read, tmp_path / name, questions) is None


def test_where_the_released_script_stops(tmp_path: Path) -> None:
    two = [record("a", "Camera Motion", "A", "B"), record("f", "Action Order", "NA")]
    questions = BENCHMARK.load(write(tmp_path, two)).questions

    def first(answers: dict[str, Answered]) -> tuple[float | None, str]:
        scored = BENCHMARK.score(questions, answers, "upstream")
        found = BENCHMARK.figures(questions, scored, "upstream")
        assert all(f.value is None or 0 <= f.value <= 1 for f in found)
        return found[0].value, found[0].note

    assert first(answered(a_0="A")) == (1 / 3, "")
    value, note = first(answered(a_0="A", a_1="B"))
    assert value == 2 / 3 and "several answered questions" in note
    assert first({})[0] == 0 and "nothing is answered" in first({})[1]


def test_ours_is_accuracy_of_dev(tmp_path: Path) -> None:
    loaded = BENCHMARK.load(write(tmp_path, RECORDS))
    (tmp_path / "raw.jsonl").write_text("\n".join(map(json.dumps, RAW)))
    answers = BENCHMARK.read_answers(tmp_path / "raw.jsonl", "vmmetrics")
    assert answers["c_0"].text == "C. it does C" and answers["d_0"].text == "(A)"
    scored = BENCHMARK.score(loaded.questions, answers, "vmmetrics")
    assert [entry.value for entry in scored] == [1, 1, 1, 0, 1, None, None, 0]
    figures = {(f.measure, f.group, f.name): f for f in BENCHMARK.figures(loaded.questions, scored, "vmmetrics")}
    whole = figures["accuracy", "all", "all"]
    assert (whole.value, whole.n, whole.answered, whole.chance) == (4 / 6, 6, 5 / 6, 0.25)
    assert figures["answered_accuracy", "all", "all"].value == 4 / 5
    assert figures["accuracy", "task", "CM"].value == 0.5
    assert ("accuracy", "task", "AO") not in figures
    assert list(figures)[2:5] == [("accuracy", "task", name) for name in ("MR", "CM", "RC")]


def test_an_error_is_no_answer(tmp_path: Path) -> None:
    questions = BENCHMARK.load(write(tmp_path, RECORDS[:1])).questions
    failed = {"a_0": Answered("a_0", "A", error="unreadable")}
    assert [s.value for s in BENCHMARK.score(questions, failed, "vmmetrics")] == [0]
    assert [s.answered for s in BENCHMARK.score(questions, failed, "upstream")] == [False]


def test_submission(tmp_path: Path) -> None:
    questions = BENCHMARK.load(write(tmp_path, RECORDS[:2] + RECORDS[5:6])).questions
    answers = answered(a_0="The answer is (B).", f_0="D.")
    for protocol in ("vmmetrics", "upstream"):
        letters = json.loads(BENCHMARK.submission(questions, answers, protocol))
        assert letters == {"a_0": "B", "b_0": "", "f_0": "D"}


@pytest.mark.parametrize(
    ("whole", "stem", "options"),
    [
        ("What?\nA. x\nB. y", "What?", ("x", "y")),
        ("What?\n(A) x\n(B) y\n(C) z", "What?", ("x", "y", "z")),
        ("What?\r\n A) x\n\n B) y\n  and z", "What?", ("x", "y and z")),
        ("Is it\nA. a note\nor what?\nA: x\nB: y\nC: z\nD: u\nE: v\nF: w\nG: t", "Is it\nA. a note or what?",
         ("x", "y", "z", "u", "v", "w G: t")),
        ("What?\nB. y\nA. x", "What?\nB. y", ("x",)),
        ("What?\nA. \nB. y", "What?", ("", "y")),
        ("A man falls", "A man falls", ()),
    ],
)  # fmt: skip
def test_options_within_the_question(whole: str, stem: str, options: tuple[str, ...]) -> None:
    assert split_options(whole) == (stem, options)


def test_fields_of_a_question(tmp_path: Path) -> None:
    rows = [record("a", "action order", "b", video_info={"duration_minutes": 0.1}), record("x", "Camera-Motion", "NA")]
    rows[1]["qa"][0]["uid"] = 7
    first, second = BENCHMARK.load(write(tmp_path, rows)).questions
    assert (first.id, first.text, first.letter, first.options[1]) == ("a_0", "What does it do?", "B", "it does B")
    assert first.groups == {"task": ("AO",), "split": ("dev",), "made from": ("captions",)}
    assert first.reference["duration"] == pytest.approx(6)
    assert (second.id, second.letter, second.groups["split"]) == ("7", None, ("test",))
    assert second.groups["task"] == ("CM",) and second.groups["made from"] == ("videos",)
    said = BENCHMARK.turns(first, "vmmetrics")[0].text
    assert "What does it do?\nA. it does A\nB. it does B" in said
    assert text() in BENCHMARK.turns(first, "upstream")[0].text


def test_flat_list_and_table_give_the_same(tmp_path: Path) -> None:
    write(tmp_path / "nested", RECORDS[:4])
    nested = BENCHMARK.load(tmp_path / "nested").questions
    flat = [{"video": r["video_path"], "question_type": r["question_type"], **r["qa"][0]} for r in RECORDS[:4]]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "motionbench_val.json").write_text(json.dumps(flat))
    assert BENCHMARK.load(tmp_path / "b").questions == nested
    with (tmp_path / "c.tsv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(flat[0]), delimiter="\t")
        table.writeheader()
        table.writerows(flat)
    assert BENCHMARK.load(tmp_path / "c.tsv").questions == nested
    (tmp_path / "d.json").write_text(json.dumps([{"text": json.dumps(r)} for r in RECORDS[:4]]))
    assert BENCHMARK.load(tmp_path / "d.json").questions == nested
    without = [{key: value for key, value in row.items() if key != "uid"} for row in flat]
    (tmp_path / "e.json").write_text(json.dumps(without))
    named = BENCHMARK.load(tmp_path / "e.json").questions
    assert [q.id for q in named] == ["a_0", "b_0", "c_0", "d_0"]
    assert not any("made from" in q.groups for q in named)  # only released keys tell
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(RECORDS[:4]), tmp_path / "f.parquet")
    assert BENCHMARK.load(tmp_path / "f.parquet").questions == nested


def test_dirty_rows_are_counted(tmp_path: Path) -> None:
    write(tmp_path, [
        RECORDS[0], RECORDS[0], 7, {"qa": []}, {"video_path": "q.mp4", "qa": ["no object", {"uid": "n"}]},
        {"video_path": "r.mp4", "qa": [{"uid": "r", "question": text(5), "answer": "F"}]},
        {"video_path": "CWBOtkJ7M6uDG75t.mp4", "question_type": "Action Order", "qa": record("s", "", "NA")["qa"]},
        {"video_path": "t.mp4", "question_type": "Camera Motion",
         "qa": [{"uid": "t", "question": text().partition("?")[2], "answer": "A"}]},
    ])  # fmt: skip
    with (tmp_path / "video_info.meta.jsonl").open("a") as file:
        file.write('\n{"cut off')
    loaded = BENCHMARK.load(tmp_path)
    assert [q.id for q in loaded.questions] == ["a_0", "r", "s_0", "t"]
    assert loaded.problems == {
        "lines that are not JSON": 1,
        "rows without a video name": 2,
        "questions that are not objects": 1,
        "questions with a repeated key, left out": 1,
        "questions without options, left out": 1,
        "questions with options but no text": 1,
        "questions with other than 4 options": 1,
        "questions of an unknown task": 1,
        "right answers that match no option": 1,
        "hidden answers": 1,
        "questions about clips that others could not read": 1,
        "questions whose video is missing": 4,
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not readable"), ('{"a": ' * 5000, "not readable"), ("", "no question of MotionBench in it: it has no rows"),
     ('{"key": "a"}', "in it: 1 rows without a video name")],
)  # fmt: skip
def test_files_without_questions_are_said_to_be(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(SetupError, match="looked for"):
        BENCHMARK.load(tmp_path)
    (tmp_path / "video_info.meta.jsonl").write_text(content)
    with pytest.raises(SetupError, match=message):
        BENCHMARK.load(tmp_path)


def test_videos_are_found_and_cut(tmp_path: Path) -> None:
    source = "ef476626-3499-40c2-bbd6-5004223d1ada"
    names = ["self", "public", f"{source}_58_61", f"{source}_70_72", "0f_3_9", "0f_9_3", "gone", "x" * 300]
    write(tmp_path, [record(name, "Camera Motion", "A") for name in names])
    for place in ("self-collected/self.MP4", "public-dataset/public.mp4", f"public-dataset/{source}_58_61.mp4",
                  f"public-dataset/{source}.mp4", "public-dataset/S1A2.mp4"):  # fmt: skip
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).touch()
    (tmp_path / "mapping.json").write_text(json.dumps({"S1A2.mp4": "0f"}))
    loaded = BENCHMARK.load(tmp_path)
    found = [(q.path and str(q.path.relative_to(tmp_path)), q.start, q.end) for q in loaded.questions]
    assert found == [
        ("self-collected/self.MP4", None, None),
        ("public-dataset/public.mp4", None, None),
        (f"public-dataset/{source}_58_61.mp4", None, None),
        (f"public-dataset/{source}.mp4", 70, 72),
        ("public-dataset/S1A2.mp4", 3, 9),
        *[(None, None, None)] * 3,
    ]
    assert loaded.problems["questions whose video is missing"] == 3
    assert loaded.questions[2].video == loaded.questions[3].video == source  # cuts of one video are alike


@pytest.mark.parametrize("questions", ["MotionBench/video_info.meta.jsonl", "data/video_info.meta.jsonl", "val.jsonl"])
def test_folders_as_they_are_about(tmp_path: Path, questions: str) -> None:
    (tmp_path / "MotionBench" / "public-dataset").mkdir(parents=True)
    (tmp_path / "MotionBench" / "public-dataset" / "a.mp4").touch()
    (tmp_path / "made.tsv").write_text("index\toptions\n")  # what another harness leaves beside them
    path = tmp_path / questions.replace("val.jsonl", "motionbench_val.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([RECORDS[0]] if path.suffix == ".json" else RECORDS[0]))
    (question,) = BENCHMARK.load(tmp_path).questions
    assert question.path == tmp_path / "MotionBench" / "public-dataset" / "a.mp4"


def test_parts_of_clips(tmp_path: Path) -> None:
    rows = [record(f"v{k}", "Camera Motion", "A", video_info={"duration": 5.0}) for k in range(4)]
    rows.append(record("u_10_15", "Camera Motion", "A"))
    rows += [record(name, "Camera Motion", "A") for name in ("w_10_15", "w_20_25")]
    for row, (start, end) in zip(rows, [(1, 3), (0, 5.2), (4, 9), (3, 3), (10, 15), (1, 2), (1, 7)], strict=True):
        row["qa"][0] |= {"start": start, "end": end}
    (tmp_path / "w.mp4").touch()
    loaded = BENCHMARK.load(write(tmp_path, rows))
    assert [(q.start, q.end) for q in loaded.questions] == [
        (1, 3), (0, 5.2), (None, None), (None, None), (None, None), (11, 12), (20, 25),
    ]  # fmt: skip
    assert loaded.problems["invalid parts of clips, not cut out"] == 3


def test_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.mp4").touch()
    write(tmp_path / "in", [{"video_path": "../secret.mp4", "qa": record("s", "", "A")["qa"]}])
    assert BENCHMARK.load(tmp_path / "in").questions[0].path is None


def test_reference_rows_name_our_figures() -> None:
    rows = BENCHMARK.references
    assert {row.model for row in rows} >= {"GPT-4o, text only", "random"}
    assert all(0 < value < 1 for row in rows for value in row.figures.values())
    assert BENCHMARK.policy == "1 fps"
