"""Pairs that a study needs when most are chosen by the answers so far: ``python -m benchmarks.rating_active``.

Clips of one prompt by as many models, so that every pair may be asked. Four of five pairs are chosen by
``choose_pairs`` in sessions of 24, the fifth at random, and all count; against pairs drawn at random without
replacement round after round. Raters decide by Davidson's model (strengths N(0, 1.2), one answer in five a tie at equal
strength). Error: mean distance of ranks. Prints the pairs with which the chosen design has the error of the random one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy.stats import rankdata

from vmmetrics.utils.statistics.bradley_terry import Strengths, fit_strengths
from vmmetrics.utils.statistics.pair_choice import choose_pairs
from vmmetrics.utils.statistics.preferences import Outcome, Preference

SESSION = 24
ACTIVE = 0.8
Floats = np.ndarray


def vote(left: int, right: int, strength: Floats, rng: np.random.Generator) -> Preference:
    """Return a rater's answer."""
    half = (strength[left] - strength[right]) / 2
    weights = np.exp([half, np.log(0.5), -half])
    outcomes: tuple[Outcome, ...] = (1, 0, -1)
    return Preference(f"c{left:03d}", f"c{right:03d}", outcomes[rng.choice(3, p=weights / weights.sum())])


def rounds(clips: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield pairs at random, each once before any twice."""
    pairs = list(combinations(range(clips), 2))
    while True:
        yield from (pairs[at] for at in rng.permutation(len(pairs)))


def errors(clips: int, sessions: int, active: float, seed: int) -> list[float]:
    """Return the error after each session of a study."""
    rng = np.random.default_rng(seed)
    strength, names = rng.normal(0, 1.2, clips), [f"c{n:03d}" for n in range(clips)]
    drawn, votes, found = rounds(clips, rng), list[Preference](), list[float]()
    fit: Strengths | None = None
    for _ in range(sessions):
        asked = choose_pairs(names, [0] * clips, fit, round(SESSION * active), seed=int(rng.integers(2**31)))
        chosen = [(int(pair.left[1:]), int(pair.right[1:])) for pair in asked] if active else []
        chosen += [next(drawn) for _ in range(SESSION - len(chosen))]
        votes += [vote(*pair, strength, rng) for pair in chosen]
        fit = fit_strengths(votes, names)
        estimate = np.nan_to_num(fit.strength)
        found.append(float(np.abs(rankdata(estimate) - rankdata(strength)).mean()))
    return found


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--clips", type=int, default=30)
    parser.add_argument("--sessions", type=int, default=20)
    options = parser.parse_args()
    mean = {
        active: np.mean([errors(options.clips, options.sessions, active, n) for n in range(options.studies)], axis=0)
        for active in (0.0, ACTIVE)
    }
    for session in range(options.sessions // 4, options.sessions, options.sessions // 4):
        reached = np.flatnonzero(mean[ACTIVE] <= mean[0.0][session])
        pairs = SESSION * (session + 1)
        share = f"{SESSION * (reached[0] + 1) / pairs:.2f}" if reached.size else "above 1"
        say(f"{pairs} random pairs, rank error {mean[0.0][session]:.2f}: {share} of the pairs when chosen")


if __name__ == "__main__":
    main()
