"""Tables on the terminal, all of one style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Column, Table

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
