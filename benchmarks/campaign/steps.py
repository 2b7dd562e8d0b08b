"""A kill at every step at which a command changes the disk, one after the other; then it must go on to the end."""

from __future__ import annotations

import random
import shutil
import signal
from pathlib import Path

from benchmarks.campaign.jobs import Job
from benchmarks.campaign.kills import Cycle, Reference, measure, with_material
from benchmarks.campaign.results import Campaign
from tests.reliability import durable
from tests.reliability.journals import contents, leftovers
from tests.reliability.watched import Ended, command, watched

ONCE = ("score, real metric", "baselines", "probe", "understand run random", "generate-clips --command")
ASKING = ("understand run endpoint", "prompts generate", "prompts filter")


def run(campaign: Campaign) -> None:
    """Kill at each step of the jobs, then of the commands that write a result in one go."""
    with_material(campaign, _kill_everywhere)


def _kill_everywhere(campaign: Campaign, all_jobs: list[Job]) -> None:
    chosen = [job for job in all_jobs if job.name in (*ONCE, *ASKING, "score")]
    for job in chosen:
        reference = measure(job, campaign.scratch / "reference" / job.name.replace(" ", "-"))
        for step in range(1, reference.steps + 1):
            if not campaign.done(f"{job.name}, step {step}"):
                _one(campaign, job, reference, step)
    _outputs(campaign, next(job for job in all_jobs if job.name == "score"))


def _one(campaign: Campaign, job: Job, reference: Reference, step: int) -> None:
    key = f"{job.name}, step {step}"
    out = campaign.scratch / "run" / "out"
    out.mkdir(parents=True)
    ended = _until_step(job, out, step)
    cycle = Cycle(job, reference, out, random.Random(0))
    cycle.figures["killed"] += ended.code == -signal.SIGKILL
    cycle.check("after the kill")
    resumed = watched(lambda: (job.prepare(), command(job.arguments(out)))[1])
    if resumed.value not in job.resumed:
        cycle.faults.append(f"not resumed: {resumed.output[-200:]}")
    cycle.check("at the end")
    cycle.compare()
    where = next((line for line in ended.output.splitlines() if line.startswith("killed at step")), "")
    fault = f"{where}: {'; '.join(cycle.faults)}"[:1000] if cycle.faults else ""
    campaign.add(job.name, key, fault, **{name: int(count) for name, count in cycle.figures.items()})
    shutil.rmtree(out.parent)


def _until_step(job: Job, out: Path, step: int) -> Ended:
    def work() -> int:
        job.prepare()
        durable.kill_at(step)
        return command(job.arguments(out))

    return watched(work)


def _outputs(campaign: Campaign, score: Job) -> None:
    """Commands that write a result in one go: whole or not there, and whole at the second start."""
    runs = [campaign.scratch / name for name in ("one", "two")]
    for run_folder in runs:
        watched(lambda run_folder=run_folder: (score.prepare(), command(score.arguments(run_folder)))[1])
    ratings = campaign.scratch / "ratings.csv"
    lines = [f"c{number}slow.mp4,{rater},{1 + (number + rater) % 5}\n" for number in range(8) for rater in range(3)]
    ratings.write_text("clip,rater,rating\n" + "".join(lines))
    for name, arguments in {
        "merge": lambda out: ["merge", *runs, "--out", out / "merged"],
        "leaderboard": lambda _: ["leaderboard", *runs, "--format", "csv"],
        "align": lambda out: ["align", runs[0], ratings, "--out", out / "aligned"],
    }.items():
        job = Job(name, arguments)
        reference = measure(job, campaign.scratch / "reference" / name)
        for step in range(1, reference.steps + 1):
            key = f"{name}, step {step}"
            if campaign.done(key):
                continue
            out = campaign.scratch / "run" / "out"
            out.mkdir(parents=True)
            ended = _until_step(job, out, step)
            again = watched(lambda job=job, out=out: (job.prepare(), command(job.arguments(out)))[1])
            faults = [f"leaves {file}" for file in leftovers(out)]
            whole = sorted(contents(out)) == sorted(reference.files)
            if not whole:
                faults.append("other files than in an uninterrupted run")
            if again.value and not (whole and again.value == 2):  # what is there whole may be refused
                faults.append(f"not done again: {again.output[-200:]}")
            killed = int(ended.code == -signal.SIGKILL)
            campaign.add(name, key, "; ".join(faults)[:600], killed=killed)
            shutil.rmtree(out.parent)
