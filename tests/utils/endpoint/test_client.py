from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from email.utils import formatdate
from itertools import count
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.endpoint.asking import in_words
from vmmetrics.utils.endpoint.client import GIVE_UP, AskedQuestion, Client
from vmmetrics.utils.endpoint.messages import CostLimitError, EndpointSettings, NoAnswerError, Turn, estimated_tokens

SHAPE = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["keep", "drop"]}, "why": {"type": "string"}},
    "required": ["verdict", "why"],
    "additionalProperties": False,
}
GOOD = json.dumps({"verdict": "keep", "why": "it moves"})


def question(text: str = "a dog runs", **given) -> AskedQuestion[str]:
    return AskedQuestion(text, (Turn("system", in_words(SHAPE)), Turn("user", text)), SHAPE, **given)


def test_one_request_one_answer_and_what_it_took(served, server):
    client, script = served(
        server.completion(GOOD, usage={"prompt_tokens": 1000, "completion_tokens": 50}),
        seed=7,
        temperature=0.5,
        tokens=99,
        input_price=2.0,
        output_price=10.0,
    )
    answer = client.ask(question())
    assert (answer.kind, answer.value) == ("answered", json.loads(GOOD))
    ((headers, body),) = script.requests
    assert headers["Authorization"].startswith("Bearer sk-never")
    assert (body["path"], body["model"]) == ("/v1/chat/completions", "some-model")
    assert (body["seed"], body["temperature"], body["max_tokens"]) == (7, 0.5, 99)
    assert body["response_format"]["json_schema"]["schema"] == SHAPE
    assert body["messages"][1] == {"role": "user", "content": "a dog runs"}
    assert (client.ledger.input_tokens, client.ledger.output_tokens) == (1000, 50)
    assert client.ledger.cost == pytest.approx(1000 * 2e-6 + 50 * 10e-6)


def test_nothing_is_asked_twice_until_something_it_depends_on_changes(served, server, tmp_path):
    client, script = served(server.completion(GOOD))
    elsewhere = client.settings.url.replace("127.0.0.1", "localhost")
    assert client.ask(question()) == client.ask(question())
    assert len(script.requests) == 1
    others = [
        Client(replace(client.settings, **changed), tmp_path / "replies")
        for changed in ({"model": "b"}, {"seed": 1}, {"temperature": 1.0}, {"tokens": 5}, {"url": elsewhere})
    ]
    for other in others:
        other.ask(question())
    for asked in (question(seed=9), question(temperature=0.9), question("a cat runs")):
        client.ask(asked)
    client.ask(AskedQuestion("", question().turns, SHAPE | {"required": ["verdict"]}))
    client.ask(AskedQuestion("", (*question().turns[:1], Turn("user", "a dog runs", (b"jpeg",))), SHAPE))
    assert len(script.requests) == 11
    indifferent = replace(
        client.settings, url=client.settings.url + "/", per_minute=1e6, timeout=3.0, input_price=1.0, output_price=1.0
    )
    Client(indifferent, tmp_path / "replies").ask(question())
    assert len(script.requests) == 11


def test_equal_questions_at_once_are_one_request(served, server):
    client, script = served(server.completion(GOOD))
    answers = list(client.ask_all([question() for _ in range(12)], threads=6))
    assert len(answers) == 12 and len({answer.value["verdict"] for _, answer in answers}) == 1
    assert len(script.requests) == 1


def test_nothing_is_held_of_a_conversation_once_nobody_waits(served, server):
    client, script = served((400, {}, b"no"), server.completion(GOOD))
    same = [question() for _ in range(6)]
    kinds = [answer.kind for _, answer in client.ask_all([*same, *(question(str(n)) for n in range(6))], threads=6)]
    assert kinds.count("unusable") == 1 and kinds.count("answered") == 11
    assert len(script.requests) in (7, 8)  # refused was one of the equal ones, and the next of them asked, or another
    assert not client._claims


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"text": "x"}', b"\xff"])
def test_a_damaged_reply_is_asked_for_anew(served, server, tmp_path, damage):
    client, script = served(server.completion(GOOD))
    client.ask(question())
    (kept,) = (tmp_path / "replies").glob("*.json")
    kept.write_bytes(damage)
    assert client.ask(question()).kind == "answered"
    assert len(script.requests) == 2


def test_trouble_on_the_way_is_tried_again(served, server, pauses):
    down = (500, {}, b"oops")
    busy = (429, {"Retry-After": "7"}, b"slow down")
    client, script = served(
        down, busy, server.hang_up, server.truncated, (200, {}, b'{"choices": []}'), server.completion(GOOD)
    )
    assert client.ask(question()).kind == "answered"
    assert len(script.requests) == 6
    assert pauses == [0.001, 7.0, 14.0, 28.0, 56.0]
    assert client.ledger.requests == 1  # what brought nothing is not counted


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [("3", 3, 3), ("86400", 60, 60), ("-1", 0.001, 0.001), ("nan", 0, 60), ("soon", 0.001, 0.001), ("", 0.001, 0.001)],
)
def test_patience_that_is_asked_for(served, server, pauses, header, least, most):
    client, _ = served((429, {"Retry-After": header}, b""), server.completion(GOOD))
    assert client.ask(question()).kind == "answered"
    assert least <= pauses[0] <= most


def test_patience_until_a_date(served, server, pauses):
    at = formatdate(time.time() + 50, usegmt=True)
    client, _ = served((503, {"Retry-After": at}, b""), server.completion(GOOD))
    client.ask(question())
    assert 20 < pauses[0] <= 50


def test_a_slow_server_counts_as_lost_and_is_tried_again(served, server):
    client, script = served(server.slow(20.0, server.completion(GOOD)), server.completion(GOOD), timeout=1.0)
    assert client.ask(question()).kind == "answered"
    assert len(script.requests) == 2


def test_an_endpoint_that_is_gone(served, pauses):
    client, script = served((503, {}, b"down"))
    answer = client.ask(question())
    assert answer.kind == "unreachable" and "6 tries: status 503: down" in answer.why
    assert len(script.requests) == wire.TRIES
    seen = []
    with pytest.raises(NoAnswerError, match="no longer answers"):
        seen += [answer.kind for _, answer in client.ask_all((question(str(n)) for n in range(100)), threads=1)]
    assert len(script.requests) == GIVE_UP * wire.TRIES  # the one before counts


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("The dog runs well.", "no JSON object"),
        ('{"verdict": "maybe", "why": ""}', "verdict: expected one of 'keep', 'drop' but got 'maybe'"),
        ('{"verdict": "keep"}', "why is missing"),
        ('{"verdict": "keep", "why": "x", "score": 3}', "score was not asked for"),
        ('[{"verdict": "keep"}]', "why is missing"),
        ('{"verdict": "keep", "why": "it mo', "no JSON object"),
        ("", "it was empty"),
    ],
)
def test_a_bad_answer_is_asked_for_again_with_what_was_wrong(served, server, bad, said):
    client, script = served(server.completion(bad), server.completion(GOOD))
    assert client.ask(question()).value == json.loads(GOOD)
    *_, its_own, again = script.requests[1][1]["messages"]
    assert its_own == {"role": "assistant", "content": bad}
    assert said in again["content"]


def test_answers_that_stay_bad_say_why(served, server):
    client, script = served(server.completion('{"verdict": "keep", "wh', finish="length"))
    answer = client.ask(question())
    assert (answer.kind, answer.value) == ("unusable", None)
    assert "cut off" in answer.why
    assert len(script.requests) == 3
    assert "shorter" in script.requests[1][1]["messages"][-1]["content"]


def test_a_check_of_the_callers_own(served, server):
    def check(value):
        return None if value["verdict"] == "drop" else "drop it"

    client, script = served(server.completion(GOOD), server.completion(GOOD.replace("keep", "drop")))
    assert client.ask(question(check=check)).value["verdict"] == "drop"
    assert "drop it" in script.requests[1][1]["messages"][-1]["content"]


@pytest.mark.parametrize("how", ["field", "filter", "words"])
def test_a_refusal_is_not_argued_with(served, server, how):
    steps = {
        "field": server.completion(None, refusal="No."),
        "filter": server.completion("", finish="content_filter"),
        "words": server.completion("I’m sorry, but I can't help with that."),
    }
    client, script = served(steps[how])
    assert client.ask(question()).kind == "refused"
    assert client.ask(question()).kind == "refused"  # kept
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "Sure!\n```json\n{}\n```\nAnything else?",
        '<think>{{maybe}} {{"verdict": 1}}</think>\n{}',
        '{{"verdict": "drop", "why": "a draft"}} no ... </think>{}',
        '\ufeff {} {{"b": 2}}',
    ],
)
def test_json_is_found_in_what_stands_around(served, server, around):
    client, script = served(server.completion(around.format(GOOD)))
    assert client.ask(question()).value == json.loads(GOOD)
    assert len(script.requests) == 1


def test_answers_in_parts_are_put_together(served, server):
    client, _ = served(server.completion([{"type": "text", "text": GOOD[:9]}, {"type": "text", "text": GOOD[9:]}, 3]))
    assert client.ask(question()).value == json.loads(GOOD)


def test_an_endpoint_that_knows_little(served, server):
    def answer(body):
        for name in ("response_format", "seed", "temperature", "max_tokens"):
            if name in body:
                return 400, {}, json.dumps({"error": {"message": f"Unknown parameter: {name}"}}).encode()
        return server.completion(GOOD)

    client, script = served(answer=answer, seed=1)
    answers = dict(client.ask_all([question(str(n)) for n in range(6)], threads=3))  # they find out at the same time
    assert {a.kind for a in answers.values()} == {"answered"} and len(answers) == 6
    assert set(script.requests[-1][1]) == {"model", "messages", "max_completion_tokens", "path"}
    before = len(script.requests)
    client.ask(question("another"))
    assert len(script.requests) == before + 1  # it remembers


@pytest.mark.parametrize(("status", "said"), [(401, "VMMETRICS_ENDPOINT_KEY"), (404, "404"), (302, "302")])
def test_what_cannot_pass_stops_everything(served, server, status, said):
    elsewhere, robbed = served(server.completion(GOOD), cache="other")
    headers = {"Location": f"{elsewhere.settings.url}/chat/completions"}
    client, script = served((status, headers, b"bad key sk-never-to-be-written-0123456789"))
    with pytest.raises(SetupError, match=said) as caught:
        list(client.ask_all([question(str(n)) for n in range(50)], threads=2))
    assert "sk-never" not in str(caught.value)
    assert len(script.requests) <= 3  # nothing new is begun after the first
    assert robbed.requests == []


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_not_taken_is_no_reason_to_stop(served, server, status):
    def answer(body):
        return (
            (status, {}, b"context is too long") if "3" in body["messages"][1]["content"] else server.completion(GOOD)
        )

    client, script = served(answer=answer)
    found = dict(client.ask_all([question(str(n)) for n in range(8)], threads=2))
    assert {n for n, a in found.items() if a.kind == "answered"} == set("0124567")
    assert found["3"].kind == "unusable" and f"status {status}: context is too long" in found["3"].why
    assert len(script.requests) == 8


def test_requests_that_are_never_taken_are(served):
    client, script = served((400, {}, b"no such model"))
    with pytest.raises(SetupError, match="no such model"):
        list(client.ask_all([question(str(n)) for n in range(100)], threads=2))
    assert GIVE_UP <= len(script.requests) <= GIVE_UP + 2


@pytest.mark.parametrize("said", [b'{"error": {"code": "content_filter"}}', b"Azure's content management policy"])
def test_a_filter_that_refuses_by_its_status(served, said):
    client, script = served((400, {}, said))
    assert client.ask(question()).kind == "refused"
    assert client.ask(question()).kind == "refused"
    assert len(script.requests) == 1


def test_several_at_once_and_in_any_order(served, server):
    client, script = served(answer=lambda body: server.slow(0.05, server.completion(GOOD)))
    found = dict(client.ask_all((question(str(n)) for n in range(12)), threads=4))
    assert sorted(found, key=int) == [str(n) for n in range(12)]
    assert 2 <= script.most <= 4


def test_a_caller_who_stops_early_loses_nothing_that_was_paid(served, server, tmp_path):
    client, script = served(answer=lambda body: server.slow(0.02, server.completion(GOOD)))
    for _ in client.ask_all((question(str(n)) for n in range(1000)), threads=4):
        break
    assert len(script.requests) < 20
    assert len(list((tmp_path / "replies").glob("*.json"))) == len(script.requests)
    assert client.ask(question("0")).kind == "answered"  # the client can still be used


def test_the_cost_never_goes_over_its_bound(served, server):
    usage = {"prompt_tokens": 60, "completion_tokens": 100}
    prices = {"input_price": 1.0, "output_price": 10.0}
    client, script = served(server.completion(GOOD, usage=usage), max_cost=0.01, tokens=100, **prices)
    answers = []
    with pytest.raises(CostLimitError, match=r"bound of 0\.01"):
        for _, answer in client.ask_all((question(str(n)) for n in range(100)), threads=3):
            answers.append(answer)
    assert 3 < len(answers) == len(script.requests)
    assert 0.008 < client.ledger.cost <= 0.01  # each took 0.00106
    with pytest.raises(SetupError, match="prices"):
        served(server.completion(GOOD), max_cost=1.0)


def test_an_estimate_counts_what_is_not_kept(served, server):
    client, _ = served(server.completion(GOOD), tokens=200, input_price=1.0, output_price=3.0)
    questions = [question("x" * 400 + str(n)) for n in range(10)]
    client.ask(questions[0])
    found = client.estimate(questions, expected=50)
    each = estimated_tokens(questions[1].turns)
    assert (found.requests, found.input_tokens, found.output_tokens) == (9, 9 * each, 450)
    assert found.cost == pytest.approx((9 * each * 1.0 + 450 * 3.0) / 1e6)
    assert found.most == pytest.approx((9 * each * 1.0 + 1800 * 3.0) / 1e6)
    assert "9 requests" in str(found)
    free = Client(EndpointSettings("http://127.0.0.1:9/v1", "m"), Path("nowhere"))
    assert free.estimate(questions, 50).cost is None


def test_tokens_are_estimated_where_the_endpoint_does_not_count(served, server):
    client, _ = served(server.completion(GOOD, usage={"prompt_tokens": "many"}))
    client.ask(question())
    assert client.ledger.input_tokens == estimated_tokens(question().turns)
    assert client.ledger.output_tokens == -(-len(GOOD) // 4)


def test_the_pace_holds_for_all_threads(served, server):
    client, _ = served(server.completion(GOOD), per_minute=60 / 0.05)
    start = time.monotonic()
    list(client.ask_all([question(str(n)) for n in range(7)], threads=4))
    assert time.monotonic() - start >= 6 * 0.05


@pytest.mark.parametrize("trouble", ["patience", "pace"])
def test_stopping_waits_for_no_pause_and_sends_nothing_more(served, server, trouble):
    """One of two is answered; the other waits for its turn, or as the endpoint asked, and is not sent after all."""
    number, busy = count(), (429, {"Retry-After": "50"}, b"")
    if trouble == "pace":
        client, script = served(server.completion(GOOD), per_minute=60 / 50)
    else:
        client, script = served(answer=lambda body: server.completion(GOOD) if next(number) else busy)
    work = client.work_through(client.ask, (question(str(n)) for n in range(100)), threads=2)
    start = time.monotonic()
    assert next(work)[1].kind == "answered"
    work.close()
    assert time.monotonic() - start < 40  # of the 50 s that it would have waited
    assert len(script.requests) == (1 if trouble == "pace" else 2)


@pytest.mark.slow
def test_replies_survive_kill_9_of_several_processes(served, server, tmp_path):
    """Three processes write the same cache and are killed in the middle of it; every file that is there is whole."""
    client, script = served(server.completion(GOOD))
    code = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from vmmetrics.utils.endpoint.client import AskedQuestion, Client
        from vmmetrics.utils.endpoint.messages import EndpointSettings, Turn
        client = Client(EndpointSettings({client.settings.url!r}, "some-model"), Path({str(tmp_path / "replies")!r}))
        asked = (AskedQuestion(n, (Turn("user", str(n)),), {SHAPE!r}) for n in range(100000))
        for n, answer in client.ask_all(asked):
            print(n, flush=True)
    """)
    root = str(Path(__file__).parents[3])
    workers = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(3)
    ]
    done: set[int] = set()
    for worker in workers:
        for line in worker.stdout:
            done.add(int(line))
            if len(done) % 10 == 9:
                break
        worker.kill()
    for worker in workers:
        worker.stdout.close()
        worker.wait()
    files = list((tmp_path / "replies").glob("*.json"))
    assert len(files) >= len(done) > 5
    assert all(json.loads(file.read_text())["text"] == GOOD for file in files)
    before = len(script.requests)
    for n in done:
        assert client.ask(AskedQuestion(n, (Turn("user", str(n)),), SHAPE)).kind == "answered"
    assert len(script.requests) == before  # all of them were kept


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"url": "ftp://x/v1"}, "http"),
        ({"url": "http://me:secret@x/v1"}, "without a key"),
        ({"url": "http://x/v1?key=secret"}, "without a key"),
        ({"model": ""}, "name of a model"),
        ({"tokens": 0}, "positive"),
        ({"per_minute": 0}, "positive"),
        ({"temperature": -1}, "0 or more"),
        ({"input_price": 1.0}, "both prices"),
        ({"input_price": float("nan"), "output_price": 1.0}, "0 or more"),
    ],
)
def test_settings_that_cannot_be(wrong, said):
    with pytest.raises(ValueError, match=said):
        EndpointSettings(**({"url": "http://x/v1", "model": "m"} | wrong))


def test_a_key_that_no_header_may_hold_is_not_quoted(monkeypatch, tmp_path):
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", "se\ncret")
    with pytest.raises(SetupError) as caught:
        Client(EndpointSettings("http://127.0.0.1:9/v1", "m"), tmp_path).ask(question())
    assert "cret" not in str(caught.value)


def test_a_hanging_request_is_cut_off_where_the_caller_stops(served, server, monkeypatch):
    monkeypatch.setattr("vmmetrics.utils.endpoint.client.LAST_SECONDS", 0.3)
    asked, let_go = threading.Event(), threading.Event()

    def answer(body):
        if body["messages"][1]["content"] == "hangs":
            asked.set()
            let_go.wait(20)
        return server.completion(GOOD)

    client, _ = served(answer=answer)
    answers = client.ask_all([question("hangs"), question("quick")], threads=2)
    assert next(answers)[0] == "quick"
    assert asked.wait(5)
    start = time.monotonic()
    answers.close()
    assert time.monotonic() - start < 3
    let_go.set()
    assert client.ask(question("another")).kind == "answered"
