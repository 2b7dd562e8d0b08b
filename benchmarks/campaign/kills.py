"""``kill -9`` over every command that resumes: at a random moment, or at one of the steps that change the disk.

Each run is a process that is forked from one that has imported what the commands import, in a session of its own. Its
workers are forked likewise; in each tenth run they are started as users have them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.campaign.jobs import KEY, Job, Material, jobs, prepare_suite, start_server
from benchmarks.campaign.results import Campaign
from tests.reliability import durable
from tests.reliability.journals import contents, faults_of_files, leftovers, parse_lines, steady, stuck_locks
from tests.reliability.warm import build_commands_once, import_what
from tests.reliability.watched import children, command, processes, watched

KILLS_PER_RUN = 6
ORPHAN_SECONDS = 20.0
LONGEST = 120.0


@dataclass
class Reference:
    """A run that nobody interrupted.

    Attributes:
        files: Its contents.
        steps: Steps at which its parent changed the disk.
        seconds: How long it took.
    """

    files: dict[str, Any]
    steps: int
    seconds: float


@dataclass
class Cycle:
    """One run that is killed several times and then goes on to the end."""

    job: Job
    reference: Reference
    out: Path
    rng: random.Random
    figures: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    finished: dict[str, set[str]] = field(default_factory=dict)

    def go(self, kills: int) -> None:
        """Kill ``kills`` times at most, then let it end, and compare."""
        self.out.mkdir(parents=True)
        with (self.out.parent / "log").open("wb") as log:
            spawn = self.rng.random() < 0.1
            while self.figures["kills"] < kills and self._kill_once(log.fileno(), spawn):
                self.check("after a kill")
            for _ in range(2):  # a worker's clip is tried again at the next start
                code = _wait(self.job.start(self.out, log.fileno(), spawn=spawn))
                if code in self.job.resumed:
                    break
        if code not in self.job.resumed:
            words = (self.out.parent / "log").read_bytes()[-300:].decode("utf-8", "replace")
            self.faults.append(f"ends with {code}: {words}")
        self.check("at the end")
        self.compare()

    def _kill_once(self, log: int, spawn: bool) -> bool:
        """Start the command and kill it; False where it ended by itself before."""
        at_step = self.job.victim in ("parent", "group") and self.rng.random() < 0.5
        step = self.rng.randint(1, self.reference.steps) if at_step else 0
        before = (lambda: durable.kill_at(step)) if step else None
        started = [self.job.start(self.out, log, before, spawn=spawn)]
        if self.job.victim == "two":
            time.sleep(self.rng.uniform(0, 0.3 * self.reference.seconds))
            started.append(self.job.start(self.out, log, spawn=spawn))
        codes = {}
        if step:
            codes[started[0]] = _wait(started[0])
        else:
            time.sleep(self.rng.uniform(0.02, self.reference.seconds))
        killed = step > 0 and codes[started[0]] == -signal.SIGKILL
        if not step:
            victims = self._victims(started)
            for victim in victims:
                killed = _kill(victim, group=self.job.victim == "group") or killed
        for pid in started:
            if pid not in codes:
                codes[pid] = _wait(pid)
        self.figures["kills"] += killed
        self.figures["kills at a step"] += killed and step > 0
        self.figures["runs with spawned workers"] += spawn or self.job.spawned
        self._wait_for_orphans(started)
        return killed

    def _victims(self, started: list[int]) -> list[int]:
        if self.job.victim == "two":
            return started if self.rng.random() < 0.5 else [self.rng.choice(started)]
        if self.job.victim != "worker":
            return started
        until = time.monotonic() + self.reference.seconds
        while not (workers := children(started[0])) and time.monotonic() < until:
            time.sleep(0.01)
        return [self.rng.choice(workers)] if workers else []

    def _wait_for_orphans(self, started: list[int]) -> None:
        until = time.monotonic() + ORPHAN_SECONDS
        while (left := [pid for group in started for pid in processes(group)]) and time.monotonic() < until:
            time.sleep(0.02)
        if left:
            self.figures["orphans"] += len(left)
            self.faults.append(f"{len(left)} processes outlive it by {ORPHAN_SECONDS:g} s")
            for group in started:
                _kill(group, group=True)

    def check(self, when: str) -> None:
        """Files parse, and no line that was there is gone."""
        faults = faults_of_files(self.out)
        self.figures["unparsable"] += len(faults)
        for name, _ in self.job.journals:
            lines = {repr(sorted(steady(line).items(), key=str)) for line in _good(self.out / name)}
            lost = self.finished.get(name, set()) - lines
            self.figures["lost"] += len(lost)
            faults += [f"{name} lost {line[:80]}" for line in lost]
            self.finished[name] = lines
        self.faults += [f"{when}: {fault}" for fault in faults]

    def compare(self) -> None:
        """Compare the files with those of the run that nobody interrupted."""
        for name, keys in self.job.journals:
            counts = Counter(tuple(line.get(key) for key in keys) for line in _good(self.out / name))
            twice = [key for key, count in counts.items() if count > 1]
            self.figures["twice"] += len(twice)
            self.faults += [f"{name} has {key} twice" for key in twice]
        hidden, stuck = leftovers(self.out), stuck_locks(self.out)
        self.figures["leftover files"] += len(hidden)
        self.figures["stuck locks"] += len(stuck)
        self.faults += [f"leaves {name}" for name in hidden] + [f"lock stuck: {name}" for name in stuck]
        files = contents(self.out)
        other = [
            name for name, content in self.reference.files.items() if _settled(files.get(name)) != _settled(content)
        ]
        self.figures["other contents"] += len(other)
        self.faults += [f"{name} differs from an uninterrupted run" for name in other]
        leaks = [path.name for path in self.out.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        self.figures["key leaks"] += len(leaks)
        self.faults += [f"the key is in {name}" for name in leaks]


def _good(path: Path) -> list[dict[str, Any]]:
    """Lines of a journal of one piece of work each that did not fail."""
    lines = [line for line in parse_lines(path)[0] if isinstance(line, dict) and line.get("kind") != "session"]
    return [line for line in lines if not line.get("error") and not line.get("errors")]


def _settled(content: Any) -> Any:
    """Contents of a file without the lines of failures that were tried again with success."""
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        return [line for line in content if '"error": "' not in line and "session" not in line]
    return content


def _kill(pid: int, *, group: bool) -> bool:
    try:
        os.killpg(pid, signal.SIGKILL) if group else os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _wait(pid: int) -> int:
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    _kill(pid, group=True)
    os.waitpid(pid, 0)
    return -signal.SIGALRM


def run(campaign: Campaign) -> None:
    """Kill every job its share of the kills."""
    with_material(campaign, _kill_all)


def with_material(campaign: Campaign, work: Any) -> None:
    """Start the server, make what the jobs work on, and call ``work`` with the campaign and the jobs."""
    url = campaign.scratch / "url"
    server = start_server(url)
    try:
        while not url.exists():
            time.sleep(0.05)
        material = Material.make(campaign.scratch / "material", url.read_text())
        watched(lambda: prepare_suite(material, campaign.scratch))
        all_jobs = jobs(material)
        for job in all_jobs:
            first = campaign.scratch / "first" / job.name.replace(" ", "-")
            first.mkdir(parents=True)
            import_what(lambda job=job, first=first: (job.prepare(), command(job.arguments(first))))
        build_commands_once()
        work(campaign, all_jobs)
    finally:
        _kill(server, group=True)
        os.waitpid(server, 0)


def measure(job: Job, out: Path) -> Reference:
    """Run a job without any kill."""
    out.mkdir(parents=True)

    def work() -> list[str]:
        job.prepare()
        steps = durable.count_steps()
        code = command(job.arguments(out))
        return steps if code in job.resumed else []

    begun = time.monotonic()
    ended = watched(work)
    if not ended.value:
        raise RuntimeError(f"{job.name} fails without any kill: {ended.output[-500:]}")
    return Reference(contents(out), len(ended.value), time.monotonic() - begun)


def _kill_all(campaign: Campaign, all_jobs: list[Job]) -> None:
    shares = sum(job.share for job in all_jobs)
    for job in all_jobs:
        kills = round(campaign.kills * job.share / shares) + 1
        reference = measure(job, campaign.scratch / "reference" / job.name.replace(" ", "-"))
        number = 0
        while (left := kills - _kills(campaign, job)) > 0:
            number += 1
            key = f"{job.name} {number}"
            if campaign.done(key):
                continue
            out = campaign.scratch / "run" / "out"
            cycle = Cycle(job, reference, out, campaign.rng(key))
            cycle.go(min(KILLS_PER_RUN, left))
            campaign.add(job.name, key, "; ".join(cycle.faults)[:1000], **{k: int(v) for k, v in cycle.figures.items()})
            shutil.rmtree(out.parent)


def _kills(campaign: Campaign, job: Job) -> int:
    return sum(case["figures"].get("kills", 0) for case in campaign.cases.values() if case["row"] == job.name)
