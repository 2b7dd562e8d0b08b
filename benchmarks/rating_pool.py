"""Pooling of simulated houses: ``python -m benchmarks.rating_pool --studies 500``.

Each house has 24 to 60 prompts of its own by the same 4 models, 8 votes a clip of 1 to 5, and a metric. On Fisher's
scale the houses' true agreement is normal about 0.6 with standard deviation τ. Figures come from raw votes by the
functions of ``vmmetrics align`` (200 bootstrap samples), and pass what ``rate share`` asks of them. Printed by level:

- coverage: share of 95 % intervals that hold the mean of the houses' truths (each the agreement in 40,000 clips);
- central: mean distance, in ρ, of the pooled figure from the same figure of all houses' raw votes taken together, and
  of either from the truth (30 houses).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache

import numpy as np

from vmmetrics.alignment.levels import amplitude_constant, overall_spearman, within_model
from vmmetrics.alignment.study import Sample
from vmmetrics.rating.sharing import LEVELS, Measured
from vmmetrics.utils.statistics.bootstrap import SEED, Estimate
from vmmetrics.utils.statistics.meta_analysis import random_effects

MODELS, VOTES, RESAMPLES = 4, 8, 200
MEAN, TRUTH_PROMPTS = 0.6, 10_000
PROMPTS = (24, 60)
HOUSES, TAUS = (5, 10, 30), (0.0, 0.1)
_GRID = np.linspace(-0.2, 0.995, 40)  # correlation of metric and quality, before models, prompts and raters
_MODEL = np.array([-0.6, -0.2, 0.2, 0.6])
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
Floats = np.ndarray


def house(correlation: float, prompts: int, rng: np.random.Generator, name: str = "") -> Sample:
    """Return scores and mean votes of a house; half of the variance of quality is the prompt's."""

    def drawn() -> Floats:
        shape = (prompts, MODELS)
        return np.sqrt(0.5) * (rng.normal(size=(prompts, 1)) + rng.normal(size=shape))

    quality, rest, amplitude = drawn(), drawn(), drawn()
    scores = correlation * quality + np.sqrt(1 - correlation**2) * rest - 0.3 * amplitude + 0.5 * _MODEL
    seen = 3 + 0.8 * (quality - 0.3 * amplitude + _MODEL)
    votes = np.clip(np.round(seen[..., None] + rng.normal(0, 0.7, (prompts, MODELS, VOTES))), 1, 5).mean(axis=2)
    who = [f"{name}{prompt}" for prompt in range(prompts) for _ in range(MODELS)]
    models = [f"m{model}" for model in range(MODELS)] * prompts
    return Sample("motion", ("x",), scores.reshape(1, -1), votes.ravel(), tuple(who), tuple(models), amplitude.ravel())


def together(houses: list[Sample]) -> Sample:
    """Return the raw data of houses as one study."""
    joined = {name: np.concatenate([getattr(one, name) for one in houses], axis=-1) for name in
              ("scores", "ratings", "amplitude")}  # fmt: skip
    names = {name: tuple(text for one in houses for text in getattr(one, name)) for name in ("prompts", "models")}
    return Sample("motion", ("x",), **joined, **names)


def estimates(sample: Sample, resamples: int) -> dict[str, Estimate]:
    """Return the agreement of each level."""
    drawn = (resamples, SEED)
    return {
        "pooled": overall_spearman(sample, *drawn)[0],
        "within_model": within_model(sample, *drawn)[0].mean,
        "amplitude_constant": amplitude_constant(sample, *drawn)[0],
    }


@cache
def truths() -> dict[str, Floats]:
    """Return the true agreement by level on Fisher's scale, at each correlation of the grid."""
    rng = np.random.default_rng(0)
    found = [estimates(house(at, TRUTH_PROMPTS, rng), 2) for at in _GRID]
    return {level: np.arctanh([one[level].value for one in found]) for level in found[0]}


def correlations(deviates: Floats, tau: float) -> Floats:
    """Return the correlations of houses whose pooled agreement lies so many τ from the mean."""
    return np.interp(MEAN + tau * deviates, truths()["pooled"], _GRID)


def truth(level: str, tau: float) -> float:
    """Return the mean of the houses' truths."""
    values = np.interp(correlations(_NODES, tau), _GRID, truths()[level])
    return float(_WEIGHTS @ values / _WEIGHTS.sum())


def figures(sample: Sample) -> dict[str, tuple[float, float]]:
    """Return what a house shares: figure and standard error by level."""
    clips, prompts = len(sample.ratings), len(set(sample.prompts))
    shared = {}
    for level, estimate in estimates(sample, RESAMPLES).items():
        figure = Measured("motion", "x", level, estimate, clips, prompts, [clips] * VOTES, sample.scores).figure()
        shared[level] = figure.z, figure.error
    return shared


def study(tau: float, seed: int) -> tuple[dict[str, Floats], dict[str, Estimate]]:
    """Return (houses, 2) figures and errors by level, and the figures of all raw data together."""
    rng = np.random.default_rng([seed, round(1000 * tau)])
    at = correlations(rng.normal(size=max(HOUSES)), tau)
    houses = [house(float(r), int(rng.integers(*PROMPTS)), rng, f"{n}/") for n, r in enumerate(at)]
    shared = [figures(one) for one in houses]
    central = estimates(together(houses), 2)
    return {level: np.array([one[level] for one in shared]) for level in central}, central


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--tau", type=float, nargs="+", default=TAUS)
    options = parser.parse_args()
    for tau in options.tau:
        found = [study(tau, seed) for seed in range(options.studies)]
        for level in found[0][0]:
            true, shown = truth(level, tau), []
            for number in HOUSES:
                results = [random_effects(*one[level][:number].T) for one, _ in found]
                held = np.mean([one.low <= true <= one.high for one in results])
                shown.append(f"{number} houses {100 * held:.1f} %")
            pooled = np.tanh([one.mean for one in results])
            central = np.array([one[level].value for _, one in found])
            apart = [np.abs(one - other).mean() for one, other in
                     ((pooled, central), (pooled, np.tanh(true)), (central, np.tanh(true)))]  # fmt: skip
            tau_found = np.mean([one.tau for one in results])
            say(
                f"τ {tau:g}, {LEVELS[level]}: coverage {', '.join(shown)}; mean τ {tau_found:.3f}; pooled from central "
                f"{apart[0]:.4f}, pooled from truth {apart[1]:.4f}, central from truth {apart[2]:.4f}"
            )


if __name__ == "__main__":
    main()
