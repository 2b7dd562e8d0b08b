"""``vmmetrics understand synthetic``: our own suite of clips and questions, rendered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.numbers import MAX_COUNT, MAX_SEED
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable


def synthetic(
    out: Annotated[Path, typer.Option(help="Folder for clips and questions; new, empty, or of an earlier suite.")],
    count: Annotated[
        int, typer.Option("--n", min=1, max=MAX_COUNT, help="Questions, each with a clip of its own.")
    ] = 120,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of everything random.")] = 0,
) -> None:
    """Render clips with exact answers, whose lowest sufficient frame rate is known by construction.

    'vmmetrics understand run synthetic --data OUT --model ...' puts them to a model.
    """
    from collections import Counter

    from rich.progress import track

    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding.synthetic.suite import BUCKETS, TASKS, bucket_of, write_suite

    output, messages = open_consoles()
    tasks: Counter[str] = Counter()
    buckets: Counter[str] = Counter()
    with stoppable():
        try:
            for item in track(write_suite(out, count, seed), "rendering", count, console=messages, transient=True):
                tasks[item.task] += 1
                buckets[bucket_of(item.draft.min_fps)] += 1
        except KeyboardInterrupt:
            messages.print("stopped; a suite is only whole when all of it is there, run it again")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) / 1e6
    output.print(", ".join(f"{name} {tasks[name]}" for name in TASKS if tasks[name]))
    output.print("minFPS " + ", ".join(f"{name}: {buckets[name]}" for *_, name in BUCKETS))
    messages.print(f"written: {out} ({size:.1f} MB)", soft_wrap=True)
