"""How long a run directory of many clips takes to write, open, index and tabulate, and in how much memory.

``python -m benchmarks.run_directory [CLIPS] [FOLDER]``: no clip exists; an engine hands back made-up outcomes, and each
task has the address and state that a list of clips would give it. Each step is a process of its own, whose peak of
memory is printed.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import version_of
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.export import export
from vmmetrics.scoring.filtering import Filtered
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import read_events, records_by_name
from vmmetrics.scoring.scorer import Outcome
from vmmetrics.scoring.session import Session
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.tasks import Task, tasks_of_paths
from vmmetrics.utils.conditions import Condition
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video.manifest import ListedClip, write_manifest

MODELS = 10
STEPS = ("listed", "write", "opening", "settled", "one", "tables", "kept", "join")
COMMITTED = 20_000
"""Outcomes for which the group commit is timed; the other clips are written in large pieces."""


class MadeUp:
    """An engine that is done at once."""

    slowest = None

    def __init__(self, slots: int = 64) -> None:
        self._slots = slots
        self._tasks: list[Task] = []

    free = property(lambda self: self._slots - len(self._tasks))
    busy = property(lambda self: len(self._tasks))

    def submit(self, task: Task, following: Task | None = None) -> None:  # noqa: ARG002
        self._tasks.append(task)

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:  # noqa: ARG002
        tasks, self._tasks = self._tasks, []
        return [Outcome(task, record_of(task), EVENTS) for task in tasks]

    def close(self) -> None: ...


EVENTS = {
    metric: {"events": [{"frames": [3], "reason": "made up", "magnitude": 0.5}], "series": {"value": [0.123456] * 16}}
    for metric in METRICS
}


STATE = FileState(bytes=2_000_000, etag="0123456789abcdef0123456789abcdef")


def tasks_of(clips: int) -> list[Task]:
    tasks = []
    for number in range(clips):
        model, prompt = f"model{number % MODELS}", f"a dog runs after ball {number // MODELS}"
        name = f"{model}/clip{number:07d}.mp4"
        tasks.append(Task(name, model, None, METRICS, prompt, "list", uri=f"s3://bucket/{name}", listed=STATE))
    return tasks


def record_of(task: Task) -> Record:
    number = int(task.clip[-11:-4])
    scores = {metric: (number * (7 + k) % 1009) / 1009 for k, metric in enumerate(METRICS) if number % (11 + k)}
    missing = {metric: "no person" for metric in METRICS if metric not in scores}
    return Record(
        task.clip, task.model, task.key, f"{number:064x}", "embedded", "vmmetrics", scores, missing, frames=49, fps=8.0,
        size=(1280, 720), prompt=task.prompt, prompt_source=task.prompt_source, seconds=2.0, state=STATE.to_record(),
        score_version={m: version_of(m) for m in METRICS}, codec="h264",
    )  # fmt: skip


def opened(run: Path) -> RunDirectory:
    configuration = {"preset": "embedded", "protocol": "vmmetrics", "label": "made up"}
    return RunDirectory(run, configuration, {"metrics": list(METRICS)})


def write(run: Path, clips: int) -> dict[str, Any]:
    tasks = tasks_of(clips)
    with opened(run) as directory:
        start, before = time.perf_counter(), time.process_time()
        Session(tasks[:COMMITTED], MadeUp(), directory).run()
        seconds, processor = time.perf_counter() - start, time.process_time() - before
        for first in range(COMMITTED, clips, 10_000):  # quickly: as group commits would have left it
            records = [record_of(task) for task in tasks[first : first + 10_000]]
            directory._events.append(
                {"clip": r.clip, "path": r.path, "sha256": r.sha256, "frames": 49, "fps": 8.0, "metrics": EVENTS}
                for r in records
            )
            directory._scores.append(record.to_json() for record in records)
    done = min(clips, COMMITTED)
    return {"outcomes/s": round(done / seconds), "of a core, ms each": round(1000 * processor / done, 3)}


def opening(run: Path, clips: int) -> dict[str, Any]:  # noqa: ARG001
    with timed("opened, s") as figures:
        opened(run).close()
    return figures


def settled(run: Path, clips: int) -> dict[str, Any]:
    tasks = tasks_of(clips)
    figures: dict[str, Any] = {"tasks alone, MB": round(peak())}
    with timed("session without work, s") as session, opened(run) as directory:
        assert len(Session(tasks, MadeUp(), directory).run()) == clips
    return figures | session


def tables(run: Path, clips: int) -> dict[str, Any]:  # noqa: ARG001
    from vmmetrics.cli.results import print_results
    from vmmetrics.cli.terminal import open_consoles

    with timed("tables on disk, s") as figures:
        table = export(run)
    with timed("tables on the screen, s") as shown, Path(os.devnull).open("w") as nowhere:
        output, messages = open_consoles()
        output.file = messages.file = nowhere
        print_results(table, output, messages)
    return figures | shown


def one(run: Path, clips: int) -> dict[str, Any]:
    record = record_of(tasks_of(min(clips, COMMITTED))[-1])
    with timed("events of one clip, s") as figures:
        assert read_events(run, record).keys() == set(METRICS)
    return figures


def listed(run: Path, clips: int) -> dict[str, Any]:
    made_up = run.parent / "clips.jsonl"
    with timed("list written, s") as figures:
        write_manifest(made_up, [], (ListedClip(f"/made-up/{task.clip}", task.clip) for task in tasks_of(clips)))
    with timed("list read, s") as reading:
        assert len(tasks_of_paths([made_up], METRICS)[0]) == clips
    return figures | reading


def kept(run: Path, clips: int) -> dict[str, Any]:
    filtered = Filtered(Table(records_by_name(run)), Condition("cas > 0.5 and mss > 0.5", METRICS))
    with timed("decisions and kept clips written, s") as figures:
        filtered.write(run)
    assert sum(filtered.counts.values()) == clips
    return figures


def join(run: Path, clips: int) -> dict[str, Any]:
    from vmmetrics.scoring.merge import merge

    with timed("merge of one run, s") as figures:
        assert len(merge([run], run.parent / "merged").table) == clips
    return figures


class timed(dict[str, Any]):  # noqa: N801
    """A dictionary with the seconds that the block took."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> timed:
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        wall, processor = time.perf_counter() - self._start[0], time.process_time() - self._start[1]
        self[self._name] = f"{wall:.2f} ({processor:.2f} of a core)"


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    clips = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if len(sys.argv) > 3:
        figures = globals()[sys.argv[3]](Path(sys.argv[2]) / "run", clips)
        print(json.dumps({**figures, "peak, MB": round(peak())}))
        return
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        for step in STEPS:
            command = [sys.executable, "-m", "benchmarks.run_directory", str(clips), folder, step]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            print(f"{step}: {done.stdout.strip()}", flush=True)
        size = sum(path.stat().st_size for path in (Path(folder) / "run").iterdir())
        print(f"{clips:,} clips, {size / 1e6:,.0f} MB on disk")


if __name__ == "__main__":
    main()
