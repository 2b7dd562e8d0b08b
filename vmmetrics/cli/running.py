"""Parts shared by commands that process clips: option values, tasks, and a run that can be stopped."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.console import Console

from vmmetrics.cli.terminal import count, error, open_consoles, until_stopped, usage
from vmmetrics.utils.display.markup import listed, shortened

if TYPE_CHECKING:
    from vmmetrics.engines.connection import Cluster
    from vmmetrics.scoring.local import Start
    from vmmetrics.scoring.settings import Settings
    from vmmetrics.scoring.table import Table
    from vmmetrics.scoring.task import Task
    from vmmetrics.utils.storage.scratch import Scratch

DEFAULT_JOBS = 1
"""Default worker processes: one, so that a clip that crashes its process does not end the run."""
MAX_BYTES = 2**50
"""Upper bound of processes."""
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


@dataclass(frozen=True, slots=True)
class ClipOptions:
    """Options that select clips.

    Attributes:
        clips: Files, folders, patterns and addresses.
        prompts: Prompt list, or None.
        subject: What every clip is about, or None.
        follow_links: Whether symlinks may lead out of the folders.
        relist: Whether addresses are listed again that an earlier start listed.
    """

    clips: list[str]
    prompts: Path | None = None
    subject: str | None = None
    follow_links: bool = True
    relist: bool = False


def run_clips(
    sources: ClipOptions,
    settings: Settings,
    start: Start,
    out: Path | None,
    mirror: str | None = None,
    dry_run: str | None = None,
) -> tuple[Table, Console, Console, bool]:
    """Score clips into a directory, with progress; an interrupted run keeps what was scored.

    Args:
        sources: The clips.
        settings: With what; its models are loaded before the first clip.
        start: By how many workers, where, and which part.
        out: Run directory; None for one of its own.
        mirror: Address that the run directory is copied to, or None.
        dry_run: Print in this form what would be run, and run nothing.

    Returns:
        The records, the consoles for results and for messages, and whether the mirror, if any, is complete.
    """
    from vmmetrics.cli.progress import LiveProgress
    from vmmetrics.engines.connection import check_cluster
    from vmmetrics.scoring.directory import check_directory
    from vmmetrics.scoring.local import RUNS_FOLDER, default_directory, prepare, run
    from vmmetrics.scoring.mirror import Mirror
    from vmmetrics.scoring.tasks import prompt_sources
    from vmmetrics.utils.storage.addresses import address_of
    from vmmetrics.utils.storage.job_folder import check_folder
    from vmmetrics.utils.storage.remote import looking_up

    output, messages = open_consoles()
    setup, directory, cluster = None, out, start.cluster
    if cluster is not None and dry_run is None:
        check_cluster(cluster)
    if out is not None:
        check_directory(out)
    if dry_run is None and any(address_of(clip) is not None for clip in sources.clips):  # the directory lists them
        with usage():
            setup = prepare(settings)
        directory = out or default_directory(setup, sources.clips)
        check_directory(directory, setup.configuration, setup.parts)
    with looking_up(start.timeout):
        tasks = _tasks(sources, settings, start, directory, messages, dry_run is not None)
    if dry_run is not None:
        from vmmetrics.cli.dry_run import show_run

        with usage():
            show_run(tasks, settings, sources.clips, out, dry_run, output)
    if out is None:
        check_folder(Path(RUNS_FOLDER), holds="scores")
    with usage():
        setup = setup or prepare(settings)
    directory = default_directory(setup, sources.clips) if out is None else out
    messages.print(f"{count(len(tasks), 'clip')}, {setup.label}")
    if from_where := prompt_sources(tasks):
        messages.print(from_where, soft_wrap=True)
    if cluster is not None:
        messages.print(f"{'starting a' if cluster.address is None else 'connecting to the'} Ray cluster ...")
    message = f"stopped; clips scored so far are in {directory}; run the same command again to resume"
    with (
        until_stopped(messages, message),
        LiveProgress(messages, settings.metrics, start.jobs) as progress,
        Mirror(directory, mirror, lambda text: progress.warn([text])) as copy,
    ):
        table = run(setup, tasks, start, directory, progress)
    if summary := progress.summary():
        messages.print(summary)
    if copy.behind:
        error(messages, f"the mirror is not complete: {copy.behind}", "bold red")
    return table, output, messages, copy.behind is None


def _tasks(
    sources: ClipOptions, settings: Settings, start: Start, directory: Path | None, messages: Console, dry_run: bool
) -> list[Task]:
    """Find the clips of a command, and print remarks on them.

    Raises:
        BadParameter: There are none.
    """
    from vmmetrics.cli.progress import finding
    from vmmetrics.scoring.tasks import shard, tasks_of_paths
    from vmmetrics.utils.storage.addresses import address_of

    remarks: list[str] = []
    with finding(messages, sources.clips) as update:
        tasks, unmatched = tasks_of_paths(
            sources.clips, settings.metrics, sources.prompts, sources.subject, sources.follow_links, remarks, update,
            start.limit, dry_run, directory, sources.relist,
        )  # fmt: skip
    here = [Path(clip) for clip in sources.clips if address_of(clip) is None]
    for remark in _remarks(here, tasks, remarks):
        messages.print(remark, soft_wrap=True)
    if unmatched:
        messages.print(f"{count(len(unmatched), 'prompt')} of the list without a clip: {listed(unmatched, 3)}")
    tasks = tasks[: start.limit]
    if start.shard is None:
        return tasks
    part = shard(tasks, *start.shard)
    if not part:
        i, n = start.shard
        messages.print(f"shard {i}/{n}: none of the {count(len(tasks), 'clip')} falls to it")
    return part


def _remarks(clips: list[Path], tasks: list[Task], remarks: list[str]) -> list[str]:
    """Return what is to be said about what was found; folders without a clip are added.

    Raises:
        BadParameter: No clip was found.
    """
    from vmmetrics.video.discover import no_clips

    if not tasks:
        raise typer.BadParameter("; ".join([no_clips(clips), *remarks]))
    empty = []
    for path in clips:
        within = os.path.abspath(path)  # noqa: PTH100  (as the tasks' paths are)
        if path.is_dir() and not any(task.path and task.path.is_relative_to(within) for task in tasks):
            empty.append(no_clips([path]))
    return [*remarks, *empty]


class ClusterOptions(NamedTuple):
    """Options of the Ray engine; None where not set."""

    engine: str
    address: str | None = None
    cpus: float | None = None
    gpus: float | None = None
    retries: int | None = None


def cluster_of(options: ClusterOptions) -> Cluster | None:
    """Return the Ray cluster that the options of a command describe; None for this machine."""
    from vmmetrics.engines.connection import Cluster, check_installed

    values = {name: value for name, value in options._asdict().items() if name != "engine" and value is not None}
    if options.engine == "local":
        if values:
            raise typer.BadParameter("--address, --cpus-per-job, --gpus-per-job and --retries are for --engine ray")
        return None
    check_installed()
    with usage():
        return Cluster(**values)


def start_of(
    jobs: int | None,
    timeout: float | None,
    shard: str | None,
    limit: int | None,
    verify: bool,
    cluster: ClusterOptions,
) -> Start:
    """Return how a run is started from the options of the command."""
    from vmmetrics.engines.pool import checked_timeout
    from vmmetrics.scoring.local import Start

    there = cluster_of(cluster)
    jobs = max(jobs, 1) if jobs is not None and there is not None else jobs
    start = Start(DEFAULT_JOBS if jobs is None else jobs, timeout, parse_shard(shard), limit, verify, there)
    with usage():
        checked_timeout(start.timeout, start.jobs)
    return start


def reading_of(assume_fps: float | None, max_memory: str | None) -> tuple[tuple[str, Any], ...]:
    """Return the options of the reader from those of the command."""
    from vmmetrics.scoring.settings import reading_options

    return tuple(reading_options(assume_fps, None if max_memory is None else parse_bytes(max_memory)).items())
