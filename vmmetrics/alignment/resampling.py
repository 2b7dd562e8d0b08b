"""A statistic and its interval from one function of weighted clips: drawing a prompt twice weighs its clips by two.

Each statistic is written once, for many weightings at a time. All weights 1 give the value itself, the prompts of a
bootstrap sample its interval; no sample is ever copied out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from vmmetrics.alignment.bootstrap import Estimate, bootstrapped, draws
from vmmetrics.types import FloatArray, IntArray

Statistic = Callable[[FloatArray], FloatArray]
"""(B, N) weights of the clips to (B, S) values of S statistics, NaN where a weighting does not define one."""
_CELLS = 2_000_000  # weights held at a time, 16 MB


def weight_chunks(prompts: Sequence[str], resamples: int, seed: int) -> Iterator[FloatArray]:
    """The bootstrap samples of :func:`~vmmetrics.alignment.bootstrap.draws`, some at a time: (B, N) weights."""
    rows = max(1, _CELLS // max(1, len(prompts)))
    chunk: list[FloatArray] = []
    for drawn in draws(prompts, resamples, seed):
        chunk.append(drawn.astype(np.float64))
        if len(chunk) == rows:
            yield np.stack(chunk)
            chunk = []
    if chunk:
        yield np.stack(chunk)


def sampled(statistic: Statistic, prompts: Sequence[str], resamples: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Values of the sample itself, (S,), and of the bootstrap samples, (R, S).

    Args:
        statistic: The statistics.
        prompts: (N,) prompt of each clip, N ≥ 1.
        resamples: R.
        seed: Of the samples.
    """
    found = statistic(np.ones((1, len(prompts))))[0]
    # one prompt is drawn as itself each time: nothing to learn from it
    several = len(set(prompts)) > 1
    parts = [statistic(chunk) for chunk in weight_chunks(prompts, resamples if several else 0, seed)]
    return found, np.concatenate(parts) if parts else np.empty((0, found.size))


def estimate(
    found: float, values: FloatArray, prompts: Sequence[str], undefined: str, n: int | None = None
) -> Estimate:
    """One of the statistics of :func:`sampled` as an estimate.

    Args:
        found: Value of the sample itself; NaN where it is not defined.
        values: (R,) values of the bootstrap samples.
        prompts: (N,) prompt of each clip.
        undefined: What to say where the value is not defined.
        n: What the estimate counts, if not clips.
    """
    n = len(prompts) if n is None else n
    if np.isnan(found):
        return Estimate(None, n=n, note=undefined)
    return bootstrapped(float(found), values, n=n, prompts=len(set(prompts)))


def finite(values: FloatArray) -> FloatArray:
    """The same with NaN, which stands for missing, in place of infinities, which no rank or mean can hold."""
    cleared: FloatArray = np.where(np.isfinite(values), values, np.nan)
    return cleared


def alike(columns: FloatArray) -> list[IntArray]:
    """Groups of columns of (N, K) that are NaN in the same rows, which can share their bootstrap samples."""
    _, group = np.unique(np.isnan(columns), axis=1, return_inverse=True)
    group = group.ravel()
    return [np.flatnonzero(group == number) for number in range(group.max(initial=-1) + 1)]


def with_note(figure: Estimate, note: str | None) -> Estimate:
    """The estimate with this said as well; None says nothing."""
    if note is None:
        return figure
    return replace(figure, note=note if figure.note is None else f"{figure.note}; {note}")


def ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """``over / under``, NaN where ``under`` is 0 up to rounding; sums of squares are above 0 otherwise."""
    defined = under > _ROUNDING * (1.0 + np.abs(over))
    quotient: FloatArray = np.divide(over, under, out=np.full(np.shape(under), np.nan), where=defined)
    return quotient


_ROUNDING = 1e-12  # a sum of squares of equal numbers comes out at about 1e-16 of its terms
