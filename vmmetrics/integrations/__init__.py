"""Adapters to training and data frameworks: a file each, imported by nobody else; the framework must be installed.

Where a framework has no word for a missing reward, an adapter raises :class:`vmmetrics.RewardError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from vmmetrics.errors import ClipError
from vmmetrics.functional.tripwires import UNITS
from vmmetrics.scoring.filter_suite import MEASURES, FilterSuite
from vmmetrics.scoring.reward_groups import Rewards
from vmmetrics.scoring.rewards import rewards
from vmmetrics.types import MetricResult
from vmmetrics.video.shards import temporary_file


def score_apart(videos: Sequence[Any], component: str) -> Rewards:
    """Score files that are not compared with one another, as filters do, by one component; NaN where it is missing.

    A measure of ``vmmetrics filter`` that is no tripwire costs a hundredth of what the others do.
    """
    if component in MEASURES.keys() - UNITS.keys():
        return _measured(videos, component)
    return rewards(list(videos), fps=None, weights={component: 1}, missing="nan", groups=range(len(videos)))


def _measured(videos: Sequence[Any], name: str) -> Rewards:
    suite, results = FilterSuite((name,)), list[MetricResult]()
    for video in videos:
        try:
            with temporary_file(video) if isinstance(video, bytes) else nullcontext(video) as path:
                results.append(suite.score_clip(path).results[name])
        except ClipError as error:
            results.append(MetricResult(None, str(error)))
    values = np.array([np.nan if result.score is None else result.score for result in results])
    reasons = tuple({} if result.missing is None else {name: result.missing} for result in results)
    return Rewards(values, {name: values}, np.zeros(len(values), np.bool_), reasons, ({},) * len(values))
