"""vmmetrics: scores for the motion in generated clips, the events behind them, and their agreement with people."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vmmetrics.utils.version import __version__ as __version__

if TYPE_CHECKING:
    from vmmetrics import functional
    from vmmetrics.clip import Clip, Subject
    from vmmetrics.errors import ClipError, SetupError, VMMetricsError
    from vmmetrics.metrics import METRICS
    from vmmetrics.scoring.api import score
    from vmmetrics.scoring.clip_scores import ClipScores
    from vmmetrics.scoring.diff import diff
    from vmmetrics.scoring.filtering import filter_clips
    from vmmetrics.scoring.reward_groups import RewardError, Rewards
    from vmmetrics.scoring.rewards import rewards
    from vmmetrics.scoring.suite import Suite
    from vmmetrics.types import Event, MetricResult
    from vmmetrics.video import read_clip
    from vmmetrics.viewer.report import write_report


# Resolved on first use, so that the import stays fast and pulls in no model.
_HOMES = {
    "Clip": "vmmetrics.clip",
    "ClipError": "vmmetrics.errors",
    "ClipScores": "vmmetrics.scoring.clip_scores",
    "Event": "vmmetrics.types",
    "METRICS": "vmmetrics.metrics",
    "MetricResult": "vmmetrics.types",
    "RewardError": "vmmetrics.scoring.reward_groups",
    "Rewards": "vmmetrics.scoring.reward_groups",
    "SetupError": "vmmetrics.errors",
    "Subject": "vmmetrics.clip",
    "Suite": "vmmetrics.scoring.suite",
    "VMMetricsError": "vmmetrics.errors",
    "diff": "vmmetrics.scoring.diff",
    "filter_clips": "vmmetrics.scoring.filtering",
    "functional": "vmmetrics",
    "read_clip": "vmmetrics.video",
    "rewards": "vmmetrics.scoring.rewards",
    "score": "vmmetrics.scoring.api",
    "write_report": "vmmetrics.viewer.report",
}

__all__ = [
    "METRICS",
    "Clip",
    "ClipError",
    "ClipScores",
    "Event",
    "MetricResult",
    "RewardError",
    "Rewards",
    "SetupError",
    "Subject",
    "Suite",
    "VMMetricsError",
    "diff",
    "filter_clips",
    "functional",
    "read_clip",
    "rewards",
    "score",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vmmetrics' has no attribute {name!r}")
    if name == "functional":
        return import_module("vmmetrics.functional")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(
        {*__all__, *(name for name in globals() if name.startswith("__"))}
    )  # what is imported here is no part
