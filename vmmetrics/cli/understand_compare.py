"""``vmmetrics understand compare``: two runs of one benchmark, question by question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.understand_output import print_differences, scoring


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of another.", show_default=False)],
    protocol: Annotated[str, typer.Option(help="Scores of which protocol: vmmetrics or upstream.")] = "vmmetrics",
    json_file: Annotated[Path | None, typer.Option("--json", help="File for the differences.")] = None,
) -> None:
    """Hold two models against each other on the questions both were asked.

    Differences are second minus first, with 95 % intervals that draw videos; p values swap the models at random video
    by video, and Holm's are raised for the other categories of a grouping.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding.harness.leaderboard import compare_runs
    from vmmetrics.utils.schema import plain

    output, messages = open_consoles()
    compared = compare_runs(first, second, scoring(protocol))
    title = f"{compared.benchmark}: {compared.names[1]} (second) minus {compared.names[0]} (first)"
    print_differences(compared.differences, title, output)
    for note in compared.notes:
        output.print(note)
    if json_file is not None:
        from vmmetrics.utils.storage.atomic import write_json

        write_json(json_file, plain(compared))
        messages.print(f"written: {json_file}", soft_wrap=True)
