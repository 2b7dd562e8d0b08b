"""``vmmetrics align``: scores against people's judgements."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vmmetrics.cli.options import argument, count_option, number_option, option, seed_option, share_option
from vmmetrics.cli.tables import number, table
from vmmetrics.cli.terminal import open_consoles, usage, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from vmmetrics.alignment.results import StudyReport
    from vmmetrics.alignment.study import Study


_MATCHING = "matching.json"
_NAMED = 5  # clips that the report names of those that only one side knows


Sources = Annotated[
    list[str],
    argument(
        "Run directories or tables with a clip column (NAME=PATH names one), then the ratings: a table, a "
        "released set, or 'vmbench' for VMBench's published scores.",
        metavar="SCORES... RATINGS",
    ),
]
RatingsFormat = Annotated[
    str | None,
    option(
        "Form of the ratings: long, cells, wide, averaged, pairs, fetv, video-bench, videofeedback, "
        "videofeedback2, visionreward, vmbench. Default: told from the columns.",
        "--format",
    ),
]

Where = Annotated[list[str] | None, option("Only clips of which this holds; repeatable.", metavar="COLUMN=VALUE")]
GroupBy = Annotated[
    str | None, option("Report by the values of this column, such as a category; 'model' works too.", "--group-by")
]
TiesOption = Annotated[
    Literal["half", "calibrated"],
    option("Preference accuracy: leave out people's ties, or count them with a calibrated threshold."),
]
MosOption = Annotated[
    Literal["mean", "recovered"],
    option("A clip's rating: the mean, or recovered with each rater's bias and noise taken out (ITU-T P.910)."),
]
Higher = Annotated[
    list[str] | None, option("Higher is better for this score, though its name says an amount; repeatable.")
]


def align(
    sources: Sources,
    face: Annotated[
        list[str] | None,
        option("Hold a score against a dimension. Default: guessed from the names.", metavar="METRIC=DIMENSION[,...]"),
    ] = None,
    metric: Annotated[list[str] | None, option("Only this score; repeatable.")] = None,
    dimension: Annotated[
        list[str] | None,
        option("Evaluate only this column of ratings, even one that is skipped by its name; repeatable."),
    ] = None,
    lower: Annotated[list[str] | None, option("Lower is better for this score; repeatable.")] = None,
    exclude_model: Annotated[list[str] | None, option("Leave out a model, such as real footage; repeatable.")] = None,
    against: Annotated[str | None, option("Compare every score with this one.", metavar="METRIC")] = None,
    higher: Higher = None,
    where: Where = None,
    group_by: GroupBy = None,
    ties: TiesOption = "half",
    mos: MosOption = "mean",
    ratings_format: RatingsFormat = None,
    clip_column: Annotated[
        str | None, option("Column that names the clip. Default: clip, video, file, path, ...")
    ] = None,
    scale: Annotated[
        tuple[float, float] | None, number_option("Lowest and highest rating there can be; others are an error.")
    ] = None,
    resamples: Annotated[int | None, count_option("Bootstrap samples of prompts. Default: 1000.")] = None,
    seed: Annotated[int | None, seed_option("Of all random numbers. Default: always the same.")] = None,
    out: Annotated[Path | None, option("Folder for the report: HTML, JSON, CSV, Markdown, LaTeX and pictures.")] = None,
) -> None:
    """Print how far people agree with scores: pooled, within prompt, within model, and against what a person reaches.

    docs/ratings-formats.md has the forms of ratings. 'vmmetrics plan' says how many clips a study needs.
    """
    from vmmetrics.alignment.readers.groups import chosen_clips
    from vmmetrics.alignment.readers.read import read_study
    from vmmetrics.alignment.report.text import print_report
    from vmmetrics.alignment.study_report import align as hold_against
    from vmmetrics.alignment.study_report import too_small
    from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED
    from vmmetrics.utils.storage.job_folder import prepare

    if len(sources) < 2:
        raise typer.BadParameter("expected scores and then ratings: vmmetrics align SCORES... RATINGS")
    output, messages = open_consoles()
    study = read_study(
        sources[:-1],
        sources[-1],
        facing=_facing(face or []),
        format=ratings_format,
        metrics=metric or (),
        dimensions=dimension or (),
        lower=lower or (),
        clip_column=clip_column,
        scale=scale,
    )
    study = chosen_clips(study, sources, where or (), clip_column)
    groups = _groups(study, sources, group_by, clip_column, exclude_model or ())
    if out is not None:
        prepare(out, _MATCHING, (), "report")  # before the figures: a folder that cannot be written costs no waiting
    warn(messages, too_small(study))
    ask = partial(
        hold_against,
        resamples=resamples or RESAMPLES,
        seed=SEED if seed is None else seed,
        against=against,
        directed=(*(higher or ()), *(lower or ())),
        ties=ties,
        mos=mos,
    )
    report = ask(study, exclude_models=exclude_model or ())
    print_report(report, output)
    of_groups = {name: ask(part) for name, part in groups.items()}
    _print_groups(of_groups, group_by or "", output, out)
    if out is not None:
        _write(out, study, report)
        messages.print(f"written: {out}/page.html, report.md, report.json, table.csv, table.tex, pictures")
    if max(len(study.matching.scores_only), len(study.matching.ratings_only)) > _NAMED:
        place = f"--out DIR writes them to {_MATCHING}" if out is None else f"{out}/{_MATCHING}"
        messages.print(f"all clips that only one side knows: {place}", soft_wrap=True)


def _groups(
    study: Study, sources: list[str], column: str | None, clip_column: str | None, left_out: Sequence[str]
) -> dict[str, Study]:
    from vmmetrics.alignment.readers.groups import by_group, read_groups
    from vmmetrics.alignment.study_report import without_models

    if column is None:
        return {}
    kept = without_models(study, left_out)
    return by_group(kept, read_groups(kept, sources, column, clip_column), column)


def _print_groups(reports: dict[str, StudyReport], column: str, output: Console, out: Path | None) -> None:
    from vmmetrics.alignment.report.tables import group_tables_of
    from vmmetrics.alignment.report.text import CsvRow, csv_rows
    from vmmetrics.utils.display.markup import csv_text
    from vmmetrics.utils.display.tables import print_parts
    from vmmetrics.utils.storage.atomic import write_text

    print_parts(group_tables_of(reports, column), output)
    if out is not None and reports:
        rows = ((name, *row) for name, report in reports.items() for row in csv_rows(report))
        write_text(out / "groups.csv", csv_text([(column, *CsvRow._fields), *rows]))


def _facing(faces: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in faces:
        metric, equals, dimensions = text.partition("=")
        names = [name.strip() for name in dimensions.split(",") if name.strip()]
        if not equals or not metric.strip() or not names:
            raise typer.BadParameter(f"expected METRIC=DIMENSION but got {text!r}", param_hint="--face")
        found.setdefault(metric.strip(), []).extend(names)
    return found


def _write(out: Path, study: Study, report: StudyReport) -> None:
    from tempfile import TemporaryDirectory

    from vmmetrics.alignment.report.charts import draw_charts, save_charts
    from vmmetrics.alignment.report.page import to_html
    from vmmetrics.alignment.report.text import to_csv, to_latex, to_markdown
    from vmmetrics.utils.storage.atomic import write_json, write_text

    matched = [
        {"clip": clip, "prompt": prompt, "model": model}
        for clip, prompt, model in zip(study.clips, study.prompts, study.models, strict=True)
    ]
    only = {name: list(getattr(study.matching, name)) for name in ("scores_only", "ratings_only", "notes")}
    write_json(out / _MATCHING, {"matched": matched, **only})  # first: by it the folder is ours, also after a kill
    write_text(out / "table.csv", to_csv(report))
    write_text(out / "report.md", to_markdown(report))
    write_text(out / "table.tex", to_latex(report))
    write_text(out / "page.html", to_html(study, report))
    write_json(out / "report.json", report.to_json())
    charts = draw_charts(study, report)
    with TemporaryDirectory(prefix=".pictures-", dir=out) as beside:  # no half of a picture is ever seen
        for suffix in (".png", ".svg"):
            for path in save_charts(charts, Path(beside), suffix):
                path.replace(out / path.name)


# ``vmmetrics plan``: how many clips, prompts and raters a study of human alignment needs.

_RATERS = (1, 2, 3, 5, 10)


def plan(
    first: Annotated[float, number_option("Spearman of one metric with the mean of three raters.", -1, 1)] = 0.6,
    second: Annotated[float, number_option("Of another, to be told from it.", -1, 1)] = 0.7,
    raters: Annotated[
        list[int] | None, count_option("People who rate each clip; repeatable. Default: 1, 2, 3, 5, 10.")
    ] = None,
    clips_per_prompt: Annotated[int, count_option("Clips of each prompt, each by another model.")] = 4,
    power: Annotated[float, share_option("Chance of seeing the difference.")] = 0.8,
    between: Annotated[
        float | None, number_option("Spearman of the two metrics with each other. Default: first × second.", -1, 1)
    ] = None,
) -> None:
    """Print what a study needs to tell two metrics apart, before anyone has rated a clip."""
    from vmmetrics.alignment.power import plan_study

    output, _ = open_consoles()
    with usage():
        plans = [
            plan_study(first, second, raters=people, clips_per_prompt=clips_per_prompt, power=power, between=between)
            for people in raters or _RATERS
        ]
    heads = ("raters", "clips", "prompts", "ratings", "ρ they see", "smallest within-model ρ")
    grid = table(*map(number, heads), title=f"To tell ρ = {first:g} from ρ = {second:g} with a chance of {power:.0%}")
    for found in plans:
        smallest = "-" if found.smallest_within_model is None else f"{found.smallest_within_model:.2f}"
        seen = f"{found.first:.2f} and {found.second:.2f}"
        sizes = (found.raters, found.clips, found.prompts, found.ratings)
        grid.add_row(*map(str, sizes), seen, smallest)
    output.print(grid)
    middle = plans[len(plans) // 2]  # the notes differ in the numbers that the table has
    output.print(f"With {middle.raters} raters: {middle.note}", style="dim", soft_wrap=True)
