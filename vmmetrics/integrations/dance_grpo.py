"""Inferencer of DanceGRPO, in the place of VideoAlign's.

Contract: ``inferencer.reward([path], [prompt], use_norm=True)[0]["MQ"]``, as ``unirl/reward/local/videoalign.py`` of
github.com/Tencent-Hunyuan/UniRL at 0113f5e and VideoAlign's example have it, read on 2026-11-28; DanceGRPO's own
repository was not in reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vmmetrics.scoring.rewards import rewards


class MotionInferencer:
    """Inferencer of motion quality, ``"MQ"`` in 0..1; it has no visual quality and no text alignment.

    Clips come one by one, so that no component can be left out for the others of their prompt: the default is made of
    CAS and MSS, which every clip with motion has.

    Args:
        options: Of :func:`vmmetrics.rewards`.
    """

    def __init__(self, **options: Any) -> None:
        self._options = {"weights": {"cas": 2 / 3, "mss": 1 / 3}, "missing": "nan", **options}

    def reward(
        self,
        video_paths: Sequence[str],
        prompts: Sequence[str],
        use_norm: bool = True,  # noqa: ARG002
    ) -> list[dict[str, float]]:
        """Score files; ``use_norm`` changes nothing, since there is no norm.

        Raises:
            RewardError: One has no reward.
        """
        found = rewards(list(video_paths), fps=None, prompts=prompts, **self._options)
        return [{"MQ": value} for value in found.complete().tolist()]
