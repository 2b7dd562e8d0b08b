"""Rewards for reinforcement learning: a batch in, a number per sample out; models stay loaded between calls."""

from __future__ import annotations

import atexit
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, get_args

import numpy as np
from PIL import Image

from vmmetrics.engines.pool import checked_timeout
from vmmetrics.errors import ClipError
from vmmetrics.functional.motion_index import INDEX_METRICS
from vmmetrics.functional.tripwires import UNITS
from vmmetrics.metrics.registry import registered
from vmmetrics.scoring.anchors import INDEX
from vmmetrics.scoring.engine import Engine, InProcess, local_workers
from vmmetrics.scoring.own_index import register_index
from vmmetrics.scoring.pictures import Pictures
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.reward_groups import Collapsed, Missing, Rewards, ScoredSample, combine
from vmmetrics.scoring.scorer import Scorer
from vmmetrics.scoring.session import MemoryStore, Session
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import Task
from vmmetrics.video import read_clip
from vmmetrics.video.arrays import guess_layout, to_numpy
from vmmetrics.video.content import InlineClip


def rewards(
    videos: Any,
    *,
    fps: float | None,
    prompts: Sequence[str] | None = None,
    groups: Sequence[Hashable] | None = None,
    layout: str | None = None,
    value_range: tuple[float, float] | None = None,
    weights: Mapping[str, float] | None = None,
    index: str | os.PathLike[str] | None = None,
    missing: Missing = "raise",
    collapsed: Collapsed = "least",
    jobs: int = 0,
    timeout: float | None = None,
    retries: int = 0,
) -> Rewards:
    """Score a batch as a reward of reinforcement learning; models and workers stay loaded between calls.

    The reward is the weighted mean of its components. It is not differentiable. Samples of one group are compared with
    one another, so the same components are in all of their rewards.

    Args:
        videos: A batch with its axis first, (B, T, C, H, W) or another ``layout``, as an array or a tensor on any
            device; or a list of clips: arrays, lists of PIL images, bytes of video files, paths.
        fps: Frames per second of arrays, and of files that state none; files that do must agree. None takes what
            files state.
        prompts: B texts.
        groups: B names of the groups that are compared, such as prompt ids; None takes the prompts, or without them
            the whole batch.
        layout: Axes of the batch or of each array, such as ``"BTCHW"``; None guesses where one reading makes sense.
        value_range: What black and white are in arrays of floats, such as (0, 1) or (-1, 1).
        weights: Component to weight: metrics, ``motion_index``, tripwires, the index in the file by its name. None is
            that index alone, or without a file ``{"motion_index": 1}``.
        index: File of ``vmmetrics calibrate``.
        missing: Where a sample lacks a component that others of its group may have: raise; leave it out for its whole
            group (``"drop-component"``); or give this sample NaN.
        collapsed: Reward of samples without motion to judge: the least of the scale, or NaN.
        jobs: Worker processes; 0 scores in this one. A script that asks for them needs ``if __name__ == "__main__":``.
        timeout: Seconds that a sample may take; needs jobs of 1 or more.
        retries: How often a sample is tried again whose worker died or took too long; needs jobs of 1 or more.

    Raises:
        ValueError: A wrong option, or floats without ``value_range``.
        RewardError: A component is missing, and ``missing`` is ``"raise"``.
        SetupError: The models cannot be loaded.

    Example:
        >>> still = np.full((2, 8, 3, 64, 64), 128, np.uint8)
        >>> rewards(still, fps=8, groups=[0, 0], weights={"pas": 1}).values
        array([0., 0.])
    """
    own = None if index is None else register_index(index)
    chosen = checked_weights({own.name if own else INDEX: 1.0} if weights is None else weights)
    named = [key for key, metric in registered().items() if metric.is_index and key in chosen]
    if own is None and named:
        raise ValueError(f"Expected index to be the file of {', '.join(named)}")
    for name, value, kind in (("missing", missing, Missing), ("collapsed", collapsed, Collapsed)):
        if value not in get_args(kind):
            raise ValueError(f"Expected {name} to be one of {', '.join(get_args(kind))} but got {value!r}")
    if jobs < 0 or retries < 0:
        raise ValueError(f"Expected jobs and retries of 0 or more but got {jobs} and {retries}")
    if retries and not jobs:
        raise ValueError("Retries need a worker that can be ended: set jobs to 1 or more")
    samples = split(videos, layout)
    texts = [None] * len(samples) if prompts is None else list(prompts)
    names = list(groups) if groups is not None else list(texts)
    for what, given in (("prompts", texts), ("groups", names)):
        if len(given) != len(samples):
            raise ValueError(f"Expected {len(samples)} {what}, one per sample, but got {len(given)}")
    indexed = INDEX in chosen or (own is not None and own.name in chosen)
    measured = tuple(key for key in registered() if key in chosen or (indexed and key in INDEX_METRICS))
    tasks = [
        _task(number, sample, measured, text, fps, layout, value_range)
        for number, (sample, text) in enumerate(zip(samples, texts, strict=True))
    ]
    file = () if index is None or own is None else (os.path.abspath(index), registered()[own.name].source["sha256"])  # noqa: PTH100
    scored = _loaded(measured, jobs, checked_timeout(timeout, jobs), *file).score(tasks, retries)
    return combine(scored, chosen, names, missing, collapsed)


def split(videos: Any, layout: str | None = None) -> list[Any]:
    """Return the samples of a batch; a tensor is copied to this machine's memory once.

    Raises:
        ValueError: It is no batch.
    """
    if isinstance(videos, list | tuple):
        return list(videos)
    try:
        array = to_numpy(videos)
        axes = (layout or guess_layout(array.shape)).upper()
    except ClipError as error:
        raise ValueError(str(error)) from error
    if len(axes) != array.ndim or "B" not in axes:
        raise ValueError(f"Expected a batch, such as (B, T, C, H, W), but got shape {array.shape} as {axes}")
    return list(np.moveaxis(array, axes.index("B"), 0))


def checked_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights that are not 0.

    Raises:
        ValueError: A component is unknown, or no weight or an infinite one is left.
    """
    known = (*registered(), INDEX, *UNITS)
    if unknown := sorted(weights.keys() - set(known)):
        raise ValueError(f"Expected weights of {', '.join(known)} but got {unknown[0]!r}")
    if not any(weights.values()) or not all(np.isfinite(weight) for weight in weights.values()):
        raise ValueError(f"Expected finite weights that are not all zero but got {dict(weights)}")
    return {name: float(weight) for name, weight in weights.items() if weight}


def _task(
    number: int,
    sample: Any,
    metrics: tuple[str, ...],
    prompt: str | None,
    fps: float | None,
    layout: str | None,
    value_range: tuple[float, float] | None,
) -> Task:
    """Return the task of a sample; what is wrong with it alone is its own failure."""
    task = Task(f"sample-{number:04d}", None, None, metrics, prompt, fps=fps)
    if isinstance(sample, bytes | bytearray | memoryview):
        return replace(task, in_memory=InlineClip(bytes(sample)))
    if isinstance(sample, str | os.PathLike):
        return replace(task, clip=f"{task.clip}: {Path(sample).name}", path=Path(sample).absolute())
    if fps is None:
        raise ValueError("Arrays have no rate of their own: say fps")
    pictures = isinstance(sample, list | tuple) and all(isinstance(frame, Image.Image) for frame in sample)
    axes = "THWC" if pictures else layout.upper().replace("B", "") if layout else None
    try:
        array = to_numpy(sample)
        if value_range is None and np.issubdtype(array.dtype, np.floating):
            raise ValueError("Floats have no black and white of their own: say value_range, such as (0, 1) or (-1, 1)")
        clip = read_clip(array, fps=fps, layout=axes, value_range=value_range, name=task.clip, prompt=prompt)
    except ClipError as error:
        return replace(task, broken=str(error))
    return replace(task, in_memory=clip, subject=clip.subject)


def sample_settings(metrics: tuple[str, ...], jobs: int, index: str | None = None) -> Settings:
    """Return the settings with which samples are scored."""
    threads = 1 if jobs > 1 else None
    return Settings(metrics=metrics, keep_overlays=False, threads=threads, tripwires=True, index=index)


class _Store(MemoryStore):
    """Records and events in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.events: dict[str, Mapping[str, Any]] = {}

    def append(self, record: Record, events: Mapping[str, Any], pictures: Pictures) -> Record:
        """Keep both."""
        self.events[record.key] = events
        return super().append(record, events, pictures)


class SampleScorer:
    """Scorer of samples whose models or workers stay loaded; thread-safe, one batch after another.

    Args:
        metrics: What to score.
        jobs: Worker processes; 0 scores in this one.
        timeout: Seconds that a sample may take in a worker.
        index: File of ``vmmetrics calibrate``, or None.
    """

    def __init__(
        self, metrics: tuple[str, ...], jobs: int = 0, timeout: float | None = None, index: str | None = None
    ) -> None:
        settings = sample_settings(metrics, jobs, index)
        self._engine: Engine = (
            local_workers(settings, jobs, timeout) if timeout is not None else InProcess(Scorer(settings))
        )
        self._turn = Lock()

    def score(self, tasks: Sequence[Task], retries: int = 0) -> list[ScoredSample]:
        """Score tasks; those that failed are tried again up to ``retries`` times.

        Raises:
            SetupError: The models cannot be loaded.
        """
        try:
            with self._turn:
                scored = self._once(tasks)
                for _ in range(retries):
                    failed = [number for number, one in enumerate(scored) if one.record.error is not None]
                    for number, again in zip(failed, self._once([tasks[n] for n in failed]), strict=True):
                        scored[number] = again
        except BaseException:  # Ctrl-C as well: samples still at work must not answer the next batch
            _loaded.cache_clear()
            self.close()
            raise
        return scored

    def _once(self, tasks: Sequence[Task]) -> list[ScoredSample]:
        store = _Store()
        records = Session(tasks, self._engine, store).run()
        return [ScoredSample(record, store.events.get(record.key, {})) for record in records]

    def close(self) -> None:
        """Stop the workers."""
        self._engine.close()


@cache
def _loaded(metrics: tuple[str, ...], jobs: int, timeout: float | None, *index: str) -> SampleScorer:
    """Return the scorer of an index by its path and hash: another file of that path is another index."""
    scorer = SampleScorer(metrics, jobs, timeout, *index[:1])
    atexit.register(scorer.close)
    return scorer
