"""Power analysis of a study in closed form: detectable differences and required sizes.

Two metrics compared with the same people on the same clips: their correlations ρ₁ and ρ₂ with the mean rating are
compared after Fisher's transform, by a two-sided z test at 5 %. In it are

- the variance of Spearman's ρ after the transform, (1 + ρ²/2) / (N − 3): Bonett and Wright, Psychometrika 2000;
- the covariance of two correlations with one variable in common: Pearson and Filon 1898, as in Steiger, Psychological
  Bulletin 1980; it needs the correlation of the two metrics with each other;
- the design effect of m clips per prompt, 1 + (m − 1) ι_ratings ι_scores, ι the share of variance that lies between
  prompts. For a mean it would be 1 + (m − 1) ι; a correlation is a mean of products, and where clips of a prompt covary
  as ι times the clips themselves, products covary as ι²;
- what more raters are worth: correlations grow as the root of the mean rating's reliability (Spearman-Brown).

In simulated studies of 100 to 200 clips the standard error comes out up to a tenth too large, never too small (tests).
Models are taken as they are: the answer speaks of these models and any prompts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm

from vmmetrics.alignment.human_agreement import measure_human_agreement
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics import bootstrap
from vmmetrics.utils.statistics.bootstrap import SEED
from vmmetrics.utils.statistics.clusters import PROMPT_SHARE, design_effect, prompt_share, smallest_within_model
from vmmetrics.utils.statistics.correlation import spearman_statistic

LEVEL = 0.05
"""Two-sided level of the test."""
POWER = 0.8
"""Power that a study is planned for."""
RELIABILITY = 0.5
"""Default reliability of one rating; measured 0.56 within models (temporal quality, four models of 2023)."""
_Z = float(norm.ppf(1 - LEVEL / 2))
_HIGHEST = 0.999  # a correlation at 1 has no transform


@dataclass(frozen=True, slots=True)
class Power:
    """Power of a study of this kind.

    Attributes:
        dimension: The dimension whose raters and clusters it was worked out from.
        first: A correlation.
        second: The other correlation.
        power: Chance of telling them apart with the clips there are.
        clips: Clips needed for 80 %, with the raters and clips per prompt there are.
        prompts: Prompts that makes.
        raters: How the clips needed change with the number of raters: raters → clips.
        smallest: Smallest mean within-model correlation that differs from 0 at the size there is.
        note: What was assumed.
    """

    dimension: str
    first: float
    second: float
    power: float
    clips: int | None
    prompts: int | None
    raters: Mapping[int, int]
    smallest: float | None
    note: str


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A study that tells two correlations apart.

    Attributes:
        first: A correlation with the mean rating of ``raters`` people.
        second: Another.
        power: Chance of telling them apart.
        clips: Clips.
        prompts: Prompts they are made from.
        raters: People who rate each clip.
        ratings: Ratings in all.
        smallest_within_model: Smallest mean within-model correlation that differs from 0 at that size.
        note: What was assumed.
    """

    first: float
    second: float
    power: float
    clips: int
    prompts: int
    raters: int
    ratings: int
    smallest_within_model: float | None
    note: str


def plan_study(
    first: float = 0.6,
    second: float = 0.7,
    *,
    raters: int = 3,
    clips_per_prompt: int = 4,
    power: float = POWER,
    reference_raters: int = 3,
    reliability: float = RELIABILITY,
    prompt_share: float = PROMPT_SHARE,
    between: float | None = None,
) -> StudyPlan:
    """Return how many clips, prompts and ratings a study needs to tell two metrics apart.

    Args:
        first: Spearman of one metric with the mean rating of ``reference_raters`` people.
        second: Of the other.
        raters: People who are to rate each clip.
        clips_per_prompt: Clips made from each prompt, each by another model.
        power: Chance of seeing the difference.
        reference_raters: Number of raters that ``first`` and ``second`` are meant for.
        reliability: Of a single rating, above 0.
        prompt_share: Share of variance between prompts, 0 to 1, in ratings and scores alike.
        between: Spearman of the two metrics with each other; where None as if they had nothing in common beside what
            people see, ``first · second``.

    Returns:
        The smallest such study.

    Raises:
        ValueError: The two correlations are equal, or an argument is out of its range.
    """
    if not (-1 < first < 1 and -1 < second < 1) or first == second:
        raise ValueError(f"Expected two different correlations between -1 and 1 but got {first} and {second}")
    counts = (raters, reference_raters, clips_per_prompt)
    if min(counts) < 1:
        raise ValueError(f"Expected at least one rater and one clip per prompt but got {', '.join(map(str, counts))}")
    if not LEVEL < power < 1:
        raise ValueError(f"Expected a power between {LEVEL} and 1 but got {power}")
    if not (0 < reliability <= 1 and 0 <= prompt_share <= 1):
        raise ValueError(
            f"Expected a reliability above 0 and a share from 0 to 1 but got {reliability} and {prompt_share}"
        )
    gain = math.sqrt(mean_reliability(reliability, raters) / mean_reliability(reliability, reference_raters))
    one, other = first * gain, second * gain
    if max(abs(one), abs(other)) >= _HIGHEST:
        raise ValueError(f"Expected correlations that {raters} raters leave below 1 but got {first} and {second}")
    shared = one * other if between is None else feasible(between, one, other)
    design = design_effect(clips_per_prompt, prompt_share**2)
    needed = clips_needed(one, other, shared, design, power)
    prompts = math.ceil(needed / clips_per_prompt)
    clips = prompts * clips_per_prompt
    smallest = smallest_within_model([prompts] * clips_per_prompt, prompt_share**2)
    note = (
        f"correlations with the mean of {raters} raters, reliability of one {reliability:.2f}; the metrics "
        f"correlate at {shared:.2f}; {clips_per_prompt} clips a prompt, each of another model, {prompt_share:.2f} of "
        f"the variance between prompts: design effect {design:.2f}; two-sided test at {LEVEL:.0%}"
    )
    return StudyPlan(
        first=one,
        second=other,
        power=power_of(one, other, shared, clips, design),
        clips=clips,
        prompts=prompts,
        raters=raters,
        ratings=clips * raters,
        smallest_within_model=smallest,
        note=note,
    )


def power_of(first: float, second: float, between: float, clips: float, design: float = 1.0) -> float:
    """Return the power: the chance that a two-sided test at 5 % tells the two correlations apart.

    Args:
        first: Spearman of one metric with the ratings.
        second: Of the other.
        between: Of the two with each other.
        clips: Clips, above 3.
        design: Design effect.

    >>> round(power_of(0.6, 0.7, 0.42, 500), 2)
    0.8
    """
    if clips <= 3:
        return LEVEL
    error = math.sqrt(unit_variance(first, second, between) * design / (clips - 3))
    shift = abs(math.atanh(first) - math.atanh(second)) / error
    return float(norm.cdf(shift - _Z) + norm.cdf(-shift - _Z))


def clips_needed(first: float, second: float, between: float, design: float = 1.0, power: float = POWER) -> int:
    """Return how many clips tell two correlations apart with this power; arguments as in :func:`power_of`."""
    shift = math.atanh(first) - math.atanh(second)
    quantile = _Z + float(norm.ppf(power))
    return math.ceil(3 + unit_variance(first, second, between) * design * (quantile / shift) ** 2)


def unit_variance(first: float, second: float, between: float) -> float:
    """Return the variance of the difference of the two transformed correlations, times N − 3.

    Args:
        first: Spearman of one metric with the ratings.
        second: Of the other.
        between: Of the two with each other.
    """
    squares = first**2 + second**2
    covariance = between * (1 - squares) - first * second * (1 - squares - between**2) / 2
    correlation = covariance / ((1 - first**2) * (1 - second**2))
    of_first, of_second = 1 + first**2 / 2, 1 + second**2 / 2
    return max(of_first + of_second - 2 * correlation * math.sqrt(of_first * of_second), 0.0)


def feasible(between: float, first: float, second: float) -> float:
    """Return the value nearest ``between`` that three variables with these correlations allow, slightly inside."""
    room = 0.98 * math.sqrt((1 - first**2) * (1 - second**2))
    return min(max(between, first * second - room), first * second + room)


def mean_reliability(single: float, raters: float) -> float:
    """Return the reliability of the mean of several ratings, from that of one (Spearman-Brown)."""
    return raters * single / (1 + (raters - 1) * single)


# What a study that there is can tell apart: its size, prompts and raters put into the closed form.

FIRST, SECOND = 0.6, 0.7
"""The two correlations that a study should tell apart."""
RATERS = (1, 2, 3, 5, 10)
"""Numbers of raters for which the required clips are computed, besides the actual number."""


def measure_power(study: Study, dimension: str, metrics: Sequence[str], seed: int = SEED) -> Power:
    """Return which differences a study of this size detects, and the size it would need.

    The two correlations are meant with the mean of the raters there are; with other numbers of raters both grow or
    shrink with the reliability of the mean. The variance between prompts is estimated from ratings and scores, the
    correlation of two metrics with each other from those that are there.

    Args:
        study: The study.
        dimension: One of its dimensions, with ratings.
        metrics: Metrics compared with it.
        seed: Of the splits of raters where there are over ten.
    """
    ratings = bootstrap.finite(study.ratings[dimension])
    mean = study.mean_rating(dimension)
    rated = np.flatnonzero(np.isfinite(mean))
    prompts, models = ([names[clip] for clip in rated] for names in (study.prompts, study.models))
    scores = [bootstrap.finite(study.scores[metric])[rated] for metric in metrics]
    once = np.ones((1, rated.size))
    rising = [column for column in scores if spearman_statistic(column, mean[rated])(once)[0, 0] > 0]
    between, how = _between(rising)
    each = Counter(prompts).values()
    clustered = sum(count**2 for count in each) / max(1, rated.size)
    design = design_effect(clustered, _shared_variance(mean[rated], scores, prompts)) if rated.size else 1.0
    needed = clips_needed(FIRST, SECOND, between, design)
    whole = measure_human_agreement(study, dimension, resamples=0, seed=seed).split_half_full.value
    notes = [
        f"{rated.size} clips of {len(each)} prompts, design effect {design:.2f}",
        f"two metrics that correlate at {between:.2f} ({how})",
        f"two-sided test at {LEVEL:.0%}, {POWER:.0%} power for the clips needed",
    ]
    by_raters: dict[int, int] = {}
    if whole is None or whole <= 0:
        notes.append("the gain from more raters is unknown: it takes two ratings of a clip that agree")
    else:
        counts = (~np.isnan(ratings)).sum(axis=1)
        raters, there = float(counts[counts >= 2].mean()), float(counts[rated].mean())
        single = whole / (raters - (raters - 1) * whole)
        notes.append(f"reliability of one rating {single:.2f}, {there:.3g} ratings a clip")
        by_raters = _by_raters(between, design, single, there)
    inside, named = _less_model_means(mean[rated], scores, models)
    share = _shared_variance(inside[0], inside[1:], prompts) if rated.size else 0.0
    now = power_of(FIRST, SECOND, between, rated.size, design)
    prompts_needed = math.ceil(needed * len(each) / rated.size) if rated.size else None
    smallest = smallest_within_model(list(named.values()), share)
    return Power(
        dimension=dimension,
        first=FIRST,
        second=SECOND,
        power=now,
        clips=needed,
        prompts=prompts_needed,
        raters=by_raters,
        smallest=smallest,
        note="; ".join(notes),
    )


def _shared_variance(ratings: FloatArray, scores: Sequence[FloatArray], prompts: Sequence[str]) -> float:
    """Return the between-prompt share of the ratings times the mean share of the scores; squared without a score."""
    of_ratings = prompt_share(ratings, prompts) or 0.0
    of_scores = [share for share in (prompt_share(score, prompts) for score in scores) if share is not None]
    return of_ratings * (float(np.mean(of_scores)) if of_scores else of_ratings)


def _between(scores: Sequence[FloatArray]) -> tuple[float, str]:
    """Return the correlation of two metrics with each other, and its source as text."""
    once = np.ones((1, len(scores[0]))) if scores else np.ones((1, 0))
    correlations = [float(spearman_statistic(one, other)(once)[0, 0]) for one, other in combinations(scores, 2)]
    correlations = [value for value in correlations if not np.isnan(value)]
    if not correlations:
        return FIRST * SECOND, "assumed: correlated only through the ratings"
    mean = float(np.mean(correlations))
    possible = feasible(mean, FIRST, SECOND)
    how = (
        f"the mean over {len(correlations)} pairs of metrics that rise with the ratings"
        if len(correlations) > 1
        else "as the two metrics do"
    )
    return possible, how if possible == mean else f"{how}, moved to the nearest possible correlation"


def _by_raters(between: float, design: float, single: float, there: float) -> dict[int, int]:
    """Return clips needed by number of raters; numbers that would lift a correlation to 1 are left out."""
    clips, of_those_there = {}, mean_reliability(single, there)
    for raters in sorted({*RATERS, round(there)}):
        # the number there is on average stands for itself, so that it gives the clips needed
        gain = 1.0 if raters == round(there) else math.sqrt(mean_reliability(single, raters) / of_those_there)
        one, other = FIRST * gain, SECOND * gain
        if max(abs(one), abs(other)) < 1:
            clips[raters] = clips_needed(one, other, feasible(between, one, other), design)
    return clips


def _less_model_means(
    ratings: FloatArray, scores: Sequence[FloatArray], models: Sequence[str]
) -> tuple[list[FloatArray], Counter[str]]:
    """Return ratings and scores less their mean over the model, NaN for clips without a model; and clips per model."""
    names, model = np.unique(np.asarray(models, dtype=object).astype(str), return_inverse=True)
    centred = []
    for values in (ratings, *scores):
        finite = np.isfinite(values)
        counts = np.bincount(model[finite], minlength=names.size)
        means = np.bincount(model[finite], weights=values[finite], minlength=names.size) / np.maximum(counts, 1)
        centred.append(np.where(finite & (names[model] != ""), values - means[model], np.nan))
    return centred, Counter(name for name in models if name)
