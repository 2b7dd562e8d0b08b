"""Baselines from Python: one function for a folder, a list of files, or arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vmmetrics.alignment.baselines.catalogue import chosen
from vmmetrics.alignment.baselines.suite import BaselineSettings
from vmmetrics.scoring.api import tasks_of
from vmmetrics.scoring.local import prepare, run
from vmmetrics.scoring.session import Listener
from vmmetrics.scoring.settings import reading_options
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.tasks import shard as shard_of


def measure(
    clips: Any,
    *,
    only: Sequence[str] | None = None,
    given: Mapping[str, Any] | None = None,
    prompts: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 0,
    shard: tuple[int, int] = (1, 1),
    fps: float | None = None,
    layout: str | None = None,
    assume_fps: float | None = None,
    max_memory: int | None = None,
    follow_links: bool = True,
    listener: Listener | None = None,
) -> Table:
    """Measure clips by baselines; everything else is as :func:`vmmetrics.score` has it.

    Args:
        clips: A file, a folder, an array or tensor, a :class:`~vmmetrics.clip.Clip`, or a list of one kind.
        only: Names of baselines and families; None takes all that need no download, and those in ``given``.
        given: What families need from the user, by name of the family (docs/baselines.md).
        prompts: Prompt list for clips on disk; None looks beside them.
        out: Run directory to keep everything in and to resume from; None keeps nothing.
        jobs: Worker processes; 0 measures in this process.
        shard: (i, n) takes the i-th of n parts, i from 1.
        fps: Frames per second of arrays.
        layout: Axes of arrays.
        assume_fps: Frames per second where a source states none.
        max_memory: Bytes that one clip may take.
        follow_links: Whether symlinks may lead out of the folders given; those that do are errors otherwise.
        listener: Is told of every clip that is done.

    Raises:
        ValueError: No such baseline, or a shard that does not exist.
        SetupError: A path does not exist, something a baseline needs is missing, or ``out`` holds another run.
        ClipError: An array is no clip.
    """
    reading = reading_options(assume_fps, max_memory)
    settings = BaselineSettings(
        metrics=chosen(only, tuple(given or ())),
        reading=tuple(reading.items()),
        given=tuple((given or {}).items()),
    )
    tasks = tasks_of(clips, settings, prompts, fps=fps, layout=layout, follow_links=follow_links)
    return run(prepare(settings), shard_of(tasks, *shard), jobs, None if out is None else Path(out), listener)
