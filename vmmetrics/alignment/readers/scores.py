"""Scores of clips from run directories and tables, several of them side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.names import NameMatch, match_names
from vmmetrics.alignment.readers.score_files import (
    ScoreFile,
    read_score_file,
    read_score_files,
    read_score_folder,
)
from vmmetrics.alignment.readers.score_tables import SourceScores, scores_of_table
from vmmetrics.alignment.readers.source_table import SourceTable
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray
from vmmetrics.utils.display.markup import listed

_NAMED = re.compile(r"^(?P<name>[^=/\\]+)=(?P<path>.+)$", re.DOTALL)
_SHOWN = 5  # notes of how sources were put together
_PUT = "Scores of "  # how each of them begins
_TABLES = ("scores.csv", "scores.parquet")  # of a run


def read_scores(
    sources: Any,
    *,
    metrics: Sequence[str] = (),
    clip_column: str | None = None,
) -> SourceScores:
    """Read scores from one or several sources and put them side by side.

    Args:
        sources: A run directory, a table (file, mapping, rows, data frame, what :func:`vmmetrics.score` gave), or a
            list of these; ``NAME=PATH`` names a source.
        metrics: Take these alone; empty takes every column of numbers that does not describe the clip.
        clip_column: Which column names the clip.

    Raises:
        SetupError: A source cannot be read, holds no scores, or names a clip twice with different scores.
    """
    items = as_sources(sources)
    paths = [Path(source) for source in items if isinstance(source, str | Path)]
    if len(paths) == len(items) and (together := read_score_files(paths)) is not None:
        parts = [_of_files(together, f"{len(paths)} files", together.form.partition(", ")[2], metrics)]
    else:
        parts = [_read(source, f"scores {n}", metrics, clip_column) for n, source in enumerate(items, 1)]
    joined, *others = _prefixed_where_alike(parts)
    how = Counter[str]()
    for other in others:
        joined = _joined(joined, other, how)
    if metrics:
        selected = _named(joined, metrics, "in the scores; they have")
        joined = replace(joined, values={metric: joined.values[metric] for metric in selected})
    if not joined.values:
        read = (f"{column} ({role})" for roles in joined.columns.values() for column, role in roles.items())
        raise SetupError(
            f"{joined.name}: no column holds scores: {listed(list(read), 12)}; "
            "use --metrics NAME to read a column anyway"
        )
    if len(others) > _SHOWN:
        note = f"{len(parts)} sources were put together: {', '.join(f'{count} {name}' for name, count in how.items())}"
        joined = replace(joined, notes=(*(n for n in joined.notes if not n.startswith(_PUT)), note))
    return joined


def as_sources(sources: Any) -> list[Any]:
    """Return the sources as a list; rows of one table are one source."""
    if not isinstance(sources, list | tuple):
        return [sources]
    rows = sources and all(isinstance(source, Mapping) for source in sources)
    if rows and any(isinstance(value, str) for value in sources[0].values()):
        return [sources]
    if not sources:
        raise SetupError("Expected at least one source of scores")
    return list(sources)


def is_run(path: Path) -> bool:
    """Return True if a path is a run directory."""
    return (path / "run.json").is_file()


def _read(source: Any, name: str, metrics: Sequence[str], clip_column: str | None) -> SourceScores:
    if isinstance(source, str | Path):
        match, path = _NAMED.match(str(source)), Path(source)
        if match and not path.exists():
            name, path = match["name"], Path(match["path"])
        else:
            name = path.resolve().name if path.is_dir() else path.stem
        return _of_path(path, name, metrics, clip_column)
    if hasattr(source, "records") and hasattr(source, "rows"):
        table = SourceTable(name, _record_columns(source.records))
    else:
        table = read_table(source, name)
    return scores_of_table(table, name, metrics, clip_column)


def _of_path(path: Path, name: str, metrics: Sequence[str], clip_column: str | None) -> SourceScores:
    """Return the scores of a run directory, of a folder or file that another program wrote, or of a table."""
    if path.name == "scores.jsonl" and is_run(path.parent):
        path = path.parent
    if not path.exists():
        raise SetupError(f"{path}: there is no such file or run directory")
    if is_run(path):
        run, scores = path, scores_of_table(_of_run(path), name, metrics)
    elif (read := read_score_folder(path) if path.is_dir() else read_score_file(path)) is not None:
        return _of_files(read, str(path), name, metrics)
    else:
        run, scores = path.parent, scores_of_table(read_table(path, name), name, metrics, clip_column)
        if path.name not in _TABLES or not is_run(run):
            return scores
    from vmmetrics.scoring.records import read_run_json

    lower = set(read_run_json(run).get("lower_is_better", ()))  # a table of a run does not say of which
    return turned(scores, [metric for metric in scores.values if metric in lower])


def _of_files(read: ScoreFile, source: str, name: str, metrics: Sequence[str]) -> SourceScores:
    """Return the scores of files that another program wrote; a metric without a name is called after its file."""
    read.entries = [entry._replace(metric=entry.metric or name) for entry in read.entries]
    scores = scores_of_table(read.table(source), name, metrics)
    passed = {column: role for column, role in scores.columns[name].items() if role.startswith("passed over")}
    scores = replace(scores, columns={name: {**read.roles, **passed}})
    return turned(scores, [metric for metric in scores.values if metric in read.lower])


def _of_run(path: Path) -> SourceTable:
    """Return the newest records of a run directory."""
    from vmmetrics.scoring.records import read_records
    from vmmetrics.scoring.versions import differing, versions_of

    warnings: list[str] = []
    records = read_records(path, warnings)
    if not records:
        raise SetupError(f"{path} has no clips yet")
    failed = sum(record.failed for record in records)
    notes = [f"{path.name}: {failed} of {len(records)} clips failed, in whole or in part"] if failed else []
    versions = versions_of(records)
    notes += [f"{path.name}: scores mean different things: {text}" for text in differing([("here", versions)]).values()]
    notes += [f"{path.name}: {text}" for text in warnings]
    return SourceTable(str(path), _record_columns(records), tuple(notes), versions=versions)


def _record_columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Return records as columns; a metric missing for every clip keeps its column."""
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


def _prefixed_where_alike(sources: Sequence[SourceScores]) -> list[SourceScores]:
    """Return the sources with their name before metrics that another source gives for the same clips."""
    shared: list[set[str]] = [set() for _ in sources]
    for (m, one), (n, other) in combinations(enumerate(sources), 2):
        both = one.values.keys() & other.values.keys()
        if both and _match(one, other).pairs:
            shared[m] |= both
            shared[n] |= both
    repeats = Counter(source.name for source in sources)
    renamed = []
    for number, (source, metrics) in enumerate(zip(sources, shared, strict=True), 1):
        name = f"{source.name} {number}" if repeats[source.name] > 1 else source.name
        called_now = {m: f"{name}:{m}" if m in metrics else m for m in source.values}
        values = {called_now[m]: column for m, column in source.values.items()}
        lower = frozenset(called_now[m] for m in source.lower)
        columns = {name: next(iter(source.columns.values()), {})}
        renamed.append(replace(source, values=values, lower=lower, columns=columns))
    return renamed


def _match(one: SourceScores, other: SourceScores) -> NameMatch:
    """Match the clips of two sources; where both name all models, clips of other models do not match.

    Sources without a common model may name it differently: metrics of the same clips are then matched by clip names.
    """
    sides = [list(range(len(scores.clips))) for scores in (one, other)]
    if not one.of_models and all(one.models) and all(other.models):
        plain = [[normalised(model or "") for model in scores.models] for scores in (one, other)]
        shared = set(plain[0]) & set(plain[1])
        if not shared and not one.values.keys() & other.values.keys():
            shared = set(plain[0]) | set(plain[1])
        sides = [[row for row in rows if models[row] in shared] for rows, models in zip(sides, plain, strict=True)]
    names = ([scores.clips[row] for row in rows] for scores, rows in zip((one, other), sides, strict=True))
    match = match_names(*names, of_models=one.of_models, sides=(one.name, other.name))
    return NameMatch(tuple((sides[0][a], sides[1][b]) for a, b in match.pairs), match.how)


def _joined(first: SourceScores, second: SourceScores, how: Counter[str]) -> SourceScores:
    """Join two sources by column, or by row if they share no clip; count how names matched in ``how``."""
    from vmmetrics.scoring.versions import differing

    if first.of_models is not second.of_models:
        raise SetupError(f"{first.name} and {second.name}: one scores clips and the other models")
    match = _match(first, second)
    if not match.pairs and not first.values.keys() & second.values.keys():
        raise SetupError(f"{first.name} and {second.name} have no clip in common, and no metric")
    index = {b: a for a, b in match.pairs}
    added = [number for number in range(len(second.clips)) if number not in index]
    index |= {number: position for position, number in enumerate(added, len(first.clips))}
    positions, none = [index[number] for number in range(len(second.clips))], [None] * len(added)
    prompts, models = [*first.prompts, *none], [*first.models, *none]
    for position, prompt, model in zip(positions, second.prompts, second.models, strict=True):
        prompts[position], models[position] = prompts[position] or prompt, models[position] or model
    sides = [(first, list(range(len(first.clips)))), (second, positions)]
    values: dict[str, FloatArray] = {}
    amplitude: FloatArray | None = None
    for scores, rows in sides:
        for metric, column in scores.values.items():
            values.setdefault(metric, np.full(len(prompts), np.nan))[rows] = column
        if scores.amplitude is not None:
            amplitude = np.full(len(prompts), np.nan) if amplitude is None else amplitude
            amplitude[rows] = np.where(np.isnan(amplitude[rows]), scores.amplitude, amplitude[rows])
    put = "side by side" if match.pairs else "one below the other"
    how[put] += 1
    common = f" ({len(match.pairs)} clips in common)" if match.pairs else ""
    versions = (*first.versions, *second.versions)
    mixed = [] if match.pairs else [f"Scores mean different things: {text}" for text in differing(versions).values()]
    notes = (*first.notes, *second.notes, *mixed, f"{_PUT}{first.name} and {second.name} were put {put}{common}")
    clips = (*first.clips, *(second.clips[number] for number in added))
    columns, lower = {**first.columns, **second.columns}, first.lower | second.lower
    return SourceScores(
        first.name, clips, tuple(prompts), tuple(models), values, notes, first.of_models, columns, lower, versions,
        amplitude,
    )  # fmt: skip


def turned(scores: SourceScores, lower: Sequence[str]) -> SourceScores:
    """Return the scores with the sign of some metrics turned, so that higher is better; each is turned once.

    Raises:
        SetupError: A metric is not there.
    """
    names = set(_named(scores, lower, "to turn; the scores have")) - scores.lower
    values = {metric: -column if metric in names else column for metric, column in scores.values.items()}
    note = (f"Lower is better, sign turned: {', '.join(m for m in scores.values if m in names)}",) if names else ()
    return replace(scores, values=values, notes=(*scores.notes, *note), lower=scores.lower | names)


def _named(scores: SourceScores, names: Sequence[str], what: str) -> list[str]:
    """Return the metrics of these names, in their order; a name without its source's prefix takes all that bear it."""
    by_name = {name: called.metrics_called(name, scores.values) for name in names}
    if unknown := [name for name, metrics in by_name.items() if not metrics]:
        raise SetupError(f"No metric {', '.join(unknown)} {what} {', '.join(scores.values)}")
    return list(dict.fromkeys(chain.from_iterable(by_name.values())))
