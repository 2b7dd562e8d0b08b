"""How far labels from comparisons can be trusted, by simulation: ``python -m benchmarks.labels``.

Prints how often 95 % intervals hold the truth, whether level probabilities mean what they say, and what choosing pairs
saves against drawing them.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np

from vmmetrics.cas.label.label import cut_levels
from vmmetrics.utils.statistics.bradley_terry import Strengths, fit_strengths
from vmmetrics.utils.statistics.pair_choice import choose_pairs
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE, Preference
from vmmetrics.utils.statistics.ties import TIE_MODELS

SPREAD = 1.5  # standard deviation of true strengths, log odds
TAU = {"davidson": -0.5, "rao-kupper": 0.4}  # equal clips tie in 23 % and 20 % of comparisons
CUTS = tuple(SPREAD * z for z in (-0.8416, -0.2533, 0.2533, 0.8416))


def names(clips: int) -> list[str]:
    return [f"{k:03d}" for k in range(clips)]


def compare(rng: np.random.Generator, model: str, beta: np.ndarray, pairs: np.ndarray) -> list[Preference]:
    """Let people compare pairs (P, 2) of clips with true strengths."""
    chances = np.exp(TIE_MODELS[model].log_probabilities(beta[pairs[:, 0]] - beta[pairs[:, 1]], TAU[model]))
    answers = (rng.random(len(pairs))[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    return [Preference(f"{i:03d}", f"{j:03d}", (LEFT, TIE, RIGHT)[s]) for (i, j), s in zip(pairs, answers, strict=True)]


def true_strengths(rng: np.random.Generator, clips: int) -> np.ndarray:
    beta = rng.normal(0, SPREAD, clips)
    return np.asarray(beta - beta.mean())


def intervals(model: str, clips: int, per_clip: int, fits: int) -> None:
    rng = np.random.default_rng(1)
    everything = np.array(list(combinations(range(clips), 2)))
    covered: list[bool] = []
    truth_probability, expected = [], []
    priors = 0
    for _ in range(fits):
        beta = true_strengths(rng, clips)
        pairs = everything[rng.integers(len(everything), size=clips * per_clip // 2)]
        fit = fit_strengths(compare(rng, model, beta, pairs), names(clips), ties=model)
        priors += fit.prior_sd is not None
        finite = np.isfinite(fit.error)
        covered += (np.abs(fit.strength - beta) < 1.96 * fit.error)[finite].tolist()
        level = cut_levels(fit.strength, fit.error, np.zeros(clips, np.int64), "fixed", CUTS)
        true_level = np.searchsorted(CUTS, beta)
        truth_probability += (level.level == true_level)[finite].tolist()
        expected += level.probabilities[np.arange(clips), level.level][finite].tolist()
    print(
        f"{model:10s} {clips:3d} clips, {per_clip:3d} comparisons each: interval holds {np.mean(covered):.3f}; "
        f"level right {np.mean(truth_probability):.3f}, said {np.mean(expected):.3f}; prior needed {priors}/{fits}"
    )


def asking(clips: int, rounds: int, per_round: int, seeds: int) -> None:
    everything = np.array(list(combinations(range(clips), 2)))
    errors: dict[str, list[float]] = {"chosen": [], "drawn": []}
    for seed in range(seeds):
        for way, error in errors.items():
            rng = np.random.default_rng(seed)
            beta = true_strengths(rng, clips)
            rows: list[Preference] = []
            fit: Strengths | None = None
            for turn in range(rounds):
                pairs = everything[rng.choice(len(everything), per_round, replace=False)]
                if way == "chosen":
                    asked = choose_pairs(names(clips), [0] * clips, fit, per_round, seed=turn)
                    pairs = np.array([(int(q.left), int(q.right)) for q in asked])
                rows += compare(rng, "davidson", beta, pairs)
                fit = fit_strengths(rows, names(clips), prior_sd=SPREAD)
            if fit is not None:
                error.append(float(np.sqrt(np.mean((np.nan_to_num(fit.strength) - beta) ** 2))))
    gap = np.array(errors["drawn"]) - np.array(errors["chosen"])
    print(
        f"{clips} clips, {rounds} rounds of {per_round}: error of strengths {np.mean(errors['chosen']):.3f} chosen, "
        f"{np.mean(errors['drawn']):.3f} drawn (difference {gap.mean():.3f}, "
        f"s.e. {gap.std(ddof=1) / len(gap) ** 0.5:.3f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=100)
    options = parser.parse_args()
    for model in TAU:
        for per_clip in (10, 20, 40):
            intervals(model, 20, per_clip, options.fits)
    for rounds in (5, 10, 20):
        asking(20, rounds, 12, options.seeds)


if __name__ == "__main__":
    main()
