"""The whole endpoint path against a server that speaks the protocol and misbehaves."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.prompts.checks import faults
from vmmetrics.prompts.files import read_entries
from vmmetrics.prompts.generate.generation import GenerationSettings

_spec = importlib.util.spec_from_file_location("generate_model", Path(__file__).with_name("generate_model.py"))
_model = sys.modules["generate_model"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_model)
KEY, honest, lines, model, reviews, run, server = (
    _model.KEY, _model.honest, _model.lines, _model.model, _model.reviews, _model.run, _model.server
)  # fmt: skip


def test_candidates_are_written_looked_over_and_kept(run):
    code, script, shown = run(honest, "--count", 12, "--candidates", 2, "--price-per-million", 1, 4)
    assert code == 0
    entries = read_entries("out/candidates.jsonl")
    assert len(entries) == 24 == len({e.index for e in entries})
    assert [faults(entry) for entry in entries] == [[]] * 24
    assert all(e.tags.speed == "fast" and e.outcome == "it is done" and e.subject_class for e in entries)
    assert {e.provenance["method"] for e in entries} == {"model"} and entries[0].provenance["model"] == "some"
    assert lines("rejected") == []
    assert Counter(line["status"] for line in lines("combinations")) == {"written": 12}
    assert len(script.requests) == 24  # one to write, one to look over
    assert "24 requests" in shown and "at most" in shown  # before the run
    assert f"24 replies, {24 * 900:,} tokens in and {24 * 400:,} out, cost {24 * (900 + 4 * 400) / 1e6:.4f}" in shown
    seeds = [body.get("seed") for _, body in script.requests if not reviews(body)]
    assert len(set(seeds)) == 12
    assert {body["temperature"] for _, body in script.requests if reviews(body)} == {0.0}
    url = json.loads(Path("out/generation.json").read_text())["configuration"]["url"]
    code, script, shown = run(honest, "--count", 12, "--candidates", 2, url=url)
    assert (code, script.requests) == (0, [])
    assert "12 of 12 combinations were done before" in shown


ONCE = {
    "429": (429, {"Retry-After": "1"}, b"slow down"),
    "500": (500, {}, b"oops"),
    "dropped": server.hang_up,
    "cut bytes": server.truncated,
    "empty choices": (200, {}, b'{"choices": []}'),
    "no JSON": (200, {}, b"<html>"),
}


@pytest.mark.parametrize("trouble", ONCE)
def test_trouble_that_passes_leaves_no_trace(run, trouble):
    met: set[str] = set()

    def answer(body):
        asked = json.dumps(body["messages"])
        if asked not in met:
            met.add(asked)
            return ONCE[trouble]
        return honest(body)

    code, script, _ = run(answer, "--count", 4)
    assert code == 0
    assert len(read_entries("out/candidates.jsonl")) == 12 and lines("rejected") == []
    assert len(script.requests) == 16


def _spoilt(text: str, how: str) -> Any:
    value = json.loads(text)
    first = (value.get("candidates") or value["verdicts"])[0]
    if how == "truncated":
        return server.completion(text[: len(text) // 2], finish="length")
    if how == "wrong schema":
        first.popitem()
    elif how == "wrong enum":
        first["tags" if "tags" in first else "possible"] = {"speed": "quick"} if "tags" in first else "yes"
    elif how == "wrong numbers":
        first["number" if "number" in first else "subject_noun"] = 99 if "number" in first else "unicorn"
    return server.completion("That is done." if how == "words" else json.dumps(value))


@pytest.mark.parametrize("how", ["truncated", "wrong schema", "wrong enum", "wrong numbers", "words"])
def test_answers_that_cannot_be_used_are_asked_for_again(run, how):
    def answer(body):
        if len(body["messages"]) == 2:
            return _spoilt(json.dumps(model(body)), how)
        return honest({"messages": body["messages"][:2]})

    code, script, _ = run(answer, "--count", 3)
    assert code == 0
    assert len(read_entries("out/candidates.jsonl")) == 9
    again = [body for _, body in script.requests if len(body["messages"]) == 4]
    assert len(again) == 6 and len(script.requests) == 12
    assert all("cannot be used" in body["messages"][3]["content"] for body in again)


def test_prose_around_json_is_no_trouble(run):
    around = "<think>{{hm}}</think>Sure!\n```json\n{}\n```\nDone."
    code, script, _ = run(lambda body: server.completion(around.format(json.dumps(model(body)))), "--count", 2)
    assert (code, len(script.requests)) == (0, 4)
    assert len(read_entries("out/candidates.jsonl")) == 6


def test_answers_that_stay_bad_and_refusals_are_recorded_and_not_asked_again(run):
    def answer(body):
        asked = body["messages"][1]["content"]
        if "trot" in asked:
            return server.completion(None, refusal="I will not.")
        if "pour" in asked:
            return server.completion('{"plausible": true}')
        return honest(body)

    code, _, shown = run(answer, "--count", 40)
    assert code == 0
    by = {(line["lemma"], line["status"]) for line in lines("combinations")}
    assert ("trot", "refused") in by and ("pour", "unusable") in by and ("clear", "written") in by
    assert "refused: " in shown
    assert next(line["why"] for line in lines("combinations") if line["lemma"] == "pour") == "why is missing"
    assert not any(entry.action_lemma in ("trot", "pour") for entry in read_entries("out/candidates.jsonl"))


def test_no_verdict_no_candidate(run):
    code, _, _ = run(lambda body: server.completion("no") if reviews(body) else honest(body), "--count", 2)
    assert code == 0
    assert lines("candidates") == []
    assert {line["rejected"]["stage"] for line in lines("rejected")} == {"review"}
    assert "no verdict, unusable" in lines("rejected")[0]["rejected"]["reasons"][0]


def test_every_rejection_has_its_reason(run):
    def answer(body):
        value = model(body)
        if reviews(body):
            value["verdicts"][0] |= {"possible": False, "one_shot": False, "why": "it  has no\nlegs"}
        else:
            value["candidates"][0]["prompt"] = "Too short."
            value["candidates"][1]["prompt"] = value["candidates"][2]["prompt"]
        return server.completion(json.dumps(value))

    code, _, _ = run(answer, "--count", 5, "--candidates", 4)
    assert code == 0
    rejected = lines("rejected")
    stages = Counter(line["rejected"]["stage"] for line in rejected)
    assert stages == {"checks": 5, "review": 5}  # the first that is left is judged impossible; it was the repeat
    reasons = {line["rejected"]["stage"]: line["rejected"]["reasons"] for line in rejected}
    assert "2 words, expected 12 to 35" in reasons["checks"]
    assert reasons["review"] == ["not one shot, not possible: it has no legs"]
    assert len(lines("candidates")) == 10
    assert all(line["accepted"] == line["rejected"] == 2 for line in lines("combinations"))


def test_the_same_words_are_kept_once(run):
    def answer(body):
        value = model(body)
        if not reviews(body):
            value["candidates"][1]["prompt"] = value["candidates"][0]["prompt"].replace(" ", "  ")
        return server.completion(json.dumps(value))

    run(answer, "--count", 3)
    assert len(lines("candidates")) == 6
    assert {line["rejected"]["stage"] for line in lines("rejected")} == {"repeat"}
    assert lines("rejected")[0]["rejected"]["reasons"][0].startswith("the same words as 0")


def test_a_combination_that_makes_no_sense_is_said_to(run):
    no = {"plausible": False, "why": "ponies do not", "candidates": []}

    def answer(body):
        return server.completion(json.dumps(no)) if "pony" in body["messages"][1]["content"] else honest(body)

    code, _, _ = run(answer, "--count", 40)
    assert code == 0
    of_ponies = [line for line in lines("combinations") if line["noun"] == "pony"]
    assert {(line["status"], line["why"]) for line in of_ponies} == {("implausible", "ponies do not")}


def test_an_endpoint_without_response_format(run):
    def answer(body):
        if "response_format" in body or "seed" in body:
            wrong = "response_format" if "response_format" in body else "seed"
            return 400, {}, f'{{"error": "unknown field {wrong}"}}'.encode()
        return honest(body)

    code, script, _ = run(answer, "--count", 4)
    assert code == 0
    assert len(read_entries("out/candidates.jsonl")) == 12
    assert all("JSON schema" in body["messages"][1]["content"] for _, body in script.requests)


@pytest.mark.parametrize(("status", "said"), [(302, "status 302"), (401, "VMMETRICS_ENDPOINT_KEY"), (404, "404")])
def test_what_cannot_pass_ends_the_run(run, status, said):
    elsewhere, robbed = run.address(honest)
    code, script, shown = run(lambda body: (status, {"Location": elsewhere}, f"key {KEY}".encode()), "--count", 9)
    assert code == 2 and said in shown and KEY not in shown
    assert robbed.requests == [] and len(script.requests) <= 3
    assert lines("combinations") == [] if Path("out/combinations.jsonl").exists() else True


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0},
        {"candidates": 0},
        {"camera_share": 1.1},
        {"temperature": -0.1},
        {"patterns": ()},
        {"patterns": ("x",)},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Expected"):
        GenerationSettings(**wrong)
