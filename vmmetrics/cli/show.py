"""``vmmetrics show``: a picture or film of what cost a clip its points."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer


def show(
    run: Annotated[Path, typer.Argument(help="Run directory.", show_default=False)],
    clip: Annotated[
        str, typer.Argument(help="Name of the clip, as the table has it, or its path.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Picture (.png) or film (.mp4) to write.", show_default=False)],
) -> None:
    """Draw what cost a clip its points: masks, tracks, skeletons, and the curves with the frames at fault."""
    if out.suffix.lower() not in (".png", ".mp4"):
        raise typer.BadParameter(f"expected a name that ends in .png or .mp4 but got {out.name}")
    if not out.absolute().parent.is_dir():
        raise typer.BadParameter(f"the folder {out.absolute().parent} does not exist")
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.scoring.recall import recall
    from vmmetrics.scoring.show.film import write_film
    from vmmetrics.scoring.show.findings import Findings, perceive
    from vmmetrics.scoring.show.sheet import draw_sheet
    from vmmetrics.utils.storage.atomic import temporary_of

    found = recall(run, clip)
    output, messages = open_consoles()
    for warning in found.warnings:
        messages.print(f"warning: {warning}", soft_wrap=True)
    findings = Findings(found.record.clip, found.label, found.results, found.record.errors, found.record.prompt)
    perceived = perceive(found.scene, findings)
    building = temporary_of(out)
    try:
        building.mkdir()
        partial = building / out.name
        if out.suffix.lower() == ".mp4":
            write_film(partial, found.clip, findings, perceived)
        else:
            draw_sheet(found.clip, findings, perceived).save(partial)
        partial.replace(out)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    output.print(str(out), soft_wrap=True)
