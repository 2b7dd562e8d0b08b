"""Groups of clips: a study split or filtered by the values of a column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.formats import rearranged
from vmmetrics.alignment.readers.names import match_names
from vmmetrics.alignment.readers.score_files import read_score_file
from vmmetrics.alignment.readers.source_table import SourceTable, texts
from vmmetrics.alignment.readers.table_clips import clips_of
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.alignment.study import Study
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import listed

MOST_GROUPS = 50
"""Maximum values of a column to group by."""


def read_groups(study: Study, sources: Sequence[Any], column: str, clip_column: str | None = None) -> tuple[str, ...]:
    """Return the value of a column for each clip of a study; ``model`` is always there.

    Args:
        study: The study.
        sources: The tables that it was read from; the first that has the column counts. Runs have none of their own.
        column: Name of the column, upper or lower case.
        clip_column: Which column names the clip, where its name does not say so.

    Returns:
        (N,) values, "" where a clip has none.

    Raises:
        SetupError: No table has the column, or it gives one clip several values.
    """
    seen: list[str] = []
    for source in sources:
        path = Path(str(source).partition("=")[2] or str(source)) if isinstance(source, str | Path) else None
        if path is not None and (path.is_dir() or read_score_file(path) is not None):
            continue
        table = rearranged(read_table(path or source, "table"), study.clips)
        names = ((name, {normalised(name), normalised(table.origins.get(name, name))}) for name in table.columns)
        named = next((name for name, called in names if normalised(column) in called), None)
        if named is not None:
            return _values(study, table, named, clip_column)
        seen += table.columns
    if normalised(column) == "model":
        return study.models
    raise SetupError(f"No table has a column {column!r}; there are {listed(list(dict.fromkeys(seen)), MOST_GROUPS)}")


def _values(study: Study, table: SourceTable, column: str, clip_column: str | None) -> tuple[str, ...]:
    clips = clips_of(table, clip_column if clip_column in table.columns else None).clips
    by_clip: dict[str, str] = {}
    for clip, value in zip(clips, texts(table, column), strict=True):
        if clip is None or value is None:
            continue
        if by_clip.setdefault(clip, value) != value:
            raise SetupError(
                f"{table.source}: {column} of {clip} is {by_clip[clip]!r} in one row and {value!r} in another"
            )
    names = list(by_clip)
    values = [""] * len(study.clips)
    for mine, theirs in match_names(study.clips, names, sides=("study", table.source)).pairs:
        values[mine] = by_clip[names[theirs]]
    return tuple(values)


def chosen_clips(
    study: Study, sources: Sequence[Any], conditions: Sequence[str], clip_column: str | None = None
) -> Study:
    """Return the study's clips of which each ``COLUMN=VALUE`` holds; of several values of a column one is enough.

    Raises:
        SetupError: Not of that form, no such column, or no clip is left.
    """
    values: dict[str, set[str]] = {}
    for text in conditions:
        column, equals, value = text.partition("=")
        if not equals or not column.strip():
            raise SetupError(f"Expected COLUMN=VALUE but got {text!r}")
        values.setdefault(column.strip(), set()).add(value.strip())
    for column, those in values.items():
        groups = read_groups(study, sources, column, clip_column)
        keep = np.array([group in those for group in groups], bool)
        if not keep.any():
            raise SetupError(f"No clip has {column} {' or '.join(sorted(those))}; there are {listed_values(groups)}")
        study = study.keep(keep, f"only {column} {' or '.join(sorted(those))}: {int(keep.sum())} of {len(keep)} clips")
    return study


def by_group(study: Study, groups: Sequence[str], column: str) -> dict[str, Study]:
    """Return one study per value of a column, in the order of the values; clips without a value are in none.

    Raises:
        SetupError: There are over 50 values, or none.
    """
    names = sorted(set(groups) - {""})
    if not 0 < len(names) <= MOST_GROUPS:
        raise SetupError(f"Expected 1 to {MOST_GROUPS} values of {column} to report by but got {len(names)}")
    return {name: study.keep(np.array([group == name for group in groups]), f"{column} {name}") for name in names}


def listed_values(groups: Sequence[str]) -> str:
    """Return the values of a column, for messages."""
    return listed(sorted(set(groups) - {""}), MOST_GROUPS) or "none"
