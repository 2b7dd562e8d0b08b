"""How well the ladder is learnt: trained without some sources, judged on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.cas_recipe.groups import Table
from benchmarks.cas_recipe.ladder import CLEAN
from benchmarks.cas_recipe.ordinal import Settings, fit
from vmmetrics.perception.embedded.plausibility.plausibility import LEVEL_COUNT, OrdinalModel
from vmmetrics.types import FloatArray

FOLDS = 6
_APART = 2  # rungs: neighbours are not asked for, clean is held against every rung


@dataclass(frozen=True, slots=True)
class Order:
    """Pairs of which one is known to be better, and whether the scores say so.

    Attributes:
        kept: (P,) 1 where the better one scored higher, 1/2 for equal scores, else 0.
        sources: (P,) source of the pair.
        kinds: (P,) defect.
        first_rungs: (P,) rung of the better one, 0 for clean.
        second_rungs: (P,) rung of the worse one.
    """

    kept: FloatArray
    sources: NDArray[np.str_]
    kinds: NDArray[np.str_]
    first_rungs: NDArray[np.int64]
    second_rungs: NDArray[np.int64]

    @property
    def share(self) -> float:
        """Share of the pairs kept in order."""
        return float(self.kept.mean())

    def interval(self, rounds: int = 2000, seed: int = 0) -> tuple[float, float]:
        """Return the 95 % interval of :attr:`share`, by drawing sources anew."""
        names = np.unique(self.sources)
        kept = [self.kept[self.sources == name] for name in names]
        sums, counts = np.array([k.sum() for k in kept]), np.array([len(k) for k in kept])
        drawn = np.random.default_rng(seed).integers(len(names), size=(rounds, len(names)))
        shares = sums[drawn].sum(1) / counts[drawn].sum(1)
        low, high = np.quantile(shares, (0.025, 0.975))
        return float(low), float(high)


def score(model: OrdinalModel, numbers: FloatArray) -> FloatArray:
    """Return (N,) scores 0..1 of the numbers (N, F) of single views."""
    return np.asarray(model.probabilities(numbers) @ np.linspace(0, 1, LEVEL_COUNT))


def held_out_scores(
    table: Table, settings: Settings | None = None, chosen: NDArray[np.bool_] | None = None, folds: int = FOLDS
) -> FloatArray:
    """Return (N,) scores, each by a model that saw nothing of the row's source."""
    sources = np.unique(table.sources)
    scores = np.zeros(len(table.rungs))
    for fold in range(min(folds, len(sources))):
        out = np.isin(table.sources, sources[fold::folds])
        scores[out] = score(fit(table.take(~out), settings, chosen), table.numbers[out])
    return scores


def order_kept(table: Table, scores: FloatArray) -> Order:
    """Hold clean clips against every rung, and rungs two apart against each other, within source, group and defect."""
    rows: list[tuple[float, str, str, int, int]] = []
    for group in np.unique(table.groups):
        inside = table.groups == group
        clean = int(np.flatnonzero(inside & (table.kinds == CLEAN))[0])
        for kind in np.unique(table.kinds[inside & (table.rungs > 0)]):
            rungs = {int(table.rungs[i]): int(i) for i in np.flatnonzero(inside & (table.kinds == kind))}
            pairs = [(0, rung, clean, i) for rung, i in rungs.items()]
            pairs += [(r, r + _APART, i, rungs[r + _APART]) for r, i in rungs.items() if r + _APART in rungs]
            for better, worse, i, j in pairs:
                kept = 0.5 * (1 + np.sign(scores[i] - scores[j]))
                rows.append((float(kept), str(table.sources[i]), str(kind), better, worse))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Order(*columns)
