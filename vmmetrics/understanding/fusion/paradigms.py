"""The six ways, five of compression and none, from frames to a decoder's visual tokens.

Shapes: B videos, N frames in groups of k, P patches a frame of width H, l tokens a group of width D.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from vmmetrics.understanding.fusion.encoder import Downsample, PatchEncoder, Queries, places

Remainder = Literal["error", "repeat"]
"""What to do with frames that leave a group short: refuse them, or repeat the last frame until it is whole."""


class FusedEncoder(nn.Module):  # type: ignore[misc]
    """A ViT whose frames meet in groups of k. One of its subclasses is what is used.

    With k = 1 there is nothing to merge: no merging module is built, and every subclass computes what
    :class:`NoFusion` does. What is added has the device and the precision of the encoder's patches.

    Args:
        vit: Encoder; it becomes the wrapper's own (see :class:`~vmmetrics.understanding.fusion.encoder.PatchEncoder`).
        k: Frames of a group.
        width: D, of the decoder's tokens.
        side: Patches of side x side become one token (2 in the paper).
        remainder: What happens to a number of frames that k does not divide.

    Raises:
        ValueError: An encoder that is not supported, k below 1, or a grid that ``side`` does not divide.
    """

    def __init__(self, vit: nn.Module, k: int, width: int, *, side: int = 2, remainder: Remainder = "error") -> None:
        super().__init__()
        if k < 1:
            raise ValueError(f"k is the frames of a group, at least 1, not {k}")
        self.k, self.width, self.remainder = k, width, remainder
        self.encoder = PatchEncoder(vit)
        self.downsample = Downsample(self.encoder.grid, side, self._width_before_downsampling(), width)
        self._build()
        weight = self.encoder.patch_convolution.weight
        for name, part in [*self.named_parameters()]:
            if not name.startswith("encoder."):
                part.data = part.data.to(weight.device, weight.dtype)

    @property
    def tokens(self) -> int:
        """The decoder's tokens for each group: l."""
        return self.downsample.tokens

    def forward(self, frames: Tensor) -> Tensor:
        """Return the decoder's tokens.

        Args:
            frames: (B, N, C, height, width), as the encoder takes pictures.

        Returns:
            (B, N / k, l, D); with ``remainder="repeat"`` N / k is rounded up.

        Raises:
            ValueError: Other shapes than that, or N not a multiple of k with ``remainder="error"``.
        """
        return self.merged(self.encoded(frames))

    def encoded(self, frames: Tensor) -> Tensor:
        """Return the encoder's patch tokens: (B, N, P, H) where frames have not met, (B, N / k, P or k·P, H) else."""
        frames = self._whole_groups(frames)
        tokens = self.encoder(frames.flatten(0, 1))
        return tokens[:, -self.encoder.patches :].unflatten(0, frames.shape[:2])

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D) of what :meth:`encoded` returned."""
        return self.downsample(tokens)

    def _build(self) -> None:
        """Add what merges k frames."""

    def _width_before_downsampling(self) -> int:
        return self.encoder.width

    def _whole_groups(self, frames: Tensor) -> Tensor:
        size = self.encoder.picture_size
        if frames.ndim != 5 or frames.shape[1] < 1 or tuple(frames.shape[-2:]) != size:
            raise ValueError(f"frames are (B, N, C, {size[0]}, {size[1]}), N at least 1, not {tuple(frames.shape)}")
        short = -frames.shape[1] % self.k
        if not short:
            return frames
        if self.remainder == "error":
            raise ValueError(f"{frames.shape[1]} frames are no multiple of k = {self.k}; see remainder='repeat'")
        return torch.cat([frames, frames[:, -1:].expand(-1, short, -1, -1, -1)], dim=1)

    def _grouped(self, tokens: Tensor) -> Tensor:
        """(B, N, ...) as (B, N / k, k, ...)."""
        return tokens.unflatten(1, (-1, self.k))


class NoFusion(FusedEncoder):
    """Every frame by itself: (B, N, l, D).

    Raises:
        ValueError: k is not 1.
    """

    def _build(self) -> None:
        if self.k != 1:
            raise ValueError(f"without fusion k is 1, not {self.k}")


class PreEncoder(FusedEncoder):
    """k frames stacked in channels before the patches are cut (Qwen2-VL): the encoder sees N / k pictures."""

    def _build(self) -> None:
        if self.k > 1:
            self.encoder.widen(self.k)

    def encoded(self, frames: Tensor) -> Tensor:
        """Return the encoder's patch tokens, (B, N / k, P, H)."""
        stacked = self._grouped(self._whole_groups(frames)).flatten(2, 3)
        tokens = self.encoder(stacked.flatten(0, 1))
        return tokens[:, -self.encoder.patches :].unflatten(0, stacked.shape[:2])


class Average(FusedEncoder):
    """The mean of k frames' tokens, taken after downsampling lest it lose more (PLLaVA). It is blind to their order."""

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D)."""
        return self._grouped(self.downsample(tokens)).mean(dim=2)


class Concatenate(FusedEncoder):
    """k frames side by side in width, (B, N / k, P, k·H), brought back to H by an MLP, then downsampled (Kangaroo)."""

    def _build(self) -> None:
        h = self.encoder.width
        self.mlp = nn.Sequential(nn.Linear(self.k * h, h), nn.GELU(), nn.Linear(h, h)) if self.k > 1 else nn.Identity()

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D)."""
        return self.downsample(self.mlp(self._grouped(tokens).transpose(2, 3).flatten(3)))


class QFormer(FusedEncoder):
    """l learned queries look at the k·l downsampled tokens of a group, through a Q-Former trained from scratch."""

    def _build(self) -> None:
        self.queries = Queries(self.k, self.tokens, self.width) if self.k > 1 else None

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D)."""
        small = self.downsample(tokens)
        return small if self.queries is None else self.queries(self._grouped(small))


class ThroughEncoder(FusedEncoder):
    """k frames are one sequence of k·P tokens in every layer, then side by side in width (TE Fusion).

    Every frame has the same spatial positions; to these a learned embedding of the frame's place in its group is added
    before the first layer. Groups never meet. A frame's class and register tokens, on which the paper is silent, go
    with it through the encoder and are dropped after it.
    """

    def _build(self) -> None:
        if self.k > 1:
            self.places = places(self.k, self.encoder.width)
            self.encoder.before_layers(self._join)

    def encoded(self, frames: Tensor) -> Tensor:
        """Return the encoder's patch tokens, (B, N / k, k·P, H), frame after frame."""
        frames = self._whole_groups(frames)
        groups = (frames.shape[0], frames.shape[1] // self.k)
        by_frame = self.encoder(frames.flatten(0, 1)).unflatten(1, (self.k, -1))
        return by_frame[:, :, -self.encoder.patches :].flatten(1, 2).unflatten(0, groups)

    def merged(self, tokens: Tensor) -> Tensor:
        """Return the decoder's tokens (B, N / k, l, D)."""
        by_frame = tokens.unflatten(2, (self.k, -1))
        return self.downsample(by_frame.transpose(2, 3).flatten(3))

    def _width_before_downsampling(self) -> int:
        return self.k * self.encoder.width

    def _join(self, _layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """(G·k, tokens of a frame, H) as (G, k · tokens of a frame, H), places in the group added."""
        tokens, *others = arguments
        return ((tokens.unflatten(0, (-1, self.k)) + self.places[:, None]).flatten(1, 2), *others)


PARADIGMS: dict[str, type[FusedEncoder]] = {
    "none": NoFusion,
    "pre-encoder": PreEncoder,
    "average": Average,
    "concatenate": Concatenate,
    "qformer": QFormer,
    "through-encoder": ThroughEncoder,
}


def fuse(
    vit: nn.Module, paradigm: str, k: int, width: int, *, side: int = 2, remainder: Remainder = "error"
) -> FusedEncoder:
    """Wrap an encoder.

    Args:
        vit: Encoder; it becomes the wrapper's own.
        paradigm: A name in :data:`PARADIGMS`.
        k: Frames of a group.
        width: D, of the decoder's tokens.
        side: Patches of side x side become one token.
        remainder: What happens to a number of frames that k does not divide.

    Raises:
        ValueError: No such paradigm, or what its class refuses.
    """
    if paradigm not in PARADIGMS:
        raise ValueError(f"no paradigm {paradigm!r}; there are {', '.join(PARADIGMS)}")
    return PARADIGMS[paradigm](vit, k, width, side=side, remainder=remainder)
