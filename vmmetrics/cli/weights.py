"""``vmmetrics weights``: list, fetch and verify published checkpoints."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, option
from vmmetrics.cli.terminal import open_consoles

if TYPE_CHECKING:
    from vmmetrics.scoring.doctor import Finding
    from vmmetrics.utils.weights.download import Progress as Told
    from vmmetrics.utils.weights.fetch import FetchListener
    from vmmetrics.utils.weights.manifest import Published


# ``vmmetrics doctor``: what is here, what can run, and what mends the rest.


def doctor(
    engine: options.EngineName = "local", address: options.Address = None, form: options.Format = "text"
) -> None:
    """Print what is installed, which presets can run, and how to install what is missing.

    With --engine ray, also what each node of the cluster has: versions, weights, GPU memory, scratch disk, clock.
    """
    from vmmetrics.cli.running import ClusterOptions
    from vmmetrics.scoring.doctor import check_cluster, check_up
    from vmmetrics.utils.display.tables import DisplayTable, heads

    output, _ = open_consoles()
    cluster = ClusterOptions(engine, address).cluster()
    report = check_up()
    if cluster is not None:
        report |= check_cluster(cluster)
    grid = DisplayTable("doctor", "Installation", "", heads("part", "name", "state", "found", "install with", texts=5))
    for title, findings in report.items():
        for one in findings:
            grid.add(title, one.name, {True: "ok", False: "bad", None: "absent"}[one.good], one.text, one.cure or "")
    print_result(form, [grid], output, text=lambda: _print_findings(report, output))
    if any(finding.good is False for findings in report.values() for finding in findings):
        raise typer.Exit(1)


def _print_findings(report: dict[str, list[Finding]], output: Console) -> None:
    for title, findings in report.items():
        output.print(title, style="bold")
        for finding in findings:
            sign, style = {True: ("ok", "green"), False: ("BAD", "red"), None: ("--", "dim")}[finding.good]
            output.print(f"  {sign:<4}", style=style, end="")
            output.print(f"{finding.name}: {finding.text}", soft_wrap=True)
            if finding.cure:
                output.print(
                    f"       {'repair' if finding.good is False else 'install'} with: {finding.cure}", soft_wrap=True
                )


EXIT_DAMAGED = 1


def list_weights(
    names: Annotated[list[str] | None, argument("Checkpoints and sets. Default: all.")] = None,
    form: options.Format = "text",
) -> None:
    """List the published checkpoints, what needs them, and which are present."""
    from vmmetrics.utils.display.tables import DisplayTable, figure, heads
    from vmmetrics.utils.weights.fetch import gigabytes
    from vmmetrics.utils.weights.folder import inspect, weights_home
    from vmmetrics.utils.weights.manifest import select

    output, _ = open_consoles()
    home = weights_home()
    columns = (*heads("name", "set", "for", "licence", "source", texts=5), *heads("size", "here", texts=0))
    grid = DisplayTable("weights", "Published weights", f"weights folder: {home}", columns)
    for entry in select(names or None):
        inspected = inspect(entry, home, "sizes")
        if inspected.faults:
            state = "damaged"
        elif inspected.missing:
            state = "partly" if inspected.files else "no"
        else:
            state = "yes"
        exact = all(file.bytes is not None for file in entry.files if file.about is not None or file.bytes is not None)
        size = ("" if exact else "~") + gigabytes(entry.size)
        where = entry.source if entry.hub else urlsplit(entry.files[0].url or "").netloc
        cells = (entry.name, ", ".join(entry.sets), entry.used_by, entry.licence, where)
        grid.add(*cells, figure(entry.size, size), state)
    print_result(form, [grid], output)


def fetch(
    names: Annotated[list[str], argument("Checkpoints and sets, such as vmbench.")],
    copies: Annotated[Path | None, option("Copy from this folder; no network.", "--from-folder")] = None,
    mirror: Annotated[
        str | None, option("Address of a web server with a weights folder. (A mirror of the hub: set HF_ENDPOINT.)")
    ] = None,
    offline: Annotated[
        bool, option("Do not use the network; print what is missing and where to put it.", "--offline")
    ] = False,
    accept_licence: Annotated[bool, option("Accept the licences that require it.", "--accept-licence")] = False,
) -> None:
    """Download published weights. Resumes partial downloads and skips complete files."""
    from vmmetrics.utils.weights import fetch as fetching

    output, messages = open_consoles()
    with _Bars(messages) as bars:
        listener = bars.listener(accept_licence)
        fetched = fetching.fetch(names, listener, mirror=mirror, copies=copies, offline=offline)
    for one in fetched:
        output.print(f"{one.entry.name}: {one.path}", soft_wrap=True)


def verify(
    names: Annotated[list[str] | None, argument("Checkpoints and sets. Default: all present ones.")] = None,
) -> None:
    """Hash every file and compare it with the published and the recorded hash. Exit code 1 if one is wrong."""
    from vmmetrics.utils.weights.folder import inspect, weights_home
    from vmmetrics.utils.weights.manifest import select

    output, _ = open_consoles()
    home = weights_home()
    entries = [entry for entry in select(names or None) if names or (home / entry.name).is_dir()]
    if not entries:
        output.print(f"no published weights in {home}", soft_wrap=True)
    wrong = 0
    for entry in entries:
        state = inspect(entry, home, "all")
        wrong += not state.whole
        text = "ok" if state.whole else state.complaint
        output.print(f"{entry.name}: {text}", style="" if state.whole else "red", soft_wrap=True)
    if wrong:
        raise typer.Exit(EXIT_DAMAGED)


def path(name: Annotated[str | None, argument("Checkpoint. Default: the weights folder.")] = None) -> None:
    """Print the verified path of a checkpoint, or the weights folder."""
    from vmmetrics.utils.weights.folder import resolve, weights_home

    location = weights_home() if name is None else resolve([name])[name]
    output, _ = open_consoles()
    if output.is_terminal:
        output.print(str(location), soft_wrap=True)
    else:  # a script that reads it needs the very bytes
        typer.echo(os.fsencode(location))


class _Bars:
    """Progress of downloads: a bar per file on a terminal, a line per finished file."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._console = console
        self._bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)

    def __enter__(self) -> _Bars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def listener(self, accept: bool) -> FetchListener:
        """Return the listener for :func:`~vmmetrics.utils.weights.fetch.fetch`."""
        from vmmetrics.utils.weights.fetch import FetchListener

        def agree(entry: Published) -> bool:
            if not accept and not (sys.stdin.isatty() and self._console.is_terminal):
                return False  # the refusal says the notice
            self._say(f"{entry.name}: {entry.notice}")
            if accept:
                return True
            self._bars.stop()
            agreed = typer.confirm("Do you agree?", err=True)
            self._bars.start()
            return agreed

        return FetchListener(self._say, agree, self._bar)

    def _bar(self, name: str, file: str) -> Told:
        task = self._bars.add_task(f"{name}/{file}", total=None)

        def update(done: int, total: int | None) -> None:
            self._bars.update(task, completed=done, total=total, visible=done != total)

        return update

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)
