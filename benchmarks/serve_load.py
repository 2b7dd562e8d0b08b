"""Load on a reward server whose workers are killed: ``python -m benchmarks.serve_load --requests 1000 --kills 40``.

The server is a process of its own with the tests' fake suite; clients ask at once and repeat what was refused for a
full queue. Every request must be answered, and no sample scored twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

COMMAND = Path(__file__).parents[1] / "tests" / "scoring" / "command.py"
_SECONDS = 60.0  # for the server to start, and to stop


@dataclass
class Load:
    """What came of the requests.

    Attributes:
        answered: Requests with an answer of their own samples.
        late: Requests whose deadline passed first, and who were told.
        wrong: Answers with another status, of others' samples, or without a number or reason.
        refused: Times that the queue was full.
        scored: Samples with a number.
        failed: Samples with a reason.
        kills: Workers killed.
        twice: Samples scored twice.
        seconds: From the first request to the last answer.
        code: Exit code of the server after SIGTERM.
    """

    answered: int = 0
    late: int = 0
    wrong: int = 0
    refused: int = 0
    scored: int = 0
    failed: int = 0
    kills: int = 0
    twice: int = 0
    seconds: float = 0.0
    code: int | None = None


@contextmanager
def server(folder: Path, *options: object) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a server whose suite logs into a folder; yield its process and port."""
    arguments = [sys.executable, str(COMMAND), str(folder / "suite.log"), "serve", "--port", "0", *map(str, options)]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    limit = threading.Timer(_SECONDS, process.kill)
    limit.start()
    try:
        assert process.stderr
        lines = iter(process.stderr.readline, "")
        match = next((match for line in lines if (match := re.search(r"127\.0\.0\.1:(\d+)", line))), None)
        if match is None:
            raise RuntimeError(f"the server did not start in {_SECONDS:g} s")
        limit.cancel()
        threading.Thread(target=lambda: Counter(lines), daemon=True).start()  # a full pipe would stop it
        yield process, int(match[1])
    finally:
        limit.cancel()
        process.kill()
        process.wait()


def ask(port: int, body: Any) -> tuple[int, Any]:
    """Post a request; return the status and the answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("POST", "/score", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def workers(process: int) -> list[int]:
    """Return the processes of the workers of a server."""
    with suppress(OSError):  # one ended meanwhile
        children = [thread.read_text().split() for thread in Path(f"/proc/{process}/task").glob("*/children")]
        started = [child for of_thread in children for child in of_thread]
        return [int(child) for child in started if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return []


def load(folder: Path, requests: int, clients: int, kills: int, jobs: int = 2, queue: int = 40) -> Load:
    """Ask a server for samples from several clients while its workers are killed, then end it with SIGTERM."""
    rng = random.Random(0)
    clips = [folder / f"{name}.npy" for name in ("a", "b", "noone", "slow")]
    for number, clip in enumerate(clips):
        np.save(
            clip, np.full((4, 16, 24, 3), 20 * number, np.uint8) + np.arange(4, dtype=np.uint8)[:, None, None, None]
        )
    bodies = [[rng.choice(clips) for _ in range(rng.randint(1, 4))] for _ in range(requests)]
    came, ended = Load(), threading.Event()
    adding = threading.Lock()

    def one(number: int) -> None:
        names = [f"{number}-{sample}" for sample in range(len(bodies[number]))]
        samples = [
            {"history": [{"text": "", "video_path": str(clip)}], "required_rewards": ["mss", "ois"], "sample_id": name}
            for name, clip in zip(names, bodies[number], strict=True)
        ]
        while (answer := ask(port, {"requests": samples}))[0] == 429:
            with adding:
                came.refused += 1
            time.sleep(0.2)
        status, got = answer
        own = status == 200 and [identity["sample_id"] for identity in got["identities"]] == names
        rewards = zip(got["results"], got["errors"], strict=True) if own else ()
        whole = own and all(result.keys() | reasons.keys() == {"mss", "ois"} for result, reasons in rewards)
        with adding:
            came.answered += bool(own)
            came.late += status == 504
            came.wrong += not whole and status != 504
            for result in got["results"] if own else ():
                came.scored += "mss" in result
                came.failed += "mss" not in result

    def kill(process: int) -> None:
        answered = 0
        while came.kills < kills and not ended.wait(rng.uniform(0.2, 1.0)):
            if came.answered == answered:
                continue  # on a busy machine all would die while they load, which ends a server
            answered = came.answered
            for worker in rng.sample(alive := workers(process), min(1, len(alive))):
                os.kill(worker, signal.SIGKILL)
                came.kills += 1

    with server(folder, "--root", folder, "--jobs", jobs, "--queue", queue, "--deadline", 50) as (process, port):
        killer = threading.Thread(target=kill, args=(process.pid,))
        begin = time.monotonic()
        killer.start()
        try:
            with ThreadPoolExecutor(clients) as threads:
                list(threads.map(one, range(requests)))
            came.seconds = time.monotonic() - begin
        finally:
            ended.set()
            killer.join()
        process.send_signal(signal.SIGTERM)
        came.code = process.wait(_SECONDS)
    names = Counter(line.split(":")[0] for line in (folder / "suite.log").read_text().splitlines())
    came.twice = sum(count > 1 for count in names.values())
    return came


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--kills", type=int, default=40, help="at most so many, at random moments")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        say(str(load(Path(folder), options.requests, options.clients, options.kills, options.jobs)))


if __name__ == "__main__":
    main()
