"""Reward model of Flow-Factory; by group, so that the samples of a prompt have the same components.

Contract: ``src/flow_factory/rewards/abc.py`` of github.com/X-GenGroup/Flow-Factory at 5f6cda1, read on 2026-11-28.
In its configuration: ``reward_model: vmmetrics.integrations.flow_factory.MotionReward``.
"""

from __future__ import annotations

from typing import Any

from flow_factory.rewards.abc import GroupwiseRewardModel, RewardModelOutput

from vmmetrics.scoring.rewards import rewards


class MotionReward(GroupwiseRewardModel):  # type: ignore[misc]
    """Motion reward; its configuration has ``fps`` and may have options of :func:`vmmetrics.rewards` in ``options``."""

    required_fields = ("prompt", "video")
    use_tensor_inputs = False  # pictures of 8 bits, whose range needs no word

    def __call__(self, prompt: list[str], image: Any = None, video: Any = None, **_: Any) -> Any:  # noqa: ARG002
        """Score the videos of a group, lists of pictures."""
        options = {"missing": "drop-component", **(getattr(self.config, "options", None) or {})}
        found = rewards(video, fps=self.config.fps, groups=[0] * len(prompt), **options)
        return RewardModelOutput(rewards=found.complete(), extra_info={"components": dict(found.components)})
