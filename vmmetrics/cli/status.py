"""``vmmetrics status``: how far a run is, while others write it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, option
from vmmetrics.cli.terminal import EXIT_FAILURES, open_consoles, warn

if TYPE_CHECKING:
    from vmmetrics.scoring.status import RunStatus
    from vmmetrics.utils.display.tables import DisplayTable

_WATCH_SECONDS = 2.0


def status(
    run: Annotated[Path, argument("Run directory.")],
    watch: Annotated[bool, option("Refresh every 2 seconds until the run ends.", "--watch")] = False,
    form: options.Format = "text",
) -> None:
    """Print the progress of a run: clips done, failed and to do, rate, time left, and work per node.

    Reads the run directory alone, and takes no lock: safe while others score. Exit codes: 0 nothing failed so far,
    3 some clips failed, 2 no run.
    """
    from vmmetrics.scoring.status import StatusReader

    output, messages = open_consoles()
    reader = StatusReader(run)
    while True:
        now = datetime.now(UTC)
        current = reader.read(now)
        warn(messages, current.warnings)
        if watch and output.is_terminal and form == "text":
            output.clear()
        print_result(form, _tables(current, now), output, data=lambda current=current: _data(current))  # type: ignore[misc]
        if not watch or current.ended:
            break
        time.sleep(_WATCH_SECONDS)
    if current.failed:
        raise typer.Exit(EXIT_FAILURES)


def _tables(status: RunStatus, now: datetime) -> list[DisplayTable]:
    from vmmetrics.cli.progress import clock
    from vmmetrics.utils.display.tables import DisplayTable, count, figure, heads, number

    columns = heads("run", "state", "clips", "scored", "failed", "to do", "a minute", "time left", "last, ago", texts=2)
    whole = DisplayTable("status", "Run", "", columns)
    left = figure(status.seconds_left, "–" if status.seconds_left is None else clock(status.seconds_left))
    counts = (figure(value, count(value)) for value in (status.clips, status.scored, status.failed, status.to_do))
    rate = figure(status.per_minute, number(status.per_minute, 1))
    state = "finished" if status.ended else "not finished"
    whole.add(status.run.resolve().name, state, *counts, rate, left, _ago(status.last, now))
    nodes = DisplayTable("nodes", "Nodes", "", heads("node", "processes", "clips", "failed", "last, ago"))
    for node in status.nodes:
        cells = (figure(number, count(number)) for number in (node.processes, node.done, node.failed))
        nodes.add(node.node, *cells, _ago(node.last, now))
    return [whole, nodes]


def _ago(moment: datetime | None, now: datetime) -> Any:
    from vmmetrics.cli.progress import clock
    from vmmetrics.utils.display.tables import figure

    seconds = None if moment is None else max(0.0, (now - moment).total_seconds())
    return figure(seconds, "–" if seconds is None else clock(seconds))


def _data(status: RunStatus) -> dict[str, Any]:
    names = ("started", "ended", "clips", "scored", "failed", "to_do", "per_minute", "seconds_left", "last")
    data = {"run": str(status.run), **{name: _plain(getattr(status, name)) for name in names}}
    fields = ("node", "processes", "done", "failed", "last")
    return data | {"nodes": [{name: _plain(getattr(node, name)) for name in fields} for node in status.nodes]}


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else value
