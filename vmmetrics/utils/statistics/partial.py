"""Partial rank correlation given prompt and model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import Statistic, prompt_codes, ratio


def partial_statistic(
    first: FloatArray, second: FloatArray, prompts: Sequence[str], models: Sequence[str]
) -> Statistic:
    """Return the rank correlation after a least-squares fit of prompt and model, for weights per prompt.

    Ranks are those over all clips. Both sides are taken relative to their prompt's mean, then to what dummies of the
    models explain (Frisch and Waugh, Econometrica 1933): the partial correlation given both.

    Args:
        first: (N,) or (N, K), NaN where missing; clips that either side lacks are left out, of K columns if any does.
        second: (N,), NaN where missing.
        prompts: (N,) prompt of each clip.
        models: (N,) model of each clip; clips of model "" are left out.

    Returns:
        (B, N) weights to (B, K); NaN where nothing is left to correlate.
    """
    columns = first[:, None] if first.ndim == 1 else first
    complete = ~np.isnan(columns).any(axis=1) & ~np.isnan(second) & np.array([name != "" for name in models], bool)
    selected = np.flatnonzero(complete)
    of_prompts, of_models = (np.asarray(names, dtype=object)[selected].tolist() for names in (prompts, models))
    if selected.size == 0:
        return lambda weights: np.full((len(weights), columns.shape[1]), np.nan)
    prompt, count = prompt_codes(of_prompts)
    model, number = prompt_codes(of_models)
    ranks = stats.rankdata(np.column_stack([columns[selected], second[selected]]), axis=0)
    parts = _less_means(np.column_stack([np.eye(number)[model][:, 1:], ranks]), prompt, count)
    products = np.zeros((count, parts.shape[1], parts.shape[1]))
    np.add.at(products, prompt, parts[:, :, None] * parts[:, None, :])
    flat = products.reshape(count, -1)
    some_clip = selected[np.unique(prompt, return_index=True)[1]]
    dummies = number - 1

    def statistic(weights: FloatArray) -> FloatArray:
        sums = (weights[:, some_clip] @ flat).reshape(-1, *products.shape[1:])
        explained, shared = sums[:, :dummies, :dummies], sums[:, :dummies, dummies:]
        rest = (
            sums[:, dummies:, dummies:] - shared.transpose(0, 2, 1) @ np.linalg.pinv(explained, hermitian=True) @ shared
        )
        spread = np.diagonal(rest, axis1=1, axis2=2)
        # what is left of a side that prompt and model explain entirely is rounding
        whole = np.diagonal(sums, axis1=1, axis2=2)[:, dummies:]
        spread = np.where(spread > _ROUNDING * (1 + whole), spread, 0.0)
        rho: FloatArray = ratio(rest[:, :-1, -1], np.sqrt(spread[:, :-1] * spread[:, -1:]))
        return np.clip(rho, -1, 1)

    return statistic


def _less_means(values: FloatArray, group: IntArray, count: int) -> FloatArray:
    sums = np.zeros((count, values.shape[1]))
    np.add.at(sums, group, values)
    less: FloatArray = values - (sums / np.bincount(group, minlength=count)[:, None])[group]
    return less


_ROUNDING = 1e-9
