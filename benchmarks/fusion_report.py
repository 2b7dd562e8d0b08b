"""The report of ``benchmarks.fusion_study``: accuracies by seed beside the paper's, and whether its order appears.

Intervals are Student's over seeds, for differences between two paradigms paired by seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, t

from vmmetrics.utils.statistics.paired import holm

Values = Sequence[float] | NDArray[np.float64]
Tried = dict[str, dict[float, float]]
"""Mean accuracy on the trial's clips by paradigm and peak rate."""
QUESTIONS = {
    "direction": ("right", "left", "down", "up"),
    "speed": ("the ring is half as fast as the disc", "as fast", "twice as fast"),
    "passes": ("1", "3", "5"),
    "flashes": ("left lamp first", "right lamp first"),
    "camera": ("the object moves", "the camera moves"),
}
CHANCE = float(np.mean([1 / len(options) for options in QUESTIONS.values()]))
PAPER = {
    4: {
        "through-encoder": 51.0,
        "average": 50.5,
        "concatenate": 50.0,
        "pre-encoder": 47.6,
        "none": 47.6,
        "qformer": 44.3,
    },
    8: {"through-encoder": 50.9, "average": 49.3, "concatenate": 49.1, "pre-encoder": 46.8, "qformer": 44.0},
}
"""MotionBench dev: table 7 at N / k = 4 for k = 4; table 8 (16 frames) for k = 8, with no baseline of that length."""


def mean_of(questions: dict[str, float]) -> float:
    """Accuracy over the questions, each alike."""
    return float(np.mean(list(questions.values())))


def best_rate(tried: dict[float, float]) -> float:
    """The rate of the highest accuracy, the lowest of equals."""
    return max(sorted(tried), key=tried.__getitem__)


def interval(values: Values) -> tuple[float, float, float]:
    """Mean and ends of Student's 95 % interval."""
    mean, n = float(np.mean(values)), len(values)
    half = float(t.ppf(0.975, n - 1) * np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.inf
    return mean, mean - half, mean + half


def tau(ours: Values, paper: Values) -> float:
    """Kendall's tau-b; 0 if all of ours are equal."""
    return float(np.nan_to_num(kendalltau(ours, paper).statistic))


def ordering(means: Mapping[str, Sequence[float]], k: int) -> list[str]:
    """Hold the paper's order against accuracies by seed: Kendall's tau-b, and every strict pair of it, as markdown.

    tau of the means over seeds has the share of all orders of the paradigms that are as near the paper's; tau of each
    seed has Student's interval. Holm raises the pairs' p values for there being many.
    """
    paper = PAPER[k]
    values = list(paper.values())
    of_means = tau([float(np.mean(means[name])) for name in paper], values)
    ranks = permutations(range(len(paper)))
    as_near = float(np.mean([tau(order, values) > of_means - 1e-9 for order in ranks]))
    of_seeds = [tau(seed, values) for seed in zip(*(means[name] for name in paper), strict=True)]
    middle, low, high = interval(of_seeds)
    pairs = [(a, b) for a, b in combinations(paper, 2) if paper[a] > paper[b]]
    gains = [np.subtract(means[a], means[b]) for a, b in pairs]
    adjusted = holm([_p(each) for each in gains])
    stands = sum(each.mean() > 0 for each in gains)
    lines = [
        f"Kendall's tau to the paper's order: {of_means:+.2f} of the means (as near by chance: {as_near:.2f}), "
        f"{middle:+.2f} [{low:+.2f}, {high:+.2f}] by seed. {stands} of {len(pairs)} pairs stand as in the paper.",
        "",
        "| pair of the paper | paper | here [95 %] | seeds | verdict | p (Holm) |",
        "|---" * 6 + "|",
    ]
    for (a, b), each, p in zip(pairs, gains, adjusted, strict=True):
        middle, low, high = (100 * value for value in interval(each))
        verdict = "holds" if low > 0 else "reversed" if high < 0 else "undecided"
        lines.append(
            f"| {a} > {b} | {paper[a] - paper[b]:+.1f} | {middle:+.1f} [{low:+.1f}, {high:+.1f}] "
            f"| {np.sum(each > 0)} of {len(each)} | {verdict} | {p:.2f} |"
        )
    return lines


def _p(differences: NDArray[np.float64]) -> float:
    """Two-sided p of Student's test that a mean is 0; 1 where it cannot be tested."""
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else math.inf
    if spread == 0:
        return float(not differences.any())
    return float(2 * t.sf(abs(differences.mean()) / spread * math.sqrt(len(differences)), max(1, len(differences) - 1)))


def table(head: str, results: Mapping[str, list[dict[str, float]]], tried: Tried, k: int) -> str:
    """Results as markdown, in per cent, best first.

    Args:
        head: What was run.
        results: By paradigm, of each seed, the share of right answers to each question.
        tried: By which the rates were chosen.
        k: Frames of a group.
    """
    means = {name: [mean_of(seed) for seed in seeds] for name, seeds in results.items()}
    rates = ", ".join(f"{rate:g}" for rate in tried["none"])
    lines = [
        f"{head}; chance {100 * CHANCE:.1f}",
        "",
        f"| paradigm | mean [95 % over seeds] | {' | '.join(QUESTIONS)} | minus none [95 %] | MotionBench dev "
        f"| peak rate: on trial at {rates} |",
        "|---" * (len(QUESTIONS) + 5) + "|",
    ]
    for name in sorted(means, key=lambda each: -float(np.mean(means[each]))):
        middle, low, high = (100 * value for value in interval(means[name]))
        gain, worst, best = (100 * value for value in interval(np.subtract(means[name], means["none"])))
        each = " | ".join(f"{100 * np.mean([seed[q] for seed in results[name]]):.1f}" for q in QUESTIONS)
        against = "–" if name == "none" else f"{gain:+.1f} [{worst:+.1f}, {best:+.1f}]"
        paper = PAPER.get(k, {}).get(name, "–")
        trials = ", ".join(f"{100 * accuracy:.1f}" for accuracy in tried[name].values())
        rate = f"{best_rate(tried[name]):g}: {trials}"
        lines.append(f"| {name} | {middle:.1f} [{low:.1f}, {high:.1f}] | {each} | {against} | {paper} | {rate} |")
    return "\n".join(lines + (["", *ordering(means, k)] if k in PAPER else []))
