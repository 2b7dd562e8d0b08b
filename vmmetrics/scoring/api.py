"""Scoring from Python: one function for a folder, a list of files, or arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vmmetrics.engines.connection import Cluster
from vmmetrics.engines.pool import checked_timeout
from vmmetrics.metrics import METRICS
from vmmetrics.scoring.run import Run, Start
from vmmetrics.scoring.session import Listener
from vmmetrics.scoring.settings import Settings, reading_options
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.tasks import Inputs
from vmmetrics.types import Protocol
from vmmetrics.utils.storage.scratch import Scratch


def score(
    clips: Any,
    *,
    preset: str = "embedded",
    protocol: Protocol = "vmmetrics",
    metrics: Sequence[str] = METRICS,
    cas_model: str | os.PathLike[str] | None = None,
    prompts: str | os.PathLike[str] | None = None,
    subject: str | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 0,
    timeout: float | None = None,
    shard: tuple[int, int] = (1, 1),
    fps: float | None = None,
    layout: str | None = None,
    assume_fps: float | None = None,
    max_memory: int | None = None,
    follow_links: bool = True,
    plugins: Sequence[str | os.PathLike[str]] = (),
    index: str | os.PathLike[str] | None = None,
    tf32: bool = False,
    scratch: Scratch | None = None,
    relist: bool = False,
    keep_overlays: bool | None = None,
    listener: Listener | None = None,
    cluster: Cluster | None = None,
) -> Table:
    """Score clips.

    A clip that cannot be read or scored gets a record with the reason, and the others are scored.

    Args:
        clips: A file, a folder, a pattern (``"out/*.mp4"``), a data set of the Hub (``"hf://datasets/ORG/NAME"``), an
            address (``"s3://bucket/clips"``), a list of clips (``"clips.jsonl"``, ``"urls.txt"``), an array or tensor
            (a batch axis is fine), a :class:`~vmmetrics.clip.Clip`, a list of one kind (paths, or arrays and clips),
            or a ``datasets.Dataset`` with a column of videos.
        preset: Set of models, ``"embedded"`` or ``"vmbench"``.
        protocol: Definition of the metrics, ``"vmmetrics"`` or ``"vmbench"``.
        metrics: Keys of the metrics.
        cas_model: Checkpoint of a classifier for CAS, such as ``vmmetrics cas train`` writes; None takes the preset's.
        prompts: Prompt list for clips on disk and in data sets; None reads files beside the clips, and the rows.
        subject: What every clip is about.
        out: Run directory to write to and to resume from; None writes nothing.
        jobs: Worker processes; 0 scores in this process. Scores do not depend on it. Workers are spawned, so a
            script that asks for them needs ``if __name__ == "__main__":``.
        timeout: Seconds that a worker may spend on a clip once its models are loaded; the clip then fails, and the
            others are scored. Needs ``jobs`` of 1 or more, where None is 3,600; a timeout needs
            a worker process to end.
        shard: (i, n) takes the i-th of n parts, i from 1.
        fps: Frames per second of arrays.
        layout: Axes of arrays, such as ``"TCHW"``.
        assume_fps: Frames per second where a source states none; None takes the reader's default.
        max_memory: Bytes that one clip may take while it is scored; None takes the reader's default.
        follow_links: True if symlinks may lead out of the folders given; those that do are errors otherwise.
        plugins: Python files that register metrics of one's own (:func:`vmmetrics.metrics.register`); every worker
            runs them. Their keys then go among ``metrics``.
        index: File of ``vmmetrics calibrate``, whose index is scored as well, under its name.
        tf32: Let a GPU round the factors of float32 matrix products to TF32: faster, and scores differ a little.
        scratch: Folder for downloads until they are read; None takes 10 GiB of the temporary folder.
        relist: List addresses again although ``out`` has a list of them.
        keep_overlays: Store masks, tracks, skeletons and camera in ``out`` for drawing; None: of up to 1,000 clips.
        listener: Called for every finished clip.
        cluster: A Ray cluster whose nodes score, ``jobs`` workers at most; None scores on this machine.

    Returns:
        A record per clip, with means and exports.

    Raises:
        ValueError: Unknown protocol, preset or metric, a shard that does not exist, or a timeout without workers, not
            above 0 or not finite.
        SetupError: A path does not exist, something the preset needs is missing, or ``out`` holds another run.
        ClipError: An array is no clip.
        StoppedError: The cluster does not answer any more; results so far are in ``out``.
    """
    jobs = max(jobs, 1) if cluster is not None else jobs
    checked_timeout(timeout, jobs)
    cas = None if cas_model is None else os.path.abspath(cas_model)  # noqa: PTH100  (links are kept)
    files = tuple(os.path.abspath(path) for path in plugins)  # noqa: PTH100
    settings = Settings(
        preset, protocol, tuple(metrics), reading_options(assume_fps, max_memory), cas, plugins=files, tf32=tf32,
        keep_overlays=keep_overlays, index=None if index is None else os.path.abspath(index),  # noqa: PTH100
    )  # fmt: skip
    if scratch is not None:
        settings = replace(settings, scratch=scratch)
    run = Run(
        Inputs(clips, prompts, subject, follow_links, relist, fps, layout),
        settings,
        Start(jobs, timeout, None if shard == (1, 1) else shard, cluster=cluster),
        None if out is None else Path(out),
    )
    run.find()
    return run.score(listener)
