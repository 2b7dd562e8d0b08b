"""``vmmetrics verify``: whether scores here are those of other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.terminal import EXIT_FAILURES, count, open_consoles, until_stopped

if TYPE_CHECKING:
    from vmmetrics.scoring.verification import ComparedScore
    from vmmetrics.utils.display.tables import DisplayTable


def verify(limit: options.Limit = None, form: options.Format = "text") -> None:
    """Score 20 shipped clips and compare the scores with stored ones.

    Prints a passport to paste into an issue: system, processor, versions. Exit codes: 0 all scores agree, 2 no
    scores are stored for this OpenCV, 3 some differ.
    """
    from vmmetrics.cli.progress import LiveProgress
    from vmmetrics.metrics import METRICS
    from vmmetrics.scoring import verification
    from vmmetrics.utils.display.tables import Lines

    output, messages = open_consoles()
    with until_stopped(messages, "stopped"), LiveProgress(messages, METRICS) as progress:
        compared = verification.verify(limit, progress)
    passport = verification.passport()
    differing = [one for one in compared if not one.agrees]
    clips = count(len({one.clip for one in compared}), "clip")
    largest, allowed = max(one.difference for one in compared), max(one.tolerance for one in compared)
    verdict = (
        f"{len(differing)} of {len(compared)} scores of {clips} differ from the stored ones"
        if differing
        else f"all {len(compared)} scores of {clips} agree with the stored ones: "
        f"largest difference {largest:.1g}, up to {allowed:g} allowed"
    )
    parts = [_passport_table(passport), *([_difference_table(differing)] if differing else [])]
    data = {"passport": passport, "verdict": verdict, "scores": compared, "differing": len(differing)}
    print_result(form, [*parts, Lines("verdict", "Verdict", (verdict,))], output, data=lambda: data)
    if differing:
        raise typer.Exit(EXIT_FAILURES)


def _passport_table(passport: dict[str, Any]) -> DisplayTable:
    from vmmetrics.utils.display.tables import DisplayTable, heads

    table = DisplayTable("passport", "Passport", "", heads("what", "here", texts=2))
    for name, value in passport.items():
        if isinstance(value, dict):
            for part, version in value.items():
                table.add(part if name == "versions" else f"score {part}", str(version))
        else:
            table.add(name, str(value))
    return table


def _difference_table(differing: list[ComparedScore]) -> DisplayTable:
    from vmmetrics.utils.display.tables import DisplayTable, figure, heads

    columns = heads("clip", "score", "stored", "here", "tolerance", texts=2)
    table = DisplayTable("differences", "Scores that differ", "", columns)
    for one in differing:
        numbers = (
            figure(value, f"{value:.7f}") if value is not None else figure(None) for value in (one.stored, one.here)
        )
        table.add(one.clip, one.score, *numbers, figure(one.tolerance, f"{one.tolerance:g}"))
    return table
