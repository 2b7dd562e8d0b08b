"""The suite as a torchmetrics metric, for training and evaluation loops (extra ``torchmetrics``)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from vmmetrics.errors import ClipError, SetupError, install
from vmmetrics.metrics import METRICS
from vmmetrics.scoring.suite import Suite
from vmmetrics.types import Protocol
from vmmetrics.video import read_clip

try:
    import torch
    from torchmetrics import Metric
except ModuleNotFoundError as error:
    raise SetupError(f"{error.name} is missing; install it with: {install('torchmetrics')}") from error


class VideoMotionScore(Metric):  # type: ignore[misc]
    """Mean motion scores over all clips seen, summed across processes.

    Args:
        fps: Frames per second of the clips.
        metrics: Keys of the metrics.
        preset: Set of models.
        protocol: Definition of the metrics.
        layout: Axes of one clip, as in :func:`vmmetrics.read_clip`; None guesses where that is safe.
        **kwargs: Passed to :class:`torchmetrics.Metric`.

    ``update`` takes a sequence or batch of clips; ``compute`` returns a dict with the mean per metric that at least
    one clip was scored on, and ``"scored"``, ``"missing"`` and ``"failed"`` counts per metric. A metric without a
    single score has no mean: its key is absent.

    Example:
        >>> from vmmetrics.torch_metric import VideoMotionScore  # doctest: +SKIP
        >>> metric = VideoMotionScore(fps=8, metrics=("pas",))  # doctest: +SKIP
        >>> metric.update(torch.zeros(2, 16, 3, 64, 64, dtype=torch.uint8))  # doctest: +SKIP
        >>> metric.compute()["pas"]  # doctest: +SKIP
        tensor(0.)
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    def __init__(
        self,
        fps: float,
        metrics: Sequence[str] = METRICS,
        preset: str = "embedded",
        protocol: Protocol = "vmmetrics",
        layout: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.suite = Suite(preset, protocol, metrics)
        self.fps = fps
        self.layout = layout
        zeros = torch.zeros(len(self.suite.metrics), dtype=torch.float64)
        for state in ("total", "scored", "missing", "failed"):
            self.add_state(state, default=zeros.clone(), dist_reduce_fx="sum")

    def update(self, clips: Any) -> None:
        """Score clips and add them to the mean.

        Args:
            clips: Batch with the clip axis first, or a sequence of clips; each as :func:`vmmetrics.read_clip` takes.
        """
        for frames in clips:
            try:
                clip = read_clip(frames, fps=self.fps, layout=self.layout)
            except ClipError as error:
                warnings.warn(f"a clip could not be read: {error}", stacklevel=2)
                self.failed += 1
                continue
            scores = self.suite.score_clip(clip)
            for i, key in enumerate(self.suite.metrics):
                if key in scores.errors:
                    warnings.warn(f"{key} failed on a clip: {scores.errors[key]}", stacklevel=2)
                    self.failed[i] += 1
                elif key in scores.scores:
                    self.total[i] += scores.scores[key]
                    self.scored[i] += 1
                else:
                    self.missing[i] += 1

    def compute(self) -> dict[str, Any]:
        """Return the means and the counts over every clip seen by every process."""
        keys = self.suite.metrics
        means = {k: self.total[i] / self.scored[i] for i, k in enumerate(keys) if self.scored[i] > 0}
        counts = {
            state: {k: int(getattr(self, state)[i]) for i, k in enumerate(keys)}
            for state in ("scored", "missing", "failed")
        }
        return {**means, **counts}
