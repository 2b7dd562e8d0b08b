"""Stage of Cosmos-Curate that filters clips by their motion.

Contract: of github.com/nvidia-cosmos/cosmos-curate, read on 2026-11-28,
``cosmos_curate/pipelines/video/filtering/motion/motion_filter_stages.py`` at 1db44af and
``cosmos_curate/core/interfaces/stage_interface.py`` at 02bdcb9; and the former at 808ffaa, where encoded data are a
``LazyData`` (``cosmos_curate/core/utils/data/lazy_data.py`` at 29f1358).
"""

from __future__ import annotations

from typing import Any

from cosmos_curate.core.interfaces.stage_interface import CuratorStage, CuratorStageResource

from vmmetrics.scoring.filtering import score_apart


class MotionIndexStage(CuratorStage):  # type: ignore[misc]
    """Stage that keeps clips with a component of at least ``threshold``.

    A clip there has no room for other scores: they are in ``scores``, by uuid, NaN where one is missing.

    Args:
        component: Metric, ``motion_index``, tripwire, or measure of ``vmmetrics filter``.
        threshold: The least.
        score_only: Keep all.
    """

    def __init__(self, component: str = "motion_index", threshold: float = 0.0, *, score_only: bool = False) -> None:
        self._component, self._threshold, self._score_only = component, threshold, score_only
        self.scores: dict[Any, float] = {}

    @property
    def resources(self) -> Any:
        """One CPU."""
        return CuratorStageResource(cpus=1.0)

    def process_data(self, tasks: list[Any]) -> list[Any]:
        """Score ``clip.encoded_data`` of every clip; what has no score is filtered, with the reason in its errors."""
        for video in (task.video for task in tasks):
            found, kept = score_apart([_bytes(clip.encoded_data) for clip in video.clips], self._component), list[Any]()
            for clip, value, why in zip(video.clips, found.components[self._component], found.reasons, strict=True):
                self.scores[clip.uuid] = float(value)
                if value != value:
                    clip.errors["vmmetrics"] = "; ".join(why.values())
                keep = bool(self._score_only or value >= self._threshold)
                (kept if keep else video.filtered_clips).append(clip)
                video.clip_stats.num_filtered_by_motion += not keep
            video.clips = kept
        return tasks


def _bytes(data: Any) -> bytes:
    data = data.resolve() if hasattr(data, "resolve") else data
    return b"" if data is None else bytes(data)
