"""Cluster bootstrap over prompts: clips of one prompt are alike, so prompts are resampled.

Percentile bootstrap (Efron, Annals of Statistics 1979) over clusters (Field and Welsh, JRSS B 2007): as many prompts as
there are, drawn with replacement, each bringing all its clips. A clip without a prompt is its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vmmetrics.types import FloatArray, IntArray

MEAN_RESAMPLES = 10_000
"""Bootstrap samples of plain means. The Monte Carlo error of an end of the interval is then about 1 % of its width."""
RESAMPLES = 1000
"""Bootstrap samples of everything else, about 3 %: the study in tests/data/fetv-dev then takes 4 s of processor; with
10,000 it takes 27 s."""
SEED = 20_2411
"""Any fixed number: the same study gives the same intervals everywhere."""
CONFIDENCE = 0.95
"""Coverage of the intervals."""
LEAST_PROMPTS = 3
"""Fewest prompts of an interval: that of two would be the two themselves, and cover half."""
FEW_PROMPTS = 5
"""Below so many prompts a bootstrap sample can take under 126 values (35 with four): the interval is called rough."""

_CACHED = 131_072  # multiplicities handed out at a time, 1 MB: what suits the cache of a core
_BLOCK_SIZE = 4_000_000  # multiplicities held at a time, 32 MB


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic, or the reason why there is none; never NaN.

    Attributes:
        value: The statistic.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: Two-sided p value of no association (of a difference: of no difference), None where none is defined.
        n: How many clips (pairs, groups) it rests on.
        note: Reason why there is no value or no interval, or None.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int = 0
    note: str | None = None

    @property
    def descending(self) -> tuple[bool, float]:
        """To sort by: the largest first, those without a value last."""
        return self.value is None, -(self.value or 0.0)


def prompt_codes(prompts: Sequence[str]) -> tuple[IntArray, int]:
    """Return (N,) number of each clip's prompt, prompts in the order of their names, and how many prompts there are.

    >>> prompt_codes(["b", "a", "b"])
    (array([1, 0, 1]), 2)
    """
    numbers = {prompt: number for number, prompt in enumerate(sorted(set(prompts)))}
    return np.fromiter((numbers[prompt] for prompt in prompts), np.int64, len(prompts)), len(numbers)


def prompt_draws(count: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Yield the multiplicities of ``count`` prompts in each bootstrap sample: (count,) int64, summing to ``count``."""
    rng = np.random.default_rng(seed)
    for _ in range(resamples if count else 0):
        yield np.bincount(rng.integers(count, size=count), minlength=count)


def draws(prompts: Sequence[str], resamples: int = RESAMPLES, seed: int = SEED) -> Iterator[IntArray]:
    """Yield the multiplicity of each clip in each bootstrap sample of prompts.

    The same prompts and seed give the same samples, which pairs the samples of all metrics; the order of the clips does
    not matter.

    Args:
        prompts: (N,) prompt of each clip.
        resamples: Samples.
        seed: Of the random numbers.

    Yields:
        (N,) int64 multiplicities, the same for all clips of a prompt. Nothing for no clips.
    """
    codes, count = prompt_codes(prompts)
    for drawn in prompt_draws(count, resamples, seed):
        yield drawn[codes]


def draw_blocks(
    prompts: Sequence[str], resamples: int = RESAMPLES, seed: int = SEED, cells: int = _CACHED
) -> Iterator[IntArray]:
    """Return the samples of :func:`draws`, at most ``cells`` multiplicities at a time: (B, N)."""
    return _stacked(draws(prompts, resamples, seed), max(1, cells // max(1, len(prompts))))


def prompt_blocks(count: int, resamples: int = RESAMPLES, seed: int = SEED) -> Iterator[FloatArray]:
    """Yield the samples of :func:`prompt_draws`, many at a time, to be multiplied by sums over prompts: (B, count)."""
    for block in _stacked(prompt_draws(count, resamples, seed), max(1, _BLOCK_SIZE // max(1, count))):
        yield block.astype(np.float64)


def _stacked(drawn: Iterator[IntArray], rows: int) -> Iterator[IntArray]:
    while block := list(itertools.islice(drawn, rows)):
        yield np.stack(block)


def percentile_interval(values: FloatArray, tail: float = (1 - CONFIDENCE) / 2) -> tuple[float | None, float | None]:
    """Return the interval of a statistic from its values in bootstrap samples.

    Args:
        values: (R,) values, NaN where a sample does not define one.
        tail: Share of the values that lie beyond each end; 2.5 % for an interval of 95 %.

    Returns:
        Lower and upper end; None for both where under half of the samples define a value.
    """
    defined = values[~np.isnan(values)]
    if defined.size == 0 or defined.size < values.size / 2:
        return None, None
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def two_sided_p(values: FloatArray) -> float | None:
    """Return a p value of no association (no difference) from a statistic's values in bootstrap samples.

    Twice the smaller of the shares of samples on either side of 0, the found sample counted in both: below 0.05 where
    the 95 % interval leaves out 0. Never below 2 / (samples + 1).

    Args:
        values: (R,) values, NaN where a sample does not define one.

    Returns:
        p, or None where under half of the samples define a value.

    >>> round(two_sided_p(np.arange(1.0, 1000.0)), 4)
    0.002
    """
    defined = values[~np.isnan(values)]
    if defined.size == 0 or defined.size < values.size / 2:
        return None
    smaller = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    return min(1.0, 2 * (smaller + 1) / (defined.size + 1))


def interval_note(prompts: int) -> str | None:
    """Return a warning about an interval over few prompts, or None.

    >>> interval_note(1)
    'no interval: there is a single prompt, and prompts are what is resampled'
    """
    if prompts <= 1:
        return "no interval: there is a single prompt, and prompts are what is resampled"
    if prompts < LEAST_PROMPTS:
        return f"no interval: it takes {LEAST_PROMPTS} prompts, and there are {prompts}"
    if prompts < FEW_PROMPTS:
        return f"the interval is rough: it rests on {prompts} prompts"
    return None


def bootstrapped(value: float, values: FloatArray, *, n: int, prompts: int, p: float | None = None) -> Estimate:
    """Return an estimate with its percentile interval, or the note why it has none.

    Args:
        value: The statistic of the sample itself.
        values: (R,) of the bootstrap samples, NaN where one does not define it.
        n: How many clips (pairs, groups) it rests on.
        prompts: How many prompts were resampled.
        p: Its p value.
    """
    note = interval_note(prompts)
    if prompts < LEAST_PROMPTS:
        return Estimate(value, p=p, n=n, note=note)
    low, high = percentile_interval(values)
    if low is None:
        note = "no interval: under half of the bootstrap samples define it"
    return Estimate(value, low, high, p, n, note)


# A statistic and its interval from one function of weighted clips: drawing a prompt twice weighs its clips by two.
#
# Each statistic is written once, for many weightings at a time. All weights 1 give the value itself, the prompts of a
# bootstrap sample its interval; no sample is ever copied out.

Statistic = Callable[[FloatArray], FloatArray]
"""(B, N) weights of the clips to (B, S) values of S statistics, NaN where a weighting does not define one."""


def sampled(statistic: Statistic, prompts: Sequence[str], resamples: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the values of the sample itself, (S,), and of the bootstrap samples, (R, S).

    Args:
        statistic: The statistics.
        prompts: (N,) prompt of each clip, N ≥ 1.
        resamples: R.
        seed: Of the samples.
    """
    observed = statistic(np.ones((1, len(prompts))))[0]
    # one prompt is drawn as itself each time: nothing to learn from it
    several = len(set(prompts)) > 1
    blocks = draw_blocks(prompts, resamples if several else 0, seed, _BLOCK_SIZE // 2)
    parts = [statistic(block.astype(np.float64)) for block in blocks]
    return observed, np.concatenate(parts) if parts else np.empty((0, observed.size))


def estimate(
    observed: float, values: FloatArray, prompts: Sequence[str], undefined: str, n: int | None = None
) -> Estimate:
    """Return one of the statistics of :func:`sampled` as an estimate.

    Args:
        observed: Value of the sample itself; NaN where it is not defined.
        values: (R,) values of the bootstrap samples.
        prompts: (N,) prompt of each clip.
        undefined: Note where the value is not defined.
        n: Number that the estimate rests on, if not clips.
    """
    n = len(prompts) if n is None else n
    if np.isnan(observed):
        return Estimate(None, n=n, note=undefined)
    return bootstrapped(float(observed), values, n=n, prompts=len(set(prompts)))


def finite(values: FloatArray) -> FloatArray:
    """Replace infinities by NaN (missing), as they have no rank or mean."""
    cleared: FloatArray = np.where(np.isfinite(values), values, np.nan)
    return cleared


def mean_of_defined(values: FloatArray, axis: int = -1) -> FloatArray:
    """Return the means over an axis without their NaN; NaN where there is nothing else."""
    defined = ~np.isnan(values)
    counts = defined.sum(axis=axis)
    means: FloatArray = np.where(
        counts > 0, np.where(defined, values, 0).sum(axis=axis) / np.maximum(counts, 1), np.nan
    )
    return means


def alike(columns: FloatArray) -> list[IntArray]:
    """Return groups of columns of (N, K) that are NaN in the same rows, which can share their bootstrap samples."""
    _, group = np.unique(np.isnan(columns), axis=1, return_inverse=True)
    group = group.ravel()
    return [np.flatnonzero(group == number) for number in range(group.max(initial=-1) + 1)]


def with_note(figure: Estimate, note: str | None) -> Estimate:
    """Return the estimate with a further note; None adds nothing."""
    if note is None:
        return figure
    return replace(figure, note=note if figure.note is None else f"{figure.note}; {note}")


def ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Return ``over / under``, NaN where ``under`` is 0 up to rounding; sums of squares are above 0 otherwise."""
    return quotient(over, under, _ROUNDING * (1.0 + np.abs(over)))


def quotient(over: FloatArray, under: FloatArray, least: float | FloatArray = 0.0) -> FloatArray:
    """Return ``over / under``, NaN where ``under`` is not above ``least``."""
    shape = np.broadcast_shapes(np.shape(over), np.shape(under))
    ratio: FloatArray = np.divide(over, under, out=np.full(shape, np.nan), where=under > least)
    return ratio


_ROUNDING = 1e-12  # a sum of squares of equal numbers comes out at about 1e-16 of its terms
