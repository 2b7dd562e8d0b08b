"""Comparison of runs on a benchmark: differences between models or frame rates, and confidence of their order."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from vmmetrics.errors import SetupError
from vmmetrics.models.protocol import NO_TIMES
from vmmetrics.models.questions import Question
from vmmetrics.understanding import registry
from vmmetrics.understanding.harness.benchmark import Figure, Reference, Scored, Scoring
from vmmetrics.understanding.harness.running import read_answers, read_run
from vmmetrics.understanding.harness.scoring import UNLIKE, UNTOLD, ReadScores, read_scores, share
from vmmetrics.understanding.harness.statistics import ALL, ModelDifference, differences
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.display.tables import NONE, DisplayCell, DisplayTable, Lines, Part, bounds, count, heads, number
from vmmetrics.utils.statistics.paired import corrected

# Two runs of one benchmark, on the questions that both were asked.


@dataclass(frozen=True)
class Compared:
    """Comparison of two runs.

    Attributes:
        benchmark: Name of the benchmark.
        names: The two models; where they are one, with the frames each was shown, or the folders.
        differences: Over all questions, then by category.
        notes: Caveats.
        cluster: Noun for what intervals resample.
    """

    benchmark: str
    names: tuple[str, str]
    differences: Sequence[ModelDifference]
    notes: Sequence[str]
    cluster: str = "video"


def compare_runs(first: Path, second: Path, protocol: Scoring) -> Compared:
    """Compare the scores of two runs.

    Args:
        first: Folder of a run.
        second: Folder of another.
        protocol: Scores of which protocol.

    Raises:
        SetupError: One is not scored, or they are of different benchmarks or have no scored question in common.
    """
    sides = [read_scores(folder, read_run(folder)["configuration"], protocol) for folder in (first, second)]
    if sides[0].benchmark != sides[1].benchmark:
        raise SetupError(f"{first} is a run of {sides[0].benchmark}, {second} one of {sides[1].benchmark}")
    sides[0].check_same_method(sides[1])
    common, one, other = _on_common(*sides)
    if not common:
        raise SetupError(f"{first} and {second} have no question in common")
    groupings = list(dict.fromkeys(name for question in common for name in question.groups))
    cluster = registry.find(sides[0].benchmark).cluster
    tests = differences(common, one, other, groupings, sides[0].measure, cluster)
    if not tests:
        raise SetupError(f"{first} and {second} have no question in common that both have a score for")
    unshared = len(sides[0].scored) + len(sides[1].scored) - 2 * len(common)
    notes = [f"{unshared} questions that only one of the runs was asked are left out"] if unshared else []
    names = [side.model for side in sides]
    if names[0] == names[1]:  # told apart by the frames shown, or where these are one too by the folders
        more = (first, second) if sides[0].frames == sides[1].frames else [side.frames for side in sides]
        names = [f"{name}, {which}" for name, which in zip(names, more, strict=True)]
    return Compared(sides[0].benchmark, (names[0], names[1]), tests, notes + _caveats(sides), cluster)


def _caveats(runs: Sequence[ReadScores]) -> list[str]:
    """Return what is to be said of a comparison of runs of one benchmark."""
    caveat = registry.find(runs[0].benchmark).data.get("caveat")
    notes = [] if caveat is None else [str(caveat)]
    if len({run.data for run in runs}) > 1:
        notes.append("the runs were asked from different data files")
    if len({run.by for run in runs}) > 1:
        by = "; ".join(f"{run.label}: {', '.join(sorted(run.by))}" for run in runs)
        notes.append(f"{UNLIKE}: {by}")
    timings = {run.times for run in runs} - {""}
    if NO_TIMES in timings and len(timings) > 1:
        notes.append(f"{UNTOLD}: {'; '.join(f'{run.label}: {run.times}' for run in runs if run.times)}")
    return notes


def _on_common(first: ReadScores, second: ReadScores) -> tuple[list[Question], list[Scored], list[Scored]]:
    """Return the questions of both runs, in the first's order, and each run's scores of them."""
    one, other = ({scored.question: scored for scored in run.scored} for run in (first, second))
    common = [question for question in first.questions if question.id in other]
    return common, [one[question.id] for question in common], [other[question.id] for question in common]


def difference_table(compared: Compared) -> DisplayTable:
    """Return two runs as a table; the last columns count questions where only one model was right, or better."""
    columns = heads(
        "group", "name", "measure", "first", "second", "difference", "p", "p (Holm)", "n", f"{compared.cluster}s",
        "only first", "only second", texts=3,
    )  # fmt: skip
    title = f"{compared.benchmark}: {compared.names[1]} (second) minus {compared.names[0]} (first)"
    table = DisplayTable("differences", title, "; ".join(compared.notes), columns)
    for d in compared.differences:
        cell = DisplayCell(f"{d.difference:+.3f}", bounds(d.low, d.high, 3), table.mark(d.note))
        tested = [number(d.p, 4), number(d.p_holm, 4), *map(count, (d.n, d.clusters, d.only_first, d.only_second))]
        table.add(d.group, d.name, d.measure, number(d.first, 3), number(d.second, 3), cell, *tested)
    return table


@dataclass(frozen=True)
class RunRow:
    """A run on a leaderboard.

    Attributes:
        overall: The figure over all questions.
        cells: Category to its figure; one that the run has no question of is left out.
        rate: Frames per second that it was shown of a clip (median over questions); None where that is not known or
            nothing was shown.
        scores: Its scores by question.
    """

    overall: Figure
    cells: Mapping[str, Figure]
    rate: float | None
    scores: ReadScores


@dataclass(frozen=True)
class RunBoard:
    """Leaderboard of one benchmark, the best run first.

    Attributes:
        benchmark: Its name.
        protocol: Scoring protocol.
        measure: Name of the measure ("accuracy", "composite", "f1").
        group: Grouping that the columns are of; None where figures have none.
        columns: Its categories.
        rows: The runs by their figure over all questions; those without one last.
        steps: Difference of each run to the next on their common questions; one fewer than ranked runs.
        references: Published rows with the figure over all questions.
        notes: Caveats.
    """

    benchmark: str
    protocol: Scoring
    measure: str
    group: str | None
    columns: Sequence[str]
    rows: Sequence[RunRow]
    steps: Sequence[ModelDifference | None]
    references: Sequence[Reference]
    notes: Sequence[str]


def make_boards(folders: Sequence[Path], protocol: Scoring, group: str | None = None) -> list[RunBoard]:
    """Build a leaderboard for each benchmark among some runs.

    Args:
        folders: Of runs; one named twice counts once.
        protocol: Scores of which protocol.
        group: Grouping for the columns; the first that the benchmark shows if None.

    Raises:
        SetupError: A folder is not a run, is not scored under the protocol, or lacks the grouping.
    """
    runs: dict[str, list[tuple[Path, ReadScores]]] = {}
    for folder in {folder.resolve(): folder for folder in folders}.values():
        scores = read_scores(folder, read_run(folder)["configuration"], protocol)
        runs.setdefault(scores.benchmark, []).append((folder, scores))
    boards = []
    for benchmark, members in runs.items():
        for _, scores in members:
            members[0][1].check_same_method(scores)
        groups = dict.fromkeys(figure.group for _, read in members for figure in read.figures if figure.group != ALL)
        grouping = group or next((figure.group for figure in members[0][1].figures if figure.group != ALL), None)
        rows = [_row(folder, scores, grouping) for folder, scores in members]
        if group is not None and not any(row.cells for row in rows):
            raise SetupError(f"{benchmark} has no grouping {group!r}; it has {', '.join(groups) or 'none'}")
        boards.append(_board(benchmark, protocol, grouping, rows))
    return boards


def _row(folder: Path, scores: ReadScores, group: str | None) -> RunRow:
    of_it = [figure for figure in scores.figures if figure.measure == scores.measure]
    overall = next((figure for figure in of_it if figure.group == ALL), None)
    if overall is None:
        raise SetupError(f"{folder} has no figure over all questions; score the run again")
    cells = {figure.name: figure for figure in of_it if figure.group == group}
    shown = [answered.shown for answered in read_answers(folder)[0].values() if answered.shown is not None]
    rates = [one.fps for one in shown if one.fps is not None]
    rate = round(statistics.median(rates), 2) if rates else None
    return RunRow(overall, cells, rate, scores)


def _board(benchmark: str, protocol: Scoring, group: str | None, rows: Sequence[RunRow]) -> RunBoard:
    rows = sorted(rows, key=lambda row: (row.overall.value is None, -(row.overall.value or 0.0)))
    measure = rows[0].scores.measure
    published = registry.find(benchmark).references
    references = [reference for reference in published if (measure, ALL, ALL) in reference.figures]
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    ranked = [row.scores for row in rows if row.overall.value is not None]
    steps = [_step(better, worse, measure) for better, worse in pairwise(ranked)]
    raised = iter(corrected(step for step in steps if step is not None))
    steps = [step and next(raised) for step in steps]
    notes = _caveats([row.scores for row in rows])
    asked = [frozenset(question.id for question in row.scores.questions) for row in rows]
    if len(set(asked)) > 1:
        counts = ", ".join(f"{row.scores.label}: {len(ids):,}" for row, ids in zip(rows, asked, strict=True))
        notes.append(f"the runs were not asked the same questions ({counts}); steps are on common ones")
    return RunBoard(benchmark, protocol, measure, group, columns, rows, steps, references, notes)


def _step(better: ReadScores, worse: ReadScores, measure: str) -> ModelDifference | None:
    """Return the difference of the better to the next run on common questions; None if they have none."""
    common, second, first = _on_common(better, worse)
    return next(iter(differences(common, first, second, measure=measure)), None)


# Leaderboards of understanding runs as tables for people and as CSV.

ENDS = ("low", "high", "n", "videos")
"""Columns next to each value in the CSV."""


def board_parts(board: RunBoard) -> list[Part]:
    """Return a leaderboard as a table, published rows below a rule, and the confidence of its order."""
    by = f", by {board.group}" if board.columns else ""
    cluster = registry.find(board.benchmark).cluster
    title = f"{board.benchmark}: {board.measure} [95 %, bootstrap over {cluster}s], scored as {board.protocol}{by}"
    columns = heads("model", "frames", "n", ALL, "answered", *board.columns, texts=2)
    table = DisplayTable("leaderboard", title, "", columns)
    for row in board.rows:
        overall = row.overall
        value = DisplayCell(number(overall.value, 3), bounds(overall.low, overall.high, 3))
        rest = [number(row.cells[name].value, 3) if name in row.cells else NONE for name in board.columns]
        table.add(row.scores.model, row.scores.frames, count(overall.n), value, share(overall.answered), *rest)
    for reference in board.references:
        first = number(reference.figures[board.measure, ALL, ALL], 3)
        rest = [number(reference.figures.get((board.measure, board.group or ALL, name)), 3) for name in board.columns]
        table.add(f"{reference.model} (published)", "", "", first, "", *rest, reference=True)
    ranked = [row.scores.label for row in board.rows if row.overall.value is not None]
    steps = zip(board.steps, ranked, ranked[1:], strict=False)
    remarks = [*(_step_text(*step, cluster) for step in steps), *board.notes]
    return [table, Lines("remarks", "Confidence of the order", tuple(remarks))] if remarks else [table]


def _step_text(step: ModelDifference | None, better: str, worse: str, cluster: str) -> str:
    if step is None:
        return f"{better} and {worse}: no question in common"
    ends = bounds(step.low, step.high, 3)
    return (
        f"{better} over {worse}: {step.difference:+.3f}{' ' + ends if ends else ''} on {step.n:,} questions about "
        f"{step.clusters:,} {cluster}s, p {number(step.p, 4)}, Holm {number(step.p_holm, 4)}"
    )


_COLUMNS = ("benchmark", "protocol", "source", "model", "frames", "rate", "measure", "group", "name", "value", *ENDS)


def board_records(boards: Sequence[RunBoard]) -> list[dict[str, object]]:
    """Return a row for each figure with all its values; None where unknown."""
    rows: list[list[object]] = []
    for board in boards:
        about = [board.benchmark, board.protocol]
        for row in board.rows:
            shown = ["run", row.scores.model, row.scores.frames, row.rate]
            rows += (
                [*about, *shown, f.measure, f.group, f.name, f.value, f.low, f.high, f.n, f.clusters]
                for f in (row.overall, *row.cells.values())
            )
        for reference in board.references:
            shown = ["published", reference.model, None, None]
            rows += ([*about, *shown, *key, value, None, None, None, None] for key, value in reference.figures.items())
    return [dict(zip(_COLUMNS, row, strict=True)) for row in rows]


def to_csv(boards: Sequence[RunBoard]) -> str:
    """Return :func:`board_records` as CSV."""
    return csv_text([_COLUMNS, *(row.values() for row in board_records(boards))])
