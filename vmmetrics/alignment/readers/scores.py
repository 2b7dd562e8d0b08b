"""Scores of clips from run directories and tables, several of them side by side."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.names import NameMatch, match_names
from vmmetrics.alignment.readers.ratings import clip_and_kind, clip_names
from vmmetrics.alignment.readers.tables import SourceTable, numbers, read_table, texts
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
        joined = _selected(joined, metrics)
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
    lower: set[str] = set()
    if isinstance(source, str | Path):
        name, path = _split(str(source))
        if path.name == "scores.jsonl" and is_run(path.parent):
            path = path.parent
        if path.is_dir() or not path.exists():
            table, lower = _of_run(path), _lower_of(path)
            clip_column = None
        else:
            table = read_table(path, name)
            lower = _lower_of(path.parent) if path.name in _TABLES and is_run(path.parent) else set()
    elif hasattr(source, "records") and hasattr(source, "rows"):
        table = SourceTable(name, _record_columns(source.records))
    else:
        table = read_table(source, name)
    scores = _of_table(table, name, metrics, clip_column)
    return _turned(scores, [metric for metric in scores.values if metric in lower])


def _split(source: str) -> tuple[str, Path]:
    """The name and the path of a source."""
    match = _NAMED.match(source)
    if match and not Path(source).exists():
        return match["name"], Path(match["path"])
    path = Path(source)
    return (path.resolve().name if path.is_dir() else path.stem), path


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


def _lower_of(run: Path) -> set[str]:
    """Metrics of a run of which lower is better."""
    from vmmetrics.scoring.directory import read_run_json

    return set(read_run_json(run).get("lower_is_better", ()))


def _record_columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Records as columns; a metric that every clip lacks is a column too, so that it is not passed over in silence."""
    asked = dict.fromkeys(m for record in records for m in (*record.scores, *record.missing, *record.errors))
    of_clip = {name: [getattr(record, name) for record in records] for name in ("clip", "model", "prompt", "amplitude")}
    if len(set(of_clip["clip"])) < len(records):  # clips of several folders, named from different roots
        of_clip["clip"] = [record.key for record in records]
    scores = {
        metric: [None if record.error is not None else record.scores.get(metric) for record in records]
        for metric in asked
    }
    index = [getattr(record, "motion_index", None) for record in records]
    return {**of_clip, **scores, **({"motion_index": index} if any(i is not None for i in index) else {})}


def _of_table(table: SourceTable, name: str, metrics: Sequence[str], clip_column: str | None) -> SourceScores:
    clip, of_models = clip_and_kind(table, clip_column if clip_column in table.columns else None)
    names, models, notes = clip_names(table, clip)
    others = [column for column in table.columns if column != clip]
    prompt, model = first_column(others, called.PROMPT), first_column(others, called.MODEL)
    values = _values(table, {clip, prompt, model}, metrics)
    rows, told = _distinct(table, names, values)
    kept = tuple(names[row] or "" for row in rows)
    prompts = texts(table, prompt)
    return SourceScores(
        name,
        kept,
        tuple(prompts[row] for row in rows),
        kept if of_models else tuple(models[row] for row in rows),
        {metric: column[rows] for metric, column in values.items()},
        (*table.notes, *notes, *told),
        of_models,
    )


def _values(table: SourceTable, used: set[str | None], metrics: Sequence[str]) -> dict[str, FloatArray]:
    wanted = {normalised(metric.rpartition(":")[2]) for metric in metrics}
    values = {}
    for column in table.columns:
        name = normalised(column)
        if column in used or (called.describes_clip(column) and name not in wanted):
            continue
        found = numbers(table, column, wanted=name in wanted or column in METRICS)
        if found is not None:
            values[column] = found
    return values


def _distinct(
    table: SourceTable, names: Sequence[str | None], values: Mapping[str, FloatArray]
) -> tuple[list[int], list[str]]:
    """The first row of every clip, and notes about the others.

    Raises:
        SetupError: Two rows of a clip have different scores.
    """
    first: dict[str, int] = {}
    again: list[str] = []
    nameless = 0
    for row, name in enumerate(names):
        if name is None:
            nameless += 1
        elif first.setdefault(name, row) != row:
            before = first[name]
            if not all(np.array_equal(c[row], c[before], equal_nan=True) for c in values.values()):
                raise SetupError(
                    f"{table.source}: rows {before + 1} and {row + 1} give {name} different scores; keep one of them"
                )
            again.append(name)
    notes = [f"{table.source}: {len(again)} rows are there twice: {listed(again, _SHOWN)}"] if again else []
    notes += [f"{table.source}: {nameless} rows name no clip and were left out"] if nameless else []
    return list(first.values()), notes


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
    index |= {number: len(first.clips) + position for position, number in enumerate(added)}
    place, total = [index[number] for number in range(len(second.clips))], len(first.clips) + len(added)
    values: dict[str, FloatArray] = {}
    for scores, rows in ((first, list(range(len(first.clips)))), (second, place)):
        for metric, column in scores.values.items():
            values.setdefault(metric, np.full(total, np.nan))[rows] = column
    how = f"side by side ({len(match.pairs)} clips in common)" if match.pairs else "one below the other"
    return SourceScores(
        first.name,
        (*first.clips, *(second.clips[number] for number in added)),
        _filled(first.prompts, second.prompts, place, total),
        _filled(first.models, second.models, place, total),
        values,
        (*first.notes, *second.notes, f"Scores of {first.name} and {second.name} were put {how}"),
        first.of_models,
    )


def _filled(
    first: Sequence[str | None], second: Sequence[str | None], place: Sequence[int], total: int
) -> tuple[str | None, ...]:
    found = [*first, *[None] * (total - len(first))]
    for value, position in zip(second, place, strict=True):
        found[position] = found[position] or value
    return tuple(found)


def _selected(scores: SourceScores, metrics: Sequence[str]) -> SourceScores:
    """Only some metrics, in the order asked for; a name without its source's prefix takes all that bear it."""
    known: defaultdict[str, list[str]] = defaultdict(list)
    for metric in scores.values:
        for name in {normalised(metric), normalised(metric.rpartition(":")[2])}:
            known[name].append(metric)
    unknown = [metric for metric in metrics if normalised(metric) not in known]
    if unknown:
        raise SetupError(f"No metric {', '.join(unknown)} in the scores; they have {', '.join(scores.values)}")
    kept = dict.fromkeys(metric for wanted in metrics for metric in known[normalised(wanted)])
    return replace(scores, values={metric: scores.values[metric] for metric in kept})


def _turned(scores: SourceScores, lower: Sequence[str]) -> SourceScores:
    """The same with the sign of some metrics turned, so that higher is better throughout."""
    counts = Counter({normalised(name): 0 for name in lower})
    values = dict(scores.values)
    for metric, column in scores.values.items():
        for name in {normalised(metric), normalised(metric.rpartition(":")[2])} & counts.keys():
            values[metric] = -column
            counts[name] += 1
    unknown = [name for name in lower if not counts[normalised(name)]]
    if unknown:
        raise SetupError(f"No metric {', '.join(unknown)} to turn; the scores have {', '.join(scores.values)}")
    note = (f"Lower is better, sign turned: {', '.join(lower)}",) if lower else ()
    return replace(scores, values=values, notes=(*scores.notes, *note))
