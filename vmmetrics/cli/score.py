"""``vmmetrics score``: clips in, a run directory and a table out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.options import argument, names_option, option, out_option
from vmmetrics.cli.running import RunOptions, parse_names, parse_scratch, run_clips
from vmmetrics.cli.terminal import EXIT_FAILURES, EXIT_WORSE, count, error, open_consoles, usage
from vmmetrics.metrics.registry import METRICS, load_plugins
from vmmetrics.utils.display.markup import listed

if TYPE_CHECKING:
    from vmmetrics.scoring.table import Table

_SHARDS = 10
"""Maximum missing shards that are named."""


def score(
    clips: options.Clips,
    run: RunOptions,
    subject: Annotated[str | None, option("Subject of every clip, such as 'a black horse'.")] = None,
    metrics: Annotated[str | None, names_option(f"Some of {','.join(METRICS)}, and of plugins. Default: all.")] = None,
    preset: Annotated[str | None, option("Models to use. Default: embedded, which needs no download.")] = None,
    protocol: Annotated[str | None, option("Metric definitions: vmmetrics, or vmbench as in VMBench's code.")] = None,
    cas_model: Annotated[
        Path | None, option("Checkpoint of a classifier for CAS, such as 'vmmetrics cas train' writes. Needs torch.")
    ] = None,
    index: options.OwnIndex = None,
    plugin: options.Plugins = None,
    tf32: Annotated[bool, option("Allow TF32 on GPUs: faster, scores differ slightly.", "--tf32")] = False,
    keep_overlays: Annotated[
        bool | None,
        option(
            "Keep masks, tracks and skeletons for drawing, 1 to 40 KB per clip: by default for up to 1,000 clips.",
            "--keep-overlays/--no-keep-overlays",
        ),
    ] = None,
    report: Annotated[
        bool, option("Write a page to look at, RUN/report/index.html, as 'vmmetrics report' does.", "--report")
    ] = False,
    fail_under: Annotated[
        list[str] | None,
        option("Exit with 4 if a model's mean is lower, such as INDEX=0.5; repeatable.", metavar="METRIC=NUMBER"),
    ] = None,
    collapsed: options.CollapsedAs = "zero",
    fail_missing: options.FailMissing = None,
) -> None:
    """Score the motion of clips.

    Re-run the same command to resume. Exit codes: 0 all scored (a missing score is fine),
    2 wrong usage or setup, 3 some clips failed, 4 a mean is under --fail-under, or too many clips are not judged.
    """
    start = run.start()
    if run.device is not None and run.device != "cpu" and preset in (None, "embedded") and cas_model is None:
        raise typer.BadParameter("--preset embedded runs on the CPU; use --device with --preset vmbench or --cas-model")
    if tf32 and preset in (None, "embedded"):
        raise typer.BadParameter("--preset embedded runs on the CPU; use --tf32 with --preset vmbench")
    plugins = tuple(str(path.absolute()) for path in plugin or ())
    choice = {
        "preset": preset,
        "protocol": protocol,
        "metrics": (*METRICS, *load_plugins(plugins)) if metrics is None else parse_names(metrics),
        "reading": run.reading(),
        "cas_model": None if cas_model is None else str(cas_model.absolute()),
        "plugins": plugins,
        "index": None if index is None else str(index.absolute()),
        "tf32": tf32,
        "scratch": parse_scratch(run.scratch),
        "keep_overlays": keep_overlays,
    }
    from vmmetrics.cli.report import REPORT
    from vmmetrics.cli.report import write as write_report
    from vmmetrics.cli.results import print_results
    from vmmetrics.scoring.settings import Settings
    from vmmetrics.scoring.thresholds import judge, read_threshold

    with usage():
        settings = Settings(**{name: value for name, value in choice.items() if value is not None})  # type: ignore[arg-type]
    with usage("--fail-under"):
        thresholds = [read_threshold(text, settings.metrics, settings.protocol) for text in fail_under or ()]

    def show(table: Table, output: Console, messages: Console) -> None:
        print_results(table, output, messages, run.form)
        if report and table.path is not None and len(table):
            write_report(
                [str(table.path)], table.path / REPORT, messages, messages,
                overlays=0 if keep_overlays is False else None,
            )  # fmt: skip
        verdicts = judge(table, thresholds, collapsed=collapsed, most_missing=fail_missing)
        for verdict in verdicts:
            if verdict.passed:
                messages.print(str(verdict), soft_wrap=True)
            else:
                error(messages, str(verdict), "bold red")
        if not all(verdict.passed for verdict in verdicts):
            raise typer.Exit(EXIT_WORSE)

    run_clips(clips, settings, start, run, show, subject)


# ``vmmetrics merge``: the shards of a run made one.


def merge(
    runs: Annotated[list[Path], argument("Run directories.")],
    out: Annotated[Path, out_option("New run directory.", show_default=False)],
    allow_missing: Annotated[bool, option("Exit with 0 even if a shard is missing.", "--allow-missing")] = False,
    form: options.Format = "text",
) -> None:
    """Merge run directories of one configuration, such as the shards of a large set.

    Exit codes: 0 all shards are there, 3 one is missing, 2 wrong usage or setup.
    """
    from vmmetrics.cli.results import print_results
    from vmmetrics.scoring.merge import merge as merge_runs

    output, messages = open_consoles()
    merged = merge_runs(runs, out)
    for warning in merged.warnings:
        error(messages, f"warning: {warning}", "yellow")
    print_results(merged.table, output, messages, form, name_failures=True)
    if merged.duplicates:
        messages.print(f"in several runs: {count(len(merged.duplicates), 'clip')}")
    if merged.conflicts:
        error(messages, f"{count(len(merged.conflicts), 'clip')} scored differently; the first run counts", "yellow")
    if merged.missing:
        shards = listed([f"{i}/{n}" for i, n in merged.missing], _SHARDS)
        error(messages, f"missing: shard {shards}; not all of its clips are in {out}", "bold red")
        if not allow_missing:
            error(messages, "score it and merge again, or accept this with --allow-missing", "")
            raise typer.Exit(EXIT_FAILURES)


# ``vmmetrics show``: a picture or film of what cost a clip its points.


def show(
    run: Annotated[Path, argument("Run directory.")],
    clip: Annotated[str, argument("Name of the clip, as the table has it, its path, or a file with its content.")],
    out: Annotated[Path, out_option("Picture (.png) or film (.mp4) to write.", show_default=False)],
    fetch: Annotated[bool, option("Fetch the clip from the address that the run names.", "--fetch")] = False,
) -> None:
    """Draw the events that cost a clip points: masks, tracks, skeletons, and curves over frames."""
    if out.suffix.lower() not in (".png", ".mp4"):
        raise typer.BadParameter(f"expected a name that ends in .png or .mp4 but got {out.name}")
    if not out.absolute().parent.is_dir():
        raise typer.BadParameter(f"the folder {out.absolute().parent} does not exist")
    from vmmetrics.scoring.scored_clip import recall
    from vmmetrics.scoring.show.film import write_film
    from vmmetrics.scoring.show.sheet import draw_sheet
    from vmmetrics.utils.storage.atomic import temporary_of

    recalled = recall(run, clip, fetch=fetch)
    output, messages = open_consoles()
    for warning in recalled.warnings:
        messages.print(f"warning: {warning}", soft_wrap=True)
    building = temporary_of(out)
    try:
        building.mkdir()
        partial = building / out.name
        if out.suffix.lower() == ".mp4":
            write_film(partial, recalled.clip, recalled.findings, recalled.perceived)
        else:
            draw_sheet(recalled.clip, recalled.findings, recalled.perceived).save(partial)
        partial.replace(out)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    output.print(str(out), soft_wrap=True)
