"""What the commands that work through clips share: values of options, tasks, and a run that can be stopped."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from vmmetrics.cli.terminal import count, error, open_consoles, until_stopped, usage
from vmmetrics.utils.display.markup import listed, shortened

if TYPE_CHECKING:
    from vmmetrics.engines.connection import Cluster
    from vmmetrics.scoring.settings import Settings
    from vmmetrics.scoring.table import Table
    from vmmetrics.utils.storage.scratch import Scratch

DEFAULT_JOBS = 1
"""A worker process of its own even for one clip at a time: a clip that brings it down does not end the run."""
MAX_BYTES = 2**50
"""More than any machine has."""
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_names(text: str) -> tuple[str, ...]:
    """Names between commas or spaces, in lower case."""
    return tuple(name for name in re.split(r"[,\s]+", text.lower()) if name)


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """The i and n of ``i/n``."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(
            f"expected i/n with 1 <= i <= n < 10^9, such as 2/8, but got {shortened(text, 80)!r}", param_hint="--shard"
        )
    return int(match[1]), int(match[2])


def parse_bytes(text: str, name: str = "--max-memory") -> int:
    """The bytes in a size such as ``2GB``."""
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if not 1 <= size <= MAX_BYTES:
        raise typer.BadParameter(
            f"expected a size from 1B to 1024TB, such as 512MB or 2GB, but got {shortened(text, 80)!r}",
            param_hint=name,
        )
    return size


def parse_scratch(text: str | None) -> Scratch:
    """The folder and bound of ``DIR[:SIZE]``."""
    from vmmetrics.utils.storage.scratch import DEFAULT_BYTES, Scratch

    if text is None:
        return Scratch()
    folder, colon, size = text.rpartition(":")
    if not colon or not size[:1].isdecimal() or os.path.isdir(text):  # noqa: PTH112 - a text
        return Scratch(text, DEFAULT_BYTES)
    return Scratch(folder, parse_bytes(size, "--scratch"))


def run_clips(
    clips: list[str],
    settings: Settings,
    out: Path | None,
    prompts: Path | None,
    subject: str | None = None,
    *,
    shard: tuple[int, int] | None,
    jobs: int | None,
    timeout: float | None,
    follow_links: bool,
    limit: int | None = None,
    relist: bool = False,
    mirror: str | None = None,
    dry_run: str | None = None,
    verify: bool = False,
    cluster: Cluster | None = None,
) -> tuple[Table, Console, Console, bool]:
    """Score clips into a directory, with progress; Ctrl-C, SIGTERM and SIGHUP stop it, and what was scored is kept.

    Args:
        clips: Files, folders, addresses and lists of these.
        settings: With what; its models are loaded before the first clip.
        out: Run directory; None for one of its own.
        prompts: Prompt list, or None.
        subject: What every clip is about, or None.
        shard: The i-th of n parts, or None for all.
        jobs: Worker processes; None for the default.
        timeout: Seconds that a clip may take; None for the default.
        follow_links: Whether symlinks may lead out of the folders.
        limit: Score only so many clips, the first.
        relist: Whether addresses are listed again that an earlier start listed.
        mirror: Address that the run directory is copied to, or None.
        dry_run: Print in this form what would be run, and run nothing.
        verify: Hash every clip that was scored before.
        cluster: A Ray cluster whose nodes score; None scores on this machine.

    Returns:
        The records, the consoles for results and for messages, and whether the mirror, if any, is complete.
    """
    from vmmetrics.cli.progress import LiveProgress, finding
    from vmmetrics.scoring.directory import check_directory
    from vmmetrics.scoring.local import RUNS_FOLDER, default_directory, prepare, run
    from vmmetrics.scoring.mirror import Mirror
    from vmmetrics.scoring.tasks import prompts_found, tasks_of_paths
    from vmmetrics.scoring.tasks import shard as shard_of
    from vmmetrics.utils.storage.addresses import address_of
    from vmmetrics.utils.storage.job_folder import check_folder
    from vmmetrics.video.discover import no_clips

    output, messages = open_consoles()
    remarks: list[str] = []
    here = [Path(clip) for clip in clips if address_of(clip) is None]
    setup, directory = None, out
    if out is not None:
        check_directory(out)
    elif len(here) < len(clips) and dry_run is None:  # its directory may have the list
        with usage():
            setup = prepare(settings)
        directory = default_directory(setup, clips)
    with finding(messages, clips) as found:
        tasks, unmatched = tasks_of_paths(
            clips, settings.metrics, prompts, subject, follow_links, remarks, found, limit, dry_run is not None,
            directory, relist,
        )  # fmt: skip
    if not tasks:
        raise typer.BadParameter("; ".join([no_clips(here), *remarks]))
    for path in here:
        within = os.path.abspath(path)  # noqa: PTH100  (as the tasks' paths are)
        if path.is_dir() and not any(task.path and task.path.is_relative_to(within) for task in tasks):
            remarks.append(no_clips([path]))
    for remark in remarks:
        messages.print(remark, soft_wrap=True)
    if unmatched:
        messages.print(f"{count(len(unmatched), 'prompt')} of the list without a clip: {listed(unmatched, 3)}")
    tasks = tasks[:limit]
    if shard is not None:
        tasks = shard_of(tasks, *shard)
    if dry_run is not None:
        from vmmetrics.cli.dry_run import show_run

        with usage():
            show_run(tasks, settings, clips, out, dry_run, output)
    if out is None:
        check_folder(Path(RUNS_FOLDER), holds="scores")
    with usage():
        setup = setup or prepare(settings)
    directory = default_directory(setup, clips) if out is None else out
    messages.print(f"{count(len(tasks), 'clip')}, {setup.label}")
    if from_where := prompts_found(tasks):
        messages.print(from_where, soft_wrap=True)
    kept = f"stopped; what was scored is in {directory}, the same command goes on"
    workers = jobs or DEFAULT_JOBS
    with (
        until_stopped(messages, kept),
        LiveProgress(messages, settings.metrics, workers) as progress,
        Mirror(directory, mirror, lambda text: progress.warn([text])) as copy,
    ):
        table = run(setup, tasks, workers, directory, progress, timeout, shard, limit, verify, cluster)
    if summary := progress.summary():
        messages.print(summary)
    if copy.behind:
        error(messages, f"the mirror is not complete: {copy.behind}", "bold red")
    return table, output, messages, copy.behind is None


def cluster_of(
    engine: str, address: str | None, cpus: float | None, gpus: float | None, retries: int | None
) -> Cluster | None:
    """Return the Ray cluster that the options of a command describe; None for this machine."""
    from vmmetrics.engines.connection import Cluster, check_installed

    given = {"address": address, "cpus": cpus, "gpus": gpus, "retries": retries}
    given = {name: value for name, value in given.items() if value is not None}
    if engine == "local":
        if given:
            raise typer.BadParameter("--address, --cpus-per-job, --gpus-per-job and --retries are for --engine ray")
        return None
    check_installed()
    with usage():
        return Cluster(**given)  # type: ignore[arg-type]


def reading_of(assume_fps: float | None, max_memory: str | None) -> tuple[tuple[str, Any], ...]:
    """Return the options of the reader from those of the command."""
    from vmmetrics.scoring.settings import reading_options

    return tuple(reading_options(assume_fps, None if max_memory is None else parse_bytes(max_memory)).items())
