"""Tables of a run directory, rebuilt from its records block by block and replaced in one step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from vmmetrics.scoring.anchors import Scale
from vmmetrics.scoring.index import SCORES
from vmmetrics.scoring.records import RunRecords, opened_index, read_run_json
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO, Summary
from vmmetrics.scoring.table import COUNTS, NUMBERS, Table, columns_of, other_scores, row_of
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.storage.atomic import write_text, writing
from vmmetrics.video.discover import printable

_BUFFER = 1 << 22  # bytes, of the many small ones that a row group is written in
_ROWS = 20_000
"""Rows in memory at a time: one row group in Parquet."""


def export(path: Path) -> Table:
    """Write ``scores.csv``, ``breakdown.csv`` where clips have tags, ``scores.parquet`` where pyarrow is installed.

    Args:
        path: Run directory.

    Returns:
        A table of all records of the run.
    """
    configuration = read_run_json(path)["configuration"]
    label, scale = str(configuration.get("label", "")), Scale(configuration)
    with opened_index(path) as index:
        kinds = index.kinds()
        records = RunRecords(path / SCORES, index.offsets())
    tags = {tag for kind in kinds for tag in kind.tags}
    metrics = {metric for kind in kinds for metric in kind.settled | kind.errors}
    columns = columns_of(metrics, sorted(tags, key=lambda tag: (tag != "pattern", tag)))
    numbers = {*NUMBERS, *other_scores(metrics, tags)}
    summary = Summary()
    with ExitStack() as stack:
        table = stack.enter_context(writing(path / "scores.csv"))
        table.write(csv_text([columns]).encode())
        parquet = None
        if find_spec("pyarrow") is not None:
            file = stack.enter_context(writing(path / "scores.parquet"))
            parquet = stack.enter_context(ParquetTable(file, columns, numbers))
        rest = iter(records)
        while block := list(islice(rest, _ROWS)):
            rows = []
            for record in block:
                row = row_of(record, columns, scale)
                rows.append(row)
                summary.add(record, row.get("motion_index"))
            table.write(csv_text(row.values() for row in rows).encode("utf-8", "backslashreplace"))
            if parquet is not None:
                parquet.write(rows)
    if summary.tags:
        write_text(path / "breakdown.csv", breakdown(summary))
    return Table(records, label, path, summary=summary, scale=scale)


def breakdown(summary: Summary) -> str:
    """Return means by tag value as CSV: tag, value, clips, metric, scored, not_applicable, mean, low, high.

    ``low`` and ``high`` end the 95 % bootstrap interval. ``fits`` beside the tags parts clips that last as long as the
    motion of their prompt from shorter ones. A value without any score in a metric has a line without mean.
    Tags of :data:`~vmmetrics.scoring.summary.MOST_VALUES` values or more are left out.
    """
    heads = ("tag", "value", "clips", "metric", "scored", "not_applicable", "mean", "low", "high")
    lines: list[tuple[object, ...]] = [heads]
    groups = {"fits": summary.fits, **{tag: summary.by_tag(tag) for tag in summary.tags}}
    for tag, values in groups.items():
        for value, rows in values.items():
            means = summary.mean(rows)
            for metric in (*summary.metrics, INDEX, INDEX_OR_ZERO):
                mean = means.get(metric)
                interval = (None,) * 3 if mean is None else (mean.mean, mean.low, mean.high)
                scored, foreign = 0 if mean is None else mean.clips, summary.foreign(metric, rows)
                lines.append((tag, value, len(rows), metric, scored, foreign, *interval))
    return csv_text(lines)


class ParquetTable:
    """A Parquet file that is written block by block; a column without any value has the type it has in every other run.

    Args:
        file: Where to, open for writing.
        columns: Names of the columns.
        numbers: Those of them that hold numbers.
    """

    def __init__(self, file: BinaryIO, columns: Sequence[str], numbers: Collection[str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = {name: pa.int64() if name in COUNTS else pa.float64() for name in {*COUNTS, *numbers}}
        self._schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns])
        self._sink = pa.BufferedOutputStream(pa.PythonFile(file, "w"), _BUFFER)
        self._writer = pq.ParquetWriter(self._sink, self._schema)

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write rows as a row group."""
        import pyarrow as pa

        texts = [field.name for field in self._schema if field.type == pa.string()]
        plain = [
            {**row, **{name: None if row[name] is None else printable(str(row[name])) for name in texts}}
            for row in rows
        ]
        self._writer.write_table(pa.Table.from_pylist(plain, self._schema))

    def __enter__(self) -> ParquetTable:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._sink.detach()  # writes the rest, and leaves the file open
