"""A checkpoint against labelled clips: ``vmmetrics cas eval``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.cas.evaluation import Report, report
from vmmetrics.cas.labelled_clips import LabelledClips
from vmmetrics.cas.training.data import Unreadable
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.functional.commonsense_adherence import LEVEL_VALUES
from vmmetrics.perception.vmbench.checkpoints import read_checkpoint
from vmmetrics.perception.vmbench.plausibility import Precision, VideoMAEPlausibility
from vmmetrics.video import read_clip


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What was found.

    Attributes:
        report: Agreement with the labels.
        clips: Per clip: name, level, the five probabilities and the score.
        seen: Clips left out because the checkpoint was trained on their prompts.
        unreadable: Clips left out because they cannot be read.
    """

    report: Report
    clips: tuple[dict[str, Any], ...]
    seen: tuple[str, ...]
    unreadable: tuple[Unreadable, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            **self.report.to_json(),
            "clips": list(self.clips),
            "seen_in_training": list(self.seen),
            "unreadable": [{"clip": clip.clip, "reason": clip.reason} for clip in self.unreadable],
        }


def evaluate_checkpoint(
    checkpoint: Path,
    data: LabelledClips,
    *,
    include_seen: bool = False,
    device: str | None = None,
    precision: Precision | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluated:
    """Score labelled clips over all views and hold the probabilities against the labels.

    Args:
        checkpoint: One that ``vmmetrics cas train`` wrote, or any that
            :meth:`~vmmetrics.perception.vmbench.plausibility.VideoMAEPlausibility.load` takes.
        data: Clips with levels.
        include_seen: Also clips of prompts that the checkpoint was trained on.
        device: Where to compute; None takes a GPU where there is one.
        precision: Of matrix products; None as the device suggests.
        progress: Told how many clips are done, of how many.

    Raises:
        SetupError: The checkpoint does not fit, or no clip is left.
    """
    read = read_checkpoint(checkpoint)
    trained = set(read.meta.get("trained_prompts", ()))
    model = VideoMAEPlausibility.of(read, device, precision)
    wanted = [clip for clip in data.clips if include_seen or clip.prompt_key not in trained]
    seen = tuple(clip.clip for clip in data.clips if not include_seen and clip.prompt_key in trained)
    rows, judged, failed = [], [], []
    for done, clip in enumerate(wanted, 1):
        try:
            rows.append(model.probabilities(read_clip(clip.path).frames).mean(axis=0))
            judged.append(clip)
        except ClipError as error:
            failed.append(Unreadable(clip.clip, str(error)))
        if progress is not None:
            progress(done, len(wanted))
    if not judged:
        raise SetupError(
            f"No clip is left to evaluate: {len(seen)} of {len(data.clips)} are of prompts that the checkpoint was "
            f"trained on, {len(failed)} cannot be read"
        )
    probabilities = np.stack(rows)
    scores = probabilities @ LEVEL_VALUES
    clips = tuple(
        {"clip": clip.clip, "level": clip.level, "probabilities": row.tolist(), "score": float(score)}
        for clip, row, score in zip(judged, probabilities, scores, strict=True)
    )
    levels = np.array([clip.level for clip in judged])
    return Evaluated(report(probabilities, levels, [clip.group for clip in judged]), clips, seen, tuple(failed))
