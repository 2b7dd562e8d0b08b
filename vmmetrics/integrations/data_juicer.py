"""Filter of Data-Juicer by motion; its statistics have NaN, never -1, where a video has no score.

Contract: ``data_juicer/ops/filter/video_motion_score_filter.py`` of github.com/datajuicer/data-juicer at 0740aba, read
on 2026-11-28; ran with py-data-juicer 1.6.1. Named in ``custom-operator-paths`` of a recipe, it is the operator
``vmmetrics_motion_filter``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from data_juicer.ops.base_op import OPERATORS, UNFORKABLE, Filter
from data_juicer.utils.constant import Fields

from vmmetrics.scoring.filtering import score_apart

NAME = "vmmetrics_motion_filter"


@UNFORKABLE.register_module(NAME)
@OPERATORS.register_module(NAME)
class MotionFilter(Filter):  # type: ignore[misc]
    """Filter that keeps samples whose videos lie within a range; without a score none does.

    Args:
        component: Metric, ``motion_index``, tripwire, or measure of ``vmmetrics filter``.
        min_score, max_score: The range.
        any_or_all: Whether one video of a sample must lie in it, or all.
    """

    def __init__(self, component: str = "motion_index", min_score: float = 0.0, max_score: float = 1.0,
                 any_or_all: str = "any", *args: Any, **kwargs: Any) -> None:  # fmt: skip
        super().__init__(*args, **kwargs)
        self.component, self.low, self.high = component, min_score, max_score
        self.decide = {"any": np.any, "all": np.all}[any_or_all]
        self.key = f"vmmetrics_{component}"

    def compute_stats_single(self, sample: dict[str, Any], context: bool = False) -> dict[str, Any]:  # noqa: ARG002
        """Add the scores of a sample's videos to its statistics."""
        if self.key not in sample[Fields.stats]:
            found = score_apart(sample.get(self.video_key) or (), self.component)
            sample[Fields.stats][self.key] = found.components[self.component].tolist()
        return sample

    def process_single(self, sample: dict[str, Any]) -> bool:
        """Return True if the sample is kept; one without videos is."""
        scores = np.array(sample[Fields.stats][self.key], float)
        return bool(len(scores) == 0 or self.decide((scores >= self.low) & (scores <= self.high)))
