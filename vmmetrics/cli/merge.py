"""``vmmetrics merge``: the shards of a run made one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.", show_default=False)],
    out: Annotated[Path, typer.Option(help="New run directory.", show_default=False)],
) -> None:
    """Join run directories of one configuration, such as the shards of a large set."""
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.cli.results import print_results
    from vmmetrics.scoring.merge import merge as merge_runs

    output, messages = open_consoles()
    merged = merge_runs(runs, out)
    for warning in merged.warnings:
        messages.print(f"warning: {warning}", soft_wrap=True)
    print_results(merged.table, output, messages, name_failures=True)
    if merged.duplicates:
        messages.print(f"{len(merged.duplicates)} clips were in several runs")
    if merged.conflicts:
        messages.print(f"{len(merged.conflicts)} of them scored differently; the first run counts")
