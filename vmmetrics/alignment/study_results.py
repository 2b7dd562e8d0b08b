"""All results of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vmmetrics.alignment.results import (
    Ablation,
    Agreement,
    HumanAgreement,
    Matrix,
    MetricDifference,
    NameBaseline,
    PairAlignment,
    PreferenceAccuracy,
    PromptBaseline,
)
from vmmetrics.utils.schema import plain

if TYPE_CHECKING:
    from vmmetrics.alignment.models import ModelFigures
    from vmmetrics.alignment.power import Power


@dataclass(frozen=True, slots=True)
class StudyReport:
    """All results of a study.

    Attributes:
        clips: Clips with a score and a judgement.
        prompts: Their prompts.
        models: Their models.
        matching: How many and which clips did not match, and what was assumed, in words.
        facing: Metric → the dimensions it was compared with.
        alignments: One per metric and dimension it is paired with.
        baselines: One per dimension.
        differences: Pairs of metrics of the same dimension.
        ceilings: One per dimension with several raters.
        agreements: One per dimension with several raters.
        preferences: Preference accuracy per metric and dimension.
        ablations: Per dimension, by equal weights and fitted.
        matrix: Metric × metric and metric × human.
        models_ranked: Per dimension with pairs of two models: win ratios, strengths, soft pairwise accuracy.
        repeats: Metrics that repeat others → the others; counted once.
        powers: One per dimension.
        claims: The widest claims that the data supports, and what it does not, in words.
        problems: What could not be computed, and why.
        settings: Resamples, seed, confidence, and versions.
        less_motion: Per dimension, what preferring the clip that moves less would reach: minus the amplitude, compared
            like a metric; empty where no amplitude is known.
        prompt_baselines: One per dimension.
    """

    clips: int
    prompts: int
    models: int
    matching: tuple[str, ...]
    facing: Mapping[str, tuple[str, ...]]
    alignments: tuple[PairAlignment, ...]
    baselines: tuple[NameBaseline, ...]
    differences: tuple[MetricDifference, ...]
    ceilings: tuple[HumanAgreement, ...]
    agreements: tuple[Agreement, ...]
    preferences: tuple[PreferenceAccuracy, ...]
    ablations: tuple[Ablation, ...]
    matrix: Matrix
    models_ranked: tuple[ModelFigures, ...]
    repeats: Mapping[str, str]
    powers: tuple[Power, ...]
    claims: tuple[str, ...]
    problems: tuple[str, ...]
    settings: Mapping[str, Any]
    less_motion: tuple[PairAlignment, ...] = ()
    prompt_baselines: tuple[PromptBaseline, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values; NaN as None."""
        return dict(plain(self))

    def ranked(self, dimension: str) -> list[PairAlignment]:
        """Return the metrics on a dimension: best with model and prompt taken out, then within model first.

        Undefined ones come last, metrics that score under half of the clips after the others.
        """

        def rank(pair: PairAlignment) -> tuple[Any, ...]:
            figures = (pair.without_both, pair.within_model.mean, pair.spearman)
            return pair.missing > pair.spearman.n, *(figure.descending for figure in figures), pair.metric

        return sorted((pair for pair in self.alignments if pair.dimension == dimension), key=rank)
