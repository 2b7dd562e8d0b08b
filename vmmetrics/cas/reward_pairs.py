"""From rewards to comparisons: what VideoReward would say of each pair.

It was trained with ties in Rao and Kupper's form: P(A beats B) = σ(a − b − ln 5), P(B beats A) = σ(b − a − ln 5), a tie
otherwise, with a and b the raw rewards. Fitted with that model, all pairs give back the rewards but for their mean.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.cas.ties import RaoKupper

LOG_TIE = math.log(5)
"""ln k of the training loss ("btt", k = 5)."""
RATER = "VideoReward"


class Rewarded(NamedTuple):
    """A clip with its reward.

    Attributes:
        clip: Name.
        raw: Raw motion quality.
        prompt: Text it was generated from, or None.
    """

    clip: str
    raw: float
    prompt: str | None = None


def compare_rewards(
    clips: list[Rewarded], *, sampled: bool = False, seed: int = 0, across_prompts: bool = False
) -> list[dict[str, Any]]:
    """Compare clips by their rewards, all pairs of one prompt.

    Args:
        clips: Clips with rewards.
        sampled: Draw one outcome per pair. Otherwise a pair gives three lines, one per outcome, weighted with its
            probability: no noise, but then intervals say how well one comparison per pair would do. Those lines name no
            rater, since they are one judgement in parts.
        seed: For drawing.
        across_prompts: Compare clips of different prompts too.

    Returns:
        Lines in the format of comparisons.
    """
    pools: Mapping[Hashable, list[Rewarded]] = defaultdict(list)
    for clip in clips:
        pools[None if across_prompts else clip.prompt].append(clip)
    pairs = [pair for pool in pools.values() for pair in combinations(pool, 2)]
    differences = np.array([a.raw - b.raw for a, b in pairs], np.float64)
    probabilities = np.exp(RaoKupper().log_probabilities(differences, LOG_TIE)).reshape(-1, 3)
    rng = np.random.default_rng(seed)
    lines = []
    for (a, b), chances in zip(pairs, probabilities, strict=True):
        shown: dict[str, Any] = (
            {"prompt": a.prompt} if a.prompt == b.prompt else {"prompt_a": a.prompt, "prompt_b": b.prompt}
        )
        line = {"a": a.clip, "b": b.clip, **shown}
        if sampled:
            lines.append(line | {"rater": RATER, "winner": ("a", "tie", "b")[rng.choice(3, p=chances / chances.sum())]})
        else:
            lines += [
                line | {"winner": outcome, "weight": float(chance)}
                for outcome, chance in zip(("a", "tie", "b"), chances, strict=True)
                if chance > 0
            ]
    return lines
