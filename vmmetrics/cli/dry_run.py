"""Output of ``--dry-run``: what a command would do; nothing is computed or written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vmmetrics.cli.formats import print_result
from vmmetrics.cli.terminal import count
from vmmetrics.errors import SetupError

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.scoring.run import Run
    from vmmetrics.scoring.tasks import Task
    from vmmetrics.utils.display.tables import DisplayTable, Part

SHOWN_CLIPS = 20
"""Maximum rows on a terminal; other formats have all."""


def show_run(run: Run, form: str, output: Console) -> None:
    """Print the clips of a run with their prompts, its models and weights, and where results would go.

    Raises:
        typer.Exit: With 2 where something that the run needs is not here, else with 0.
    """
    from vmmetrics.scoring.tasks import prompt_sources
    from vmmetrics.utils.display.tables import DisplayTable, Lines, heads

    lines = [
        f"{count(len(run.tasks), 'clip')}; metrics: {', '.join(run.settings.metrics)}", prompt_sources(run.tasks)
    ]  # fmt: skip
    models = DisplayTable("models", "Models", "", heads("for", "model", texts=2))
    weights = DisplayTable("weights", "Weights, all present", "", heads("file", "SHA-256", texts=2))
    lacking = False
    directory = run.out
    try:
        setup = run.setup
    except SetupError as error:
        lacking = True
        lines += ["not ready to run:", *map(str, error.args)]
    else:
        directory = run.directory
        lines.append(setup.label)
        unused = getattr(setup.scorer.suite(run.settings.metrics), "unused", ())  # baselines load what they need alone
        for table, part in ((models, "models"), (weights, "weights")):
            for name, shown in setup.configuration.get(part, {}).items():
                if name not in unused:
                    table.add(str(name), str(shown))
    if directory is not None:
        lines.append(f"results: {directory}, {_there(directory, run.tasks)}")
    parts: list[Part] = [Lines("plan", "Planned run", tuple(filter(None, lines))), clip_table(run.tasks, form)]
    parts += [table for table in (models, weights) if table.rows]
    print_result(form, parts, output)
    raise typer.Exit(2 if lacking else 0)


def clip_table(tasks: Sequence[Task], form: str) -> DisplayTable:
    """Return clips with their models and prompts, and where the prompts are from; the first of them as text."""
    from vmmetrics.utils.display.tables import DisplayTable, heads

    shown = tasks[:SHOWN_CLIPS] if form == "text" else tasks
    more = f"and {len(tasks) - len(shown)} more" if len(shown) < len(tasks) else ""
    table = DisplayTable("clips", "Clips", more, heads("clip", "model", "prompt", "prompt from", texts=4))
    for task in shown:
        table.add(task.clip, task.model or "", task.prompt or "", task.prompt_source or "")
    return table


def _there(directory: Path, tasks: Sequence[Task]) -> str:
    from vmmetrics.scoring.records import records_by_name

    if not (directory / "run.json").exists():
        return "new"
    keys = {task.key for task in tasks}
    done = sum(record.key in keys and not record.failed for record in records_by_name(directory))
    return f"which has {done} of these clips"
