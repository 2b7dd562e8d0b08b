"""The rated clips beside a checkout: 17 prompts, four models and a real clip each, three raters."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import vmmetrics

RATINGS = Path(__file__).resolve().parent.parent.parent / "shared" / "fetv-dev"
SHORT_CLIP_FRAMES = 16
SHORT_CLIP_FPS, LONG_CLIP_FPS = 8.0, 16.0  # the data set's note: its GIFs state no delays
REAL = "real"


def rated_clips(folder: Path) -> list[dict[str, str]]:
    """The rows of ``ratings.csv``.

    Raises:
        SystemExit: There is none.
    """
    if not (folder / "ratings.csv").is_file():
        raise SystemExit(f"{folder} has no ratings.csv; name the folder with --ratings")
    with (folder / "ratings.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read(folder: Path, row: dict[str, str]) -> vmmetrics.Clip:
    """The clip of a row, at the rate it was made for."""
    path = folder / "clips" / row["clip"]
    clip = vmmetrics.read_clip(path, assume_fps=LONG_CLIP_FPS, prompt=row["prompt"])
    if len(clip) != SHORT_CLIP_FRAMES:
        return clip
    return vmmetrics.read_clip(path, assume_fps=SHORT_CLIP_FPS, prompt=row["prompt"])


def mean_rating(row: dict[str, str]) -> float:
    """Mean of the three people's temporal quality."""
    return float(np.mean([float(row[f"temporal_quality_{rater}"]) for rater in (1, 2, 3)]))
