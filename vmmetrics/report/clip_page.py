"""From a run directory to a picture or film of one of its clips."""

from __future__ import annotations

from pathlib import Path

from vmmetrics.report.film import write_film
from vmmetrics.report.findings import Findings, perceive
from vmmetrics.report.sheet import draw_sheet
from vmmetrics.run.recall import recall


def write_page(run: Path, name: str, out: Path) -> tuple[str, ...]:
    """Draw a clip of a run.

    Args:
        run: Run directory.
        name: The clip's name in the run.
        out: File to write: a film where it ends in ``.mp4``, else a picture.

    Returns:
        What the reader should know: in what the models here differ from those that scored the clip.

    Raises:
        SetupError: No such run or clip, or its models are not here.
        ClipError: The clip could not be scored, or has moved or changed.
    """
    found = recall(run, name)
    findings = Findings(found.record.clip, found.label, found.results, found.record.errors, found.record.prompt)
    perceived = perceive(found.scene, findings)
    temporary = out.with_name(f".{out.stem}.partial{out.suffix}")
    try:
        if out.suffix.lower() == ".mp4":
            write_film(temporary, found.clip, findings, perceived)
        else:
            draw_sheet(found.clip, findings, perceived).save(temporary)
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)
    return found.warnings
