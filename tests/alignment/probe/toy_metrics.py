"""Metrics with a threshold that is known, and metrics that misbehave."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from vmmetrics.clip import Clip


def moving_share(clip: Clip) -> float:
    """Share of steps in which anything changes."""
    return float((clip.frames[1:] != clip.frames[:-1]).any((1, 2, 3)).mean())


def lively(clip: Clip) -> float:
    """1 where more than 60 % of the steps move, else 0: a standstill of strength s leaves 1 − 0.9 s of them."""
    return float(moving_share(clip) > 0.6)


def sharpness(clip: Clip) -> float:
    """Mean step from pixel to pixel."""
    return float(np.abs(np.diff(clip.frames.astype(float), axis=2)).mean())


def above_5_fps(clip: Clip) -> float:
    """1 from five frames a second on."""
    return float(clip.fps >= 5)


def several(clip: Clip) -> dict[str, float | None]:
    return {"lively": lively(clip), "sharpness": sharpness(clip), "never": None, "broken": float("nan")}


def raises(clip: Clip) -> float:
    if any(note.startswith("blur") for note in clip.notes):
        raise RuntimeError("cannot bear blur")
    return 1.0


def dies(clip: Clip) -> float:
    if any(note == "blur at 1" for note in clip.notes):
        os._exit(7)
    return 1.0


def hangs(clip: Clip) -> float:
    if any(note == "blur at 1" for note in clip.notes):
        time.sleep(3600)
    return 1.0


def stalls(clip: Clip) -> float:
    """Sharpness, until the journal that is named has four cases: then nothing, until somebody ends the process."""
    journal = Path(os.environ.get("STALLS_AT_FOUR", "nowhere"))
    while journal.exists() and journal.read_bytes().count(b"\n") >= 4:
        time.sleep(0.02)
    return sharpness(clip)
