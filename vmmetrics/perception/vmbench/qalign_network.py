"""Q-Align as one network: mPLUG-Owl2, asked for the level that a window of frames deserves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.perception.vmbench.qalign_language import (
    KeysValues,
    LanguageSize,
    Layer,
    RMSNorm,
    read_on,
    remember,
    rotations,
)
from vmmetrics.perception.vmbench.qalign_prompt import Prompt
from vmmetrics.perception.vmbench.qalign_vision import AbstractorSize, VisionSize, VisionTransformer, VisualAbstractor


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
