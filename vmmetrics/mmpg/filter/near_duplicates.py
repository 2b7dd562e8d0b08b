"""Prompts that say what another one says: by sentence embeddings, and by the n-grams of words they share.

The n-grams find texts made from one another by changing a few words, and need no model; the embedding also finds the
same scene in other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vmmetrics.mmpg.checks import words
from vmmetrics.mmpg.statistics.diversity import NEAR_DUPLICATE
from vmmetrics.text.similarity import Match, Measure, containment, cosine, take_distinct

COSINE: Final = NEAR_DUPLICATE
"""Cosine of two embeddings from which two prompts count as the same."""
GRAM: Final = 5
"""Words of an n-gram: as long as no idiom of prompts is ("in the middle of the" is the longest common one)."""
OVERLAP: Final = 0.4
"""Share of the shorter prompt's 5-grams from which two prompts count as the same. Among prompts written one by one no
two share more than 0.19 (measured on 1,489 of ours); the nearest two of VMBench's, one sentence with another subject,
share 0.40."""

EMBEDDING: Final = "embedding"
N_GRAMS: Final = "n-grams"


class Duplicates:
    """Finds near-duplicates in a fixed set of texts.

    Args:
        texts: N texts.
        vectors: (N, D) their unit vectors; None leaves the embedding out.
        least_cosine: From which cosine on two are the same.
        least_overlap: From which share of n-grams on.
        grams: Whether n-grams are looked at.
    """

    def __init__(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32] | None,
        least_cosine: float = COSINE,
        least_overlap: float = OVERLAP,
        grams: bool = True,
    ) -> None:
        self._measures: dict[str, Measure] = {}
        if vectors is not None:
            self._measures[EMBEDDING] = Measure(cosine(vectors), least_cosine)
        if grams:
            split = [[word.lower() for word in words(text)] for text in texts]
            self._measures[N_GRAMS] = Measure(containment(split, GRAM), least_overlap)

    def find(self, order: Sequence[int], taken: Sequence[int] = ()) -> list[list[Match]]:
        """For each place of ``order``, the nearest earlier texts that it repeats; see :func:`take_distinct`."""
        return take_distinct(order, self._measures, taken)
