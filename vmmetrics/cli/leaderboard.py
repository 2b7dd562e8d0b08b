"""``vmmetrics leaderboard``: models side by side, with how sure their order is."""

from __future__ import annotations

from typing import Annotated

from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import CollapsedAs, Format, OwnIndex, argument, option
from vmmetrics.cli.terminal import open_consoles


def leaderboard(
    runs: Annotated[list[str], argument("Run directories; NAME=DIRECTORY names the model of one.")],
    sort_by: Annotated[
        str | None,
        option("Rank by motion_index, average or a metric. Default: motion_index, which protocol vmbench lacks."),
    ] = None,
    index: OwnIndex = None,
    collapsed: CollapsedAs = "zero",
    published: Annotated[bool, option("Show VMBench's published rows below.")] = True,
    form: Format = "text",
) -> None:
    """Rank models by their runs: means with intervals over prompts, pairwise tests, rank intervals by bootstrap.

    Runs of different presets, protocols or weights get a table each.
    """
    from vmmetrics.scoring.leaderboard import make_boards
    from vmmetrics.scoring.leaderboard_text import board_parts, board_records, published_rows, to_csv
    from vmmetrics.scoring.summary import INDEX
    from vmmetrics.utils.display.tables import Lines

    output, messages = open_consoles()
    boards = make_boards(runs, sort_by and {"index": INDEX}.get(sort_by.lower(), sort_by.lower()), collapsed, index)
    rows = published_rows() if published else []
    parts = [part for board in boards for part in board_parts(board, rows)]
    remarks = [line for part in parts if isinstance(part, Lines) for line in part.lines]
    data = {"models": board_records(boards, rows), "remarks": remarks}
    print_result(form, parts, output, data=lambda: data, csv=lambda: to_csv(boards, rows))
    if len(boards) > 1:
        messages.print("Several tables: numbers are not comparable across them", style="bold")
