"""What may become of a bad clip, and what may not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.reliability.bad_clips import BadClip

RAW = re.compile(r"Traceback|weights_only|allow_pickle=True|\.py:\d+\)|^\w*(Error|Exception)\b|\n|\[Errno|object at 0x")
"""Words of Python or of a library that no reason may hold."""


def read_one(bad: BadClip) -> dict[str, Any]:
    """Read a clip; its frames and notes, or the reason why not, and what is wrong with either."""
    from vmmetrics.errors import VMMetricsError
    from vmmetrics.video import read_clip

    try:
        clip = read_clip(bad.path)
    except VMMetricsError as error:
        return {"error": str(error), "fault": fault_of_reason(str(error))}
    except Exception as error:
        return {"error": repr(error), "fault": f"raises {type(error).__name__}: {str(error)[:100]}"}
    times = clip.timestamps
    sound = np.isfinite(times).all() and np.isfinite(clip.fps) and clip.fps > 0 and (np.diff(times) > 0).all()
    fault = "" if sound else "times do not increase"
    return {"error": None, "frames": len(clip), "notes": list(clip.notes), "fault": fault}


def fault_of_reason(reason: str) -> str:
    """What is wrong with the words of a reason; empty for nothing."""
    raw = RAW.search(reason)
    return f"raw words: {reason[:120]!r}" if raw else ""


def verdict(bad: BadClip, outcome: dict[str, Any]) -> str:
    """What is wrong with an outcome of :func:`read_one` in view of the clip's rule; empty for nothing."""
    if outcome["fault"]:
        return str(outcome["fault"])
    refused = outcome["error"] is not None
    if bad.rule == "error" and not refused:
        return f"is read, {outcome['frames']} frames"
    if bad.rule == "ok" and refused:
        return f"is refused: {outcome['error'][:120]}"
    if bad.rule == "whole" and not refused and outcome["frames"] < bad.frames and not outcome["notes"]:
        return f"passes as whole with {outcome['frames']} of {bad.frames} frames"
    return ""


def executed(folder: Path, marks: Sequence[str]) -> list[str]:
    """Files under ``folder`` or the current one that only a payload can have made."""
    return [str(path) for place in (folder, Path.cwd()) for mark in marks for path in place.rglob(mark)]
