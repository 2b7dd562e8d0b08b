"""Scores of clips that another command found, added to a run directory as a column of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.scoring.directory import RunDirectory, check_directory
from vmmetrics.scoring.export import export
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import read_run_json, records_by_name
from vmmetrics.utils.storage import provenance


def check_column(path: Path, name: str, description: Mapping[str, Any], keys: Collection[str]) -> None:
    """Refuse a directory that could not take a column, before what takes long.

    Args:
        path: Run directory.
        name: Of the column.
        description: As for :func:`add_column`.
        keys: Of the clips that will have a score.

    Raises:
        SetupError: It is not a run directory, cannot be written, has such a column from another source, or none of the
            clips.
    """
    check_directory(path, read_run_json(path)["configuration"], {name: description})
    if not any(record.key in keys for record in records_by_name(path)):
        raise SetupError(f"{path} has none of these clips; name the clips by the paths that were scored, or the run")


def add_column(
    path: Path,
    name: str,
    scores: Mapping[str, float | str],
    contents: Mapping[str, str],
    description: Mapping[str, Any],
) -> tuple[int, int]:
    """Add a score to the clips of a run directory, and make its tables again.

    Args:
        path: Run directory.
        name: Of the score: lower-case letters, digits and ``_``.
        scores: By :attr:`~vmmetrics.scoring.record.Record.key` of a clip its score, or the reason why it has none.
        contents: By the same key SHA-256 of what the score is of; a clip of the run with other content takes none.
        description: Title, range and source, as :meth:`vmmetrics.metrics.registry.Metric.describe` gives them: another
            description of the same name is refused.

    Returns:
        Clips of the run that have the score, or a reason; and those that do not, as they have other content or are
        being scored. Those that failed take none, and are in neither.

    Raises:
        SetupError: As :func:`check_column`.
    """
    configuration = read_run_json(path)["configuration"]
    scored = [record for record in records_by_name(path) if record.key in scores and record.error is None]
    records = [record for record in scored if record.sha256 == contents.get(record.key)]
    if all(_with(record, name, scores[record.key]) is None for record in records):
        return len(records), len(scored) - len(records)
    session = {
        "metrics": [name], "clips": len(records), **provenance.invocation(), "versions": provenance.recorded_versions(),
        "machine": provenance.machine(),
    }  # fmt: skip
    taken = added = 0
    with RunDirectory(path, configuration, session, {name: description}) as directory:
        claimed = [record.key for record in scored if directory.claim(record.key)]
        directory.refresh()  # nobody scores the claimed clips from here on
        for key in claimed:
            record = directory.newest(key)
            if record is None or record.error is not None or record.sha256 != contents.get(key):
                continue
            taken += 1
            new = _with(record, name, scores[key])
            if new is not None:
                directory.append(new, {})
                added += 1
        directory.begin(taken - added)
        directory.commit()
        directory.end()
    export(path)
    return taken, len(scored) - taken


def _with(record: Record, name: str, score: float | str) -> Record | None:
    """Return a record of this score alone, which joins the clip's others; None if the clip has it already."""
    scores = {} if isinstance(score, str) else {name: score}
    missing = {name: score} if isinstance(score, str) else {}
    if (record.scores.get(name), record.missing.get(name)) == (scores.get(name), missing.get(name)):
        return None
    return replace(
        record, scores=scores, missing=missing, not_applicable=(), errors={}, seconds=0.0, score_version={},
        ended=provenance.now(),
    )  # fmt: skip
