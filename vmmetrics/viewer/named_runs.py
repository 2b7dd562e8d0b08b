"""Runs of a report, named so that no two runs and no two models of a board are called alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from vmmetrics.scoring.prompt_scores import Run, read_run, split_source


def read_runs(sources: Sequence[str]) -> list[Run]:
    """Read the runs of a report, with names instead of paths in titles.

    Args:
        sources: Run directories, or ``NAME=DIRECTORY``.

    Returns:
        The runs. The title is the name, else the folder's name, with as many parent folders, or a number, as tell it
        from the others. Runs that have a model of one name are named by their titles.

    Raises:
        SetupError: One is not a run, or cannot be read.
    """
    runs = [read_run(*split_source(source)) for source in sources]
    titles = distinct_titles([run.name for run in runs], [run.path for run in runs])
    runs = [replace(run, title=title) for run, title in zip(runs, titles, strict=True)]
    models = [{run.model_name(model) for model in {record.model for record in run.records}} for run in runs]
    owners = Counter(chain.from_iterable(models))
    clashing = [any(owners[model] > 1 for model in names) for names in models]
    return [replace(run, name=run.title) if clash else run for run, clash in zip(runs, clashing, strict=True)]


def distinct_titles(names: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """Return a title for every run: its name, else the last parts of its path that no other run has.

    >>> distinct_titles(["", "", "base"], [Path("/a/run"), Path("/b/run"), Path("/c/run")])
    ['a/run', 'b/run', 'base']
    """
    parts = [[name] if name else list(path.resolve().parts[1:]) for name, path in zip(names, paths, strict=True)]
    lengths = [1] * len(parts)
    while True:
        titles = ["/".join(of[-length:]) or "run" for of, length in zip(parts, lengths, strict=True)]
        times = Counter(titles)
        longer = [n for n, of in enumerate(parts) if times[titles[n]] > 1 and lengths[n] < len(of)]
        if not longer:
            break
        for number in longer:
            lengths[number] += 1
    seen: Counter[str] = Counter()
    for number, title in enumerate(titles):
        seen[title] += 1
        titles[number] = title if seen[title] == 1 else f"{title} ({seen[title]})"
    return titles
