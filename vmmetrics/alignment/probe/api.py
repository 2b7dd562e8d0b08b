"""Probing from Python: good clips in, what every metric notices out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vmmetrics.alignment.baselines.catalogue import chosen
from vmmetrics.alignment.baselines.suite import BaselineSettings
from vmmetrics.alignment.probe.analysis import analyse
from vmmetrics.alignment.probe.metrics import Function, Source, own_function
from vmmetrics.alignment.probe.plan import Plan
from vmmetrics.alignment.probe.results import ProbeReport, Tolerance
from vmmetrics.alignment.probe.session import Listener, Session
from vmmetrics.engines.pool import checked_timeout
from vmmetrics.metrics.registry import METRICS, in_order, load_plugins, registered
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import tasks_of_arrays, tasks_of_paths

# From names of metrics to who computes them.

ALL_BASELINES = "baselines"
"""Stands for every baseline that needs nothing of the user's."""


def named_sources(names: Sequence[str], preset: str, plugins: Sequence[str] = ()) -> list[Settings]:
    """Return who computes the metrics of these names: one source for all of ours, one for all baselines.

    Args:
        names: Keys of our metrics, baselines, or ``"baselines"``.
        preset: Models of ours.
        plugins: Python files that register metrics of one's own.

    Raises:
        ValueError: An unknown name.
    """
    load_plugins(plugins)
    known = in_order(registered())
    ours = tuple(name for name in known if name in names)
    others = [name for name in names if name not in known and name != ALL_BASELINES]
    sources = [Settings(preset, metrics=ours, plugins=tuple(plugins))] if ours else []
    try:
        baselines = chosen([*others, *(chosen(None) if ALL_BASELINES in names else ())])
    except ValueError as error:
        raise ValueError(f"No metric of ours ({', '.join(known)}) and: {error}") from error
    return [*sources, *([BaselineSettings(metrics=baselines)] if baselines else [])]


def probe(
    clips: Any,
    metric: str | Function | Sequence[str | Function] = METRICS,
    *,
    plan: Plan | None = None,
    preset: str = "embedded",
    tolerance: Tolerance | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 0,
    timeout: float | None = None,
    fps: float | None = None,
    layout: str | None = None,
    prompts: str | os.PathLike[str] | None = None,
    subject: str | None = None,
    plugins: Sequence[str | os.PathLike[str]] = (),
    listener: Listener | None = None,
) -> ProbeReport:
    """Inject defects and harmless changes into good clips, and report what metrics make of them.

    Args:
        clips: A file, a folder, an array or tensor, a :class:`~vmmetrics.clip.Clip`, or a list of one kind.
        metric: Keys of our metrics and of the baselines, functions from a clip to a score (or several by name), or
            ``module:name`` of such.
        plan: Which defects, strengths and harmless changes, on which part of the clips; None takes the defaults.
        preset: Models of our metrics.
        tolerance: What harmless changes and lower frame rates are held against; None takes the defaults.
        out: Directory to keep the cases in and to resume from; None keeps nothing.
        jobs: Worker processes; 0 works in this process. Workers are spawned, so a script that asks for them needs
            ``if __name__ == "__main__":``, and functions must be importable.
        timeout: Seconds that a worker may spend on a case (a clip with one change); None is 3,600. Needs ``jobs`` of 1
            or more: a timeout needs a worker process to end.
        fps: Frames per second of arrays.
        layout: Axes of arrays, such as ``"TCHW"``.
        prompts: Prompt list for clips on disk; None looks beside them.
        subject: What every clip is about.
        plugins: Python files that register metrics of one's own (:func:`vmmetrics.metrics.register`).
        listener: Is told of every case.

    Raises:
        ValueError: An unknown metric or preset, or a timeout without workers, not above 0 or not finite.
        SetupError: A path or function does not exist, a metric cannot run here, or ``out`` holds another probe.
        ClipError: An array is no clip.

    Example:
        >>> import numpy as np
        >>> gravel = np.random.default_rng(0).integers(0, 255, (16, 64, 64, 3)).astype(np.uint8)
        >>> def contrast(clip):
        ...     return float(clip.frames.std())
        >>> found = probe([gravel], contrast, plan=Plan(defects=("blur",), rates=False), fps=8)
        >>> found.curve("contrast", "blur").points[-1].change.mean < 0
        True
    """
    checked_timeout(timeout, jobs)
    plan = plan or Plan()
    sources = sources_of(metric, preset, [os.path.abspath(path) for path in plugins])  # noqa: PTH100
    items = list(clips) if isinstance(clips, list | tuple) else [clips]
    if all(isinstance(item, str | os.PathLike) for item in items):
        tasks = tasks_of_paths(items, (), prompts, subject).tasks
    else:
        tasks = tasks_of_arrays(items, (), subject, fps=fps, layout=layout)
    session = Session(tasks, sources, plan, jobs, timeout)
    lines = session.run(None if out is None else Path(out), listener)
    return analyse(lines, tolerance or Tolerance(), session.configuration())


def sources_of(
    metric: str | Function | Sequence[str | Function], preset: str, plugins: Sequence[str] = ()
) -> list[Source]:
    """Return the sources of metrics given by name or as functions."""
    given = [metric] if isinstance(metric, str) or callable(metric) else list(metric)
    names = [item for item in given if isinstance(item, str) and ":" not in item]
    own = [own_function(item) for item in given if not isinstance(item, str) or ":" in item]
    return [*named_sources(names, preset, plugins), *own]
