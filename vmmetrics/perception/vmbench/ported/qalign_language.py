"""Q-Align's language model: LLaMA, with norms, keys and values of their own for the tokens that stand for images.

A sequence here is what a window of frames becomes: a text that all windows share, the tokens of the images, and a text
again. So where a token belongs is told by where it stands, and what the shared text leaves behind is kept.
The modules are named so that one-align's weights load key by key.

References:
    Touvron et al., LLaMA: Open and Efficient Foundation Language Models (2302.13971).
    Ye et al., mPLUG-Owl2 (2311.04257), section 3.2 "Modality-Adaptive Module".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention

KeysValues = tuple[Tensor, Tensor]
"""What one layer keeps of a text: keys and values, each (B, heads, tokens, channels of a head)."""


@dataclass(frozen=True, slots=True)
class LanguageSize:
    """The numbers that make the language model; the defaults are upstream's (LLaMA 7B).

    Attributes:
        words: Entries of the vocabulary.
        width: Channels of a token.
        depth: Number of layers.
        heads: Attention heads; they divide ``width``.
        mlp_width: Hidden channels of a layer's gated perceptron.
        epsilon: Of the norms.
        rope_base: Base of the rotary positions' wavelengths.
    """

    words: int = 32000
    width: int = 4096
    depth: int = 32
    heads: int = 32
    mlp_width: int = 11008
    epsilon: float = 1e-6
    rope_base: float = 10000.0


class RMSNorm(nn.Module):  # type: ignore[misc]
    """Scales a token to unit root mean square, computed in float32."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.epsilon = epsilon

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the shape and type given; rounded before the weight is applied, as in LLaMA's own code."""
        wide = tokens.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return self.weight * wide.to(tokens.dtype)


class Multiway(nn.Module):  # type: ignore[misc]
    """Two copies of a module: the first for text, the second for images."""

    def __init__(self, make: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.multiway = nn.ModuleList([make(), make()])

    def forward(self, tokens: Tensor, images: int) -> Tensor:
        """Apply the copy that each token belongs to.

        Args:
            tokens: (B, n, width).
            images: How many of them, at the front, stand for images.
        """
        text, image = self.multiway
        if images == 0:
            return text(tokens)
        return torch.cat([image(tokens[:, :images]), text(tokens[:, images:])], dim=1)


class Attention(nn.Module):  # type: ignore[misc]
    """Causal attention with rotary positions; keys and values of images have weights of their own."""

    def __init__(self, size: LanguageSize) -> None:
        super().__init__()
        self.heads = size.heads

        def square() -> nn.Linear:
            return nn.Linear(size.width, size.width, bias=False)

        self.q_proj, self.o_proj = square(), square()
        self.k_proj, self.v_proj = Multiway(square), Multiway(square)

    def keep(self, tokens: Tensor, images: int, rotation: Tensor, before: KeysValues | None) -> KeysValues:
        """Return keys and values of all tokens so far."""
        keys = rotated(self._split(self.k_proj(tokens, images)), rotation)
        values = self._split(self.v_proj(tokens, images))
        if before is None:
            return keys, values
        past = (x.expand(len(tokens), -1, -1, -1) for x in before)
        return tuple(torch.cat([old, new], dim=2) for old, new in zip(past, (keys, values), strict=True))

    def forward(self, tokens: Tensor, kept: KeysValues, rotation: Tensor, mask: Tensor | None) -> Tensor:
        """Return what the tokens (B, n, width) gather from what was kept, of their shape."""
        queries = rotated(self._split(self.q_proj(tokens)), rotation)
        gathered = F.scaled_dot_product_attention(queries, *kept, attn_mask=mask)
        return self.o_proj(gathered.transpose(1, 2).flatten(2))

    def _split(self, tokens: Tensor) -> Tensor:
        return tokens.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Perceptron(nn.Module):  # type: ignore[misc]
    """SiLU-gated perceptron, the same for text and images."""

    def __init__(self, size: LanguageSize) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(size.width, size.mlp_width, bias=False)
        self.up_proj = nn.Linear(size.width, size.mlp_width, bias=False)
        self.down_proj = nn.Linear(size.mlp_width, size.width, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the shape given."""
        return self.down_proj(F.silu(self.gate_proj(tokens)) * self.up_proj(tokens))


class Layer(nn.Module):  # type: ignore[misc]
    """Attention and a perceptron, each normed before and added."""

    def __init__(self, size: LanguageSize) -> None:
        super().__init__()

        def norm() -> RMSNorm:
            return RMSNorm(size.width, size.epsilon)

        self.input_layernorm, self.post_attention_layernorm = Multiway(norm), Multiway(norm)
        self.self_attn = Attention(size)
        self.mlp = Perceptron(size)

    def forward(
        self, tokens: Tensor, images: int, rotation: Tensor, before: KeysValues | None, mask: Tensor | None
    ) -> tuple[Tensor, KeysValues]:
        """Advance by one layer.

        Args:
            tokens: (B, n, width), the first ``images`` of images.
            images: See above; fewer than n.
            rotation: (2, n, channels of a head), from :func:`rotations` at the tokens' positions.
            before: What was kept of the text before.
            mask: From :func:`causal`; None where only the last token is wanted, which looks at all.

        Returns:
            The tokens, (B, n or 1, width), and what is to be kept of all so far.
        """
        normed = self.input_layernorm(tokens, images)
        kept = self.self_attn.keep(normed, images, rotation, before)
        if mask is None:
            tokens, normed, rotation, images = tokens[:, -1:], normed[:, -1:], rotation[:, -1:], 0
        tokens = tokens + self.self_attn(normed, kept, rotation, mask)
        return tokens + self.mlp(self.post_attention_layernorm(tokens, images)), kept


def remember(layers: Sequence[Layer], tokens: Tensor, rotation: Tensor) -> list[KeysValues]:
    """Read a text and keep what later tokens need of it, layer by layer.

    Args:
        layers: All of them.
        tokens: (1, n, width) embeddings of the text.
        rotation: From :func:`rotations`, from position 0.
    """
    count = tokens.shape[1]
    mask = causal(count, count, tokens.device)
    kept = []
    for layer in layers:
        tokens, own = layer(tokens, 0, rotation[:, :count], None, mask)
        kept.append(own)
    return kept


def read_on(
    layers: Sequence[Layer], tokens: Tensor, images: int, rotation: Tensor, before: Sequence[KeysValues]
) -> Tensor:
    """Read images and text that follow a text remembered.

    Args:
        layers: All of them.
        tokens: (B, n, width) embeddings, the first ``images`` (fewer than n) of images.
        images: See above.
        rotation: From :func:`rotations`, from position 0.
        before: What :func:`remember` gave.

    Returns:
        (B, width), the last token after all layers, not normed yet.
    """
    start, count = before[0][0].shape[2], tokens.shape[1]
    rotation = rotation[:, start : start + count]
    mask = causal(count, start + count, tokens.device)
    for number, (layer, kept) in enumerate(zip(layers, before, strict=True), 1):
        tokens, _ = layer(tokens, images, rotation, kept, mask if number < len(layers) else None)
    return tokens[:, -1]


def rotations(positions: int, channels: int, base: float) -> Tensor:
    """Return (2, positions, channels) float32: cosine and sine that each channel of a head is turned by."""
    frequencies = 1.0 / base ** (torch.arange(0, channels, 2, dtype=torch.float32) / channels)
    angles = torch.outer(torch.arange(positions, dtype=torch.float32), frequencies).repeat(1, 2)
    return torch.stack([angles.cos(), angles.sin()])


def rotated(heads: Tensor, rotation: Tensor) -> Tensor:
    """Turn (B, heads, n, channels) by their positions; a channel's partner is half the channels away."""
    cosine, sine = rotation
    first, second = heads.chunk(2, dim=-1)
    return heads * cosine + torch.cat([-second, first], dim=-1) * sine


def causal(queries: int, keys: int, device: torch.device) -> Tensor:
    """Return (queries, keys) bool: what the last ``queries`` of ``keys`` tokens may look at."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
