"""Gains of an index of one's own over the default and other references, on clips whose prompt and model it never saw.

A gain is a difference of correlations with the ratings. Its interval draws prompts and keeps the held-out indexes as
they are: Student's t on the standard deviation over bootstrap samples. ``python -m benchmarks.calibrate_null`` counts
how often it leaves out 0 where there is nothing to gain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from vmmetrics.alignment.calibration import DEFAULT, Calibration, RatedParts
from vmmetrics.alignment.reference_values import halves, other_half, other_models
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, Statistic, mean_of_defined, sampled
from vmmetrics.utils.statistics.correlation import (
    difference_estimate,
    estimate_of,
    spearman_statistic,
    within_statistic,
)
from vmmetrics.utils.statistics.partial import partial_within

LEAST_PROMPTS = 10
"""Fewest prompts of a calibration."""
LEVELS = ("pooled", "within models", "amplitude constant")
OWN, DEFAULT_INDEX, NAME, PROMPT, CALM = (
    "agreement", "the default INDEX", "the model's name alone", "the prompt alone", "less motion"
)  # fmt: skip
"""Rows of the table: agreement itself, then gains in it."""
Gains = Mapping[str, Mapping[str, Estimate]]
"""Row to level to figure."""


def deciding_gain(data: RatedParts, fit: Calibration, resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    """Return the gain over the default index with the amplitude constant, by which a calibration stands or falls."""
    return _Gains(data, fit, resamples, seed).over(data.index(DEFAULT), LEVELS[-1])


def measure_gains(data: RatedParts, fit: Calibration, resamples: int = RESAMPLES, seed: int = SEED) -> Gains:
    """Return agreement with ratings at each level, and the gains in it over each reference.

    Inside models the name predicts nothing, nor less motion with the amplitude constant: the gain is over 0 there.
    """
    gains, nothing = _Gains(data, fit, resamples, seed), np.zeros(len(data.ratings))
    prompt = other_models(data.ratings, data.prompts, data.models)
    columns = {OWN: nothing, DEFAULT_INDEX: data.index(DEFAULT), NAME: nothing, PROMPT: prompt, CALM: -data.amplitude}
    table = {
        row: {level: gains.over(nothing if (row, level) == (CALM, LEVELS[-1]) else column, level) for level in LEVELS}
        for row, column in columns.items()
    }
    return {**table, NAME: {**table[NAME], LEVELS[0]: gains.over_name()}}


def refusal(gains: Gains, prompts: int) -> str:
    """Return why an index is not worth writing: under ten prompts, or no gain over the default; "" where it is."""
    gain = gains[DEFAULT_INDEX][LEVELS[-1]]
    if prompts < LEAST_PROMPTS:
        return f"{prompts} prompts, and a calibration needs {LEAST_PROMPTS}"
    if gain.value is None or gain.low is None or gain.high is None:
        return f"the gain over {DEFAULT_INDEX} is not known: {gain.note}"
    found = f"the gain over {DEFAULT_INDEX}, {LEVELS[-1]}, is {gain.value:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]"
    return "" if gain.low > 0 else f"{found}, not above 0 for sure"


class _Gains:
    def __init__(self, data: RatedParts, fit: Calibration, resamples: int, seed: int) -> None:
        self._data, self._own, self._drawn = data, fit.held_out, (resamples, seed)
        self._levels: dict[str, Callable[[FloatArray], Statistic]] = {
            LEVELS[0]: lambda columns: spearman_statistic(columns, data.ratings),
            LEVELS[1]: lambda columns: within_statistic(columns, data.ratings, data.models),
            LEVELS[2]: self._amplitude_constant,
        }

    def _amplitude_constant(self, columns: FloatArray) -> Statistic:
        inside = partial_within(columns, self._data.ratings, self._data.amplitude, self._data.models)
        return lambda weights: mean_of_defined(inside(weights))

    def over(self, reference: FloatArray, level: str) -> Estimate:
        """Return the gain over a (N,) reference on the clips that have it; over 0 where it is the same for all."""
        constant = bool((reference == reference[0]).all())
        columns = np.column_stack([self._own] if constant else [self._own, reference])
        return self._estimate([self._levels[level](columns)], int(np.isfinite(reference).sum()))

    def over_name(self) -> Estimate:
        """Return the pooled gain over the mean rating of the model's clips in the other half of the prompts."""
        data, statistics = self._data, []
        for half in halves(data.prompts, self._drawn[1]):
            columns = np.column_stack([self._own, other_half(data.ratings, half, data.model_code)])
            statistics.append(within_statistic(columns, data.ratings, half.astype(str).tolist()))
        return self._estimate(statistics, len(data.ratings))

    def _estimate(self, statistics: list[Statistic], n: int) -> Estimate:
        """Return the mean over statistics of their first column, less the second where there is one."""
        values, drawn = sampled(
            lambda weights: mean_of_defined(np.stack([statistic(weights) for statistic in statistics], axis=-1)),
            self._data.prompts,
            *self._drawn,
        )
        undefined = "no model has enough clips on which both sides vary"
        if values.size == 1:
            return estimate_of(values[0], drawn[:, 0], self._data.prompts, undefined, n)
        gain, prompts = drawn[:, 0] - drawn[:, 1], len(set(self._data.prompts))
        return difference_estimate(float(values[0] - values[1]), gain, n=n, prompts=prompts, undefined=undefined)
