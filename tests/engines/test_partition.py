"""A node whose link is cut loses its clips to others after half a minute: two network namespaces, one node in each."""

from __future__ import annotations

import csv
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.ray
CLIPS = 14
PLUGIN = """
import time
from vmmetrics.metrics import Metric, register
from vmmetrics.types import MetricResult

def measure(scene, protocol):
    time.sleep(2)
    return MetricResult(round(float(scene.clip.frames.mean()) / 255, 6))

register(Metric("bright", "brightness", measure))
"""


class Namespaces:
    """Two namespaces with a link between them."""

    def __init__(self, folder: Path) -> None:
        self.names = [f"vmm{secrets.token_hex(3)}" for _ in range(2)]
        self.folder = folder
        self.environment = {
            **os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_worker_niceness": "0",
            "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2]),
        }  # fmt: skip
        first, second = self.names
        for name in self.names:
            self.ip("netns", "add", name)
        self.ip("link", "add", f"{first}v", "type", "veth", "peer", "name", f"{second}v")
        for number, name in enumerate(self.names, 1):
            self.ip("link", "set", f"{name}v", "netns", name)
            self.ip("-n", name, "addr", "add", f"10.98.7.{number}/24", "dev", f"{name}v")
            for device in ("lo", f"{name}v"):
                self.ip("-n", name, "link", "set", device, "up")

    def ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True, timeout=10)  # noqa: S607

    def start(self, number: int, *words: object, log: Path) -> subprocess.Popen[bytes]:
        inside = ["ip", "netns", "exec", self.names[number], sys.executable, *map(str, words)]
        with log.open("wb") as file:
            return subprocess.Popen(inside, env=self.environment, stdout=file, stderr=file, start_new_session=True)

    def ray(self, number: int, *words: str) -> None:
        log = self.folder / f"ray{number}.log"
        command = ("-c", "from ray.scripts.scripts import main; main()", "start", *words)
        for _ in range(3):  # on a busy machine Ray's own 30 s for it may not do
            started = self.start(
                number, *command, "--node-ip-address", f"10.98.7.{number + 1}", "--num-cpus", "2",
                "--object-store-memory", "100000000", log=log,
            )  # fmt: skip
            if started.wait(90) == 0:
                return
            self.clear(number)
        pytest.fail(log.read_text())

    def link(self, number: int, state: str) -> None:
        self.ip("-n", self.names[number], "link", "set", f"{self.names[number]}v", state)

    def clear(self, number: int) -> None:
        for _ in range(3):
            listed = ["ip", "netns", "pids", self.names[number]]
            inside = subprocess.run(listed, capture_output=True, text=True, check=False)
            for pid in inside.stdout.split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.2)

    def end(self) -> None:
        for number, name in enumerate(self.names):
            self.clear(number)
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)  # noqa: S607


@pytest.fixture
def namespaces() -> Iterator[Namespaces]:
    pytest.importorskip("ray")
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the command ip")
    folder = Path(tempfile.mkdtemp(prefix="vmn", dir="/tmp"))  # sockets need short paths
    made = None
    try:
        try:
            made = Namespaces(folder)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces cannot be made: {error.stderr!r}")
        yield made
    finally:
        if made is not None:
            made.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("seconds", [None, 25])  # 25 s break connections, and the node is not silent for long enough
def test_the_clips_of_a_node_behind_a_cut_link_go_to_others(
    seconds: int | None, namespaces: Namespaces, tmp_path: Path
) -> None:
    (tmp_path / "clips").mkdir()
    for number in range(CLIPS):
        np.save(tmp_path / "clips" / f"{number:02d}.npy", np.full((4, 16, 24, 3), 3 * number, np.uint8))
    (tmp_path / "bright.py").write_text(PLUGIN)
    namespaces.ray(0, "--head", "--port", "6379", "--include-dashboard", "false", "--temp-dir", str(namespaces.folder))
    namespaces.ray(1, "--address", "10.98.7.1:6379")
    run, log = tmp_path / "run", tmp_path / "driver.log"
    driver = namespaces.start(
        0, "-m", "vmmetrics", "score", tmp_path / "clips", "--plugin", tmp_path / "bright.py", "--metrics", "bright",
        "--engine", "ray", "--address", "10.98.7.1:6379", "--jobs", 4, "--cpus-per-job", 1, "--out", run, log=log,
    )  # fmt: skip

    def workers() -> int:
        journal = run / "scores.jsonl"
        lines = journal.read_text().splitlines() if journal.exists() else []
        return len({line.split('"worker":')[-1] for line in lines})

    until = time.monotonic() + 120
    while workers() < 3 and driver.poll() is None and time.monotonic() < until:  # both nodes work
        time.sleep(0.2)
    namespaces.link(1, "down")
    start = time.monotonic()
    if seconds is not None:
        time.sleep(seconds)
        namespaces.link(1, "up")
    try:
        assert driver.wait(100) == 0, log.read_text()
    finally:
        driver.kill()
    text = log.read_text()
    if seconds is None:
        assert "has not answered since" in text and "clips that go to others: " in text, text
        assert time.monotonic() - start > 20  # not before it was silent for half a minute
    with (run / "scores.csv").open(newline="") as file:
        scores = {row["clip"]: float(row["bright"]) for row in csv.DictReader(file)}
    assert scores == {f"{number:02d}.npy": pytest.approx(3 * number / 255, abs=1e-6) for number in range(CLIPS)}
    assert len((run / "scores.jsonl").read_text().splitlines()) == CLIPS
