"""TUNA's and FPS-Bench's recipes, each with the rules that are its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import build_models as models
import pytest

Run = Callable[..., tuple[int, Any, str]]
run, out, requests = models.run, models.out, models.requests
NOTA = "None of the above"


def test_tuna_end_to_end(run: Run) -> None:
    code, script, shown = run(
        models.honest, "tuna", "captions.jsonl", "--video-model", "seer", "--filter-model", "a", "--threads", 1
    )
    assert code == 0, shown
    assert requests(script) == {("watch", "seer"): 3, ("tuna", "w"): 3, ("view", "a"): 15}
    watched = next(body for _, body in script.requests if models.kind(body) == "watch")
    assert models.pictures(watched) == 8 and "Caption 0" in models.user(watched)
    asked = next(body for _, body in script.requests if models.kind(body) == "tuna")
    assert "it burns" in models.user(asked) and "Caption 0" in models.user(asked)
    assert {models.pictures(body) for _, body in script.requests if models.kind(body) == "view"} == {1}
    questions = out("questions.jsonl")
    assert len(questions) == 15 and questions[0]["groups"]["skill"] == ["Subject Action"]
    assert questions[0]["reference"]["error_prone_points"][0]["content_frame"] == "it burns"


@pytest.mark.parametrize(
    ("options", "kept", "stages"),
    [
        ((), {"0", "2"}, {"one frame": 2}),  # parts 1 and 3 are right from one frame
        (("--keep-single",), {"0", "1", "2", "3"}, {}),
        (("--require-multi", 16), {"2"}, {"one frame": 2, "many frames": 1}),  # 2 and 3 from sixteen
        (("--keep-single", "--require-multi", 16), {"2", "3"}, {"many frames": 2}),
    ],
)
def test_temporal_indispensability(run: Run, options: tuple[Any, ...], kept: set[str], stages: dict[str, int]) -> None:
    Path("one.jsonl").write_text(Path("captions.jsonl").read_text().splitlines()[0] + "\n")

    def answer(body: dict[str, Any]) -> Any:
        if models.kind(body) == "tuna":
            value = models.written(body)
            value["questions"][4]["question"] = "When is part 4 seen?"  # never gets so far
            return models.say(value)
        if models.kind(body) != "view":
            return models.honest(body)
        part = re.search(r"part (\d)", models.user(body))[1]
        knows = {1: "13", 16: "23"}[models.pictures(body)]
        return models.say(models.letter(body, right=part in knows))

    run(answer, "tuna", "one.jsonl", "--filter-model", "a", *options)
    assert {re.search(r"\d", q["text"])[0] for q in out("questions.jsonl")} == kept
    found = Counter(r["rejected"]["stage"] for r in out("rejected.jsonl"))
    assert found == stages | {"checks": 1}


def test_tuna_orders_are_put_as_items(run: Run) -> None:
    orders = ["a \u2192 dog barks \u2192 rain falls", "rain falls \u2192 a \u2192 dog barks"]

    def answer(body: dict[str, Any]) -> Any:
        if models.kind(body) != "tuna":
            return models.honest(body)
        value = models.written(body)
        steps = ["a man sits", "a dog barks", "rain falls"]
        perms = [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)]
        orders[:] = [" \u2192 ".join(steps[p] for p in perm) for perm in perms]
        value["questions"][0] |= {"question": "In which order?", "right": orders[0], "wrong": orders[1:]}
        return models.say(value)

    run(answer, "tuna", "captions.jsonl")
    found = next(q for q in out("questions.jsonl") if q["text"].endswith("In which order?"))
    items = dict(re.findall(r"\((\w)\) ([^;.]+)", found["text"]))
    said = [" \u2192 ".join(items[letter] for letter in option.split(" \u2192 ")) for option in found["options"]]
    assert sorted(said) == sorted(orders) and said["ABCD".index(found["answer"])] == orders[0]


def gate_file(count: int = 4, **changed: Any) -> None:
    rows = [
        {"id": f"q{n}", "video": f"v{n % 3}", "text": f"What is seen of part {n}?", "groups": {"task": ["x"]},
         "options": [models.WRONG[0], models.RIGHT[n], *models.WRONG[1:3], NOTA], "answer": "B"} | changed
        for n in range(count)
    ]  # fmt: skip
    Path("asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_blind_gate_flags_what_is_right_in_more_than_three_of_four_orders(run: Run) -> None:
    gate_file()
    seen: dict[str, list[tuple[str, ...]]] = {}

    def answer(body: dict[str, Any]) -> Any:
        part = re.search(r"part (\d)", models.user(body))[1]
        orders = seen.setdefault(part, [])
        orders.append(tuple(models.options(body).values()))
        return models.say(models.letter(body, right=len(orders) <= int(part) + 1))  # part n is right n + 1 times

    code, script, shown = run(answer, "fpsbench", "asked.jsonl", "--filter-model", "a", "--threads", 1, model=None)
    assert code == 0, shown
    assert len(script.requests) == 16 and not any(models.pictures(body) for _, body in script.requests)
    assert all(len(set(orders)) == 4 for orders in seen.values())
    assert not any(NOTA in order for orders in seen.values() for order in orders)
    assert [q["id"] for q in out("questions.jsonl")] == ["q0", "q1", "q2"]
    assert [(r["id"], r["rejected"]["stage"]) for r in out("rejected.jsonl")] == [("q3", "blind")]
    kept = out("questions.jsonl")[0]
    assert kept["answer"] == "B" and kept["options"][-1] == NOTA  # gates change no question


def test_reviewers_gate_flags_what_all_three_miss(run: Run) -> None:
    gate_file()
    answers = [
        {"id": "q0", "reviewer": name, "answer": "A"} for name in ("ann", "bob")
    ] + [
        {"id": "q1", "reviewer": "ann", "answer": "A"}, {"id": "q2", "reviewer": "ann", "answer": "A"},
        {"id": "q2", "reviewer": "bob", "answer": "unsure"}, {"id": "q9", "reviewer": "bob", "answer": "A"},
    ]  # fmt: skip
    Path("people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    code, script, shown = run(
        models.honest, "fpsbench", "asked.jsonl", "--review-model", "a", "--answers", "people.jsonl", model=None
    )
    assert code == 0, shown
    assert len(script.requests) == 4 and models.pictures(script.requests[0][1]) == 4  # 2 fps of 2 s
    assert "1 answers of people to unknown questions" in shown
    # q0: three wrong; q1: two wrong, and two decide nothing; q2: likewise, for one of three chose nothing
    assert [(r["id"], r["rejected"]["reasons"][0]) for r in out("rejected.jsonl")] == [
        ("q0", "all 3 reviewers are wrong: ann, bob, a")
    ]


def test_language_gate(run: Run) -> None:
    gate_file()
    rows = models.lines(Path("asked.jsonl"))
    rows[0]["text"] = "What does does part 0 do?"
    Path("asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def answer(body: dict[str, Any]) -> Any:
        if "part 1" in models.user(body):
            return models.say({"clear": False, "options": True, "language": False, "why": "which part?"})
        return models.say("I'm sorry, I can't help") if "part 2" in models.user(body) else models.honest(body)

    _, script, _ = run(answer, "fpsbench", "asked.jsonl")
    found = {r["id"]: (r["rejected"]["stage"], r["rejected"]["reasons"]) for r in out("rejected.jsonl")}
    assert found["q0"][0] == "checks" and "does does" in found["q0"][1][0]
    assert found["q1"] == ("language", ["clear, language: which part?"])
    assert len(script.requests) == 3 and [q["id"] for q in out("questions.jsonl")] == ["q2", "q3"]
    assert "refused" in out("questions.jsonl")[0]["reference"]["language"]["error"]


def test_gates_need_a_key(run: Run) -> None:
    gate_file(answer=None)
    code, _, shown = run(models.honest, "fpsbench", "asked.jsonl")
    assert code == 2 and "which gates need" in shown


def test_questions_that_exist_may_be_alike(run: Run) -> None:
    """FPS-Bench asks the same of several clips of one video."""
    gate_file(text="How often does it turn?", video="v0", options=["once", "twice", "three times", "four times"])
    run(models.honest, "fpsbench", "asked.jsonl", model=None)
    rows = out("review.jsonl")
    assert len(out("questions.jsonl")) == 4 and len({row["key"] for row in rows}) == 4
    Path("out/review.jsonl").write_text("".join(json.dumps(row | {"decision": "drop"}) + "\n" for row in rows[:1]))
    run(models.honest, "fpsbench", "asked.jsonl", "--decisions", "out/review.jsonl", model=None)
    assert [q["id"] for q in out("questions.jsonl")] == ["q1", "q2", "q3"]


def test_gates_without_any_model_are_the_rules(run: Run) -> None:
    gate_file(options=["a", "b", "A.", "c"])
    code, script, shown = run(models.honest, "fpsbench", "asked.jsonl", model=None)
    assert code == 0 and script.requests == [] and "4 checks: distinct" in shown
    assert "no --filter-model: questions are not filtered by blind answers" in shown
