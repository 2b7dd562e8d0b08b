"""Records as a table: rows for files, means with intervals, and a view for people."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vmmetrics.errors import SetupError, install
from vmmetrics.metrics.registry import METRICS, in_order, label
from vmmetrics.scoring import anchors
from vmmetrics.scoring.anchors import Place, Scale, rounded
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import RunRecords
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO, Summary, remarks
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.statistics.paired import Mean

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = (
    "clip", "model", *METRICS, "motion_index", "average", "amplitude", "own_change", *anchors.COLUMNS, "missing",
    "error", "frames", "fps", "width", "height", "seconds", "preset", "protocol", "prompt", "subject", "notes", "path",
    "sha256",
)  # fmt: skip
"""Columns of ``scores.csv``; those from the first metric to ``missing`` are left out where none of ours was scored."""
TAG = "tag_"
"""What columns of tags begin with in ``scores.csv``; the pattern has a column of its own. Only where there are any."""
NUMBERS = (*METRICS, "motion_index", "average", "amplitude", "own_change", *anchors.COLUMNS[:-1], "fps", "seconds")
"""Columns of numbers among them."""
COUNTS = ("frames", "width", "height")
"""Columns of whole numbers among them."""
IN_MEMORY = 10_000
"""Records up to which a table holds them in memory, some 2 kB each."""
_SHOWN_ROWS = 30  # clips in a repr; beyond them it says how many more there are


class Table(Sequence[Record]):
    """The records of a run, one per clip.

    Attributes:
        records: The records, in order; of a run of more than :data:`IN_MEMORY` clips read when they are asked for.
        label: Preset, protocol, and comparability of the scores.
        path: Run directory, or None.
        besides: Other records of the run directory, which ``scores.csv`` holds as well: of clips that an earlier
            command named, or that are gone.
        scale: The table of real footage that the scores have their places in.
    """

    def __init__(
        self,
        records: Sequence[Record],
        label: str = "",
        path: Path | None = None,
        besides: Sequence[Record] = (),
        summary: Summary | None = None,
        metrics: Sequence[str] = (),
        scale: Scale | None = None,
    ) -> None:
        self.records = _in_memory(records)
        self.label = label
        self.path = path
        self.besides = _in_memory(besides)
        self._summary = summary
        self._requested = tuple(metrics)
        self.scale = scale or Scale()

    def __getitem__(self, index: Any) -> Any:
        return self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    @property
    def summary(self) -> Summary:
        """Counts and columns of the records, made once."""
        if self._summary is None:
            self._summary = Summary(self.records)
        return self._summary

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that any record has a score, reason or error of; the run's where all clips failed."""
        return self.summary.metrics or self._requested

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of ``scores.csv``: :data:`COLUMNS`, other scores beside the five metrics or in their place."""
        return columns_of(self.metrics, self.tags)

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags that any record has, its pattern first."""
        return self.summary.tags

    @property
    def failed(self) -> list[Record]:
        """The records of clips that failed, as a whole or in one metric."""
        return [record for record in self.records if record.failed]

    def mean(self, model: str | None = None) -> dict[str, Mean]:
        """Return mean and 95 % bootstrap interval over prompts by metric, and of the index twice.

        ``"motion_index"`` is over the clips judged; ``"motion_index_or_0"`` counts stills, slide shows and noise as 0.

        Args:
            model: Only clips of this model; None takes all.

        Returns:
            An entry per metric with at least one score.
        """
        rows = None if model is None else self.summary.models.get(model, np.zeros(0, np.int64))
        return self.summary.mean(rows)

    def scalars(self, model: str | None = None) -> dict[str, float]:
        """Return the means by metric as plain numbers, for experiment trackers: ``wandb.log(table.scalars())``.

        Args:
            model: Only clips of this model; None takes all.

        Returns:
            The mean over clips with a score of each metric that has any, and both of the index (:meth:`mean`); and
            ``"clips"`` and ``"clips_failed"``, how many there are and how many failed.
        """
        failed = [r.failed for r in self.records if model is None or r.model == model]
        means = {metric: mean.mean for metric, mean in self.mean(model).items()}
        return {**means, "clips": float(len(failed)), "clips_failed": float(sum(failed))}

    def by_model(self) -> dict[str, dict[str, Mean]]:
        """Return :meth:`mean` of every model, where clips lie in one folder per model."""
        return {model: self.summary.mean(rows) for model, rows in self.summary.models.items()}

    def by_tag(self, name: str) -> dict[str | float, Table]:
        """Return the records by their value of a tag (``"pattern"``, ``"skeleton"``); those without it are in none."""
        groups: dict[str | float, list[Record]] = {}
        for record in self.records:
            if name in record.tags:
                groups.setdefault(record.tags[name], []).append(record)
        values = sorted(groups, key=lambda value: (isinstance(value, str), value))
        return {value: Table(groups[value], self.label, scale=self.scale) for value in values}

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per clip, as in ``scores.csv``; None where there is no value."""
        return list(self.iterate_rows())

    def iterate_rows(self) -> Iterator[dict[str, Any]]:
        """Return :meth:`rows`, one at a time."""
        columns = self.columns
        return (row_of(record, columns, self.scale) for record in self.records)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the rows as CSV (UTF-8); also written to ``path`` where one is given."""
        text = csv_text(chain([self.columns], (row.values() for row in self.iterate_rows())))
        if path is not None:
            Path(path).write_bytes(text.encode("utf-8", "backslashreplace"))
        return text

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame.

        Raises:
            SetupError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise SetupError(f"pandas is not installed: {install('parquet')}") from error
        return pd.DataFrame(self.rows(), columns=list(self.columns))

    def places(self, record: Record) -> dict[str, Place]:
        """Return places among real footage and uncertainties by metric, of the index as ``"motion_index"``."""
        return self.scale.places(with_index(record), record.score_version)

    def no_place(self, record: Record) -> str:
        """Return why scores of a record have no place among real footage, or ``""``."""
        return self.scale.text(with_index(record), record.score_version)

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics, and ``"motion_index"`` where any record has one or collapsed."""
        return (*self.metrics, *([INDEX] if self.summary.indexed or self.summary.collapsed else []))

    def cells(self, record: Record) -> dict[str, str]:
        """Return the scores of a record as shown to people, by metric of :attr:`shown`; an index with its factor."""
        places = self.places(record)
        cells = {metric: cell(record, metric, places.get(metric)) for metric in self.shown}
        if record.index_remark:
            cells[INDEX] += f" {record.index_remark.partition(':')[0]}"
        return cells

    def __repr__(self) -> str:
        names = [r.clip for r in self.records[:_SHOWN_ROWS]]
        rows = [list(self.cells(record).values()) for record in self.records[:_SHOWN_ROWS]]
        last = [(name, [_mean(means, m) for m in self.shown]) for name, means in _mean_rows(self)]
        table = [("clip", [*map(label, self.shown)]), *zip(names, rows, strict=True), *last]
        width = max(len(name) for name, _ in table)
        widths = [max(7, *map(len, column)) for column in zip(*(texts for _, texts in table), strict=True)]
        lines = []
        for name, texts in table:
            cells = (text.rjust(room) for text, room in zip(texts, widths, strict=True))
            lines.append(" ".join([name.ljust(width), *cells]).rstrip())
        if len(self.records) > _SHOWN_ROWS:
            lines.insert(-len(last), f"... {len(self.records) - _SHOWN_ROWS} more clips")
        return "\n".join([*lines, *remarks(self, _SHOWN_ROWS), *filter(None, [self.label])])

    def _repr_html_(self) -> str:
        top = "".join(f"<th>{label(m)}</th>" for m in self.shown)
        body = ""
        for record in self.records[:_SHOWN_ROWS]:
            cells = "".join(
                f'<td title="{html.escape(missing_reason(record, m))}">{text}</td>'
                for m, text in self.cells(record).items()
            )
            body += f"<tr><td>{html.escape(record.clip)}</td>{cells}</tr>"
        more = len(self.records) - _SHOWN_ROWS
        if more > 0:
            body += f'<tr><td colspan="{len(self.shown) + 1}">{more} more clips</td></tr>'
        foot = ""
        for name, means in _mean_rows(self):
            cells = "".join(f"<th>{_mean(means, m, interval=True)}</th>" for m in self.shown)
            foot += f"<tr><th>{name}</th>{cells}</tr>"
        texts = (*remarks(self, _SHOWN_ROWS), self.label)
        return (
            f"<table><thead><tr><th>clip</th>{top}</tr></thead><tbody>{body}</tbody><tfoot>{foot}</tfoot></table>"
            + "".join(f"<p>{html.escape(text)}</p>" for text in texts if text)
        )


def _in_memory(records: Sequence[Record]) -> Sequence[Record]:
    return records if isinstance(records, RunRecords) and len(records) > IN_MEMORY else list(records)


def columns_of(metrics: Iterable[str], tags: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of ``scores.csv``; a score that bears the name of another column has none of its own."""
    ordered = in_order(metrics)
    others = other_scores(ordered, tags)
    start, end = COLUMNS.index("missing"), COLUMNS.index("notes")
    own = _has_own(ordered) or not others
    before = COLUMNS[:start] if own else COLUMNS[: COLUMNS.index(METRICS[0])]
    return (*before, *others, *COLUMNS[start:end], *map(_tag_column, tags), *COLUMNS[end:])


def other_scores(metrics: Iterable[str], tags: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics that have a column beside those of :data:`COLUMNS` and of the tags."""
    names = tuple(metrics)
    scores = slice(COLUMNS.index(METRICS[0]), COLUMNS.index("missing"))
    taken = {*COLUMNS, *map(_tag_column, tags)} - ({*()} if _has_own(names) else {*COLUMNS[scores]})
    return tuple(metric for metric in names if metric not in taken)


def _has_own(metrics: Iterable[str]) -> bool:
    return any(metric in METRICS for metric in metrics)


def cell(record: Record, metric: str, place: Place | None = None) -> str:
    """Return a score as shown to people; ``-`` where missing, ``n/a``, ``failed``, or empty where not asked.

    Args:
        record: The clip.
        metric: A metric, or ``"motion_index"``.
        place: Place of the score among real footage: shown behind it, which is rounded to its uncertainty.
    """
    if record.error is not None or metric in record.errors:
        return "failed"
    if place is not None:
        return f"{place.rounded} ({place.above}/{place.sources})"
    if metric == INDEX:
        return "-" if record.motion_index is None else rounded(record.motion_index, None)
    if metric in record.scores:
        score = record.scores[metric]
        return rounded(score, None) if abs(score) <= 1 else f"{score:.5g}"
    if metric in record.not_applicable:
        return "n/a"
    return "-" if metric in record.missing else ""


def with_index(record: Record) -> dict[str, float | None]:
    """Return the scores of a record, its index among them; none of a clip that failed."""
    return {**record.scores, INDEX: record.motion_index} if record.error is None else {}


def notes_of(record: Record) -> tuple[str, ...]:
    """Return the notes on a clip, the factor of its index first where that is below 1."""
    return (f"INDEX {record.index_remark}", *record.notes) if record.index_remark else record.notes


def missing_reason(record: Record, metric: str) -> str:
    """Return the reason why a clip has no score in a metric, or ``""``."""
    return record.error or record.errors.get(metric) or record.missing.get(metric) or ""


def _mean_rows(table: Table) -> list[tuple[str, dict[str, Mean | None]]]:
    """Return the rows of means with their names; where clips collapsed, the index has two of its own."""
    means, collapsed = table.mean(), table.summary.collapsed
    if not collapsed:
        return [("mean", {metric: means.get(metric) for metric in table.shown})]
    judged, zero = means.get(INDEX), means.get(INDEX_OR_ZERO)
    return [
        ("mean", {metric: means.get(metric) for metric in table.metrics}),
        (f"INDEX of the {judged.clips if judged else 0} judged", {INDEX: judged}),
        (f"INDEX with the {collapsed} collapsed as 0", {INDEX: zero}),
    ]


def _mean(means: Mapping[str, Mean | None], metric: str, interval: bool = False) -> str:
    if metric not in means:
        return ""
    mean = means[metric]
    if mean is None:
        return "-"
    return f"{mean.mean:.4f}" + (f" [{mean.low:.4f}, {mean.high:.4f}]" if interval and mean.low is not None else "")


def _tag_column(name: str) -> str:
    return name if name == "pattern" else TAG + name


_AS_THEY_ARE = (
    "clip", "model", "motion_index", "average", "amplitude", "own_change", "frames", "fps", "seconds", "preset",
    "protocol", "prompt", "path", "sha256",
)  # fmt: skip


def row_of(record: Record, columns: Iterable[str], scale: Scale) -> dict[str, Any]:
    """Return a record as a row of ``scores.csv``: the columns in order, None where there is no value."""
    row = _row(record) | scale.columns(with_index(record), record.score_version)
    return {name: row.get(name) for name in columns}


def _row(record: Record) -> dict[str, Any]:
    errors = [record.error] if record.error else [f"{m}: {text}" for m, text in record.errors.items()]
    foreign = dict.fromkeys(record.not_applicable, "not applicable, ")
    missing = [f"{metric}: {foreign.get(metric, '')}{reason}" for metric, reason in record.missing.items()]
    width, height = record.size or (None, None)
    return {
        **record.scores,
        **{name: getattr(record, name) for name in _AS_THEY_ARE},
        "missing": "; ".join(missing) or None,
        "error": "; ".join(errors) or None,
        "width": width,
        "height": height,
        "subject": record.subject.get("phrase") if record.subject else None,
        **{_tag_column(name): value for name, value in record.tags.items()},
        "notes": "; ".join(notes_of(record)) or None,
    }
