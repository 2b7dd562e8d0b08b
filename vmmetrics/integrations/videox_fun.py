"""Reward of VideoX-Fun; ``get_reward`` alone, since motion scores are not differentiable.

Contract: ``videox_fun/reward/reward_fn.py`` of github.com/aigc-apps/VideoX-Fun at 5371fec, read on 2026-11-28.
"""

from __future__ import annotations

from typing import Any, NoReturn

from videox_fun.reward.reward_fn import BaseReward

from vmmetrics.scoring.rewards import rewards


class MotionReward(BaseReward):  # type: ignore[misc]
    """Motion reward.

    Args:
        fps: Frames per second of the videos.
        options: Of :func:`vmmetrics.rewards`.
    """

    def __init__(self, fps: float, **options: Any) -> None:
        super().__init__()
        self._options = {"fps": fps, "missing": "drop-component", **options}

    def __call__(self, batch_frames: Any, batch_prompt: Any = None) -> NoReturn:
        """Raise NotImplementedError: there is no gradient to train by."""
        raise NotImplementedError("Motion scores are not differentiable: use get_reward, as GRPO and best-of-n do")

    def get_reward(self, batch_frames: Any, batch_prompt: Any = None) -> Any:
        """Return rewards (B,) of frames (B, C, T, H, W) of floats in 0..1."""
        found = rewards(batch_frames, layout="BCTHW", value_range=(0, 1), prompts=batch_prompt, **self._options)
        found.complete()
        return found.to_torch(batch_frames.device)
