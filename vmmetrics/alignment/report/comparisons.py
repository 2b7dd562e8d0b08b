"""What an alignment report says of metrics among themselves, of preferences and of power, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from vmmetrics.alignment.report.cells import (
    NONE,
    Cell,
    Column,
    Footnotes,
    Lines,
    Part,
    Row,
    Table,
    count,
    named,
    number,
    p_value,
)
from vmmetrics.alignment.report.tables import ranked
from vmmetrics.alignment.results import Ablation, CombinationFigure, Difference, Power, PreferenceAccuracy, StudyReport
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.statistics.bootstrap import Estimate

SIGNIFICANT = 0.05
"""Below which p a difference is listed where only the significant ones are."""
_MOST_DIFFERENCES = 20


def comparison_parts(report: StudyReport) -> list[Part]:
    """Preferences, ablations, differences that are significant, and power."""
    dimensions = list(dict.fromkeys(accuracy.dimension for accuracy in report.preferences))
    parts: list[Part] = [_preferences(report.preferences, dimension) for dimension in dimensions]
    parts += [_ablation(ablation) for ablation in report.ablations]
    if report.differences:
        parts.append(differences_part(report.differences, only_significant=True))
    if report.powers:
        parts.append(_power(report.powers))
    return parts


def _preferences(accuracies: Sequence[PreferenceAccuracy], dimension: str) -> Table:
    notes = Footnotes()
    here = [accuracy for accuracy in accuracies if accuracy.dimension == dimension]
    here.sort(key=lambda a: (a.accuracy.value is None, -(a.accuracy.value or 0.0), a.name))

    def clauses(accuracy: PreferenceAccuracy) -> list[str]:
        return accuracy.rule.split("; ")

    shared = [clause for clause in clauses(here[0]) if all(clause in clauses(other) for other in here)]
    rows = [
        Row(
            (
                named(accuracy.name),
                notes.estimate(accuracy.accuracy),
                Cell(count(accuracy.pairs), "", notes.mark("; ".join(c for c in clauses(accuracy) if c not in shared))),
                Cell(count(accuracy.human_ties)),
                Cell(count(accuracy.metric_ties)),
            )
        )
        for accuracy in here
    ]
    columns = (
        Column("metric or combination", number=False),
        Column("accuracy"),
        Column("pairs"),
        Column("human ties"),
        Column("metric ties"),
    )
    caption = "Share of pairs on which the preferred clip is people's (chance: 0.50)."
    if shared:
        caption += f" Counted: {clean('; '.join(shared))}"
    title = f"Preference accuracy: {clean(dimension)}"
    return Table(f"preferences-{dimension}", title, caption, columns, tuple(rows), tuple(notes.notes))


def _ablation(ablation: Ablation) -> Table:
    notes = Footnotes()
    rows = [_figures("all", None, ablation.full, notes)]
    rows += [
        _figures(f"without {clean(metric)}", ablation.weights.get(metric), figure, notes)
        for metric, figure in ablation.left_out.items()
    ]
    rows += [
        _figures(clean(metric) if place == 0 else f"+ {clean(metric)}", None, figure, notes)
        for place, (metric, figure) in enumerate(ablation.added)
    ]
    columns = (
        Column("metrics", number=False),
        Column("accuracy"),
        Column("ρ all clips"),
        Column("ρ within model"),
        Column("weight"),
    )
    caption = "All metrics combined, without one (and the weight it has among all), and added one by one, best first."
    title = f"Combination by {_combined(ablation.combination)}: {clean(ablation.dimension)}"
    key = f"ablation-{ablation.combination}-{ablation.dimension}"
    return Table(key, title, caption, columns, tuple(rows), tuple(notes.notes))


def _combined(combination: str) -> str:
    return "a fitted model" if combination == "fitted" else clean(combination)


def _figures(name: str, weight: float | None, figure: CombinationFigure, notes: Footnotes) -> Row:
    cells = (notes.estimate(figure.accuracy), notes.estimate(figure.spearman), notes.estimate(figure.within_model))
    return Row((Cell(name), *cells, Cell() if weight is None else Cell(number(weight))))


def differences_part(differences: Sequence[Difference], *, only_significant: bool) -> Part:
    """Pairs of metrics; those whose pooled or within-model difference is significant, or all."""
    shown = list(differences)
    key, title, chosen = "pairs", "All pairs of metrics", ""
    if only_significant:
        shown = [d for d in differences if is_significant(d.pooled) or is_significant(d.within_model)]
        key, title = "differences", "Differences between metrics"
        shown.sort(key=lambda d: (not (is_significant(d.pooled) and is_significant(d.within_model)), -_size(d.pooled)))
        chosen = f"{len(shown):,} of {len(differences):,} pairs differ at p < {SIGNIFICANT}"
        if len(shown) > _MOST_DIFFERENCES:
            shown = shown[:_MOST_DIFFERENCES]
            chosen += f"; the first {len(shown)}: both ways significant first, then by size"
        chosen += ". "
    if not shown:
        return Lines(key, title, (f"none of {len(differences):,} pairs of metrics differs at p < {SIGNIFICANT}",))
    notes = Footnotes()
    rows = [
        Row(
            (
                named(difference.dimension),
                named(difference.first),
                named(difference.second),
                notes.estimate(difference.pooled),
                Cell(p_value(difference.pooled.p)),
                notes.estimate(difference.within_model),
                Cell(p_value(difference.within_model.p)),
            )
        )
        for difference in shown
    ]
    columns = (
        Column("dimension", number=False),
        Column("first", number=False),
        Column("second", number=False),
        Column("Δρ all clips"),
        Column("p"),
        Column("Δρ within model"),
        Column("p within"),
    )
    caption = (
        f"{chosen}First minus second on the clips that both have, in paired samples of the prompts; p is not raised "
        f"for the number of pairs (by chance alone, {SIGNIFICANT:.0%} of them fall below {SIGNIFICANT})."
    )
    return Table(key, title, caption, columns, tuple(rows), tuple(notes.notes))


def _size(estimate: Estimate) -> float:
    return abs(estimate.value or 0.0)


def is_significant(estimate: Estimate) -> bool:
    """Whether a difference is listed among the significant ones."""
    return estimate.p is not None and estimate.p < SIGNIFICANT


def _power(powers: Sequence[Power]) -> Table:
    notes = Footnotes()
    rows = [
        Row(
            (
                named(power.dimension),
                Cell(f"{number(power.first)} from {number(power.second)}"),
                Cell(number(power.power), "", notes.mark(power.note)),
                Cell(count(power.clips)),
                Cell(count(power.prompts)),
                Cell(", ".join(f"{raters}: {clips:,}" for raters, clips in power.raters.items()) or NONE),
                Cell(number(power.smallest)),
            )
        )
        for power in powers
    ]
    columns = (
        Column("dimension", number=False),
        Column("to tell ρ"),
        Column("power now"),
        Column("clips for 80 %"),
        Column("prompts for 80 %"),
        Column("raters: clips", number=False),
        Column("smallest ρ within model", hint="smallest mean within-model ρ that differs from 0 at this size"),
    )
    caption = "Chance that a study of this size tells two correlations apart, and the size that has 80 %."
    return Table("power", "Power", caption, columns, tuple(rows), tuple(notes.notes))


# Clips on which a metric and people part: where to look for what a metric gets wrong.

SHOWN = 3
"""Clips per metric and direction."""
_LEAST_CLIPS = 3  # of a model, for a place among them to mean anything
_LEAST_APART = 0.25  # of the places: less is what two people differ by


class PartedClip(NamedTuple):
    """A clip with its place among its model's clips.

    Attributes:
        clip: Name.
        model: Its model, "" where none is known.
        score: What the metric says.
        rating: Mean rating.
        score_place: Share of the model's clips with a lower score, equal ones half: 0 worst, 1 best.
        rating_place: The same by rating.
    """

    clip: str
    model: str
    score: float
    rating: float
    score_place: float
    rating_place: float

    @property
    def apart(self) -> float:
        """How much better the metric finds it than people do, in places."""
        return self.score_place - self.rating_place


def parted_clips(study: Study, metric: str, dimension: str, most: int = SHOWN) -> list[PartedClip]:
    """The clips that a metric places much higher or lower among its model's clips than people do.

    Places inside a model, because a metric that likes one model too much would otherwise fill the list with its clips.

    Args:
        study: Scores and ratings.
        metric: Name of the metric.
        dimension: What people judged.
        most: At most so many in each direction.

    Returns:
        The overrated first, worst first; then the underrated, worst last.
    """
    score, rating = study.scores[metric], study.mean_rating(dimension)
    known = np.isfinite(score) & np.isfinite(rating)
    models = np.array(study.models)
    by_score, by_rating = np.full(len(score), np.nan), np.full(len(score), np.nan)
    for model in set(study.models):
        rows = np.flatnonzero(known & (models == model))
        if rows.size >= _LEAST_CLIPS:
            by_score[rows], by_rating[rows] = _places(score[rows]), _places(rating[rows])
    apart = by_score - by_rating
    far = np.flatnonzero(np.abs(apart) >= _LEAST_APART)  # false where there is no place
    far = far[np.lexsort((np.array(study.clips)[far], -apart[far]))]
    over, under = far[apart[far] > 0][:most], far[apart[far] < 0]
    return [
        PartedClip(
            study.clips[row],
            study.models[row],
            float(score[row]),
            float(rating[row]),
            float(by_score[row]),
            float(by_rating[row]),
        )
        for row in (*over, *under[max(0, len(under) - most) :])
    ]


def _places(values: FloatArray) -> FloatArray:
    places: FloatArray = (rankdata(values) - 0.5) / len(values)
    return places


def parted_table(study: Study, report: StudyReport, dimension: str) -> Table | None:
    """The parted clips of every metric that faces a dimension; None where there are none."""
    rows = [
        Row(
            (
                named(pair.metric),
                named(clip.clip),
                named(clip.model),
                Cell(f"{clip.score:.4g}"),
                Cell(f"{clip.rating:.3g}"),
                Cell(number(clip.score_place)),
                Cell(number(clip.rating_place)),
                Cell(number(clip.apart)),
            )
        )
        for pair in ranked(report, dimension)
        for clip in parted_clips(study, pair.metric, dimension)
    ]
    if not rows:
        return None
    columns = (
        Column("metric", number=False),
        Column("clip", number=False),
        Column("model", number=False),
        Column("score"),
        Column("rating"),
        Column("place by score"),
        Column("place by people"),
        Column("apart"),
    )
    caption = (
        "Places among the clips of the same model, 0 worst and 1 best. Apart is above 0 where the metric likes a clip "
        "more than people do. Watch these to learn what a metric sees wrong, or people overlook."
    )
    title = f"Clips on which metric and people part: {clean(dimension)}"
    return Table(f"parted-{dimension}", title, caption, columns, tuple(rows))
