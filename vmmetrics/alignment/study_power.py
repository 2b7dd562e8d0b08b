"""What a study that there is can tell apart: its size, prompts and raters put into the closed form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from vmmetrics.alignment.bootstrap import SEED
from vmmetrics.alignment.ceiling import measure_ceiling
from vmmetrics.alignment.power import (
    LEVEL,
    POWER,
    clips_needed,
    design_effect,
    feasible,
    mean_reliability,
    power_of,
    smallest_within_model,
)
from vmmetrics.alignment.resampling import finite
from vmmetrics.alignment.results import Power
from vmmetrics.alignment.spearman_statistics import spearman_statistic
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray

FIRST, SECOND = 0.6, 0.7
"""The two correlations that are to be told apart."""
RATERS = (1, 2, 3, 5, 10)
"""Numbers of raters for which the clips needed are worked out, beside the number there is."""


def measure_power(
    study: Study,
    dimension: str,
    metrics: Sequence[str],
    seed: int = SEED,
    first: float = FIRST,
    second: float = SECOND,
) -> Power:
    """What a study of this size can tell apart, and what size it would need.

    The two correlations are meant with the mean of the raters there are; with other numbers of raters both grow or
    shrink with the reliability of the mean. The variance between prompts is estimated from ratings and scores, the
    correlation of two metrics with each other from those that are there.

    Args:
        study: The study.
        dimension: One of its dimensions, with ratings.
        metrics: Metrics that face it.
        seed: Of the splits of raters where there are over ten.
        first: A correlation.
        second: Another, to be told from it; both between −1 and 1.
    """
    ratings = finite(study.ratings[dimension])
    mean = study.mean_rating(dimension)
    rated = np.flatnonzero(np.isfinite(mean))
    prompts, models = ([names[clip] for clip in rated] for names in (study.prompts, study.models))
    scores = [finite(study.scores[metric])[rated] for metric in metrics]
    between, how = _between(scores, first, second)
    each = Counter(prompts).values()
    clustered = sum(count**2 for count in each) / max(1, rated.size)
    design = design_effect(clustered, _shared_variance(mean[rated], scores, prompts)) if rated.size else 1.0
    needed = clips_needed(first, second, between, design) if first != second else None
    single = _reliability(study, dimension, seed)
    said = [
        f"{rated.size} clips of {len(each)} prompts, design effect {design:.2f}",
        f"two metrics that correlate at {between:.2f} ({how})",
        f"two-sided test at {LEVEL:.0%}, {POWER:.0%} power for the clips needed",
    ]
    by_raters: dict[int, int] = {}
    if single is None:
        said.append("what more raters would bring is not known: it takes two ratings of a clip that agree")
    elif needed is not None:
        there = float((~np.isnan(ratings[rated])).sum(axis=1).mean())
        said.append(f"reliability of one rating {single:.2f}, {there:.3g} ratings a clip")
        by_raters = _by_raters(first, second, between, design, single, there)
    inside, named = _less_model_means(mean[rated], scores, models)
    share = _shared_variance(inside[0], inside[1:], prompts) if rated.size else 0.0
    return Power(
        dimension=dimension,
        first=first,
        second=second,
        power=power_of(first, second, between, rated.size, design),
        clips=needed,
        prompts=None if needed is None or not rated.size else math.ceil(needed * len(each) / rated.size),
        raters=by_raters,
        smallest=smallest_within_model(list(named.values()), share),
        note="; ".join(said),
    )


def prompt_share(values: FloatArray, prompts: Sequence[str]) -> float | None:
    """Share of variance between prompts: ICC(1) of Shrout and Fleiss, for unequal numbers by Donner's mean size.

    Args:
        values: (N,), NaN where missing.
        prompts: (N,) prompt of each clip.

    Returns:
        0 to 1 (0 where prompts differ by less than chance); None where no prompt has two clips or nothing varies.
    """
    known = np.flatnonzero(~np.isnan(values))
    if not known.size:
        return None
    prompt = np.unique(np.asarray(prompts, dtype=object)[known].astype(str), return_inverse=True)[1]
    sizes = np.bincount(prompt)
    spare = known.size - sizes.size
    if spare < 1 or sizes.size < 2:
        return None
    centred = values[known] - values[known].mean()
    means = np.bincount(prompt, weights=centred) / sizes
    between = (sizes * means**2).sum() / (sizes.size - 1)
    within = ((centred - means[prompt]) ** 2).sum() / spare
    size = (known.size - (sizes**2).sum() / known.size) / (sizes.size - 1)
    whole = between + (size - 1) * within
    return float(min(max((between - within) / whole, 0.0), 1.0)) if whole > 0 else None


def _shared_variance(ratings: FloatArray, scores: Sequence[FloatArray], prompts: Sequence[str]) -> float:
    """Share between prompts of the ratings, times that of the scores on average; squared where there is no score."""
    of_ratings = prompt_share(ratings, prompts) or 0.0
    of_scores = [share for share in (prompt_share(score, prompts) for score in scores) if share is not None]
    return of_ratings * (float(np.mean(of_scores)) if of_scores else of_ratings)


def _between(scores: Sequence[FloatArray], first: float, second: float) -> tuple[float, str]:
    """Correlation of two metrics with each other, and where it is from."""
    once = np.ones((1, len(scores[0]))) if scores else np.ones((1, 0))
    found = [float(spearman_statistic(one, other)(once)[0, 0]) for one, other in combinations(scores, 2)]
    found = [value for value in found if not np.isnan(value)]
    if not found:
        return first * second, "assumed: nothing in common but what people see"
    mean = float(np.mean(found))
    possible = feasible(mean, first, second)
    how = f"the mean over {len(found)} pairs of metrics" if len(found) > 1 else "as the two metrics do"
    return possible, how if possible == mean else f"{how}, moved to where such correlations are possible"


def _reliability(study: Study, dimension: str, seed: int) -> float | None:
    """Of one rating, from the halves of the raters; None where there are none or they do not agree."""
    whole = measure_ceiling(study, dimension, resamples=0, seed=seed).split_half_full.value
    if whole is None or whole <= 0:
        return None
    counts = (~np.isnan(study.ratings[dimension])).sum(axis=1)
    raters = float(counts[counts >= 2].mean())
    return whole / (raters - (raters - 1) * whole)


def _by_raters(
    first: float, second: float, between: float, design: float, single: float, there: float
) -> dict[int, int]:
    """Clips needed by number of raters; numbers that would lift a correlation to 1 are left out."""
    found = {}
    for raters in sorted({*RATERS, round(there)}):
        # the number there is on average stands for itself, so that it gives the clips needed
        gain = 1.0 if raters == round(there) else _gain(single, raters, there)
        one, other = first * gain, second * gain
        if max(abs(one), abs(other)) < 1:
            found[raters] = clips_needed(one, other, feasible(between, one, other), design)
    return found


def _gain(single: float, raters: float, there: float) -> float:
    return math.sqrt(mean_reliability(single, raters) / mean_reliability(single, there))


def _less_model_means(
    ratings: FloatArray, scores: Sequence[FloatArray], models: Sequence[str]
) -> tuple[list[FloatArray], Counter[str]]:
    """Ratings and each score less their mean over the model, NaN for clips of no known model; and clips per model."""
    names, model = np.unique(np.asarray(models, dtype=object).astype(str), return_inverse=True)
    centred = []
    for values in (ratings, *scores):
        known = np.isfinite(values)
        counts = np.bincount(model[known], minlength=names.size)
        means = np.bincount(model[known], weights=values[known], minlength=names.size) / np.maximum(counts, 1)
        centred.append(np.where(known & (names[model] != ""), values - means[model], np.nan))
    return centred, Counter(name for name in models if name)
