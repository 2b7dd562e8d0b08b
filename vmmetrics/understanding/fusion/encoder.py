"""A ViT of timm or transformers as pictures to patch tokens, and the two places where fusion reaches into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

# What the paradigms are put together from: spatial downsampling, places in a group, learned queries.

PLACE_SPREAD = 0.02
"""Standard deviation that places start with, as positions of ViTs do."""
QUERY_LAYERS = 2
"""The paper calls its Q-Former light-weighted and gives no depth; two layers let a query look twice."""
HEAD_WIDTH = 64


def places(k: int, width: int) -> nn.Parameter:
    """Return a learned embedding (k, width) of a frame's place in its group."""
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(k, width), std=PLACE_SPREAD))


class Downsample(nn.Module):  # type: ignore[misc]
    """side x side neighbouring patches side by side in width, projected linearly.

    Args:
        grid: Rows and columns of patches.
        side: Patches along each side of what becomes one token.
        width: Of a patch.
        out: Width of a token.

    Raises:
        ValueError: The grid is no multiple of ``side``.
    """

    def __init__(self, grid: tuple[int, int], side: int, width: int, out: int) -> None:
        super().__init__()
        if side < 1 or grid[0] % side or grid[1] % side:
            raise ValueError(
                f"a grid of {grid[0]} x {grid[1]} patches is no multiple of {side} x {side}: choose another side"
            )
        self.blocks = (grid[0] // side, side, grid[1] // side, side)
        self.tokens = self.blocks[0] * self.blocks[2]
        self.project = nn.Linear(side * side * width, out)

    def forward(self, patches: Tensor) -> Tensor:
        """Return (..., l, out) of patches (..., P, width), rows first."""
        blocks = patches.unflatten(-2, self.blocks).transpose(-4, -3)  # (..., rows, columns, side, side, width)
        return self.project(blocks.flatten(-3).flatten(-3, -2))


class Queries(nn.Module):  # type: ignore[misc]
    """Learned queries that look at a group's tokens: self-attention, cross-attention and an MLP in each layer.

    The tokens carry their frame's place in the group, as through the encoder, without which queries could not tell the
    frames' order.

    Args:
        k: Frames of a group.
        tokens: l, of a frame, and queries.
        width: Of all of them.
    """

    def __init__(self, k: int, tokens: int, width: int) -> None:
        super().__init__()
        self.places = places(k, width)
        self.queries = places(tokens, width)
        self.norm = nn.LayerNorm(width)
        heads = width // HEAD_WIDTH if width % HEAD_WIDTH == 0 else 1
        layer = nn.TransformerDecoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerDecoder(layer, QUERY_LAYERS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return (B, groups, l, width) of tokens (B, groups, k, l, width)."""
        seen = self.norm(tokens + self.places[:, None]).flatten(2, 3).flatten(0, 1)
        looked = self.layers(self.queries.expand(seen.shape[0], -1, -1), seen)
        return looked.unflatten(0, tokens.shape[:2])


KNOWN = ("VisionTransformer", "ViTModel", "CLIPVisionModel", "SiglipVisionModel", "Dinov2Model")
"""Classes whose positions are added once, before the first layer. Rotary ones turn queries and keys inside every layer
and would need the positions of k frames there."""


class PatchEncoder(nn.Module):  # type: ignore[misc]
    """An encoder's last tokens, without class and register tokens.

    Prefix tokens take part in attention as the model was trained with them, and are dropped at the end.

    Args:
        vit: One of :data:`KNOWN` or a subclass. It becomes this module's own: fusion before the encoder widens its
            patch convolution, fusion through it hooks its first layer.

    Attributes:
        grid: Rows and columns of patches.
        patch: Height and width of a patch in pixels.
        width: Of a token.

    Raises:
        ValueError: Another class, an encoder that drops patches at random or one that another wrapper has hooked.
    """

    def __init__(self, vit: nn.Module) -> None:
        super().__init__()
        of = ("timm", "transformers")  # torchvision's and others' classes have the same names
        names = {base.__name__ for base in type(vit).__mro__ if base.__module__.partition(".")[0] in of}
        if not names.intersection(KNOWN):
            raise ValueError(
                f"{type(vit).__module__}.{type(vit).__name__} is not supported; timm's or transformers' "
                f"{', '.join(KNOWN)} is needed"
            )
        self.is_timm = "VisionTransformer" in names
        if self.is_timm and not isinstance(vit.patch_drop, nn.Identity):
            raise ValueError("the encoder drops patches at random (patch_drop_rate), so positions of frames differ")
        self.vit = vit
        conv = self._patches()[2]
        height, width = self._picture_size()
        self.patch: tuple[int, int] = conv.stride
        self.grid: tuple[int, int] = (height // self.patch[0], width // self.patch[1])
        self.width: int = conv.out_channels
        if self._first_layer()._forward_pre_hooks:
            raise ValueError("the encoder's first layer is hooked already: hand over a fresh copy")

    def forward(self, pictures: Tensor) -> Tensor:
        """Return (M, tokens, width), class and register tokens first, of pictures (M, C, height, width)."""
        if self.is_timm:
            return self.vit.forward_features(pictures)
        return self.vit(pixel_values=pictures).last_hidden_state

    @property
    def patches(self) -> int:
        """Patches of one picture."""
        rows, columns = self.grid
        return rows * columns

    @property
    def picture_size(self) -> tuple[int, int]:
        """Height and width in pixels of the pictures taken."""
        return self.grid[0] * self.patch[0], self.grid[1] * self.patch[1]

    def before_layers(self, hook: Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]) -> None:
        """Have a function change what the first layer is called with: the tokens, positions added, and the rest.

        It stays on, rather than being set for each call: gradient checkpointing runs the layer again by itself. A bound
        method, unlike a closure, follows when the model is copied.
        """
        self._first_layer().register_forward_pre_hook(hook)

    def widen(self, k: int) -> None:
        """Have patches cut from k pictures stacked in channels.

        Each picture's share of the kernel is 1 / k of the old one, so that k equal pictures give the old tokens.
        """
        parent, name, old = self._patches()
        wide = nn.Conv2d(
            k * old.in_channels,
            old.out_channels,
            old.kernel_size,
            old.stride,
            bias=old.bias is not None,
            device=old.weight.device,
            dtype=old.weight.dtype,
        )
        wide.weight.data.copy_(old.weight.data.repeat(1, k, 1, 1) / k)
        if old.bias is not None:
            wide.bias.data.copy_(old.bias.data)
        setattr(parent, name, wide)
        if hasattr(parent, "num_channels"):  # what transformers checks pictures against
            parent.num_channels = wide.in_channels

    @property
    def patch_convolution(self) -> nn.Conv2d:
        """The convolution that cuts the patches."""
        return self._patches()[2]

    def _patches(self) -> tuple[nn.Module, str, nn.Conv2d]:
        """The module that holds the patch convolution, its name there, and itself."""
        for path, module in self.vit.named_modules():
            if isinstance(module, nn.Conv2d):
                if module.kernel_size != module.stride:
                    raise ValueError("the encoder's patches overlap")
                parent, _, name = path.rpartition(".")
                return self.vit.get_submodule(parent), name, module
        raise ValueError("the encoder cuts its patches by something else than a convolution")

    def _picture_size(self) -> tuple[int, int]:
        size = self.vit.patch_embed.img_size if self.is_timm else self.vit.config.image_size
        return (size, size) if isinstance(size, int) else (size[0], size[1])

    def _first_layer(self) -> nn.Module:
        if self.is_timm:
            return self.vit.blocks[0]
        depth = self.vit.config.num_hidden_layers
        return next(m for m in self.vit.modules() if isinstance(m, nn.ModuleList) and len(m) == depth)[0]
