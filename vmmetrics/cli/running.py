"""Parts shared by commands that process clips: option values, tasks, and a run that can be stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import option
from vmmetrics.cli.terminal import EXIT_FAILURES, count, error, open_consoles, until_stopped, usage
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import listed, shortened

if TYPE_CHECKING:
    from vmmetrics.engines.connection import Cluster
    from vmmetrics.scoring.run import Run, Start
    from vmmetrics.scoring.settings import Settings
    from vmmetrics.scoring.table import Table
    from vmmetrics.scoring.tasks import Task
    from vmmetrics.utils.display.tables import DisplayTable, Part
    from vmmetrics.utils.storage.scratch import Scratch

DEFAULT_JOBS = 1
"""Default worker processes: one, so that a clip that crashes its process does not end the run."""
SHOWN_CLIPS = 20
"""Maximum rows of clips on a terminal before a run; other formats have all."""
MAX_BYTES = 2**50
"""Upper bound of sizes."""
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_names(text: str) -> tuple[str, ...]:
    """Return names between commas or spaces, in lower case."""
    return tuple(name for name in re.split(r"[,\s]+", text.lower()) if name)


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """Return the i and n of ``i/n``."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(
            f"expected i/n with 1 <= i <= n < 10^9, such as 2/8, but got {shortened(text, 80)!r}", param_hint="--shard"
        )
    return int(match[1]), int(match[2])


def parse_bytes(text: str, name: str = "--max-memory") -> int:
    """Return the bytes in a size such as ``2GB``."""
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if not 1 <= size <= MAX_BYTES:
        raise typer.BadParameter(
            f"expected a size from 1B to 1024TB, such as 512MB or 2GB, but got {shortened(text, 80)!r}",
            param_hint=name,
        )
    return size


def parse_scratch(text: str | None) -> Scratch:
    """Return the folder and bound of ``DIR[:SIZE]``."""
    from vmmetrics.utils.storage.scratch import DEFAULT_BYTES, Scratch

    if text is None:
        return Scratch()
    folder, colon, size = text.rpartition(":")
    if not colon or re.search(r"[/\\]", size) or os.path.isdir(text):  # noqa: PTH112 - a text
        return Scratch(text, DEFAULT_BYTES)
    return Scratch(folder, parse_bytes(size, "--scratch"))


@dataclass
class ClusterOptions:
    """Options of the commands that may run on a Ray cluster."""

    engine: options.EngineName = "local"
    address: options.Address = None
    cpus_per_job: options.CpusPerJob = None
    gpus_per_job: options.GpusPerJob = None
    retries: options.Retries = None

    def cluster(self) -> Cluster | None:
        """Return the Ray cluster that the options describe; None for this machine."""
        from vmmetrics.engines.connection import Cluster, check_installed

        given = {"address": self.address, "cpus": self.cpus_per_job, "gpus": self.gpus_per_job, "retries": self.retries}
        values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if self.engine == "local":
            if values:
                raise typer.BadParameter("--address, --cpus-per-job, --gpus-per-job and --retries are for --engine ray")
            return None
        check_installed()
        with usage():
            return Cluster(**values)


@dataclass
class RunOptions(ClusterOptions):
    """Options of the commands that score clips into a run directory."""

    out: options.RunFolder = None
    prompts: options.PromptsBeside = None
    jobs: Annotated[int | None, options.jobs_option(options.JOBS, 0)] = None
    timeout: options.Timeout = None
    shard: Annotated[str | None, option("Score part i of n, as i/n; join with 'vmmetrics merge'.")] = None
    assume_fps: options.AssumeFps = None
    max_memory: options.MaxMemory = None
    follow_links: options.FollowLinks = True
    allow_failures: options.AllowFailures = False
    device: options.Device = None
    limit: options.Limit = None
    max_seconds: options.MaxSeconds = None
    verify: options.Verify = False
    scratch: options.Scratch = None
    relist: options.Relist = False
    mirror: options.Mirror = None
    dry_run: options.DryRun = False
    form: options.Format = "text"

    def start(self) -> Start:
        """Return how the run is started."""
        from vmmetrics.engines.pool import checked_timeout
        from vmmetrics.scoring.run import Start

        cluster = self.cluster()
        jobs = DEFAULT_JOBS if self.jobs is None else self.jobs if cluster is None else max(self.jobs, 1)
        start = Start(jobs, self.timeout, parse_shard(self.shard), self.limit, self.max_seconds, self.verify, cluster)
        with usage():
            checked_timeout(start.timeout, start.jobs)
        return start

    def reading(self) -> tuple[tuple[str, Any], ...]:
        """Return the options of the reader."""
        from vmmetrics.scoring.settings import reading_options

        max_memory = None if self.max_memory is None else parse_bytes(self.max_memory)
        return reading_options(self.assume_fps, max_memory)


Show = Callable[["Table", Console, Console], None]
"""Prints the scores of a run: the table, and the consoles for results and for messages."""


def run_clips(
    clips: list[str],
    settings: Settings,
    start: Start,
    given: RunOptions,
    show: Show,
    subject: str | None = None,
    finish: Callable[[Table], None] | None = None,
) -> None:
    """Score clips into a directory, with progress, and print the scores; an interrupted run keeps what was scored.

    Args:
        clips: Files, folders, patterns and addresses.
        settings: With what; its models are loaded before the first clip.
        start: By how many workers, where, and which part.
        given: The other options of the command.
        show: Prints the scores.
        subject: What every clip is about, or None.
        finish: Writes files of its own into the run directory, before the last copy to the mirror.

    Raises:
        typer.Exit: After a dry run; else with 3 where clips failed and must not, or the mirror is not complete.
    """
    from vmmetrics.cli.progress import LiveProgress, finding
    from vmmetrics.scoring.mirror import Mirror
    from vmmetrics.scoring.run import RUNS_FOLDER, Run
    from vmmetrics.scoring.tasks import Inputs, prompt_sources

    output, messages = open_consoles()
    inputs = Inputs(clips, given.prompts, subject, given.follow_links, given.relist)
    with usage():
        run = Run(inputs, settings, start, given.out, runs=Path(RUNS_FOLDER), dry=given.dry_run)
    with finding(messages, clips) as update:
        run.find(update)
    _print_remarks(run, messages)
    if given.dry_run:
        with usage():
            show_run(run, given.form, output)
    with usage():
        directory, setup = run.directory, run.setup
    assert directory is not None  # noqa: S101  (one in the folder of runs, at least)
    messages.print(f"{count(len(run.tasks), 'clip')}, {setup.label}")
    if from_where := prompt_sources(run.tasks):
        messages.print(from_where, soft_wrap=True)
    if start.cluster is not None:
        messages.print(f"{'starting a' if start.cluster.address is None else 'connecting to the'} Ray cluster ...")
    message = f"stopped; clips scored so far are in {directory}; run the same command again to resume"
    with (
        until_stopped(messages, message),
        LiveProgress(messages, settings.metrics, start.jobs) as progress,
        Mirror(directory, given.mirror, lambda text: progress.warn([text])) as copy,
    ):
        table = run.score(progress)
        if finish is not None:
            finish(table)
    if summary := progress.summary():
        messages.print(summary)
    if copy.behind:
        error(messages, f"the mirror is not complete: {copy.behind}", "bold red")
    show(table, output, messages)
    if copy.behind or (table.summary.failed and not given.allow_failures):
        raise typer.Exit(EXIT_FAILURES)


def _print_remarks(run: Run, messages: Console) -> None:
    """Print what is to be said about the clips found, and which folders have none.

    Raises:
        BadParameter: No clip was found.
    """
    from vmmetrics.utils.storage.addresses import address_of
    from vmmetrics.video.discover import no_clips

    here = [Path(path) for path in run.inputs.paths if address_of(path) is None]
    if not run.found:
        raise typer.BadParameter("; ".join([no_clips(here), *run.remarks]))
    for remark in run.remarks:
        messages.print(remark, soft_wrap=True)
    for path in here:
        within = os.path.abspath(path)  # noqa: PTH100  (as the tasks' paths are)
        if path.is_dir() and not any(task.path and task.path.is_relative_to(within) for task in run.found):
            messages.print(no_clips([path]), soft_wrap=True)
    if run.unmatched:
        messages.print(f"{count(len(run.unmatched), 'prompt')} of the list without a clip: {listed(run.unmatched, 3)}")
    if not run.tasks and run.start.max_seconds is not None:
        raise typer.BadParameter(f"no clip fits {run.start.max_seconds:g} s", param_hint="--max-seconds")
    if not run.tasks and run.start.shard is not None:
        i, n = run.start.shard
        messages.print(f"shard {i}/{n}: none of the {count(len(run.found[: run.start.limit]), 'clip')} falls to it")


# What ``--dry-run`` prints; nothing is computed or written.


def show_run(run: Run, form: str, output: Console) -> None:
    """Print the clips of a run with their prompts, its models and weights, and where results would go.

    Raises:
        typer.Exit: With 2 where something that the run needs is not here, else with 0.
    """
    from vmmetrics.scoring.tasks import prompt_sources
    from vmmetrics.utils.display.tables import DisplayTable, Lines, heads

    tasks, metrics, directory = run.tasks, run.settings.metrics, run.out
    lines = [f"{count(len(tasks), 'clip')}; metrics: {', '.join(metrics)}", prompt_sources(tasks)]
    models = DisplayTable("models", "Models", "", heads("for", "model", texts=2))
    weights = DisplayTable("weights", "Weights, all present", "", heads("file", "SHA-256", texts=2))
    lacking = False
    try:
        setup = run.setup
    except SetupError as error:
        lacking = True
        lines += ["not ready to run:", *map(str, error.args)]
    else:
        directory = run.directory
        lines.append(setup.label)
        unused = getattr(setup.scorer.suite(metrics), "unused", ())  # baselines load what they need alone
        for table, part in ((models, "models"), (weights, "weights")):
            for name, shown in setup.configuration.get(part, {}).items():
                if name not in unused:
                    table.add(str(name), str(shown))
    if directory is not None:
        lines.append(f"results: {directory}, {_there(directory, tasks)}")
    parts: list[Part] = [Lines("plan", "Planned run", tuple(filter(None, lines))), clip_table(tasks, form)]
    parts += [table for table in (models, weights) if table.rows]
    print_result(form, parts, output)
    raise typer.Exit(2 if lacking else 0)


def clip_table(tasks: Sequence[Task], form: str) -> DisplayTable:
    """Return clips with their models and prompts, and where the prompts are from; the first of them as text."""
    from vmmetrics.utils.display.tables import DisplayTable, heads

    shown = tasks[:SHOWN_CLIPS] if form == "text" else tasks
    more = f"and {len(tasks) - len(shown)} more" if len(shown) < len(tasks) else ""
    table = DisplayTable("clips", "Clips", more, heads("clip", "model", "prompt", "prompt from", texts=4))
    for task in shown:
        table.add(task.clip, task.model or "", task.prompt or "", task.prompt_source or "")
    return table


def _there(directory: Path, tasks: Sequence[Task]) -> str:
    from vmmetrics.scoring.records import records_by_name

    if not (directory / "run.json").exists():
        return "new"
    keys = {task.key for task in tasks}
    done = sum(record.key in keys and not record.failed for record in records_by_name(directory))
    return f"which has {done} of these clips"
