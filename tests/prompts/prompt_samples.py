"""A small list whose figures are known by hand, a longer random one, and an embedding that needs no model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from vmmetrics.prompts.entry import PATTERNS, PromptEntry, Tags
from vmmetrics.utils.text import embedding
from vmmetrics.utils.text.embedding import EmbeddingIdentity

FLUID, BIOLOGICAL = PATTERNS[:2]

BY_HAND = [
    PromptEntry("0001", "A grey heron spears a fish in the creek.", "a grey heron", "heron", "creek",
                "spearing a fish", BIOLOGICAL, "spear", "waterbird", tags=Tags(skeleton="animal", speed="fast")),
    PromptEntry("0002", "A grey heron lands on a post.", "a grey heron", "heron", "harbour", "landing on a post",
                BIOLOGICAL, "land", "waterbird", tags=Tags(skeleton="animal")),
    PromptEntry("0003", "Down the cliff, water pours into the creek while two walkers in yellow coats watch.", "water",
                "water", "creek", "pouring into the creek", FLUID, "pour", "waterfall", tags=Tags(seconds=6)),
    PromptEntry("0004", "Honey pours.", "honey", "honey", "kitchen", "pouring", FLUID, "pour", "thick liquid",
                tags=Tags()),
]  # fmt: skip
"""Four prompts of 9, 7, 15 and 2 words; two open alike; three verbs, three nouns, three places, three classes."""

_WORDS = ("red", "fast", "old", "small", "wet", "dog", "boat", "leaf", "child", "river", "runs", "turns", "falls", "by")


def random_list(number: int, seed: int) -> list[PromptEntry]:
    """Entries of random words, without pattern, class, base form or tags."""
    generator = np.random.default_rng(seed)
    entries = []
    for place in range(number):
        words = [_WORDS[pick] for pick in generator.integers(len(_WORDS), size=generator.integers(5, 12))]
        entries.append(
            PromptEntry(f"{place + 1:04d}", " ".join(words), words[0], words[0], words[1], f"{words[2]} {words[3]}")
        )
    return entries


def embed(texts: Sequence[str], **_: object) -> np.ndarray:
    """Unit vectors by which words of our own a text has."""
    counts = np.array([[1e-3, *(text.lower().count(word) for word in _WORDS)] for text in texts], np.float32)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put :func:`embed` in the model's place."""
    monkeypatch.setattr(embedding, "embed", embed)
    monkeypatch.setattr(embedding, "embedding_installed", lambda: True)
    monkeypatch.setattr(embedding, "embedding_identity", lambda: EmbeddingIdentity("counts", "test", None, "0"))
