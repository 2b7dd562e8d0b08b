"""What the name of the model is worth: each clip is given a mean rating of other clips of its model.

No rating may predict itself, nor may its absence. Were each clip given the mean of all its model's others, then inside
a model the best clips would have the lowest predictions, and ranks would make much of that little: with four models of
no difference, 17 clips each, pooled Spearman would come out at −0.28 (simulated), and that of the mean of all clips at
0.16. So over all clips the prompts are split into halves and each half is given the means of the other, which clips of
one model share; that comes out at 0.00. Among the clips of one prompt, where each model is there once, the means can be
of all other prompts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmmetrics.alignment.levels import mean_there, within_prompt
from vmmetrics.alignment.results import NameBaseline
from vmmetrics.alignment.study import Sample, Study, snapped
from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import Estimate, bootstrapped, prompt_codes
from vmmetrics.utils.statistics.correlation import clustered_p, resampled_spearman
from vmmetrics.utils.statistics.ranks import code, weighted_spearman

SPLITS = 20
"""Splits of the prompts into halves; the mean over so many moves by 0.01 to 0.02 with their choice (17 prompts)."""
_NAME = "name of the model"


def name_baseline(study: Study, dimension: str, resamples: int, seed: int) -> NameBaseline:
    """What the name of the model is worth on one dimension; the intervals hold the predictions fixed."""
    ratings = study.mean_rating(dimension)
    if not study.has_models:
        reason = "there is a single model" if any(study.models) else "the models of the clips are not known"
        none = Estimate(None, note=reason)
        return NameBaseline(dimension, none, none)
    predicted = other_prompts(ratings, study.prompts, study.models)
    everything = Sample(dimension, (_NAME,), predicted[None], ratings, study.prompts, study.models)
    inside = within_prompt(everything.keep(np.isfinite(predicted) & np.isfinite(ratings)), resamples, seed)[0].mean
    overall = _over_halves(everything.keep(np.isfinite(ratings)).of_known_models(), resamples, seed)
    return NameBaseline(dimension, overall, inside)


def other_prompts(ratings: FloatArray, prompts: Sequence[str], models: Sequence[str]) -> FloatArray:
    """Mean rating of the clips of the same model and other prompts.

    Args:
        ratings: (N,) mean ratings, NaN where there is none.
        prompts: (N,) prompts.
        models: (N,) models, "" where not known.

    Returns:
        (N,) means, NaN where the model is not known or has no rated clip of another prompt.
    """
    model, prompt = prompt_codes(models)[0], prompt_codes(prompts)[0]
    there = np.isfinite(ratings)
    both = np.unique(np.stack([model, prompt]), axis=1, return_inverse=True)[1].ravel()
    counts, sums = there.astype(np.float64), np.where(there, ratings, 0.0)
    others = np.bincount(model, weights=counts)[model] - np.bincount(both, weights=counts)[both]
    total = np.bincount(model, weights=sums)[model] - np.bincount(both, weights=sums)[both]
    known = (others > 0) & np.array([name != "" for name in models], bool)
    means = np.divide(total, others, out=np.full(len(ratings), np.nan), where=known)
    return snapped(means)


def other_half(ratings: FloatArray, half: IntArray, model: IntArray) -> FloatArray:
    """Mean rating of the clips of the same model in the other half; of all clips there where it has none.

    Args:
        ratings: (N,) mean ratings without NaN.
        half: (N,) 0 or 1, both of them there.
        model: (N,) numbers of the models.
    """
    cell, other = 2 * model + half, 2 * model + 1 - half
    size = 2 * (int(model.max()) + 1)
    counts, sums = np.bincount(cell, minlength=size), np.bincount(cell, weights=ratings, minlength=size)
    means = np.array([ratings[half == 1].mean(), ratings[half == 0].mean()])[half]
    np.divide(sums[other], counts[other], out=means, where=counts[other] > 0)
    return snapped(means)


def _over_halves(sample: Sample, resamples: int, seed: int) -> Estimate:
    prompt, count = prompt_codes(sample.prompts)
    n = len(prompt)
    if count < 2:
        return Estimate(None, n=n, note=f"the means are of other prompts, and of rated clips there are {count}")
    model, once = sample.model_codes()[0], np.ones((1, n), np.int64)
    rng = np.random.default_rng(seed)
    point, drawn = [], []
    for _ in range(SPLITS):
        half = (rng.permutation(count) < count // 2).astype(np.int64)[prompt]
        predicted = other_half(sample.ratings, half, model)
        point.append(weighted_spearman([code(predicted, half)], code(sample.ratings, half), once)[0])
        drawn.append(resampled_spearman([predicted], sample.ratings, sample.prompts, resamples, seed, half)[0])
    value = float(mean_there(np.concatenate(point, axis=1))[0])
    if np.isnan(value):
        return Estimate(None, n=n, note="in no half of the prompts do both the models' means and the judgements vary")
    values = mean_there(np.concatenate(drawn, axis=1))
    return bootstrapped(value, values, n=n, prompts=count, p=clustered_p(value, values, count))
