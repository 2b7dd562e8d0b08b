"""``vmmetrics report``: a page on which people look at runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Console

from vmmetrics.cli.options import argument, option, out_option
from vmmetrics.cli.terminal import Bar, open_consoles, until_stopped, warn

if TYPE_CHECKING:
    from vmmetrics.viewer.report import Report

IN_RUN = "report"
"""Folder in a run directory that ``vmmetrics score --report`` writes."""


def report(
    runs: Annotated[
        list[str], argument("Run directories, the baseline first; NAME=DIRECTORY names the model of one.")
    ],
    out: Annotated[Path, out_option("Folder to write; an earlier report there is replaced.", show_default=False)],
    media: Annotated[
        Literal["link", "copy", "transcode"],
        option("Videos: link those that browsers play, copy them into a folder that can be moved, or transcode all."),
    ] = "link",
    clips: Annotated[
        str, option("Clips to list: all, worst:N, or a file with a name a line.", metavar="all|worst:N|FILE")
    ] = "all",
    single_file: Annotated[bool, option("Write one HTML file, of 50 MB at most.", "--single-file")] = False,
    show_paths: Annotated[bool, option("Keep absolute paths in texts.", "--show-paths")] = False,
    title: Annotated[str, option("Title of the page.")] = "Motion report",
) -> None:
    """Write a report of runs: leaderboard, gallery, clips with the events that cost points, comparisons.

    The folder opens in a browser without a server and makes no network request. Statistics are over all clips
    of the runs, whichever are listed. Exit codes: 0 written, 2 wrong usage or setup.
    """
    output, messages = open_consoles()
    options = {"media": media, "clips": clips, "single_file": single_file, "show_paths": show_paths, "title": title}
    write(runs, out, output, messages, **options)


def write(runs: list[str], out: Path, output: Console, messages: Console, **options: Any) -> Report:
    """Write a report with progress; print its path, and what is left out and why.

    Args:
        runs: Run directories.
        out: Folder.
        output: For the path of the page.
        messages: For progress and the rest.
        options: Of :func:`vmmetrics.write_report`.
    """
    from vmmetrics.viewer.report import write_report

    with until_stopped(messages, f"stopped; nothing was written to {out}"), Bar(messages) as bar:
        progress = _Progress(bar)
        written = write_report(runs, out, listener=progress.advance, **options)
    warn(messages, written.warnings)
    messages.print(f"{_counted(written.clips)} in the report")
    for reason, number in written.left_out.items():
        messages.print(f"{_counted(number)}: {reason}", soft_wrap=True)
    messages.print("open it in a browser:")
    output.print(str(written.path), soft_wrap=True)
    return written


def _counted(clips: int) -> str:
    return f"{clips:,} clip{'' if clips == 1 else 's'}"


class _Progress:
    """Steps of a bar whose number becomes known with the first of them."""

    def __init__(self, bar: Bar) -> None:
        self._bar, self._is_started = bar, False

    def advance(self, done: int, total: int) -> None:
        """Count a clip."""
        if not self._is_started:
            self._bar.start(total)
            self._is_started = True
        self._bar.step()
