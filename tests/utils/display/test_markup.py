"""Text from outside in tables and LaTeX: nothing in it ends a cell, row or comment, or is taken for a formula."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vmmetrics.scoring import leaderboard_text
from vmmetrics.scoring.export import breakdown
from vmmetrics.scoring.summary import Summary
from vmmetrics.scoring.table import Table
from vmmetrics.utils.display.markup import csv_text, is_ours, tex_comment, without_guard

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
ROWS = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4)


@given(rows=ROWS)
@example(rows=[("=1+1", "a\rb"), ("'=1", "''"), ("\r", "a\r\nb"), ('"', ",")])
def test_what_is_written_is_read(rows: list[tuple[str, str]]) -> None:
    text = csv_text([("a", "b"), *rows])
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert [tuple(map(without_guard, row)) for row in read] == [("a", "b"), *rows]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in read for cell in row)


def test_pandas_reads_the_same() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [("=x.mp4", "and\rjumps", 0.5), ("a,b", "line\nbreak", -1.0), ("'=y", '"quoted"', None)]
    read = pandas.read_csv(io.StringIO(csv_text([("clip", "prompt", "score"), *rows])))
    assert list(map(without_guard, read["clip"])) == ["=x.mp4", "a,b", "'=y"]
    assert list(read["prompt"]) == ["and\rjumps", "line\nbreak", '"quoted"']
    assert list(read["score"].fillna(9)) == [0.5, -1.0, 9]


def test_numbers_are_no_formulas() -> None:
    assert csv_text([(-0.5, "-0.5", 1, True, None)]) == "-0.5,'-0.5,1,True,\n"


@given(text=st.text())
@example(text="a\n\\input{b}")
@example(text="a\u2028\r\x85\\input{b}")
def test_a_comment_holds_its_text(text: str) -> None:
    comment = tex_comment(text)
    assert comment.startswith("% ")
    assert len(comment.splitlines()) == 1


def test_our_tables_are_told_by_their_columns() -> None:
    for text in (Table([]).to_csv(), breakdown(Summary()), leaderboard_text.to_csv([], [])):
        assert is_ours(next(csv.reader([text])))
    for columns in (["clip", "prompt"], ["video", "rater", "score"], [None, "id"], []):
        assert not is_ours(columns)
