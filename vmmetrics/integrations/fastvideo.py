"""Metric of fastvideo.eval, and the callback that makes it known to validation during training.

Contract: ``fastvideo/eval/metrics/base.py`` and ``vbench/temporal_flickering/metric.py`` of
github.com/hao-ai-lab/FastVideo at 412c95b and 184e7f7, ``fastvideo/train/callbacks/callback.py`` at 038384e, read on
2026-11-28. In the YAML, above ``validation``, ``vmmetrics: {_target_: vmmetrics.integrations.fastvideo.MotionMetrics}``
makes the metric known.
"""

from __future__ import annotations

from typing import Any

from fastvideo.eval.metrics.base import BaseMetric
from fastvideo.eval.registry import register
from fastvideo.eval.types import MetricResult
from fastvideo.train.callbacks.callback import Callback

from vmmetrics.scoring.rewards import rewards


@register("vmmetrics.motion_index")
class MotionIndex(BaseMetric):  # type: ignore[misc]
    """Motion index of a video; skipped, with the reason, where it has none."""

    name = "vmmetrics.motion_index"
    requires_reference = False

    def compute(self, sample: dict[str, Any]) -> Any:
        """Score ``sample["video"]``, (T, C, H, W) of floats in 0..1, at ``sample["fps"]`` frames per second."""
        video, fps = sample["video"], sample.get("fps")
        if fps is None:
            return MetricResult(name=self.name, score=None, details={"skipped": "the sample says no fps"})
        batch = video if video.ndim == 5 else video[None]
        found = rewards(batch, fps=float(fps), layout="BTCHW", value_range=(0, 1), missing="nan", collapsed="nan")
        details = {**found.reasons[0], **{name: float(part[0]) for name, part in found.components.items()}}
        missing = found.values[0] != found.values[0]
        skipped = {"skipped": "; ".join(found.reasons[0].values())} if missing else {}
        score = None if missing else float(found.values[0])
        return MetricResult(name=self.name, score=score, details=details | skipped)


class MotionMetrics(Callback):  # type: ignore[misc]
    """Callback that does nothing: to name it in a configuration registers the metric."""
