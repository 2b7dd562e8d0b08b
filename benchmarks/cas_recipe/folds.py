"""How well the ladder is learnt: trained without some sources, judged on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from benchmarks.cas_recipe.groups import Table
from benchmarks.cas_recipe.ladder import CLEAN
from benchmarks.cas_recipe.ordinal import Settings, fit
from vmmetrics.perception.embedded.plausibility.plausibility import LEVEL_COUNT, OrdinalModel
from vmmetrics.types import FloatArray

FOLDS = 6
_APART = 2  # rungs: neighbours are not asked for, clean is held against every rung


@dataclass(frozen=True, slots=True)
class Order:
    """Pairs of clips with a known order, and whether the scores preserve it.

    Attributes:
        preserved: (P,) 1 where the better one scored higher, 1/2 for equal scores, else 0.
        sources: (P,) source of the pair.
        kinds: (P,) defect.
        first_severities: (P,) severity level of the better one, 0 for clean.
        second_severities: (P,) severity level of the worse one.
    """

    preserved: FloatArray
    sources: NDArray[np.str_]
    kinds: NDArray[np.str_]
    first_severities: NDArray[np.int64]
    second_severities: NDArray[np.int64]

    @property
    def share(self) -> float:
        """Share of the pairs kept in order."""
        return float(self.preserved.mean())

    def interval(self, rounds: int = 2000, seed: int = 0) -> tuple[float, float]:
        """Return the 95 % interval of :attr:`share`, by drawing sources anew."""
        names = np.unique(self.sources)
        preserved = [self.preserved[self.sources == name] for name in names]
        sums, counts = np.array([k.sum() for k in preserved]), np.array([len(k) for k in preserved])
        drawn = np.random.default_rng(seed).integers(len(names), size=(rounds, len(names)))
        shares = sums[drawn].sum(1) / counts[drawn].sum(1)
        low, high = np.quantile(shares, (0.025, 0.975))
        return float(low), float(high)


def score(model: OrdinalModel, numbers: FloatArray) -> FloatArray:
    """Return (N,) scores 0..1 of the numbers (N, F) of single views."""
    return np.asarray(model.probabilities(numbers) @ np.linspace(0, 1, LEVEL_COUNT))


def held_out_scores(
    table: Table,
    settings: Settings | None = None,
    chosen: NDArray[np.bool_] | None = None,
    folds: int = FOLDS,
    left_out: str | None = None,
) -> FloatArray:
    """Return (N,) scores, each by a model that saw nothing of the row's source, nor of the defect ``left_out``."""
    scores = np.zeros(len(table.rungs))
    for out, model in fold_models(table, settings, chosen, folds, left_out):
        rows = np.isin(table.sources, list(out))
        scores[rows] = score(model, table.numbers[rows])
    return scores


def fold_models(
    table: Table,
    settings: Settings | None = None,
    chosen: NDArray[np.bool_] | None = None,
    folds: int = FOLDS,
    left_out: str | None = None,
) -> Iterator[tuple[frozenset[str], OrdinalModel]]:
    """Yield sources, and a model trained without them."""
    sources = np.unique(table.sources)
    for fold in range(min(folds, len(sources))):
        out = sources[fold::folds]
        rows = ~np.isin(table.sources, out) & (table.kinds != left_out)
        yield frozenset(out.tolist()), fit(table.take(rows), settings, chosen)


def kinds_left_out(table: Table, folds: int = 3) -> dict[str, tuple[float, float]]:
    """Return, by defect, the AUC of clean clips above those with it at severities 2 and 4, sources unseen.

    First by models that saw the defect on other sources, then by models that never saw it. Recorded footage alone.
    """
    solid = (np.char.find(table.sources, "render") < 0) & (np.char.find(table.sources, "fluid") < 0)
    clean, kinds = solid & (table.kinds == CLEAN), sorted(set(table.kinds[table.rungs > 0]))
    seen = held_out_scores(table, folds=folds)
    areas = {}
    for kind in kinds:
        bad = solid & (table.kinds == kind) & (table.rungs >= _APART)
        unseen = held_out_scores(table, folds=folds, left_out=kind)
        pairs = float(clean.sum() * bad.sum())
        first, second = (mannwhitneyu(scores[clean], scores[bad]).statistic / pairs for scores in (seen, unseen))
        areas[kind] = (float(first), float(second))
    return areas


def order_preserved(table: Table, scores: FloatArray) -> Order:
    """Hold clean clips against every rung, and rungs two apart against each other, within source, group and defect."""
    rows: list[tuple[float, str, str, int, int]] = []
    for group in np.unique(table.groups):
        inside = table.groups == group
        clean = int(np.flatnonzero(inside & (table.kinds == CLEAN))[0])
        for kind in np.unique(table.kinds[inside & (table.rungs > 0)]):
            by_severity = {int(table.rungs[i]): int(i) for i in np.flatnonzero(inside & (table.kinds == kind))}
            pairs = [(0, severity, clean, i) for severity, i in by_severity.items()]
            pairs += [
                (r, r + _APART, i, by_severity[r + _APART]) for r, i in by_severity.items() if r + _APART in by_severity
            ]
            for better, worse, i, j in pairs:
                preserved = 0.5 * (1 + np.sign(scores[i] - scores[j]))
                rows.append((float(preserved), str(table.sources[i]), str(kind), better, worse))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Order(*columns)
