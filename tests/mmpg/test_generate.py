"""The whole endpoint path against a server that speaks the protocol and misbehaves, and the grammar path."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.cli.main import main
from vmmetrics.endpoint import GIVE_UP, wire
from vmmetrics.mmpg.checks import faults
from vmmetrics.mmpg.entry import PATTERNS
from vmmetrics.mmpg.files import read_entries, write_metadata
from vmmetrics.mmpg.writing_instructions import REQUIREMENTS, REVIEWER, WRITER

TESTS = Path(__file__).parents[1]
KEY = "sk-never-to-be-written-9876543210"


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


server = _load("endpoint_server", TESTS / "endpoint_server.py")
sample = _load("combine_sample", Path(__file__).with_name("combine_sample.py"))
GENERATE = ("prompts", "generate", "--metadata", "metadata", "--out", "out")
USAGE = {"prompt_tokens": 900, "completion_tokens": 400}


def model(body: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """An honest model: what it answers to a request, as an object."""
    shape = json.loads(body["messages"][1]["content"].rpartition("nothing else: ")[2])
    if body["messages"][0]["content"].startswith(REVIEWER[:40]):
        count = shape["properties"]["verdicts"]["minItems"]
        passed = dict.fromkeys(REQUIREMENTS, True)
        return {"verdicts": [{"number": n, **passed, "why": ""} | changed for n in range(1, count + 1)]}
    assert body["messages"][0]["content"] == WRITER
    listed = shape["properties"]["candidates"]
    fields = listed["items"]["properties"]
    noun, lemma = fields["subject_noun"]["enum"][0], fields["action_lemma"]["enum"][0]
    camera = fields["tags"]["properties"]["camera"]["enum"][0]
    moved = "" if camera == "unspecified" else ", and the camera follows slowly"
    written = []
    for n in range(listed["maxItems"]):
        given = {name: part["enum"][0] for name, part in fields.items() if "enum" in part}
        text = (
            f"Somewhere at the {fields['place']['enum'][0]}, number {n} of the {noun} kind begins to {lemma} in one go"
        )
        tags = {"subjects": "one", "interaction": "none", "speed": "fast", "amplitude": "large", "skeleton": "none"}
        free = {"prompt": f"{text}{moved}.", "subject": f"the {noun}", "action": f"to {lemma}", "outcome": "it is done"}
        written.append(given | free | {"tags": tags | {"camera": camera, "seconds": 3}} | changed)
    return {"plausible": True, "why": "", "candidates": written}


def honest(body: dict[str, Any]) -> Any:
    return server.completion(json.dumps(model(body)), usage=USAGE)


def reviews(body: dict[str, Any]) -> bool:
    return body["messages"][0]["content"].startswith(REVIEWER[:40])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Generate with the answers given; the exit code, the script of the server, and what was printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", KEY)
    monkeypatch.setattr(wire.time, "sleep", lambda seconds: None)
    write_metadata(tmp_path / "metadata", sample.metadata())
    stops = []

    def generate(answer: Any, *options: object, url: str | None = None) -> tuple[int, Any, str]:
        script = server.Script(answer=answer)
        address, stop = server.serve(script)
        stops.append(stop)
        code = 0
        try:
            main([*GENERATE, "--model", "some", "--yes", "--threads", "2", "--url", url or address, *map(str, options)])
        except SystemExit as stop_:
            code = int(stop_.code or 0)
        shown = capsys.readouterr()
        return code, script, " ".join((shown.out + shown.err).split())

    generate.address = lambda answer: _started(answer, stops)
    yield generate
    for stop in stops:
        stop()
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]


def _started(answer: Any, stops: list[Any]) -> tuple[str, Any]:
    script = server.Script(answer=answer)
    address, stop = server.serve(script)
    stops.append(stop)
    return address, script


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("out", f"{name}.jsonl").read_text().splitlines()]


def test_candidates_are_written_looked_over_and_kept(run):
    code, script, shown = run(honest, "--count", 12, "--candidates", 2, "--prices", 1, 4)
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


def test_an_endpoint_that_comes_and_goes(run):
    """Combinations without any reply are no outcome: they are tried again, and then nothing is missing."""
    address, script = run.address(honest)
    up = {"now": False}
    script.answer = lambda body: honest(body) if up["now"] or "milk" in str(body) else (503, {}, b"down")
    code, _, shown = run(honest, "--count", 5, url=address)
    assert code == 3 and "got no reply; the same command tries them again" in shown
    done = len(lines("combinations"))
    assert done < 5
    up["now"] = True
    code, _, shown = run(honest, "--count", 5, url=address)
    assert code == 0 and len(lines("combinations")) == 5 and len(lines("candidates")) == 15
    up["now"] = False
    code, _, shown = run(honest, "--count", 40, url=address)
    assert code == 2 and "is gone" in shown and GIVE_UP == 8


def test_the_cost_stays_under_its_bound_and_more_money_goes_on(run):
    address, script = run.address(honest)
    options = ("--count", 10, "--tokens", 500, "--prices", 1, 1)
    code, _, shown = run(honest, *options, "--max-cost", "0.013", url=address)
    assert code == 2 and "bound of 0.013" in shown
    assert len(script.requests) * 1300 / 1e6 <= 0.013
    assert 0 < len(lines("combinations")) < 10
    paid = len(script.requests)
    code, _, _ = run(honest, *options, url=address)
    assert code == 0 and len(script.requests) == 20 > paid  # nothing was asked twice


def test_the_cost_is_asked_about(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: PTH123, SIM115
    address, script = run.address(honest)
    with pytest.raises(SystemExit) as stop:
        main(["prompts", "generate", "--metadata", "metadata", "--out", "asked", "--url", address, "--model", "m"])
    assert stop.value.code != 0
    assert script.requests == []


def test_other_settings_need_another_folder(run):
    address, _ = run.address(honest)
    run(honest, "--count", 2, url=address)
    for changed in (["--seed", 5], ["--candidates", 4], ["--temperature", 0.1], ["--camera-share", 0.5]):
        code, _, shown = run(honest, "--count", 2, *changed, url=address)
        assert code == 2 and "generated with other settings" in shown
    code, _, _ = run(honest, "--count", 4, url=address)  # more of the same is fine
    assert code == 0 and len(lines("combinations")) == 4


def test_kill_9_loses_nothing_and_nothing_is_paid_twice(run, tmp_path):
    address, script = run.address(lambda body: server.slow(0.03, honest(body)))
    command = [sys.executable, "-m", "vmmetrics", *GENERATE, "--yes"]
    command += ["--url", address, "--model", "some", "--count", "25", "--threads", "3"]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent)}
    for done in (4, 12):
        worker = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            finished = Path("out/combinations.jsonl")
            if finished.exists() and finished.read_bytes().count(b"\n") >= done:
                break
            os.sched_yield()
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        assert finished.read_bytes().count(b"\n") >= done
    with Path("out/candidates.jsonl").open("ab") as file:
        file.write(b'{"index": "9999", "prompt": "half a li')  # as a kill in the middle of a write leaves it
    code, _, shown = run(honest, "--count", 25, "--threads", 3, url=address)
    assert code == 0 and "cut 38 bytes" in shown
    entries = read_entries("out/candidates.jsonl")
    assert len(entries) == 75 == len({entry.index for entry in entries})
    assert len(lines("combinations")) == 25 == len({line["combination"] for line in lines("combinations")})
    assert 50 <= len(script.requests) <= 50 + 2 * 3  # at most what was in the air when it was killed
    whole, _ = run.address(honest)
    Path("out").rename("killed")
    run(honest, "--count", 25, url=whole)
    assert sorted(map(str, read_entries("out/candidates.jsonl"))) == sorted(map(str, entries))


def test_one_process_at_a_time(run):
    from vmmetrics.errors import SetupError
    from vmmetrics.mmpg.candidates import Candidates

    with Candidates(Path("mine"), {"a": 1}):
        code = "from vmmetrics.mmpg.candidates import *; Candidates(Path('mine'), {'a': 1})"
        environment = os.environ | {"PYTHONPATH": str(TESTS.parent)}
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert "Another process writes candidates" in other.stderr
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine")
    with pytest.raises(SetupError, match="other files"):
        Candidates(Path("full"), {})


def test_grammar_where_there_is_no_endpoint(run, capsys):
    for _ in range(2):
        with pytest.raises(SystemExit) as stop:
            main([*GENERATE, "--count", "30", "--candidates", "2"])
        assert stop.value.code == 0
    entries = read_entries("out/candidates.jsonl")
    assert 50 < len(entries) <= 60 and len({entry.index for entry in entries}) == len(entries)
    assert {entry.provenance["method"] for entry in entries} == {"grammar"}
    assert [faults(entry) for entry in entries] == [[]] * len(entries)
    assert {entry.pattern for entry in entries} <= set(PATTERNS)
    assert "30 of 30 combinations were done before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--url http://x/v1", "--url and --model go together"),
        ("--max-cost 1", "need --url"),
        ("--url ftp://x --model m", "http"),
        ("--url http://x/v1 --model m --max-cost 1", "prices"),
        ("--pattern dancing", "Expected patterns among"),
        ("--metadata nowhere", "nowhere"),
    ],
)
def test_wrong_usage(run, options, said, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["prompts", "generate", "--out", "out", "--metadata", "metadata", *options.split()])
    assert stop.value.code == 2
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not Path("out/candidates.jsonl").exists()
