"""A run beside its controls: figures side by side, and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from vmmetrics.models.questions import Question
from vmmetrics.understanding.harness.benchmark import Figure, Scored
from vmmetrics.understanding.harness.leaderboard import Compared, difference_table
from vmmetrics.understanding.harness.scoring import ScoredRun, share
from vmmetrics.understanding.harness.statistics import differences
from vmmetrics.utils.display import tables
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Lines, Part, number
from vmmetrics.utils.schema import plain
from vmmetrics.utils.storage.atomic import write_json, write_text

Items = Callable[[Sequence[Question], Sequence[Scored]], tuple[Sequence[Question], Sequence[Scored]]]
"""Turns scored questions into what a measure averages: the questions themselves, or clips."""


@dataclass(frozen=True)
class ControlledRun:
    """A run and its controls, which were asked the same questions with fewer frames.

    Attributes:
        views: The run ("frames"), then its controls by name.
        differences: Of each control: the run minus it.
    """

    views: Mapping[str, ScoredRun]
    differences: Mapping[str, Compared]

    @property
    def run(self) -> ScoredRun:
        """The run itself."""
        return next(iter(self.views.values()))

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``figures.json``."""
        return {
            "benchmark": self.run.benchmark,
            "model": self.run.model,
            "views": {name: run.to_json() for name, run in self.views.items()},
            "differences": {name: plain(compared.differences) for name, compared in self.differences.items()},
        }

    def to_csv(self) -> str:
        """Return the figures of every view as CSV."""
        names = [part.name for part in fields(Figure)]
        rows = [[name, *astuple(figure)] for name, run in self.views.items() for figure in run.figures]
        return csv_text([["view", *names], *rows])


def with_controls(views: Mapping[str, ScoredRun], measures: Mapping[str, tuple[Items, str]]) -> ControlledRun:
    """Compare a run with its controls.

    Args:
        views: The run, then its controls by name.
        measures: Measures to compare: what each averages, and the grouping to go through.
    """
    first, *controls = views.items()
    compared = {}
    for name, control in controls:
        scores = {score.question: score for score in control.scored}
        pairs = [(q, s) for q, s in zip(first[1].questions, first[1].scored, strict=True) if s.question in scores]
        questions, frames = [q for q, _ in pairs], [s for _, s in pairs]
        tests = []
        for measure, (items, grouping) in measures.items():
            asked, of_control = items(questions, [scores[question.id] for question in questions])
            _, of_frames = items(questions, frames)
            tests += differences(asked, of_control, of_frames, (grouping,), measure, control.cluster)
        compared[name] = Compared(control.benchmark, (name, first[0]), tests, (), control.cluster)
    return ControlledRun(views, compared)


def control_parts(result: ControlledRun, notes: Sequence[str] = ()) -> list[Part]:
    """Return the report: a column of figures for each view, a table of differences for each control, and counts."""
    run, controls = result.run, list(result.views.items())[1:]
    columns = tables.heads(
        "group", "name", "measure", *result.views, "n", f"{run.cluster}s", "answered", "chance", texts=3
    )
    title = f"{run.benchmark}: {run.model}, frames {run.frames}"
    table = DisplayTable("figures", title, f"Intervals: 95 %, bootstrap over {run.cluster}s.", columns)
    others = [{(f.measure, f.group, f.name): f for f in control.figures} for _, control in controls]
    for figure in run.figures:
        key = (figure.measure, figure.group, figure.name)
        cells = [
            DisplayCell(number(f.value, 3), tables.bounds(f.low, f.high, 3), table.mark(f.note)) if f else tables.NONE
            for f in (figure, *(other.get(key) for other in others))
        ]
        counted = [tables.count(figure.n), tables.count(figure.clusters or None), share(figure.answered)]
        table.add(figure.group, figure.name, figure.measure, *cells, *counted, number(figure.chance, 3))
    counts = [
        f"{view}: {', '.join(f'{name}: {times:,}' for name, times in of_view.counts.items())}"
        for view, of_view in result.views.items()
    ]
    compared = [difference_table(compared) for compared in result.differences.values()]
    return [table, *compared, Lines("counts", "Counts", (*notes, *counts))]


def write_controlled(result: ControlledRun, folder: Path, notes: Sequence[str] = ()) -> list[Path]:
    """Write ``table.md``, ``figures.json`` and ``figures.csv``; return their paths.

    Raises:
        SetupError: The folder cannot be written.
    """
    paths = [folder / name for name in ("table.md", "figures.json", "figures.csv")]
    write_text(paths[0], "\n".join(map(tables.to_markdown, control_parts(result, notes))))
    write_json(paths[1], result.to_json())
    write_text(paths[2], result.to_csv())
    return paths
