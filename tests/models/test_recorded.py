"""Answers in the forms of other programs; every file is made here, after the released code and documentation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import NO_FRAMES
from vmmetrics.models.questions import Question
from vmmetrics.models.recorded import RecordedModel
from vmmetrics.understanding.harness.choices import chosen_option
from vmmetrics.utils.endpoint.messages import Turn

TURNS = (Turn("user", "?"),)
QUESTIONS = [
    Question("v1-a", "v1", "Which way does it turn?", ("left", "right"), 0),
    Question("v2-b", "v2", "How often does it blink?", ("once", "twice"), 1),
    Question("v3-c", "v3", "What comes first?", ("the ball", "the cube"), 0),
]
ALIKE = [Question(f"count-{n:03}", f"c{n}", "How often?", ("1", "2", "3"), n % 3) for n in range(6)]


def prompt(question: Question) -> str:
    return "\n".join(["Watch the video.", "", question.text, *question.lettered, "", "Answer with the letter."])


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def asked(path: Path, questions: list[Question]) -> tuple[RecordedModel, dict[str, str]]:
    """The model, and what it says to each question: its answer, or the error after a dash."""
    model = RecordedModel(path)
    model.check(questions)
    said = {question.id: model.answer(question, TURNS, NO_FRAMES) for question in questions}
    return model, {key: answer.text if answer.error is None else f"- {answer.error}" for key, answer in said.items()}


def sample(question: Question, place: int, answer: str, **more: Any) -> dict[str, Any]:
    """A line of lmms-eval's log, version 0.7: without the document."""
    return {
        "doc_id": place, "target": question.letter, "filtered_resps": answer, "doc_hash": "0a",
        "token_counts": [{"output_tokens": 1}], "input": prompt(question), **more,
    }  # fmt: skip


def test_a_sample_log_whose_scoring_keeps_the_key(tmp_path: Path) -> None:
    rows = [sample(q, n, "A", our_accuracy={"id": q.id, "right": 1.0}) for n, q in enumerate(ALIKE[::-1])]
    rows[0]["resps"], rows[0]["filtered_resps"] = ["<think>x</think>B"], "B"
    model, said = asked(lines(tmp_path / "20250101_samples_t.jsonl", rows), ALIKE)
    assert said == {q.id: "A" for q in ALIKE} | {ALIKE[-1].id: "B"}
    assert not model.problems


def test_a_sample_log_with_documents(tmp_path: Path) -> None:
    rows = [
        {"doc_id": n, "doc": {"id": q.id, "question": q.text}, "target": "A", "arguments": [], "resps": [["B"]],
         "filtered_resps": ["B"]}
        for n, q in enumerate(QUESTIONS)
    ]  # fmt: skip
    assert asked(lines(tmp_path / "a.jsonl", rows), QUESTIONS)[1] == {q.id: "B" for q in QUESTIONS}
    (tmp_path / "b.json").write_text(json.dumps({"args": {}, "model_configs": {}, "logs": rows}))
    assert asked(tmp_path / "b.json", QUESTIONS)[1] == {q.id: "B" for q in QUESTIONS}


def test_a_sample_log_is_matched_by_the_words_of_its_prompts(tmp_path: Path) -> None:
    rows = [sample(q, 10 + n, f"{n}", other={"id": "same video"}) for n, q in enumerate(QUESTIONS[::-1])]
    model, said = asked(lines(tmp_path / "a.jsonl", rows), QUESTIONS)
    assert said == {"v3-c": "0", "v2-b": "1", "v1-a": "2"}
    assert model.problems == {"recorded answers matched by their question's words": 3}


def test_a_sample_log_is_matched_by_place_where_words_are_alike(tmp_path: Path) -> None:
    rows = [sample(q, n, str(n)) for n, q in enumerate(ALIKE)]
    model, said = asked(lines(tmp_path / "a.jsonl", rows[::-1]), ALIKE)
    assert said == {q.id: str(n) for n, q in enumerate(ALIKE)}
    assert model.problems == {"recorded answers matched by their position in the benchmark": 6}
    # in another order the right letters of the log are not those of the questions
    with pytest.raises(SetupError, match="right letters in the file differ"):
        asked(lines(tmp_path / "b.jsonl", [sample(q, n, "A") for n, q in enumerate(ALIKE[1:] + ALIKE[:1])]), ALIKE)


def test_numbers_alone_are_places_only_if_there_are_as_many(tmp_path: Path) -> None:
    rows = [{"doc_id": n, "resps": [str(n)], "filtered_resps": [str(n)]} for n in range(6)]
    assert asked(lines(tmp_path / "a.jsonl", rows), ALIKE)[1] == {q.id: str(n) for n, q in enumerate(ALIKE)}
    with pytest.raises(SetupError, match="the number of questions differs"):
        asked(lines(tmp_path / "b.jsonl", rows[:5]), ALIKE)


def test_likelihoods_are_no_answers(tmp_path: Path) -> None:
    likelihoods = sample(QUESTIONS[0], 0, "") | {"filtered_resps": [[-1.5, False], [-0.5, True]]}
    model, said = asked(lines(tmp_path / "a.jsonl", [likelihoods, sample(QUESTIONS[1], 1, "B")]), QUESTIONS)
    assert said["v1-a"] == "- no recorded answer"
    assert model.problems["rows with likelihoods but no text"] == 1
    with pytest.raises(SetupError, match=r"holds no answers .*likelihoods"):
        RecordedModel(lines(tmp_path / "b.jsonl", [likelihoods]))


def vlmevalkit(questions: list[Question], first: int = 0) -> list[dict[str, Any]]:
    return [
        {"index": first + n, "video": f"{q.video}.mp4", "question": q.text, **dict(zip("ABC", q.options, strict=False)),
         "answer": q.letter, "prediction": f"{'ABC'[n % 3]}. so"}
        for n, q in enumerate(questions)
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".json", ".jsonl"])
@pytest.mark.parametrize("questions", [QUESTIONS, ALIKE])
def test_tables_of_vlmevalkit(tmp_path: Path, suffix: str, questions: list[Question]) -> None:
    rows, path = vlmevalkit(questions), tmp_path / f"model_bench{suffix}"
    if suffix in (".tsv", ".csv"):
        gap = "\t" if suffix == ".tsv" else ","
        path.write_text("\n".join([gap.join(rows[0]), *(gap.join(map(str, row.values())) for row in rows)]) + "\n")
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        lines(path, rows)
    assert asked(path, questions)[1] == {q.id: f"{'ABC'[n % 3]}. so" for n, q in enumerate(questions)}


@pytest.mark.parametrize("answer", ["{}", "({}), so", "The answer is {}."])
def test_letters_of_options_in_another_order_are_mapped_through_the_options_of_the_file(
    tmp_path: Path, answer: str
) -> None:
    rows = vlmevalkit(QUESTIONS)
    for row in rows:  # as an evaluator that shuffles writes them; every answer is right
        row["A"], row["B"] = row["B"], row["A"]
        row["answer"] = {"A": "B", "B": "A"}[row["answer"]]
        row["prediction"] = answer.format(row["answer"])
    rows[0]["prediction"] = "neither"
    model = RecordedModel(lines(tmp_path / "a.jsonl", rows), choose=chosen_option)
    model.check(QUESTIONS)
    texts = [model.answer(question, TURNS, NO_FRAMES).text for question in QUESTIONS]
    assert texts == ["", *(question.letter for question in QUESTIONS[1:])]
    assert model.problems["recorded answers mapped to the options' order in the benchmark"] == len(QUESTIONS)


def test_numbers_that_count_otherwise_than_the_keys_are_places(tmp_path: Path) -> None:
    numbered = [replace(question, id=str(n)) for n, question in enumerate(ALIKE, 1)]
    rows = [{k: v for k, v in row.items() if k != "video"} for row in vlmevalkit(numbered)]  # these count from 0
    assert asked(lines(tmp_path / "a.jsonl", rows), numbered)[1] == {
        q.id: f"{'ABC'[n % 3]}. so" for n, q in enumerate(numbered)
    }


def test_an_answer_called_text_is_not_taken_for_the_question(tmp_path: Path) -> None:
    rows = [{"index": n, "text": "zebra"} for n in range(6)]
    assert asked(lines(tmp_path / "a.jsonl", rows), ALIKE)[1] == {q.id: "zebra" for q in ALIKE}


def test_places_may_count_from_one_and_failures_are_errors(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "video"} for row in vlmevalkit(ALIKE, 1)]
    rows[2]["prediction"] = "Failed to obtain answer via API."
    model, said = asked(lines(tmp_path / "a.jsonl", rows), ALIKE)
    assert said["count-000"] == "A. so"
    assert said["count-002"] == "- Failed to obtain answer via API."
    assert model.problems["recorded errors instead of answers"] == 1


def test_the_output_of_a_batch(tmp_path: Path) -> None:
    def line(key: str, response: Any, error: Any = None) -> dict[str, Any]:
        return {"id": "batch_req_1", "custom_id": key, "response": response, "error": error}

    def said(content: Any) -> dict[str, Any]:
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        return {"status_code": 200, "request_id": "r", "body": {"object": "chat.completion", "choices": [choice]}}

    spoken = [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "C"}]}]
    rows = [
        line("v3-c", said([{"type": "text", "text": "B"}])),
        line("v1-a", said("A")),
        line("v2-b", {"status_code": 429, "body": {"error": {"message": "too many"}}}),
        line("x-1", None, {"code": "batch_expired", "message": "not in time"}),
        line("x-2", {"status_code": 200, "body": {"object": "response", "output": spoken}}),
    ]
    model, answers = asked(lines(tmp_path / "output.jsonl", rows), QUESTIONS)
    assert answers == {"v1-a": "A", "v2-b": "- batch: too many", "v3-c": "B"}
    assert model.problems["recorded answers that match no question: x-1, x-2"] == 2
    assert model.answers["x-2"] == "C"


def test_spreadsheets_are_said_to_be_saved_as_tables(tmp_path: Path) -> None:
    (tmp_path / "model_bench.xlsx").write_bytes(b"PK")
    with pytest.raises(SetupError, match="is a spreadsheet; save it as TSV or CSV"):
        RecordedModel(tmp_path / "model_bench.xlsx")
