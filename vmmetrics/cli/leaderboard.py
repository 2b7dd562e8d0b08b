"""``vmmetrics leaderboard``: models side by side, with how sure their order is."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from vmmetrics.cli.options import CsvFile, LatexFile, MarkdownFile
from vmmetrics.cli.tables import name, number, table, whole
from vmmetrics.cli.terminal import open_consoles
from vmmetrics.utils.storage.atomic import write_text


def leaderboard(
    runs: Annotated[
        list[str], typer.Argument(help="Run directories; NAME=DIRECTORY names the model of one.", show_default=False)
    ],
    by: Annotated[str, typer.Option(help="Column to rank by: average, or a metric.")] = "average",
    published: Annotated[bool, typer.Option(help="VMBench's published rows below ours.")] = True,
    csv: CsvFile = None,
    markdown: MarkdownFile = None,
    latex: LatexFile = None,
) -> None:
    """Rank the models of some runs: means with intervals over prompts, steps tested in pairs, places by resampling.

    Runs of different presets, protocols or weights get a table each.
    """
    from vmmetrics.metrics.registry import label
    from vmmetrics.scoring import leaderboard_text as text
    from vmmetrics.scoring.leaderboard import make_boards

    output, messages = open_consoles()
    boards = make_boards(runs, by.lower())
    known = text.published_rows() if published else []
    for board in boards:
        title = f"× 100 [95 % interval over {board.prompts} prompts], ranked by {board.by}"
        grid = table(number(""), name("model"), *(whole(label(column)) for column in board.columns), title=title)
        for row in board.rows:
            cells = [text.cell_lines(row.cells[column], row.prompts) for column in board.columns]
            shown = [Text("\n").join([Text(mean), *(Text(rest, "dim") for rest in below)]) for mean, *below in cells]
            grid.add_row(str(row.rank or text.NONE), row.model, *shown)
        if known:
            grid.add_section()
            grid.add_row("", Text(text.published_title(board), "italic"))
        for one in known:
            scores = text.published_scores(board, one)
            grid.add_row("", Text(one.model), text.published_average(one), *scores, style="dim")
        output.print(grid)
        output.print(board.label, style="bold", soft_wrap=True)
        for remark in text.remarks(board, known):
            output.print(f"- {remark}", soft_wrap=True)
    if len(boards) > 1:
        messages.print("Several tables: their numbers are not comparable with one another", style="bold")
    for path, write in ((csv, text.to_csv), (markdown, text.to_markdown), (latex, text.to_latex)):
        if path is not None:
            write_text(path, write(boards, known))
            messages.print(f"written: {path}", soft_wrap=True)
