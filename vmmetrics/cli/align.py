"""``vmmetrics align``: scores against people's judgements."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, count_option, number_option, option, out_option, seed_option, share_option
from vmmetrics.cli.ratings import RatingsReading
from vmmetrics.cli.terminal import open_consoles, usage, warn
from vmmetrics.errors import VMMetricsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from vmmetrics.alignment.study import Study
    from vmmetrics.alignment.study_results import StudyReport
    from vmmetrics.utils.display.tables import Part


_MATCHING = "matching.json"
_NAMED = 5  # clips that the report names of those that only one side knows


Sources = Annotated[
    list[str],
    argument(
        "Run directories, tables with a clip column, or results of VBench, FETV-EVAL or EvalCrafter (NAME=PATH names "
        "one), then the ratings: a table, a released set, or 'vmbench' for VMBench's published scores.",
        metavar="SCORES... RATINGS",
    ),
]
Where = Annotated[list[str] | None, option("Use only clips where this holds; repeatable.", metavar="COLUMN=VALUE")]
GroupBy = Annotated[
    str | None, option("Report per value of this column, such as a category, or of 'model'.", "--group-by")
]
TiesOption = Annotated[
    Literal["half", "calibrated"],
    option("Preference accuracy: leave out people's ties, or count them with a calibrated threshold."),
]
MosOption = Annotated[
    Literal["mean", "recovered"],
    option("A clip's rating: the mean, or recovered with each rater's bias and noise taken out (ITU-T P.910)."),
]
Pair = Annotated[
    list[str] | None,
    option(
        "Choose which rating dimension a metric is compared with. Default: guessed from the names.",
        metavar="METRIC=DIMENSION[,...]",
    ),
]
Dimension = Annotated[
    list[str] | None, option("Evaluate only this column of ratings, even one that is skipped by its name; repeatable.")
]
ReportFolder = Annotated[
    Path | None, out_option("Folder for the report: HTML, JSON, CSV, Markdown, LaTeX and pictures.")
]
DryRun = Annotated[bool, option("Print how every column is read and which clips match; compute nothing.", "--dry-run")]


def align(
    sources: Sources,
    reading: RatingsReading,
    pair: Pair = None,
    metrics: Annotated[list[str] | None, option("Use only these metrics, with commas between; repeatable.")] = None,
    dimension: Dimension = None,
    exclude_model: Annotated[list[str] | None, option("Leave out a model, such as real footage; repeatable.")] = None,
    reference: Annotated[str | None, option("Compare every metric with this one.", metavar="METRIC")] = None,
    where: Where = None,
    group_by: GroupBy = None,
    ties: TiesOption = "half",
    mos: MosOption = "mean",
    resamples: Annotated[int | None, count_option("Bootstrap samples of prompts. Default: 1000.")] = None,
    seed: Annotated[int | None, seed_option("Random seed. Default: a fixed one.")] = None,
    out: ReportFolder = None,
    dry_run: DryRun = False,
    form: options.Format = "text",
) -> None:
    """Measure how well scores agree with people: pooled, within prompt, within model, and against human agreement.

    See docs/ratings-formats.md for the forms of ratings, and 'vmmetrics plan' for the size of a study.
    """
    from vmmetrics.alignment.readers.read import chosen_clips, columns_read, matched_study, read_sides
    from vmmetrics.alignment.report.text import column_tables
    from vmmetrics.alignment.study_report import align as compute
    from vmmetrics.alignment.study_report import reversed_dimensions, too_small, without_models
    from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED
    from vmmetrics.utils.storage.atomic import write_text
    from vmmetrics.utils.storage.job_folder import prepare

    if len(sources) < 2:
        raise typer.BadParameter("expected scores and then ratings: vmmetrics align SCORES... RATINGS")
    output, messages = open_consoles()
    pairing = _pairing(pair or [])
    stated, clip_column = reading.options(dimension or ()), reading.clip_column
    scores, judged = read_sides(sources[:-1], sources[-1], stated, pairing=pairing, metrics=_names(metrics))

    def matched() -> Study:
        return chosen_clips(matched_study(scores, judged, pairing, dimension or ()), sources, where or (), clip_column)

    if dry_run:
        columns = list(column_tables(columns_read(scores, judged)))
        _show_reading(columns, lambda: without_models(matched(), exclude_model or ()), form, output)
        return
    study = matched()
    groups = _groups(study, sources, group_by, clip_column, exclude_model or ())
    if out is not None:
        prepare(out, _MATCHING, (), "report")  # before the figures: a folder that cannot be written costs no waiting
    warn(messages, too_small(study))
    ask = partial(
        compute, resamples=resamples or RESAMPLES, seed=SEED if seed is None else seed, against=reference,
        directed=(*stated.higher, *stated.lower), ties=ties, mos=mos,
    )  # fmt: skip
    report = ask(study, exclude_models=exclude_model or ())
    warn(messages, reversed_dimensions(report))
    of_groups = {name: ask(part) for name, part in groups.items()}
    _print(report, of_groups, group_by or "", form, output)
    if out is not None:
        _write(out, study, report)
        if groups:
            write_text(out / "groups.csv", _groups_csv(of_groups, group_by or ""))
        messages.print(f"written: {out}/page.html, report.md, report.json, table.csv, table.tex, pictures")
    elif form == "text":
        messages.print("--out DIR writes all tables, claims and pictures", style="dim")
    matching = study.matching
    if max(len(matching.scores_only), len(matching.ratings_only)) > _NAMED:
        destination = f"--out DIR writes them to {_MATCHING}" if out is None else f"{out}/{_MATCHING}"
        messages.print(f"all unmatched clips: {destination}", soft_wrap=True)


def _show_reading(columns: Sequence[Part], matched: Callable[[], Study], form: str, output: Console) -> None:
    """Print how columns are read, then which clips match: how columns were read may say why none does."""
    from vmmetrics.alignment.report.text import study_parts

    if form == "text":
        print_result(form, columns, output)
    try:
        matches = study_parts(matched())
    except VMMetricsError:
        if form != "text":
            print_result(form, columns, output)
        raise
    print_result(form, matches if form == "text" else [*columns, *matches], output)


def _print(report: StudyReport, of_groups: dict[str, StudyReport], column: str, form: str, output: Console) -> None:
    from vmmetrics.alignment.report.tables import group_tables_of, report_parts
    from vmmetrics.alignment.report.text import print_report, to_csv

    tables = group_tables_of(of_groups, column)
    groups = {"groups": {name: one.to_json() for name, one in of_groups.items()}} if of_groups else {}
    print_result(
        form, [*report_parts(report), *tables], output,
        text=lambda: print_report(report, output, tables),
        data=lambda: report.to_json() | groups,
        csv=lambda: _groups_csv(of_groups, column) if of_groups else to_csv(report),
    )  # fmt: skip


def _groups(
    study: Study, sources: list[str], column: str | None, clip_column: str | None, left_out: Sequence[str]
) -> dict[str, Study]:
    from vmmetrics.alignment.readers.read import by_group, read_groups
    from vmmetrics.alignment.study_report import without_models

    if column is None:
        return {}
    selected = without_models(study, left_out)
    return by_group(selected, read_groups(selected, sources, column, clip_column), column)


def _groups_csv(reports: dict[str, StudyReport], column: str) -> str:
    from vmmetrics.alignment.report.text import CsvRow, csv_rows
    from vmmetrics.utils.display.markup import csv_text

    rows = ((name, *row) for name, report in reports.items() for row in csv_rows(report))
    return csv_text([(column, *CsvRow._fields), *rows])


def _names(texts: list[str] | None) -> list[str]:
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def _pairing(texts: list[str]) -> dict[str, list[str]]:
    pairing: dict[str, list[str]] = {}
    for text in texts:
        metric, equals, dimensions = text.partition("=")
        names = [name.strip() for name in dimensions.split(",") if name.strip()]
        if not equals or not metric.strip() or not names:
            raise typer.BadParameter(f"expected METRIC=DIMENSION but got {text!r}", param_hint="--pair")
        pairing.setdefault(metric.strip(), []).extend(names)
    return pairing


def _write(out: Path, study: Study, report: StudyReport) -> None:
    from tempfile import TemporaryDirectory

    from vmmetrics.alignment.report.charts import draw_charts, save_charts, to_svg
    from vmmetrics.alignment.report.text import to_csv, to_latex, to_markdown
    from vmmetrics.utils.storage.atomic import write_json, write_text
    from vmmetrics.viewer.study import to_html

    matched = [
        {"clip": clip, "prompt": prompt, "model": model}
        for clip, prompt, model in zip(study.clips, study.prompts, study.models, strict=True)
    ]
    only = {name: list(getattr(study.matching, name)) for name in ("scores_only", "ratings_only", "notes")}
    read = {"columns": study.matching.columns, "compared": study.pairing}
    write_json(
        out / _MATCHING, {"matched": matched, **only, **read}
    )  # first: by it the folder is ours, also after a kill
    write_text(out / "table.csv", to_csv(report))
    write_text(out / "report.md", to_markdown(report))
    write_text(out / "table.tex", to_latex(report))
    charts = draw_charts(study, report)
    drawn = {key: to_svg(figure) for key, figure in charts.items()}
    write_text(out / "page.html", to_html(study, report, drawn))
    write_json(out / "report.json", report.to_json())
    with TemporaryDirectory(prefix=".pictures-", dir=out) as beside:  # no half of a picture is ever seen
        for path, svg in zip(save_charts(charts, Path(beside)), drawn.values(), strict=True):
            write_text((out / path.name).with_suffix(".svg"), svg)
            path.replace(out / path.name)


# ``vmmetrics plan``: how many clips, prompts and raters a study of human alignment needs.

_RATERS = (1, 2, 3, 5, 10)


def plan(
    first: Annotated[float, number_option("Spearman of one metric with the mean of three raters.", -1, 1)] = 0.6,
    second: Annotated[float, number_option("Spearman of the other metric.", -1, 1)] = 0.7,
    raters: Annotated[list[int] | None, count_option("Raters per clip; repeatable. Default: 1, 2, 3, 5, 10.")] = None,
    clips_per_prompt: Annotated[int, count_option("Clips per prompt, each by another model.")] = 4,
    power: Annotated[float, share_option("Power: chance to detect the difference.")] = 0.8,
    between: Annotated[
        float | None, number_option("Spearman of the two metrics with each other. Default: first × second.", -1, 1)
    ] = None,
    form: options.Format = "text",
) -> None:
    """Print how many clips and ratings a study needs to tell two metrics apart."""
    from vmmetrics.alignment.power import plan_study
    from vmmetrics.utils.display.tables import DisplayTable, figure, heads

    output, _ = open_consoles()
    with usage():
        plans = [
            plan_study(first, second, raters=people, clips_per_prompt=clips_per_prompt, power=power, between=between)
            for people in raters or _RATERS
        ]
    title = f"To tell ρ = {first:g} from ρ = {second:g} with a power of {power:.0%}"
    middle = plans[len(plans) // 2]  # the notes differ in the numbers that the table has
    caption = f"With {middle.raters} raters: {middle.note}"
    columns = heads(
        "raters", "clips", "prompts", "ratings", "first ρ seen", "second", "smallest within-model ρ", texts=0
    )
    table = DisplayTable("plan", title, caption, columns)
    for row in plans:
        counts = (row.raters, row.clips, row.prompts, row.ratings)
        table.add(
            *(figure(value, str(value)) for value in counts), figure(row.first), figure(row.second),
            figure(row.smallest_within_model, why=row.note),
        )  # fmt: skip
    print_result(form, [table], output)
