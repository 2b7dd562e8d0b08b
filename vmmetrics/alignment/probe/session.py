"""Session of a probe: cases in the journal are skipped, each new line is written at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from vmmetrics.alignment.baselines.catalogue import chosen
from vmmetrics.alignment.baselines.suite import BaselineSettings
from vmmetrics.alignment.probe import cases
from vmmetrics.alignment.probe.analysis import LEAST_CLIPS, analyse
from vmmetrics.alignment.probe.cases import CLEAN, Function, Plan, Source, Work, answer, key_of
from vmmetrics.alignment.probe.results import ProbeReport, Tolerance
from vmmetrics.engines.pool import Note, Pool, checked_timeout
from vmmetrics.errors import ClipError, SetupError, explain
from vmmetrics.metrics.registry import METRICS, in_order, load_plugins, registered
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import Task, identify, tasks_of_arrays, tasks_of_paths
from vmmetrics.utils.storage.job_folder import ExclusiveFolder
from vmmetrics.utils.storage.journal import Journal
from vmmetrics.utils.storage.provenance import decisive_versions
from vmmetrics.video.reader import check_header

# Cases worked on here or in worker processes; one that brings its process down is named and passed over.

CaseLine = dict[str, Any]


def _answers(
    todo: Sequence[Work], sources: Sequence[Source], plan: Plan, jobs: int, timeout: float | None
) -> Iterator[CaseLine]:
    """Yield the line of every case, in the order they are done; without a timeout, done in this process."""
    if timeout is None:
        yield from (answer(work, sources, plan) for work in todo)
        return
    # Workers get the cases once, and then numbers: a clip of arrays would go through the pipe with each of its cases.
    pool: Pool[int, CaseLine] = Pool(partial(_CaseHandler, todo, sources, plan), jobs, timeout)
    numbers = iter(range(len(todo)))
    try:
        while True:
            for number in islice(numbers, pool.free):
                pool.submit(number)
            if not pool.busy:
                return
            for result in pool.collect():
                yield result.answer or {**todo[result.item].head, "error": result.failure, "seconds": result.seconds}
    finally:
        pool.close()


class _CaseHandler:
    """Worker side of a probe."""

    def __init__(self, todo: Sequence[Work], sources: Sequence[Source], plan: Plan) -> None:
        self._todo, self._sources, self._plan = todo, sources, plan

    def load(self, number: int) -> None:  # noqa: ARG002  (all cases need the same)
        for source in self._sources:
            cases.load(source)

    def handle(self, number: int, note: Note) -> CaseLine:  # noqa: ARG002
        return answer(self._todo[number], self._sources, self._plan)


LINES = "cases.jsonl"
"""File of the lines of all cases, in the directory of a probe."""


class ProbeListener(Protocol):
    """Listener for the progress of a probe."""

    def warn(self, warnings: Sequence[str]) -> None:
        """Warn of what the probe cannot determine, before it begins."""

    def begin(self, total: int, settled: int) -> None:
        """Begin: number of cases in all, and of those done before."""

    def advance(self, line: CaseLine) -> None:
        """Advance by one case that is done."""


@dataclass(frozen=True, slots=True)
class _Case:
    """Fields of a line of the journal; a case that failed as a whole has no scores."""

    clip: str
    sha256: str
    kind: str
    strength: float
    scores: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    fps: float | None = None


class _Folder(ExclusiveFolder):
    """Directory of a probe, locked while it is open."""

    HOLDS, RECORD, LOCK = "cases", "probe.json", "probe.lock"

    def _read(self) -> None:
        self.journal = Journal(self.path / LINES)
        self.lines = self._lines(self.journal, _Case)


def _work_on(tasks: Sequence[Task], plan: Plan) -> tuple[list[Work], list[CaseLine]]:
    """Return every case of every clip, and lines for clips that cannot be opened."""
    work, broken = [], []
    for task in tasks:
        try:
            if task.path is not None:
                check_header(task.path, task.root)
            sha256 = identify(task)
        except (OSError, ClipError) as error:
            broken.append({**Work(task, "", CLEAN, 0.0).head, "error": explain(error)})
            continue
        work += [Work(task, sha256, *case) for case in plan.cases()]
    return work, broken


# Probing from Python: good clips in, what every metric notices out.

ALL_BASELINES = "baselines"
"""Name for all baselines that need no weights from the user."""


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
    listener: ProbeListener | None = None,
    limit: int | None = None,
) -> ProbeReport:
    """Inject defects and harmless changes into good clips, and report what metrics make of them.

    Args:
        clips: A file, a folder, an array or tensor, a :class:`~vmmetrics.clip.Clip`, or a list of one kind.
        metric: Keys of our metrics and of the baselines, functions from a clip to a score (or several by name), or
            ``module:name`` of such.
        plan: Which defects, strengths and harmless changes, on which part of the clips; None takes the defaults.
        preset: Models of our metrics.
        tolerance: What harmless changes and lower frame rates are compared with; None takes the defaults.
        out: Directory to keep the cases in and to resume from; None keeps nothing.
        jobs: Worker processes; 0 works in this process. Workers are spawned, so a script that asks for them needs
            ``if __name__ == "__main__":``, and functions must be importable.
        timeout: Seconds that a worker may spend on a case, a clip with one change; None is 3,600. Needs ``jobs``.
        fps: Frames per second of arrays.
        layout: Axes of arrays, such as ``"TCHW"``.
        prompts: Prompt list for clips on disk; None looks beside them.
        subject: Subject of every clip.
        plugins: Python files that register metrics of one's own (:func:`vmmetrics.metrics.register`).
        listener: Called with every case.
        limit: Probe only so many clips, the first.

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
    lines, settings = measure(
        clips, metric, plan=plan, preset=preset, out=out, jobs=jobs, timeout=timeout, fps=fps, layout=layout,
        prompts=prompts, subject=subject, plugins=plugins, listener=listener, limit=limit,
    )  # fmt: skip
    return analyse(lines, tolerance or Tolerance(), settings)


def measure(
    clips: Any,
    metric: str | Function | Sequence[str | Function],
    *,
    plan: Plan | None = None,
    preset: str = "embedded",
    out: str | os.PathLike[str] | None = None,
    jobs: int = 0,
    timeout: float | None = None,
    fps: float | None = None,
    layout: str | None = None,
    prompts: str | os.PathLike[str] | None = None,
    subject: str | None = None,
    plugins: Sequence[str | os.PathLike[str]] = (),
    listener: ProbeListener | None = None,
    limit: int | None = None,
) -> tuple[list[CaseLine], dict[str, Any]]:
    """Return the lines of all cases, and what they depend on; arguments and errors as for :func:`probe`."""
    bound = checked_timeout(timeout, jobs)
    plan = plan or Plan()
    if out is not None:
        _Folder.check(Path(out))
    sources = sources_of(metric, preset, [os.path.abspath(path) for path in plugins])  # noqa: PTH100
    tasks = _tasks_of(clips, prompts, subject, fps, layout)
    planned, broken = _work_on(tasks[:limit], plan)
    settings = {**plan.configuration([cases.describe(source) for source in sources]), "versions": decisive_versions()}
    with nullcontext() if out is None else _Folder(Path(out), settings) as folder:
        # Errors are tried again: a full disk or too little memory may be mended by now.
        done = {key_of(line): line for line in folder.lines if "error" not in line} if folder else {}
        positions = {key_of(work.head): number for number, work in enumerate(planned)}
        lines = [line for key, line in done.items() if key in positions]
        todo = [work for work in planned if key_of(work.head) not in done]
        if listener is not None:
            count = len({work.task.key for work in planned})
            few = f"{count} clip{'s' * (count > 1)}: too few for an interval, every verdict will be '?'"
            listener.warn([f"{few}; use at least {LEAST_CLIPS} clips"] if 0 < count < LEAST_CLIPS else [])
            listener.begin(len(planned), len(lines))
        for line in _answers(todo, sources, plan, jobs, bound):
            lines.append(line)
            if folder:
                folder.journal.append([line])
            if listener is not None:
                listener.advance(line)
    lines.sort(key=lambda line: positions[key_of(line)])
    return [*broken, *lines], settings


def _tasks_of(
    clips: Any, prompts: str | os.PathLike[str] | None, subject: str | None, fps: float | None, layout: str | None
) -> list[Task]:
    items = list(clips) if isinstance(clips, list | tuple) else [clips]
    if all(isinstance(item, str | os.PathLike) for item in items):
        tasks = tasks_of_paths(items, (), prompts, subject)[0]
        if any(task.uri is not None for task in tasks):
            raise SetupError("The probe reads local clips only: copy them into a folder first")
        return tasks
    return tasks_of_arrays(items, (), subject, fps=fps, layout=layout)


def sources_of(
    metric: str | Function | Sequence[str | Function], preset: str, plugins: Sequence[str] = ()
) -> list[Source]:
    """Return who computes metrics given by name or as functions: one source for all of ours, one for all baselines.

    Raises:
        ValueError: An unknown name.
    """
    items = [metric] if isinstance(metric, str) or callable(metric) else list(metric)
    names = [item for item in items if isinstance(item, str) and ":" not in item]
    load_plugins(plugins)
    metrics = in_order(registered())
    ours = tuple(name for name in metrics if name in names)
    others = [name for name in names if name not in metrics and name != ALL_BASELINES]
    try:
        baselines = chosen([*others, *(chosen(None) if ALL_BASELINES in names else ())])
    except ValueError as error:
        raise ValueError(f"No metric of ours ({', '.join(metrics)}) and: {error}") from error
    sources: list[Source] = [Settings(preset, metrics=ours, plugins=tuple(plugins))] if ours else []
    if baselines:
        sources.append(BaselineSettings(metrics=baselines))
    return [*sources, *(cases.FunctionSource(item) for item in items if not isinstance(item, str) or ":" in item)]
