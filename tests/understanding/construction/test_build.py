"""``understand build``, the whole path, against a server that speaks the protocol and misbehaves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import build_models as models
import pytest

from tests import endpoint_server as server
from vmmetrics.understanding import registry
from vmmetrics.understanding.construction.question_checks import DYNAMICS, faults

Run = Callable[..., tuple[int, Any, str]]


run, out, summary, requests = models.run, models.out, models.summary, models.requests


def test_motionbench_end_to_end(run: Run) -> None:
    code, script, shown = run(
        models.honest, "motionbench", "captions.jsonl", "--filter-model", "a", "--filter-model", "b",
        "--price-per-million", 1, 4,
    )  # fmt: skip
    assert code == 0, shown
    assert requests(script) == {("motionbench", "w"): 3, ("view", "a"): 18, ("view", "b"): 18}
    assert all(models.pictures(body) == 1 for _, body in script.requests if models.kind(body) == "view")
    told = next(models.system(body) for _, body in script.requests if models.kind(body) == "motionbench")
    assert "At least 4" in told and "JSON schema" in told and "{" not in told.partition("Answer with one JSON")[0]
    assert "w: 3 requests" in shown and "a: 18 requests" in shown  # said before
    cost = 39 * (500 + 4 * 100) / 1e6
    assert f"39 replies, 19,500 tokens in and 3,900 out, cost {cost:.4f}" in shown
    questions = out("questions.jsonl")
    assert len(questions) == 18 and out("rejected.jsonl") == []
    assert {q["options"]["ABCD".index(q["answer"])] for q in questions} == set(models.RIGHT)
    assert set(Counter(q["answer"] for q in questions).values()) == {4, 5}
    assert questions[0]["groups"]["content"] == ["human action"] and questions[0]["reference"]["made"]["model"] == "w"
    assert len(questions[0]["reference"]["views"]["first frame"]) == 2
    loaded = registry.find("custom").load(Path("out"))
    assert [faults(q, DYNAMICS) for q in loaded.questions] == [[]] * 18
    assert {q.path for q in loaded.questions} == {Path(f"v{n}.mp4").resolve() for n in range(3)}
    assert loaded.problems == {}


def test_the_right_option_does_not_come_first_when_a_filter_is_asked(run: Run) -> None:
    _, script, _ = run(models.honest, "motionbench", "captions.jsonl", "--filter-model", "a")
    places = Counter(models.letter(body, right=True) for _, body in script.requests if models.kind(body) == "view")
    assert set(places) == set("ABCD")


def test_a_question_goes_if_every_filter_is_right_from_the_first_frame(run: Run) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if models.kind(body) != "view":
            return models.honest(body)
        part = int(re.search(r"part (\d)", models.user(body))[1])
        right = {"a": (1, 2), "b": (2, 3)}[body["model"]]
        return models.say(models.letter(body, right=part in right))

    code, _, shown = run(answer, "motionbench", "captions.jsonl", "--filter-model", "a", "--filter-model", "b")
    assert code == 0
    rejected = out("rejected.jsonl")
    assert [r["text"] for r in rejected] == ["What is seen of part 2?"] * 3
    assert rejected[0]["rejected"] == {"stage": "first frame", "reasons": ["right from the first frame: a, b"]}
    assert summary()["rejected_by"] == {"first frame": 3} and "3 first frame" in shown
    assert summary()["views"]["first frame"]["a"] == {"wrong": 12, "right": 6}


def test_a_filter_that_takes_no_pictures_lets_nothing_pass(run: Run) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return (400, {}, b"no images here") if models.kind(body) == "view" else models.honest(body)

    run(answer, "motionbench", "captions.jsonl", "--filter-model", "a")
    assert out("questions.jsonl") == []
    assert all("gave no answer" in r["rejected"]["reasons"][0] for r in out("rejected.jsonl"))
    assert summary()["views"]["first frame"]["a"] == {"no answer": 18}


def test_trapped_questions_are_rejected_with_their_reason_before_any_filter_sees_them(run: Run) -> None:
    traps = [
        {"question": "When does it fall?"}, {"question": "What does subject 1 do?"},
        {"question": "What does the caption say it does?"}, {"wrong": ["it turns over and stops", "b", "c"]},
        {"content": "human position", "logic": "count"}, {},
    ]  # fmt: skip

    def answer(body: dict[str, Any]) -> Any:
        if models.kind(body) != "motionbench":
            return models.honest(body)
        value = models.written(body)
        value["questions"] = [q | trap for q, trap in zip(value["questions"], traps, strict=True)]
        value["questions"][4] |= {"content": "human action", "logic": "order"}  # of the first again
        return models.say(value)

    _, script, _ = run(answer, "motionbench", "captions.jsonl", "--filter-model", "a")
    assert requests(script)["view", "a"] == 3
    assert len(out("questions.jsonl")) == 3
    reasons = summary()["rejected_by"]
    assert reasons["checks: when"] == reasons["checks: numbered"] == reasons["checks: text"] == 3
    assert reasons["checks: pair"] == 3 and any("human action and order" in str(r) for r in out("rejected.jsonl"))


def test_unusable_answers_are_asked_for_again_with_what_was_wrong(run: Run) -> None:
    seen: list[str] = []

    def answer(body: dict[str, Any]) -> Any:
        value = models.written(body)
        turns = len(body["messages"])
        if "Caption 1" in models.user(body):
            value["questions"][2] |= {"question": " "} if turns == 2 else {"right": "."} if turns == 4 else {}
            seen.extend(m["content"] for m in body["messages"] if "blank" in m["content"])
            return models.say(value)
        if turns == 2:
            return models.say("Sure! Here are the questions.")
        if turns == 4:
            seen.append(body["messages"][-1]["content"])
            for q in value["questions"]:
                q |= {"content": "appearance"}
        if turns == 6:
            seen.append(body["messages"][-1]["content"])
        return models.say(value)

    code, script, _ = run(answer, "motionbench", "captions.jsonl")
    assert code == 0 and len(script.requests) == 9 and len(out("questions.jsonl")) == 18
    assert any("no JSON object" in text for text in seen)
    assert any("only 0 questions are about something other" in text for text in seen)
    assert sum("question 3 or one of its answers is blank" in text for text in seen) == 3  # asked again, and again
    assert run(answer, "motionbench", "captions.jsonl")[1].requests == []  # nothing in the journal is read as damaged


def test_refusals_are_final_and_said(run: Run) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return models.say("I'm sorry, I can't help") if "Caption 1" in models.user(body) else models.honest(body)

    code, _, shown = run(answer, "motionbench", "captions.jsonl")
    assert code == 0 and "refused: v1" in shown
    assert summary()["units"] == {"written": 2, "refused": 1}


ONCE = {
    "429": (429, {"Retry-After": "1"}, b"slow down"),
    "500": (500, {}, b"oops"),
    "dropped": server.hang_up,
    "cut": server.truncated,
    "html": (200, {}, b"<html>"),
}


@pytest.mark.parametrize("trouble", ONCE)
def test_trouble_that_passes_leaves_no_trace(run: Run, trouble: str) -> None:
    met: set[str] = set()

    def answer(body: dict[str, Any]) -> Any:
        key = json.dumps(body["messages"])
        if key in met:
            return models.honest(body)
        met.add(key)
        return ONCE[trouble]

    code, _, shown = run(answer, "motionbench", "captions.jsonl", "--filter-model", "a")
    assert code == 0, shown
    assert len(out("questions.jsonl")) == 18


def test_going_on_after_an_outage_pays_for_nothing_twice(run: Run) -> None:
    def down(body: dict[str, Any]) -> Any:
        later = "Caption 2" in models.user(body) or models.kind(body) == "view"
        return (503, {}, b"down") if later else models.honest(body)

    code, _, shown = run(down, "motionbench", "captions.jsonl", "--filter-model", "a")
    assert code == 3 and "unreachable: v2" in shown and "3 not done" in shown
    assert out("questions.jsonl") == [] and not Path("out/units.jsonl").exists()
    code, script, _ = run(models.honest, "motionbench", "captions.jsonl", "--filter-model", "a")
    assert code == 0 and requests(script)["motionbench", "w"] == 1  # two were kept as replies
    first = Path("out/questions.jsonl").read_bytes()
    code, script, shown = run(models.honest, "motionbench", "captions.jsonl", "--filter-model", "a")
    assert code == 0 and script.requests == [] and "3 of them done before" in shown
    assert Path("out/questions.jsonl").read_bytes() == first


@pytest.mark.slow
def test_killed_anywhere_it_goes_on_to_the_same_questions(tmp_path: Path) -> None:
    """Killed without warning again and again; nothing is asked twice but what was on its way."""
    source = models.write_clips(tmp_path, 3)
    script = server.Script(answer=lambda body: server.slow(0.03, models.honest(body)))
    url, stop = server.serve(script)
    code = "import sys; from vmmetrics.cli.main import main; main(sys.argv[1:])"

    def command(name: str) -> list[str]:
        named = ["--out", str(tmp_path / name), "--url", url, "--model", "w", "--filter-model", "a", "--threads", "2"]
        return ["understand", "build", "motionbench", str(source), *named, "--yes"]

    assert models.run_main(command("whole")) == 0
    wanted = len(script.requests)
    kills = 0
    while True:
        before = len(script.requests)
        process = subprocess.Popen(
            [sys.executable, "-c", code, *command("torn")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and len(script.requests) < before + 12:
            threading.Event().wait(0.005)
        if process.poll() is not None:
            break
        process.kill()
        process.wait()
        kills += 1
    stop()
    assert process.returncode == 0 and kills >= 1
    assert wanted == 21 and len(script.requests) - wanted <= 21 + 2 * kills  # two threads
    whole, torn = ((tmp_path / name / "questions.jsonl").read_bytes() for name in ("whole", "torn"))
    assert whole.replace(b"whole", b"torn") == torn and whole.count(b"\n") == 18


def test_a_torn_journal_loses_one_unit_only(run: Run) -> None:
    run(models.honest, "motionbench", "captions.jsonl")
    before = Path("out/questions.jsonl").read_bytes()
    journal = Path("out/units.jsonl")
    journal.write_bytes(journal.read_bytes()[:-40])
    code, script, shown = run(models.honest, "motionbench", "captions.jsonl")
    assert code == 0 and "an unfinished line" in shown and script.requests == []  # its reply was kept
    assert Path("out/questions.jsonl").read_bytes() == before


def test_a_changed_or_added_caption_is_worked_on_and_no_other(run: Run) -> None:
    run(models.honest, "motionbench", "captions.jsonl")
    text = Path("captions.jsonl").read_text().replace("Caption 1:", "Caption 1 again:")
    Path("captions.jsonl").write_text(text + json.dumps({"video": "v9", "caption": "It slides off."}) + "\n")
    _, script, shown = run(models.honest, "motionbench", "captions.jsonl")
    assert {models.user(body)[:9] for _, body in script.requests} == {"Caption 1", "It slides"}
    assert "2 of them done before" in shown and len(out("questions.jsonl")) == 24
    _, script, _ = run(models.honest, "motionbench", "captions.jsonl")
    assert script.requests == []


def test_other_settings_are_refused(run: Run) -> None:
    run(models.honest, "motionbench", "captions.jsonl")
    code, script, shown = run(models.honest, "motionbench", "captions.jsonl", "--filter-model", "a")
    assert code == 2 and "other settings" in shown and script.requests == []
    assert "seed" in run(models.honest, "motionbench", "captions.jsonl", "--seed", 1)[2]


def test_the_bound_on_the_cost_counts_all_models_together(run: Run) -> None:
    code, script, shown = run(
        models.honest, "motionbench", "captions.jsonl", "--filter-model", "a", "--price-per-million", 1, 1,
        "--max-cost", 0.0115, "--threads", 1,
    )  # fmt: skip
    assert code == 2 and "Stopped before the bound of 0.0115" in shown
    assert 0 < len(script.requests) * 600 / 1e6 < 0.0115
    assert requests(script)["view", "a"] > 0


def test_without_its_video_nothing_is_spent_on_a_clip(run: Run) -> None:
    Path("v1.mp4").unlink()
    code, script, shown = run(models.honest, "motionbench", "captions.jsonl", "--filter-model", "a")
    assert code == 3 and "1 videos that are missing" in shown and "no video: v1" in shown
    assert requests(script)["motionbench", "w"] == 2


def test_people_drop_what_they_drop(run: Run) -> None:
    command = (models.honest, "motionbench", "captions.jsonl")
    run(*command)
    review = Path("out/review.jsonl")
    rows = models.lines(review)
    assert len(rows) == 18 and all(row["right"] in row["options"] and row["decision"] == "" for row in rows)
    rows[0] |= {"decision": "drop", "note": "unclear", "reviewer": "ann"}
    rows[1] |= {"decision": "keep"}
    review.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, script, shown = run(*command)  # not applied: what they wrote stays
    assert models.lines(review)[0]["note"] == "unclear" and len(out("questions.jsonl")) == 18
    code, script, shown = run(*command, "--decisions", "out/review.jsonl")
    assert code == 0 and script.requests == []
    assert "16 of the questions were not reviewed; 0 decisions are about others" in shown
    assert rows[0]["id"] not in {q["id"] for q in out("questions.jsonl")} and len(out("questions.jsonl")) == 17
    assert out("rejected.jsonl")[-1]["rejected"] == {"stage": "review", "reasons": ["ann: unclear"]}
    assert {row["key"] for row in models.lines(review)} == {row["key"] for row in rows}
    captions = Path("captions.jsonl").read_text()
    Path("captions.jsonl").write_text(captions.splitlines()[2])  # without the video they decided upon
    run(*command)
    assert len(out("questions.jsonl")) == 6 and models.lines(review)[-1]["decision"] in ("drop", "keep")
    Path("captions.jsonl").write_text(captions)
    run(*command)
    assert [row["note"] for row in models.lines(review) if row["decision"] == "drop"] == ["unclear"]
    rows[2]["decision"] = "perhaps"
    review.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "expected keep or drop but got 'perhaps'" in run(*command, "--decisions", "out/review.jsonl")[2]


@pytest.mark.parametrize(
    ("recipe", "options", "said"),
    [
        ("other", (), "Expected one of motionbench"),
        ("motionbench", ("--require-multi", 16), "to tuna only"),
        ("motionbench", ("--review-model", "a"), "apply to fpsbench only"),
        ("motionbench", ("--max-cost", 1), "needs the prices"),
        ("motionbench", ("--filter-model", "recorded:x.jsonl"), "not made yet"),
        ("tuna", ("--require-multi", 16), "needs a filter model"),
    ],
)
def test_wrong_usage(run: Run, recipe: str, options: tuple[object, ...], said: str) -> None:
    code, script, shown = run(models.honest, recipe, "captions.jsonl", *options)
    assert code == 2 and said in shown
    assert script.requests == [] and not Path("out").exists()


@pytest.mark.parametrize("name", ["mine.txt", "questions.jsonl"])
def test_a_folder_of_something_else_is_left_alone(run: Run, name: str) -> None:
    Path("out").mkdir()
    Path("out", name).write_text("written by hand")
    code, _, shown = run(models.honest, "motionbench", "captions.jsonl")
    assert code == 2 and "other files and no questions" in shown
    assert [(file.name, file.read_text()) for file in Path("out").iterdir()] == [(name, "written by hand")]
