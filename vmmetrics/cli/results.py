"""The tables at the end of a run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from vmmetrics.cli.formats import name, number, print_result, print_titled, whole
from vmmetrics.cli.formats import table as grid_of
from vmmetrics.cli.progress import reasons
from vmmetrics.cli.terminal import count, error
from vmmetrics.metrics.registry import label
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO, anchor_lines, missing_lines, remarks
from vmmetrics.scoring.table import Table, missing_reason
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Lines, Part, figure, heads
from vmmetrics.utils.statistics.paired import Mean

_STYLES = {"failed": "red", "-": "dim", "n/a": "dim"}
SHOWN_CLIPS = 100
"""Maximum rows of clips on a terminal; scores.csv has all."""


def print_results(
    table: Table, output: Console, messages: Console, form: str = "text", *, name_failures: bool = False
) -> None:
    """Print clips, models, means, what is missing and why, failures, and where everything lies.

    Args:
        table: The records.
        output: For the tables.
        messages: For failures and directions.
        form: Of the result on stdout.
        name_failures: Give the reason of every failure; a run has done so on its way.
    """
    parts = results_parts(table) if form in ("markdown", "latex") else []
    print_result(
        form, parts, output,
        text=lambda: _print_tables(table, output), data=lambda: results_data(table), csv=table.to_csv,
    )  # fmt: skip
    failed = table.summary.failed
    for record in table if name_failures and failed else ():
        if record.failed:
            error(messages, f"failed: {record.clip}: {reasons(record)}")
    if failed:
        error(messages, f"{failed} of {len(table)} clips failed", "bold red")
    if table.path is not None:
        _print_directions(table, table.path, messages)


def results_data(table: Table) -> dict[str, Any]:
    """Return clips and means for programs: None where there is no score, with the reason beside it."""
    clips = []
    for record, row in zip(table, table.iterate_rows(), strict=True):
        reasons_of = {
            m: missing_reason(record, m) for m in table.metrics if m not in record.scores and missing_reason(record, m)
        }
        about = {name: value for name, value in row.items() if name != "missing"}
        clips.append({**about, "reasons": reasons_of})
    means = {"all": table.mean(), **({"models": table.by_model()} if table.by_model() else {})}
    run = None if table.path is None else str(table.path)
    return {"run": run, "label": table.label, "clips": clips, "failed": table.summary.failed, "means": means}


def results_parts(table: Table) -> list[Part]:
    """Return clips and means as tables, and the remarks on them."""
    columns = table.shown
    heads_of = heads("clip", *map(label, columns))
    clips = DisplayTable("clips", "Clips", table.label, heads_of)
    for record in table:
        scores = {**record.scores, "motion_index": record.motion_index}
        clips.add(record.clip, *(figure(scores.get(m), text) for m, text in table.cells(record).items()))
    averaged = means_columns(table)
    names = heads("model", *averaged.values())
    means = DisplayTable("means", "Means", "95 % bootstrap intervals over prompts, of 3 or more", names)
    models = table.summary.models
    rows = [*(models.items() if len(models) > 1 else ()), ("all", np.arange(len(table)))]
    for model, numbers in rows:
        averages = table.summary.mean(numbers)
        means.add(model, *(_mean_cell(averages.get(metric), len(numbers)) for metric in averaged))
    lines = tuple(line.removeprefix("- ") for line in remarks(table))
    return [clips, *([means] if len(table) > 1 else []), *([Lines("remarks", "Remarks", lines)] if lines else [])]


def means_columns(table: Table) -> dict[str, str]:
    """Return the columns of a table of means and their heads: that of the index twice where clips collapsed."""
    columns = {metric: label(metric) for metric in table.metrics}
    if table.summary.collapsed:
        return {**columns, INDEX: "INDEX, judged", INDEX_OR_ZERO: "INDEX, collapsed as 0"}
    return {**columns, INDEX: "INDEX"} if table.summary.indexed else columns


def _mean_cell(mean: Mean | None, clips: int) -> DisplayCell:
    if mean is None:
        return figure(None)
    ends = None if mean.low is None or mean.high is None else (mean.low, mean.high)
    below = [] if ends is None else [f"[{ends[0]:.3f}, {ends[1]:.3f}]"]
    few = [f"n={mean.clips}"] if mean.clips < clips else []
    return DisplayCell(f"{mean.mean:.4f}", "\n".join([*below, *few]), value=mean.mean, interval=ends)


def _print_tables(table: Table, output: Console) -> None:
    output.print(_clips(table))
    for line in anchor_lines(table, SHOWN_CLIPS):
        output.print(line, style="dim", soft_wrap=True)
    if len(table) > SHOWN_CLIPS:
        output.print(f"and {len(table) - SHOWN_CLIPS} more clips, in scores.csv")
    if len(table) > 1:
        models = table.summary.models
        parts: list[tuple[str | Text, NDArray[np.intp]]] = [*models.items()] if len(models) > 1 else []
        grid = _grid_of_means("model" if models else "", table, [*parts, (Text("all", "bold"), np.arange(len(table)))])
        print_titled(output, "mean [95 % bootstrap interval over prompts, of 3 or more]", grid)
    patterns = [(str(pattern), rows) for pattern, rows in table.summary.by_tag("pattern").items()]
    if len(patterns) > 1:
        grid = _grid_of_means("pattern", table, patterns)
        print_titled(output, "by motion pattern (all tags: breakdown.csv)", grid)
    for line in missing_lines(table):
        output.print(line, style="dim", soft_wrap=True)
    output.print(table.label, style="bold", soft_wrap=True)


def _clips(table: Table) -> Grid:
    grid = grid_of(name("clip"), *(whole(label(metric)) for metric in table.shown))
    for record in table.records[:SHOWN_CLIPS]:
        cells = table.cells(record)
        grid.add_row(record.clip, *(Text(c, _STYLES.get(c, "")) for c in cells.values()))
    return grid


def _grid_of_means(title: str, table: Table, parts: Sequence[tuple[str | Text, NDArray[np.intp]]]) -> Grid:
    columns = means_columns(table)
    grid = grid_of(name(title), number("clips"), *map(whole, columns.values()))
    for shown, rows in parts:
        clips, means = len(rows), table.summary.mean(rows)
        foreign = {metric for metric in columns if table.summary.foreign(metric, rows) == clips}
        cells = [Text("n/a", "dim") if m in foreign else _mean(means.get(m), clips) for m in columns]
        grid.add_row(shown, str(clips), *cells)
    return grid


def _mean(mean: Mean | None, clips: int) -> Text:
    """Return a mean with its interval, and of how many clips where not all have a score."""
    if mean is None:
        return Text("-", "dim")
    cell = _mean_cell(mean, clips)
    return Text(cell.text).append(f"\n{cell.below}" if cell.below else "", "dim")


def print_besides(table: Table, messages: Console) -> None:
    """Print how many clips of the run are in its files and not in the table: of earlier commands, or gone."""
    from vmmetrics.utils.storage.addresses import address_of
    from vmmetrics.video.content import is_there

    if not table.besides:
        return
    here = (record.path for record in table.besides if record.path is not None and address_of(record.path) is None)
    gone = sum(not is_there(Path(path)) for path in here)
    shown, more = ", ".join(record.clip for record in table.besides[:3]), len(table.besides) - 3
    names = f"{shown} and {more} more" if more > 0 else shown
    number = count(len(table.besides), "more clip")
    why = ", which is gone" if gone == len(table.besides) == 1 else f"; gone: {gone}" if gone else ""
    messages.print(f"scores.csv holds {number} of earlier commands: {names}{why}", soft_wrap=True)


def _print_directions(table: Table, path: Path, messages: Console) -> None:
    messages.print(f"results: {path}/scores.csv, scores.jsonl, events.jsonl, run.json", soft_wrap=True)
    print_besides(table, messages)
    telling = table.summary.telling
    if telling is not None:  # the one with the lowest score has most to show
        command = f"vmmetrics show {shlex.quote(str(path))} {shlex.quote(telling)} --out show.png"
        messages.print(f"what cost points: {command}", soft_wrap=True)
