"""Adapters to training and data frameworks: a file each, imported by nobody else; the framework must be installed.

Where a framework has no word for a missing reward, an adapter raises :class:`vmmetrics.RewardError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vmmetrics.scoring.reward_groups import Rewards
from vmmetrics.scoring.rewards import rewards


def score_apart(videos: Sequence[Any], component: str) -> Rewards:
    """Score files that are not compared with one another, as filters do, by one component; NaN where it is missing."""
    return rewards(list(videos), fps=None, weights={component: 1}, missing="nan", groups=range(len(videos)))
