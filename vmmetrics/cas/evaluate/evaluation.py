"""Evaluation of a classifier: accuracy, error in levels, rank correlation, calibration (``vmmetrics cas eval``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from vmmetrics.cas.labelled_clips import LabelledClips
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.functional.cas import LEVEL_VALUES, LEVELS
from vmmetrics.perception.presets import load_preset
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray
from vmmetrics.video import read_clip

CALIBRATION_BINS = 10
"""Calibration bins, of equal width in confidence."""
FEWEST_FOR_ORDER = 3
"""Minimum clips for a rank correlation."""
BOOTSTRAP_DRAWS = 1000
INTERVAL = (2.5, 97.5)
"""Percentiles of the bootstrap that bound an interval."""

EXPECTED_DIGITS = 9
"""Decimals of the expected level in rank correlations, so that ties stay ties."""

Level = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic, or none where the clips do not allow it.

    Attributes:
        value: The statistic.
        low: Lower end of its 95 % bootstrap interval over clips.
        high: Upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of the calibration plot.

    Attributes:
        clips: How many clips were judged with a confidence in this bin.
        confidence: Their mean probability of the likeliest level.
        accuracy: Share of them of which that level is right.
    """

    clips: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Agreement over one set of clips.

    Attributes:
        clips: How many.
        accuracy: Share of clips whose likeliest level is right.
        mae: Mean absolute difference between expected and true level, in levels (0..4).
        spearman: Rank correlation of the score with the level.
        calibration_error: Expected calibration error: mean distance of confidence and accuracy, weighted by clips.
        bins: The calibration behind it, from low confidence to high; empty bins are left out.
    """

    clips: int
    accuracy: Interval
    mae: Interval
    spearman: Interval
    calibration_error: Interval
    bins: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Agreement over all clips, and group by group.

    Attributes:
        overall: All clips.
        groups: Per group (model), sorted; clips without a group are under ``""``.
        spearman_within_groups: Mean over groups of their rank correlation: what is left when knowing the generator is
            worth nothing. None where no group has one.
        accuracy_of_the_commonest_level: Accuracy of always naming the commonest level.
    """

    overall: Evaluation
    groups: Mapping[str, Evaluation]
    spearman_within_groups: float | None
    accuracy_of_the_commonest_level: float


def report(probabilities: FloatArray, levels: Level, groups: Sequence[str | None], seed: int = 0) -> EvaluationReport:
    """Evaluate all clips and each group.

    Args:
        probabilities: (N, 5) rows that sum to 1, N at least 1.
        levels: (N,) true levels, 0..4.
        groups: (N,) which model made each, or None.
        seed: Of the bootstrap.
    """
    names = np.array([group or "" for group in groups])
    per_group = {
        str(name): evaluate(probabilities[names == name], levels[names == name], seed) for name in np.unique(names)
    }
    orders = [e.spearman.value for e in per_group.values() if e.spearman.value is not None]
    within, majority = float(np.mean(orders)) if orders else None, float(np.bincount(levels).max() / len(levels))
    return EvaluationReport(evaluate(probabilities, levels, seed), per_group, within, majority)


def evaluate(probabilities: FloatArray, levels: Level, seed: int = 0) -> Evaluation:
    """Evaluate one set of clips; see :func:`report`."""
    expected = np.round(probabilities @ np.arange(len(LEVELS)), EXPECTED_DIGITS)
    right = (probabilities.argmax(axis=1) == levels).astype(np.float64)
    error = np.abs(expected - levels)
    bins = calibration_bins(probabilities, levels)
    count = len(levels)
    drawn = np.random.default_rng(seed).integers(0, count, (BOOTSTRAP_DRAWS, count))
    few = count < FEWEST_FOR_ORDER
    order = np.array([np.nan]) if few else rank_correlations(expected[None], levels[None])
    accuracy, mae = (
        Interval(float(each.mean())) if few else _figure(each.mean(), each[drawn].mean(axis=1))
        for each in (right, error)
    )
    ranked = not np.isnan(order[0])
    spearman = _figure(order[0], rank_correlations(expected[drawn], levels[drawn])) if ranked else Interval(None)
    # No interval: resampling clips inflates a calibration error, and would mislead.
    calibration = Interval(sum(b.clips * abs(b.confidence - b.accuracy) for b in bins) / count)
    return Evaluation(count, accuracy, mae, spearman, calibration, bins)


def rank_correlations(first: FloatArray, second: FloatArray | Level) -> FloatArray:
    """Return Spearman's correlation of each row of (D, N) with the same row of another; NaN where one does not vary."""
    ranks = [rankdata(values, axis=1) for values in (first, second)]
    ours, theirs = (values - values.mean(axis=1, keepdims=True) for values in ranks)
    scale = np.sqrt((ours**2).sum(axis=1) * (theirs**2).sum(axis=1))
    correlations = np.full(len(scale), np.nan)
    np.divide((ours * theirs).sum(axis=1), scale, out=correlations, where=scale > 0)
    return correlations


def calibration_bins(probabilities: FloatArray, levels: Level) -> tuple[Bin, ...]:
    """Bin clips by the probability of their likeliest level."""
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == levels
    bin_index = np.minimum((confidence * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    return tuple(
        Bin(int((bin_index == b).sum()), float(confidence[bin_index == b].mean()), float(right[bin_index == b].mean()))
        for b in np.unique(bin_index)
    )


def _figure(value: float, drawn: FloatArray) -> Interval:
    low, high = np.nanpercentile(drawn, INTERVAL)
    return Interval(float(value), float(low), float(high))


# A classifier against labelled clips: ``vmmetrics cas eval``.

EMBEDDED = "embedded"
"""Name of the embedded classifier, which needs no torch."""


@dataclass(frozen=True, slots=True)
class LoadedClassifier:
    """A classifier to evaluate.

    Attributes:
        classify: A clip to (V, 5) probabilities, one row per view; raises ClipError for a clip it cannot judge.
        trained_prompts: Keys (:attr:`~vmmetrics.cas.labelled_clips.LabelledClip.prompt_key`) it was trained on.
    """

    classify: Callable[[Clip], FloatArray]
    trained_prompts: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Evaluated clips and their agreement with the labels.

    Attributes:
        report: Agreement with the labels.
        clips: Per clip: name, level, the five probabilities and the score.
        seen: Clips left out because the classifier was trained on their prompts.
        failed: Clips left out because they cannot be read or judged, with the reason.
    """

    report: EvaluationReport
    clips: tuple[dict[str, Any], ...]
    seen: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        clip_fields = {"clips": list(self.clips), "seen_in_training": list(self.seen), "failed": dict(self.failed)}
        return asdict(self.report) | clip_fields


def load_judge(name: str, device: str | None = None, precision: str | None = None) -> LoadedClassifier:
    """Load a classifier.

    Args:
        name: Path of a checkpoint that ``vmmetrics cas train`` wrote or that
            :meth:`~vmmetrics.perception.vmbench.adapters.plausibility.VideoMAEPlausibility.of` takes, or
            ``"embedded"``.
        device: Where a checkpoint's network computes; None takes a GPU where there is one.
        precision: Of its matrix products, ``"fp32"``, ``"fp16"`` or ``"bf16"``; None as the device suggests.

    Raises:
        SetupError: The file is no such checkpoint, or torch is missing.
    """
    if name == EMBEDDED:
        models = load_preset("embedded").models

        def classify(clip: Clip) -> FloatArray:
            scene = Scene(clip, models)
            if models.plausibility is not None and not models.plausibility.view_frames(scene):
                raise ClipError(f"{len(clip)} frames: too few to judge motion by")
            return scene.probabilities

        return LoadedClassifier(classify)
    if not Path(name).is_file():
        raise SetupError(f"No such file: {name}")
    from vmmetrics.perception.vmbench.adapters.plausibility import VideoMAEPlausibility
    from vmmetrics.perception.vmbench.checkpoints import read_checkpoint

    checkpoint = read_checkpoint(Path(name))
    model = VideoMAEPlausibility.of(checkpoint, device, cast("Any", precision))
    seen = frozenset(checkpoint.meta.get("trained_prompts", ()))
    return LoadedClassifier(lambda clip: model.probabilities(clip.frames), seen)


def evaluate_classifier(
    judge: LoadedClassifier,
    data: LabelledClips,
    *,
    include_seen: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluated:
    """Classify labelled clips over all views, and compare the probabilities with the labels.

    Args:
        judge: The classifier.
        data: Clips with levels.
        include_seen: Also clips of prompts that the classifier was trained on.
        progress: Told how many clips are done, of how many.

    Raises:
        SetupError: No clip is left.
    """
    selected = [clip for clip in data.clips if include_seen or clip.prompt_key not in judge.trained_prompts]
    names = {clip.clip for clip in selected}
    seen = tuple(clip.clip for clip in data.clips if clip.clip not in names)
    rows, judged, failed = [], [], []
    for done, clip in enumerate(selected, 1):
        try:
            rows.append(judge.classify(read_clip(clip.path, prompt=clip.prompt)).mean(axis=0))
            judged.append(clip)
        except ClipError as error:
            failed.append((clip.clip, str(error)))
        if progress is not None:
            progress(done, len(selected))
    if not judged:
        raise SetupError(
            f"No clip is left to evaluate: {len(seen)} of {len(data.clips)} are of prompts that the classifier was "
            f"trained on, {len(failed)} cannot be read or judged; "
            "use --include-seen to evaluate on training prompts"
        )
    probabilities = np.stack(rows)
    scores = probabilities @ LEVEL_VALUES
    clips = tuple(
        {"clip": clip.clip, "level": clip.level, "probabilities": row.tolist(), "score": float(score)}
        for clip, row, score in zip(judged, probabilities, scores, strict=True)
    )
    levels = np.array([clip.level for clip in judged])
    return Evaluated(report(probabilities, levels, [clip.group for clip in judged]), clips, seen, tuple(failed))
