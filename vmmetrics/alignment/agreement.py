"""How far raters agree with one another: Krippendorff's α, ICC, κ, odd raters and disputed clips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vmmetrics.alignment.alpha import alpha_statistic
from vmmetrics.alignment.bootstrap import RESAMPLES, SEED, Estimate
from vmmetrics.alignment.icc import icc_statistic
from vmmetrics.alignment.kappa import MAX_CATEGORIES, are_categories, cohen_statistic, fleiss_statistic
from vmmetrics.alignment.outlying import disputed_clips, outlying_raters
from vmmetrics.alignment.resampling import Statistic, estimate, finite, sampled, with_note
from vmmetrics.alignment.results import Agreement
from vmmetrics.alignment.study import Study
from vmmetrics.types import BoolArray, FloatArray

_CONTINUOUS = f"the ratings are continuous (over {MAX_CATEGORIES} values, or hardly one used twice), not categories"
_SAME = "all raters gave every clip the same value, so chance would agree as well"
_NO_VARIANCE = "clips and raters cannot be told apart: the ratings are all the same, or no two raters share two clips"


@dataclass(frozen=True, slots=True)
class _Panel:
    """Ratings of the clips that have two or more, whose prompts are resampled."""

    ratings: FloatArray
    prompts: tuple[str, ...]
    resamples: int
    seed: int

    def estimates(self, statistic: Statistic, undefined: str) -> list[Estimate]:
        found, samples = sampled(statistic, self.prompts, self.resamples, self.seed)
        return [estimate(found[s], samples[:, s], self.prompts, undefined) for s in range(found.size)]

    def only(self, kept: BoolArray) -> _Panel:
        prompts = tuple(prompt for prompt, keep in zip(self.prompts, kept, strict=True) if keep)
        return _Panel(self.ratings[kept], prompts, self.resamples, self.seed)


def measure_agreement(study: Study, dimension: str, resamples: int = RESAMPLES, seed: int = SEED) -> Agreement:
    """Agreement between the raters of a dimension; intervals over prompts.

    Ratings may be missing. α and both ICC then use every clip rated twice or more (ICC(2,k) with k the harmonic mean
    number of ratings of a clip), Cohen's κ the clips each pair of raters shares, and Fleiss' κ, which wants the same
    number of ratings for each clip, the clips with the commonest number. Released sets often give "first, second,
    third rating" rather than people: the columns are then no raters, and only α and Fleiss' κ, to which it does not
    matter who rated, mean what they say.

    Args:
        study: The study.
        dimension: One of its dimensions.
        resamples: Bootstrap samples.
        seed: Of the samples.

    Returns:
        The figures; those that cannot be computed have a note instead of a value.
    """
    ratings = finite(study.ratings[dimension])
    twice = (~np.isnan(ratings)).sum(axis=1) >= 2
    panel = _Panel(ratings, study.prompts, resamples, seed).only(twice)
    raters = study.raters.get(dimension) or tuple(f"rater {number + 1}" for number in range(ratings.shape[1]))
    if twice.sum() < 2:
        return _nothing(dimension, _why_nothing(ratings))
    alphas = panel.estimates(alpha_statistic(panel.ratings), _SAME)
    single, mean = panel.estimates(icc_statistic(panel.ratings), _NO_VARIANCE)
    nominal, cohen, weighted, fleiss = _of_categories(panel, alphas[0])
    names = [clip for clip, keep in zip(study.clips, twice, strict=True) if keep]
    return Agreement(
        dimension=dimension,
        alpha_nominal=nominal,
        alpha_ordinal=alphas[1],
        alpha_interval=alphas[2],
        icc_single=with_note(single, _missing_note(panel.ratings)),
        icc_mean=with_note(mean, _missing_note(panel.ratings)),
        cohen=cohen,
        cohen_weighted=weighted,
        fleiss=fleiss,
        outlying=outlying_raters(panel.ratings, raters, panel.prompts, resamples, seed),
        disputed=disputed_clips(panel.ratings, names),
    )


def _of_categories(panel: _Panel, nominal: Estimate) -> tuple[Estimate, Estimate, Estimate, Estimate]:
    """Nominal α, both Cohen's κ and Fleiss' κ, which count equal ratings: none of them for continuous ratings."""
    if not are_categories(panel.ratings):
        none = Estimate(None, n=len(panel.prompts), note=_CONTINUOUS)
        return none, none, none, none
    cohen, weighted = panel.estimates(cohen_statistic(panel.ratings), _SAME)
    sizes = (~np.isnan(panel.ratings)).sum(axis=1)
    commonest = int(np.bincount(sizes).argmax())
    same = panel.only(sizes == commonest)
    (fleiss,) = same.estimates(fleiss_statistic(same.ratings), _SAME)
    if len(same.prompts) < len(panel.prompts):
        fleiss = with_note(fleiss, f"over the {len(same.prompts)} clips of {len(sizes)} with {commonest} ratings")
    return nominal, cohen, weighted, fleiss


def _missing_note(ratings: FloatArray) -> str | None:
    """What was done about missing ratings."""
    complete = int((~np.isnan(ratings)).all(axis=1).sum())
    if complete == len(ratings):
        return None
    return f"{len(ratings) - complete} of {len(ratings)} clips lack some rater; variances from all ratings there are"


def _why_nothing(ratings: FloatArray) -> str:
    if not (~np.isnan(ratings)).any():
        return "there is no rating"
    if ratings.shape[1] == 1:
        return "there is one rating per clip: a single rater, or an average whose raters are not known"
    return "fewer than two clips were rated by two people"


def _nothing(dimension: str, why: str) -> Agreement:
    none = Estimate(None, note=why)
    return Agreement(dimension, none, none, none, none, none, none, none, none)
