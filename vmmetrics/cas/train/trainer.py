"""A training run, from clips and labels to a checkpoint with its card; draws depend on seed, step and rank alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError, install

try:
    import torch
except ModuleNotFoundError as error:
    raise SetupError(f"{error.name} is missing; install it with: {install('cas')}") from error

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own convention
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from vmmetrics.cas.evaluate.evaluation import report
from vmmetrics.cas.evaluate.model_card import Trained, write_card
from vmmetrics.cas.labelled_clips import LabelledClips, Split, split_by_prompt
from vmmetrics.cas.train.data import Order, TrainingViews, level_weights, try_clips
from vmmetrics.cas.train.settings import Epoch, SilentWatcher, TrainSettings, Watcher
from vmmetrics.cas.train.state import BEST, LAST, ProcessGroup, State, join, read_last, save
from vmmetrics.functional.cas import LEVELS
from vmmetrics.perception.views import ViewPlan
from vmmetrics.perception.vmbench.adapters.plausibility import VideoMAEPlausibility
from vmmetrics.perception.vmbench.checkpoints import architecture_of, load_encoder, read_checkpoint
from vmmetrics.perception.vmbench.ported.videomae import SIZES, Architecture, VideoMAE
from vmmetrics.perception.vmbench.runtime import DTYPES
from vmmetrics.types import FloatArray
from vmmetrics.utils.storage.job_folder import check_folder
from vmmetrics.utils.tensors import load_tensors
from vmmetrics.video import read_clip

# AdamW with a learning rate per layer, and how it rises and falls.

BETAS = (0.9, 0.999)
"""Betas of AdamW, its defaults, as in VideoMAE V2's fine-tuning."""


def layer_of(name: str, depth: int) -> int:
    """Return the number of a weight's layer: 0 the patches, 1 to ``depth`` the blocks, then the last norm and the head.

    >>> layer_of("patch_embed.proj.weight", 12), layer_of("blocks.0.norm1.bias", 12), layer_of("head.bias", 12)
    (0, 1, 13)
    """
    if name.startswith("patch_embed."):
        return 0
    return int(name.split(".")[1]) + 1 if name.startswith("blocks.") else depth + 1


def make_optimiser(model: VideoMAE, settings: TrainSettings) -> torch.optim.AdamW:
    """Build the optimiser: a group per layer and kind of weight; vectors (norms, biases) do not decay.

    Each group carries ``share``, the factor on the learning rate that :func:`set_learning_rate` applies.
    """
    depth: int = model.net.depth
    groups: dict[tuple[int, bool], list[torch.nn.Parameter]] = {}
    for name, weight in model.named_parameters():
        groups.setdefault((layer_of(name, depth), weight.ndim > 1), []).append(weight)
    decay, shrink = settings.weight_decay, settings.layer_decay
    parts = [
        {"params": weights, "weight_decay": decay if decays else 0.0, "share": shrink ** (depth + 1 - layer)}
        for (layer, decays), weights in groups.items()
    ]
    return torch.optim.AdamW(parts, lr=settings.lr, betas=BETAS)


def learning_rate(step: int, steps: int, settings: TrainSettings) -> float:
    """Return the learning rate of the head at a step of ``steps``: a linear rise, then half a cosine down.

    >>> recipe = TrainSettings(lr=1.0, warmup=0.2, final_lr=0.1)
    >>> [round(learning_rate(step, 10, recipe), 3) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.55, 0.134]
    """
    rising = round(settings.warmup * steps)
    if step < rising:
        return settings.lr * (step + 1) / rising
    done = (step - rising) / max(1, steps - rising)
    low = settings.final_lr
    return settings.lr * (low + (1 - low) * (1 + math.cos(math.pi * done)) / 2)


def set_learning_rate(optimiser: torch.optim.AdamW, rate: float) -> None:
    """Set the head's learning rate, and every layer's share of it."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group["share"]


STOPPING_SEGMENTS, STOPPING_CROPS = 3, 1
"""Views per clip in the held-out loss of an epoch; the final evaluation uses all."""

LEAST_PROBABILITY = 1e-12
"""Minimum probability in the held-out loss, so that one clip cannot make it infinite."""

FIRST_SCALE = 1024.0
"""Initial loss scale for fp16; torch's 65536 overflows in the first steps."""

_MIXUP, _DEPTH = 3, 4  # keep these draws apart from those of order and views (data.py)


@dataclass(eq=False)
class Trainer:
    """Trainer of one model.

    Args:
        model: Initialised, on any device.
        split: Clips to learn from and to stop by.
        settings: The recipe.
        process_group: This process's place.
        out: Directory for checkpoints; it exists.
        run: What the run is made from, as plain values: a resumed one must have the same.
        workers: Processes that make views.
        watcher: Callbacks, called by the first process only.
    """

    model: VideoMAE
    split: Split
    settings: TrainSettings
    process_group: ProcessGroup
    out: Path
    run: Mapping[str, Any]
    workers: int
    watcher: Watcher

    def __post_init__(self) -> None:
        model, split, settings, process_group = (
            self.model.to(self.process_group.device),
            self.split,
            self.settings,
            self.process_group,
        )
        self.state = State()
        self.plan = ViewPlan(frames=model.net.frames, rate=settings.rate, size=model.net.image)
        self._order = Order(len(split.trained), settings.batch, process_group.size, settings.seed)
        self.steps = settings.epochs * self._order.steps  # if training is not stopped early
        self._views = TrainingViews(split.trained, self.plan, settings)
        self._optimiser = make_optimiser(model, settings)
        half = settings.precision == "fp16"
        self._scaler = torch.amp.GradScaler(process_group.device.type, init_scale=FIRST_SCALE, enabled=half)
        weights = level_weights(split.trained, settings.balance)
        self._weights = torch.tensor(weights, dtype=torch.float32, device=process_group.device)
        self._resume()
        # The only buffer holds fixed positions: nothing to broadcast.
        together = process_group.size > 1
        self._parallel = DistributedDataParallel(model, broadcast_buffers=False) if together else model

    def train(self) -> None:
        """Train until the last epoch, or until ``patience`` epochs brought no improvement."""
        while self.state.step < self.steps and not self.state.worn_out(self.settings.patience):
            self._train_epoch()
            self._finish_epoch()

    def load_best(self) -> Epoch:
        """Load the best epoch's weights into the model; return that epoch."""
        if (best := self.state.best) is None:
            raise SetupError("No epoch was finished, so there is nothing to evaluate")
        self.process_group.wait()  # for the first process to have written it
        self.model.load_state_dict(load_tensors(self.out / BEST, self.process_group.device)["model"])
        return best

    def held_out_probabilities(self, plan: ViewPlan) -> FloatArray:
        """Return (N, 5) mean probabilities over the views of each clip held out, in their order."""
        clips, process_group = self.split.held_out, self.process_group
        judge = VideoMAEPlausibility(self.model, plan, str(process_group.device), self.settings.precision)
        mine = {
            number: judge.probabilities(read_clip(clips[number].path).frames).mean(axis=0)
            for number in range(process_group.rank, len(clips), process_group.size)
        }
        everyones = {number: row for part in process_group.gather(mine) for number, row in part.items()}
        return np.stack([everyones[number] for number in range(len(clips))])

    def _train_epoch(self) -> None:
        epoch, first = divmod(self.state.step, self._order.steps)
        batches = list(self._order.batches(epoch, first, self.process_group.rank))
        self._parallel.train()
        pinned = torch.cuda.is_available()
        loader = DataLoader(self._views, batch_sampler=batches, num_workers=self.workers, pin_memory=pinned)
        for clips, levels in loader:
            set_learning_rate(self._optimiser, learning_rate(self.state.step, self.steps, self.settings))
            loss = self._train_step(clips.to(self.process_group.device), levels.to(self.process_group.device))
            self.state.step += 1
            self.state.losses.append(loss)
            if self.process_group.leads:
                if self.state.step % self.settings.save_every == 0:
                    self._save_last()
                self.watcher.step(self.state.step, self.steps, loss)

    def _train_step(self, clips: Tensor, levels: Tensor) -> float:
        settings, step_and_rank = self.settings, (self.state.step, self.process_group.rank)
        depth_seed = np.random.SeedSequence((settings.seed, _DEPTH, *step_and_rank)).generate_state(1, np.uint64)[0]
        torch.manual_seed(int(depth_seed >> 1))  # for stochastic depth, inside the model
        targets = soft_labels(levels, settings.smoothing)
        clips, targets = mix(
            clips, targets, settings.mixup, np.random.default_rng([settings.seed, _MIXUP, *step_and_rank])
        )
        half = settings.precision != "fp32"
        with torch.autocast(self.process_group.device.type, dtype=DTYPES[settings.precision], enabled=half):
            logits = self._parallel(clips)
        loss = F.cross_entropy(logits.float(), targets, weight=self._weights)
        value = float(loss.detach())
        if not np.isfinite(value):
            raise SetupError(
                f"The loss is not finite at step {self.state.step + 1}: lower --lr, or use another precision"
            )
        self._optimiser.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        self._scaler.unscale_(self._optimiser)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip_norm)
        self._scaler.step(self._optimiser)
        self._scaler.update()
        return value

    def _finish_epoch(self) -> None:
        """Measure the clips held out, and keep the model if it has become better."""
        plan = replace(self.plan, segments=STOPPING_SEGMENTS, crops=STOPPING_CROPS)
        probabilities = self.held_out_probabilities(plan)
        levels = np.array([clip.level for clip in self.split.held_out])
        likelihood = np.maximum(probabilities[np.arange(len(levels)), levels], LEAST_PROBABILITY)
        state = self.state
        loss, held_out_loss = float(np.mean(state.losses)), float(-np.log(likelihood).mean())
        accuracy = float((probabilities.argmax(axis=1) == levels).mean())
        rate = learning_rate(state.step - 1, self.steps, self.settings)
        epoch = Epoch(len(state.history) + 1, loss, held_out_loss, accuracy, rate)
        state.history.append(epoch)
        state.losses.clear()
        if self.process_group.leads:
            if state.best == epoch:
                self._save_best()
            self._save_last()
            self.watcher.epoch(state.history)

    def _save_best(self) -> None:
        content = {
            "model": self.model.state_dict(),
            "architecture": asdict(self.model.net),
            "levels": list(LEVELS),
            "rate": self.settings.rate,
            "trained_prompts": sorted({clip.prompt_key for clip in self.split.trained}),
            "run": dict(self.run),
            "epoch": len(self.state.history),
        }
        save(content, self.out / BEST)

    def _save_last(self) -> None:
        content = {
            "model": self.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "scaler": self._scaler.state_dict(),
            "state": asdict(self.state),
            "run": dict(self.run),
        }
        save(content, self.out / LAST)

    def _resume(self) -> None:
        if (stored := read_last(self.out / LAST, self.run)) is None:
            return
        self.model.load_state_dict(stored["model"])
        self._optimiser.load_state_dict(stored["optimiser"])
        self._scaler.load_state_dict(stored["scaler"])
        plain = stored["state"]
        self.state = State(plain["step"], list(plain["losses"]), [Epoch(**epoch) for epoch in plain["history"]])
        if self.process_group.leads:
            self.watcher.notice(f"resuming after step {self.state.step} of {self.steps}")


def soft_labels(levels: Tensor, smoothing: float) -> Tensor:
    """Return (B,) levels to (B, 5) probabilities, ``smoothing`` of which is spread over all levels."""
    return F.one_hot(levels, len(LEVELS)).float() * (1 - smoothing) + smoothing / len(LEVELS)


def mix(clips: Tensor, targets: Tensor, alpha: float, draw: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Mix each view, and its target, with another of the batch, all by one share (mixup, arXiv 1710.09412).

    The same frame of two clips is mixed with the same share throughout, so that time is left as it is.
    """
    if alpha == 0:
        return clips, targets
    share = float(draw.beta(alpha, alpha))
    others = torch.from_numpy(draw.permutation(len(clips))).to(clips.device)
    return share * clips + (1 - share) * clips[others], share * targets + (1 - share) * targets[others]


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
