"""AdamW with a learning rate per layer, and how it rises and falls."""

from __future__ import annotations

import math

import torch

from vmmetrics.cas.train_settings import TrainSettings
from vmmetrics.perception.vmbench.videomae import VideoMAE

BETAS = (0.9, 0.999)
"""VideoMAE V2's for fine-tuning, and AdamW's own."""


def layer_of(name: str, depth: int) -> int:
    """Number of a weight's layer: 0 the patches, 1 to ``depth`` the blocks, then the last norm and the head.

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
    return torch.optim.AdamW(
        [
            {
                "params": weights,
                "weight_decay": settings.weight_decay if decays else 0.0,
                "share": settings.layer_decay ** (depth + 1 - layer),
            }
            for (layer, decays), weights in groups.items()
        ],
        lr=settings.lr,
        betas=BETAS,
    )


def learning_rate(step: int, steps: int, settings: TrainSettings) -> float:
    """Learning rate of the head at a step of ``steps``: a linear rise, then half a cosine down.

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
