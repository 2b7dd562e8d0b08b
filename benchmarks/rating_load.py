"""Raters at once on a study's server that is killed at random: ``python -m benchmarks.rating_load --raters 50``.

The server is a process of its own; raters are threads that begin, load clips, answer and, where a connection breaks,
send the same again. Every answer that was acknowledged must be in the journal, once, and no other. ``--kills`` ends the
server by SIGKILL at random moments and starts it again; ``--leave`` is the chance that a rater goes away after an
answer and comes back by the link. Prints the times of answers while the server was up, in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.rating.journal import read_state
from vmmetrics.rating.study import ClipSource, Settings, Study, new_study
from vmmetrics.utils.storage.journal import iterate_lines

_SECONDS = 60.0  # for the server to start, and for a rater to reach it


@dataclass
class Load:
    """What came of the raters.

    Attributes:
        sessions: Raters who reached the end.
        answers: Answers that were acknowledged.
        lost: Of them not in the journal.
        doubled: Answers that are there more than once.
        unknown: Answers in the journal that no rater sent.
        kills: Times the server was killed.
        resumed: Times a rater came back by the link.
        milliseconds: Of each answer, from its sending to its acknowledgement by a server that was up.
        rss: Largest memory of a server in MB.
    """

    sessions: int = 0
    answers: int = 0
    lost: int = 0
    doubled: int = 0
    unknown: int = 0
    kills: int = 0
    resumed: int = 0
    milliseconds: list[float] = field(default_factory=list)
    rss: float = 0.0

    def __str__(self) -> str:
        times = np.percentile(self.milliseconds, [50, 95, 99]) if self.milliseconds else []
        shown = {name: value for name, value in vars(self).items() if name != "milliseconds"}
        return f"{shown}; ms of an answer: median, p95, p99 {[round(float(one), 1) for one in times]}"


def make_study(folder: Path, clips: int = 40, **settings: Any) -> Study:
    """Make a study of clips of two frames, so that raters need not wait."""
    rng, sources = np.random.default_rng(0), []
    for number in range(clips):
        path = folder / f"{number}.npy"
        np.save(path, rng.integers(0, 255, (2, 16, 16, 3)).astype(np.uint8))
        sources.append(ClipSource(path.name, path, f"m{number % 4}", f"p{number // 4}"))
    given = {"questions": {"motion": ""}, "votes": 10**6, "flashing": "warn", **settings}
    return new_study(folder / "study", sources, Settings("acr", "lab", "ours", **given))


class Server:
    """The server of a study: started, killed and started again on one port."""

    def __init__(self, study: Study) -> None:
        self.study, self.port, self.rss = study, 0, 0.0
        self.up = threading.Event()
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "vmmetrics", "rate", "serve", str(self.study.path), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        limit = threading.Timer(_SECONDS, self.process.kill)
        limit.start()
        assert self.process.stdout
        link = self.process.stdout.readline()
        limit.cancel()
        if not link:
            raise RuntimeError("the server did not start")
        self.port = int(link.split(":")[2].split("/")[0])
        self.up.set()

    def kill(self) -> None:
        """End it as a failing machine does."""
        self.up.clear()
        self.note_memory()
        self.process.kill()
        self.process.wait()

    def note_memory(self) -> None:
        """Keep its largest memory."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        peak = next((line for line in lines if line.startswith("VmHWM")), "VmHWM: 0 kB")
        self.rss = max(self.rss, int(peak.split()[1]) / 1024)

    def stop(self) -> int:
        """End it by SIGTERM; return its exit code."""
        self.note_memory()
        self.process.terminate()
        return self.process.wait(_SECONDS)


class Rater:
    """A rater's browser, without its pictures."""

    def __init__(self, server: Server, rng: random.Random) -> None:
        self.server, self.rng, self.token = server, rng, secrets.token_hex(16)
        self.base = f"/s/{server.study.keys['raters']}"
        self.cookie, self.waited = "", 0.0
        self._connection: HTTPConnection | None = None

    def ask(self, path: str, body: Any = None) -> Any:
        """Ask until an answer comes; the time of the attempt that did is in ``waited``."""
        limit = time.monotonic() + _SECONDS
        while time.monotonic() < limit:
            begun = time.monotonic()
            try:
                if self._connection is None:
                    self._connection = HTTPConnection("127.0.0.1", self.server.port, timeout=_SECONDS)
                headers = {"Content-Type": "application/json", "Cookie": self.cookie}
                method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
                self._connection.request(method, f"{self.base}/{path}", data, headers)
                answer = self._connection.getresponse()
                content = answer.read()
                self.waited = 1000 * (time.monotonic() - begun)
                if answer.status == 200:
                    self.cookie = (answer.getheader("Set-Cookie") or self.cookie).partition(";")[0]
                    return json.loads(content) if answer.getheader("Content-Type") == "application/json" else content
                if answer.status not in (425, 429, 503):
                    raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")
            except (OSError, HTTPException):
                self._connection = None
            time.sleep(0.05)
            self.server.up.wait(_SECONDS)
        raise TimeoutError(path)

    def run(self, think: float, leave: float, load: Load, sent: dict[str, tuple[str, int]], adding: Any) -> None:
        """Take part from consent to the end."""
        study = self.server.study
        view = self.ask("begin", {"token": self.token, "consent": study.consent, "of_age": True})
        while view["step"] == "trial":
            for name in view["trial"]["media"]:
                self.ask(f"clip/{name}")
            time.sleep(self.rng.uniform(0, 2 * think))
            answer = {
                "id": secrets.token_hex(16), "session": view["session"], "trial": view["number"],
                "values": {"motion": self.rng.randint(1, 5)}, "seconds": 1.0,
                "clips": [{"ended": True, "seconds": 0.1}] * len(view["trial"]["media"]),
                "display": {"refresh": 60.0, "window": [1280, 720], "screen": [1280, 720]},
            }  # fmt: skip
            with adding:
                sent[answer["id"]] = (self.token, view["number"])
            view = self.ask("answer", answer)
            with adding:
                load.answers += 1
                load.milliseconds.append(self.waited)
            if self.rng.random() < leave:
                self._connection, self.cookie = None, ""
                view = self.ask("resume", {"token": self.token})
                with adding:
                    load.resumed += 1
        with adding:
            load.sessions += view["step"] == "done"


def run(study: Study, raters: int, sessions: int, kills: int, think: float = 0.0, leave: float = 0.0) -> Load:
    """Let raters take part, so many at once, while the server is killed; compare what they sent with the journal."""
    rng, load, ended, adding = random.Random(0), Load(), threading.Event(), threading.Lock()
    sent: dict[str, tuple[str, int]] = {}
    server = Server(study)

    def kill() -> None:
        while load.kills < kills and not ended.wait(rng.uniform(0.2, 1.5)):
            server.kill()
            load.kills += 1
            server.start()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with ThreadPoolExecutor(raters) as threads:
            made = [Rater(server, random.Random(number)) for number in range(sessions)]
            list(threads.map(lambda rater: rater.run(think, leave, load, sent, adding), made))
    finally:
        ended.set()
        killer.join()
    assert server.stop() == 0
    load.rss = server.rss
    stored = Counter(
        str(line["id"]) for line in iterate_lines(study.path / "answers.jsonl") if line["kind"] == "answer"
    )
    state = read_state(study)
    load.lost = sum(session.next < len(session.trials) for session in state.sessions.values())
    load.lost += len(sent.keys() - stored.keys())
    load.doubled = sum(number > 1 for number in stored.values())
    load.unknown = len(stored.keys() - sent.keys())
    return load


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raters", type=int, default=50, help="at once")
    parser.add_argument("--sessions", type=int, default=50, help="in all; of 31 answers each")
    parser.add_argument("--kills", type=int, default=0, help="at most so many, at random moments")
    parser.add_argument("--think", type=float, default=0.0, help="mean seconds before an answer")
    parser.add_argument("--leave", type=float, default=0.0, help="chance after an answer of leaving and coming back")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = make_study(Path(folder))
        say(str(run(study, options.raters, options.sessions, options.kills, options.think, options.leave)))


if __name__ == "__main__":
    main()
