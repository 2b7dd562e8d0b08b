"""Reward function of flow_grpo and of what descends from it (DiffusionNFT, Astrolabe).

Contract: ``flow_grpo/rewards.py`` of github.com/yifan123/flow_grpo at 54809b5, read on 2026-11-28: a factory by device,
``function(videos, prompts, metadata) -> (rewards, dict)``. Add ``lambda device: motion_score(device, fps=8)`` to
``score_functions`` of ``multi_score`` there, which reads the names of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmmetrics.scoring.rewards import rewards

Function = Callable[[Any, Sequence[str], Any], tuple[NDArray[Any], dict[str, Any]]]


def motion_score(device: Any = None, *, fps: float, **options: Any) -> Function:  # noqa: ARG001  (part of the contract)
    """Return the reward function.

    Args:
        device: Not used: the models run on the CPU.
        fps: Frames per second of the videos.
        options: Of :func:`vmmetrics.rewards`; ``missing`` is ``"drop-component"`` unless said.
    """

    def score(videos: Any, prompts: Sequence[str], metadata: Any = None) -> tuple[NDArray[Any], dict[str, Any]]:  # noqa: ARG001
        """Score tensors (B, T, C, H, W) of floats in 0..1, or arrays (B, T, H, W, C) of uint8."""
        layout = "BTHWC" if getattr(videos, "dtype", None) == np.uint8 else "BTCHW"
        given: Mapping[str, Any] = {"missing": "drop-component", "layout": layout, "value_range": (0, 1), **options}
        found = rewards(videos, fps=fps, prompts=prompts, **given)
        return found.complete(), {"vmmetrics": found.components}

    return score
