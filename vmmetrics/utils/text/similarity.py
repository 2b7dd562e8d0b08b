"""Greedy choice of distinct texts by several similarity measures at once, in bounded memory.

A text is taken unless a measure finds it too near to one taken before it. Only blocks of similarities are ever held, so
that a hundred thousand texts need no more memory than their vectors and 20 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Indices = NDArray[np.int64]
Compare = Callable[[Indices, Indices], NDArray[np.float32]]
"""Similarities (A, B) of the texts at two lists of indices, (A,) and (B,)."""

_ROWS: Final = 1024
_COLUMNS: Final = 4096
"""Similarities held at once, _ROWS x _COLUMNS float32: 16 MiB."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A similarity measure and its threshold.

    Attributes:
        compare: Similarities of texts, 1 for equal ones.
        least: Similarity from which on two texts count as duplicates.
    """

    compare: Compare
    least: float


@dataclass(frozen=True, slots=True)
class TextMatch:
    """The nearest text that was chosen before, and too near.

    Attributes:
        measure: Name of the measure.
        index: Index of that text.
        likeness: Similarity to it.
    """

    measure: str
    index: int
    likeness: float


def take_distinct(
    order: Sequence[int], measures: Mapping[str, Measure], taken: Sequence[int] = ()
) -> list[list[TextMatch]]:
    """Go through texts in order and take each that is not too near to one taken before.

    Args:
        order: Indices of the texts, the preferred first; each once.
        measures: By name; one that finds two too near is enough.
        taken: Indices of texts that are chosen already.

    Returns:
        For each of ``order``, the nearest taken text by every measure that found one too near; empty where it was
        taken. Of several equally near ones, the first that was taken.
    """
    chosen = np.array(taken, np.int64)
    near: list[list[TextMatch]] = []
    for start in range(0, len(order), _ROWS):
        block = np.array(order[start : start + _ROWS], np.int64)
        matches = _matches(block, chosen, measures)
        chosen = np.concatenate([chosen, block[[not matches_of for matches_of in matches]]])
        near += matches
    return near


def _matches(block: Indices, chosen: Indices, measures: Mapping[str, Measure]) -> list[list[TextMatch]]:
    """Return the matches of a block's texts with those chosen before the block, and with free texts of the block."""
    outside = {name: _nearest(block, chosen, measure.compare) for name, measure in measures.items()}
    inside = {name: measure.compare(block, block) for name, measure in measures.items()}
    free = np.zeros(len(block), bool)
    matches: list[list[TextMatch]] = []
    for row in range(len(block)):
        before = np.flatnonzero(free[:row])
        near = []
        for name, measure in measures.items():
            likeness, index = (float(outside[name][0][row]), int(outside[name][1][row]))
            values = inside[name][row, before]
            if values.size and values.max() > likeness:
                likeness, index = float(values.max()), int(block[before[values.argmax()]])
            if likeness >= np.float32(measure.least):
                near.append(TextMatch(name, index, likeness))
        free[row] = not near
        matches.append(near)
    return matches


def _nearest(block: Indices, chosen: Indices, compare: Compare) -> tuple[NDArray[np.float32], Indices]:
    """Return (A,) similarity of each text of a block to the nearest chosen one, -inf without one, and its index."""
    best = np.full(len(block), -np.inf, np.float32)
    at = np.full(len(block), -1, np.int64)
    for start in range(0, len(chosen), _COLUMNS):
        part = chosen[start : start + _COLUMNS]
        likeness = compare(block, part)
        nearest = likeness.argmax(axis=1)
        value = likeness[np.arange(len(block)), nearest]
        better = value > best
        best[better], at[better] = value[better], part[nearest[better]]
    return best, at


def cosine(vectors: NDArray[np.float32]) -> Compare:
    """Return the cosine of unit vectors.

    Args:
        vectors: (N, D), of the text at each index.
    """

    def compare(rows: Indices, others: Indices) -> NDArray[np.float32]:
        likeness: NDArray[np.float32] = vectors[rows] @ vectors[others].T
        return likeness

    return compare


def containment(texts: Sequence[Sequence[str]], size: int) -> Compare:
    """Return the share of the n-grams of the shorter of two texts that the longer has too (Broder, 1997).

    With sets A and B of n-grams it is |A ∩ B| / min(|A|, |B|), never less than their Jaccard index |A ∩ B| / |A ∪ B|.

    Args:
        texts: (N) words of the text at each index. One of fewer words than n counts as one n-gram.
        size: n.
    """
    grams = _gram_sets(texts, size)
    sizes = np.maximum(np.diff(grams.indptr), 1).astype(np.float32)

    def compare(rows: Indices, others: Indices) -> NDArray[np.float32]:
        shared = (grams[rows] @ grams[others].T).toarray()
        likeness: NDArray[np.float32] = shared / np.minimum.outer(sizes[rows], sizes[others])
        return likeness

    return compare


def number_labels(labels: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return (N,) equal numbers for equal labels, from 0."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.int64)


def number_grams(words: NDArray[np.int64], texts: NDArray[np.int64], size: int) -> tuple[Indices, Indices]:
    """Return the n-grams of texts, none of them across two.

    Args:
        words: (T,) numbers of the words of all texts, one text after the other.
        texts: (T,) the text of each.
        size: n.

    Returns:
        (P,) number of each n-gram, and (P,) its text.
    """
    first = np.flatnonzero(texts[size - 1 :] == texts[: max(0, texts.size - size + 1)])
    gram, base = words[first], int(words.max(initial=0)) + 1
    for further in range(1, size):  # numbered anew at each length, so that number x vocabulary stays below 2^63
        gram = np.unique(gram * base + words[first + further], return_inverse=True)[1].astype(np.int64)
    return gram, texts[first]


def _gram_sets(texts: Sequence[Sequence[str]], size: int) -> Any:
    """Return (N, G) sparse, 1 where a text has an n-gram."""
    filled = [[*words, *[None] * (size - len(words))] for words in texts]  # short ones with what is no word
    owner = np.repeat(np.arange(len(texts)), np.array([len(words) for words in filled], np.int64))
    gram, owner = number_grams(number_labels([word for words in filled for word in words]), owner, size)
    shape = (len(texts), int(gram.max(initial=0)) + 1)
    sets = csr_array((np.ones(gram.size, np.float32), (owner, gram)), shape=shape)
    sets.sum_duplicates()
    sets.data[:] = 1
    return sets
