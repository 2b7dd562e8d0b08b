"""What the commands that work through clips share: options, tasks, and a run that can be stopped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli.options import MAX_SECONDS, finite
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable
from vmmetrics.utils.display.markup import shortened

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.scoring.local import Setup
    from vmmetrics.scoring.settings import Settings
    from vmmetrics.scoring.table import Table
    from vmmetrics.scoring.work import Task

EXIT_FAILURES = 3
"""Some clips failed; missing scores are no failures."""
DEFAULT_JOBS = 1
"""A worker process of its own even for one clip at a time: a clip that brings it down does not end the run."""

MAX_BYTES = 2**50
"""More than any machine has."""
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


TimeoutOption = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        max=MAX_SECONDS,
        callback=finite,
        help="Seconds a clip may take, then it fails; the others go on. Default: 3600.",
    ),
]


def parse_names(text: str) -> tuple[str, ...]:
    """Names between commas or spaces, in lower case."""
    return tuple(name for name in re.split(r"[,\s]+", text.lower()) if name)


def parse_shard(text: str) -> tuple[int, int]:
    """The i and n of ``i/n``."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(
            f"expected i/n with 1 <= i <= n < 10^9, such as 2/8, but got {shortened(text, 80)!r}", param_hint="--shard"
        )
    return int(match[1]), int(match[2])


def parse_bytes(text: str) -> int:
    """The bytes in a size such as ``2GB``."""
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if not 1 <= size <= MAX_BYTES:
        raise typer.BadParameter(
            f"expected a size from 1B to 1024TB, such as 512MB or 2GB, but got {shortened(text, 80)!r}",
            param_hint="--max-memory",
        )
    return size


def find_tasks(
    clips: list[Path],
    settings: Settings,
    prompts: Path | None,
    subject: str | None,
    part: tuple[int, int] | None,
    messages: Console,
    follow_links: bool,
) -> list[Task]:
    """The clips under paths; what was looked for and is not there is said."""
    from vmmetrics.cli.progress import count
    from vmmetrics.scoring.tasks import shard as shard_of
    from vmmetrics.scoring.tasks import tasks_of_paths

    found = tasks_of_paths(clips, settings.metrics, prompts, subject, follow_links)
    if not found.tasks:
        raise typer.BadParameter(f"no clips in {', '.join(map(str, clips))}")
    for path in clips:
        if path.is_dir() and not any(t.path and t.path.is_relative_to(path.absolute()) for t in found.tasks):
            messages.print(f"no clips in {path}")
    if found.unmatched:
        first = ", ".join(found.unmatched[:3]) + (" ..." if len(found.unmatched) > 3 else "")
        messages.print(f"{count(len(found.unmatched), 'prompt')} of the list without a clip: {first}")
    return found.tasks if part is None else shard_of(found.tasks, *part)


def prepare_run(settings: Settings) -> Setup:
    """Load the models before the first clip."""
    from vmmetrics.scoring.local import prepare

    try:
        return prepare(settings)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def work_through(
    setup: Setup,
    tasks: Sequence[Task],
    jobs: int | None,
    directory: Path,
    messages: Console,
    shown: Sequence[str],
    timeout: float | None = None,
) -> Table:
    """Score tasks into a directory, with progress; Ctrl-C, SIGTERM and SIGHUP stop it, and what was scored is kept.

    Args:
        setup: With what.
        tasks: The clips.
        jobs: Worker processes; None for the default.
        directory: Run directory.
        messages: For progress.
        shown: Scores that are shown of each clip where there is no bar.
        timeout: Seconds that a clip may take; None for the default.
    """
    from vmmetrics.cli.progress import LiveProgress
    from vmmetrics.scoring.local import run

    with stoppable(), LiveProgress(messages, shown, jobs or DEFAULT_JOBS) as progress:
        try:
            return run(setup, tasks, jobs or DEFAULT_JOBS, directory, progress, timeout)
        except KeyboardInterrupt:
            progress.stop()
            messages.print(f"stopped; what was scored is in {directory}, the same command goes on")
            raise typer.Exit(EXIT_INTERRUPTED) from None
