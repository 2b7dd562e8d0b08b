"""``vmmetrics plan``: how many clips, prompts and raters a study of human alignment needs."""

from __future__ import annotations

from typing import Annotated

import typer

from vmmetrics.cli.numbers import MAX_COUNT, finite

_RATERS = (1, 2, 3, 5, 10)


def plan(
    first: Annotated[
        float,
        typer.Option(min=-1, max=1, callback=finite, help="Spearman of one metric with the mean of three raters."),
    ] = 0.6,
    second: Annotated[
        float, typer.Option(min=-1, max=1, callback=finite, help="Of another, to be told from it.")
    ] = 0.7,
    raters: Annotated[
        list[int] | None,
        typer.Option(min=1, max=MAX_COUNT, help="People who rate each clip; repeatable. Default: 1, 2, 3, 5, 10."),
    ] = None,
    clips_per_prompt: Annotated[
        int, typer.Option(min=1, max=MAX_COUNT, help="Clips of each prompt, each by another model.")
    ] = 4,
    power: Annotated[float, typer.Option(min=0, max=1, callback=finite, help="Chance of seeing the difference.")] = 0.8,
    between: Annotated[
        float | None,
        typer.Option(
            min=-1, max=1, callback=finite, help="Spearman of the two metrics with each other. Default: first × second."
        ),
    ] = None,
) -> None:
    """Print what a study needs to tell two metrics apart, before anyone has rated a clip."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from vmmetrics.alignment.power import plan_study
    from vmmetrics.cli.progress import open_consoles

    output, _ = open_consoles()
    try:
        plans = [
            plan_study(first, second, raters=number, clips_per_prompt=clips_per_prompt, power=power, between=between)
            for number in raters or _RATERS
        ]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    title = f"To tell ρ = {first:g} from ρ = {second:g} with a chance of {power:.0%}"
    grid = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for column in ("raters", "clips", "prompts", "ratings", "ρ they see", "smallest within-model ρ"):
        grid.add_column(column, justify="right")
    for found in plans:
        smallest = "-" if found.smallest_within_model is None else f"{found.smallest_within_model:.2f}"
        seen = f"{found.first:.2f} and {found.second:.2f}"
        sizes = (found.raters, found.clips, found.prompts, found.ratings)
        grid.add_row(*map(str, sizes), seen, smallest)
    output.print(grid)
    middle = plans[len(plans) // 2]  # the notes differ in the numbers that the table has
    output.print(f"With {middle.raters} raters: {middle.note}", style="dim", soft_wrap=True)
