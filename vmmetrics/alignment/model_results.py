"""Results per model: win ratios, strengths and agreement, as plain figures with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vmmetrics.utils.statistics.bootstrap import Estimate


@dataclass(frozen=True, slots=True)
class ModelWins:
    """Win ratios of one model.

    Attributes:
        model: The model.
        pairs: Pairs of it with another model that people judged.
        people: Share that people let it win, ties half; interval over prompts.
        metrics: Metric to the share it wins by that metric's scores, over the pairs with both scores.
    """

    model: str
    pairs: int
    people: Estimate
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class WinRatioAgreement:
    """Correlation over models of the win ratios by a metric and by people, on the pairs with both scores.

    Attributes:
        metric: The metric.
        spearman: Spearman's ρ; n counts models, the interval draws prompts, keeps the models and holds the value.
        pearson: Pearson's r over models.
    """

    metric: str
    spearman: Estimate
    pearson: Estimate


@dataclass(frozen=True, slots=True)
class WinRatios:
    """Win ratios of all models on one dimension.

    Attributes:
        dimension: The dimension.
        source: Where the pairs come from.
        models: One per model with a pair, by win ratio, best first.
        agreements: One per metric, in the order given.
    """

    dimension: str
    source: str
    models: tuple[ModelWins, ...]
    agreements: tuple[WinRatioAgreement, ...]


@dataclass(frozen=True, slots=True)
class ModelStrength:
    """Strength of one model.

    Attributes:
        model: The model.
        strength: Log odds of beating a model of mean strength; times 400 / ln 10 it is on Elo's scale. The interval
            draws prompts.
        pairs: Pairs of it with another model that people judged.
    """

    model: str
    strength: Estimate
    pairs: int


@dataclass(frozen=True, slots=True)
class ModelStrengths:
    """Strengths of all models on one dimension.

    Attributes:
        dimension: The dimension.
        source: Where the pairs come from.
        models: One per model with a pair, strongest first.
        note: What limits them, or why there are none; "" where there is nothing to say.
    """

    dimension: str
    source: str
    models: tuple[ModelStrength, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """Results per model on one dimension, by people and by metrics.

    Attributes:
        dimension: The dimension.
        wins: Win ratios (VBench) and their correlation over models.
        strengths: Bradley-Terry strengths from people's pairs.
        soft_pairwise: Metric to soft pairwise accuracy (WMT 2024), 0..1, about 1/2 for a metric that knows nothing.
        reference: Metric that the others are held against by PERM-BOTH; "" without one.
        permuted: Metric to the p value of no difference in pooled Spearman from the reference, by PERM-BOTH.
    """

    dimension: str
    wins: WinRatios
    strengths: ModelStrengths
    soft_pairwise: Mapping[str, Estimate]
    reference: str
    permuted: Mapping[str, float]
