"""Alignment reports as text: on a terminal, in Markdown, in LaTeX, and as one long CSV with every number in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vmmetrics.alignment.report.tables import brief_parts, flat_settings, report_parts
from vmmetrics.alignment.results import Grouped
from vmmetrics.utils.display import tables
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.statistics.bootstrap import Estimate

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.alignment.models import ModelFigures
    from vmmetrics.alignment.results import Ablation
    from vmmetrics.alignment.study_results import StudyReport


from vmmetrics.alignment.study import Study
from vmmetrics.utils.display.markup import clean, listed
from vmmetrics.utils.display.tables import DisplayTable, Lines, Part, heads


def print_report(report: StudyReport, console: Console, more: Sequence[tables.DisplayTable] = ()) -> None:
    """Print the short form of a report: what was matched, what the data support, a line per metric, what is missing.

    Args:
        report: The report.
        console: Where; the tables fit 120 columns.
        more: Tables to print after it.
    """
    tables.print_parts(brief_parts(report), console)
    if report.problems:
        lacking = f"{len(report.problems)} line{'s' * (len(report.problems) != 1)} of what could not be computed"
        console.print(f"{lacking}: in the written report", style="dim")
    tables.print_parts(more, console)


def to_markdown(report: StudyReport) -> str:
    """Return the report in GitHub's Markdown."""
    return "\n".join(map(tables.to_markdown, report_parts(report)))


def to_latex(report: StudyReport) -> str:
    """Return a ``tabular`` with booktabs rules per table; everything else as comments."""
    return "\n".join(map(tables.to_latex, report_parts(report)))


class CsvRow(NamedTuple):
    """One statistic.

    Attributes:
        section: Which part of the report.
        metric: Metric or combination, "first - second" for a difference; empty where it is of people alone.
        dimension: Dimension.
        statistic: Its name, a field of the report.
        group: Model, prompt, rater, clip or metric that it is of; empty for all.
        value: The number.
        low: Lower end of its interval.
        high: Upper end.
        p: Its p value.
        n: What it rests on.
        note: In words: why there is no value, or what it says.
    """

    section: str
    metric: str = ""
    dimension: str = ""
    statistic: str = ""
    group: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int | None = None
    note: str | None = None


def to_csv(report: StudyReport) -> str:
    """Return one row per statistic, sentences and settings as notes; columns as in :class:`CsvRow`."""
    return csv_text([CsvRow._fields, *csv_rows(report)])


def csv_rows(report: StudyReport) -> Iterator[CsvRow]:
    """Yield the rows of :func:`to_csv`."""
    for name in ("clips", "prompts", "models"):
        yield CsvRow("study", statistic=name, value=getattr(report, name))
    for metric, dimensions in report.facing.items():
        yield from (CsvRow("facing", metric, dimension) for dimension in dimensions)
    sections = {
        "alignment": report.alignments, "name_baseline": report.baselines, "prompt_baseline": report.prompt_baselines,
        "less_motion": report.less_motion, "difference": report.differences,
    }  # fmt: skip
    for section, parts in sections.items():
        for part in parts:
            names = [getattr(part, name, "") for name in ("metric", "first", "second")]
            yield from _figures(section, " - ".join(filter(None, names)), part)
    for human in report.ceilings:
        yield from _figures("ceiling", "", replace(human, raters={}))
        for rater, value_ in human.raters.items():
            yield CsvRow("ceiling", "", human.dimension, "rater", rater, *astuple(value_))
    for agreement in report.agreements:
        yield from _figures("agreement", "", replace(agreement, recovered={}))
        key = ("agreement", "", agreement.dimension)
        for person in agreement.outlying:
            yield CsvRow(*key, "outlying_correlation", person.rater, person.correlation, note=person.reason)
            yield CsvRow(*key, "outlying_bias", person.rater, person.bias, note=person.reason)
        for metric, (mean, recovered) in agreement.recovered.items():
            yield CsvRow("agreement", metric, agreement.dimension, "spearman_with_mean", value=mean)
            yield CsvRow("agreement", metric, agreement.dimension, "spearman_with_recovered", value=recovered)
        for clip in agreement.disputed:
            ratings = " ".join(f"{rating:g}" for rating in clip.ratings)
            yield CsvRow(*key, "disputed_spread", clip.clip, clip.spread, n=len(clip.ratings), note=ratings)
    for accuracy in report.preferences:
        yield from _figures("preference", accuracy.name, accuracy, accuracy.rule)
    for ablation in report.ablations:
        yield from _ablation(ablation)
    for models in report.models_ranked:
        yield from _models(models)
    matrix = report.matrix
    for i, first in enumerate(matrix.names):
        for j, second in enumerate(matrix.names[: i + 1]):
            value = None if np.isnan(matrix.values[i, j]) else float(matrix.values[i, j])
            kind = "human" if j >= matrix.metrics else "metric" if i < matrix.metrics else "metric and human"
            yield CsvRow("matrix", first, second, f"spearman, {kind}", value=value, n=int(matrix.counts[i, j]))
    for power in report.powers:
        yield from _figures("power", "", replace(power, raters={}), power.note)
        for raters, clips in power.raters.items():
            yield CsvRow("power", "", power.dimension, "clips_with_raters", str(raters), clips, note=power.note)
    for section in ("matching", "claims", "problems"):
        for number, line in enumerate(getattr(report, section), 1):
            yield CsvRow(section, statistic=str(number), note=line)
    for name, setting in flat_settings(report.settings):
        is_number = isinstance(setting, int | float) and not isinstance(setting, bool)
        yield CsvRow("settings", statistic=name, **({"value": setting} if is_number else {"note": str(setting)}))


def _figures(section: str, metric: str, part: Any, note: str | None = None) -> Iterator[CsvRow]:
    """Yield the estimates and numbers of a part of a report in the order of its fields; of groups the mean first."""
    for field in fields(part):
        value = getattr(part, field.name)
        key = (section, metric, part.dimension, field.name)
        if isinstance(value, Grouped):
            yield CsvRow(*key, "", *astuple(value.mean))
            value = value.groups
        if isinstance(value, Estimate):
            yield CsvRow(*key, "", *astuple(value))
        elif isinstance(value, Mapping):
            yield from (CsvRow(*key, group, *astuple(estimate)) for group, estimate in value.items())
        elif value is None or isinstance(value, int | float):
            yield CsvRow(*key, value=value, note=note)


def _models(figures: ModelFigures) -> Iterator[CsvRow]:
    def row(metric: str, statistic: str, group: str, estimate: Estimate) -> CsvRow:
        return CsvRow("models", metric, figures.dimension, statistic, group, *astuple(estimate))

    for model in figures.wins.models:
        yield row("", "win_ratio", model.model, model.people)
        for metric, estimate in model.metrics.items():
            yield row(metric, "win_ratio", model.model, estimate)
    for strength in figures.strengths.models:
        yield row("", "bradley_terry", strength.model, strength.strength)
    for agreement in figures.wins.agreements:
        yield row(agreement.metric, "win_ratio_spearman", "", agreement.spearman)
        yield row(agreement.metric, "win_ratio_pearson", "", agreement.pearson)
    for metric, estimate in figures.soft_pairwise.items():
        yield row(metric, "soft_pairwise_accuracy", "", estimate)


def _ablation(ablation: Ablation) -> Iterator[CsvRow]:
    key = ("ablation", ablation.combination, ablation.dimension)
    figures = [("all", "", ablation.full)]
    figures += [("without", metric, figure) for metric, figure in ablation.left_out.items()]
    for step, metric, figure in figures:
        for name in ("accuracy", "spearman", "within_model"):
            yield CsvRow(*key, f"{step}: {name}", metric, *astuple(getattr(figure, name)))
    for metric, weight in ablation.weights.items():
        yield CsvRow(*key, "weight", metric, weight)


# How files were read and matched: the output of ``vmmetrics align --dry-run``.

_EXAMPLES = 5  # clips that one side alone has
_MOST_COLUMNS = 60  # of a source


def column_tables(columns: Mapping[str, Mapping[str, str]]) -> Iterator[DisplayTable]:
    """Yield tables of how each column was read, one for each source.

    Args:
        columns: Source to its columns and how each was read, as in :class:`vmmetrics.alignment.study.Matching`.
    """
    for number, (source, roles) in enumerate(columns.items()):
        if not roles:
            continue
        shown = DisplayTable(
            f"columns-{number}", f"Columns of {clean(source)}", "", heads("column", "read as", texts=2)
        )
        for column, role in list(roles.items())[:_MOST_COLUMNS]:
            shown.add(column or "(no name)", role)
        if (more := len(roles) - _MOST_COLUMNS) > 0:
            shown.add(f"and {more} more", "")
        yield shown


def study_parts(study: Study) -> list[Part]:
    """Return what matches, and which metric is compared with which dimension of ratings.

    Args:
        study: The matched data.
    """
    matching = study.matching
    models, prompts = (len(set(names) - {""}) for names in (study.models, study.prompts))
    of_models = f"{models} model{'s' * (models != 1)}" if models else "models not known"
    lines = [f"{len(study.clips)} clips with a score and a rating, {prompts} prompts, {of_models}"]
    for what, names in (("scores", matching.scores_only), ("ratings", matching.ratings_only)):
        lines += [f"{len(names)} clips only in the {what}: {listed(names, _EXAMPLES)}"] if names else []
    parts: list[Part] = [Lines("matching", "Matched", tuple(map(clean, (*lines, *matching.notes))))]
    compared = DisplayTable(
        "facing", "Compared", "", heads("metric", "dimension", "clips with both", "raters", texts=2)
    )  # pairs have no clips of their own
    for metric, dimensions in study.pairing.items():
        for dimension in dimensions:
            compared.add(metric, dimension, *_sizes(study, metric, dimension))
    not_compared = [metric for metric in study.scores if metric not in study.pairing]
    compared.notes += [f"Not compared: {', '.join(not_compared)} (--pair METRIC=DIMENSION)"] if not_compared else []
    return [*parts, compared]


def _sizes(study: Study, metric: str, dimension: str) -> tuple[str, str]:
    """Return how many clips have both, and how many people rated or compared them."""
    scored = np.isfinite(study.scores[metric])
    if dimension in study.ratings:
        rated = np.isfinite(study.ratings[dimension])
        people = rated.shape[1] if study.raters.get(dimension) else 0
        return str(int((scored & rated.any(axis=1)).sum())), str(people) if people else "averaged"
    pairs = study.preferences[dimension]
    both = scored[pairs.left] & scored[pairs.right]
    return f"{int(both.sum())} pairs", str(len(set(pairs.raters) - {""}) or "not named")
