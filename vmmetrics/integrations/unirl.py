"""Reward backend of UniRL, in its process; over HTTP, ``vmmetrics serve`` speaks its reward service's protocol.

Contract: ``unirl/reward/base.py`` and ``local/base.py`` of github.com/Tencent-Hunyuan/UniRL at 104aad6 and aa0aa43,
``unirl/types/reward.py`` at 17863c4, and unirl 0.2.0, read on 2026-11-28. As UniRL's only reward it needs
``require_prompt_video: false``: it does not compare videos with prompts.
"""

from __future__ import annotations

import time
from typing import Any

from unirl.reward.local.base import LocalRewardBackend
from unirl.types.reward import RewardResponse

from vmmetrics.scoring.rewards import rewards


class MotionReward(LocalRewardBackend):  # type: ignore[misc]
    """Motion reward; ``model_kwargs`` are ``fps`` and options of :func:`vmmetrics.rewards`."""

    canonical_model_name = "vmmetrics"
    input_kind = "video"

    def _load_model(self) -> None:
        self.options: dict[str, Any] = {"missing": "drop-component", **self.model_kwargs}

    def covers_prompt_video(self) -> bool:
        """Return False: prompts are not compared with videos."""
        return False

    def compute_rewards(self, request: Any) -> Any:
        """Score videos (C, T, H, W) of floats in 0..1; one without a reward has NaN, no success, and the reason."""
        start = time.time()
        groups = request.group_ids or getattr(request, "prompts", None) or None  # 0.2.0 has no prompts
        found = rewards(request.videos, layout="CTHW", value_range=(0, 1), groups=groups, **self.options)
        errors = [why.get("reward", "") if value != value else None
                  for value, why in zip(found.values, found.reasons, strict=True)]  # fmt: skip
        successes = [error is None for error in errors]
        values, parts = found.values.tolist(), {name: part.tolist() for name, part in found.components.items()}
        return RewardResponse(values, parts, successes, errors, time.time() - start)

    def _compute_model_rewards(self, request: Any) -> list[float]:
        values: list[float] = self.compute_rewards(request).rewards
        return values
