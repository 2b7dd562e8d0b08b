"""The reward server: both forms, groups, refusals, limits, the queue, its description; workers that are killed."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from PIL import Image

from benchmarks import serve_load
from tests.scoring.conftest import MakeClips
from vmmetrics.errors import SetupError
from vmmetrics.functional.tripwires import UNITS
from vmmetrics.scoring.engine import InProcess
from vmmetrics.scoring.rewards import sample_settings
from vmmetrics.scoring.scorer import Outcome, Scorer

httpx = pytest.importorskip("httpx")
pytest.importorskip("python_multipart")
service_module = pytest.importorskip("vmmetrics.scoring.service")

METRICS = ("cas", "mss", "ois", "pas", "tcs")
STILL = "nothing moves: all 4 frames show the same image"
Make = Callable[..., Any]


@pytest.fixture
def make(fake_suite: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Make]:
    """Make a service that scores in this process, with all five metrics."""
    monkeypatch.setenv("FAKE_SUITE_CAS", "1")
    made = []

    def make(engine: Any = None, **options: Any) -> Any:
        scoring = engine or InProcess(Scorer(sample_settings(METRICS, 0)))
        made.append(service_module.Service(scoring, METRICS, "label", **{"roots": [tmp_path], **options}))
        return made[-1]

    yield make
    for service in made:
        service.close()


def ask(service: Any, method: str, path: str, **options: Any) -> Any:
    async def request() -> Any:
        transport = httpx.ASGITransport(service, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            return await client.request(method, path, **options)

    return asyncio.run(asyncio.wait_for(request(), 30))


def post(service: Any, body: Any, **options: Any) -> Any:
    return ask(service, "POST", "/score", json=body, **options)


def gif(milliseconds: int = 100) -> bytes:
    """Return a video that states its rate."""
    pictures = [Image.new("RGB", (24, 16), (40 + 9 * n,) * 3) for n in range(4)]
    pictures[0].save(video := io.BytesIO(), "gif", save_all=True, append_images=pictures[1:], duration=milliseconds)
    return video.getvalue()


def sample(path: Path | None = None, *rewards: str, **fields: Any) -> dict[str, Any]:
    medium = {} if path is None else {"video_path": str(path)}
    return {"history": [{"text": "a cat", **medium}], "required_rewards": list(rewards or ["mss"]), **fields}


def test_unirls_form(make: Make, make_clips: MakeClips) -> None:
    clip = make_clips("a") / "a.npy"
    identity = {
        "request_id": "r1", "sample_id": "s", "group_id": None, "source_rank": 3, "policy_version": 7,
        "idempotency_key": "k",
    }  # fmt: skip
    inline = sample(None, "motion_index", "mss", "frozen_share", **identity, scorer_version=None, metadata={"a": [1]})
    content = base64.b64encode(gif()).decode()
    inline["history"] = [{"text": "not this", "image_b64": "x"}, {"text": "a cat", "video_b64": content}]
    answer = post(make(), {"protocol_version": "1", "requests": [inline, sample(clip, "pas")]})
    assert answer.status_code == 200
    got = answer.json()
    assert got["protocol_version"] == "1"
    assert got["errors"] == [{}, {}]
    assert got["results"][0].keys() == {"motion_index", "mss", "frozen_share"}
    assert all(list(subs) == [reward] for reward, subs in got["results"][0].items())  # clients take the first
    assert got["results"][0]["mss"]["mss"] == pytest.approx(67 / 255)
    assert got["results"][1] == {"pas": {"pas": pytest.approx(np.load(clip).mean() / 255)}}
    version = got["identities"][0].pop("scorer_version")
    assert got["identities"][0] == identity
    assert version.startswith("vmmetrics ")


def test_a_reward_that_failed_is_absent_and_its_reason_stands_in_errors(
    make: Make, make_clips: MakeClips, tmp_path: Path
) -> None:
    folder = make_clips("a", "noone", "b", "still")
    names = ("a", "noone", "b", "still")
    wanted = ("mss", "ois", "motion_index")
    requests = [sample(folder / f"{name}.npy", *wanted, group_id="g" if name != "b" else None) for name in names]
    got = post(make(), {"requests": [*requests, sample(tmp_path / "nowhere.mp4")]}).json()
    a, noone, b, still, lost = got["results"]
    assert a.keys() == noone.keys() == still.keys() == {"mss", "motion_index"}  # the group lacks it alike
    assert "no person" in got["errors"][1]["ois"]
    assert "of its group" in got["errors"][0]["ois"]
    assert b.keys() == set(wanted)
    assert still["mss"]["mss"] == still["motion_index"]["motion_index"] == 0
    assert got["collapsed"] == [None, None, None, STILL, None]
    assert lost == {}
    assert "nowhere" in got["errors"][4]["mss"] or "file" in got["errors"][4]["mss"]


def test_the_plain_form(make: Make, make_clips: MakeClips) -> None:
    folder = make_clips("a", "noone", "badmss")
    clips = [{"path": str(folder / f"{name}.npy"), "group": "g"} for name in ("a", "noone")]
    content = base64.b64encode(gif()).decode()
    body = {"clips": [*clips, {"base64": content, "prompt": "a cat"}], "fps": 10, "weights": {"mss": 1, "ois": 1}}
    got = post(make(), body).json()
    assert got["values"][0] is not None
    assert got["values"][2] == pytest.approx(67 / 255)
    assert got["values"][1] is None
    assert got["components"]["ois"][1] is None
    assert "no person" in got["reasons"][1]["ois"]
    assert got["tripwires"].keys() == UNITS.keys()
    assert not got["components"].keys() & UNITS.keys()
    assert got["events"][0]["mss"][0]["reason"] == "made up"
    got = post(make(), body | {"missing": "drop-component"}).json()
    assert got["dropped"] == {"g": ["ois"]}
    assert got["values"][1] == got["components"]["mss"][1]
    refused = post(make(), body | {"missing": "raise"})
    assert refused.status_code == 422
    assert "no ois for sample 1" in refused.json()["detail"]


def test_files_in_a_form(make: Make) -> None:
    files = [("clip", (f"{name}.gif", gif())) for name in ("a", "still")]
    fields = {"prompt": ["x", "y"], "weights": '{"mss": 2}', "collapsed": "nan", "fps": "10"}
    got = ask(make(), "POST", "/score", files=files, data=fields).json()
    assert got["values"][0] == got["components"]["mss"][0] > 0
    assert got["values"][1] is None
    assert got["collapsed"] == [False, True]
    for wrong in ({"prompt": ["x"]}, {"fps": "fast"}, {"weights": "{"}, {"missing": "zero"}):
        assert ask(make(), "POST", "/score", files=files, data=wrong).status_code == 422
    assert ask(make(), "POST", "/score", files=[("film", b"x")]).status_code == 422


def test_a_file_without_a_rate_takes_the_callers(make: Make, make_clips: MakeClips) -> None:
    clips = [{"path": str(make_clips("a") / "a.npy")}, {"base64": base64.b64encode(gif(50)).decode()}]
    got = post(make(), {"clips": clips, "fps": 24, "weights": {"mss": 1}}).json()
    assert [value is None for value in got["values"]] == [False, True]
    assert "states 20 frames per second but fps is 24" in got["reasons"][1]["reward"]
    assert got["tripwires"]["onset"][0] == pytest.approx(4 / 24)  # the length of a clip that stands


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{", 400, "not JSON"),
        (b'{"requests": [NaN]}', 400, "finite"),
        (b"[" * 100_000, 400, "nested"),
        (b"\xff", 400, "UTF-8"),
        ([], 422, "an object"),
        ({}, 422, "requests"),
        ({"requests": [sample()]}, 422, "expected a video"),
        ({"requests": [{**sample(), "history": []}]}, 422, "history"),
        ({"requests": [sample(None, "beauty")]}, 422, "'beauty'"),
        ({"requests": [], "protocol_version": "2"}, 422, "protocol_version"),
        ({"requests": [{**sample(), "history": [{"text": "a", "video_b64": "é"}]}]}, 422, "ASCII"),
        ({"clips": [{"path": "a", "base64": "b"}]}, 422, "either"),
        ({"clips": [], "weights": {"mss": 0}}, 422, "not all zero"),
        ({"clips": [], "weights": {"beauty": 1}}, 422, "'beauty'"),
        ({"clips": [], "fps": 0}, 422, "fps"),
        ({"clips": [], "missing": "mean"}, 422, "missing"),
        ({"clips": [{"path": "a\0b"}]}, 422, "null"),
    ],
)
def test_what_is_wrong_with_a_whole_request_is_one_line(make: Make, body: Any, status: int, says: str) -> None:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = ask(make(), "POST", "/score", content=sent, headers={"Content-Type": "application/json"})
    detail = answer.json()["detail"]
    assert answer.status_code == status
    assert says in detail
    assert "\n" not in detail


def test_paths_are_opened_below_the_roots_alone(make: Make, make_clips: MakeClips, tmp_path: Path) -> None:
    inside = make_clips("a", folder="open")
    outside = make_clips("b", folder="closed") / "b.npy"
    (inside / "link.npy").symlink_to(outside)
    service = make(roots=[inside])
    for path in (outside, inside / "link.npy", inside / ".." / "closed" / "b.npy", Path("/etc/passwd")):
        answer = post(service, {"requests": [sample(path)]})
        assert answer.status_code == 403, path
        assert str(tmp_path) not in answer.text
    assert post(service, {"requests": [sample(inside / "a.npy")]}).status_code == 200
    assert post(make(roots=()), {"requests": [sample(inside / "a.npy")]}).status_code == 403


def test_pages_of_other_sites_and_names_that_resolve_here_are_refused(make: Make) -> None:
    service, body = make(), {"requests": []}
    assert post(service, body, headers={"Host": "evil.example"}).status_code == 421
    assert ask(service, "GET", "/health", headers={"Host": "evil.example"}).status_code == 421
    assert post(service, body, headers={"Origin": "http://evil.example"}).status_code == 403
    answer = post(service, body, headers={"Origin": "http://127.0.0.1:8080"})
    assert answer.status_code == 200
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert post(service, body, headers={"Content-Type": "text/plain"}).status_code == 415


def test_a_key_is_asked_for(make: Make) -> None:
    service = make(key="secret")
    for wrong in ("", "Bearer secre", "secret", "Basic secret"):
        header = {"Authorization": wrong}
        for path in ("/rewards", "/metrics", "/openapi.json"):
            answer = ask(service, "GET", path, headers=header)
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert post(service, {"requests": []}, headers=header).status_code == 401
    headers = {"Authorization": "Bearer secret", "Host": "rewards.example"}
    assert post(service, {"requests": []}, headers=headers).status_code == 200
    assert ask(service, "GET", "/health").status_code == 200  # of load balancers, which have no key


def test_health_rewards_and_counts(make: Make, make_clips: MakeClips) -> None:
    service = make()
    health = ask(service, "GET", "/health").json()
    offer = ask(service, "GET", "/rewards").json()["rewards"]
    assert health["status"] == "ok"
    assert list(health["rewards"]) == offer == ["motion_index", *METRICS, *UNITS]
    assert health["rewards"]["mss"] == ["ready"]
    post(service, {"requests": [sample(make_clips("a") / "a.npy"), sample(make_clips("raise") / "raise.npy")]})
    counts = ask(service, "GET", "/metrics").text
    assert 'vmmetrics_samples_total{result="scored"} 1\n' in counts
    assert 'vmmetrics_samples_total{result="failed"} 1\n' in counts
    assert 'vmmetrics_requests_total{status="200"} 3\n' in counts
    assert "vmmetrics_queue_samples 0\n" in counts
    assert ask(service, "GET", "/nothing").status_code == 404
    assert ask(service, "GET", "/score").status_code == 405


def test_a_body_that_is_too_large(make: Make) -> None:
    service = make(max_bytes=1000)
    answer = post(service, {"requests": [], "more": "x" * 2000})
    assert answer.status_code == 413
    assert "1000 bytes" in answer.json()["detail"]
    assert post(make(queue=2), {"requests": [sample(Path("/a"))] * 3}).status_code == 403
    clips = {"clips": [{"base64": "AAAA"}] * 3}
    assert post(make(queue=2), clips).status_code == 413


@contextmanager
def listening(service: Any) -> Iterator[int]:
    """Serve over a real socket; yield the port."""
    urls: queue.Queue[str] = queue.Queue()

    def serve() -> None:
        with suppress(SetupError):
            service_module.run(service, "127.0.0.1", 0, urls.put)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield int(urls.get(timeout=20).rpartition(":")[2])
    finally:
        service.close()  # nothing is scored any more: it ends by itself
        thread.join(20)
        assert not thread.is_alive()


HEAD = b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def connected(port: int, sent: bytes) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=20)
    client.sendall(sent)
    return client


def received(client: socket.socket) -> bytes:
    """Return all that a server sends before it closes."""
    with client:
        return b"".join(iter(partial(client.recv, 65536), b""))


def test_samples_of_a_client_that_leaves_are_taken_back(make: Make) -> None:
    engine = Stuck()
    service = make(engine)
    body = json.dumps({"clips": ONE["clips"] * 3}).encode()
    with listening(service) as port:
        client = connected(port, HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        wait_for(lambda: "vmmetrics_queue_samples 2\n" in ask(service, "GET", "/metrics").text)
        client.close()
        wait_for(lambda: "vmmetrics_queue_samples 0\n" in ask(service, "GET", "/metrics").text)
        wait_for(lambda: 'requests_total{status="499"} 1\n' in ask(service, "GET", "/metrics").text)


def test_a_request_cancelled_by_its_server_counts_as_left(make: Make) -> None:
    service = make(Stuck())
    body: dict[str, Any] = {"type": "http.request", "body": json.dumps({"clips": ONE["clips"] * 3}).encode()}
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/score", "query_string": b"", "headers": headers}

    async def cancelled() -> None:
        messages: asyncio.Queue[Any] = asyncio.Queue()
        messages.put_nowait(body)
        task = asyncio.ensure_future(service(scope, messages.get, messages.put))
        while len(service._queue) != 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    answer = ask(service, "GET", "/metrics").text
    assert "vmmetrics_queue_samples 0\n" in answer
    assert 'requests_total{status="499"} 1\n' in answer


def test_a_large_body_without_a_length_is_not_read_to_its_end(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "_REFUSED_SECONDS", 0.3)
    with listening(make(Stuck(), max_bytes=100_000)) as port:
        client = connected(port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"ffff\r\n" + b"x" * 65535 + b"\r\n")
        client.sendall(b"ffff\r\n" + b"x" * 65535 + b"\r\n")  # and no last chunk
        answer = received(client)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer.lower()


def test_a_slow_body_has_the_deadline(make: Make) -> None:
    with listening(make(Stuck(), deadline=0.3)) as port:
        client = connected(port, HEAD + b"Content-Length: 1000\r\n\r\n{")
        assert client.recv(65536).startswith(b"HTTP/1.1 504 ")
        client.close()


def test_a_form_of_many_parts(make: Make) -> None:
    service = make(queue=4)
    files = [("clip", ("a.gif", b"x"))]
    for parts in (files * 5, [*files, *[("prompt", (None, "x"))] * 2000]):
        answer = ask(service, "POST", "/score", files=parts)
        assert answer.status_code == 400
        assert "Too many" in answer.json()["detail"]


class Stuck:
    """An engine whose worker gives an outcome when it is let go."""

    def __init__(self) -> None:
        self.task: Any = None
        self.go = threading.Event()

    busy = 0
    slowest = None

    @property
    def free(self) -> int:
        return int(self.task is None)

    def submit(self, task: Any, following: Any = None) -> None:
        self.task = task

    def collect(self, timeout: float | None = None) -> list[Outcome]:
        if self.task is None or not self.go.wait(timeout):
            return []
        task, self.task = self.task, None
        return [Outcome(task, task.record(sample_settings(METRICS, 0), error="as wished"))]

    def close(self) -> None: ...


ONE = {"clips": [{"base64": "AAAA"}]}


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_full_queue_refuses(make: Make) -> None:
    engine = Stuck()
    service = make(engine, queue=2)
    with ThreadPoolExecutor(3) as threads:
        accepted = [threads.submit(post, service, ONE)]
        wait_for(lambda: engine.task is not None)
        accepted += [threads.submit(post, service, ONE) for _ in range(2)]
        wait_for(lambda: "vmmetrics_queue_samples 2\n" in ask(service, "GET", "/metrics").text)
        full = post(service, ONE)
        assert full.status_code == 429
        assert int(full.headers["Retry-After"]) >= 1
        engine.go.set()
        assert [one.result().status_code for one in accepted] == [200] * 3


def test_a_deadline_takes_back_what_waits(make: Make) -> None:
    engine = Stuck()
    service = make(engine, deadline=1)
    late = post(service, {"clips": ONE["clips"] * 3})
    assert late.status_code == 504
    assert "0 of 3 samples" in late.json()["detail"]
    assert "vmmetrics_queue_samples 0\n" in ask(service, "GET", "/metrics").text
    engine.go.set()
    wait_for(lambda: engine.task is None)
    assert post(service, ONE).json()["reasons"][0]["reward"] == "as wished"


def test_what_was_accepted_is_answered_and_what_comes_later_is_refused(make: Make) -> None:
    engine = Stuck()
    service = make(engine, deadline=10)
    with ThreadPoolExecutor(1) as threads:
        accepted = threads.submit(post, service, ONE)
        wait_for(lambda: engine.task is not None)
        service.stopping = True
        assert post(service, {"clips": []}).status_code == 503
        assert ask(service, "GET", "/health").json()["status"] == "stopping"
        engine.go.set()
        assert accepted.result().status_code == 200


def test_models_that_cannot_be_loaded_are_no_answers_of_clips(make: Make) -> None:
    class Broken(Stuck):
        def collect(self, timeout: float | None = None) -> list[Outcome]:
            if self.task is None:
                return []
            raise SetupError("no weights")

    service = make(Broken())
    for _ in range(2):
        answer = post(service, {"clips": [{"base64": "AAAA"}] * 3})
        assert (answer.status_code, answer.json()["detail"]) == (503, "no weights")
    assert ask(service, "GET", "/health").status_code == 503


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for workers in /proc")
def test_every_request_is_answered_once_while_workers_are_killed(tmp_path: Path) -> None:
    found = serve_load.load(tmp_path, requests=100, clients=32, kills=3)
    assert (found.answered, found.wrong, found.twice, found.code) == (100, 0, 0, 0)
    assert found.kills >= 1
    assert found.failed <= found.kills  # each cost its own sample, or none


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_accepted_requests_finish(make_clips: MakeClips, tmp_path: Path, number: int) -> None:
    folder = make_clips("slow")
    body = {"requests": [sample(folder / "slow.npy")] * 10}
    with serve_load.server(tmp_path, "--root", folder) as (process, port), ThreadPoolExecutor(1) as threads:
        accepted = threads.submit(serve_load.ask, port, body)
        while not (tmp_path / "suite.log").exists():  # the first is scored
            assert not accepted.done()
            time.sleep(0.02)
        process.send_signal(number)
        status, answer = accepted.result()
        assert status == 200
        assert all(result["mss"]["mss"] > 0 for result in answer["results"])
        assert process.wait(60) == 0
        with pytest.raises(OSError):
            serve_load.ask(port, body)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_a_second_interrupt_ends_at_once(make_clips: MakeClips, tmp_path: Path) -> None:
    folder = make_clips("a", "hang")
    body = {"requests": [sample(folder / f"{name}.npy") for name in ("a", "hang")]}
    with serve_load.server(tmp_path, "--root", folder) as (process, port), ThreadPoolExecutor(1) as threads:
        accepted = threads.submit(serve_load.ask, port, body)
        wait_for((tmp_path / "suite.log").exists)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert accepted.exception()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="workers are processes of their own")
def test_it_ends_with_an_error_where_models_cannot_be_loaded(
    make_clips: MakeClips, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a load balancer leaves it out, and what supervises it starts another."""
    monkeypatch.setenv("FAKE_SUITE_DIES", "1")
    folder = make_clips("a")
    with serve_load.server(tmp_path, "--root", folder) as (process, port):
        status, answer = serve_load.ask(port, {"requests": [sample(folder / "a.npy")]})
        assert (status, "while it loaded its models" in answer["detail"]) == (503, True)
        assert process.wait(20) == 2


KEY = {"Authorization": "Bearer secret"}
BOUNDED = settings(
    max_examples=60, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def answers_to(operation: Any, mode: Any) -> set[int]:
    """Check the answers to made-up requests against their description; return their statuses."""
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    statuses = set()

    @settings(BOUNDED)
    @given(operation.as_strategy(generation_mode=mode))
    def ask_for(case: Any) -> None:
        assume(mode == "positive" or case.media_type == "application/json")  # fields of a form have no types
        answer = case.call(headers=KEY)
        statuses.add(answer.status_code)
        # A schema does not say that a path lies below a folder and that a reward is on offer.
        case.validate_response(answer, excluded_checks=[positive_data_acceptance])

    ask_for()
    return statuses


@pytest.mark.slow
def test_the_server_is_as_it_describes_itself(make: Make) -> None:
    """Requests have answers of the described status and form, wrong ones are refused; nothing is a fault."""
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_asgi("/openapi.json", make(key="secret"), headers=KEY)
    positive, negative = schemathesis.GenerationMode
    operations = {one.ok().path: one.ok() for one in schema.get_all_operations()}
    for path in ("/health", "/rewards", "/metrics"):
        assert answers_to(operations[path], positive) == {200}
    assert answers_to(operations["/score"], positive) >= {200, 422}
    assert answers_to(operations["/score"], negative) >= {400, 422}
