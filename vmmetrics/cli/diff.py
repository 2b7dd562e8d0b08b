"""``vmmetrics diff``: what changed from one run to another, and whether that is worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import CollapsedAs, FailMissing, Format, argument, option
from vmmetrics.cli.terminal import EXIT_WORSE, error, open_consoles, usage


def diff(
    before: Annotated[Path, argument("Run directory to compare with.")],
    after: Annotated[Path, argument("Run directory, scored with the same preset, protocol and weights.")],
    fail_if_worse: Annotated[
        str | None,
        option("Exit with 4 if this is significantly worse: INDEX, a metric, or any.", metavar="METRIC"),
    ] = None,
    collapsed: CollapsedAs = "zero",
    fail_missing: FailMissing = None,
    across_versions: Annotated[
        bool, option("Compare even if the scores are not comparable.", "--across-versions")
    ] = False,
    form: Format = "text",
) -> None:
    """Compare two runs clip by clip: changes of the means, and the clips that changed most.

    Clips are paired by name, else by content or prompt. With several models --fail-if-worse tests each of
    them. --fail-missing alone counts the clips of the second run. Exit codes: 0 compared, 2 the runs cannot be
    compared, 4 worse, or too many clips without an INDEX.
    """
    from vmmetrics.scoring.diff import diff as compare
    from vmmetrics.scoring.diff_text import diff_parts, missing_verdict, verdict
    from vmmetrics.scoring.summary import INDEX
    from vmmetrics.scoring.thresholds import MOST_MISSING

    output, messages = open_consoles()
    difference = compare(before, after, across_versions=across_versions, collapsed=collapsed)
    print_result(form, diff_parts(difference), output)
    if fail_if_worse is None and fail_missing is None:
        return
    most = MOST_MISSING if fail_missing is None else fail_missing
    if fail_if_worse is None:
        with usage("--fail-missing"):
            passed, text = missing_verdict(difference, most)
    else:
        metric = fail_if_worse.strip().lower()
        with usage("--fail-if-worse"):
            passed, text = verdict(difference, INDEX if metric == "index" else metric, most)
    if passed:
        messages.print(text, soft_wrap=True)
    else:
        error(messages, text, "bold red")
        raise typer.Exit(EXIT_WORSE)
