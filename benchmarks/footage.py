"""Footage beside the checkout: clips that are right by definition, in windows shown at several speeds.

``index.csv`` says split, licence class and source of every file; sealed files are refused without a reason, which is
logged (:mod:`benchmarks.seal`) before anything is read.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

import vmmetrics
from benchmarks.seal import log
from vmmetrics.clip import Clip
from vmmetrics.types import UInt8Array
from vmmetrics.utils.weights.manifest import weight_path
from vmmetrics.video import read_clip

FOOTAGE = Path(__file__).resolve().parents[2] / "shared" / "footage"
WINDOW_SECONDS = 2.0
"""Length of a window: the shortest generated clips."""
LEAST_FRAMES = 8
"""Least frames of a window."""
SHORT_SIDE = 360
"""Largest short side of a window, pixels."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One file of the footage.

    Attributes:
        file: Path relative to the folder.
        split: ``"train"``, ``"validation"``, ``"sealed"``, or ``"open"`` for generated clips.
        licence_class: ``"A"``, ``"B"`` or ``"C"``; empty for generated clips.
        source: Source id; clips of one source are never parted.
        repo: Repository it comes from; figures weigh repositories equally.
        generator: Model that made it, empty for real clips.
        year: Year of that model.
        pair: Name of the pair of clips with one prompt, or empty.
        role: What its authors claim of it.
        sha256: Hash of the file.
    """

    file: str
    split: str
    licence_class: str
    source: str
    repo: str
    generator: str
    year: str
    pair: str
    role: str
    sha256: str

    @property
    def path(self) -> Path:
        """Path of the file."""
        return FOOTAGE / self.file

    @property
    def name(self) -> str:
        """Name of the file without its folder and suffix."""
        return Path(self.file).stem

    def read(self) -> Clip:
        """Decode the file."""
        return read_clip(self.path, name=self.name)


def recordings(*splits: str, reason: str | None = None) -> list[Recording]:
    """Return the recordings of ``splits``.

    Raises:
        ValueError: If sealed ones are asked for without a reason.
    """
    if "sealed" in splits:
        if not reason:
            raise ValueError("Expected a reason to open sealed footage but got none")
        log(f"footage, opened: {reason}", "benchmarks.footage", {})
    with (FOOTAGE / "index.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] in splits]
    names = {"file", "split", "licence_class", "repo", "generator", "year", "pair", "role", "sha256"}
    return [Recording(source=row["source_id"], **{k: row[k] for k in names}) for row in rows]


def window(clip: Clip, speed: int = 1, *, at: float = 0.5) -> Clip | None:
    """Return a window of ``clip`` shown ``speed`` times as fast, at the same rate and length; None where it is short.

    Args:
        clip: The whole clip.
        speed: Frames of the clip per frame of the window.
        at: Place of the window's middle in the clip, 0..1; windows of all speeds share their middle.
    """
    length = min(round(WINDOW_SECONDS * clip.fps), max(len(clip) // 3, min(len(clip), 16)))
    span = (length - 1) * speed + 1
    if span > len(clip):
        length = (len(clip) - 1) // speed + 1
        span = (length - 1) * speed + 1
    if length < LEAST_FRAMES:
        return None
    first = round(at * (len(clip) - span))
    return clip_of(clip.frames[first : first + span : speed], clip.fps, f"{clip.name}@{speed}")


def clip_of(frames: UInt8Array, fps: float, name: str) -> Clip:
    """Return frames (T, H, W, 3) as a clip, downscaled to :data:`SHORT_SIDE`."""
    height, width = frames.shape[1:3]
    factor = min(1.0, SHORT_SIDE / min(height, width))
    size = round(width * factor), round(height * factor)
    if factor < 1:
        frames = np.stack([cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in frames])
    return Clip(np.ascontiguousarray(frames, np.uint8), np.arange(len(frames)) / fps, fps, name=name)


def code_digest() -> str:
    """Return a hash of the code and weights that scores depend on, for the names of cached scores."""
    root = Path(vmmetrics.__file__).parent
    code = [p for part in ("functional", "metrics", "perception", "alignment/perturbations", "video")
            for p in sorted((root / part).rglob("*.py"))]  # fmt: skip
    changes = Path(__file__).with_name("footage_changes.py")
    return hashlib.sha256(
        b"".join(path.read_bytes() for path in (*code, weight_path("cas-ladder"), changes))
    ).hexdigest()[:8]


def by_repository(
    values: Sequence[float], items: Sequence[Recording], rounds: int = 2000
) -> tuple[float, float, float]:
    """Return the mean of ``values`` with equal weight per repository, and its 95 % bootstrap interval over them."""
    repos = sorted({item.repo for item in items})
    array = np.asarray(values, float)
    means = np.array([np.nanmean(array[[item.repo == repo for item in items]]) for repo in repos])
    drawn = np.random.default_rng(0).integers(len(means), size=(rounds, len(means)))
    low, high = np.nanquantile(means[drawn].mean(1), (0.025, 0.975))
    return float(np.nanmean(means)), float(low), float(high)
