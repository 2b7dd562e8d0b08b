"""``vmmetrics understand submission``: answers of a run as a benchmark's leaderboard takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.understand_output import reopen, scoring


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
    from vmmetrics.utils.storage.atomic import write_text

    _, messages = open_consoles()
    way = scoring(protocol)
    _, benchmark, loaded, answers = reopen(folder, data, messages)
    questions = loaded.questions
    written = benchmark.submission(questions, answers, way)
    if written is None:
        raise SetupError(f"{benchmark.name} has no leaderboard that takes a file of answers")
    write_text(out, written)
    there = sum(1 for q in questions if q.id in answers and answers[q.id].error is None)
    messages.print(f"{there:,} of {len(questions):,} questions are answered")
    messages.print(f"written: {out}", soft_wrap=True)
