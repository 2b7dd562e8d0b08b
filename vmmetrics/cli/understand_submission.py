"""``vmmetrics understand submission``: answers of a run as a benchmark's leaderboard takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.understand_output import scoring


def submission(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    protocol: Annotated[
        str, typer.Option(help="How answers are read: vmmetrics, or upstream as the released code does.")
    ] = "vmmetrics",
    data: Annotated[Path | None, typer.Option(help="The benchmark's data. Default: where the run had them.")] = None,
) -> None:
    """Write the file that is handed in: every question of the benchmark, test questions with hidden keys among them."""
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.errors import SetupError
    from vmmetrics.run.atomic import write_atomically
    from vmmetrics.understanding.benchmarks import registry
    from vmmetrics.understanding.run_folder import read_answers, read_run

    _, messages = open_consoles()
    way = scoring(protocol)
    run = read_run(folder)
    benchmark = registry.find(run["configuration"]["benchmark"])
    written = getattr(benchmark, "submission", None)
    if written is None:
        raise SetupError(f"{benchmark.name} has no leaderboard that takes a file of answers")
    questions = benchmark.load(data or Path(run["sessions"][-1]["data"])).questions
    answers, warnings = read_answers(folder)
    for warning in warnings:
        messages.print(f"warning: {warning}", style="yellow", markup=False)
    write_atomically(out, written(questions, answers, way).encode())
    there = sum(1 for q in questions if q.id in answers and answers[q.id].error is None)
    messages.print(f"{there:,} of {len(questions):,} questions are answered", markup=False, highlight=False)
    messages.print(f"written: {out}", markup=False, highlight=False, soft_wrap=True)
