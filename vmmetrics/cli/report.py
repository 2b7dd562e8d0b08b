"""``vmmetrics report``: a page on which people look at runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Console

from vmmetrics.cli.options import MAX_COUNT, OwnIndex, argument, option, out_option
from vmmetrics.cli.ratings import RatingsReading
from vmmetrics.cli.terminal import Bar, open_consoles, until_stopped, warn

if TYPE_CHECKING:
    from vmmetrics.viewer.report import Report

REPORT = "report"
"""Folder in a run directory that ``vmmetrics score --report`` writes."""


def report(
    runs: Annotated[list[str], argument("Run directories, the baseline first; NAME=DIRECTORY names the model of one.")],
    out: Annotated[Path, out_option("Folder to write; an earlier report there is replaced.", show_default=False)],
    reading: RatingsReading,
    media: Annotated[
        Literal["link", "copy", "transcode"],
        option("Videos: link those that browsers play, copy them into a folder that can be moved, or transcode all."),
    ] = "link",
    clips: Annotated[
        str, option("Clips to list: all, worst:N, or a file with a name a line.", metavar="all|worst:N|FILE")
    ] = "all",
    overlays: Annotated[
        int | None,
        option(
            "Draw overlays that the run did not keep, of the worst N clips. Default: 20 s long.", min=0, max=MAX_COUNT
        ),
    ] = None,
    fetch: Annotated[
        bool, option("Fetch clips from the addresses that the runs name, to copy or draw them.", "--fetch")
    ] = False,
    single_file: Annotated[bool, option("Write one HTML file, of 50 MB at most.", "--single-file")] = False,
    index: OwnIndex = None,
    ratings: Annotated[
        list[str] | None,
        option("Human ratings of clips, in any form that align reads; repeatable.", metavar="[RUN=]FILE"),
    ] = None,
    serve: Annotated[
        bool, option("Serve it to this machine's browsers until Ctrl-C; it opens without a server, too.", "--serve")
    ] = False,
    show_paths: Annotated[bool, option("Keep absolute paths in texts.", "--show-paths")] = False,
    title: Annotated[str, option("Title of the page.")] = "Motion report",
) -> None:
    """Write a report of runs: leaderboard, gallery, clips with the events that cost points, comparisons.

    The folder opens in a browser without a server and makes no network request. Statistics are over all clips
    of the runs, whichever are listed. Exit codes: 0 written, 2 wrong usage or setup.
    """
    output, messages = open_consoles()
    written = write(
        runs, out, output, messages, media=media, clips=clips, overlays=overlays, fetch=fetch, single_file=single_file,
        index=index, ratings=ratings or (), rating_options=reading.options(), show_paths=show_paths, title=title,
    )  # fmt: skip
    if serve:
        from vmmetrics.viewer.server import serve as serve_report

        serve_report(written.path.parent, announce=lambda url: messages.print(f"{url} (Ctrl-C ends it)"))


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

    with until_stopped(messages, f"stopped; nothing was written to {out}"), _Progress(messages) as progress:
        written = write_report(runs, out, listener=progress, **options)
    warn(messages, written.warnings)
    messages.print(f"{_counted(written.clips)} in the report")
    for reason, number in written.left_out.items():
        messages.print(f"{_counted(number)}: {reason}", soft_wrap=True)
    messages.print("open it in a browser:")
    output.print(str(written.path), soft_wrap=True)
    return written


def _counted(clips: int) -> str:
    return f"{clips:,} clip{'' if clips == 1 else 's'}"


class _Progress(Bar):
    """Bar of the stages of a report."""

    def begin(self, stage: str, total: int) -> None:
        """Start a stage of so many clips."""
        self._console.print(f"{stage} ..." if stage != "clips" else f"{_counted(total)} ...")
        self.start(total)

    def advance(self) -> None:
        """Count a clip of the stage."""
        self.step()
