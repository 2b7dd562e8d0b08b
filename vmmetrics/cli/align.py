"""``vmmetrics align``: scores against people's judgements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli.options import count_option, finite, seed_option, share_option

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.alignment.results import StudyReport
    from vmmetrics.alignment.study import Study


_MATCHING = "matching.json"
_NAMED = 5  # clips that the report names of those that only one side knows


Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SCORES... RATINGS",
        help="Run directories or tables with a clip column (NAME=PATH names one), then the ratings: a table, a "
        "released set, or 'vmbench' for VMBench's published scores.",
        show_default=False,
    ),
]
Dimensions = Annotated[
    list[str] | None,
    typer.Option(help="Evaluate only this column of ratings, even one that is skipped by its name; repeatable."),
]
RatingsFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Form of the ratings: long, cells, wide, averaged, pairs, fetv, video-bench, videofeedback, "
        "videofeedback2, visionreward, vmbench. Default: told from the columns.",
    ),
]


def align(
    sources: Sources,
    face: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=DIMENSION[,...]", help="Hold a score against a dimension. Default: guessed from the names."
        ),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Only this score; repeatable.")] = None,
    dimension: Dimensions = None,
    lower: Annotated[list[str] | None, typer.Option(help="Lower is better for this score; repeatable.")] = None,
    exclude_model: Annotated[
        list[str] | None, typer.Option(help="Leave out a model, such as real footage; repeatable.")
    ] = None,
    against: Annotated[str | None, typer.Option(metavar="METRIC", help="Compare every score with this one.")] = None,
    ratings_format: RatingsFormat = None,
    clip_column: Annotated[
        str | None, typer.Option(help="Column that names the clip. Default: clip, video, file, path, ...")
    ] = None,
    scale: Annotated[
        tuple[float, float] | None,
        typer.Option(callback=finite, help="Lowest and highest rating there can be; others are an error."),
    ] = None,
    resamples: Annotated[int | None, count_option("Bootstrap samples of prompts. Default: 1000.")] = None,
    seed: Annotated[int | None, seed_option("Of all random numbers. Default: always the same.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report: HTML, JSON, CSV, Markdown, LaTeX and pictures.")
    ] = None,
) -> None:
    """Print how far people agree with scores: pooled, within prompt, within model, and against what a person reaches.

    docs/ratings-formats.md has the forms of ratings. 'vmmetrics plan' says how many clips a study needs.
    """
    from vmmetrics.alignment.readers import read_study
    from vmmetrics.alignment.report.text import print_report
    from vmmetrics.alignment.study_report import align as hold_against
    from vmmetrics.cli.progress import open_consoles
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
    if out is not None:
        prepare(out, _MATCHING, (), "report")  # before the figures: a folder that cannot be written costs no waiting
    report = hold_against(
        study,
        exclude_models=exclude_model or (),
        resamples=RESAMPLES if resamples is None else resamples,
        seed=SEED if seed is None else seed,
        against=against,
    )
    print_report(report, output)
    if out is not None:
        _write(out, study, report)
    _point(study, out, messages)


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
    from vmmetrics.utils.storage.atomic import write_json, write_text

    write_json(out / _MATCHING, _matching(study))  # first: by it the folder is known as ours, also after a kill
    for name, text in _texts(study, report):
        write_text(out / name, text)
    write_json(out / "report.json", report.to_json())
    _write_pictures(out, study, report)


def _texts(study: Study, report: StudyReport) -> Iterator[tuple[str, str]]:
    from vmmetrics.alignment.report.page import to_html
    from vmmetrics.alignment.report.text import to_csv, to_latex, to_markdown

    yield "table.csv", to_csv(report)
    yield "report.md", to_markdown(report)
    yield "table.tex", to_latex(report)
    yield "page.html", to_html(study, report)


def _write_pictures(out: Path, study: Study, report: StudyReport) -> None:
    """Drawn into a folder beside and put in place one by one, so that no half of a picture is ever seen."""
    from tempfile import TemporaryDirectory

    from vmmetrics.alignment.report.charts import draw_charts, save_charts

    charts = draw_charts(study, report)
    with TemporaryDirectory(prefix=".pictures-", dir=out) as beside:
        for suffix in (".png", ".svg"):
            for path in save_charts(charts, Path(beside), suffix):
                path.replace(out / path.name)


def _matching(study: Study) -> dict[str, Any]:
    """Everything about who was matched; the report names a few of each side only."""
    found = study.matching
    return {
        "matched": [
            {"clip": clip, "prompt": prompt, "model": model}
            for clip, prompt, model in zip(study.clips, study.prompts, study.models, strict=True)
        ],
        "scores_only": list(found.scores_only),
        "ratings_only": list(found.ratings_only),
        "notes": list(found.notes),
    }


def _point(study: Study, out: Path | None, messages: Console) -> None:
    """Say where everything lies, and where the clips are named that the report does not name."""
    if out is not None:
        messages.print(f"written: {out}/page.html, report.md, report.json, table.csv, table.tex, pictures")
    if max(len(study.matching.scores_only), len(study.matching.ratings_only)) > _NAMED:
        where = f"--out DIR writes them to {_MATCHING}" if out is None else f"{out}/{_MATCHING}"
        messages.print(f"all clips that only one side knows: {where}", soft_wrap=True)


# ``vmmetrics plan``: how many clips, prompts and raters a study of human alignment needs.

_RATERS = (1, 2, 3, 5, 10)


def plan(
    first: Annotated[
        float,
        typer.Option(min=-1, max=1, callback=finite, help="Spearman of one metric with the mean of three raters."),
    ] = 0.6,
    second: Annotated[
        float, typer.Option(min=-1, max=1, callback=finite, help="Of another, to be told from it.")
    ] = 0.7,
    raters: Annotated[
        list[int] | None, count_option("People who rate each clip; repeatable. Default: 1, 2, 3, 5, 10.")
    ] = None,
    clips_per_prompt: Annotated[int, count_option("Clips of each prompt, each by another model.")] = 4,
    power: Annotated[float, share_option("Chance of seeing the difference.")] = 0.8,
    between: Annotated[
        float | None,
        typer.Option(
            min=-1, max=1, callback=finite, help="Spearman of the two metrics with each other. Default: first × second."
        ),
    ] = None,
) -> None:
    """Print what a study needs to tell two metrics apart, before anyone has rated a clip."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from vmmetrics.alignment.power import plan_study
    from vmmetrics.cli.progress import open_consoles

    output, _ = open_consoles()
    try:
        plans = [
            plan_study(first, second, raters=number, clips_per_prompt=clips_per_prompt, power=power, between=between)
            for number in raters or _RATERS
        ]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    title = f"To tell ρ = {first:g} from ρ = {second:g} with a chance of {power:.0%}"
    grid = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for column in ("raters", "clips", "prompts", "ratings", "ρ they see", "smallest within-model ρ"):
        grid.add_column(column, justify="right")
    for found in plans:
        smallest = "-" if found.smallest_within_model is None else f"{found.smallest_within_model:.2f}"
        seen = f"{found.first:.2f} and {found.second:.2f}"
        sizes = (found.raters, found.clips, found.prompts, found.ratings)
        grid.add_row(*map(str, sizes), seen, smallest)
    output.print(grid)
    middle = plans[len(plans) // 2]  # the notes differ in the numbers that the table has
    output.print(f"With {middle.raters} raters: {middle.note}", style="dim", soft_wrap=True)
