"""Runs: from the user's clips to a table, in this process, in workers of this machine or of a cluster."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from vmmetrics.engines.connection import Cluster, check_cluster
from vmmetrics.engines.pool import checked_timeout, usable_cores
from vmmetrics.errors import VMMetricsError
from vmmetrics.scoring.anchors import Scale
from vmmetrics.scoring.directory import GROUP_SECONDS, RunDirectory, check_directory
from vmmetrics.scoring.engine import Engine, InProcess, cluster_workers, local_workers
from vmmetrics.scoring.export import export
from vmmetrics.scoring.pictures import overlays
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import RunRecords
from vmmetrics.scoring.scorer import Scorer
from vmmetrics.scoring.session import Listener, MemoryStore, Session
from vmmetrics.scoring.settings import KEPT_OVERLAYS, Settings
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.tasks import Inputs, Task, shard, tasks_of
from vmmetrics.types import seconds_of
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.addresses import address_of, safe_name
from vmmetrics.utils.storage.job_folder import check_folder
from vmmetrics.utils.storage.remote import looking_up
from vmmetrics.video.locations import pattern_name

MAX_NAME = 150
"""Bytes of the clips' folder in the name of a run; systems allow 255 for a whole name."""
RUNS_FOLDER = "vmmetrics-runs"
"""Folder of run directories without ``--out``, below the current folder."""


@dataclass(frozen=True)
class Setup:
    """Settings whose models are loaded.

    Attributes:
        settings: The settings.
        scorer: Scores in this process.
        configuration: Configuration that every score depends on.
        parts: Configuration that single scores depend on, by metric.
        label: Preset, protocol, and comparability of the scores.
    """

    settings: Settings
    scorer: Scorer
    configuration: Mapping[str, Any]
    label: str
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def for_run(self, clips: int, out: Path | None) -> Setup:
        """Return the setup for a run of so many clips: overlays are kept where asked for, else where they are few."""
        asked = self.settings.keep_overlays
        keep = out is not None and (clips <= KEPT_OVERLAYS if asked is None else asked)
        settings = replace(self.settings, keep_overlays=keep)
        return replace(self, settings=settings, scorer=self.scorer.with_settings(settings))


def prepare(settings: Settings) -> Setup:
    """Load the models of the settings, before the first clip.

    Raises:
        ValueError: Unknown preset, protocol or metric.
        SetupError: Something the preset needs is missing.
    """
    scorer = Scorer(settings)
    suite = scorer.suite(settings.metrics)
    configuration = settings.configuration(suite)
    return Setup(settings, scorer, configuration, str(configuration["label"]), settings.parts(suite))


@dataclass(frozen=True, slots=True)
class Start:
    """Options of one start of a run; none of them changes a score.

    Attributes:
        jobs: Worker processes; 0 scores in this process.
        timeout: Seconds that a worker may spend on a clip; None is :data:`~vmmetrics.engines.pool.DEFAULT_TIMEOUT`.
        shard: The i and n of which the tasks are a part, for the record; None for all there are.
        limit: The number of clips that were considered, for the record; None for all.
        max_seconds: Seconds that the motion of a clip's prompt may take; None for any.
        verify: Hash every clip, also where its file looks as it did when it was scored.
        cluster: A Ray cluster whose nodes score; None scores on this machine.
    """

    jobs: int = 0
    timeout: float | None = None
    shard: tuple[int, int] | None = None
    limit: int | None = None
    max_seconds: float | None = None
    verify: bool = False
    cluster: Cluster | None = None


def run(
    setup: Setup,
    tasks: Sequence[Task],
    start: Start = Start(),
    out: Path | None = None,
    listener: Listener | None = None,
) -> Table:
    """Score tasks.

    Args:
        setup: Settings and models.
        tasks: The clips.
        start: Workers, engine and options.
        out: Run directory; None stores nothing.
        listener: Receives progress.

    Returns:
        The records of the tasks, in their order.

    Raises:
        ValueError: A timeout without workers, not above 0 or not finite.
        SetupError: ``out`` holds another run or cannot be written, or no worker can load its models.
        StoppedError: The cluster does not answer any more; results so far are in ``out``.
    """
    start = replace(start, timeout=checked_timeout(start.timeout, start.jobs))
    asked = setup.settings.keep_overlays
    setup = setup.for_run(len(tasks) * (start.shard[1] if start.shard else 1), out)
    addresses = tuple({task.uri.partition(":")[0]: task.uri for task in tasks if task.uri is not None}.values())

    def say(text: str) -> None:
        if listener:
            listener.warn([text])

    if out is None:
        with _engine(setup, start, None, addresses, say) as engine:
            records = Session(tasks, engine, MemoryStore(), listener).run()
            return Table(records, setup.label, metrics=setup.settings.metrics, scale=Scale(setup.configuration))
    delay = GROUP_SECONDS if start.jobs else 0.0  # in this process nothing could be written while a clip is scored
    session = _session(setup.settings, start, len(tasks))
    with RunDirectory(out, setup.configuration, session, setup.parts, delay) as directory:
        try:
            if listener:
                listener.warn(directory.warnings)
            with _engine(setup, start, out / "workers.log", addresses, say) as engine:
                records = Session(tasks, engine, directory, listener, start.verify).run()
            directory.end()
        except BaseException:  # Ctrl-C as well: tables are written from the scores so far, and the cause is raised
            with contextlib.suppress(OSError, VMMetricsError):
                export(out)
            raise
        table = export(out)
    if listener:
        listener.warn(table.summary.notes)
        kept = {sha256 for sha256, _ in overlays(out)} if asked else set()
        if bare := asked and sum(record.error is None and record.sha256 not in kept for record in records):
            listener.warn([f"clips scored before without overlays: {bare}; vmmetrics report --overlays N draws them"])
    other_records: Sequence[Record]
    if isinstance(records, RunRecords) and isinstance(table.records, RunRecords):  # many
        other_records = table.records.without(records)
        return Table(
            records, setup.label, out, other_records, None if other_records else table.summary, setup.settings.metrics,
            table.scale,
        )  # fmt: skip
    keys = {record.key for record in records}
    other_records = [record for record in table if record.key not in keys]
    return Table(records, setup.label, out, other_records, metrics=setup.settings.metrics, scale=table.scale)


class Run:
    """A run, step by step: checks, clips, models, scores.

    Clips at addresses are listed into the run directory, so the models, with which it must agree, are loaded first.

    Args:
        inputs: The clips.
        settings: With what they are scored.
        start: Workers, engine, and which part of the clips.
        out: Run directory; None stores nothing, or takes a directory in ``runs``.
        runs: Folder for a directory of the run's own.
        dry: Write nothing, and fetch no clip.

    Attributes:
        found: The clips.
        tasks: Those within the limit and of the shard, which are scored.
        remarks: Texts on surprises.
        unmatched: Clips that the prompt list names and that are not there.

    Raises:
        SetupError: The directory holds something else or cannot be written, or the cluster does not answer.
    """

    def __init__(
        self,
        inputs: Inputs,
        settings: Settings,
        start: Start = Start(),
        out: Path | None = None,
        *,
        runs: Path | None = None,
        dry: bool = False,
    ) -> None:
        self.inputs = inputs
        self.settings, self.start, self.out = settings, start, out
        self._runs, self._dry = runs, dry
        self.found: Sequence[Task] = ()
        self.tasks: Sequence[Task] = ()
        self.remarks: list[str] = []
        self.unmatched: Sequence[str] = ()
        if start.cluster is not None and not dry:
            check_cluster(start.cluster)
        if out is not None:
            check_directory(out)
        if inputs.remote and not dry and self.directory is not None:  # which keeps the list of what is there
            check_directory(self.directory, self.setup.configuration, self.setup.parts)

    @cached_property
    def setup(self) -> Setup:
        """The settings with their models, loaded when first asked for."""
        return prepare(self.settings)

    @cached_property
    def directory(self) -> Path | None:
        """The run directory; the same clips and settings give the same one in ``runs``, and so resume."""
        if self.out is not None or self._runs is None:
            return self.out
        if not self._dry:
            check_folder(self._runs, holds="scores")
        return self._runs / _directory_name(self.setup, self.inputs.paths)

    def find(self, progress: Callable[[int], None] | None = None) -> None:
        """Find the clips, and take the part that is to be scored.

        Args:
            progress: Called with the number of clips found so far in a folder.

        Raises:
            ValueError: There is no such shard.
            SetupError: A path does not exist, or the prompt list cannot be read.
            ClipError: An array is no clip.
        """
        with looking_up(self.start.timeout):
            keep = self.directory if self.inputs.remote and not self._dry else self.out
            self.found, self.unmatched = tasks_of(
                self.inputs, self.settings, self.remarks, progress, self.start.limit, self._dry, keep
            )
        self.tasks = self.found
        if (most := self.start.max_seconds) is not None:
            self.tasks = [task for task in self.found if not seconds_of(task.tags) > most]
            if left := len(self.found) - len(self.tasks):
                self.remarks.append(f"{left:,} of {len(self.found):,} clips left out: they need over {most:g} s")
        self.tasks = self.tasks[: self.start.limit]
        if self.start.shard is not None:
            self.tasks = shard(self.tasks, *self.start.shard)

    def score(self, listener: Listener | None = None) -> Table:
        """Score the clips found, as :func:`run` does."""
        return run(self.setup, self.tasks, self.start, self.directory, listener)


def _directory_name(setup: Setup, paths: Sequence[str | os.PathLike[str]]) -> str:
    addresses = [address_of(path) for path in paths]
    sources = [safe_name(a) if a else str(Path(p).absolute()) for a, p in zip(addresses, paths, strict=True)]
    identity = json.dumps([setup.configuration, sources], sort_keys=True)
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    first = Path(sources[0].partition("?")[0] if addresses[0] else os.path.realpath(paths[0]))
    name = pattern_name(first).encode("utf-8", "replace")[:MAX_NAME].decode("utf-8", "ignore") or "clips"
    return f"{name}-{setup.settings.preset}-{setup.settings.protocol}-{digest}"


@contextlib.contextmanager
def _engine(
    setup: Setup, start: Start, log: Path | None, addresses: Sequence[str], say: Callable[[str], None]
) -> Iterator[Engine]:
    suite = setup.scorer.suite(setup.settings.metrics)
    settings, jobs, chosen = setup.settings, start.jobs, setup.settings.threads
    engine: Engine
    if start.timeout is None:
        engine = InProcess(setup.scorer, suite.reads_ahead)
    elif start.cluster is not None:
        threads = max(1, int(start.cluster.cpus)) if chosen is None else chosen
        settings = replace(settings, threads=threads)
        engine = cluster_workers(settings, jobs, start.timeout, start.cluster, suite, say, addresses)
    else:
        if jobs > 1 and chosen is None:  # several workers divide the processors among themselves
            settings = replace(settings, threads=max(1, usable_cores() // jobs))
        engine = local_workers(settings, jobs, start.timeout, log, suite.reads_ahead, by_windows=True)
    with contextlib.ExitStack() as stack:
        if addresses and start.cluster is None:
            settings.scratch.sweep()
            stack.callback(settings.scratch.discard)
        yield stack.enter_context(contextlib.closing(engine))


def _session(settings: Settings, start: Start, clips: int) -> dict[str, Any]:
    return {
        "metrics": list(settings.metrics),
        "clips": clips,
        "engine": "local" if start.cluster is None else "ray",
        **({} if start.cluster is None else {"cluster": asdict(start.cluster)}),
        "jobs": start.jobs,
        "timeout": start.timeout,
        "shard": start.shard if start.shard is None else list(start.shard),
        "limit": start.limit,
        **provenance.invocation(),
        "versions": provenance.recorded_versions(),
        "machine": provenance.machine(),
    }
