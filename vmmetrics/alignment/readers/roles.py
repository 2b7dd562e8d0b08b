"""Roles of columns that the user states: ``--map COLUMN=ROLE``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vmmetrics.alignment.readers.columns import DIMENSION, first_column
from vmmetrics.alignment.readers.source_table import SourceTable
from vmmetrics.errors import SetupError

ROLES = ("clip", "rater", "rating", "dimension", "model", "prompt", "left", "right", "outcome", "ignore")
_SEVERAL = frozenset({"rater", "rating", "ignore"})  # of which a table may have several columns


def with_roles(table: SourceTable, roles: Mapping[str, str]) -> SourceTable:
    """Return the table with its columns in the roles stated; other columns are as they were.

    Several columns of the role ``rater`` hold a person's ratings each, and become a row per rating. Columns of the role
    ``rating`` keep their names, which are their dimensions, unless a column holds the dimension.

    Raises:
        SetupError: A column or a role is unknown, or roles exclude one another.
    """
    by_role: defaultdict[str, list[str]] = defaultdict(list)
    for column, role in roles.items():
        if column not in table.columns:
            raise SetupError(f"{table.source}: no column {column!r} (--map); it has {table.heading}")
        if role not in ROLES:
            raise SetupError(f"--map {column}={role}: expected one of {', '.join(ROLES)}")
        by_role[role].append(column)
    for one, other in (("left", "right"), ("right", "left")):
        if by_role[one] and not by_role[other]:
            raise SetupError(f"--map {by_role[one][0]}={one}: name the column of the {other} clip too")
    several = [role for role, columns in by_role.items() if len(columns) > 1 and role not in _SEVERAL]
    if several:
        raise SetupError(f"--map: expected one column as {several[0]} but got {', '.join(by_role[several[0]])}")
    people = by_role["rater"] if len(by_role["rater"]) > 1 else []
    kept = [name for name in table.columns if roles.get(name) != "ignore" and name not in people]
    by_rating = bool(by_role["dimension"] or first_column(kept, DIMENSION))
    names = {name: _renamed(name, roles.get(name), by_rating=by_rating) for name in kept}
    if twice := [name for name, times in Counter(names.values()).items() if times > 1]:
        raise SetupError(f"{table.source}: two columns are {twice[0]}: add --map {twice[0]}=ignore")
    columns = {new: table.columns[name] for name, new in names.items()}
    origins = {new: table.origins.get(name, name) for name, new in names.items()}
    used = dict.fromkeys(by_role["ignore"], "not read")
    if people:
        columns = _unfolded(table, columns, people)
        origins |= {"rater": "", "rating": ""}
        used |= {name: f"ratings of {name}" for name in people}
    return replace(table, columns=columns, origins={**table.origins, **origins}, used={**table.used, **used})


def _renamed(name: str, role: str | None, *, by_rating: bool) -> str:
    return name if role is None or (role == "rating" and not by_rating) else role


def _unfolded(
    table: SourceTable, columns: Mapping[str, Sequence[Any]], people: Sequence[str]
) -> dict[str, Sequence[Any]]:
    """Return a row per person of each row."""
    rows: dict[str, Sequence[Any]] = {name: [cell for cell in cells for _ in people] for name, cells in columns.items()}
    ratings = [table.columns[person][row] for row in range(len(table)) for person in people]
    return {**rows, "rater": [*people] * len(table), "rating": ratings}
