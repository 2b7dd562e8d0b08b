"""What an alignment report says of metrics and of people, as tables; :func:`report_parts` puts them in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    listed,
    named,
    number,
)
from vmmetrics.alignment.report.comparisons import comparison_parts
from vmmetrics.alignment.results import Agreement, Ceiling, NameBaseline, PairAlignment, StudyReport
from vmmetrics.utils.display.markup import clean, shortened
from vmmetrics.utils.statistics.bootstrap import Estimate

HUMAN = "single rater"
NAME_ONLY = "model's name"
_DISPUTED_SHOWN = 5
_MODEL_LENGTH = 10  # characters of a model's name under a number: the table must fit 120 columns
_MAIN = (
    Column("metric", number=False),
    Column("n", hint="clips with a score and a rating"),
    Column("ρ all clips", hint="Spearman over all clips"),
    Column("ρ within model", hint="mean Spearman among clips of one model: recognising the model wins nothing here"),
    Column("ρ within prompt", hint="mean Spearman among clips of one prompt"),
    Column("lowest ρ without a model", hint="all clips but those of one model, the model whose absence costs most"),
    Column("model level", hint="Spearman of the models' means"),
    Column("τb", hint="Kendall's rank correlation"),
    Column("r", hint="Pearson's correlation"),
    Column("shuffled", hint="ρ over all clips when ratings are shuffled inside each model: the worth of knowing it"),
)


def report_parts(report: StudyReport) -> list[Part]:
    """Everything people are shown, in the order of reading."""
    parts: list[Part] = [matching_lines(report)]
    parts += [main_table(report, dimension) for dimension in dimensions_of(report)]
    parts += people_parts(report)
    parts += comparison_parts(report)
    for key, title, lines in (
        ("claims", "What the data supports", report.claims),
        ("problems", "What could not be computed", report.problems),
    ):
        if lines:
            parts.append(Lines(key, title, tuple(map(clean, lines))))
    return parts


def dimensions_of(report: StudyReport) -> list[str]:
    """Dimensions in the order in which metrics face them, then those that only people speak of."""
    found: dict[str, None] = {}
    for group in (report.alignments, report.baselines, report.ceilings):
        found |= dict.fromkeys(part.dimension for part in group)
    return list(found)


def matching_lines(report: StudyReport) -> Lines:
    """What was matched, and which score faces which dimension."""
    head = f"{_of(report.clips, 'clip')}, {_of(report.prompts, 'prompt')}, {_of(report.models, 'model')}"
    by_dimensions: dict[tuple[str, ...], list[str]] = {}
    for metric, dimensions in report.facing.items():
        by_dimensions.setdefault(tuple(dimensions), []).append(metric)
    faces = "; ".join(
        f"{listed(metrics, len(metrics))} → {listed(dimensions, len(dimensions)) or 'nothing'}"
        for dimensions, metrics in by_dimensions.items()
    )
    lines = [head, *map(clean, report.matching), *([f"held against: {faces}"] if faces else [])]
    lines += map(clean, report.settings.get("averages", ()))
    return Lines("matching", "Matched", tuple(lines))


def main_table(report: StudyReport, dimension: str) -> Table:
    """Every metric that faces a dimension, the best within model first, and what to read it against."""
    notes = Footnotes()
    rows = [_metric_row(pair, notes) for pair in ranked(report, dimension)]
    rows += [_ceiling_row(ceiling, notes) for ceiling in report.ceilings if ceiling.dimension == dimension]
    rows += [_baseline_row(baseline, notes) for baseline in report.baselines if baseline.dimension == dimension]
    caption = (
        "Spearman's ρ with the mean rating [95 % interval over prompts]. Read the metrics against the rows below the "
        f"rule: “{HUMAN}” is one person against the mean of the others, what a person reaches; “{NAME_ONLY}” guesses a "
        "clip's rating from its model's other clips without opening it."
    )
    title = f"Against {clean(dimension)}"
    return Table(f"alignment-{dimension}", title, caption, _MAIN, tuple(rows), tuple(notes.notes))


def ranked(report: StudyReport, dimension: str) -> list[PairAlignment]:
    """The metrics that face a dimension: best within model first, then best over all clips, those without last.

    Metrics that score under half of the clips come after the others: the best of a handful is no best.
    """
    return sorted(
        (pair for pair in report.alignments if pair.dimension == dimension),
        key=lambda pair: (
            pair.missing > pair.spearman.n,
            _descending(pair.within_model.mean),
            _descending(pair.spearman),
            pair.metric,
        ),
    )


def _descending(estimate: Estimate) -> tuple[bool, float]:
    return estimate.value is None, -(estimate.value or 0.0)


def _metric_row(pair: PairAlignment, notes: Footnotes) -> Row:
    missing = f"{_of(pair.missing, 'rated clip')} without a score" if pair.missing else None
    return Row(
        (
            named(pair.metric),
            Cell(count(pair.spearman.n), "", notes.mark(missing)),
            notes.estimate(pair.spearman),
            notes.estimate(pair.within_model.mean),
            notes.estimate(pair.within_prompt.mean),
            _lowest(pair.without_model, notes),
            notes.estimate(pair.model_level, interval=False),
            notes.estimate(pair.kendall_b, interval=False),
            notes.estimate(pair.pearson, interval=False),
            _shuffled(pair.shuffled, notes),
        )
    )


def _lowest(without: Mapping[str, Estimate], notes: Footnotes) -> Cell:
    known = {model: e.value for model, e in without.items() if e.value is not None}
    if not known:
        reasons = [e.note for e in without.values() if e.note]
        return Cell(NONE, "", notes.mark(reasons[0] if reasons else "no models are known"))
    model = min(known, key=lambda m: known[m])
    return Cell(number(known[model]), f"({shortened(clean(model), _MODEL_LENGTH)})")


def _shuffled(estimate: Estimate, notes: Footnotes) -> Cell:
    # the spread of the shuffles is what matters: their mean alone would hide how far chance reaches
    return notes.estimate(estimate)


def _ceiling_row(ceiling: Ceiling, notes: Footnotes) -> Row:
    return _reference_row(HUMAN, ceiling.overall, ceiling.within_model, ceiling.within_prompt, notes)


def _baseline_row(baseline: NameBaseline, notes: Footnotes) -> Row:
    # inside a model the name says nothing, by construction
    return _reference_row(NAME_ONLY, baseline.overall, None, baseline.within_prompt, notes)


def _reference_row(
    name: str, overall: Estimate, within_model: Estimate | None, within_prompt: Estimate, notes: Footnotes
) -> Row:
    within = Cell() if within_model is None else notes.estimate(within_model)
    cells = (Cell(name), Cell(), notes.estimate(overall), within, notes.estimate(within_prompt))
    return Row((*cells, *[Cell()] * (len(_MAIN) - len(cells))), reference=True)


def people_parts(report: StudyReport) -> list[Part]:
    """How far raters agree, who parts from the others, and on which clips."""
    if not report.agreements:
        return []
    ceilings = {ceiling.dimension: ceiling for ceiling in report.ceilings}
    notes = Footnotes()
    rows = [_people_row(agreement, ceilings.get(agreement.dimension), notes) for agreement in report.agreements]
    caption = (
        "Krippendorff's α, intraclass correlation of one rater (2,1) and of the mean of all (2,k), Cohen's κ (mean "
        "over pairs; weighted: quadratic), Fleiss' κ; split half: ρ of the means of two halves of the raters, and "
        "stepped up to all of them (Spearman-Brown), the reliability of the mean rating."
    )
    table = Table("agreement", "Agreement between raters", caption, _PEOPLE, tuple(rows), tuple(notes.notes))
    lines = [line for agreement in report.agreements for line in _people_lines(agreement)]
    return [table, Lines("people", "Raters and clips apart", tuple(lines))] if lines else [table]


_PEOPLE = (
    Column("dimension", number=False),
    Column("α nominal"),
    Column("α ordinal"),
    Column("α interval"),
    Column("ICC (2,1)"),
    Column("ICC (2,k)"),
    Column("κ Cohen"),
    Column("κ weighted"),
    Column("κ Fleiss"),
    Column("split half"),
    Column("mean's reliability"),
)


def _people_row(agreement: Agreement, ceiling: Ceiling | None, notes: Footnotes) -> Row:
    halves = [Cell(NONE)] * 2
    if ceiling is not None:
        halves = [notes.estimate(e, interval=False) for e in (ceiling.split_half, ceiling.split_half_full)]
    return Row(
        (
            named(agreement.dimension),
            notes.estimate(agreement.alpha_nominal, interval=False),
            notes.estimate(agreement.alpha_ordinal),
            notes.estimate(agreement.alpha_interval, interval=False),
            notes.estimate(agreement.icc_single),
            notes.estimate(agreement.icc_mean),
            notes.estimate(agreement.cohen, interval=False),
            notes.estimate(agreement.cohen_weighted, interval=False),
            notes.estimate(agreement.fleiss, interval=False),
            *halves,
        )
    )


def _people_lines(agreement: Agreement) -> Iterable[str]:
    dimension = clean(agreement.dimension)
    for rater in agreement.outlying:
        told = f"ρ {number(rater.correlation)} with their mean, {number(rater.bias)} from it"
        yield f"{dimension}: {clean(rater.rater)} parts from the other raters ({told}): {clean(rater.reason)}"
    shown = [
        f"{clean(clip.clip)} ({', '.join(f'{rating:g}' for rating in clip.ratings)})"
        for clip in agreement.disputed[:_DISPUTED_SHOWN]
    ]
    if shown:
        yield f"{dimension}: people disagree most on {'; '.join(shown)}"


def group_tables(report: StudyReport) -> list[Table]:
    """What the main tables average: ρ within each model, and without each model; for those who want to look closer."""
    tables = []
    for dimension in dimensions_of(report):
        pairs = ranked(report, dimension)
        models = sorted({model for pair in pairs for model in pair.within_model.groups})
        columns = (Column("metric", number=False), *(Column(clean(model)) for model in models))
        for key, title in (("within", "ρ within each model"), ("without", "ρ without each model")):
            notes = Footnotes()
            rows = []
            for pair in pairs:
                found = pair.within_model.groups if key == "within" else pair.without_model
                cells = [notes.estimate(found[model]) if model in found else Cell(NONE) for model in models]
                rows.append(Row((named(pair.metric), *cells)))
            if models:
                name = f"{title}: {clean(dimension)}"
                tables.append(Table(f"{key}-{dimension}", name, "", columns, tuple(rows), tuple(notes.notes)))
    return tables


def _of(number_of: int, thing: str) -> str:
    return f"{number_of:,} {thing}{'' if number_of == 1 else 's'}"
