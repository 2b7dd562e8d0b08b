"""Gains of an index of one's own over the default and other references, on clips whose prompt and model it never saw."""

from __future__ import annotations

import numpy as np

from vmmetrics.alignment.calibration import DEFAULT, Calibration, RatedParts
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, mean_of_defined, sampled
from vmmetrics.utils.statistics.correlation import difference_estimate
from vmmetrics.utils.statistics.partial import partial_within


def deciding_gain(data: RatedParts, fit: Calibration, resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    columns = np.column_stack([fit.held_out, data.index(DEFAULT)])
    inside = partial_within(columns, data.ratings, data.amplitude, data.models)

    def statistic(weights: FloatArray) -> FloatArray:
        values = inside(weights)
        return mean_of_defined(values[:, 0] - values[:, 1])[:, None]

    observed, drawn = sampled(statistic, data.prompts, resamples, seed)
    prompts = len(set(data.prompts))
    return difference_estimate(float(observed[0]), drawn[:, 0], n=len(data.ratings), prompts=prompts, undefined="none")
