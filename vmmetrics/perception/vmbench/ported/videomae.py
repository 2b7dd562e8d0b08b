"""VideoMAE V2 as it is fine-tuned: a plain vision transformer over space and time, from clip to class logits.

The modules are named so that the published checkpoints load key by key. docs/cas-training.md says why this is written
here and not taken from timm or transformers, and what the parity with the upstream code was measured at.

References:
    Wang et al., VideoMAE V2: Scaling Video Masked Autoencoders with Dual Masking (arXiv 2303.16727).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention
from torch.utils.checkpoint import checkpoint

NORM_EPSILON = 1e-6
"""Of every LayerNorm, ``fc_norm`` included; torch's default of 1e-5 moves logits of order 1 by 6e-6."""

SINUSOID_BASE = 10000.0
"""Of the position encoding, as in Vaswani et al. 2017, section 3.5."""

INITIAL_STD = 0.02
"""Of the normal distribution, cut at two deviations, that fresh weights are drawn from."""

INITIAL_HEAD_SCALE = 0.001
"""Fresh heads are scaled by this, so that training starts from equal probabilities."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The numbers that make one network of the family.

    Attributes:
        width: Channels of a token.
        depth: Number of blocks.
        heads: Attention heads; they divide ``width``.
        mlp_width: Hidden channels of a block's perceptron.
        patch: Side of a square patch in pixels; divides ``image``.
        image: Side of the square input in pixels.
        frames: Frames of the input; a multiple of ``tubelet``.
        tubelet: Frames that one token covers.
    """

    width: int
    depth: int
    heads: int
    mlp_width: int
    patch: int
    image: int = 224
    frames: int = 16
    tubelet: int = 2

    def __post_init__(self) -> None:
        for number, divisor, what in (
            (self.width, self.heads, "width to be a multiple of heads"),
            (self.image, self.patch, "image to be a multiple of patch"),
            (self.frames, self.tubelet, "frames to be a multiple of tubelet"),
        ):
            if divisor < 1 or number < 1 or number % divisor:
                raise ValueError(f"Expected {what} but got {number} and {divisor}")

    @property
    def tokens(self) -> int:
        """Number of tokens that one view becomes."""
        return (self.frames // self.tubelet) * (self.image // self.patch) ** 2


SIZES = {
    "small": Architecture(width=384, depth=12, heads=6, mlp_width=1536, patch=16),
    "base": Architecture(width=768, depth=12, heads=12, mlp_width=3072, patch=16),
    "large": Architecture(width=1024, depth=24, heads=16, mlp_width=4096, patch=16),
    "huge": Architecture(width=1280, depth=32, heads=16, mlp_width=5120, patch=16),
    "giant": Architecture(width=1408, depth=40, heads=16, mlp_width=6144, patch=14),
}
"""The published sizes."""


class PatchEmbedding(nn.Module):  # type: ignore[misc]
    """Cuts a clip into tubes of ``tubelet`` frames and ``patch`` x ``patch`` pixels, one token each."""

    def __init__(self, net: Architecture) -> None:
        super().__init__()
        tube = (net.tubelet, net.patch, net.patch)
        self.proj = nn.Conv3d(3, net.width, kernel_size=tube, stride=tube)

    def forward(self, clips: Tensor) -> Tensor:
        """(B, 3, T, H, W) to (B, tokens, width): time outermost, then rows, then columns."""
        return self.proj(clips).flatten(2).transpose(1, 2)


class Attention(nn.Module):  # type: ignore[misc]
    """Self-attention over all tokens; queries and values have a bias, keys have none."""

    def __init__(self, net: Architecture) -> None:
        super().__init__()
        self.heads = net.heads
        self.qkv = nn.Linear(net.width, 3 * net.width, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(net.width))
        self.v_bias = nn.Parameter(torch.zeros(net.width))
        self.proj = nn.Linear(net.width, net.width)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, tokens, width) to the same."""
        bias = torch.cat((self.q_bias, torch.zeros_like(self.q_bias), self.v_bias))
        qkv = F.linear(tokens, self.qkv.weight, bias).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(queries, keys, values)
        return self.proj(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):  # type: ignore[misc]
    """Attention and perceptron, each after a norm and around a shortcut.

    In training each branch of each clip is left out with probability ``drop`` (stochastic depth).
    """

    def __init__(self, net: Architecture, drop: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(net.width, eps=NORM_EPSILON)
        self.attn = Attention(net)
        self.norm2 = nn.LayerNorm(net.width, eps=NORM_EPSILON)
        widen, narrow = nn.Linear(net.width, net.mlp_width), nn.Linear(net.mlp_width, net.width)
        self.mlp = nn.Sequential(OrderedDict(fc1=widen, act=nn.GELU(), fc2=narrow))
        self.drop = drop

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, tokens, width) to the same."""
        tokens = tokens + self._thinned(self.attn(self.norm1(tokens)))
        return tokens + self._thinned(self.mlp(self.norm2(tokens)))

    def _thinned(self, branch: Tensor) -> Tensor:
        if not self.training or self.drop == 0:
            return branch
        retained = branch.new_empty(len(branch), 1, 1).bernoulli_(1 - self.drop)
        return branch * retained / (1 - self.drop)


class VideoMAE(nn.Module):  # type: ignore[misc]
    """The classifier: tokens with fixed positions, blocks, their mean, a norm and a linear head.

    The constructor leaves weights as torch makes them: load a checkpoint
    (:func:`~vmmetrics.perception.vmbench.checkpoints.build_videomae`) or call :meth:`initialise`.

    Args:
        net: The network's numbers, one of :data:`SIZES` or one's own.
        classes: Number of classes.
        drop_path: Probability that the last block's branches are left out in training; it rises from 0 in the first
            block in equal steps.
        checkpointing: Keep only the blocks' inputs for the backward pass and compute the rest anew: training takes a
            third longer and a fraction of the memory.

    Example:
        >>> net = Architecture(width=24, depth=2, heads=2, mlp_width=48, patch=8, image=16, frames=4)
        >>> VideoMAE(net, classes=5).eval()(torch.zeros(2, 3, 4, 16, 16)).shape
        torch.Size([2, 5])
    """

    def __init__(self, net: Architecture, classes: int, *, drop_path: float = 0.0, checkpointing: bool = False) -> None:
        super().__init__()
        self.net = net
        self.checkpointing = checkpointing
        self.patch_embed = PatchEmbedding(net)
        self.blocks = nn.ModuleList(Block(net, drop) for drop in np.linspace(0, drop_path, net.depth).tolist())
        self.fc_norm = nn.LayerNorm(net.width, eps=NORM_EPSILON)
        self.head = nn.Linear(net.width, classes)
        self.register_buffer("positions", sinusoid(net.tokens, net.width), persistent=False)

    def forward(self, clips: Tensor) -> Tensor:
        """Classify views.

        Args:
            clips: (B, 3, frames, image, image) float, RGB normalised as the weights expect.

        Returns:
            (B, classes) logits.

        Raises:
            ValueError: Another shape than the network is made for.
        """
        net = self.net
        if clips.ndim != 5 or clips.shape[1:] != (3, net.frames, net.image, net.image):
            expected = f"(B, 3, {net.frames}, {net.image}, {net.image})"
            raise ValueError(f"Expected clips {expected} but got {tuple(clips.shape)}")
        tokens = self.patch_embed(clips)
        tokens = tokens + self.positions.to(tokens.dtype)
        for block in self.blocks:
            if self.checkpointing and torch.is_grad_enabled():
                tokens = checkpoint(block, tokens, use_reentrant=False)
            else:
                tokens = block(tokens)
        return self.head(self.fc_norm(tokens.mean(dim=1)))

    def initialise(self, seed: int) -> None:
        """Draw all weights afresh; the same seed gives the same weights on every machine."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if name.endswith("bias"):
                    weight.zero_()
                elif weight.ndim == 1:  # a norm's
                    weight.fill_(1)
                else:
                    fresh = torch.empty(weight.shape)
                    limit = 2 * INITIAL_STD
                    nn.init.trunc_normal_(fresh, std=INITIAL_STD, a=-limit, b=limit, generator=generator)
                    weight.copy_(fresh)
            self.head.weight.mul_(INITIAL_HEAD_SCALE)


def sinusoid(positions: int, width: int) -> Tensor:
    """Encode positions 0, 1, ... as sines (even channels) and cosines (odd ones) of falling frequency.

    Returns:
        (1, positions, width) float32, computed in double precision; a real tensor also where torch's default device
        is "meta".
    """
    pair = np.arange(width) // 2
    angles = np.arange(positions)[:, None] / SINUSOID_BASE ** (2 * pair / width)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return torch.from_numpy(angles.astype(np.float32)[None])
