"""Settings of a training run, and its progress callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from vmmetrics.perception.views import VMBENCH_RATE

Precision = Literal["fp32", "fp16", "bf16"]


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Bounds of data augmentation.

    Every change is the same in all frames, so that no defect in time is made or mended. Frames are never dropped,
    repeated, reversed or mixed in order, and never turned upside down.

    Attributes:
        least_crop: Smallest share of the largest square that a crop may take.
        flip: Probability of left and right exchanged.
        colour: Brightness, contrast and saturation are each scaled by a factor within this of 1.
        erase: Probability that a rectangle is greyed out.
    """

    least_crop: float = 0.5
    flip: float = 0.5
    colour: float = 0.2
    erase: float = 0.25

    def __post_init__(self) -> None:
        if not (0 < self.least_crop <= 1 and 0 <= self.flip <= 1 and 0 <= self.colour < 1 and 0 <= self.erase <= 1):
            raise ValueError(f"Expected shares and probabilities in 0..1 but got {self}")


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """The recipe. Learning rates and decays are where VideoMAE V2's fine-tuning has them, for small batches.

    Attributes:
        seed: Of everything drawn: weights, split, order, views, mixup, stochastic depth.
        epochs: Passes over the training clips, at most.
        batch: Views per step and process.
        lr: Learning rate of the head after the warm-up.
        layer_decay: Factor on the learning rate per block, from the head down to the patches.
        weight_decay: AdamW's, on matrices only.
        warmup: Share of all steps over which learning rates rise from 0.
        final_lr: Share of ``lr`` that the cosine ends at.
        mixup: Alpha of the beta distribution that mixes pairs of views; 0 for none.
        smoothing: Probability that a label gives to all levels alike.
        balance: Power of the weights against unequal levels: 0 none, 1 every level weighs the same.
        drop_path: Stochastic depth of the last block.
        clip_norm: Bound on the norm of the gradient.
        held_out: Share of clips, in whole prompts, to stop by and to evaluate on.
        patience: Epochs without a better held-out loss after which training stops.
        rate: Every how many frames of a clip a view takes one.
        precision: Of matrix products.
        checkpointing: Recompute blocks in the backward pass, to save memory.
        save_every: Steps between saves within an epoch.
        augmentation: Of training views.
    """

    seed: int = 0
    epochs: int = 30
    batch: int = 8
    lr: float = 5e-4
    layer_decay: float = 0.75
    weight_decay: float = 0.05
    warmup: float = 0.1
    final_lr: float = 0.01
    mixup: float = 0.2
    smoothing: float = 0.1
    balance: float = 1.0
    drop_path: float = 0.1
    clip_norm: float = 5.0
    held_out: float = 0.2
    patience: int = 8
    rate: int = VMBENCH_RATE
    precision: Precision = "fp32"
    checkpointing: bool = False
    save_every: int = 200
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        bounds: tuple[tuple[str, Callable[[float], bool], str], ...] = (
            ("of at least 1", lambda value: value >= 1, "epochs batch patience rate save_every"),
            ("above 0", lambda value: value > 0, "lr layer_decay clip_norm"),
            ("from 0 to below 1", lambda value: 0 <= value < 1, "warmup final_lr smoothing drop_path held_out"),
            ("of at least 0", lambda value: value >= 0, "weight_decay mixup balance seed"),
        )
        for expected, holds, names in bounds:
            for name in names.split():
                if not holds(getattr(self, name)):
                    raise ValueError(f"Expected {name} {expected} but got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Epoch:
    """Results of one epoch.

    Attributes:
        number: From 1.
        loss: Mean training loss of the first process; mixed and smoothed labels keep it above 0.
        held_out_loss: Mean of -log p(level) over the clips held out.
        held_out_accuracy: Share of them whose likeliest level is right.
        lr: Learning rate of the head at its end.
    """

    number: int
    loss: float
    held_out_loss: float
    held_out_accuracy: float
    lr: float


class Watcher(Protocol):
    """Callbacks of training."""

    def notice(self, text: str) -> None:
        """Report a notice to the user."""

    def reading(self, done: int, total: int) -> None:
        """Report how many clips have been decoded."""

    def step(self, step: int, steps: int, loss: float) -> None:
        """Report a step that is done, of at most so many."""

    def epoch(self, history: Sequence[Epoch]) -> None:
        """Report an epoch that is done; the last entry is new."""


class SilentWatcher:
    """A :class:`Watcher` that ignores everything."""

    def notice(self, text: str) -> None:
        """Ignore."""

    def reading(self, done: int, total: int) -> None:
        """Ignore."""

    def step(self, step: int, steps: int, loss: float) -> None:
        """Ignore."""

    def epoch(self, history: Sequence[Epoch]) -> None:
        """Ignore."""
