"""What the Ray engine costs its driver, and how busy it keeps workers: ``python -m benchmarks.ray_overhead``.

Workers sleep, so that many fit on a few cores: each takes 0.01 of a CPU. The cluster is of this machine alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.engines.connection import Cluster
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.engine import cluster_workers
from vmmetrics.scoring.run import Start, prepare, run
from vmmetrics.scoring.session import MemoryStore, Session
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import tasks_of_paths
from vmmetrics.types import Event, MetricResult

METRICS = ("mss", "pas", "tcs")
SHARE = 0.01
"""CPUs of a sleeping worker."""


class Sleeping:
    """Sleeps for the seconds that a clip's name begins with, and scores its hash."""

    reads_ahead = False

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def describe(self) -> dict[str, Any]:
        return {"preset": "sleeping", "label": "sleeping"}

    def score_clip(self, clip: Any, **_: Any) -> ClipScores:
        time.sleep(float(Path(clip.name).name.partition("-")[0]))
        value = hashlib.sha256(clip.name.encode()).digest()[0] / 255
        event = Event("mss", (0, 1), "made up", box=(0.0, 0.0, 4.0, 4.0), magnitude=0.5, threshold=0.25)
        series = {"value": np.linspace(0, value, 49)}  # as of a clip of VMBench: its outcome takes 3 KB
        result = MetricResult(value, events=(event,) * 4, series=series)
        return ClipScores(clip.name, dict.fromkeys(METRICS, result), {}, 0.0)


class Watch:
    """Notes when each clip was done, and by whom."""

    def __init__(self) -> None:
        self.done: list[tuple[float, str]] = []

    def begin(self, total: int, settled: int) -> None: ...

    def warn(self, warnings: Any) -> None: ...

    def wait(self, name: str, seconds: float, share: float | None) -> None: ...

    def advance(self, record: Any) -> None:
        assert not record.failed, record
        self.done.append((time.monotonic(), record.worker))

    def rate(self, workers: int, tail: int) -> float:
        """Clips a second from when every worker has answered to when the last ones are handed out."""
        seen: set[str] = set()
        for first, (begin, worker) in enumerate(self.done):  # noqa: B007
            seen.add(worker)
            if len(seen) == workers:
                break
        assert len(seen) == workers, f"{len(seen)} of {workers} workers had started at the end: raise --rounds"
        end = len(self.done) - tail
        return (end - first) / (self.done[end][0] - begin)


def clips(folder: Path, seconds: float, count: int) -> list[Path]:
    folder.mkdir()
    for number in range(count):
        np.save(folder / f"{seconds}-{number:05d}.npy", np.full((4, 8, 8, 3), number % 256, np.uint8))
    return [folder]


def measure(seconds: float, count: int, workers: int, out: Path | None = None) -> tuple[Watch, float, float]:
    """Score; return when each was done, the driver's CPU seconds, and those of the whole."""
    settings = Settings(metrics=METRICS, suite="benchmarks.ray_overhead:Sleeping")
    with tempfile.TemporaryDirectory() as folder:
        tasks = tasks_of_paths(clips(Path(folder) / "clips", seconds, count), METRICS, None, None, True)[0]
        setup, watch, cluster = prepare(settings), Watch(), Cluster(cpus=SHARE)
        begin, spent = time.monotonic(), time.process_time()
        if out is not None:
            run(setup, tasks, Start(workers, cluster=cluster), out, watch)
        else:
            suite = setup.scorer.suite(METRICS)
            engine = cluster_workers(settings, workers, 600, cluster, suite, print)
            spent = time.process_time()  # without the start of the cluster
            Session(tasks, engine, MemoryStore(), watch).run()
            spent = time.process_time() - spent
            engine.close()
            return watch, spent, time.monotonic() - begin
    return watch, time.process_time() - spent, time.monotonic() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="driver,busy,scaling")
    parser.add_argument("--clips", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=150, help="Clips for each worker.")
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    if "driver" in arguments.parts:
        watch, spent, _ = measure(0.0, arguments.clips, 2)
        print(
            f"driver: {1000 * spent / len(watch.done):.2f} ms of CPU a clip without a run directory (aim 3)", flush=True
        )
        with tempfile.TemporaryDirectory() as folder:
            watch, spent, _ = measure(0.0, arguments.clips, 2, Path(folder) / "run")
        each = 1000 * spent / len(watch.done)
        print(f"driver: {each:.2f} ms of CPU a clip with one, start and tables included", flush=True)
        print(f"        {watch.rate(2, 16):.0f} clips/s", flush=True)
    if "busy" in arguments.parts:
        workers = arguments.workers
        watch, spent, whole = measure(2.0, arguments.rounds * workers, workers)
        share = 2.0 * watch.rate(workers, 2 * workers) / workers
        print(
            f"{workers} workers of 2 s a clip: {100 * share:.1f} % busy (aim 95); {whole:.0f} s, driver {spent:.1f} s"
        )
    if "scaling" in arguments.parts:
        rates = {n: measure(0.5, 40 * n, n)[0].rate(n, 2 * n) for n in (2, 8)}
        print(f"2 to 8 workers: {100 * rates[8] / (4 * rates[2]):.1f} % efficiency (aim 90), {rates[8]:.2f} clips/s")


if __name__ == "__main__":
    main()
