"""Runs of a benchmark side by side: how models, or frame rates, differ, and how sure their order is."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from vmmetrics.errors import SetupError
from vmmetrics.run.paired import holm
from vmmetrics.understanding.benchmark import Figure, Reference, Scoring
from vmmetrics.understanding.benchmarks import registry
from vmmetrics.understanding.run_folder import read_answers, read_run
from vmmetrics.understanding.scoring import UNLIKE, ReadScores, file_in, read_figures, read_scores
from vmmetrics.understanding.statistics import ALL, Difference, differences


@dataclass(frozen=True)
class Row:
    """A run.

    Attributes:
        model: Name of the model.
        frames: What it was shown, in words.
        overall: The figure over all questions.
        cells: Category to its figure; one that the run has no question of is left out.
        rate: Frames per second that it was shown of a clip (median over questions); None where that is not known or
            nothing was shown.
    """

    model: str
    frames: str
    overall: Figure
    cells: Mapping[str, Figure]
    rate: float | None

    @property
    def label(self) -> str:
        """Model and frames."""
        return f"{self.model}, {self.frames}"


@dataclass(frozen=True)
class Board:
    """The runs of one benchmark, the best first.

    Attributes:
        benchmark: Its name.
        protocol: Scored how.
        measure: What the numbers are ("accuracy", "composite", "f1").
        group: Grouping that the columns are of; None where figures have none.
        columns: Its categories.
        rows: The runs by their figure over all questions; those without one last.
        steps: Each run with one minus the next, on the questions both were asked; one fewer than there are such.
        references: Published rows with the figure over all questions.
        notes: What must be known to read it.
    """

    benchmark: str
    protocol: Scoring
    measure: str
    group: str | None
    columns: Sequence[str]
    rows: Sequence[Row]
    steps: Sequence[Difference | None]
    references: Sequence[Reference]
    notes: Sequence[str]


@dataclass(frozen=True)
class _Run:
    row: Row
    scores: ReadScores


def make_boards(folders: Sequence[Path], protocol: Scoring, group: str | None = None) -> list[Board]:
    """A table of each benchmark among some runs.

    Args:
        folders: Of runs; one named twice counts once.
        protocol: Scores of which protocol.
        group: Grouping for the columns; the first that the benchmark shows if None.

    Raises:
        SetupError: One is no run or not scored under the protocol, or has no such grouping.
    """
    runs: dict[str, list[Path]] = {}
    found: dict[Path, tuple[ReadScores, list[Figure], str]] = {}
    for folder in {folder.resolve(): folder for folder in folders}.values():
        scores = read_scores(folder, read_run(folder)["configuration"], protocol)
        figures, frames = _figures(file_in(folder, "figures.json", protocol))
        found[folder] = scores, figures, frames
        runs.setdefault(scores.benchmark, []).append(folder)
    boards = []
    for benchmark, members in runs.items():
        known = [found[folder] for folder in members]
        wanted = group or _first_group(known[0][1])
        made = [_run(folder, *parts, wanted) for folder, parts in zip(members, known, strict=True)]
        if group is not None and not any(run.row.cells for run in made):
            groups = dict.fromkeys(figure.group for _, figures, _ in known for figure in figures if figure.group != ALL)
            raise SetupError(f"{benchmark} has no grouping {group!r}; it has {', '.join(groups) or 'none'}")
        boards.append(_board(benchmark, protocol, wanted, made))
    return boards


def _figures(path: Path) -> tuple[list[Figure], str]:
    read = read_figures(path)
    return list(read.figures), read.frames


def _first_group(figures: Sequence[Figure]) -> str | None:
    return next((figure.group for figure in figures if figure.group != ALL), None)


def _run(folder: Path, scores: ReadScores, figures: Sequence[Figure], frames: str, group: str | None) -> _Run:
    of_it = [figure for figure in figures if figure.measure == scores.measure]
    overall = next((figure for figure in of_it if figure.group == ALL), None)
    if overall is None:
        raise SetupError(f"{folder} has no figure over all questions; score the run again")
    cells = {figure.name: figure for figure in of_it if figure.group == group}
    rates = [answered.shown.fps for answered in read_answers(folder)[0].values() if answered.shown is not None]
    known = [rate for rate in rates if rate is not None]
    rate = round(statistics.median(known), 2) if known else None
    return _Run(Row(scores.model, frames, overall, cells, rate), scores)


def _board(benchmark: str, protocol: Scoring, group: str | None, runs: Sequence[_Run]) -> Board:
    runs = sorted(runs, key=lambda run: (run.row.overall.value is None, -(run.row.overall.value or 0.0)))
    measure = runs[0].scores.measure
    rows = [run.row for run in runs]
    references = [
        reference
        for reference in registry.references(registry.find(benchmark))
        if (measure, ALL, ALL) in reference.figures
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    ranked = [run for run in runs if run.row.overall.value is not None]
    steps = [_step(better, worse, measure) for better, worse in pairwise(ranked)]
    raised = iter(holm([step.p for step in steps if step is not None]))
    steps = [None if step is None else replace(step, p_holm=next(raised)) for step in steps]
    return Board(benchmark, protocol, measure, group, columns, rows, steps, references, _notes(runs))


def _step(better: _Run, worse: _Run, measure: str) -> Difference | None:
    """The better run minus the worse on their common questions; None where they have none."""
    sides = [{scored.question: scored for scored in run.scores.scored} for run in (worse, better)]
    common = [question for question in better.scores.questions if question.id in sides[0]]
    first, second = ([side[question.id] for question in common] for side in sides)
    return next(iter(differences(common, first, second, measure=measure)), None)


def _notes(runs: Sequence[_Run]) -> list[str]:
    notes = []
    asked = [frozenset(question.id for question in run.scores.questions) for run in runs]
    if len(set(asked)) > 1:
        counts = ", ".join(f"{run.row.label}: {len(ids):,}" for run, ids in zip(runs, asked, strict=True))
        notes.append(f"the runs were not asked the same questions ({counts}); steps are on common ones")
    if len({run.scores.data for run in runs}) > 1:
        notes.append("the runs were asked from different data files")
    if len({run.scores.by for run in runs}) > 1:
        by = "; ".join(f"{run.row.label}: {', '.join(sorted(run.scores.by))}" for run in runs)
        notes.append(f"{UNLIKE}: {by}")
    return notes
