"""Pairs that a study needs when most are chosen by the answers so far: ``python -m benchmarks.rating_active``.

Clips of one prompt by as many models, so that every pair may be asked. Four of five pairs are chosen by
``choose_pairs`` in sessions of 24, the fifth at random, and all count; against pairs drawn at random, each once before
any twice (``rounds``, as the design without a choice asks) or each time anew (``anew``). Raters decide by Davidson's
model (strengths N(0, spread), one answer in five a tie at equal strength). Error: mean distance of ranks. Prints the
pairs with which the chosen design has the error of the random one.
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
SPREADS = 1.2, 2.0, 3.0
Floats = np.ndarray
Draw = Callable[[int, np.random.Generator], Iterator[tuple[int, int]]]


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


def anew(clips: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield pairs at random, each time of all."""
    pairs = list(combinations(range(clips), 2))
    while True:
        yield pairs[rng.integers(len(pairs))]


def errors(clips: int, sessions: int, active: float, spread: float, draw: Draw, seed: int) -> list[float]:
    """Return the error after each session of a study."""
    rng = np.random.default_rng(seed)
    strength, names = rng.normal(0, spread, clips), [f"c{n:03d}" for n in range(clips)]
    drawn, votes, found = draw(clips, rng), list[Preference](), list[float]()
    fit: Strengths | None = None
    for _ in range(sessions):
        asked = choose_pairs(names, [0] * clips, fit, round(SESSION * active), seed=int(rng.integers(2**31)))
        chosen = [(int(pair.left[1:]), int(pair.right[1:])) for pair in asked] if active else []
        chosen += [next(drawn) for _ in range(SESSION - len(chosen))]
        votes += [vote(*pair, strength, rng) for pair in chosen]
        fit = fit_strengths(votes, names)
        found.append(float(np.abs(rankdata(np.nan_to_num(fit.strength)) - rankdata(strength)).mean()))
    return found


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--clips", type=int, default=30)
    parser.add_argument("--sessions", type=int, default=20)
    options = parser.parse_args()
    sessions, seeds = options.sessions, range(options.studies)
    for spread in SPREADS:
        chosen = np.mean([errors(options.clips, sessions, ACTIVE, spread, rounds, n) for n in seeds], axis=0)
        for draw in (rounds, anew):
            mean = np.mean([errors(options.clips, sessions, 0.0, spread, draw, n) for n in seeds], axis=0)
            for at in range(sessions // 4 - 1, sessions, sessions // 4):
                share = "above 1" if (few := needed(chosen, mean[at])) is None else f"{few / (at + 1):.2f}"
                say(f"spread {spread}, {SESSION * (at + 1)} pairs ({draw.__name__}), error {mean[at]:.2f}: {share}")


def needed(mean: Floats, error: float) -> float | None:
    """Return the sessions with which a falling error is reached, between two by a straight line; None if never."""
    reached = np.flatnonzero(mean <= error)
    if not reached.size:
        return None
    at = int(reached[0])
    return float(at + 1 - (error - mean[at]) / (mean[at - 1] - mean[at])) if at else 1.0


if __name__ == "__main__":
    main()
