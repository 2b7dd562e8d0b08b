"""``vmmetrics leaderboard``: models side by side, with how sure their order is."""

from __future__ import annotations

from typing import Annotated

from vmmetrics.cli.options import CsvFile, LatexFile, MarkdownFile, argument, option
from vmmetrics.cli.terminal import open_consoles


def leaderboard(
    runs: Annotated[list[str], argument("Run directories; NAME=DIRECTORY names the model of one.")],
    sort_by: Annotated[
        str | None,
        option("Rank by motion_index, average or a metric. Default: motion_index, which protocol vmbench lacks."),
    ] = None,
    published: Annotated[bool, option("VMBench's published rows below ours.")] = True,
    csv: CsvFile = None,
    markdown: MarkdownFile = None,
    latex: LatexFile = None,
) -> None:
    """Rank the models of some runs: means with intervals over prompts, steps tested in pairs, places by resampling.

    Runs of different presets, protocols or weights get a table each.
    """
    from vmmetrics.scoring.leaderboard import INDEX, make_boards
    from vmmetrics.scoring.leaderboard_text import board_parts, published_rows, to_csv
    from vmmetrics.utils.display.tables import print_parts, to_latex, to_markdown
    from vmmetrics.utils.storage.atomic import write_text

    output, messages = open_consoles()
    boards = make_boards(runs, sort_by and {"index": INDEX}.get(sort_by.lower(), sort_by.lower()))
    known = published_rows() if published else []
    parts = [part for board in boards for part in board_parts(board, known)]
    print_parts(parts, output)
    if len(boards) > 1:
        messages.print("Several tables: their numbers are not comparable with one another", style="bold")
    texts = (to_csv(boards, known), "\n".join(map(to_markdown, parts)), "\n".join(map(to_latex, parts)))
    for path, text in zip((csv, markdown, latex), texts, strict=True):
        if path is not None:
            write_text(path, text)
            messages.print(f"written: {path}", soft_wrap=True)
