"""What the paradigms are put together from: spatial downsampling, places in a group, learned queries."""

from __future__ import annotations

import torch
from torch import Tensor, nn

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
