"""``vmmetrics understand leaderboard``: runs of models, or of one model at several frame rates, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli.understand_output import scoring

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.understanding.harness.leaderboard import RunBoard


def leaderboard(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)],
    protocol: Annotated[str, typer.Option(help="Scores of which protocol: vmmetrics or upstream.")] = "vmmetrics",
    by: Annotated[
        str | None, typer.Option(help="Grouping for the columns (task, minFPS, ...). Default: the benchmark's first.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Chart, PNG or SVG; a file for each benchmark.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a CSV with everything.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown table.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX table (booktabs).")] = None,
) -> None:
    """Put scored runs into one table, the best first, with intervals over videos, paired tests and published rows.

    A model's name is its folder's or endpoint's; runs of one model at different frame rates also become a curve in the
    picture. Runs of several benchmarks get a table each.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.cli.prompts_stats import check_picture, save_picture
    from vmmetrics.understanding.harness import leaderboard as text
    from vmmetrics.understanding.harness.leaderboard import make_boards

    check_picture(picture)
    from vmmetrics.utils.storage.atomic import write_text

    output, messages = open_consoles()
    boards = make_boards(runs, scoring(protocol), by)
    for board in boards:
        _print(board, output)
    for path, write in ((csv, text.to_csv), (markdown, text.to_markdown), (latex, text.to_latex)):
        if path is not None:
            write_text(path, write(boards))
            messages.print(f"written: {path}", soft_wrap=True)
    if picture is not None:
        from vmmetrics.understanding.report import understanding_chart

        for board in boards:
            file = picture if len(boards) == 1 else picture.with_stem(f"{picture.stem}-{board.benchmark}")
            save_picture(understanding_chart(board), file)
            messages.print(f"written: {file}", soft_wrap=True)


def _print(board: RunBoard, output: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from vmmetrics.understanding.harness import leaderboard as text

    grid = Table(title=text.title(board), title_justify="left", box=SIMPLE_HEAD)
    for place, head in enumerate(text.heads(board)):
        grid.add_column(head, justify="left" if place < 2 else "right", overflow="fold", no_wrap=place == text.OVERALL)
    for row in board.rows:
        grid.add_row(*text.cells(row, board.columns))
    if board.references:
        grid.add_section()
    for reference in board.references:
        grid.add_row(*text.published(reference, board), style="dim")
    output.print(grid)
    for remark in text.remarks(board):
        output.print(f"- {remark}", soft_wrap=True)
