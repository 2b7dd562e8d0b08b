"""``vmmetrics baselines``: clips in, a run directory of baselines out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.options import count_option, number_option, option
from vmmetrics.cli.running import RunOptions, parse_names, parse_scratch, run_clips
from vmmetrics.cli.terminal import error, usage

if TYPE_CHECKING:
    from vmmetrics.scoring.table import Table

SHOWN_MODELS = 5
"""Maximum columns of models on a terminal; scores.csv has all."""


def baselines(
    clips: options.Clips,
    run: RunOptions,
    metrics: Annotated[
        list[str] | None, option("Baselines, with commas between. Default: those that need no download.")
    ] = None,
    weights: Annotated[
        list[str] | None,
        option("NAME=PATH: weights for raft, clip_consistency, dino_consistency, film_smoothness or dover."),
    ] = None,
    judge: Annotated[
        str | None, option("Model for vlm_judge: its name at --judge-url, or a folder for transformers.")
    ] = None,
    judge_url: Annotated[str | None, option("OpenAI-compatible endpoint, such as http://localhost:8000/v1.")] = None,
    judge_frames: Annotated[int | None, count_option("Frames shown to the judge. Default: 12.")] = None,
    judge_per_minute: Annotated[
        float | None,
        number_option("Maximum requests per minute to the endpoint. Default: no limit.", 0.01, options.MAX_COUNT),
    ] = None,
    judge_key_env: Annotated[
        str | None, option("Environment variable with the endpoint's key. Default: VMMETRICS_JUDGE_KEY.")
    ] = None,
) -> None:
    """Measure clips by baselines, to compare with human ratings next to our metrics.

    Without any download: ssim, frame_difference, temporal_flickering, flow_magnitude, warping_error,
    forward_backward_error, track_survival, brisque, niqe. With weights of yours: raft, clip_consistency,
    dino_consistency, film_smoothness, dover. With a video language model: vlm_judge.

    Re-run the same command to resume. Exit codes: 0 all measured (a missing value is fine),
    3 some clips failed, 2 wrong usage or setup.
    """
    from vmmetrics.alignment.baselines.catalogue import chosen
    from vmmetrics.alignment.baselines.suite import BaselineSettings

    start = run.start()
    if run.device is not None and run.device != "cpu" and not weights and judge is None:
        raise typer.BadParameter("baselines without weights run on the CPU; use --device with --weights or --judge")
    asked = {"url": judge_url, "frames": judge_frames, "per_minute": judge_per_minute, "key_variable": judge_key_env}
    resources = _resources(weights or [], judge, {name: value for name, value in asked.items() if value is not None})
    names = None if metrics is None else parse_names(",".join(metrics))
    reading = run.reading()
    with usage():
        selected = chosen(names, tuple(resources))
        idle = [family for family in resources if not set(chosen([family])) & set(selected)]
        if idle:
            raise typer.BadParameter(f"--metrics leaves out {', '.join(idle)}, but --weights or --judge sets it up")
        settings = BaselineSettings(
            metrics=selected, reading=reading, resources=tuple(resources.items()), scratch=parse_scratch(run.scratch)
        )
    run_clips(clips, settings, start, run, partial(_print, run.form))


def _resources(weights: list[str], judge: str | None, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the families need: paths of weights, and the settings of the judge."""
    from vmmetrics.alignment.baselines.catalogue import FAMILIES
    from vmmetrics.alignment.baselines.judge import JudgeSettings

    resources: dict[str, Any] = {}
    families = [family for family in FAMILIES if family != "vlm_judge"]
    for item in weights:
        name, _, path = item.partition("=")
        if name not in families or not path:
            raise typer.BadParameter(
                f"expected --weights NAME=PATH with NAME among {', '.join(families)} but got {item!r}"
            )
        resources[name] = str(Path(path).absolute())
    if judge is None:
        if asked:
            raise typer.BadParameter("the judge's options need --judge MODEL")
        return resources
    with usage():
        return resources | {"vlm_judge": JudgeSettings(judge, **asked)}


def _print(form: str, table: Table, output: Console, messages: Console) -> None:
    """Print a row per baseline: unit, direction, mean over all clips and per model."""
    from vmmetrics.alignment.baselines.catalogue import BASELINES
    from vmmetrics.cli.formats import print_result
    from vmmetrics.cli.results import print_besides, results_data
    from vmmetrics.scoring.summary import missing_lines
    from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, figure, heads

    models = table.by_model() if len(table.by_model()) <= SHOWN_MODELS else {}
    columns = heads("baseline", "unit", "better", "clips", "mean", "95 % interval", *models, texts=3)
    grid = DisplayTable("baselines", "Baselines", "; ".join(missing_lines(table)), columns)
    means = table.mean()
    for name in (name for name in BASELINES if name in table.metrics):
        mean, baseline = means.get(name), BASELINES[name]
        cells = [figure(0, "0"), figure(None), figure(None)]
        if mean is not None:
            ends = None if mean.low is None or mean.high is None else (mean.low, mean.high)
            interval = "needs 3 prompts" if ends is None else f"{ends[0]:.4g} .. {ends[1]:.4g}"
            shown = DisplayCell(f"{mean.mean:.4g}", value=mean.mean, interval=ends)
            cells = [figure(mean.clips, str(mean.clips)), shown, DisplayCell(interval)]
        by_model = [scores[name].mean if name in scores else None for scores in models.values()]
        cells += [figure(value, "-" if value is None else f"{value:.4g}") for value in by_model]
        grid.add(name, baseline.unit, "lower" if baseline.lower_is_better else "higher", *cells)
    print_result(form, [grid], output, data=lambda: results_data(table), csv=table.to_csv)
    if table.summary.failed:
        error(messages, f"{table.summary.failed} of {len(table)} clips failed", "bold red")
    messages.print(f"results: {table.path}/scores.csv, scores.jsonl, events.jsonl, run.json", soft_wrap=True)
    print_besides(table, messages)
    command = f"vmmetrics align RUN {shlex.quote(str(table.path))} RATINGS"
    messages.print(f"to compare with a run and human ratings: {command}", soft_wrap=True)
