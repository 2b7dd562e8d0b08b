"""Q-Align as one network: mPLUG-Owl2, asked for the level that a window of frames deserves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.ported.qalign_language import (
    KeysValues,
    LanguageSize,
    Layer,
    RMSNorm,
    read_on,
    remember,
    rotations,
)
from vmmetrics.perception.vmbench.ported.qalign_vision import (
    AbstractorSize,
    VisionSize,
    VisionTransformer,
    VisualAbstractor,
)

# What Q-Align is asked, as token numbers: LLaMA's vocabulary through SentencePiece itself.
#
# The prompt is cut where the images go and each piece is tokenised by itself, so that the second piece starts with a
# blank of its own, before its line break; the model was trained like that.

PROMPT = (
    "USER: How would you rate the quality of this video?\n",
    "\nASSISTANT: The quality of the video is",
)
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
    try:
        from sentencepiece import SentencePieceProcessor
    except ModuleNotFoundError as error:
        raise SetupError(f"{error.name} is missing; install it with: pip install 'vmmetrics[vmbench]'") from error
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


# Frames as Q-Align sees them, equal to the pixel to CLIP's image processor of transformers 4.37 (through PIL).

MEAN = (0.48145466, 0.4578275, 0.40821073)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)
"""Of the pixels that CLIP was trained on, red, green and blue in 0..1."""

PADDING = tuple(int(255 * mean) for mean in MEAN)
"""Colour of the bars that make a frame square: (122, 116, 104)."""


def squared(frame: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
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


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers that make the network; the defaults are upstream's."""

    vision: VisionSize = field(default_factory=VisionSize)
    abstractor: AbstractorSize = field(default_factory=AbstractorSize)
    language: LanguageSize = field(default_factory=LanguageSize)


class Owl(nn.Module):  # type: ignore[misc]
    """All but the last matrix."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        language = sizes.language
        self.embed_tokens = nn.Embedding(language.words, language.width)
        self.layers = nn.ModuleList(Layer(language) for _ in range(language.depth))
        self.norm = RMSNorm(language.width, language.epsilon)
        self.vision_model = VisionTransformer(sizes.vision)
        self.visual_abstractor = VisualAbstractor(sizes.abstractor, sizes.vision, language.width)


class Network(nn.Module):  # type: ignore[misc]
    """The network, named as one-align's weights are."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.model = Owl(sizes)
        self.lm_head = nn.Linear(sizes.language.width, sizes.language.words, bias=False)

    def see(self, images: Tensor) -> Tensor:
        """Return (B, tokens, width) for the language model of normalised images (B, 3, side, side)."""
        return self.model.visual_abstractor(self.model.vision_model(images))


@dataclass(frozen=True)
class Question:
    """The prompt as the network has read it, the part before the images once for all windows.

    Attributes:
        before: What each layer keeps of the text before the images.
        after: (tokens, width) embeddings of the text after them.
        levels: (5, width) rows of the last matrix for the levels, best first.
        rotation: From :func:`.qalign_language.rotations`, as many as a window's tokens.
    """

    before: Sequence[KeysValues]
    after: Tensor
    levels: Tensor
    rotation: Tensor


def pose(network: Network, prompt: Prompt, images: int) -> Question:
    """Read the part of the prompt that all windows share.

    Args:
        network: On its device.
        prompt: What to ask.
        images: Images of a window.
    """
    sizes, embed = network.sizes, network.model.embed_tokens
    weight = embed.weight
    length = len(prompt.before) + images * (sizes.abstractor.queries + 1) + len(prompt.after)
    rotation = rotations(length, sizes.language.width // sizes.language.heads, sizes.language.rope_base).to(weight)
    before = weight[list(prompt.before)][None]
    return Question(
        before=remember(network.model.layers, before, rotation),
        after=weight[list(prompt.after)],
        levels=network.lm_head.weight[list(prompt.levels)],
        rotation=rotation,
    )


def answer(network: Network, question: Question, windows: Tensor) -> Tensor:
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
