"""Tables of an alignment report; :func:`report_parts` puts them in order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from vmmetrics.alignment.claims import hardly_varies, widest_claims
from vmmetrics.alignment.pair_alignments import LESS_MOTION
from vmmetrics.alignment.reference_values import MODEL_NAME, SINGLE_RATER
from vmmetrics.alignment.report.comparisons import comparison_parts
from vmmetrics.alignment.results import Agreement, PairAlignment
from vmmetrics.alignment.study import Study, with_averages
from vmmetrics.alignment.study_report import without_models
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.utils.display import tables as display
from vmmetrics.utils.display.markup import clean, shortened
from vmmetrics.utils.display.tables import DisplayCell, DisplayColumn, DisplayTable, heads, number
from vmmetrics.utils.statistics.bootstrap import Estimate, with_note

HUMAN = SINGLE_RATER
NAME_ONLY = MODEL_NAME
PROMPT_ONLY = "prompt alone"
_DISPUTED_SHOWN = 5
_WITH_INTERVAL = (1, 3, 4)  # of the figures of agreement: α ordinal and both ICC
_MODEL_LENGTH = 10  # characters of a model's name under a number: the table must fit 120 columns
_MAIN = {
    "n": "clips with a score and a rating",
    "ρ all clips": "Spearman over all clips",
    "ρ within model": "mean Spearman among clips of one model: telling models apart does not help, knowing which "
    "prompts are hard does",
    "ρ amplitude constant": "mean partial Spearman among clips of one model, amplitude held constant: preferring calm "
    "clips does not help",
    "ρ both out": "correlation of ranks with model and prompt both taken out",
    "ρ within prompt": "mean Spearman among clips of one prompt",
    "lowest ρ without a model": "lowest value when the clips of one model are left out",
    "model level": "Spearman of the models' means",
    "τb": "Kendall's rank correlation τ-b",
    "τc": "Kendall's τ-c, as FETV-EVAL and others print it",
    "r": "Pearson's correlation",
    "r fitted": "Pearson's correlation after a monotone logistic fit (VQEG); optimistic: see docs/alignment.md",
    "RMSE": "error of that fit, in the unit of the ratings",
    "shuffled": "ρ over all clips when ratings are shuffled inside each model",
}


def study_of(study: Study, report: StudyReport) -> Study:
    """Return the study on which the numbers of a report were computed, from the study passed to it.

    Args:
        study: What ``align`` was called with.
        report: What it returned.
    """
    left_out = set(report.settings.get("left out", ())) & set(study.models)
    return with_averages(replace(without_models(study, left_out), pairing=report.facing))[0]


def flat_settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield settings by name, those inside others as ``outer.inner``; lists with commas."""
    for name, setting in settings.items():
        if isinstance(setting, Mapping):
            yield from ((f"{name}.{inner}", value) for inner, value in setting.items())
        elif isinstance(setting, list | tuple):
            yield name, ", ".join(map(str, setting))
        else:
            yield name, setting


_BRIEF_METRICS = 12
"""Maximum rows of metrics on a terminal over all dimensions; at least three per dimension."""


def brief_parts(report: StudyReport) -> list[display.Part]:
    """Return what a terminal shows: the claims, then a table with a line per metric for each dimension."""
    matched = matching_lines(report)
    words_lines = (line for line in matched.lines if _WORDS_READ in line)
    shown = tuple(dict.fromkeys([*matched.lines[:_MATCHING_SHOWN], *words_lines]))
    if more := len(matched.lines) - len(shown):
        shown += (f"and {_of(more, 'more line')} in the written report",)
    parts: list[display.Part] = [replace(matched, lines=shown)]
    if report.claims:
        claims = widest_claims(report, brief=True)
        parts.append(display.Lines("claims", "What the data support", tuple(map(clean, claims))))
    dimensions = dimensions_of(report)
    most = max(3, _BRIEF_METRICS // max(1, len(dimensions)))
    return [*parts, *(brief_table(report, dimension, most) for dimension in dimensions)]


_MATCHING_SHOWN = 6
_WORDS_READ = "words read as"  # which the figures depend on, so that it is on every screen
_LEVELS = ("ρ all clips", "ρ within model", "ρ amplitude constant", "ρ both out", "ρ within prompt")


def brief_table(report: StudyReport, dimension: str, most: int) -> DisplayTable:
    """Return the best metrics of a dimension and their reference values, a line each."""
    columns = heads("metric", *(DisplayColumn(name, hint=_MAIN[name]) for name in ("n", *_LEVELS[:-1], "τb")))
    pairs = report.ranked(dimension)
    caption = (
        "Spearman's ρ [95 % interval]; amplitude constant: partial ρ within models, given the amount of motion; both "
        "out: model and prompt taken out."
    )
    if len(pairs) > most:
        caption += f" The first {most} of {len(pairs)} metrics."
    table = DisplayTable(f"brief-{dimension}", f"Against {clean(dimension)}", caption, columns)
    calm = [pair for pair in report.less_motion if pair.dimension == dimension]
    for pair in [*pairs[:most], *calm]:
        figures = (pair.spearman, pair.within_model.mean, pair.amplitude_constant, pair.without_both)
        cells = [*map(_one_line, figures), number(pair.kendall_b.value)]
        if hardly_varies(pair):
            cells = ["too few distinct values"]
        table.add(pair.metric, display.count(pair.spearman.n), *cells, reference=pair in calm)
    for name, at_level in _reference_rows(report, dimension):
        cells = [_one_line(at_level[column]) if column in at_level else "" for column in _LEVELS[:-1]]
        table.add(name, "", *cells, reference=True)
    return table


def _reference_rows(report: StudyReport, dimension: str) -> Iterator[tuple[str, dict[str, Estimate]]]:
    """Yield what the metrics on a dimension are read against: name and figures by column of :data:`_LEVELS`."""
    overall, in_model, calm, both_out, in_prompt = _LEVELS
    for top in (top for top in report.ceilings if top.dimension == dimension):
        rest = {calm: top.amplitude_constant, both_out: top.without_both, in_prompt: top.within_prompt}
        yield HUMAN, {overall: top.overall, in_model: top.within_model, **rest}
    for base in (base for base in report.baselines if base.dimension == dimension):
        yield NAME_ONLY, {overall: base.overall, in_prompt: base.within_prompt}  # inside a model it says nothing
    for known in (known for known in report.prompt_baselines if known.dimension == dimension):
        yield PROMPT_ONLY, {overall: known.overall, in_model: known.within_model}


def _one_line(estimate: Estimate) -> str:
    return f"{number(estimate.value)} {display.bounds(estimate.low, estimate.high)}".strip()


def report_parts(report: StudyReport) -> list[display.Part]:
    """Return all parts of the report in reading order."""
    parts: list[display.Part] = [matching_lines(report)]
    if report.claims:
        parts.append(display.Lines("claims", "What the data support", tuple(map(clean, report.claims))))
    parts += [main_table(report, dimension) for dimension in dimensions_of(report)]
    parts += people_parts(report)
    parts += comparison_parts(report)
    if report.problems:
        parts.append(display.Lines("problems", "What could not be computed", tuple(map(clean, report.problems))))
    return parts


def dimensions_of(report: StudyReport) -> list[str]:
    """Return the dimensions in the order of their metrics, then those that have only ratings."""
    dimensions: dict[str, None] = {}
    for group in (report.alignments, report.baselines, report.ceilings):
        dimensions |= dict.fromkeys(part.dimension for part in group)
    return list(dimensions)


def matching_lines(report: StudyReport) -> display.Lines:
    """Return lines on what was matched, and which score is compared with which dimension."""
    head = f"{_of(report.clips, 'clip')}, {_of(report.prompts, 'prompt')}, {_of(report.models, 'model')}"
    by_dimensions: dict[tuple[str, ...], list[str]] = {}
    for metric, dimensions in report.facing.items():
        by_dimensions.setdefault(tuple(dimensions), []).append(metric)
    paired = "; ".join(
        clean(f"{', '.join(metrics)} → {', '.join(dimensions) or 'nothing'}")
        for dimensions, metrics in by_dimensions.items()
    )
    lines = [head, *([f"compared with: {paired}"] if paired else [])]
    lines += map(clean, (*report.matching, *report.settings.get("averages", ())))
    return display.Lines("matching", "Matched", tuple(lines))


def main_table(report: StudyReport, dimension: str) -> DisplayTable:
    """Return every metric on a dimension, the best with both out first, and its reference values."""
    caption = (
        "Spearman's ρ with the mean rating [95 % interval over prompts]. Read the metrics against the last rows: "
        f"“{LESS_MOTION}” prefers the clip of smaller amplitude; "
        f"“{HUMAN}” is one rater against the mean of the others (one fewer than for the metrics, so slightly low); "
        f"“{NAME_ONLY}” is a model's mean rating over the other half of the prompts, “{PROMPT_ONLY}” the other models' "
        "mean rating of the same prompt, both without reading the clip. "
        "Shuffled: ratings shuffled inside each model [95 % of the shuffles]."
    )
    columns = heads("metric", *(DisplayColumn(name, hint=hint) for name, hint in _MAIN.items()))
    table = DisplayTable(f"alignment-{dimension}", f"Against {clean(dimension)}", caption, columns)
    calm = [pair for pair in report.less_motion if pair.dimension == dimension]
    for pair in [*report.ranked(dimension), *calm]:
        inside = pair.within_model.mean
        if inside.value is not None and inside.n != report.models:
            inside = with_note(inside, f"over {_of(inside.n, 'model')} of {report.models}")
        table.add(
            pair.metric,
            DisplayCell(display.count(pair.spearman.n), "", table.mark(_remark(pair))),
            table.estimate(pair.spearman),
            table.estimate(inside),
            *map(table.estimate, (pair.amplitude_constant, pair.without_both, pair.within_prompt.mean)),
            _lowest(pair.without_model, table),
            *(
                table.estimate(e, interval=False)
                for e in (pair.model_level, pair.kendall_b, pair.kendall_c, pair.pearson)
            ),
            *map(number, (pair.fitted_pearson, pair.rmse)),
            table.estimate(pair.shuffled),  # with its spread: the mean alone would hide how far chance reaches
            reference=pair in calm,
        )
    for name, at_level in _reference_rows(report, dimension):
        cells = [table.estimate(at_level[column]) if column in at_level else "" for column in _LEVELS]
        table.add(name, "", *cells, reference=True)
    return table


def _remark(pair: PairAlignment) -> str | None:
    """Return why a row says less than others: clips without a score, few distinct values."""
    remarks = [f"{_of(pair.missing, 'rated clip')} without a score"] if pair.missing else []
    if hardly_varies(pair):
        remarks.append(
            f"{_of(pair.off_mode, 'clip')} with a {pair.rarest} other than the commonest: too few for a claim"
        )
    return "; ".join(remarks) or None


def _lowest(without: Mapping[str, Estimate], table: DisplayTable) -> DisplayCell:
    values = {model: e.value for model, e in without.items() if e.value is not None}
    if not values:
        reasons = [e.note for e in without.values() if e.note]
        return DisplayCell(display.NONE, "", table.mark(reasons[0] if reasons else "no models are known"))
    model = min(values, key=lambda m: values[m])
    return DisplayCell(number(values[model]), f"({shortened(clean(model), _MODEL_LENGTH)})")


def people_parts(report: StudyReport) -> list[display.Part]:
    """Return tables on inter-rater agreement, outlying raters and disputed clips."""
    if not report.agreements:
        return []
    by_dimension = {human.dimension: human for human in report.ceilings}
    caption = (
        "Krippendorff's α, intraclass correlation of one rater (2,1) and of the mean of all (2,k), Cohen's κ (mean "
        "over pairs; weighted: quadratic), Fleiss' κ; split half: ρ of the means of two halves of the raters, and "
        "stepped up to all of them (Spearman-Brown), the reliability of the mean rating."
    )
    columns = heads(
        *("dimension", "α nominal", "α ordinal", "α interval", "ICC (2,1)", "ICC (2,k)", "κ Cohen", "κ weighted"),
        *("κ Fleiss", "split half", "mean's reliability"),
    )
    table = DisplayTable("agreement", "Agreement between raters", caption, columns)
    for each in report.agreements:
        human, none = by_dimension.get(each.dimension), Estimate(None)
        halves = (human.split_half, human.split_half_full) if human is not None else (none, none)
        figures = (
            *(each.alpha_nominal, each.alpha_ordinal, each.alpha_interval, each.icc_single, each.icc_mean),
            *(each.cohen, each.cohen_weighted, each.fleiss, *halves),
        )
        shown = (table.estimate(e, interval=column in _WITH_INTERVAL) for column, e in enumerate(figures))
        table.add(each.dimension, *shown)
    lines = [line for agreement in report.agreements for line in _people_lines(agreement)]
    return [table, display.Lines("people", "Outlying raters and disputed clips", tuple(lines))] if lines else [table]


def _people_lines(agreement: Agreement) -> Iterable[str]:
    dimension = clean(agreement.dimension)
    for rater in agreement.outlying:
        figures = f"ρ {number(rater.correlation)} with their mean, {number(rater.bias)} from it"
        yield f"{dimension}: {clean(rater.rater)} disagrees with the other raters ({figures}): {clean(rater.reason)}"
    shown = [
        f"{clean(clip.clip)} ({', '.join(f'{rating:g}' for rating in clip.ratings)})"
        for clip in agreement.disputed[:_DISPUTED_SHOWN]
    ]
    if shown:
        rest = agreement.disputed[len(shown) :]
        tied = rest and math.isclose(rest[0].spread, agreement.disputed[len(shown) - 1].spread)
        more = ", and as much on others" if tied else ""
        yield f"{dimension}: people disagree most on {'; '.join(shown)}{more}"


def group_tables(report: StudyReport) -> list[DisplayTable]:
    """Return the tables behind the averages: ρ within each model, and without each model."""
    tables = []
    for dimension in dimensions_of(report):
        calm = [pair for pair in report.less_motion if pair.dimension == dimension]
        pairs = [*report.ranked(dimension), *calm]
        models = sorted({model for pair in pairs for model in pair.within_model.groups})
        for key, title in (("within", "ρ within each model"), ("without", "ρ without each model")) if models else ():
            columns = heads("metric", *map(clean, models))
            table = DisplayTable(f"{key}-{dimension}", f"{title}: {clean(dimension)}", "", columns)
            for pair in pairs:
                by_model = pair.within_model.groups if key == "within" else pair.without_model
                table.add(
                    pair.metric,
                    *(table.estimate(by_model.get(model, Estimate(None))) for model in models),
                    reference=pair in calm,
                )
            tables.append(table)
    return tables


def group_tables_of(reports: Mapping[str, StudyReport], column: str) -> list[DisplayTable]:
    """Return ρ over all clips of each value of a column, a table per dimension."""
    per_dimension = []
    for dimension in dict.fromkeys(name for report in reports.values() for name in dimensions_of(report)):
        names = (f"{group} ({report.clips})" for group, report in reports.items())
        table = DisplayTable(
            f"groups-{dimension}",
            f"Against {clean(dimension)} by {clean(column)}",
            "Spearman's ρ over all clips of each value (with so many clips), with its 95 % interval.",
            heads("metric", *map(clean, names)),
        )
        by_metric = [{p.metric: p.spearman for p in r.alignments if p.dimension == dimension} for r in reports.values()]
        for metric in dict.fromkeys(name for of_group in by_metric for name in of_group):
            table.add(metric, *(table.estimate(of_group.get(metric, Estimate(None))) for of_group in by_metric))
        per_dimension.append(table)
    return per_dimension


def _of(number_of: int, thing: str) -> str:
    return f"{number_of:,} {thing}{'' if number_of == 1 else 's'}"
