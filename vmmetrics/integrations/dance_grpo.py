"""Inferencer of DanceGRPO, in the place of VideoAlign's.

Contract: ``fastvideo/models/videoalign/inference.py`` of github.com/XueZeyue/DanceGRPO at be8cf11, and its calls in
``train_grpo_hunyuan.py`` at ff7bee1 and ``train_grpo_skyreels_i2v.py`` at 61afbf2, read on 2026-11-28. These make -1 of
any error and say nothing: errors are logged here.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from vmmetrics.scoring.reward_groups import RewardError
from vmmetrics.scoring.rewards import rewards


class MotionInferencer:
    """Inferencer of motion quality, ``"MQ"`` in 0..1; ``"VQ"``, by which HunyuanVideo's script trains, is the same.

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
        **_: Any,
    ) -> list[dict[str, float]]:
        """Score files; VideoAlign's other options change nothing.

        Raises:
            RewardError: One has no reward.
        """
        found = rewards(list(video_paths), fps=None, prompts=prompts, **self._options)
        try:
            values = found.complete().tolist()
        except RewardError as error:
            logging.getLogger("vmmetrics").error("%s", error)
            raise
        return [{"MQ": value, "VQ": value} for value in values]
