"""Tables on the terminal, all of one style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Column, Table

# Columns of tables: names that may be long, and numbers, which the last kind never breaks.
name = partial(Column, overflow="fold")
number = partial(Column, justify="right")
whole = partial(Column, justify="right", no_wrap=True)


def table(*columns: Column | str, rows: Iterable[Sequence[RenderableType]] = (), title: str | None = None) -> Table:
    """Return a table as all commands print them."""
    shown = Table(*columns, title=title, title_justify="left", box=SIMPLE_HEAD)
    for row in rows:
        shown.add_row(*row)
    return shown
