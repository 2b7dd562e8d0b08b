"""``vmmetrics filter``: clips in, a list of those out for which a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.options import option
from vmmetrics.cli.running import RunOptions, parse_scratch, run_clips
from vmmetrics.cli.terminal import EXIT_FAILURES, error, usage

if TYPE_CHECKING:
    from vmmetrics.scoring.filtering import Filtered
    from vmmetrics.scoring.table import Table


def filter_clips(
    clips: options.Clips,
    run: RunOptions,
    keep: Annotated[
        str,
        option(
            "Condition on measures, such as 'amplitude > 0.05 and cuts == 0 and camera == \"pan\"'.",
            metavar="CONDITION",
            show_default=False,
        ),
    ],
    reference_frames: Annotated[
        bool,
        option("Decode only frames that others refer to: a third less time, less exact.", "--reference-frames"),
    ] = False,
) -> None:
    """Filter training data: measure clips fast, and list those for which a condition holds.

    Measures: amplitude (of the subject, without the camera), camera ("still", "pan", "tilt", "zoom", "roll", "shake"),
    pan, tilt, zoom, roll, shake, cuts, fades, borders, card_share, frozen_share, onset, loop, exposure_drift,
    saturation_drift, flicker; aspect, duration, fps, width, height.

    RUN/kept.jsonl lists the clips kept, and can be given as CLIPS. Re-run the same command to resume; with another
    --keep nothing is measured again. Exit codes: 0 all decided, 2 wrong usage or setup, 3 some clips failed or are
    undecided, because a measure that matters could not be made.
    """
    from vmmetrics.scoring.filter_suite import FilterSettings
    from vmmetrics.scoring.filtering import KEPT, Filtered, condition

    start = run.start()
    if run.device is not None and run.device != "cpu":
        raise typer.BadParameter("filter runs on the CPU; leave out --device")
    with usage("--keep"):
        parsed = condition(keep)
    settings = FilterSettings(reading=run.reading(), scratch=parse_scratch(run.scratch), reference=reference_frames)

    filtered: Filtered

    def write(table: Table) -> None:
        nonlocal filtered
        filtered = Filtered(table, parsed)
        if table.path is not None:
            filtered.write(table.path)

    def show(table: Table, output: Console, messages: Console) -> None:
        _print(filtered, run.form, output)
        messages.print(f"kept: {table.path}/{KEPT}; reasons: decisions.jsonl; measures: scores.csv", soft_wrap=True)
        if start.shard is not None:
            messages.print("of this shard; merge the shards, then filter into that run without --shard: it lists all")
        undecided = filtered.counts["undecided"]
        if undecided:
            error(messages, f"{undecided} of {len(table)} clips are undecided: neither kept nor dropped", "bold red")
        if table.summary.failed:
            error(messages, f"{table.summary.failed} of {len(table)} clips failed", "bold red")
        if undecided and not run.allow_failures:
            raise typer.Exit(EXIT_FAILURES)

    run_clips(clips, settings, start, run, show, finish=write)


def _print(filtered: Filtered, form: str, output: Console) -> None:
    """Print counts with the commonest reasons as text, every decision otherwise."""
    from vmmetrics.cli.formats import print_result
    from vmmetrics.scoring.filter_suite import MEASURES
    from vmmetrics.scoring.filtering import FACTS, VERDICTS
    from vmmetrics.utils.display.tables import DisplayTable, figure, heads

    names = ("camera", *MEASURES, *FACTS)
    table = DisplayTable("decisions", "Decisions", "", heads("clip", "decision", "reasons", *names, texts=4))
    if form == "text":
        table = DisplayTable("decisions", "Decisions", filtered.keep.text, heads("decision", "clips", "why", texts=1))
        for verdict in VERDICTS:
            reasons = [] if verdict == "kept" else filtered.reasons(verdict).most_common(5)
            why = "; ".join(f"{reason} ({n})" for reason, n in reasons)
            table.add(verdict, str(filtered.counts[verdict]), why)
    for decision in () if form == "text" else filtered:
        values = [decision.values.get(name) for name in names]
        cells = (figure(v, f"{v:.4g}") if isinstance(v, float) else v or "" for v in values)
        table.add(decision.clip, decision.verdict, "; ".join(decision.reasons), *cells)
    print_result(form, [table], output)
