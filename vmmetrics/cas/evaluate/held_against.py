"""A classifier against labelled clips: ``vmmetrics cas eval``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.cas.evaluate.evaluation import Report, report
from vmmetrics.cas.labelled_clips import LabelledClips
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.functional.cas import LEVEL_VALUES
from vmmetrics.perception.presets import load_preset
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray
from vmmetrics.video import read_clip

EMBEDDED = "embedded"
"""In place of a checkpoint: the classifier that ships, which needs no torch."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A classifier to evaluate.

    Attributes:
        classify: A clip to (V, 5) probabilities, one row per view; raises ClipError for a clip it cannot judge.
        trained_prompts: Keys (:attr:`~vmmetrics.cas.labelled_clips.LabelledClip.prompt_key`) it was trained on.
    """

    classify: Callable[[Clip], FloatArray]
    trained_prompts: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What was found.

    Attributes:
        report: Agreement with the labels.
        clips: Per clip: name, level, the five probabilities and the score.
        seen: Clips left out because the classifier was trained on their prompts.
        failed: Clips left out because they cannot be read or judged, with the reason.
    """

    report: Report
    clips: tuple[dict[str, Any], ...]
    seen: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            **self.report.to_json(),
            "clips": list(self.clips),
            "seen_in_training": list(self.seen),
            "failed": dict(self.failed),
        }


def load_judge(name: str, device: str | None = None, precision: str | None = None) -> Judge:
    """Load a classifier.

    Args:
        name: Path of a checkpoint that ``vmmetrics cas train`` wrote or that
            :meth:`~vmmetrics.perception.vmbench.adapters.plausibility.VideoMAEPlausibility.load` takes, or
            ``"embedded"``.
        device: Where a checkpoint's network computes; None takes a GPU where there is one.
        precision: Of its matrix products, ``"fp32"``, ``"fp16"`` or ``"bf16"``; None as the device suggests.

    Raises:
        SetupError: The file is no such checkpoint, or torch is missing.
    """
    return _embedded() if name == EMBEDDED else _of_checkpoint(Path(name), device, precision)


def _embedded() -> Judge:
    models = load_preset("embedded").models

    def classify(clip: Clip) -> FloatArray:
        scene = Scene(clip, models)
        if models.plausibility is not None and not models.plausibility.view_frames(scene):
            raise ClipError(f"{len(clip)} frames: too few to judge motion by")
        return scene.probabilities

    return Judge(classify)


def _of_checkpoint(path: Path, device: str | None, precision: Any) -> Judge:
    from vmmetrics.perception.vmbench.adapters.plausibility import VideoMAEPlausibility
    from vmmetrics.perception.vmbench.checkpoints import read_checkpoint

    checkpoint = read_checkpoint(path)
    model = VideoMAEPlausibility.of(checkpoint, device, precision)
    seen = frozenset(checkpoint.meta.get("trained_prompts", ()))
    return Judge(lambda clip: model.probabilities(clip.frames), seen)


def hold_against(
    judge: Judge,
    data: LabelledClips,
    *,
    include_seen: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluated:
    """Classify labelled clips over all views, and hold the probabilities against the labels.

    Args:
        judge: The classifier.
        data: Clips with levels.
        include_seen: Also clips of prompts that the classifier was trained on.
        progress: Told how many clips are done, of how many.

    Raises:
        SetupError: No clip is left.
    """
    wanted = [clip for clip in data.clips if include_seen or clip.prompt_key not in judge.trained_prompts]
    names = {clip.clip for clip in wanted}
    seen = tuple(clip.clip for clip in data.clips if clip.clip not in names)
    rows, judged, failed = [], [], []
    for done, clip in enumerate(wanted, 1):
        try:
            rows.append(judge.classify(read_clip(clip.path, prompt=clip.prompt)).mean(axis=0))
            judged.append(clip)
        except ClipError as error:
            failed.append((clip.clip, str(error)))
        if progress is not None:
            progress(done, len(wanted))
    if not judged:
        raise SetupError(
            f"No clip is left to evaluate: {len(seen)} of {len(data.clips)} are of prompts that the classifier was "
            f"trained on, {len(failed)} cannot be read or judged"
        )
    probabilities = np.stack(rows)
    scores = probabilities @ LEVEL_VALUES
    clips = tuple(
        {"clip": clip.clip, "level": clip.level, "probabilities": row.tolist(), "score": float(score)}
        for clip, row, score in zip(judged, probabilities, scores, strict=True)
    )
    levels = np.array([clip.level for clip in judged])
    return Evaluated(report(probabilities, levels, [clip.group for clip in judged]), clips, seen, tuple(failed))
