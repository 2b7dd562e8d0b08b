"""Tables from CSV, JSON, JSON Lines, Parquet, Markdown or Python objects, as columns."""

from __future__ import annotations

import contextlib
import io
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.alignment.readers.columns import RATER, first_column, is_clip_file, normalised
from vmmetrics.alignment.readers.formats import rows_of
from vmmetrics.alignment.readers.formats.label_studio import answer, plain_columns
from vmmetrics.alignment.readers.source_table import DECIMAL_COMMA, SourceTable, is_blank, to_number
from vmmetrics.errors import SetupError, cannot
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.schema import parse_json, read_json
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.utils.tables import json_lines, open_parquet, parquet_rows, read_cells, refuse_headers

TABLE_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".md", ".txt")
_SHEETS = frozenset({".xlsx", ".xls", ".xlsm", ".ods", ".numbers"})
# Names of the columns of a file without a header: "1.mp4|a cat|3.5", as T2VQA-DB has it.
_HEADLESS = {2: ["clip", "rating"], 3: ["clip", "prompt", "rating"]}
_SEPARATOR_LINE = re.compile(r"sep=(?P<separator>.)\r?\n", re.IGNORECASE)
_MOST_ROWS, _LARGEST = 1_000_000, 512 * 2**20  # rows of a Parquet file; its bytes in memory
_AT_ONCE = 64 * 2**20  # bytes of text parsed at once, which take ten times as much in memory
_SHOWN = 12  # columns named in a message


def read_table(source: Any, name: str) -> SourceTable:
    """Read a table.

    Args:
        source: A file, a mapping (of columns, or of clips to their values), rows, or a data frame.
        name: What to call what is no file, in messages.

    Raises:
        SetupError: It cannot be read, or holds no rows.
    """
    table = _of_file(Path(source)) if isinstance(source, str | Path) else _of_python(source, name)
    if not len(table):
        raise SetupError(f"{table.source}: expected a header and rows but there are no rows")
    refuse_headers(list(table.columns), table.source)
    columns, notes = plain_columns(table.columns)
    return replace(table, columns=columns, notes=(*table.notes, *notes))


def exported_table(folder: Path) -> Path:
    """Return the table of judgements in an export of ``vmmetrics rate``; any other path as it is."""
    tables = (folder / name for name in ("ratings.csv", "pairs.csv") if (folder / "sessions.csv").is_file())
    return next((table for table in tables if table.is_file()), folder)


def simulation_note(table: Path) -> tuple[str, ...]:
    """Return what to say of a table that ``vmmetrics rate check`` wrote."""
    try:
        told = read_json(table.parent / "summary.json") if (table.parent / "sessions.csv").is_file() else {}
    except SetupError:
        return ()
    return ("These raters were SIMULATED by 'vmmetrics rate check': nobody has rated",) if "simulated" in told else ()


def table_of_files(folder: Path) -> SourceTable:
    """Read a folder with a table per rater, who is called as the file is where no column says.

    Raises:
        SetupError: It holds anything else.
    """
    tables = {path: read_table(path, "ratings") for path in sorted(folder.iterdir()) if path.suffix in TABLE_SUFFIXES}
    heads = {tuple(table.columns) for table in tables.values()}
    if len(heads) != 1 or len(tables) < 2:
        raise SetupError(f"{folder} is a folder but not a released set, nor one of tables with the same columns")
    columns: dict[str, list[Any]] = {name: [] for name in heads.pop()}
    alone = first_column(columns, RATER) is None
    for path, table in tables.items():
        for name, cells in table.columns.items():
            columns[name] += cells
        if alone:
            columns.setdefault("rater", []).extend([path.stem] * len(table))
    notes = dict.fromkeys(note for table in tables.values() for note in table.notes)
    return SourceTable(str(folder), columns, (*notes, f"{len(tables)} files" + (", a rater each" if alone else "")))


def read_json_or_lines(path: Path) -> tuple[Any, tuple[str, ...]]:
    """Return the content of a JSON or JSON Lines file (then a list), and notes about its encoding.

    Raises:
        SetupError: It cannot be read or is no JSON.
    """
    text, notes = _text(path)
    lines = text.split("\n")
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        return list(json_lines(lines, path)), notes
    try:
        return parse_json(text, gaps=True), notes
    except ValueError as error:
        with contextlib.suppress(SetupError):  # released files call JSON Lines .json
            return list(json_lines(lines, path)), notes
        raise SetupError(f"{path}: not readable as JSON: {error}") from error


def _of_file(path: Path) -> SourceTable:
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        how = "; save the sheet as CSV" if suffix in _SHEETS else ""
        raise SetupError(f"{path}: expected a table in {', '.join(TABLE_SUFFIXES)}{how}")
    if suffix == ".parquet":
        rows, notes = _of_parquet(path)
        return _of_content(rows, str(path), notes)
    if suffix in {".json", ".jsonl", ".ndjson"}:
        content, notes = read_json_or_lines(path)
        return _of_content(content, str(path), notes)
    text, notes = _text(path)
    stated = _SEPARATOR_LINE.match(text)  # a line that Excel writes and reads
    text = text[stated.end() :] if stated else text
    delimiter = "" if suffix == ".md" else stated["separator"] if stated else _delimiter(text, suffix)
    if delimiter:
        lines = read_cells(io.StringIO(text, newline=""), delimiter, path)
        _, names = next(lines, (0, []))
        rows = [cells + [""] * (len(names) - len(cells)) for _, cells in lines]
    else:
        names, rows = _of_markdown(text, path)
    if (header := _HEADLESS.get(len(names))) and is_clip_file(names[0]) and to_number(names[-1]) is not None:
        names, rows = header, [names, *rows]
        notes = (*notes, f"{path.name}: no header; its columns are read as {', '.join(header)}")
    columns = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    commas = {name: cells for name, cells in columns.items() if delimiter in {";", "\t"} and _has_decimal_commas(cells)}
    columns |= {name: [cell.replace(",", ".") for cell in cells] for name, cells in commas.items()}
    notes = (*notes, f"{path.name}: numbers with a decimal comma: {listed(list(commas), _SHOWN)}") if commas else notes
    return SourceTable(str(path), columns, notes)


def _of_parquet(path: Path) -> tuple[list[Any], tuple[str, ...]]:
    """Return rows of a Parquet file without columns of lists, which a note names."""
    with open_parquet(path) as file:
        from pyarrow.types import is_list

        lists = [of.name for of in file.schema_arrow if is_list(of.type)]
        columns = [of.name for of in file.schema_arrow if of.name not in lists]
        rows = list(parquet_rows(file, path, columns, _MOST_ROWS, _LARGEST))
    return rows, (f"{path.name}: not read, since a cell is a list: {listed(lists, _SHOWN)}",) if lists else ()


def _has_decimal_commas(cells: Sequence[str]) -> bool:
    """Return True if a column holds only numbers like "3,5", as tables with semicolons do."""
    filled = [cell.strip() for cell in cells if not is_blank(cell)]
    return any("," in cell for cell in filled) and all(DECIMAL_COMMA.fullmatch(cell) for cell in filled)


def _text(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return a text file; what is not UTF-8 is read byte by byte as Latin 1, line by line, and counted."""
    try:
        data = read_regular(path, _LARGEST)
    except OSError as error:
        raise cannot("read", path, error) from error
    if not data.strip():
        raise SetupError(f"{path}: the file is empty")
    whole = path.suffix.lower() == ".json"  # parsed at once; of other files each line
    if len(data) > _AT_ONCE and (whole or max(map(len, data.split(b"\n"))) > _AT_ONCE):
        what = "it" if whole else "a line of it"
        raise SetupError(f"{path}: {what} is larger than {_AT_ONCE // 2**20} MiB; save it as CSV with a row a line")
    try:
        return data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"), ()
    except UnicodeDecodeError:
        lines, odd = [], 0
        for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            try:
                lines.append(line.decode("utf-8"))
            except UnicodeDecodeError:
                lines.append(line.decode("latin-1"))
                odd += 1
        return "\n".join(lines), (f"{path.name}: {odd} lines are not UTF-8 and were read as Latin 1",)


def _delimiter(text: str, suffix: str) -> str:
    first = text.lstrip("\r\n").split("\n", 1)[0]
    return "\t" if suffix == ".tsv" else "|" if suffix == ".txt" and "|" in first else max(",;\t", key=first.count)


def _of_markdown(text: str, path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the first table of a Markdown file; emphasis is dropped."""
    lines = dropwhile(lambda line: not line.startswith("|"), map(str.strip, text.splitlines()))
    rows = [
        [cell.strip().replace("*", "").strip() for cell in line.strip("|").split("|")]
        for line in takewhile(lambda line: line.startswith("|"), lines)
    ]
    if not rows:
        raise SetupError(f"{path}: there is no Markdown table in it")
    names, body = rows[0], [row for row in rows[1:] if not all(set(cell) <= set("-: ") for cell in row)]
    refuse_headers(names, path)
    if uneven := [row for row in body if len(row) != len(names)]:
        raise SetupError(
            f"{path}: expected {len(names)} cells in each row of the table but got {' | '.join(uneven[0])}"
        )
    return names, body


def _of_python(source: Any, name: str) -> SourceTable:
    if hasattr(source, "to_dicts"):  # polars
        return _of_content(source.to_dicts(), name)
    if hasattr(source, "to_dict") and hasattr(source, "reset_index"):  # pandas
        counted = source.index.name is None and getattr(source.index.dtype, "kind", "") in "iu"
        frame = source if counted else source.reset_index(names=source.index.name or "clip")
        return _of_content(frame.to_dict("list"), name)
    if isinstance(source, Mapping | Sequence) and not isinstance(source, str | bytes):
        return _of_content(source, name)
    raise SetupError(f"{name}: expected a file, a mapping, rows or a data frame but got {type(source).__name__}")


def _of_content(content: Any, name: str, notes: tuple[str, ...] = ()) -> SourceTable:
    """Return a table from rows, from columns, from clip → values, or from one of the layouts of other tools."""
    if (converted := rows_of(content, name)) is not None:
        content, note = converted
        notes = (*notes, note) if note else notes
    if isinstance(content, Mapping):
        values = list(content.values())
        if values and all(_is_column(value) for value in values):
            if len({len(value) for value in values}) > 1:
                raise SetupError(f"{name}: its columns differ in length")
            return SourceTable(name, {str(key): list(value) for key, value in content.items()}, notes)
        nested = all(isinstance(value, Mapping) for value in values)
        inner = list(dict.fromkeys(str(key) for value in values for key in value)) if nested else []
        if inner and all(is_clip_file(key) or key.isdigit() for key in inner):
            raise SetupError(
                f"{name}: names of clips ({listed(inner, 2)}) lie under {listed(list(map(str, content)), 2)}; write "
                "rows of clip, model and a column for each score or rating, or {clip: {name: number}}"
            )
        content = [{"clip": key, **(value if nested else {"score": value})} for key, value in content.items()]
    if not _is_column(content) or not all(isinstance(row, Mapping) for row in content):
        raise SetupError(f"{name}: expected rows (objects) or columns (lists) but got {reprlib.repr(content)}")
    rows = [_flat(row) for row in content]
    columns = dict.fromkeys(column for row in rows for column in row)
    return SourceTable(name, {column: [row.get(column) for row in rows] for column in columns}, notes)


def _is_column(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with nested scores or ratings as columns; other nested values are left out."""
    plain: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and normalised(name) in _NESTED:
            for inner, cell in value.items():
                plain |= _one_column_each(str(inner), cell) if inner not in row or inner == name else {}
        elif normalised(name) in _RATER_LISTS:
            plain |= _one_column_each(str(name), answer(value))
        elif isinstance(value, Mapping) and "path" in value and value.keys() <= {"path", "bytes"}:
            plain[str(name)] = value["path"]  # of a file, as the datasets library keeps it
        elif not isinstance(cell := answer(value), Mapping):
            plain[str(name)] = cell
    return plain


def _one_column_each(name: str, value: Any) -> dict[str, Any]:
    """Return a list of numbers as columns ``ratings_1``, ``ratings_2``, one per rater; else the value as it is."""
    if isinstance(value, list) and value and all(isinstance(to_number(cell), float) for cell in value):
        return {f"{name}_{position}": cell for position, cell in enumerate(value, 1)}
    return {name: value}


_RATER_LISTS = frozenset({"ratings", "rating", "annotations", "annotation", "human_ratings", "human_scores"})
_NESTED = frozenset({"scores", "metrics", "ratings", "rating", "results", "annotation", "annotations"})
