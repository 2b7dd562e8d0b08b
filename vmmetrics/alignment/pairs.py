"""Pairs of clips and which of them people prefer: as they were judged, or from mean ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from vmmetrics.alignment.resampling import Statistic
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray, IntArray

MAX_CLIPS = 200
"""Clips of one prompt that are paired with each other; of more a random 200, which make 19,900 pairs."""
_SAME = 1e-9  # mean ratings of whole or half steps that differ at all differ by far more
_CELLS = 4_000_000  # weights of pairs held at a time, 32 MB


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of clips with people's preference.

    Attributes:
        left: (M,) index of a clip.
        right: (M,) index of another.
        outcome: (M,) 1 where people prefer the left, −1 the right, 0 where they call them equal.
        source: Where the pairs come from, in words.
    """

    left: IntArray
    right: IntArray
    outcome: IntArray
    source: str

    @property
    def decided(self) -> IntArray:
        """Indices of the pairs of which people prefer one clip."""
        return np.flatnonzero(self.outcome)


def pairs_of(study: Study, dimension: str, seed: int) -> Pairs:
    """The pairs that people judged on a dimension; where there are none, all pairs of rated clips of one prompt.

    Args:
        study: The study.
        dimension: One of its dimensions.
        seed: Of the choice of clips of a prompt that has over 200.
    """
    given = study.preferences.get(dimension)
    if given is not None and given.outcome.size:
        source = "pairs that people judged, each judgement counted once"
        return Pairs(given.left, given.right, np.sign(given.outcome).astype(np.int64), source)
    source = "pairs of clips of one prompt, preferred by mean rating"
    none = np.zeros(0, np.int64)
    if dimension not in study.ratings:
        return Pairs(none, none, none, source)
    mean = study.mean_rating(dimension)
    of_prompt: dict[str, list[int]] = {}
    for clip in np.flatnonzero(np.isfinite(mean)):
        of_prompt.setdefault(study.prompts[clip], []).append(int(clip))
    rng = np.random.default_rng(seed)
    chosen: list[tuple[int, int]] = []
    for prompt in sorted(of_prompt):
        clips = of_prompt[prompt]
        if len(clips) > MAX_CLIPS:
            clips = sorted(rng.choice(clips, MAX_CLIPS, replace=False).tolist())
            source = f"pairs of clips of one prompt (of at most {MAX_CLIPS} random ones), preferred by mean rating"
        chosen.extend(combinations(clips, 2))
    left, right = np.array(chosen, np.int64).reshape(-1, 2).T
    apart = mean[left] - mean[right]
    return Pairs(left, right, np.where(np.abs(apart) <= _SAME, 0, np.sign(apart)).astype(np.int64), source)


def share_statistic(pairs: Pairs, credits_: FloatArray, prompts: Sequence[str]) -> tuple[Statistic, tuple[str, ...]]:
    """Mean credit of pairs as a statistic of weighted prompts.

    A pair of one prompt has the weight of its prompt, a pair of two prompts the product of theirs.

    Args:
        pairs: M pairs.
        credits_: (M, S) credit of each pair, NaN where it does not count.
        prompts: (N,) prompt of each clip.

    Returns:
        (B, P) weights of prompts to (B, S) means, NaN where no pair counts; and the names of those P prompts, which
        are the ones that counted pairs belong to.
    """
    counted = np.flatnonzero(~np.isnan(credits_).all(axis=1))
    ends = np.stack([pairs.left[counted], pairs.right[counted]])
    names, codes = np.unique(np.asarray(prompts, dtype=object)[ends].astype(str), return_inverse=True)
    low, high = np.sort(codes.reshape(2, -1), axis=0)
    units, unit = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    there = ~np.isnan(credits_[counted])
    sums, counts = np.zeros((2, units.shape[1], credits_.shape[1]))
    np.add.at(sums, unit.ravel(), np.where(there, credits_[counted], 0.0))
    np.add.at(counts, unit.ravel(), there)
    one, other = units
    crossing = one != other

    def statistic(weights: FloatArray) -> FloatArray:
        rows = max(1, _CELLS // max(1, one.size))
        parts = []
        for start in range(0, len(weights), rows):
            block = weights[start : start + rows]
            weight = block[:, one] * np.where(crossing, block[:, other], 1.0)
            total = weight @ counts
            parts.append(np.divide(weight @ sums, total, out=np.full(total.shape, np.nan), where=total > 0))
        return np.concatenate(parts)

    return statistic, tuple(str(name) for name in names)
