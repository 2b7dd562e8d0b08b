"""Diversity of texts: distinct-n, shared openings, unique skeletons, nearest neighbours.

Every function takes ``subset``, a mask of texts, so that a list is tokenised once and measured many times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from vmmetrics.utils.text.similarity import number_grams, number_labels

Subset = NDArray[np.bool_] | None
"""(N,) bool mask of texts; None for all."""

OPENING = 3
"""Words of an opening; at most 5 % of prompts may share one."""
NEAR_DUPLICATE = 0.9
"""Least cosine of near-duplicates."""

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_BLOCK = 1024  # rows of similarities held at once: with 5,000 columns 20 MB


@dataclass(frozen=True, slots=True)
class NumberedWords:
    """Texts as word ids.

    Attributes:
        ids: (T,) the words of all texts, one text after the other; equal words have equal numbers from 0.
        starts: (N + 1,) where each text begins in them; the last is T.
    """

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) words of each text."""
        return np.diff(self.starts)


@dataclass(frozen=True, slots=True)
class Grams:
    """Counts of each n-gram in each text.

    Attributes:
        owner: (P,) the text.
        gram: (P,) the n-gram, a number; ascending.
        count: (P,) times, at least 1; descending among those of one n-gram.
        size: n.
    """

    owner: NDArray[np.int64]
    gram: NDArray[np.int64]
    count: NDArray[np.int64]
    size: int

    def of(self, subset: Subset) -> Grams:
        """Return the n-grams of a subset of texts."""
        if subset is None:
            return self
        chosen = subset[self.owner]
        return Grams(self.owner[chosen], self.gram[chosen], self.count[chosen], self.size)


def words_of(text: str) -> list[str]:
    """Return the words in lower case, without punctuation.

    >>> words_of("A fire-eater's torch, lit.")
    ['a', "fire-eater's", 'torch', 'lit']
    """
    return _WORD.findall(text.lower())


def number_words(texts: Sequence[str]) -> NumberedWords:
    """Tokenise texts into word ids."""
    split = [words_of(text) for text in texts]
    starts = np.cumsum([0, *(len(words) for words in split)], dtype=np.int64)
    return NumberedWords(number_labels(list(chain.from_iterable(split))), starts)


def count_grams(words: NumberedWords, size: int) -> Grams:
    """Count the n-grams of ``size`` words within each text.

    Raises:
        ValueError: ``size`` is below 1.
    """
    if size < 1:
        raise ValueError(f"Expected n of at least 1 but got {size}")
    texts = np.repeat(np.arange(len(words.lengths)), words.lengths)
    gram, owner = number_grams(words.ids, texts, size)
    pairs, count = np.unique(gram * (texts.max(initial=0) + 1) + owner, return_counts=True)
    gram, owner = np.divmod(pairs, texts.max(initial=0) + 1)
    order = np.lexsort((-count, gram))
    return Grams(owner[order], gram[order], count[order].astype(np.int64), size)


def distinct_n(grams: Grams, subset: Subset = None) -> float:
    """Return distinct n-grams over all n-grams (Li et al., 2016); NaN without any."""
    chosen = grams.of(subset)
    total = int(chosen.count.sum())
    return (1 + int(np.count_nonzero(np.diff(chosen.gram)))) / total if total else float("nan")


def openings(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the first :data:`OPENING` words of each text."""
    return [tuple(words_of(text)[:OPENING]) for text in texts]


def share_alone(labels: NDArray[np.int64]) -> float:
    """Return the share of items with a unique label; NaN without items.

    >>> share_alone(number_labels(["a", "b", "a", "c"]))
    0.5
    """
    return float(np.mean(np.bincount(labels)[labels] == 1)) if labels.size else float("nan")


def neighbours(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float64], int]:
    """Compare every text with every other.

    Args:
        vectors: (N, D) unit vectors.

    Returns:
        (N,) cosine of each with the one nearest to it, none where there are fewer than two texts, and the pairs whose
        cosine is over :data:`NEAR_DUPLICATE`.
    """
    if len(vectors) < 2:
        return np.empty(0), 0
    nearest, pairs = np.empty(len(vectors)), 0
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, rows + start] = -np.inf
        nearest[start : start + _BLOCK] = cosines.max(axis=1)
        pairs += int(np.count_nonzero(cosines > NEAR_DUPLICATE))
    return nearest.clip(-1, 1), pairs // 2


# Self-BLEU: how much of each text the others have already.
#
# Zhu et al., "Texygen", 2018: the mean over texts of the BLEU (Papineni et al., 2002) of each, with all others as its
# references. With the largest and second largest count of each n-gram at hand, the clipped counts of all texts take one
# pass, so that nothing need be sampled. More references give more matches: values compare at equal numbers of texts
# only.

ORDER = 4
"""Longest n-gram, as in BLEU-4; all orders have equal weight."""
SMOOTHING = 0.1
"""Matches counted for an order without any (Chen and Cherry, 2014, method 1; NLTK's value)."""


def bleu_grams(words: NumberedWords) -> tuple[Grams, ...]:
    """Return the n-grams for :func:`self_bleu`, of 1 to :data:`ORDER` words."""
    return tuple(count_grams(words, size) for size in range(1, ORDER + 1))


def self_bleu(words: NumberedWords, grams: Sequence[Grams], subset: Subset = None) -> float:
    """Return the mean BLEU of each text against all others.

    Args:
        words: The texts.
        grams: Their n-grams, from :func:`bleu_grams`.
        subset: (N,) which of them count.

    Returns:
        Within [0, 1], higher for texts more alike; NaN for fewer than two texts.
    """
    chosen = np.ones(len(words.lengths), bool) if subset is None else subset
    lengths = words.lengths[chosen]
    if lengths.size < 2:
        return float("nan")
    logs = np.zeros(lengths.size)
    for order_grams in grams:
        matched = _matched(order_grams.of(subset), len(words.lengths))[chosen]
        possible = np.maximum(lengths - order_grams.size + 1, 1)
        logs += np.log(np.where(matched > 0, matched, SMOOTHING) / possible) / len(grams)
        if order_grams.size == 1:
            nothing_shared = matched == 0
    scores = np.where(nothing_shared, 0.0, np.exp(logs + _brevity(lengths)))
    return float(scores.mean())


def _matched(grams: Grams, texts: int) -> NDArray[np.float64]:
    """Return (texts,) matched n-grams of each text, each clipped by the largest count in another text."""
    if grams.gram.size == 0:
        return np.zeros(texts, np.float64)
    first = np.concatenate([[True], np.diff(grams.gram) > 0])
    after = np.flatnonzero(first) + 1  # place of the second largest count, where the n-gram has one
    has_second = np.append(~first, False)[after]
    seconds = np.where(has_second, np.append(grams.count, 0)[after], 0)
    clipped = grams.count.copy()
    clipped[first] = np.minimum(clipped[first], seconds)
    return np.bincount(grams.owner, weights=clipped, minlength=texts).astype(np.float64)


def _brevity(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (N,) logarithms of the brevity penalty, against the reference nearest in length, ties to the shorter."""
    values, counts = np.unique(lengths, return_counts=True)
    penalties = np.zeros(values.size)
    for index in np.flatnonzero(counts == 1):
        length = values[index]
        others = np.delete(values, index)
        if others.size and length:
            nearest = others[np.argmin(np.abs(others - length))]  # ascending: of two as near, the shorter
            penalties[index] = min(0.0, 1 - nearest / length)
    by_text: NDArray[np.float64] = penalties[np.searchsorted(values, lengths)]
    return by_text
