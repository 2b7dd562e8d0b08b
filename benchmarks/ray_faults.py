"""Faults of a cluster that take too long for the tests: ``python -m benchmarks.ray_faults --kills 20 --chaos 10``.

Each part scores clips of the tests' fake suite on a cluster of a head and two nodes on this machine, and compares the
run with one that was left alone: every field but seconds, worker and time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.engines.conftest import HERE, Machines, processes
from tests.engines.test_cluster_runs import contents, lines, make_clips, start, wait_for_lines

TESTS = HERE.parent


def names(count: int, each: int = 0) -> list[str]:
    """Clips that take 0.15 s; every so many of them one that raises."""
    return [f"{'raise' if each and not n % each else 'slow'}{n:05d}" for n in range(count)]


def undisturbed(clips: Path, out: Path) -> dict[str, Any]:
    command = [sys.executable, str(TESTS / "scoring" / "command.py"), str(out.with_suffix(".log")), "score", str(clips)]
    subprocess.run([*command, "-o", str(out), "-j", "2", "-q"], check=False, stdout=subprocess.DEVNULL)
    return contents(out)


def verdict(run: Path, clips: Path, folder: Path) -> str:
    tried = Counter(line["clip"] for line in lines(run) if line["error"] is None)
    twice = sum(count > 1 for count in tried.values())
    same = contents(run) == undisturbed(clips, folder / "undisturbed")
    return f"{'same table' if same else 'ANOTHER TABLE'}, {twice} clips with two lines of success"


def kills(machines: Machines, folder: Path, count: int, rng: random.Random) -> None:
    """Kill the driver at random moments and start it again."""
    clips, run = make_clips(folder / "clips", *names(30 * count)), folder / "run"
    slowest = 0.0
    for _ in range(count):
        process = start(machines, folder / "log", clips, "-o", run, "-j", 2)
        wait_for_lines(run, len(lines(run)) + 1, process)
        time.sleep(rng.uniform(0, 2))
        process.kill()
        process.communicate()
        ended = time.monotonic()
        while machines.workers():
            time.sleep(0.05)
        slowest = max(slowest, time.monotonic() - ended)
    process = start(machines, folder / "log", clips, "-o", run, "-j", 2)
    process.communicate()
    print(f"{count} driver kills: {verdict(run, clips, folder)}; workers gone within {slowest:.1f} s", flush=True)


def disturbed(
    machines: Machines, folder: Path, clips: Path, disturb: Callable[[threading.Event], None], timeout: float = 60
) -> tuple[int, float]:
    """Score while something disturbs; return the exit code and the seconds."""
    begin, over = time.monotonic(), threading.Event()
    process = start(
        machines, folder / "log", clips, "-o", folder / "run", "-j", 4, "--timeout", timeout, "-q", "--retries", 5
    )
    wait_for_lines(folder / "run", 1, process)
    thread = threading.Thread(target=disturb, args=(over,))
    thread.start()
    process.communicate()
    over.set()
    thread.join()
    return process.returncode, time.monotonic() - begin


def chaos(machines: Machines, folder: Path, count: int, minutes: float, rng: random.Random) -> None:
    """Kill a random worker every 2 seconds: so often that by chance one clip may be in hand three times."""
    killed = [0]

    def kill(over: threading.Event) -> None:
        end = time.monotonic() + 60 * minutes
        while not over.wait(2) and time.monotonic() < end:
            if workers := machines.workers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(workers), signal.SIGKILL)
                    killed[0] += 1

    clips = make_clips(folder / "clips", *names(count, 100))
    code, seconds = disturbed(machines, folder, clips, kill)
    shown = verdict(folder / "run", clips, folder)
    print(f"chaos: {count} clips, {killed[0]} workers killed in {seconds:.0f} s, exit code {code}: {shown}", flush=True)


def freeze(machines: Machines, folder: Path, seconds: float) -> None:
    """Stop all processes of one node, as a network that is gone would, and let them go on after so many seconds."""
    node = machines.add(env_vars={"FROZEN": "1"})

    def stop(over: threading.Event) -> None:
        frozen = [pid for pid in processes(machines.mark) if b"FROZEN=1" in Path(f"/proc/{pid}/environ").read_bytes()]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        over.wait(seconds)
        for pid in frozen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    clips = make_clips(folder / "clips", *names(300))
    code, lasted = disturbed(machines, folder, clips, stop)
    shown = verdict(folder / "run", clips, folder)
    print(f"a node stopped for {seconds:.0f} s: exit code {code} after {lasted:.0f} s, {shown}", flush=True)
    with contextlib.suppress(Exception):
        machines.remove(node)


def lost_gcs(machines: Machines, folder: Path) -> None:
    """Kill Ray's control service alone: the end of the cluster."""
    clips, run = make_clips(folder / "clips", *names(200)), folder / "run"
    process = start(machines, folder / "log", clips, "-o", run, "-j", 2)
    wait_for_lines(run, 3, process)
    lost = time.monotonic()
    machines.cluster.head_node.kill_gcs_server()
    _, errors = process.communicate()
    lasted, done = time.monotonic() - lost, len(lines(run))
    last_line = errors.strip().splitlines()[-1]
    shown = verdict(run, clips, folder) if undisturbed(clips, run) else ""
    print(
        f"control service killed: exit code {process.returncode} after {lasted:.1f} s, {done} lines kept ({last_line})"
    )
    print(f"  resumed: {shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=0, help="Kills of the driver, such as 20.")
    parser.add_argument("--chaos", type=float, default=0, help="Minutes of random kills of workers, such as 10.")
    parser.add_argument("--clips", type=int, default=10_000, help="Clips of --chaos.")
    parser.add_argument("--freeze", type=float, default=0, help="Seconds for which a node is stopped, such as 40.")
    parser.add_argument("--gcs", action="store_true", help="Kill Ray's control service; comes last.")
    arguments = parser.parse_args()
    rng, machines = random.Random(18), Machines()
    machines.add()
    machines.add()
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folders = (Path(temporary) / str(n) for n in range(4))
            for part, count in (
                (lambda place: kills(machines, place, arguments.kills, rng), arguments.kills),
                (lambda place: chaos(machines, place, arguments.clips, arguments.chaos, rng), arguments.chaos),
                (lambda place: freeze(machines, place, arguments.freeze), arguments.freeze),
                (lambda place: lost_gcs(machines, place), arguments.gcs),
            ):
                place = next(folders)
                if count:
                    place.mkdir()
                    part(place)
    finally:
        machines.end()


if __name__ == "__main__":
    main()
