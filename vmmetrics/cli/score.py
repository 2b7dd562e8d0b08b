"""``vmmetrics score``: clips in, a run directory and a table out."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.run.local import Setup
    from vmmetrics.run.settings import Settings
    from vmmetrics.run.work import Task

EXIT_FAILURES = 3
"""Some clips failed; missing scores are no failures."""
EXIT_INTERRUPTED = 130
"""Stopped by Ctrl-C or SIGTERM; what was scored is kept."""
DEFAULT_JOBS = 1
"""A worker process of its own even for one clip at a time: a clip that brings it down does not end the run."""

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def _parse_metrics(text: str) -> tuple[str, ...]:
    return tuple(name for name in re.split(r"[,\s]+", text.lower()) if name)


def _parse_shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(f"expected i/n with 1 <= i <= n, such as 2/8, but got {text!r}")
    return int(match[1]), int(match[2])


def _parse_bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if not match or float(match[1]) == 0:
        raise typer.BadParameter(f"expected a size such as 512MB or 2GB but got {text!r}")
    return int(float(match[1]) * _UNITS[match[2]])


def score(
    clips: Annotated[
        list[Path], typer.Argument(help="Files, folders of clips, or folders of frames.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Run directory; resumes what is there. Default: a folder of its own below vmmetrics-runs/."),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="Prompt list (JSON, JSONL, CSV). Default: looked for beside the clips.")
    ] = None,
    subject: Annotated[str | None, typer.Option(help="What every clip is about, such as 'a black horse'.")] = None,
    metrics: Annotated[str | None, typer.Option(help="Some of cas,mss,ois,pas,tcs. Default: all.")] = None,
    preset: Annotated[
        str | None, typer.Option(help="Which models. Default: embedded, which needs no download.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Which definition: vmmetrics, or vmbench for that of VMBench's code.")
    ] = None,
    cas_model: Annotated[
        Path | None,
        typer.Option(help="Checkpoint of a classifier for CAS, such as 'vmmetrics cas train' writes. Needs torch."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes. Scores do not depend on it.")] = None,
    shard: Annotated[str | None, typer.Option(help="Score part i of n, as i/n; join with 'vmmetrics merge'.")] = None,
    assume_fps: Annotated[
        float | None, typer.Option(min=0.01, help="Frames per second where a clip states none. Default: 8.")
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(help="Bound on one clip's memory, such as 2GB; larger clips are downscaled. Default: 4GB."),
    ] = None,
    allow_failures: Annotated[bool, typer.Option(help="Exit with 0 even if clips failed.")] = False,
) -> None:
    """Score the motion of clips.

    Running the same command again goes on where it stopped. Exit codes: 0 all scored (a missing score is fine),
    3 some clips failed, 2 wrong usage or setup.
    """
    part = None if shard is None else _parse_shard(shard)
    settings = _settings(
        {
            "preset": preset,
            "protocol": protocol,
            "metrics": None if metrics is None else _parse_metrics(metrics),
            "cas_model": None if cas_model is None else str(cas_model.absolute()),
        },
        {"assume_fps": assume_fps, "max_memory": None if max_memory is None else _parse_bytes(max_memory)},
    )
    from vmmetrics.cli.progress import LiveProgress, count, open_consoles
    from vmmetrics.cli.results import print_results
    from vmmetrics.run.local import default_directory, run

    output, messages = open_consoles()
    tasks = _tasks(clips, settings, prompts, subject, part, messages)
    setup = _prepare(settings)
    directory = default_directory(setup, clips) if out is None else out
    messages.print(f"{count(len(tasks), 'clip')}, {setup.label}", markup=False, highlight=False)
    with _stoppable(), LiveProgress(messages, setup.settings.metrics, jobs or DEFAULT_JOBS) as progress:
        try:
            table = run(setup, tasks, jobs or DEFAULT_JOBS, directory, progress)
        except KeyboardInterrupt:
            progress.stop()
            messages.print(f"stopped; what was scored is in {directory}, the same command goes on", markup=False)
            raise typer.Exit(EXIT_INTERRUPTED) from None
    print_results(table, output, messages)
    if table.failed and not allow_failures:
        raise typer.Exit(EXIT_FAILURES)


def _settings(choice: dict[str, Any], reading: dict[str, Any]) -> Settings:
    """Settings with the options that were given; for the others the library has its defaults."""
    from vmmetrics.run.settings import Settings, reading_options

    given = {name: value for name, value in choice.items() if value is not None}
    try:
        return Settings(reading=tuple(reading_options(**reading).items()), **given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _tasks(
    clips: list[Path],
    settings: Settings,
    prompts: Path | None,
    subject: str | None,
    part: tuple[int, int] | None,
    messages: Console,
) -> list[Task]:
    from vmmetrics.cli.progress import count
    from vmmetrics.run.tasks import shard as shard_of
    from vmmetrics.run.tasks import tasks_of_paths

    found = tasks_of_paths(clips, settings.metrics, prompts, subject)
    if not found.tasks:
        raise typer.BadParameter(f"no clips in {', '.join(map(str, clips))}")
    for path in clips:
        if path.is_dir() and not any(t.path and t.path.is_relative_to(path.absolute()) for t in found.tasks):
            messages.print(f"no clips in {path}", markup=False)
    if found.unmatched:
        first = ", ".join(found.unmatched[:3]) + (" ..." if len(found.unmatched) > 3 else "")
        messages.print(f"{count(len(found.unmatched), 'prompt')} of the list without a clip: {first}", markup=False)
    return found.tasks if part is None else shard_of(found.tasks, *part)


def _prepare(settings: Settings) -> Setup:
    from vmmetrics.run.local import prepare

    try:
        return prepare(settings)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM, which schedulers send before they kill, end the run as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
