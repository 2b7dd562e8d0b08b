"""The result of a command on stdout, in the form that was asked for; tables on the terminal, all of one style."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Column, Table

from vmmetrics.utils.display.markup import spelled

if TYPE_CHECKING:
    from vmmetrics.utils.display.tables import Part


def print_result(
    form: str,
    parts: Sequence[Part],
    output: Console,
    *,
    text: Callable[[], None] | None = None,
    data: Callable[[], Any] | None = None,
    csv: Callable[[], str] | None = None,
) -> None:
    """Print a result to stdout, and nothing else.

    Args:
        form: One of :data:`vmmetrics.cli.options.OutputFormat`.
        parts: The result as tables and sentences.
        output: Where text goes.
        text: Prints it as text, where that is more than the tables.
        data: What JSON has, where that is more than the tables.
        csv: The CSV, where that is another than of the tables.
    """
    from vmmetrics.utils.display import records, tables
    from vmmetrics.utils.schema import plain

    if form == "text":
        if text is None:
            tables.print_parts(parts, output)
        else:
            text()
        return
    if form == "json":
        result = records.to_data(parts) if data is None else data()
        ascii_only = not (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
        shown = records.to_json(plain(result), ascii_only=ascii_only)
    elif form == "csv":
        shown = records.to_csv(parts) if csv is None else csv()
    else:
        write = tables.to_markdown if form == "markdown" else tables.to_latex
        shown = "\n".join(map(write, parts))
    typer.echo(spelled(shown, getattr(sys.stdout, "encoding", None)), nl=False)


# Columns of tables: names that may be long, and numbers, which the last kind never breaks.
name = partial(Column, overflow="fold")
number = partial(Column, justify="right")
whole = partial(Column, justify="right", no_wrap=True)


def table(*columns: Column | str, rows: Iterable[Sequence[RenderableType]] = ()) -> Table:
    """Return a table as all commands print them."""
    shown = Table(*columns, box=SIMPLE_HEAD)
    for row in rows:
        shown.add_row(*row)
    return shown


def print_titled(output: Console, title: str, grid: Table) -> None:
    """Print a table under its title on one line; rich would wrap a title at the width of the table."""
    output.print(title, style="bold", soft_wrap=True)
    output.print(grid)
