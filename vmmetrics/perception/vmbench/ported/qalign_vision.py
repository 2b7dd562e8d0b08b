"""Q-Align's eyes: a vision transformer, and an abstractor that makes a few tokens of a language model from an image.

The modules are named so that one-align's weights load key by key.

References:
    Ye et al., mPLUG-Owl2: Revolutionizing Multi-modal Large Language Model with Modality Collaboration (2311.04257).
    Wu et al., Q-Align: Teaching LMMs for Visual Scoring via Discrete Text-Defined Levels (2312.17090).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.types import UInt8Array

# Frames as Q-Align sees them, equal to the pixel to CLIP's image processor of transformers 4.37 (through PIL).

MEAN = (0.48145466, 0.4578275, 0.40821073)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)
"""Of the pixels that CLIP was trained on, red, green and blue in 0..1."""

PADDING = tuple(int(255 * mean) for mean in MEAN)
"""Colour of the bars that make a frame square: (122, 116, 104)."""


def squared(frame: UInt8Array, side: int) -> UInt8Array:
    """Pad a frame to a centred square and scale it (bicubic, antialiased).

    Args:
        frame: (H, W, 3) uint8 RGB.
        side: Of the result in pixels.

    Returns:
        (side, side, 3) uint8.
    """
    height, width = frame.shape[:2]
    longer = max(height, width)
    canvas = np.full((longer, longer, 3), PADDING, dtype=np.uint8)
    top, left = (longer - height) // 2, (longer - width) // 2
    canvas[top : top + height, left : left + width] = frame
    return np.asarray(Image.fromarray(canvas).resize((side, side), Image.Resampling.BICUBIC))


def shades() -> Tensor:
    """Return (3, 256) float32: what each of the 256 values of red, green and blue becomes for the network."""
    unit = (np.arange(256) * (1 / 255)).astype(np.float32)  # times 1/255, as upstream, is not always divided by 255
    mean, deviation = (np.array(x, dtype=np.float32)[:, None] for x in (MEAN, DEVIATION))
    return torch.from_numpy((unit - mean) / deviation)


def normalised(pixels: Tensor, table: Tensor) -> Tensor:
    """Return (B, 3, side, side) of pixels (B, side, side, 3) uint8, by the table of :func:`shades` on their device."""
    channels = torch.arange(3, device=pixels.device)[:, None, None]
    return table[channels, pixels.permute(0, 3, 1, 2).int()]


# The networks.

QUICK_GELU = 1.702
"""Slope of the sigmoid that stands in for the normal distribution in CLIP's GELU."""


@dataclass(frozen=True, slots=True)
class VisionSize:
    """The numbers that make the vision transformer; named and set as upstream's ``config.json``.

    Attributes:
        hidden_size: Channels of a token.
        num_hidden_layers: Number of blocks.
        num_attention_heads: Attention heads; they divide ``hidden_size``.
        intermediate_size: Hidden channels of a block's perceptron.
        image_size: Side of the square input in pixels.
        patch_size: Side of a square patch in pixels; divides ``image_size``.
        layer_norm_eps: Of the norms.
    """

    hidden_size: int = 1024
    num_hidden_layers: int = 24
    num_attention_heads: int = 16
    intermediate_size: int = 4096
    image_size: int = 448
    patch_size: int = 14
    layer_norm_eps: float = 1e-6

    @property
    def tokens(self) -> int:
        """Number of tokens of an image, the class token included."""
        return (self.image_size // self.patch_size) ** 2 + 1


@dataclass(frozen=True, slots=True)
class AbstractorSize:
    """The numbers that make the abstractor; named and set as upstream's ``config.json``.

    Attributes:
        num_learnable_queries: Tokens that it makes of an image, the end token aside.
        num_hidden_layers: Number of layers.
        num_attention_heads: Attention heads; they divide the width, which is the vision transformer's.
        intermediate_size: Hidden channels of a layer's gated perceptron.
        layer_norm_eps: Of the norm within the perceptron; the others have torch's default of 1e-5.
    """

    num_learnable_queries: int = 64
    num_hidden_layers: int = 6
    num_attention_heads: int = 16
    intermediate_size: int = 2816
    layer_norm_eps: float = 1e-6


class VisionTransformer(nn.Module):  # type: ignore[misc]
    """ViT with a class token, normed before and after its blocks; all tokens go on."""

    def __init__(self, size: VisionSize) -> None:
        super().__init__()
        self.embeddings = Embeddings(size)
        blocks = nn.ModuleList(VisionBlock(size) for _ in range(size.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layers": blocks})
        self.post_layernorm = nn.LayerNorm(size.hidden_size, eps=size.layer_norm_eps)

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, tokens, width) of normalised images (B, 3, side, side)."""
        tokens = self.embeddings(images)
        for block in self.encoder["layers"]:
            tokens = block(tokens)
        return self.post_layernorm(tokens)


class Embeddings(nn.Module):  # type: ignore[misc]
    """Input tokens of the vision transformer: patches and the class token, with learned positions."""

    def __init__(self, size: VisionSize) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.empty(1, 1, size.hidden_size))
        self.patch_embed = nn.Conv2d(3, size.hidden_size, size.patch_size, size.patch_size, bias=False)
        self.position_embedding = nn.Parameter(torch.empty(1, size.tokens, size.hidden_size))
        self.pre_layernorm = nn.LayerNorm(size.hidden_size, eps=size.layer_norm_eps)

    def forward(self, images: Tensor) -> Tensor:
        """Return the tokens (B, 1 + patches, width) that enter the first block, the class token first."""
        patches = self.patch_embed(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(len(images), -1, -1), patches], dim=1)
        return self.pre_layernorm(tokens + self.position_embedding)


class VisionBlock(nn.Module):  # type: ignore[misc]
    """Attention and a perceptron, each normed before and added."""

    def __init__(self, size: VisionSize) -> None:
        super().__init__()
        self.input_layernorm = nn.LayerNorm(size.hidden_size, eps=size.layer_norm_eps)
        self.self_attn = SelfAttention(size.hidden_size, size.num_attention_heads)
        self.post_attention_layernorm = nn.LayerNorm(size.hidden_size, eps=size.layer_norm_eps)
        self.mlp = VisionPerceptron(size.hidden_size, size.intermediate_size)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the shape given."""
        tokens = tokens + self.self_attn(self.input_layernorm(tokens))
        return tokens + self.mlp(self.post_attention_layernorm(tokens))


class SelfAttention(nn.Module):  # type: ignore[misc]
    """Attention whose query, key and value are stored head by head in one matrix: rows are (head, q/k/v, channel)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.dense = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the shape given."""
        mixed = self.query_key_value(tokens).unflatten(-1, (self.heads, 3, -1))
        q, k, v = mixed.permute(3, 0, 2, 1, 4)
        return self.dense(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class VisionPerceptron(nn.Module):  # type: ignore[misc]
    """Two layers with CLIP's approximate GELU between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the shape given."""
        inner = self.fc1(tokens)
        return self.fc2(inner * torch.sigmoid(QUICK_GELU * inner))


class VisualAbstractor(nn.Module):  # type: ignore[misc]
    """Learned queries that gather an image into tokens of the language model, and an end token."""

    def __init__(self, size: AbstractorSize, vision: VisionSize, out: int) -> None:
        super().__init__()
        self.query_embeds = nn.Parameter(torch.empty(1, size.num_learnable_queries, vision.hidden_size))
        layers = nn.ModuleList(AbstractorLayer(size, vision) for _ in range(size.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layers": layers})
        self.visual_fc = nn.Linear(vision.hidden_size, out)
        self.vit_eos = nn.Parameter(torch.empty(1, 1, out))

    def forward(self, image: Tensor) -> Tensor:
        """Return (B, queries + 1, out) of the vision transformer's tokens (B, n, width)."""
        queries = self.query_embeds.expand(len(image), -1, -1)
        for layer in self.encoder["layers"]:
            queries = layer(queries, image)
        return torch.cat([self.visual_fc(queries), self.vit_eos.expand(len(image), -1, -1)], dim=1)


class AbstractorLayer(nn.Module):  # type: ignore[misc]
    """One layer of the abstractor; upstream's names have its parts one level further down."""

    def __init__(self, size: AbstractorSize, vision: VisionSize) -> None:
        super().__init__()
        norms = {name: nn.LayerNorm(vision.hidden_size) for name in ("norm1", "normk")}
        attention, output = CrossAttention(size, vision), CrossOutput(size, vision.hidden_size)
        self.crossattention = nn.ModuleDict({**norms, "attention": attention, "output": output})

    def forward(self, queries: Tensor, image: Tensor) -> Tensor:
        """Return queries of the shape given. What attention adds to are the *normed* queries."""
        part = self.crossattention
        queries = part["norm1"](queries)
        attended = part["attention"](queries, torch.cat([queries, part["normk"](image)], dim=1))
        return part["output"](queries, attended)


class CrossAttention(nn.Module):  # type: ignore[misc]
    """Attention of the queries to themselves and the image; positions count for query and key, not for the value."""

    def __init__(self, size: AbstractorSize, vision: VisionSize) -> None:
        super().__init__()
        self.heads = size.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(vision.hidden_size, vision.hidden_size) for _ in range(3))
        self.register_buffer("q_pos_embed", torch.empty(size.num_learnable_queries, vision.hidden_size))
        self.register_buffer("k_pos_embed", torch.empty(vision.tokens, vision.hidden_size))

    def forward(self, queries: Tensor, sources: Tensor) -> Tensor:
        """Return (B, queries, width) gathered from sources (B, queries + n, width)."""
        q = self.query(queries + self.q_pos_embed)
        k = self.key(sources + torch.cat([self.q_pos_embed, self.k_pos_embed]))
        heads = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (q, k, self.value(sources)))
        return F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)


class CrossOutput(nn.Module):  # type: ignore[misc]
    """Projection and gated perceptron after attention, each with a residual connection."""

    def __init__(self, size: AbstractorSize, width: int) -> None:
        super().__init__()
        self.out_proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = GatedPerceptron(width, size.intermediate_size, size.layer_norm_eps)

    def forward(self, queries: Tensor, attended: Tensor) -> Tensor:
        """Return (B, queries, width)."""
        queries = queries + self.out_proj(attended)
        return queries + self.mlp(self.norm2(queries))


class GatedPerceptron(nn.Module):  # type: ignore[misc]
    """SiLU-gated perceptron, normed before its last layer."""

    def __init__(self, width: int, hidden: int, epsilon: float) -> None:
        super().__init__()
        self.w1 = nn.Linear(width, hidden)
        self.w2 = nn.Linear(hidden, width)
        self.w3 = nn.Linear(width, hidden)
        self.ffn_ln = nn.LayerNorm(hidden, eps=epsilon)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the shape given."""
        return self.w2(self.ffn_ln(F.silu(self.w1(tokens)) * self.w3(tokens)))
