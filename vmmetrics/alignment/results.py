"""Results of a study: plain figures with intervals, and reasons where one could not be computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import Estimate


@dataclass(frozen=True, slots=True)
class Grouped:
    """A correlation computed inside each group, and its mean over the groups that have one.

    Attributes:
        mean: Mean of the groups' correlations; ``n`` counts groups.
        groups: Per group (model or prompt).
    """

    mean: Estimate
    groups: Mapping[str, Estimate] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class PairAlignment:
    """One metric compared with one dimension.

    Attributes:
        metric: Name of the metric (or combination).
        dimension: Name of the dimension of judgement.
        spearman: Over all clips.
        kendall_b: Likewise.
        kendall_c: Likewise.
        pearson: Likewise.
        within_prompt: Spearman among clips of one prompt.
        within_model: Spearman among clips of one model; what recognising the generator cannot win, but knowing which
            prompts are hard can.
        amplitude_constant: Mean over models of the partial Spearman given the amplitude of motion, which preferring
            calm clips cannot win; ``n`` counts models.
        without_both: Correlation of ranks with model and prompt both taken out: what neither recognising the generator
            nor telling easy prompts from hard ones can win.
        without_model: Pooled Spearman with the clips of one model left out, by the model that was.
        model_level: Spearman of the models' mean scores with their mean ratings.
        shuffled: Pooled Spearman of this metric with ratings shuffled inside each model: what telling the models
            apart is worth by itself; ``low`` and ``high`` bound 95 % of the shuffles.
        off_mode: Clips whose score is not the commonest one, or whose judgement is not, whichever are fewer.
        smallest: Smallest mean within-model correlation that would differ from 0 with the clips it rests on; None where
            none would.
        missing: Clips that have a judgement and no score.
        fitted_pearson: Pearson's r after the logistic fit of video quality assessment, None where there is no fit.
        rmse: Root mean square error of that fit, in the unit of the judgements.
        rarest: Which of score and judgement ``off_mode`` counts.
    """

    metric: str
    dimension: str
    spearman: Estimate
    kendall_b: Estimate
    kendall_c: Estimate
    pearson: Estimate
    within_prompt: Grouped
    within_model: Grouped
    amplitude_constant: Estimate
    without_both: Estimate
    without_model: Mapping[str, Estimate]
    model_level: Estimate
    shuffled: Estimate
    off_mode: int
    smallest: float | None
    missing: int = 0
    fitted_pearson: float | None = None
    rmse: float | None = None
    rarest: Literal["score", "rating"] = "score"


@dataclass(frozen=True, slots=True)
class NameBaseline:
    """Baseline by the model's name: a clip's prediction is the mean rating of its model's other clips.

    Attributes:
        overall: Pooled Spearman; the means are of the other half of the prompts, over splits, so that no rating
            predicts itself and clips of one model are tied.
        within_prompt: Mean Spearman among clips of one prompt; the means are of all other prompts.
    """

    dimension: str
    overall: Estimate
    within_prompt: Estimate


@dataclass(frozen=True, slots=True)
class PromptBaseline:
    """Baseline by the prompt: a clip's prediction is the mean rating of other models' clips of its prompt.

    Attributes:
        overall: Pooled Spearman; ratings less their model's mean.
        within_model: Mean Spearman among clips of one model.
    """

    dimension: str
    overall: Estimate
    within_model: Estimate


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """Two metrics compared on one dimension, on the clips that both have.

    Attributes:
        first: Metric.
        second: Metric it is compared with.
        pooled: First's pooled Spearman minus second's; paired bootstrap over prompts.
        within_model: The same for the mean within-model Spearman.
        pooled_holm: p of ``pooled``, raised for all pairs of the dimension (Holm); None where it has none.
        pooled_bh: Likewise by Benjamini and Hochberg: the share of false ones among the pairs below it.
        within_model_holm: As ``pooled_holm``, of ``within_model``.
        within_model_bh: As ``pooled_bh``, of ``within_model``.
    """

    first: str
    second: str
    dimension: str
    pooled: Estimate
    within_model: Estimate
    pooled_holm: float | None = None
    pooled_bh: float | None = None
    within_model_holm: float | None = None
    within_model_bh: float | None = None


@dataclass(frozen=True, slots=True)
class HumanAgreement:
    """Human agreement: the scale that a metric's correlation is read on.

    Attributes:
        raters: Per rater, Spearman with the mean of the others, over all clips.
        overall: Mean of those.
        within_prompt: The same inside prompts.
        within_model: The same inside models.
        amplitude_constant: The same inside models, given the amplitude of motion.
        without_both: The same with model and prompt both taken out.
        split_half: Mean Spearman of the means of two halves of the raters, over splits.
        split_half_full: That, stepped up to all raters (Spearman-Brown): the reliability of the mean rating.
        within_model_full: The reliability of the mean rating among clips of one model, by the same steps.
    """

    dimension: str
    raters: Mapping[str, Estimate]
    overall: Estimate
    within_prompt: Estimate
    within_model: Estimate
    amplitude_constant: Estimate
    without_both: Estimate
    split_half: Estimate
    split_half_full: Estimate
    within_model_full: Estimate


@dataclass(frozen=True, slots=True)
class OutlyingRater:
    """A rater who disagrees with the others.

    Attributes:
        rater: Name.
        correlation: Spearman with the mean of the others, None where it is not defined.
        bias: Mean difference from the others' mean, in units of the scale.
        reason: In words.
    """

    rater: str
    correlation: float | None
    bias: float
    reason: str


@dataclass(frozen=True, slots=True)
class DisputedClip:
    """A clip that people disagree on.

    Attributes:
        clip: Name.
        spread: Standard deviation of its ratings (n − 1).
    """

    clip: str
    spread: float
    ratings: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Inter-rater agreement on one dimension.

    Attributes:
        alpha_nominal: Krippendorff's α.
        alpha_ordinal: Likewise, ordinal metric.
        alpha_interval: Likewise, interval metric.
        icc_single: ICC(2,1).
        icc_mean: ICC(2,k).
        cohen: Mean over pairs of raters of Cohen's κ.
        cohen_weighted: The same with quadratic weights.
        fleiss: Fleiss' κ.
        outlying: Raters who part from the others.
        disputed: The clips people disagree on most, worst first.
        recovered: Where raters are outlying, metric → pooled Spearman with the mean rating and with the quality that
            MOS recovery finds.
    """

    dimension: str
    alpha_nominal: Estimate
    alpha_ordinal: Estimate
    alpha_interval: Estimate
    icc_single: Estimate
    icc_mean: Estimate
    cohen: Estimate
    cohen_weighted: Estimate
    fleiss: Estimate
    outlying: tuple[OutlyingRater, ...] = ()
    disputed: tuple[DisputedClip, ...] = ()
    recovered: Mapping[str, tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class PreferenceAccuracy:
    """Preference accuracy: how often a metric (or combination) prefers the clip that people prefer.

    Attributes:
        name: Metric or combination.
        accuracy: Share of pairs; interval over prompts.
        pairs: Pairs counted.
        human_ties: Pairs that people called equal.
        metric_ties: Pairs on which the metric is equal.
        rule: How ties were counted, in words.
        baseline: Not a metric but what to read one against: the model's name, one person.
        combination: Several metrics together.
        decided: Share of the pairs on which the metric is not equal; None where there are none, or ties are calibrated.
    """

    name: str
    dimension: str
    accuracy: Estimate
    pairs: int
    human_ties: int
    metric_ties: int
    rule: str
    baseline: bool = False
    combination: bool = False
    decided: float | None = None


@dataclass(frozen=True, slots=True)
class Ablation:
    """Ablation of a combination: what each metric adds.

    Attributes:
        combination: ``"equal weights"`` or ``"fitted"``.
        full: All metrics: preference accuracy and pooled Spearman.
        left_out: By the metric left out.
        weights: Weight of each metric in the combination of all (fitted: mean over folds).
    """

    dimension: str
    combination: str
    full: CombinationFigure
    left_out: Mapping[str, CombinationFigure]
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CombinationFigure:
    """Accuracy and correlations of a combination.

    Attributes:
        accuracy: Preference accuracy.
        spearman: Pooled Spearman.
        within_model: Mean within-model Spearman.
    """

    accuracy: Estimate
    spearman: Estimate
    within_model: Estimate


@dataclass(frozen=True, slots=True)
class Matrix:
    """A square table of correlations.

    Attributes:
        names: (K,) rows and columns: metrics, then dimensions.
        metrics: How many of the names are metrics.
        values: (K, K) Spearman, NaN where there is none.
        counts: (K, K) clips that both have.
    """

    names: tuple[str, ...]
    metrics: int
    values: FloatArray
    counts: FloatArray
