"""Records as a table: rows for files, means with intervals, and a view for people."""

from __future__ import annotations

import html
import io
from collections import Counter
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import METRICS, in_order
from vmmetrics.scoring.directory import read_records, read_run_json
from vmmetrics.scoring.record import Record
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.statistics.paired import Mean, mean_with_interval
from vmmetrics.utils.storage.atomic import write_atomically, write_text

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = (
    "clip", "model", *METRICS, "motion_index", "average", "amplitude", "missing", "error", "frames", "fps", "width",
    "height", "seconds", "preset", "protocol", "prompt", "subject", "notes", "path", "sha256",
)  # fmt: skip
"""Columns of ``scores.csv``."""
TAG = "tag_"
"""What columns of tags begin with in ``scores.csv``; the pattern has a column of its own. Only where there are any."""
NUMBERS = (*METRICS, "motion_index", "average", "amplitude", "fps", "seconds")
"""Columns of numbers among them."""
COUNTS = ("frames", "width", "height")
"""Columns of whole numbers among them."""
_SHOWN_FAILURES = 3
_SHOWN_ROWS = 30  # clips in a repr; beyond them it says how many more there are


class Table(Sequence[Record]):
    """The records of a run, one per clip.

    Attributes:
        records: The records, in order.
        label: Preset, protocol, and what the scores may be compared with.
        path: Run directory, or None where nothing was kept.
        besides: Other records of the run directory, which ``scores.csv`` holds as well: of clips that an earlier
            command named, or that are gone.
    """

    def __init__(
        self, records: Sequence[Record], label: str = "", path: Path | None = None, besides: Sequence[Record] = ()
    ) -> None:
        self.records = list(records)
        self.label = label
        self.path = path
        self.besides = list(besides)

    def __getitem__(self, index: Any) -> Any:
        return self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that any record says anything about."""
        return in_order(m for r in self.records for m in (*r.scores, *r.missing, *r.errors))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of ``scores.csv``: :data:`COLUMNS`, other scores beside the five metrics or in their place."""
        others = self.other_scores
        place, end = COLUMNS.index("missing"), COLUMNS.index("notes")
        own = any(metric in METRICS for metric in self.metrics) or not others
        before = COLUMNS[:place] if own else COLUMNS[: COLUMNS.index(METRICS[0])]
        return (*before, *others, *COLUMNS[place:end], *map(_tag_column, self.tags), *COLUMNS[end:])

    @property
    def other_scores(self) -> tuple[str, ...]:
        """The metrics beside the five; a score that bears the name of another column has none of its own."""
        taken = {*COLUMNS, *map(_tag_column, self.tags)}
        return tuple(metric for metric in self.metrics if metric not in taken)

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags that any record has, its pattern first."""
        names = {name for record in self.records for name in record.tags}
        return tuple(sorted(names, key=lambda name: (name != "pattern", name)))

    @property
    def failed(self) -> list[Record]:
        """The records of clips that failed, as a whole or in one metric."""
        return [record for record in self.records if record.failed]

    def mean(self, model: str | None = None) -> dict[str, Mean]:
        """Mean and 95 % bootstrap interval by metric, and of the index as ``"motion_index"``.

        Args:
            model: Only clips of this model; None takes all.

        Returns:
            An entry per metric with at least one score.
        """
        records = [r for r in self.records if model is None or r.model == model]
        means = {m: mean_with_interval([r.scores[m] for r in records if m in r.scores]) for m in self.metrics}
        means["motion_index"] = mean_with_interval([i for r in records if (i := r.motion_index) is not None])
        return {metric: mean for metric, mean in means.items() if mean is not None}

    def scalars(self, model: str | None = None) -> dict[str, float]:
        """Means by metric as plain numbers, for what tracks experiments: ``wandb.log(table.scalars())``.

        Args:
            model: Only clips of this model; None takes all.

        Returns:
            The mean over clips with a score of each metric that has any, ``"motion_index"`` among them; and
            ``"clips"`` and ``"clips_failed"``, how many there are and how many failed.
        """
        records = [r for r in self.records if model is None or r.model == model]
        means = {metric: mean.mean for metric, mean in self.mean(model).items()}
        return {**means, "clips": float(len(records)), "clips_failed": float(sum(r.failed for r in records))}

    def by_model(self) -> dict[str, dict[str, Mean]]:
        """:meth:`mean` of every model, where clips lie in one folder per model."""
        return {model: self.mean(model) for model in sorted({r.model for r in self.records if r.model is not None})}

    def by_tag(self, name: str) -> dict[str | float, Table]:
        """The records by their value of a tag (``"pattern"``, ``"skeleton"``); those without it are in none."""
        values = {r.tags[name] for r in self.records if name in r.tags}
        return {
            value: Table([r for r in self.records if r.tags.get(name) == value], self.label)
            for value in sorted(values, key=lambda value: (isinstance(value, str), value))
        }

    def rows(self) -> list[dict[str, Any]]:
        """One flat row per clip, as in ``scores.csv``; None where there is no value."""
        columns = self.columns
        return [{name: row.get(name) for name in columns} for row in map(_row, self.records)]

    def to_csv(self, path: str | Path | None = None) -> str:
        """The rows as CSV (UTF-8); also written to ``path`` where one is given."""
        text = csv_text([self.columns, *(row.values() for row in self.rows())])
        if path is not None:
            Path(path).write_bytes(text.encode("utf-8", "backslashreplace"))
        return text

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame.

        Raises:
            SetupError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise SetupError('pandas is not installed: pip install "vmmetrics[parquet]"') from error
        return pd.DataFrame(self.rows(), columns=list(self.columns))

    def __repr__(self) -> str:
        names = [r.clip for r in self.records[:_SHOWN_ROWS]]
        width = max([len(n) for n in names] + [4])
        lines = [" ".join(["clip".ljust(width), *(m.upper().rjust(7) for m in self.metrics)])]
        for name, record in zip(names, self.records, strict=False):
            lines.append(" ".join([name.ljust(width), *(cell(record, m).rjust(7) for m in self.metrics)]))
        if len(self.records) > _SHOWN_ROWS:
            lines.append(f"... {len(self.records) - _SHOWN_ROWS} more clips")
        means = self.mean()
        shown = [f"{means[m].mean:.4f}" if m in means else "-" for m in self.metrics]
        lines.append(" ".join(["mean".ljust(width), *(s.rjust(7) for s in shown)]))
        return "\n".join([*lines, *_remarks(self), *filter(None, [self.label])])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{m.upper()}</th>" for m in self.metrics)
        body = ""
        for record in self.records[:_SHOWN_ROWS]:
            cells = "".join(f'<td title="{html.escape(why(record, m))}">{cell(record, m)}</td>' for m in self.metrics)
            body += f"<tr><td>{html.escape(record.clip)}</td>{cells}</tr>"
        more = len(self.records) - _SHOWN_ROWS
        if more > 0:
            body += f'<tr><td colspan="{len(self.metrics) + 1}">{more} more clips</td></tr>'
        means = self.mean()
        foot = "".join(f"<th>{_interval(means.get(m))}</th>" for m in self.metrics)
        return (
            f"<table><thead><tr><th>clip</th>{head}</tr></thead><tbody>{body}</tbody>"
            f"<tfoot><tr><th>mean</th>{foot}</tr></tfoot></table>"
            + "".join(f"<p>{html.escape(text)}</p>" for text in (*_remarks(self), self.label) if text)
        )


def cell(record: Record, metric: str) -> str:
    """Return a score as shown to people; ``-`` where missing, ``n/a``, ``failed``, or empty where not asked."""
    if record.error is not None or metric in record.errors:
        return "failed"
    if metric in record.scores:
        score = record.scores[metric]
        return f"{score:.4f}" if abs(score) <= 1 else f"{score:.5g}"
    if metric in record.not_applicable:
        return "n/a"
    return "-" if metric in record.missing else ""


def missing_lines(table: Table) -> list[str]:
    """Return how many clips have no score in a metric, by the three most frequent reasons of each."""
    lines: list[str] = []
    for metric in table.metrics:
        without = [record for record in table if metric in record.missing]
        reasons = Counter((metric in record.not_applicable, record.missing[metric]) for record in without)
        for (foreign, reason), clips in reasons.most_common(3):
            share = (
                f"{clips} of {len(table)} clips" if clips < len(table) else "every clip" if clips > 1 else "the clip"
            )
            lines.append(f"- {metric.upper()} {'does not apply to' if foreign else 'missing in'} {share}: {reason}")
    return lines


def _remarks(table: Table) -> list[str]:
    """Return why scores are missing, and why clips failed."""
    failed = [(r.clip, next(filter(None, [r.error, *r.errors.values()]))) for r in table.failed]
    more = [f"- {len(failed) - _SHOWN_FAILURES} more clips failed"] if len(failed) > _SHOWN_FAILURES else []
    return [*missing_lines(table), *(f"- {clip} failed: {why}" for clip, why in failed[:_SHOWN_FAILURES]), *more]


def why(record: Record, metric: str) -> str:
    """Why a clip has no score, or nothing."""
    return record.error or record.errors.get(metric) or record.missing.get(metric) or ""


def _interval(mean: Mean | None) -> str:
    if mean is None:
        return "-"
    return f"{mean.mean:.4f}" + (f" [{mean.low:.4f}, {mean.high:.4f}]" if mean.low is not None else "")


def _tag_column(name: str) -> str:
    return name if name == "pattern" else TAG + name


_AS_THEY_ARE = (
    "clip", "model", "motion_index", "amplitude", "frames", "fps", "seconds", "preset", "protocol", "prompt", "path",
    "sha256",
)  # fmt: skip


def _row(record: Record) -> dict[str, Any]:
    from vmmetrics.functional.motion_index import PARTS, average  # only where all five are there

    errors = [record.error] if record.error else [f"{m}: {text}" for m, text in record.errors.items()]
    foreign = dict.fromkeys(record.not_applicable, "not applicable, ")
    missing = [f"{metric}: {foreign.get(metric, '')}{reason}" for metric, reason in record.missing.items()]
    width, height = record.size or (None, None)
    return {
        **record.scores,
        **{name: getattr(record, name) for name in _AS_THEY_ARE},
        "average": average({metric: score for metric, score in record.scores.items() if metric in PARTS}).score,
        "missing": "; ".join(missing) or None,
        "error": "; ".join(errors) or None,
        "width": width,
        "height": height,
        "subject": record.subject.get("phrase") if record.subject else None,
        **{_tag_column(name): value for name, value in record.tags.items()},
        "notes": "; ".join(record.notes) or None,
    }


# The tables of a run directory, made anew from its records and put in place in one step.


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
    heads = ("tag", "value", "clips", "metric", "scored", "not_applicable", "mean", "low", "high")
    rows: list[tuple[object, ...]] = [heads]
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
