"""``vmmetrics cas eval``: a classifier against labelled clips."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli.cas_train import PrecisionOption

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.cas.evaluation import Report


def evaluate(
    classifier: Annotated[
        str, typer.Argument(help="best.pt of a training run, VMBench's checkpoint, or 'embedded'.", show_default=False)
    ],
    clips: Annotated[Path, typer.Argument(help="Folder of the clips.", show_default=False)],
    labels: Annotated[Path, typer.Argument(help="JSONL, CSV or TSV: clip, level, prompt, group.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="JSON with all figures and every clip's probabilities.")] = None,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also clips of prompts that the checkpoint was trained on.")
    ] = False,
    device: Annotated[str | None, typer.Option(help="cuda or cpu. Default: a GPU where there is one.")] = None,
    precision: Annotated[
        PrecisionOption | None, typer.Option(help="Default: fp16 on a GPU, as the released code, else fp32.")
    ] = None,
) -> None:
    """Print accuracy, error in levels, rank correlation and calibration error, for all clips and by group."""
    from vmmetrics.cas.held_against import hold_against, load_judge
    from vmmetrics.cas.labelled_clips import read_labelled_clips
    from vmmetrics.cli.cas_train import TrainingProgress
    from vmmetrics.cli.progress import count, open_consoles

    output, messages = open_consoles()
    data = read_labelled_clips([clips], labels)
    with TrainingProgress(messages) as progress:
        judge = load_judge(classifier, device, None if precision is None else precision.value)
        found = hold_against(judge, data, include_seen=include_seen, progress=progress.judging)
    for clip, reason in found.failed:
        messages.print(f"left out: {clip}: {reason}", soft_wrap=True)
    if found.seen:
        text = (
            f"left out: {count(len(found.seen), 'clip')} of prompts that were trained on; --include-seen takes them in"
        )
        messages.print(text, soft_wrap=True)
    print_report(found.report, output)
    if out is not None:
        from vmmetrics.run.atomic import write_json

        write_json(out, found.to_json())


def print_report(report: Report, output: Console) -> None:
    """Print a row for all clips and one per group, and what the figures are to be held against."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from vmmetrics.cas.model_card import FIGURES, cells, remarks

    grid = Table(box=SIMPLE_HEAD)
    grid.add_column("group", overflow="fold")
    for name in ("clips", *FIGURES.values()):
        grid.add_column(name, justify="right")
    grid.add_row("all", *cells(report.overall))
    for group, evaluation in report.groups.items() if len(report.groups) > 1 else ():
        grid.add_row(group or "(none)", *cells(evaluation))
    output.print(grid)
    for line in remarks(report):
        output.print(line, soft_wrap=True)
