"""Scores of clips from run directories and tables, several of them side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.names import NameMatch, match_names
from vmmetrics.alignment.readers.table_clips import clips_of
from vmmetrics.alignment.readers.tables import SourceTable, numbers, read_table
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.types import FloatArray
from vmmetrics.utils.display.markup import listed

_NAMED = re.compile(r"^(?P<name>[^=/\\]+)=(?P<path>.+)$", re.DOTALL)
_SHOWN = 5  # names in a note
_TABLES = ("scores.csv", "scores.parquet")  # of a run, which do not say of which metrics lower is better


@dataclass(frozen=True, slots=True)
class SourceScores:
    """Scores of some clips (or of models, where that is what was scored).

    Attributes:
        name: What the source is called, for prefixes.
        clips: (N,) names.
        prompts: (N,) prompt, None where it is not known.
        models: (N,) model, None where it is not known.
        values: Metric to (N,) float64, higher is better, NaN where there is none.
        notes: What was assumed.
        of_models: Whether the rows are models.
    """

    name: str
    clips: tuple[str, ...]
    prompts: tuple[str | None, ...]
    models: tuple[str | None, ...]
    values: Mapping[str, FloatArray]
    notes: tuple[str, ...] = ()
    of_models: bool = False


def read_scores(
    sources: Any, *, metrics: Sequence[str] = (), lower: Sequence[str] = (), clip_column: str | None = None
) -> SourceScores:
    """Read scores from one or several sources and put them side by side.

    Args:
        sources: A run directory, a table (file, mapping, rows, data frame, what :func:`vmmetrics.score` gave), or a
            list of these; ``NAME=PATH`` names a source.
        metrics: Take these alone; empty takes every column of numbers that does not describe the clip.
        lower: Metrics of which lower is better; their sign is turned.
        clip_column: Which column names the clip.

    Raises:
        SetupError: A source cannot be read, holds no scores, or names a clip twice with different scores.
    """
    found = [_read(source, f"scores {n}", metrics, clip_column) for n, source in enumerate(as_sources(sources), 1)]
    joined, *others = _told_apart(found)
    for other in others:
        joined = _joined(joined, other)
    if metrics:
        kept = _named(joined, metrics, "in the scores; they have")
        joined = replace(joined, values={metric: joined.values[metric] for metric in kept})
    if not joined.values:
        raise SetupError(f"{joined.name}: no column holds scores")
    return _turned(joined, lower)


def as_sources(sources: Any) -> list[Any]:
    """The sources as a list; rows of one table are one source."""
    if not isinstance(sources, list | tuple):
        return [sources]
    rows = sources and all(isinstance(source, Mapping) for source in sources)
    if rows and any(isinstance(value, str) for value in sources[0].values()):
        return [sources]
    if not sources:
        raise SetupError("No scores were given")
    return list(sources)


def is_run(path: Path) -> bool:
    """Whether a path is a run directory."""
    return (path / "run.json").is_file()


def _read(source: Any, name: str, metrics: Sequence[str], clip_column: str | None) -> SourceScores:
    run: Path | None = None  # says of which metrics lower is better
    if isinstance(source, str | Path):
        match, path = _NAMED.match(str(source)), Path(source)
        if match and not path.exists():
            name, path = match["name"], Path(match["path"])
        else:
            name = path.resolve().name if path.is_dir() else path.stem
        if path.name == "scores.jsonl" and is_run(path.parent):
            path = path.parent
        if path.is_dir() or not path.exists():
            run, table, clip_column = path, _of_run(path), None
        else:
            table = read_table(path, name)
            run = path.parent if path.name in _TABLES and is_run(path.parent) else None
    elif hasattr(source, "records") and hasattr(source, "rows"):
        table = SourceTable(name, _record_columns(source.records))
    else:
        table = read_table(source, name)
    scores = _of_table(table, name, metrics, clip_column)
    if run is None:
        return scores
    from vmmetrics.scoring.directory import read_run_json

    lower = set(read_run_json(run).get("lower_is_better", ()))
    return _turned(scores, [metric for metric in scores.values if metric in lower])


def _of_run(path: Path) -> SourceTable:
    """The newest records of a run directory."""
    from vmmetrics.scoring.directory import read_records

    if not path.exists():
        raise SetupError(f"{path}: there is no such file or run directory")
    warnings: list[str] = []
    records = read_records(path, warnings)
    if not records:
        raise SetupError(f"{path} holds no clips yet")
    failed = sum(record.failed for record in records)
    notes = [f"{path.name}: {failed} of {len(records)} clips failed, in whole or in part"] if failed else []
    return SourceTable(str(path), _record_columns(records), (*notes, *(f"{path.name}: {text}" for text in warnings)))


def _record_columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Records as columns; a metric that every clip lacks is a column too, so that it is not passed over in silence."""
    asked = dict.fromkeys(m for record in records for m in (*record.scores, *record.missing, *record.errors))
    columns: dict[str, list[Any]] = {
        name: [getattr(record, name) for record in records] for name in ("clip", "model", "prompt", "amplitude")
    }
    if len(set(columns["clip"])) < len(records):  # clips of several folders, named from different roots
        columns["clip"] = [record.key for record in records]
    for metric in asked:
        columns[metric] = [None if record.error is not None else record.scores.get(metric) for record in records]
    index = [getattr(record, "motion_index", None) for record in records]
    return columns | ({"motion_index": index} if any(i is not None for i in index) else {})


def _of_table(table: SourceTable, name: str, metrics: Sequence[str], clip_column: str | None) -> SourceScores:
    """The scores of the first row of every clip.

    Raises:
        SetupError: Two rows of a clip have different scores.
    """
    rows = clips_of(table, clip_column if clip_column in table.columns else None)
    wanted = {normalised(metric.rpartition(":")[2]) for metric in metrics}
    values: dict[str, FloatArray] = {}
    for column in table.columns:
        asked = normalised(column) in wanted
        if column not in rows.used and (asked or not called.describes_clip(column)):
            found = numbers(table, column, wanted=asked or column in METRICS)
            if found is not None:
                values[column] = found
    first: dict[str, int] = {}
    again: list[str] = []
    for row, clip in enumerate(rows.clips):
        if clip is None or first.setdefault(clip, row) == row:
            continue
        before = first[clip]
        if not all(np.array_equal(c[row], c[before], equal_nan=True) for c in values.values()):
            raise SetupError(
                f"{table.source}: rows {before + 1} and {row + 1} give {clip} different scores; keep one of them"
            )
        again.append(clip)
    nameless = rows.clips.count(None)
    notes = [f"{table.source}: {len(again)} rows are there twice: {listed(again, _SHOWN)}"] if again else []
    notes += [f"{table.source}: {nameless} rows name no clip and were left out"] if nameless else []
    kept = list(first.values())
    prompts, models = (tuple(of_rows[row] for row in kept) for of_rows in (rows.prompts, rows.models))
    values = {metric: column[kept] for metric, column in values.items()}
    told = (*table.notes, *rows.notes, *notes)
    return SourceScores(name, tuple(first), prompts, models, values, told, rows.of_models)


def _told_apart(sources: Sequence[SourceScores]) -> list[SourceScores]:
    """The sources with their name before metrics that another source gives for the same clips."""
    shared: list[set[str]] = [set() for _ in sources]
    for (m, one), (n, other) in combinations(enumerate(sources), 2):
        both = one.values.keys() & other.values.keys()
        if both and _match(one, other).pairs:
            shared[m] |= both
            shared[n] |= both
    repeats = Counter(source.name for source in sources)
    found = []
    for number, (source, metrics) in enumerate(zip(sources, shared, strict=True), 1):
        name = f"{source.name} {number}" if repeats[source.name] > 1 else source.name
        values = {f"{name}:{m}" if m in metrics else m: column for m, column in source.values.items()}
        found.append(replace(source, values=values))
    return found


def _match(one: SourceScores, other: SourceScores) -> NameMatch:
    return match_names(one.clips, other.clips, of_models=one.of_models, sides=(one.name, other.name))


def _joined(first: SourceScores, second: SourceScores) -> SourceScores:
    """Two sources side by side, or one below the other where they share no clip."""
    if first.of_models is not second.of_models:
        raise SetupError(f"{first.name} and {second.name}: one scores clips and the other models")
    match = _match(first, second)
    if not match.pairs and not first.values.keys() & second.values.keys():
        raise SetupError(f"{first.name} and {second.name} have no clip in common, and no metric")
    index = {b: a for a, b in match.pairs}
    added = [number for number in range(len(second.clips)) if number not in index]
    index |= {number: position for position, number in enumerate(added, len(first.clips))}
    place, none = [index[number] for number in range(len(second.clips))], [None] * len(added)
    prompts, models = [*first.prompts, *none], [*first.models, *none]
    for position, prompt, model in zip(place, second.prompts, second.models, strict=True):
        prompts[position], models[position] = prompts[position] or prompt, models[position] or model
    values: dict[str, FloatArray] = {}
    for scores, rows in ((first, list(range(len(first.clips)))), (second, place)):
        for metric, column in scores.values.items():
            values.setdefault(metric, np.full(len(prompts), np.nan))[rows] = column
    how = f"side by side ({len(match.pairs)} clips in common)" if match.pairs else "one below the other"
    notes = (*first.notes, *second.notes, f"Scores of {first.name} and {second.name} were put {how}")
    clips = (*first.clips, *(second.clips[number] for number in added))
    return SourceScores(first.name, clips, tuple(prompts), tuple(models), values, notes, first.of_models)


def _turned(scores: SourceScores, lower: Sequence[str]) -> SourceScores:
    """The same with the sign of some metrics turned, so that higher is better throughout."""
    turned = _named(scores, lower, "to turn; the scores have")
    values = {metric: -column if metric in turned else column for metric, column in scores.values.items()}
    note = (f"Lower is better, sign turned: {', '.join(lower)}",) if lower else ()
    return replace(scores, values=values, notes=(*scores.notes, *note))


def _named(scores: SourceScores, names: Sequence[str], what: str) -> list[str]:
    """The metrics of these names, in their order; a name without its source's prefix takes all that bear it."""
    found = {name: called.metrics_called(name, scores.values) for name in names}
    if unknown := [name for name, metrics in found.items() if not metrics]:
        raise SetupError(f"No metric {', '.join(unknown)} {what} {', '.join(scores.values)}")
    return list(dict.fromkeys(chain.from_iterable(found.values())))
