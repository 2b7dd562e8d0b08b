"""``vmmetrics rate pack`` and ``merge``: raters without a network, and studies of several sites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.options import argument, option, out_option
from vmmetrics.cli.rate import StudyFolder, tell_forgotten
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, count, error, open_consoles, until_stopped, warn
from vmmetrics.errors import SetupError


def pack(
    study: StudyFolder,
    out: Annotated[Path, out_option("Folder of the pages; absent or empty.", show_default=False)],
    raters: Annotated[int, option("Number of raters: a page each.", min=1, max=1000, show_default=False)],
) -> None:
    """Write an offline page per rater, clips inside; the file that it gives back is for 'rate merge'.

    For two weeks a page holds its items. Such a file proves which page it is of; not that the clips were watched, nor
    by whom. Exit codes: 0 written, 2 wrong usage or setup.
    """
    from vmmetrics.rating.pack import write_packs
    from vmmetrics.rating.study import read_study

    output, messages = open_consoles()
    found = read_study(study)
    with until_stopped(messages, "stopped; nothing was written"), Bar(messages, raters) as bar:
        largest = write_packs(found, out, raters, lambda _: bar.step())
    messages.print(f"{count(raters, 'page')} of up to {largest / 1e6:.1f} MB; one to a rater, opened in a browser")
    output.print(str(out), soft_wrap=True)


def merge(
    study: StudyFolder,
    inputs: Annotated[list[Path], argument("Files that raters gave back, or folders of studies of the same clips.")],
) -> None:
    """Take answers of offline raters, or of other sites, into a study. What is there already changes nothing.

    Exit codes: 0 taken, 2 no study, 3 an input was refused and the others taken.
    """
    from vmmetrics.rating.merge import merge as take
    from vmmetrics.rating.study import read_study

    _, messages = open_consoles()
    found, refused = read_study(study), False
    for path in inputs:
        try:
            merged = take(found, path)
        except SetupError as problem:
            refused = True
            for line in problem.args:
                error(messages, line)
            continue
        forgotten = f", {count(merged.forgotten, 'session')} of forgotten raters left out" if merged.forgotten else ""
        new = f"{count(merged.answers, 'answer')} of {count(merged.sessions, 'session')}"
        messages.print(f"{path}: {new if merged.sessions else 'nothing new'}{forgotten}", soft_wrap=True)
        for removed in merged.removed:
            tell_forgotten(messages, removed)
        if merged.forgotten:
            warn(messages, [f"{path} still has answers of forgotten raters: remove it, or forget them there too"])
    if refused:
        raise typer.Exit(EXIT_FAILURES)
