"""FAVOR's, TUNA's and FPS-Bench's recipes, each with the rules that are its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import build_models as models
import pytest

from vmmetrics.understanding.construction.favor import annotation_of

Run = Callable[..., tuple[int, Any, str]]
run, out, summary, requests = models.run, models.out, models.summary, models.requests
NOTA = "None of the above"

STEPS = [("sits down", 0, 2), ("opens the box", 2, 4), ("takes the cup out", 4, 6), ("leaves", 6, 8)]
MAN = {
    "name": "A man",
    "attributes": ["red coat", "short hair", "beard"],
    "actions": [{"action": a, "start": s, "end": e} for a, s, e in STEPS],
}
CAMERA = [{"motion": "pans left", "start": 0, "end": 3}, {"motion": "zooms in", "start": 3, "end": 8}]


def annotate(**changed: Any) -> None:
    row = {"video": "v0", "seconds": 8, "caption": "A man.", "camera": CAMERA, "subjects": [MAN]} | changed
    Path("annotations.jsonl").write_text(json.dumps(row) + "\n")


def tasks_asked(script: Any) -> Counter[str]:
    told = (models.system(body) for _, body in script.requests if models.kind(body) == "favor")
    return Counter(re.search(r"Task: ([^.]+)\.", text)[1] for text in told)


def test_favor_end_to_end(run: Run) -> None:
    annotate()
    code, script, shown = run(models.honest, "favor", "annotations.jsonl", "--filter-model", "a")
    assert code == 0, shown
    assert tasks_asked(script) == dict.fromkeys(
        ("action sequence", "holistic action", "single action detail", "multiple action details", "camera motion",
         "motion that is not a subject's"), 1,
    )  # fmt: skip
    questions = {q["id"]: q for q in out("questions.jsonl")}
    assert Counter(q["groups"]["task"][0] for q in questions.values()) == dict.fromkeys(
        ("AS", "HAC", "SAD", "MAD", "CM", "NSM"), 3
    )
    assert all(len(q["options"]) == 5 for q in questions.values())
    ours = questions["v0-AS-0"]
    assert ours["text"] == "In which order does the man (red coat, short hair) do these things?"
    assert ours["options"]["ABCDE".index(ours["answer"])] == " \u2192 ".join(step for step, _, _ in STEPS)
    assert all(sorted(o.split(" \u2192 ")) == sorted(s for s, _, _ in STEPS) for o in ours["options"])
    shown_to_writer = models.user(next(body for _, body in script.requests if models.kind(body) == "favor"))
    assert "ubject 1" not in shown_to_writer and '"from": 2.0' in shown_to_writer
    assert summary()["views"]["one frame"]["a"]["wrong"] >= 17  # the sequence's answer may be any


def test_a_task_that_is_refused_costs_its_own_questions_alone(run: Run) -> None:
    annotate()

    def answer(refused: tuple[str, ...]) -> Callable[[dict[str, Any]], Any]:
        def answers(body: dict[str, Any]) -> Any:
            told = models.system(body)
            said = any(f"Task: {task}" in told for task in refused)
            return models.say("I'm sorry, I can't help") if said else models.honest(body)

        return answers

    code, _, shown = run(answer(("camera", "action")), "favor", "annotations.jsonl")
    assert code == 0 and "written: v0: AS: the model refused; CM: the model refused" in shown
    found = Counter(q["groups"]["task"][0] for q in out("questions.jsonl"))
    assert found == {"AS": 1, "HAC": 3, "SAD": 3, "MAD": 3, "NSM": 3}  # the sequence is ours
    annotate(caption="Another text")
    run(answer(("",)), "favor", "annotations.jsonl")
    assert summary()["units"] == {"refused": 1}


@pytest.mark.parametrize(
    ("changed", "absent"),
    [
        ({"camera": CAMERA[:1]}, {"camera motion"}),
        ({"camera": ["pans left", "Pans to left"]}, set()),
        ({"camera": ["pans left", "Pans left."]}, {"camera motion"}),
        ({"camera": ["First-person perspective"]}, {"camera motion"}),
        ({"camera": []}, {"camera motion"}),
        ({"subjects": [MAN | {"actions": ["walks"]}]}, {"action sequence", "multiple action details"}),
    ],
)
def test_tasks_that_an_annotation_does_not_carry_are_not_asked_for(
    run: Run, changed: dict[str, Any], absent: set[str]
) -> None:
    annotate(**changed)
    _, script, _ = run(models.honest, "favor", "annotations.jsonl")
    assert len(tasks_asked(script)) == 6 - len(absent)
    assert not absent & set(tasks_asked(script))


def other(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "attributes": [], "actions": ["runs"]} | more


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"subjects": [other("man"), other("dog"), other("cat"), other("cow")]}, "4 subjects move"),
        ({"subjects": [other("man"), other("The man")]}, "told apart"),
        ({"subjects": [other("man", actions=[])]}, "nobody moves"),
        ({"seconds": 17}, "motion in 47% of the time"),
    ],
)
def test_videos_that_favor_leaves_out(run: Run, changed: dict[str, Any], why: str) -> None:
    annotate(**changed)
    code, script, shown = run(models.honest, "favor", "annotations.jsonl")
    assert code == 0 and script.requests == [] and why in shown
    assert summary()["units"] == {"left out": 1}


def test_sixteen_seconds_of_which_half_move_are_enough() -> None:
    row = {"subjects": [MAN], "seconds": 16}
    assert annotation_of(row).unfit() is None


def test_overlapping_actions_have_no_order(run: Run) -> None:
    steps = [{"action": a, "start": s, "end": e + 1} for a, s, e in STEPS]
    annotate(subjects=[MAN | {"actions": steps}])
    run(models.honest, "favor", "annotations.jsonl")
    assert "v0-AS-0" not in {q["id"] for q in out("questions.jsonl")}
    assert Counter(q["groups"]["task"][0] for q in out("questions.jsonl"))["AS"] == 3  # all by the writer then


@pytest.mark.parametrize(
    ("camera", "passes"), [(CAMERA, False), ([{**CAMERA[0], "focus": "the cup"}, CAMERA[1]], True)]
)
def test_rules_of_single_tasks(run: Run, camera: list[Any], passes: bool) -> None:
    annotate(camera=camera)

    def answer(body: dict[str, Any]) -> Any:
        value = models.written(body)
        asked = {"camera": "What does the camera follow?", "holistic": "What does the man do at the beginning?"}
        task = re.search(r"Task: (\w+)", models.system(body))[1]
        value["questions"][0] |= {"question": asked[task]} if task in asked else {}
        if task == "holistic":  # places, not parts
            value["questions"][1]["question"] = "What does the first-person subject next to the car do?"
        return models.say(value)

    _, script, _ = run(answer, "favor", "annotations.jsonl")
    reasons = summary()["rejected_by"]
    assert reasons["checks: part"] == 1
    assert ("checks: focus" in reasons) != passes
    told = [models.system(body) for _, body in script.requests if "Task: camera" in models.system(body)]
    assert ("nobody annotated it" in told[0]) != passes


def test_released_annotations_are_read(run: Run) -> None:
    row = {
        "caption": "A man and a girl.", "num_subjects": "2", "camera_motion": "Camera shakes, tilts down",
        "subject_attributes": "Subject 1: Man [Plaid shirt, black pants]\nSubject 2: A girl [yellow dress]",
        "motion_list": "Subject 1: Man [Sits, stands] Subject 2: A girl [Runs]",
        "chronological_motion_list": "Sits (Subject 1), Runs (Subject 2), Stands (subject 1), Sits (Subject 1)",
    }  # fmt: skip
    found = annotation_of(row)
    assert [(s.seen, [a.text for a in s.actions]) for s in found.subjects] == [
        ("the man (Plaid shirt, black pants)", ["Sits", "Stands", "Sits"]),
        ("the girl (yellow dress)", ["Runs"]),
    ]
    assert [step.text for step in found.camera] == ["Camera shakes", "tilts down"]
    Path("gt.json").write_text(json.dumps({"v0": row, "v1": row | {"camera_motion": "Stationary"}}))
    code, script, shown = run(models.honest, "favor", "gt.json")
    assert code == 0, shown
    assert tasks_asked(script)["camera motion"] == 1 and len(script.requests) == 11
    assert {q["video"] for q in out("questions.jsonl")} == {"v0", "v1"}


def test_a_released_row_without_a_chronological_list_keeps_the_other() -> None:
    row = {"motion_list": "Subject 1: Man [sits] Subject 1: Man [runs, waves]", "chronological_motion_list": "dirty"}
    found = annotation_of(row)
    assert [a.text for a in found.subjects[0].actions] == ["sits", "runs", "waves"]


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
