"""The tables of a run directory, made anew from its records and put in place in one step."""

from __future__ import annotations

import io
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

from vmmetrics.run.atomic import write_atomically, write_text
from vmmetrics.run.directory import read_records, read_run_json
from vmmetrics.run.table import COUNTS, NUMBERS, Table
from vmmetrics.utils.markup import csv_text


def export(path: Path) -> Table:
    """Write ``scores.csv``, ``breakdown.csv`` where clips have tags, ``scores.parquet`` where pyarrow is installed.

    Args:
        path: Run directory.

    Returns:
        Everything the run knows.
    """
    label = read_run_json(path)["configuration"].get("label", "")
    table = Table(read_records(path), str(label), path)
    write_text(path / "scores.csv", table.to_csv())
    if table.tags:
        write_text(path / "breakdown.csv", breakdown(table))
    if find_spec("pyarrow") is not None:
        write_atomically(path / "scores.parquet", _parquet(table))
    return table


def breakdown(table: Table) -> str:
    """Means by every value of every tag as CSV: tag, value, clips, metric, scored, not_applicable, mean, low, high.

    ``low`` and ``high`` end the 95 % bootstrap interval. A value without any score in a metric has a line without mean.
    """
    rows: list[tuple[object, ...]] = [
        ("tag", "value", "clips", "metric", "scored", "not_applicable", "mean", "low", "high")
    ]
    for tag in table.tags:
        for value, part in table.by_tag(tag).items():
            means = part.mean()
            for metric in (*table.metrics, "motion_index"):
                mean = means.get(metric)
                interval = (None,) * 3 if mean is None else (mean.mean, mean.low, mean.high)
                foreign = sum(metric in record.not_applicable for record in part)
                rows.append((tag, value, len(part), metric, 0 if mean is None else mean.clips, foreign, *interval))
    return csv_text(rows)


def _parquet(table: Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = table.rows()
    columns = {name: [row[name] for row in rows] for name in table.columns}
    numbers = {*NUMBERS, *table.other_scores}
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: _typed(name, values, numbers) for name, values in columns.items()}), buffer)
    return buffer.getvalue()


def _typed(name: str, values: list[object], numbers: Collection[str]) -> object:
    """An Arrow column; one without any value still has the type it has in every other run."""
    import pyarrow as pa

    if name in COUNTS:
        return pa.array(values, pa.int64())
    if name in numbers:
        return pa.array(values, pa.float64())
    texts = [None if v is None else str(v).encode("utf-8", "backslashreplace").decode() for v in values]
    return pa.array(texts, pa.string())
