"""Readers of tables in CSV, TSV, JSON, JSON Lines and Parquet."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vmmetrics.errors import SetupError, cannot, install, os_reason
from vmmetrics.utils.display.markup import is_ours, without_guard
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.storage.opening import open_regular, read_regular

if TYPE_CHECKING:
    from _csv import Reader

SEPARATORS: Final[Mapping[str, str]] = {".csv": ",", ".tsv": "\t"}
LARGEST_CELL: Final = 2**27
"""Characters of a cell in a table; the csv module's own bound is 128 KiB."""
MOST_COLUMNS: Final = 10_000
"""Columns of a table."""
MOST_ROWS: Final = 1_000_000
"""Rows of a Parquet file."""
_MOST_BYTES: Final = 128 * 2**20  # of a Parquet file, where nothing else is said
_LONGEST_NAME: Final = 100_000  # characters of a column's name, which may be a long question
_BATCH: Final = 1024  # rows of a Parquet file read at once


def read_cells(
    lines: Iterable[str], delimiter: str, path: Path, problems: list[str] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and cells of the rows of a table that are not blank, its header first.

    Args:
        lines: As for :func:`csv_rows`.
        delimiter: Between cells.
        path: The file, for messages.
        problems: Rows with more cells than the header, and what is no table, are told here, rather than raised.

    Raises:
        SetupError: It cannot be read, or columns have one name.
    """
    reader, columns, guarded = csv_rows(lines, delimiter), 0, False

    def fault(text: str) -> None:
        if problems is None:
            raise SetupError(f"{path}, line {reader.line_num}: {text}")
        problems.append(f"{path}, line {reader.line_num}: {text}")

    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not columns:
                cells, columns = [cell.strip() for cell in cells], len(cells)
                guarded = is_ours(cells)
                refuse_headers(cells, path)
            if len(cells) > columns:
                fault(f"{len(cells)} cells but {columns} columns; quote texts that hold {delimiter!r}")
            else:
                yield reader.line_num, list(map(without_guard, cells)) if guarded else cells
    except csv.Error as error:
        fault(f"not readable as a table: {error}")


def refuse_headers(names: Sequence[str], source: str | Path) -> None:
    """Raise SetupError for more columns, longer names or more of one name than a table has.

    Args:
        names: Of the columns.
        source: What they are of, for messages.
    """
    if len(names) > MOST_COLUMNS:
        raise SetupError(f"{source}: {len(names):,} columns; at most {MOST_COLUMNS:,} are read")
    if (longest := max(map(len, names), default=0)) > _LONGEST_NAME:
        raise SetupError(f"{source}: a column's name has {longest:,} characters; its suffix may name another separator")
    if twice := {name for name, number in Counter(names).items() if name and number > 1}:
        raise SetupError(f"{source}: several columns have the name {', '.join(sorted(twice))}")


def csv_rows(lines: Iterable[str], delimiter: str, *, strict: bool = True) -> Reader:
    """Return a reader of the rows of a table; its ``line_num`` says where it is.

    Args:
        lines: An open file or an ``io.StringIO``, with ``newline=""``.
        delimiter: Between cells.
        strict: True if quotes must be closed and stand alone.
    """
    csv.field_size_limit(LARGEST_CELL)
    return csv.reader(lines, delimiter=delimiter, strict=strict)


@contextmanager
def open_parquet(path: Path, *, streamed: bool = False) -> Iterator[Any]:
    """Open a Parquet file as a ``pyarrow.parquet.ParquetFile``.

    Args:
        path: The file.
        streamed: True if columns are read piece by piece, for cells too large to be held together.

    Raises:
        SetupError: pyarrow is missing, or it cannot read the file, now or meanwhile.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise SetupError(f"{path} needs pyarrow: {install('parquet')}") from error
    failures = (OSError, pa.ArrowException)  # still known when Python ends and a file is open
    try:
        with open_regular(path) as file:
            yield pq.ParquetFile(file, buffer_size=2**20, pre_buffer=False) if streamed else pq.ParquetFile(file)
    except failures as error:
        raise SetupError(f"{path}: not readable as Parquet: {os_reason(error)}") from error


def parquet_rows(
    table: Any, path: Path, columns: list[str] | None, most_rows: int, most_bytes: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, however small the file is that states many or long ones.

    Args:
        table: The file, open (:func:`open_parquet`).
        path: Its path, for messages.
        columns: Which, ``"struct.field"`` for a part of one; None for all.
        most_rows: Rows that are read.
        most_bytes: Bytes of the cells, unpacked.

    Raises:
        SetupError: There are more.
    """
    metadata = table.metadata
    if metadata.num_rows > most_rows:
        raise SetupError(f"{path}: {metadata.num_rows:,} rows, more than the {most_rows:,} that are read; split it")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = (group.column(number) for group in groups for number in range(group.num_columns))
    prefixes = None if columns is None else tuple(f"{column}." for column in columns)
    largest = max(
        (c.total_uncompressed_size for c in chunks if prefixes is None or f"{c.path_in_schema}.".startswith(prefixes)),
        default=0,
    )  # no cell is larger; one that many rows share stands in the file once
    step = max(1, min(_BATCH, most_bytes // (4 * max(1, largest))))
    shared = any("dictionary" in str(field.type) for field in table.schema_arrow)  # whose size is not that of its cells
    size = 0
    for batch in table.iter_batches(step, columns=columns):
        rows = batch.to_pylist()
        size += sum(len(str(row)) for row in rows) if shared else batch.nbytes
        if size > most_bytes:
            raise SetupError(f"{path}: more than {most_bytes // 2**20} MiB, unpacked; split it")
        yield from rows


def read_rows(path: Path, problems: Counter[str] | None = None) -> list[Any]:
    """Return the rows of a file, unchecked; arguments and errors as for :func:`located_rows`."""
    return [row for _, row in located_rows(path, problems=problems)]


def located_rows(
    path: Path,
    *,
    most: int | None = None,
    expected: str = "a table is expected",
    called: str = "",
    problems: Counter[str] | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file with their places in it ("prompts.csv, line 3"), unchecked.

    A ``.json`` file gives its list, or the one value in it, whose place is the file; ``.jsonl`` a value per line;
    a table a dictionary per row, in which absent cells are empty; Parquet one without columns of bytes.

    Args:
        path: The file.
        most: Bytes of it; None for any.
        expected: Text on the expected content, for the error of a larger file.
        called: Name of it in errors, with a trailing blank.
        problems: Lines of a ``.jsonl`` file that are not JSON are counted here, rather than fatal.

    Raises:
        SetupError: It cannot be read, is larger, or a row has more cells than there are columns.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            if most is not None and path.stat().st_size > most:
                raise SetupError(f"{path}: larger than {most // 2**20} MiB; {expected}")
            with open_parquet(path) as table:
                columns = [field.name for field in table.schema_arrow if "binary" not in str(field.type)]
                unpacked = 4 * (most or _MOST_BYTES)  # where packed to a quarter
                for number, row in enumerate(parquet_rows(table, path, columns, MOST_ROWS, unpacked), 1):
                    yield f"{path.name}, row {number}", row
            return
        ends = "" if suffix in SEPARATORS else "\n"
        with (
            io.TextIOWrapper(open_regular(path), "utf-8-sig", newline=ends)
            if most is None
            else io.StringIO(read_text(path, most, expected, called), newline=ends)
        ) as file:
            if suffix in SEPARATORS:
                rows = read_cells(file, SEPARATORS[suffix], path)
                _, names = next(rows, (0, []))
                for number, cells in rows:
                    yield f"{path.name}, line {number}", dict(zip_longest(names, cells, fillvalue=""))
            elif suffix in (".jsonl", ".ndjson"):
                for number, value in _numbered_json(file, path, problems, "lines"):
                    yield f"{path.name}, line {number}", value
            else:
                yield from _of_json(file.read(), path)
    except UnicodeDecodeError as error:
        raise SetupError(f"{path}: expected UTF-8 text but byte {error.start} is not") from error
    except OSError as error:
        raise cannot("read", f"{called}{path}", error) from error
    except ValueError as error:
        raise SetupError(f"{path}: not readable as {suffix.lstrip('.').upper() or 'JSON'}: {error}") from error


def _of_json(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a list, or the one value; published files call JSON Lines .json."""
    try:
        value = parse_json(text, gaps=True)
    except ValueError:
        lines = text.split("\n")  # not splitlines: JSON has other line ends in texts, such as U+2028
        values = []
        with suppress(SetupError):
            values = list(_numbered_json(lines, path, None, "lines"))
        if len(values) < 2:
            raise
        yield from ((f"{path.name}, line {number}", value) for number, value in values)
    else:
        if not isinstance(value, list):
            yield path.name, value
            return
        for number, row in enumerate(value, 1):
            yield f"{path.name}, entry {number}", row


def json_lines(
    lines: Iterable[str], path: Path, problems: Counter[str] | None = None, called: str = "lines"
) -> Iterator[Any]:
    """Yield the values of the lines of a file that are not blank.

    Args:
        lines: The lines.
        path: The file.
        problems: Lines that are not JSON are counted here, rather than fatal; but one must be.
        called: What such lines are called there.

    Raises:
        SetupError: A line is not JSON; or none is, where they are counted.
    """
    return (value for _, value in _numbered_json(lines, path, problems, called))


def _numbered_json(
    lines: Iterable[str], path: Path, problems: Counter[str] | None, called: str
) -> Iterator[tuple[int, Any]]:
    read, failure = False, None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, parse_json(line, gaps=True)
                read = True
            except ValueError as error:
                failure = failure or SetupError(f"{path}, line {number}: not readable as JSON: {error}")
                if problems is None:
                    raise failure from error
                problems[f"{called} that are not JSON"] += 1
    if failure and not read:
        raise failure


def read_text(path: Path, most: int, expected: str, called: str = "", errors: str = "strict") -> str:
    """Read a text in UTF-8, with a mark of its byte order or without.

    Args:
        path: The file.
        most: Bytes.
        expected: Text on the expected content, for the error of a larger file.
        called: Name of it in that error, with a trailing blank.
        errors: As for :func:`open`.

    Raises:
        SetupError: It cannot be read, is larger, or is not UTF-8.
    """
    try:
        return io.TextIOWrapper(io.BytesIO(read_regular(path, most)), "utf-8-sig", errors).read()
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise SetupError(f"{path}: larger than {most // 2**20} MiB; {expected}") from error
        raise cannot("read", f"{called}{path}", error) from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path}: expected UTF-8 text but byte {error.start} is not") from error


def sha256_of(path: Path) -> str:
    """Return the hash of a file, hexadecimal.

    Raises:
        SetupError: It cannot be read.
    """
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise cannot("read", path, error) from error


def seconds(value: Any) -> float | None:
    """Return a finite number of seconds, zero or more, from a number or its text; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < float("inf") else None


def find_file(data: Path, names: Iterable[str], what: str) -> Path:
    """Return the file with the data: ``data`` itself, or the first of the names in it or one folder below.

    Args:
        data: A file or a folder.
        names: Names or patterns, the preferred first.
        what: Text on what is looked for.

    Raises:
        SetupError: There is none.
    """
    if data.is_file():
        return data
    patterns = list(names)
    for pattern in (where for name in patterns for where in (name, f"*/{name}")):
        for path in sorted(data.glob(pattern)):
            return path
    raise SetupError(f"{data}: no {what} there or one folder below; looked for {', '.join(patterns)}")


def nothing_found(path: Path, what: str, problems: Mapping[str, int]) -> SetupError:
    """Return the error for a file without any entry of a benchmark, with the problems of its rows.

    Args:
        path: The file.
        what: Text on what was looked for ("question of MotionBench").
        problems: Counts of problems by text.
    """
    reason = "; ".join(f"{count:,} {problem}" for problem, count in problems.items()) or "it has no rows"
    return SetupError(f"{path}: no {what} in it: {reason}")
