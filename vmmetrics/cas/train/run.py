"""One training run from clips and labels to a checkpoint with its card."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from vmmetrics.errors import SetupError, install

try:
    import torch
except ModuleNotFoundError as error:
    raise SetupError(f"{error.name} is missing; install it with: {install('cas')}") from error

from vmmetrics.cas.evaluate.evaluation import report
from vmmetrics.cas.evaluate.model_card import Trained, write_card
from vmmetrics.cas.labelled_clips import LabelledClips, split_by_prompt
from vmmetrics.cas.train.data import try_clips
from vmmetrics.cas.train.settings import SilentWatcher, TrainSettings, Watcher
from vmmetrics.cas.train.state import BEST, join
from vmmetrics.cas.train.trainer import Trainer
from vmmetrics.functional.cas import LEVELS
from vmmetrics.perception.vmbench.checkpoints import architecture_of, load_encoder, read_checkpoint
from vmmetrics.perception.vmbench.ported.videomae import SIZES, Architecture, VideoMAE
from vmmetrics.utils.storage.job_folder import check_folder


def train(
    data: LabelledClips,
    out: Path,
    settings: TrainSettings,
    start: Architecture | str | Path,
    *,
    device: str | None = None,
    workers: int = 2,
    watcher: Watcher | None = None,
) -> Trained | None:
    """Train a classifier, or resume a run that was stopped.

    Args:
        data: Clips with levels.
        out: Directory of the run.
        settings: The recipe.
        start: An architecture to train from scratch or its name in ``SIZES``, or a checkpoint, pre-trained or
            fine-tuned, to start from.
        device: ``"cuda"``, ``"cpu"``; None takes a GPU where there is one.
        workers: Processes that make views, per process that trains.
        watcher: Callbacks of the progress.

    Returns:
        The result, in the first process of a process_group; None in the others.

    Raises:
        SetupError: The clips do not allow it, ``out`` holds another run, or ``start`` does not fit.
    """
    with join(device) as process_group:
        watcher = watcher if watcher is not None and process_group.leads else SilentWatcher()
        check_folder(out, holds="checkpoints")
        out.mkdir(parents=True, exist_ok=True)
        tried = process_group.gather(try_clips(data.clips[process_group.rank :: process_group.size], watcher.reading))
        failed = dict(sorted((name, reason) for part in tried for name, reason in part.items()))
        for name, reason in failed.items():
            watcher.notice(f"left out: {name}: {reason}")
        readable = [clip for clip in data.clips if clip.clip not in failed]
        split = split_by_prompt(readable, settings.held_out, settings.seed)
        if absent := [name for level, name in enumerate(LEVELS) if all(clip.level != level for clip in split.trained)]:
            watcher.notice(f"no clip to train on is {' or '.join(absent)}")
        watcher.notice(f"{len(split.trained)} clips to train on, {len(split.held_out)} of other prompts held out")
        model, origin = _build_model(SIZES[start] if isinstance(start, str) else start, settings, watcher)
        run = {
            "settings": asdict(settings),
            "architecture": asdict(model.net),
            "start": origin,
            "labels": data.labels_sha256,
            "clips": len(data.clips) - len(failed),
            "processes": process_group.size,
        }
        trainer = Trainer(model, split, settings, process_group, out, run, workers, watcher)
        trainer.train()
        best = trainer.load_best()
        probabilities = trainer.held_out_probabilities(trainer.plan)  # over all views
        if not process_group.leads:
            return None
        levels = np.array([clip.level for clip in split.held_out])
        agreement = report(probabilities, levels, [clip.group for clip in split.held_out])
        trained = Trained(out / BEST, best, tuple(trainer.state.history), agreement, split)
        write_card(out, {**run, "weights": sum(map(torch.numel, model.parameters()))}, trained, data, failed)
        return trained


def _build_model(
    start: Architecture | Path, settings: TrainSettings, watcher: Watcher
) -> tuple[VideoMAE, dict[str, str] | None]:
    """Return the model to train, and the file it started from."""
    if isinstance(start, Architecture):
        checkpoint, net = None, start
    else:
        checkpoint = read_checkpoint(start)
        net = architecture_of(checkpoint)
    model = VideoMAE(net, len(LEVELS), drop_path=settings.drop_path, checkpointing=settings.checkpointing)
    model.initialise(settings.seed)
    if checkpoint is None:
        return model, None
    fresh = load_encoder(checkpoint, model)
    watcher.notice(f"starting from {checkpoint.path}" + (f", new: {', '.join(fresh)}" if fresh else ""))
    return model, {"file": checkpoint.path.name, "sha256": checkpoint.sha256()}
