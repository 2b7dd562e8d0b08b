"""Q-Align as one network: mPLUG-Owl2, asked for the level that a window of frames deserves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.ported import qalign_vision as eyes
from vmmetrics.perception.vmbench.runtime import needed

# Q-Align's language model: LLaMA, with norms, keys and values of their own for the tokens that stand for images.
#
# A sequence here is what a window of frames becomes: a text that all windows share, the tokens of the images, and a
# text again. So its place tells what a token belongs to, and what the shared text leaves behind is kept.
# The modules are named so that one-align's weights load key by key.
#
# References:
#     Touvron et al., LLaMA: Open and Efficient Foundation Language Models (2302.13971).
#     Ye et al., mPLUG-Owl2 (2311.04257), section 3.2 "Modality-Adaptive Module".


KeysValues = tuple[Tensor, Tensor]
"""What one layer keeps of a text: keys and values, each (B, heads, tokens, channels of a head)."""


@dataclass(frozen=True, slots=True)
class LanguageSize:
    """The numbers that make the language model; named and set as upstream's ``config.json`` (LLaMA 7B).

    Attributes:
        vocab_size: Entries of the vocabulary.
        hidden_size: Channels of a token.
        num_hidden_layers: Number of layers.
        num_attention_heads: Attention heads; they divide ``hidden_size``.
        intermediate_size: Hidden channels of a layer's gated perceptron.
        rms_norm_eps: Of the norms.
        rope_theta: Base of the rotary positions' wavelengths.
    """

    vocab_size: int = 32000
    hidden_size: int = 4096
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    intermediate_size: int = 11008
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0


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


class LlamaAttention(nn.Module):  # type: ignore[misc]
    """Causal attention with rotary positions; keys and values of images have weights of their own."""

    def __init__(self, size: LanguageSize) -> None:
        super().__init__()
        self.heads = size.num_attention_heads

        def square() -> nn.Linear:
            return nn.Linear(size.hidden_size, size.hidden_size, bias=False)

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

    def forward(self, tokens: Tensor, keys_values: KeysValues, rotation: Tensor, mask: Tensor | None) -> Tensor:
        """Return what the tokens (B, n, width) gather from what was kept, of their shape."""
        queries = rotated(self._split(self.q_proj(tokens)), rotation)
        gathered = F.scaled_dot_product_attention(queries, *keys_values, attn_mask=mask)
        return self.o_proj(gathered.transpose(1, 2).flatten(2))

    def _split(self, tokens: Tensor) -> Tensor:
        return tokens.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class LlamaPerceptron(nn.Module):  # type: ignore[misc]
    """SiLU-gated perceptron, the same for text and images."""

    def __init__(self, size: LanguageSize) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(size.hidden_size, size.intermediate_size, bias=False)
        self.up_proj = nn.Linear(size.hidden_size, size.intermediate_size, bias=False)
        self.down_proj = nn.Linear(size.intermediate_size, size.hidden_size, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the shape given."""
        return self.down_proj(F.silu(self.gate_proj(tokens)) * self.up_proj(tokens))


class LlamaLayer(nn.Module):  # type: ignore[misc]
    """Attention and a perceptron, each normed before and added."""

    def __init__(self, size: LanguageSize) -> None:
        super().__init__()

        def norm() -> RMSNorm:
            return RMSNorm(size.hidden_size, size.rms_norm_eps)

        self.input_layernorm, self.post_attention_layernorm = Multiway(norm), Multiway(norm)
        self.self_attn = LlamaAttention(size)
        self.mlp = LlamaPerceptron(size)

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
        keys_values = self.self_attn.keep(normed, images, rotation, before)
        if mask is None:
            tokens, normed, rotation, images = tokens[:, -1:], normed[:, -1:], rotation[:, -1:], 0
        tokens = tokens + self.self_attn(normed, keys_values, rotation, mask)
        return tokens + self.mlp(self.post_attention_layernorm(tokens, images)), keys_values


def remember(layers: Sequence[LlamaLayer], tokens: Tensor, rotation: Tensor) -> list[KeysValues]:
    """Read a text and keep what later tokens need of it, layer by layer.

    Args:
        layers: All of them.
        tokens: (1, n, width) embeddings of the text.
        rotation: From :func:`rotations`, from position 0.
    """
    count = tokens.shape[1]
    mask = causal(count, count, tokens.device)
    keys_values = []
    for layer in layers:
        tokens, own = layer(tokens, 0, rotation[:, :count], None, mask)
        keys_values.append(own)
    return keys_values


def read_on(
    layers: Sequence[LlamaLayer], tokens: Tensor, images: int, rotation: Tensor, before: Sequence[KeysValues]
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
    for number, (layer, keys_values) in enumerate(zip(layers, before, strict=True), 1):
        tokens, _ = layer(tokens, images, rotation, keys_values, mask if number < len(layers) else None)
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


# What Q-Align is asked, as token numbers: LLaMA's vocabulary through SentencePiece itself.
#
# The prompt is cut where the images go and each piece is tokenised by itself, so that the second piece starts with a
# blank of its own, before its line break; the model was trained like that.

PROMPT = ("USER: How would you rate the quality of this video?\n", "\nASSISTANT: The quality of the video is")
"""VMBench's prompt, before and after the images."""

LEVELS = {"excellent": 1.0, "good": 0.75, "fair": 0.5, "poor": 0.25, "bad": 0.0}
"""Words that the answer may start with, and what each is worth."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Token numbers.

    Attributes:
        before: The text before the images, the beginning-of-text token first.
        after: The text after the images.
        levels: Of each of :data:`LEVELS`.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    levels: tuple[int, ...]


def read_prompt(vocabulary: Path) -> Prompt:
    """Tokenise the prompt.

    Args:
        vocabulary: ``tokenizer.model``.

    Raises:
        SetupError: SentencePiece is not installed, the file is missing or no vocabulary, or a level is not one token
            of it.
    """
    with needed():
        from sentencepiece import SentencePieceProcessor
    if not vocabulary.is_file():
        raise SetupError(f"{vocabulary} is missing; fetch it with: vmmetrics weights fetch vmbench")
    try:
        words = SentencePieceProcessor(model_proto=vocabulary.read_bytes())
    except (RuntimeError, ValueError) as error:
        raise SetupError(f"{vocabulary}: not readable as a SentencePiece vocabulary: {error}") from error
    levels = {level: words.encode(level) for level in LEVELS}
    split = [level for level, numbers in levels.items() if len(numbers) != 1 or numbers[0] == words.unk_id()]
    if split:
        raise SetupError(f"{vocabulary}: {', '.join(split)} should be one token each: it is another vocabulary")
    before, after = (tuple(words.encode(piece)) for piece in PROMPT)
    return Prompt((words.bos_id(), *before), after, tuple(numbers[0] for numbers in levels.values()))


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers that make the network; the defaults are upstream's."""

    vision: eyes.VisionSize = field(default_factory=eyes.VisionSize)
    abstractor: eyes.AbstractorSize = field(default_factory=eyes.AbstractorSize)
    language: LanguageSize = field(default_factory=LanguageSize)


class Owl(nn.Module):  # type: ignore[misc]
    """All but the last matrix."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        language = sizes.language
        self.embed_tokens = nn.Embedding(language.vocab_size, language.hidden_size)
        self.layers = nn.ModuleList(LlamaLayer(language) for _ in range(language.num_hidden_layers))
        self.norm = RMSNorm(language.hidden_size, language.rms_norm_eps)
        self.vision_model = eyes.VisionTransformer(sizes.vision)
        self.visual_abstractor = eyes.VisualAbstractor(sizes.abstractor, sizes.vision, language.hidden_size)


class Network(nn.Module):  # type: ignore[misc]
    """The network, named as one-align's weights are."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.model = Owl(sizes)
        self.lm_head = nn.Linear(sizes.language.hidden_size, sizes.language.vocab_size, bias=False)

    def see(self, images: Tensor) -> Tensor:
        """Return (B, tokens, width) for the language model of normalised images (B, 3, side, side)."""
        return self.model.visual_abstractor(self.model.vision_model(images))


@dataclass(frozen=True)
class PosedPrompt:
    """The prompt as the network has read it, the part before the images once for all windows.

    Attributes:
        before: What each layer keeps of the text before the images.
        after: (tokens, width) embeddings of the text after them.
        levels: (5, width) rows of the last matrix for the levels, best first.
        rotation: From :func:`rotations`, as many as a window's tokens.
    """

    before: Sequence[KeysValues]
    after: Tensor
    levels: Tensor
    rotation: Tensor


def pose(network: Network, prompt: Prompt, images: int) -> PosedPrompt:
    """Read the part of the prompt that all windows share.

    Args:
        network: On its device.
        prompt: What to ask.
        images: Images of a window.
    """
    sizes, embed = network.sizes, network.model.embed_tokens
    weight = embed.weight
    length = len(prompt.before) + images * (sizes.abstractor.num_learnable_queries + 1) + len(prompt.after)
    channels = sizes.language.hidden_size // sizes.language.num_attention_heads
    rotation = rotations(length, channels, sizes.language.rope_theta).to(weight)
    before = weight[list(prompt.before)][None]
    return PosedPrompt(
        before=remember(network.model.layers, before, rotation),
        after=weight[list(prompt.after)],
        levels=network.lm_head.weight[list(prompt.levels)],
        rotation=rotation,
    )


def answer(network: Network, question: PosedPrompt, windows: Tensor) -> Tensor:
    """Say how well each level answers.

    Args:
        network: As given to :func:`pose`.
        question: What that returned.
        windows: (B, images, tokens, width) from :meth:`Network.see`.

    Returns:
        (B, 5) logits of the levels, best first.
    """
    seen = windows.flatten(1, 2)
    tokens = F.pad(seen, (0, 0, 0, len(question.after)))
    tokens[:, seen.shape[1] :] = question.after
    last = read_on(network.model.layers, tokens, seen.shape[1], question.rotation, question.before)
    return F.linear(network.model.norm(last), question.levels)
