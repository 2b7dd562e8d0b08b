"""Replicas of the reward server on a Ray cluster: the same answers, rules, bounds and stop as of one server."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchmarks import serve_load
from tests.engines.conftest import Machines, machines  # noqa: F401
from tests.scoring.conftest import MakeClips
from tests.scoring.test_service import sample, wait_for
from vmmetrics.cli.serve import KEY_VARIABLE

pytestmark = pytest.mark.ray
for package in ("grpc", "fastapi", "starlette", "python_multipart"):
    pytest.importorskip(package)

CLIPS = ("a", "slow", "slowest", "hang")
Served = tuple[subprocess.Popen[str], int]


@pytest.fixture
def served(machines: Machines, make_clips: MakeClips, tmp_path: Path) -> Iterator[Served]:  # noqa: F811
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ray = ("--engine", "ray", "--address", machines.address, "--replicas", 2, "--port", port)
    rules = ("--root", make_clips(*CLIPS), "--queue", 3, "--deadline", 15, "--max-bytes", "100kB")
    with serve_load.server(tmp_path, *ray, *rules) as (process, announced):
        assert announced == port
        yield process, port
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0


def ask(port: int, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    sent = body if isinstance(body, bytes) or body is None else json.dumps(body)
    try:
        headers = {"Content-Type": "application/json", **headers}
        connection.request("GET" if body is None else "POST", path, sent, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def started(port: int, body: Any, **headers: str) -> None:
    """Return once whichever replica answers has a worker that scores, however slowly the machine starts them."""
    for _ in range(16):
        wait_for(lambda: ask(port, "/score", body, **headers)[0] == 200, 60)


def busy(port: int) -> bool:
    """Return True if a replica says that samples wait; 20 answers are of all of them."""
    return any("\nvmmetrics_queue_samples 0\n" not in ask(port, "/metrics")[1] for _ in range(20))


def test_replicas_keep_the_rules_of_one_server(served: Served, tmp_path: Path) -> None:
    process, port = served
    clips = tmp_path / "clips"

    def requests(name: str, number: int = 1) -> Any:
        return {"requests": [sample(clips / f"{name}.npy")] * number}

    started(port, requests("a"))
    status, answer = ask(port, "/score", requests("a"))
    assert status == 200
    assert json.loads(answer)["results"][0]["mss"]["mss"] == pytest.approx(13 / 255)
    assert json.loads(ask(port, "/health")[1])["status"] == "ok"
    assert ask(port, "/health", Host="evil.example")[0] == 421
    assert ask(port, "/score", requests("a"), Origin="http://evil.example")[0] == 403
    assert ask(port, "/score", {"requests": [sample(Path("/etc/passwd"))]})[0] == 403
    assert ask(port, "/score", b"x" * 200_000)[0] == 413
    assert ask(port, "/score", requests("a", 4))[0] == 413
    with ThreadPoolExecutor(12) as threads:
        many = [threads.submit(ask, port, "/score", requests("slow", 3)) for _ in range(12)]
        statuses = [one.result()[0] for one in many]
    assert set(statuses) == {200, 429}
    client = socket.create_connection(("127.0.0.1", port))
    body = json.dumps(requests("slowest", 3) | {"x": "y"}).encode()
    client.sendall(b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n")
    client.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    wait_for(lambda: busy(port))  # else it may leave before a replica knows of it
    client.close()
    wait_for(lambda: 'status="499"' in "".join(ask(port, "/metrics")[1] for _ in range(8)))
    wait_for(lambda: not busy(port))
    status, answer = ask(port, "/score", requests("hang", 2))
    assert (status, "within 15 s" in answer) == (504, True)
    started(port, requests("a"))  # the worker that was killed starts anew first
    with ThreadPoolExecutor(1) as threads:
        accepted = threads.submit(ask, port, "/score", requests("slowest", 3))
        wait_for(lambda: busy(port))
        process.send_signal(signal.SIGTERM)
        assert accepted.result()[0] == 200
    assert process.wait(60) == 0
    with pytest.raises(OSError):
        ask(port, "/health")


def test_a_second_interrupt_ends_at_once(served: Served, tmp_path: Path) -> None:
    process, port = served
    body = {"requests": [sample(tmp_path / "clips" / "hang.npy")] * 2}  # one in work, one that waits
    started(port, {"requests": [sample(tmp_path / "clips" / "a.npy")]})
    with ThreadPoolExecutor(1) as threads:
        accepted = threads.submit(ask, port, "/score", body)
        wait_for(lambda: busy(port))
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        accepted.exception()


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(KEY_VARIABLE, "a key of several words")
    return "a key of several words"


def test_every_replica_asks_for_the_key(key: str, served: Served, tmp_path: Path) -> None:
    _, port = served
    body = {"requests": [sample(tmp_path / "clips" / "a.npy")]}
    elsewhere = {"Host": "rewards.example", "Origin": "http://rewards.example"}  # as behind a proxy with TLS
    wait_for(lambda: ask(port, "/health")[0] == 200)  # the proxies learn of the replicas in their own time
    started(port, body, Authorization=f"Bearer {key}", **elsewhere)
    for _ in range(6):  # of whichever replica
        assert ask(port, "/health")[0] == 200
        for path, sent in (("/score", body), ("/metrics", None), ("/rewards", None), ("/openapi.json", None)):
            assert ask(port, path, sent)[0] == 401
            assert ask(port, path, sent, Authorization=f"Bearer {key[:-1]}")[0] == 401
        status, answer = ask(port, "/score", body, Authorization=f"Bearer {key}", **elsewhere)
        assert (status, json.loads(answer)["errors"]) == (200, [{}])
    assert key not in "".join(ask(port, path)[1] for path in ("/-/routes", "/-/healthz"))  # the proxies answer these
