"""Stage of NeMo Curator that scores clips and filters by their motion.

Contract: ``nemo_curator/stages/video/filtering/motion_filter.py`` of github.com/NVIDIA-NeMo/Curator at 9578fde, read on
2026-11-28; ran with nemo-curator 1.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nemo_curator.stages.base import ProcessingStage
from nemo_curator.stages.resources import Resources
from nemo_curator.tasks.video import VideoTask

from vmmetrics.scoring.filtering import score_apart


@dataclass
class MotionIndexStage(ProcessingStage[VideoTask, VideoTask]):  # type: ignore[misc]
    """Stage that keeps clips with a component of at least ``threshold``; ``score_only`` keeps all."""

    component: str = "motion_index"
    threshold: float = 0.0
    score_only: bool = False
    name: str = "vmmetrics_motion"

    def __post_init__(self) -> None:
        self.resources = Resources(cpus=1.0)

    def inputs(self) -> tuple[list[str], list[str]]:
        """Return what a task must have."""
        return ["data"], []

    def outputs(self) -> tuple[list[str], list[str]]:
        """Return what a task has afterwards."""
        return ["data"], ["vmmetrics_score", "filtered_clips", "clip_stats"]

    def process(self, task: Any) -> Any:
        """Score ``clip.buffer`` of every clip into ``clip.vmmetrics_score``; without a score: None, and an error."""
        clips, kept = task.data.clips, list[Any]()
        found = score_apart([clip.buffer or b"" for clip in clips], self.component)
        for clip, value, why in zip(clips, found.components[self.component].tolist(), found.reasons, strict=True):
            clip.vmmetrics_score = None if value != value else value
            if value != value:
                clip.errors[self.name] = "; ".join(why.values())
            keep = self.score_only or value >= self.threshold
            (kept if keep else task.data.filtered_clips).append(clip)
            task.data.clip_stats.num_filtered_by_motion += not keep
        task.data.clips = kept
        return task
