from __future__ import annotations

import json
import math
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.source_table import numbers, to_number
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.errors import SetupError

ROWS = [{"clip": "a.mp4", "mss": 0.5}, {"clip": "b.mp4", "mss": 0.25}]
TEXT = [["clip", "mss"], ["a.mp4", "0.5"], ["b.mp4", "0.25"]]


def columns(path: Path) -> dict[str, list[object]]:
    return {name: list(cells) for name, cells in read_table(path, "x").columns.items()}


def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path) -> None:
    for name, delimiter in (("t.csv", ","), ("t.tsv", "\t"), ("semicolons.csv", ";")):
        (tmp_path / name).write_text("\n".join(delimiter.join(row) for row in TEXT))
    (tmp_path / "t.json").write_text(json.dumps(ROWS))
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "by_clip.json").write_text(json.dumps({row["clip"]: {"mss": row["mss"]} for row in ROWS}))
    (tmp_path / "columns.json").write_text(json.dumps({"clip": ["a.mp4", "b.mp4"], "mss": [0.5, 0.25]}))
    (tmp_path / "t.md").write_text("# T\n\n| clip | mss |\n|---|--:|\n| a.mp4 | **0.5** |\n| b.mp4 | 0.25 |\n\nend\n")
    files = sorted(tmp_path.iterdir())
    assert len(files) == 8
    for file in files:
        check_rows(file)


def check_rows(source: Any) -> None:
    table = read_table(source, "x")
    assert list(table.columns["clip"]) == ["a.mp4", "b.mp4"], source
    found = numbers(table, "mss")
    assert found is not None and found.tolist() == [0.5, 0.25], source


def test_parquet_gives_the_same_rows(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "t.parquet")
    check_rows(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_text("PAR1 is not enough")
    with pytest.raises(SetupError, match="not readable as Parquet"):
        read_table(tmp_path / "t.parquet", "x")


@pytest.mark.parametrize("schema", [True, False])
def test_a_parquet_that_unfolds_is_refused(tmp_path: Path, schema: bool) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "t.parquet"
    clips = pyarrow.DictionaryArray.from_arrays([0] * 2000, ["a" * 2**20])
    parquet.write_table(pyarrow.table({"clip": clips}), file, dictionary_pagesize_limit=2**24, store_schema=schema)
    assert file.stat().st_size < 2**18  # 2 GB unfolded
    with pytest.raises(SetupError, match=r"t\.parquet: more than 512 MiB"):
        read_table(file, "x")
    parquet.write_table(pyarrow.table({"clip": pyarrow.nulls(1_000_001, pyarrow.string())}), file)
    with pytest.raises(SetupError, match=r"t\.parquet: 1,000,001 rows, more than the 1,000,000"):
        read_table(file, "x")


def test_data_frames_give_the_same_rows() -> None:
    frame = pytest.importorskip("pandas").DataFrame(ROWS)
    for source in (frame, frame.set_index("clip"), frame.set_index("clip").rename_axis(None)):
        check_rows(source)


def test_python_objects_give_the_same_rows() -> None:
    for source in (
        ROWS,
        {"clip": ["a.mp4", "b.mp4"], "mss": np.array([0.5, 0.25])},
        {"a.mp4": {"mss": 0.5}, "b.mp4": {"mss": 0.25}},
    ):
        check_rows(source)
    plain = read_table({"a.mp4": 0.5, "b.mp4": 0.25}, "x")
    assert dict(plain.columns) == {"clip": ["a.mp4", "b.mp4"], "score": [0.5, 0.25]}


def test_byte_order_marks_and_other_encodings(tmp_path: Path) -> None:
    text = "clip,mss\ncafé.mp4,1\nüber.mp4,2\n"
    for encoding in ("utf-8-sig", "utf-16"):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))
        assert columns(tmp_path / "t.csv") == {"clip": ["café.mp4", "über.mp4"], "mss": ["1", "2"]}
    lines = text.split("\n")
    (tmp_path / "t.csv").write_bytes("\n".join([lines[0], lines[1], ""]).encode() + lines[2].encode("latin-1"))
    mixed = read_table(tmp_path / "t.csv", "x")
    assert list(mixed.columns["clip"]) == ["café.mp4", "über.mp4"]
    assert mixed.notes == ("t.csv: 1 lines are not UTF-8 and were read as Latin 1",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "clip,mss\n", "no rows"),
        ("t.csv", "clip,mss\na,1,2\n", "3 cells but 2 columns"),
        ("t.csv", "clip,mss,mss\na,1,2\n", "several columns have the name mss"),
        ("t.csv", 'clip,mss\n"a,1\n', "not readable as a table"),
        ("t.json", "{", "not readable as JSON"),
        ("t.json", "[" * 100_000, "not readable as JSON"),
        ("t.json", '["a", "b"]', r"expected rows \(objects\) or columns \(lists\) but got \['a', 'b'\]"),
        ("t.json", '{"clip": ["a"], "mss": [1, 2]}', "differ in length"),
        ("t.md", "no table here", "no Markdown table"),
        ("t.pkl", "anything", "expected a table in"),
        ("t.xlsx", "anything", "save the sheet as CSV"),
    ],
)
def test_what_is_no_table(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SetupError, match=message):
        read_table(tmp_path / name, "x")


def test_what_is_no_table_in_python() -> None:
    for thing in (3, b"bytes", object()):
        with pytest.raises(SetupError, match="expected"):
            read_table(thing, "scores 1")


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SetupError, match=r"\[parquet\]"):
        read_table(tmp_path / "t.parquet", "x")


def test_decimal_commas_of_a_table_with_semicolons(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("clip;mss;prompt\na.mp4;0,5;1,2,3\nb.mp4;-1;4\n")
    table = read_table(tmp_path / "t.csv", "x")
    assert table.columns["mss"] == ["0.5", "-1"]
    assert table.columns["prompt"] == ["1,2,3", "4"]
    assert table.notes == ("t.csv: numbers with a decimal comma: mss",)


@pytest.mark.parametrize("cell", ["4,5", "1,250"])
def test_a_comma_in_a_cell_of_a_table_with_commas_is_no_decimal_comma(tmp_path: Path, cell: str) -> None:
    (tmp_path / "t.csv").write_text(f'clip,mss\na.mp4,"{cell}"\nb.mp4,3\nc.mp4,4\n')
    table = read_table(tmp_path / "t.csv", "x")
    with pytest.raises(SetupError, match=f"row 1: expected a number in mss but got '{cell}'"):
        numbers(table, "mss")


def test_numbers() -> None:
    assert to_number(" 2.5 ") == 2.5
    assert to_number("failed") != to_number("failed")  # NaN
    assert math.isnan(to_number(None) or 0.0)
    assert to_number("good") is None and to_number(True) is None
    assert to_number(Decimal("2.5")) == 2.5 and to_number(10**400) is None and to_number([1]) is None
    table = read_table(
        {"clip": ["a", "b", "c"], "x": ["1", "n/a", "inf"], "y": ["1", "2", "bad"], "z": ["p", "q", ""]}, "s"
    )
    found = numbers(table, "x")
    assert found is not None and found[0] == 1 and np.isnan(found[1:]).all()
    with pytest.raises(SetupError, match="row 3: expected a number in y but got 'bad'"):
        numbers(table, "y")
    assert numbers(table, "z") is None
    with pytest.raises(SetupError, match="row 1: expected a number in z"):
        numbers(table, "z", required=True)


@pytest.mark.parametrize("cell", ["1e308", "-1e308", "1e60"])
def test_a_number_too_large_to_compute_with_is_refused(cell: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"clip,rating,id\na,1,98765432109876543210\nb,{cell},2\n")
    table = read_table(tmp_path / "t.csv", "x")
    with pytest.raises(SetupError, match=rf"t\.csv, row 2: rating is {cell}, too large to compute with"):
        numbers(table, "rating")
    assert numbers(table, "id") is not None  # identifiers may have many digits


@pytest.mark.slow
def test_a_million_columns_and_endless_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wide.csv").write_text(",".join(map(str, range(10**6))) + "\n")
    with pytest.raises(SetupError, match="1,000,000 columns; at most 10,000 are read"):
        read_table(tmp_path / "wide.csv", "x")
    with pytest.raises(SetupError, match=r"wide\.tsv: a column's name has 6,888,889 characters"):
        read_table((tmp_path / "wide.csv").rename(tmp_path / "wide.tsv"), "x")
    with pytest.raises(SetupError, match="20,001 columns; at most 10,000 are read"):
        read_table([{"clip": "a", **dict.fromkeys(map(str, range(20_000)), 1)}], "x")
    monkeypatch.setattr("vmmetrics.alignment.readers.tables._AT_ONCE", 2**20)
    text = json.dumps([{"clip": "a", "x": "y" * 2**20}])
    for name, what in (("t.json", "it"), ("t.jsonl", "a line of it"), ("t.csv", "a line of it"), ("t.md", "a line")):
        (tmp_path / name).write_text(text)
        with pytest.raises(SetupError, match=f"{name}: {what} .*is larger than 1 MiB"):
            read_table(tmp_path / name, "x")
    (tmp_path / "long.csv").write_text("clip,rating\n" + "a.mp4,1\n" * 2**18)
    assert len(read_table(tmp_path / "long.csv", "x")) == 2**18
