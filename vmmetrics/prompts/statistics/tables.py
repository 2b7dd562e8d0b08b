"""Tables of prompt lists: figures of one, comparison of two, quality of a chosen subset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vmmetrics.prompts.checks import LONGEST, SHORTEST
from vmmetrics.prompts.plausibility import CHECKS, Plausibility
from vmmetrics.prompts.selection import AgainstRandom, Selection
from vmmetrics.prompts.statistics.measures import FIGURES, DiversityFigure, LemmaSource
from vmmetrics.prompts.statistics.report import ListComparison, ListStatistics, Spread
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.display.tables import DisplayTable, Lines, Part, heads

_EXAMPLES = 3
"""Flags shown per check; the JSON has all of them."""
_NAMED = 6
"""Values shown that the metadata lack."""
_MANY = {"noun": "nouns", "class": "classes", "action": "actions", "place": "places"}
_ACTIONS: Mapping[LemmaSource, str] = {
    "given": "the list's base forms",
    "parsed": "the parser's base forms",
    "words": "their words, base forms are not known",
}
_QUANTILES = ("shortest", "25th percentile", "median", "75th percentile", "longest")


def statistics_parts(statistics: ListStatistics) -> list[Part]:
    """Return the tables of a list's figures."""
    parts: list[Part] = [
        _grid(
            "patterns",
            f"{clean(statistics.name)}: {statistics.prompts:,} prompts",
            ("pattern", "prompts"),
            _patterns([statistics]),
        )
    ]
    if statistics.tags:
        rows = [
            (
                name,
                "  ".join(f"{value} {number} ({number / statistics.prompts:.0%})" for value, number in counts.items()),
            )
            for name, counts in statistics.tags.items()
        ]
        parts.append(_grid("tags", "tags", ("tag", "values"), rows, left=2))
    rows = [(figure.title, shown(figure, statistics.figures.get(figure.key))) for figure in FIGURES]
    rows.append(("prompts with a repeated text", str(statistics.repeats)))
    parts.append(_grid("variety", f"variety (actions by {_ACTIONS[statistics.actions]})", ("figure", "value"), rows))
    parts.append(_grid("lengths", "words of a prompt", ("length", "words"), _lengths([statistics])))
    if statistics.plausibility is not None:
        rows = [(words, _flagged(statistics.plausibility, check)) for check, words in CHECKS.items()]
        names = ("what is wrong", "of the prompts that can be checked")
        parts.append(_grid("plausibility", "against the metadata", names, rows))
        flags = [
            f"{clean(flag.index)} {check}: {clean(flag.reason)}"
            for check in CHECKS
            for flag in [flag for flag in statistics.plausibility.flags if flag.check == check][:_EXAMPLES]
        ]
        parts += [Lines("flags", "Examples", tuple(flags))] if flags else []
    return parts + _notes_part(_notes(statistics))


def comparison_parts(comparison: ListComparison) -> list[Part]:
    """Return the tables of two lists side by side, and of their figures at equal size."""
    both = (comparison.first, comparison.second)
    names = [clean(one.name) for one in both]
    rows = [("prompts", *(f"{one.prompts:,}" for one in both)), *_patterns(both), *_lengths(both)]
    rows += [(words, *(_flagged(one.plausibility, check) for one in both)) for check, words in CHECKS.items()]
    parts: list[Part] = [_grid("prompts", "all prompts", ("", *names), rows)]
    figures = [figure for figure in FIGURES if any(figure.key in one.figures for one in both)]
    rows = [(figure.title, *(shown(figure, one.figures.get(figure.key)) for one in both)) for figure in figures]
    parts.append(_grid("variety", "variety of all prompts", ("", *names), rows))
    rows = [
        (figure.title, _spread(figure, pair.first), _spread(figure, pair.second), f"{pair.more_varied:.0%}")
        for figure in FIGURES
        if (pair := comparison.figures.get(figure.key)) is not None
    ]
    title = f"variety at equal size: {comparison.size:,} prompts, mean and 95 % of random subsets"
    parts.append(_grid("equal-size", title, ("", *names, f"{names[0]} more varied"), rows))
    notes = [f"{clean(one.name)}: {note}" for one in both for note in _notes(one)]
    return parts + _notes_part([*comparison.notes, *notes])


def shown(figure: DiversityFigure, value: float | None) -> str:
    """Format a figure; "-" if it is not known."""
    if value is None or value != value:
        return "-"
    if figure.count:
        return f"{value:,.0f}"
    return f"{value:.1%}" if figure.key in ("openings", "skeletons") else f"{value:.3f}"


def _spread(figure: DiversityFigure, spread: Spread) -> str:
    value = shown(figure, spread.mean)
    if spread.draws == 1:
        return f"{value} (all)"
    return f"{value} [{shown(figure, spread.low)}, {shown(figure, spread.high)}]"


def _patterns(lists: Sequence[ListStatistics]) -> list[tuple[str, ...]]:
    names = dict.fromkeys(name for one in lists for name in one.patterns)
    counts = {name: [f"{one.patterns[name]:,}" if name in one.patterns else "-" for one in lists] for name in names}
    return [(name or "(no pattern)", *shown_counts) for name, shown_counts in counts.items()]


def _lengths(lists: Sequence[ListStatistics]) -> list[tuple[str, ...]]:
    rows = [
        (f"words: {words}", *(f"{one.lengths.quantiles[index]:.0f}" for one in lists))
        for index, words in enumerate(_QUANTILES)
    ]
    return [*rows, (f"of {SHORTEST} to {LONGEST} words", *(f"{one.lengths.within:.1%}" for one in lists))]


def _flagged(plausibility: Plausibility | None, check: str) -> str:
    if plausibility is None or not plausibility.judged[check]:
        return "unknown"
    return f"{plausibility.flagged(check):,} of {plausibility.judged[check]:,}"


def _notes(statistics: ListStatistics) -> list[str]:
    notes = list(statistics.notes)
    if statistics.plausibility is None:
        return notes
    for what, counts in statistics.plausibility.unknown.items():
        if counts:
            named = ", ".join(clean(value) for value in list(counts)[:_NAMED])
            more = ", ..." if len(counts) > _NAMED else ""
            values = f"1 {what}" if len(counts) == 1 else f"{len(counts)} {_MANY[what]}"
            notes.append(f"not in the metadata: {values} ({named}{more}), in {sum(counts.values()):,} of the prompts")
    loose = statistics.prompts - statistics.plausibility.strict
    if loose:
        notes.append(
            f"{loose:,} prompts do not name their subject's class: whether the class can do the action and whether "
            "the place offers what it needs cannot be checked; only bodies and habitats were, by the noun"
        )
    return notes


def _notes_part(notes: Iterable[str]) -> list[Part]:
    lines = tuple(notes)
    return [Lines("notes", "Notes", lines)] if lines else []


def _grid(key: str, title: str, names: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> DisplayTable:
    table = DisplayTable(key, title, "", heads(*names, texts=left))
    for row in rows:
        table.add(*row)
    return table


def selection_parts(selection: Selection, prompts: int) -> list[Part]:
    """Return the tables of a subset's figures next to those of random subsets of the same size and balance.

    Args:
        selection: The subset.
        prompts: Of the list it was chosen from.
    """
    patterns = ", ".join(f"{pattern} {number}" for pattern, number in selection.patterns.items())
    summary = f"{len(selection.places):,} of {prompts:,} prompts: {patterns or 'no patterns'}"
    names = ("chosen", f"{selection.random:,} random", "random 95 %", "random better")
    rows = [
        ("objective", *_cells(selection.objective)),
        *((name, *_cells(value)) for name, value in selection.parts.items()),
    ]
    parts: list[Part] = [
        Lines("chosen", "Chosen", (summary,)),
        _grid("objective", "objective: higher is better", ("term", *names), rows),
    ]
    if selection.mean_distance is None:
        return [*parts, *_notes_part(["no tags, so no proportions to compare with the list's"])]
    title = "distance to the list's proportions (total variation, 0 to 1): lower is better"
    rows = [(name, *_cells(value)) for name, value in selection.distances.items()]
    rows.append(("mean over tags", *_cells(selection.mean_distance)))
    return [*parts, _grid("distances", title, ("tag", *names), rows)]


def _cells(value: AgainstRandom) -> tuple[str, ...]:
    return f"{value.chosen:.3f}", f"{value.mean:.3f}", f"{value.low:.3f} to {value.high:.3f}", f"{value.better:.1%}"
