"""Self-BLEU: how much of each text the others have already.

Zhu et al., "Texygen", 2018: the mean over texts of the BLEU (Papineni et al., 2002) of each, with all others as its
references. With the largest and second largest count of each n-gram at hand, the clipped counts of all texts take one
pass, so that nothing need be sampled. More references give more matches: values compare at equal numbers of texts only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vmmetrics.mmpg.statistics.diversity import Grams, Kept, Words, count_grams

ORDER = 4
"""Longest n-gram, as in BLEU-4; all lengths weigh the same."""
SMOOTHING = 0.1
"""Matches that count where an n-gram length has none (Chen and Cherry, 2014, method 1; the value is NLTK's)."""


def bleu_grams(words: Words) -> tuple[Grams, ...]:
    """The n-grams that :func:`self_bleu` takes, of 1 to :data:`ORDER` words."""
    return tuple(count_grams(words, size) for size in range(1, ORDER + 1))


def self_bleu(words: Words, grams: Sequence[Grams], kept: Kept = None) -> float:
    """Mean BLEU of each text against all others.

    Args:
        words: The texts.
        grams: Their n-grams, from :func:`bleu_grams`.
        kept: (N,) which of them count.

    Returns:
        Within [0, 1], higher for texts more alike; NaN for fewer than two texts.
    """
    chosen = np.ones(len(words.lengths), bool) if kept is None else kept
    lengths = words.lengths[chosen]
    if lengths.size < 2:
        return float("nan")
    logs = np.zeros(lengths.size)
    for some in grams:
        matched = _matched(some.of(kept), len(words.lengths))[chosen]
        possible = np.maximum(lengths - some.size + 1, 1)
        logs += np.log(np.where(matched > 0, matched, SMOOTHING) / possible) / len(grams)
        if some.size == 1:
            nothing_shared = matched == 0
    scores = np.where(nothing_shared, 0.0, np.exp(logs + _brevity(lengths)))
    return float(scores.mean())


def _matched(grams: Grams, texts: int) -> NDArray[np.float64]:
    """(texts,) n-grams of each that others have, each counted as often as the text among them that has it most."""
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
    """(N,) logarithm of the penalty for being shorter than the reference nearest in length, the shorter of two."""
    values, counts = np.unique(lengths, return_counts=True)
    penalties = np.zeros(values.size)
    for place in np.flatnonzero(counts == 1):
        length = values[place]
        others = np.delete(values, place)
        if others.size and length:
            nearest = others[np.argmin(np.abs(others - length))]  # ascending: of two as near, the shorter
            penalties[place] = min(0.0, 1 - nearest / length)
    found: NDArray[np.float64] = penalties[np.searchsorted(values, lengths)]
    return found
