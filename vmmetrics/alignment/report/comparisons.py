"""Tables of an alignment report: differences, preferences, ablations, power, and clips to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from vmmetrics.alignment import results
from vmmetrics.alignment.models import ModelFigures
from vmmetrics.alignment.power import Power
from vmmetrics.alignment.readers.columns import measures_amount
from vmmetrics.alignment.study import Study
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.utils.display import tables
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, count, heads, number, p_value
from vmmetrics.utils.statistics.bootstrap import Estimate

SIGNIFICANT = 0.05
"""Largest p (after Holm) of a listed difference."""
_MOST_DIFFERENCES = 20


def comparison_parts(report: StudyReport) -> list[tables.Part]:
    """Return preferences, ablations, differences that are significant, and power."""
    dimensions = list(dict.fromkeys(accuracy.dimension for accuracy in report.preferences))
    parts: list[tables.Part] = [_preferences(report, dimension) for dimension in dimensions]
    parts += [_ablation(ablation) for ablation in report.ablations]
    parts += [part for figures in report.models_ranked for part in _models(figures)]
    if report.differences:
        parts.append(differences_part(report.differences, only_significant=True))
    if report.powers:
        parts.append(_power(report.powers))
    return parts


def accuracies_of(report: StudyReport, dimension: str) -> list[results.PreferenceAccuracy]:
    """Return the accuracies on a dimension, best first."""
    here = [accuracy for accuracy in report.preferences if accuracy.dimension == dimension]
    return sorted(here, key=lambda a: (a.baseline, *a.accuracy.descending, a.name))


def _preferences(report: StudyReport, dimension: str) -> DisplayTable:
    here = accuracies_of(report, dimension)
    rules = [accuracy.rule.split("; ") for accuracy in here]
    shared = [clause for clause in rules[0] if all(clause in rule for rule in rules)]
    caption = (
        "Share of pairs on which the preferred clip is people's (chance: 0.50); of decided: of those without ties."
    )
    if shared:
        caption += f" Counted: {clean('; '.join(shared))}"
    columns = heads("metric or combination", "accuracy", "pairs", "human ties", "metric ties", "of decided")
    title = f"Preference accuracy: {clean(dimension)}"
    table = DisplayTable(f"preferences-{dimension}", title, caption, columns)
    for accuracy, rule in zip(here, rules, strict=True):
        share = table.estimate(accuracy.accuracy)
        clauses = [clause for clause in rule if clause not in shared]
        if measures_amount(accuracy.name) and not measures_amount(dimension):
            clauses.append("counted as higher-is-better, though an amount has no better end")
        mark = table.mark("; ".join(clauses))
        pairs = DisplayCell(count(accuracy.pairs), "", mark)
        ties = map(count, (accuracy.human_ties, accuracy.metric_ties))
        table.add(accuracy.name, share, pairs, *ties, number(accuracy.decided), reference=accuracy.baseline)
    return table


def _models(figures: ModelFigures) -> tuple[DisplayTable, DisplayTable]:
    """Return a table of models by win ratio, and one of how well metrics rank them."""
    about = clean(figures.dimension)
    source = f"From {clean(figures.wins.source)}."
    strengths = {each.model: each.strength for each in figures.strengths.models}
    columns = heads("model", "pairs", "win ratio, people", "Bradley-Terry strength", *map(clean, figures.soft_pairwise))
    caption = f"Share of its pairs that a model wins, ties half: by people, and by each metric. {source}"
    if figures.strengths.note:
        caption += f" {figures.strengths.note}."
    models = DisplayTable(f"models-{figures.dimension}", f"Models: {about}", caption, columns)
    for model in figures.wins.models:
        of_metrics = (number(e.value) for name, e in model.metrics.items() if name in figures.soft_pairwise)
        by_people, strength = models.estimate(model.people), models.estimate(strengths.get(model.model, Estimate(None)))
        models.add(model.model, count(model.pairs), by_people, strength, *of_metrics)
    caption = (
        "Soft pairwise accuracy: agreement with people on how surely one model is better, mean over pairs of models "
        "(chance: about 0.5). Win ratios: correlation over models with people's."
    )
    columns = heads("metric", "soft pairwise", "ρ of win ratios", "r of win ratios")
    ranking = DisplayTable(f"ranking-{figures.dimension}", f"Ranking of models: {about}", caption, columns)
    for agreement in figures.wins.agreements:
        soft = ranking.estimate(figures.soft_pairwise.get(agreement.metric, Estimate(None)))
        ratios = (ranking.estimate(e, interval=False) for e in (agreement.spearman, agreement.pearson))
        ranking.add(agreement.metric, soft, *ratios)
    return models, ranking


def _ablation(ablation: results.Ablation) -> DisplayTable:
    by = "a fitted model" if ablation.combination == "fitted" else clean(ablation.combination)
    key, title = f"ablation-{ablation.combination}-{ablation.dimension}", f"Combination by {by}"
    caption = (
        "All metrics with a direction and enough scores, without repeats and mixtures; then without each metric, with "
        "its weight among all."
    )
    columns = heads("metrics", "accuracy", "ρ all clips", "ρ within model", "weight")
    table = DisplayTable(key, f"{title}: {clean(ablation.dimension)}", caption, columns)

    def add(name: str, figure: results.CombinationFigure, weight: float | None = None) -> None:
        figures = map(table.estimate, (figure.accuracy, figure.spearman, figure.within_model))
        table.add(name, *figures, "" if weight is None else number(weight))

    add("all", ablation.full)
    for metric, figure in ablation.left_out.items():
        add(f"without {metric}", figure, ablation.weights.get(metric))
    return table


def differences_part(differences: Sequence[results.MetricDifference], *, only_significant: bool) -> tables.Part:
    """Return pairs of metrics; those whose pooled or within-model difference is significant, or all."""
    shown, key, title, chosen = list(differences), "pairs", "All pairs of metrics", ""
    if only_significant:
        key, title = "differences", "Differences between metrics"
        shown = [
            d for d in shown if any(p is not None and p < SIGNIFICANT for p in (d.pooled_holm, d.within_model_holm))
        ]
        chosen = f"{len(shown):,} of {len(differences):,} pairs differ at p < {SIGNIFICANT} after Holm"
        if len(shown) > _MOST_DIFFERENCES:
            shown = shown[:_MOST_DIFFERENCES]
            chosen += f"; the first {len(shown)}"
        chosen += ", the best metrics first. "
    if not shown:
        none = f"none of {len(differences):,} pairs of metrics differs at p < {SIGNIFICANT} after Holm"
        return tables.Lines(key, title, (none,))
    caption = (
        f"{chosen}First minus second on the clips that both have, in paired samples of the prompts. Not compared: "
        "metrics of an amount (no better end), repeats of another, and those with few distinct values. Holm: p "
        "corrected for all pairs; BH: expected share of false discoveries among the pairs up to this one."
    )
    columns = heads(
        *("dimension", "first", "second", "Δρ all clips", "p", "Holm", "BH", "Δρ within model", "p", "Holm", "BH"),
        texts=3,
    )
    table = DisplayTable(key, title, caption, columns)
    for d in shown:
        pooled, inside = table.estimate(d.pooled), table.estimate(d.within_model)
        p = map(p_value, (d.pooled.p, d.pooled_holm, d.pooled_bh))
        p_inside = map(p_value, (d.within_model.p, d.within_model_holm, d.within_model_bh))
        table.add(d.dimension, d.first, d.second, pooled, *p, inside, *p_inside)
    return table


def _power(powers: Sequence[Power]) -> DisplayTable:
    columns = heads(
        *("dimension", "to tell ρ", "power now", "clips for 80 %", "prompts for 80 %"),
        tables.DisplayColumn("raters: clips", number=False),
    )
    caption = "Power of a study of this size to tell two correlations apart, and the size with a power of 80 %."
    table = DisplayTable("power", "Power", caption, columns)
    for power in powers:
        raters = ", ".join(f"{raters}: {clips:,}" for raters, clips in power.raters.items()) or tables.NONE
        now = DisplayCell(number(power.power), "", table.mark(power.note))
        compared = f"{number(power.first)} from {number(power.second)}"
        table.add(power.dimension, compared, now, count(power.clips), count(power.prompts), raters)
    return table


# Clips on which a metric and people part: where to look for what a metric gets wrong.

SHOWN = 3
"""Maximum clips listed per metric and direction."""
_LEAST_CLIPS = 3  # of a model, for a place among them to mean anything
_LEAST_APART = 0.25  # of the places: less is what two people differ by


class MisrankedClip(NamedTuple):
    """A clip that a metric and people rank differently among its model's clips.

    Attributes:
        clip: Name.
        model: Its model, "" where none is known.
        score: What the metric says.
        rating: Mean rating.
        score_rank: Share of the model's clips with a lower score, equal ones half: 0 worst, 1 best.
        rating_rank: The same by rating.
        apart: How much better the metric finds it than people do, in places.
    """

    clip: str
    model: str
    score: float
    rating: float
    score_rank: float
    rating_rank: float
    apart: float


def misranked_clips(study: Study, metric: str, dimension: str) -> list[MisrankedClip]:
    """Return the clips that a metric ranks much higher or lower among its model's clips than people do.

    Places inside a model, because a metric that likes one model too much would otherwise fill the list with its clips.

    Args:
        study: Scores and ratings.
        metric: Name of the metric.
        dimension: What people judged.

    Returns:
        Up to :data:`SHOWN` that are overrated, worst first; then as many underrated, worst last.
    """
    score, rating = study.scores[metric], study.mean_rating(dimension)
    both = np.isfinite(score) & np.isfinite(rating)
    models = np.array(study.models)
    by_score, by_rating = np.full((2, len(score)), np.nan)
    for model in set(study.models):
        rows = np.flatnonzero(both & (models == model))
        if rows.size >= _LEAST_CLIPS:
            by_score[rows], by_rating[rows] = ((rankdata(v[rows]) - 0.5) / rows.size for v in (score, rating))
    apart = by_score - by_rating
    far = np.flatnonzero(np.abs(apart) >= _LEAST_APART)  # false where there is no place
    far = far[np.lexsort((np.array(study.clips)[far], -apart[far]))]
    over, under = far[apart[far] > 0][:SHOWN], far[apart[far] < 0]
    figures = np.stack([score, rating, by_score, by_rating, apart], axis=1)
    return [
        MisrankedClip(study.clips[row], study.models[row], *figures[row].tolist())
        for row in (*over, *under[max(0, len(under) - SHOWN) :])
    ]


def misranked_table(study: Study, report: StudyReport, dimension: str) -> DisplayTable | None:
    """Return a table of the clips each metric ranks unlike people on a dimension; None if there are none."""
    caption = (
        "Ranks among the clips of the same model, 0 worst and 1 best. Difference above 0: the metric rates a clip "
        "higher than people do. Watch these clips to see what the metric gets wrong, or people overlook."
    )
    columns = heads(
        "metric", "clip", "model", "score", "rating", "rank by score", "rank by people", "difference", texts=3
    )
    title = f"Clips on which metric and people disagree: {clean(dimension)}"
    table = DisplayTable(f"parted-{dimension}", title, caption, columns)
    for pair in report.ranked(dimension):
        for clip in misranked_clips(study, pair.metric, dimension):
            ranks = map(number, (clip.score_rank, clip.rating_rank, clip.apart))
            table.add(pair.metric, clip.clip, clip.model, f"{clip.score:.4g}", f"{clip.rating:.3g}", *ranks)
    return table if table.rows else None
