"""Partial rank correlation: given prompt and model, and inside groups given a third variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import Statistic, prompt_codes, quotient, ratio
from vmmetrics.utils.statistics.correlation import LEAST_CLIPS, segments_of
from vmmetrics.utils.statistics.ranks import code, weighted_spearman

LEAST_PARTIAL = LEAST_CLIPS + 1
"""Fewest clips of a partial correlation given one variable: the residuals of three lie on a line."""


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
    sides = np.column_stack([np.eye(number)[model][:, 1:], ranks])
    of_prompt = np.zeros((count, sides.shape[1]))
    np.add.at(of_prompt, prompt, sides)
    parts = sides - (of_prompt / np.bincount(prompt, minlength=count)[:, None])[prompt]
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


_ROUNDING = 1e-9


def partial_within(
    first: FloatArray, second: FloatArray, control: FloatArray, groups: Sequence[str]
) -> Callable[[FloatArray], FloatArray]:
    """Return the partial Spearman's ρ given ``control`` inside each group.

    All three are ranked inside the group and both sides' ranks regressed on those of the control; of one control, the
    correlation of the residuals follows from the three correlations of the ranks.

    Args:
        first: (N, K), NaN where missing; clips that any side lacks are left out.
        second: (N,) likewise.
        control: (N,) likewise: what is held constant.
        groups: (N,) group of each clip; clips of group "" are in none.

    Returns:
        (B, N) weights to (B, K, S), S groups of four clips or more; NaN where a weighting leaves fewer, or the control
        orders one side entirely.
    """
    complete = ~np.isnan(np.column_stack([first, second, control])).any(axis=1)
    selected, segments = segments_of(complete, groups, LEAST_PARTIAL)
    if not selected.size:
        return lambda weights: np.full((len(weights), first.shape[1], 0), np.nan)
    columns = [code(column[selected], segments) for column in first.T]
    target, held = code(second[selected], segments), code(control[selected], segments)
    by_segment = np.argsort(segments, kind="stable")
    starts = np.searchsorted(segments[by_segment], np.arange(segments.max() + 1))

    def statistic(weights: FloatArray) -> FloatArray:
        drawn = weights[:, selected].astype(np.int64)
        *with_target, between = weighted_spearman([*columns, held], target, drawn)
        with_held = weighted_spearman(columns, held, drawn)
        rest = (1 - with_held**2) * (1 - between**2)
        values = quotient(np.stack(with_target) - with_held * between, np.sqrt(rest), _ORDERED)
        values[:, np.add.reduceat(drawn[:, by_segment] > 0, starts, axis=1, dtype=np.int64) < LEAST_PARTIAL] = np.nan
        return np.clip(values, -1, 1).transpose(1, 0, 2)

    return statistic


_ORDERED = 1e-6
"""Residual spread below which ranks are those of the control up to rounding."""
