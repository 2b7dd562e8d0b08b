"""Leaderboards of understanding runs as rows for a terminal, as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Sequence

from vmmetrics.understanding.benchmark import Figure, Reference
from vmmetrics.understanding.leaderboard import Board, Row
from vmmetrics.understanding.statistics import ALL, Difference
from vmmetrics.understanding.tables import NONE, interval, markdown_table, number
from vmmetrics.utils.markup import csv_text, markdown, tex, tex_comment

OVERALL = 3
"""Place of the figure over all questions, with its interval, among the columns."""
ENDS = ("low", "high", "n", "videos")
"""What stands beside each value in the CSV."""


def title(board: Board) -> str:
    """What the table is of."""
    of = f", by {board.group}" if board.columns else ""
    return f"{board.benchmark}: {board.measure} [95 %, videos drawn], scored as {board.protocol}{of}"


def heads(board: Board) -> list[str]:
    """Names of the columns."""
    return ["model", "frames", "n", ALL, "answered", *board.columns]


def cells(row: Row, columns: Sequence[str]) -> list[str]:
    """A run under :func:`heads`."""
    overall = row.overall
    answered = NONE if overall.answered is None else f"{overall.answered:.1%}"
    found = [row.cells.get(name) for name in columns]
    return [
        row.model, row.frames, f"{overall.n:,}", _whole(overall), answered,
        *(NONE if figure is None else number(figure.value) for figure in found),
    ]  # fmt: skip


def published(reference: Reference, board: Board) -> list[str]:
    """A published row under :func:`heads`."""
    keys = [(board.measure, ALL, ALL), *((board.measure, board.group or ALL, name) for name in board.columns)]
    overall, *others = (number(reference.figures.get(key)) for key in keys)
    return [f"{reference.model} (published)", "", "", overall, "", *others]


def remarks(board: Board) -> list[str]:
    """What stands below the table: how sure its order is, and what must be known to read it."""
    ranked = [row for row in board.rows if row.overall.value is not None]
    steps = [
        step_text(step, better.label, worse.label)
        for step, better, worse in zip(board.steps, ranked, ranked[1:], strict=False)
    ]
    return [*steps, *board.notes]


def step_text(step: Difference | None, better: str, worse: str) -> str:
    """How sure it is that a run is better than the next."""
    if step is None:
        return f"{better} and {worse}: no question in common"
    ends = "" if step.low is None else f" [{interval(step.low, step.high)}]"
    return (
        f"{better} over {worse}: {step.difference:+.3f}{ends} on {step.n:,} questions about {step.clusters:,} videos, "
        f"p {number(step.p, 4)}, Holm {number(step.p_holm, 4)}"
    )


def to_markdown(boards: Sequence[Board]) -> str:
    """A pipe table for each board, its remarks below."""
    return "\n".join(_markdown(board) for board in boards)


def _markdown(board: Board) -> str:
    rows = [cells(row, board.columns) for row in board.rows]
    rows += [published(reference, board) for reference in board.references]
    parts = [f"**{markdown(title(board))}**", markdown_table(heads(board), rows, left=2)]
    notes = "\n".join(f"- {markdown(text)}" for text in remarks(board))
    return "\n\n".join([*parts, *([notes] if notes else [])]) + "\n"


def to_latex(boards: Sequence[Board]) -> str:
    """A ``tabular`` with booktabs rules for each board, its remarks as comments."""
    return "\n".join(_latex(board) for board in boards)


def _latex(board: Board) -> str:
    names = heads(board)
    lines = [tex_comment(text) for text in (title(board), *remarks(board))] + ["% needs \\usepackage{booktabs}"]
    lines += [rf"\begin{{tabular}}{{ll{'r' * (len(names) - 2)}}}", r"\toprule", _ampersands(names), r"\midrule"]
    lines += [_ampersands(cells(row, board.columns)) for row in board.rows]
    if board.references:
        lines.append(r"\midrule")
    lines += [_ampersands(published(reference, board)) for reference in board.references]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def to_csv(boards: Sequence[Board]) -> str:
    """A line for each figure, with everything that is known of it (UTF-8)."""
    rows: list[list[object]] = [
        ["benchmark", "protocol", "source", "model", "frames", "rate", "measure", "group", "name", "value", *ENDS]
    ]
    for board in boards:
        about = [board.benchmark, board.protocol]
        for row in board.rows:
            shown = ["run", row.model, row.frames, row.rate]
            rows += ([*about, *shown, *_line(figure)] for figure in (row.overall, *row.cells.values()))
        for reference in board.references:
            shown = ["published", reference.model, None, None]
            rows += ([*about, *shown, *key, value, None, None, None, None] for key, value in reference.figures.items())
    return csv_text(rows)


def _line(figure: Figure) -> list[object]:
    ends = (figure.value, figure.low, figure.high, figure.n, figure.clusters)
    return [figure.measure, figure.group, figure.name, *ends]


def _whole(figure: Figure) -> str:
    ends = "" if figure.low is None else f" [{interval(figure.low, figure.high)}]"
    return f"{number(figure.value)}{ends}"


def _ampersands(parts: Sequence[str]) -> str:
    return " & ".join(tex(part) for part in parts) + r" \\"
