"""What a chosen subset is worth, on the terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vmmetrics.mmpg.selection_balance import AgainstRandom, Selection


def print_selection(found: Selection, prompts: int, console: Console) -> None:
    """Print a subset's figures beside those of random subsets of the same size and balance.

    Args:
        found: The subset.
        prompts: Of the list it was chosen from.
        console: Where.
    """
    patterns = ", ".join(f"{pattern} {number}" for pattern, number in found.patterns.items())
    console.print(Text(f"{len(found.places):,} of {prompts:,} prompts: {patterns or 'no patterns'}"), soft_wrap=True)
    heads = ("chosen", f"{found.random:,} random", "their 95 %", "of them better")
    grid = Table(title="objective: higher is better", title_justify="left", box=SIMPLE_HEAD)
    grid.add_column("term")
    for head in heads:
        grid.add_column(head, justify="right")
    grid.add_row("objective", *_cells(found.objective), end_section=True)
    for name, value in found.parts.items():
        grid.add_row(name, *_cells(value))
    console.print(grid)
    if found.mean_distance is None:
        console.print(Text("no tags, so no proportions to hold against the list's", "dim"))
        return
    title = "distance to the list's proportions (total variation, 0 to 1): lower is better"
    grid = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    grid.add_column("tag")
    for head in heads:
        grid.add_column(head, justify="right")
    for name, value in found.distances.items():
        grid.add_row(name, *_cells(value))
    grid.add_section()
    grid.add_row("mean over tags", *_cells(found.mean_distance))
    console.print(grid)


def _cells(value: AgainstRandom) -> tuple[str, ...]:
    return f"{value.chosen:.3f}", f"{value.mean:.3f}", f"{value.low:.3f} to {value.high:.3f}", f"{value.better:.1%}"
