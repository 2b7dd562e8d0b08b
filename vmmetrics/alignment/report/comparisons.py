"""What an alignment report says of metrics among themselves, of preferences and of power, as tables."""

from __future__ import annotations

from collections.abc import Sequence

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
from vmmetrics.alignment.results import Ablation, CombinationFigure, Difference, Power, PreferenceAccuracy, StudyReport
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
