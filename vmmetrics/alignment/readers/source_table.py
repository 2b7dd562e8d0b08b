"""A table as it was read: its columns, cells as numbers or texts, roles that the user states, and each row's clip."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import DIMENSION, first_column, normalised
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray
from vmmetrics.utils.display.markup import listed

if TYPE_CHECKING:
    from vmmetrics.scoring.versions import Versions

DECIMAL_COMMA = re.compile(r"[+-]?\d+(?:,\d+)?")
_BLANKS = frozenset({"", "nan", "na", "n/a", "none", "null", "-", "–", "missing", "failed", "?"})
_LARGEST_NUMBER = 1e50  # its fourth power is finite; identifiers are smaller
_SHOWN = 12  # columns named in a message
_CELL = 30  # letters of a cell in a message


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Columns of one length.

    Attributes:
        source: Where it came from, for messages.
        columns: Name to cells.
        notes: What had to be assumed when reading.
        origins: Column to the file's own name of it, where a layout was rearranged; "" for a column that was made.
        used: The file's own columns that rearranging it used up, and as what.
        versions: Of a run: what its scores mean, by metric.
    """

    source: str
    columns: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    used: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    versions: Versions = field(default_factory=lambda: MappingProxyType({}))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def heading(self) -> str:
        """Its columns, for messages."""
        return listed([str(name) for name in self.columns], _SHOWN)

    @property
    def first_row(self) -> str:
        """Its first row as "; its first row: ...", cells cut short, for messages."""
        cells = [f"{name} {str(column[0])[:_CELL]!r}" for name, column in self.columns.items() if len(column)]
        return f"; its first row: {listed(cells, _SHOWN)}" if cells else ""

    def roles(self, by_column: Mapping[str, str]) -> dict[str, str]:
        """Return how the file's own columns were read, from how this table's were."""
        named: dict[str, list[str]] = {}
        for column, role in by_column.items():
            named.setdefault(self.origins.get(column, column), []).append(role)
        read = {name: [role for role in roles if not role.endswith("not read")] for name, roles in named.items()}
        return {**self.used, **{name: ", ".join(read[name]) or roles[0] for name, roles in named.items() if name}}


def to_number(cell: Any) -> float | None:
    """Return a cell as a number: NaN where it is empty or says that there is none, None where it is something else."""
    if cell is None:
        return math.nan
    if isinstance(cell, bool | np.bool_):
        return None
    if isinstance(cell, str):
        cell = cell.strip()
        if cell.casefold() in _BLANKS:
            return math.nan
    elif not isinstance(cell, int | float | Decimal | np.integer | np.floating):
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None


def is_blank(cell: Any) -> bool:
    """Return True if a cell is empty or a word for "nothing"."""
    value = to_number(cell)
    return value is not None and math.isnan(value)


def numbers(table: SourceTable, column: str, *, required: bool = False) -> FloatArray | None:
    """Return a column of numbers, or None where it is none.

    Args:
        table: The table.
        column: One of its columns.
        required: Whether the column must be one of numbers; one that is empty or mostly text is none otherwise.

    Returns:
        (N,) float64, NaN for empty cells and for what is not finite.

    Raises:
        SetupError: Some cells are no numbers, in a column that is wanted or has mostly numbers.
    """
    cells = table.columns[column]
    values: Sequence[float | None] | None = None
    kinds = set(map(type, cells))
    if kinds == {str} or kinds <= {int, float}:  # at once, if none is blank
        with contextlib.suppress(ValueError, OverflowError):
            values = np.array(cells, np.float64).tolist()
    if values is None:
        values = [to_number(cell) for cell in cells]
    bad = [row for row, value in enumerate(values) if value is None]
    good = sum(value is not None and not math.isnan(value) for value in values)
    if bad and (required or good > len(bad)):
        shown = str(cells[bad[0]])[:40]
        raise SetupError(
            f"{table.source}, row {bad[0] + 1}: expected a number in {column} but got {shown!r}{advice(cells[bad[0]])}"
        )
    if bad or (good == 0 and not required):
        return None
    array = np.array(values, np.float64)
    array[~np.isfinite(array)] = np.nan
    if (huge := np.flatnonzero(np.abs(array) > _LARGEST_NUMBER)).size:
        raise SetupError(f"{table.source}, row {huge[0] + 1}: {column} is {cells[huge[0]]}, too large to compute with")
    return array


def advice(cell: Any) -> str:
    """Return the cause why a cell is no number, and what to write, as text after a message; "" for any other text."""
    text = str(cell).strip()
    if DECIMAL_COMMA.fullmatch(text):
        return "; write a decimal comma as a point, or separate columns by ; or tabs"
    return "; write a column for each number of a list" if text.startswith("[") else ""


def texts(table: SourceTable, column: str | None) -> list[str | None]:
    """Return a column as text with single blanks; None for empty cells, and for all if there is no column."""
    if column is None:
        return [None] * len(table)
    return [_as_text(cell) for cell in table.columns[column]]


def _as_text(cell: Any) -> str | None:
    if cell is None or (isinstance(cell, float | np.floating) and math.isnan(float(cell))):
        return None
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        cell = int(cell)  # a column of whole numbers with one empty cell is read as floats by pandas
    return " ".join(str(cell).split()) or None


# Roles of columns that the user states: ``--map COLUMN=ROLE``.

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
    named = {name: role for name, role in roles.items() if by_rating or role != "rating"}
    names = {name: named.get(name, name) for name in kept}
    if twice := [name for name, times in Counter(names.values()).items() if times > 1]:
        raise SetupError(f"{table.source}: two columns are {twice[0]}: add --map {twice[0]}=ignore")
    columns: Mapping[str, Sequence[Any]] = {new: table.columns[name] for name, new in names.items()}
    origins = {new: table.origins.get(name, name) for name, new in names.items()}
    used = dict.fromkeys(by_role["ignore"], "not read")
    if people:
        raters = [{"rater": [person] * len(table), "rating": table.columns[person]} for person in people]
        columns = stacked(range(len(table)), [{**columns, **of} for of in raters])
        origins |= {"rater": "", "rating": ""}
        used |= {name: f"ratings of {name}" for name in people}
    return replace(table, columns=columns, origins={**table.origins, **origins}, used={**table.used, **used})


def stacked(rows: Sequence[int], views: Sequence[Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
    """Return columns with a row per view of each of these rows; views are columns of the same names."""
    return {name: [view[name][row] for row in rows for view in views] for name in views[0]}


# Clip, model, or prompt of a model that each row of a table is about.

_SIGNATURE = re.compile(r"[?&](?:x-amz-|x-goog-)?(?:signature|sig|expires|token)=", re.IGNORECASE)


class TableClips(NamedTuple):
    """The clip of each row of a table.

    Attributes:
        column: The column that names clips, or models.
        used: All columns that were looked at.
        clips: (N,) clips, None where a row names none.
        prompts: (N,) prompts, None where not known.
        models: (N,) models, None where not known.
        of_models: Whether the clips are models.
        notes: What was assumed.
        prompt: The column of prompts, if there is one.
        model: Of models.
        by_prompt: Whether there is no name of a clip and a row is a prompt of a model, called model/prompt.
    """

    column: str
    used: set[str | None]
    clips: list[str | None]
    prompts: list[str | None]
    models: list[str | None]
    of_models: bool
    notes: tuple[str, ...]
    prompt: str | None = None
    model: str | None = None
    by_prompt: bool = False

    @property
    def roles(self) -> dict[str, str]:
        """Columns that say which clip a row is about, and how each was read."""
        roles = {} if self.by_prompt else {self.column: "model" if self.of_models else "clip"}
        also = {"model": self.model, "prompt": self.prompt}
        return roles | {column: what for what, column in also.items() if column is not None}


def clips_of(table: SourceTable, asked: str | None) -> TableClips:
    """Tell the clips of a table; ``model/clip`` is a clip's name where several models have clips of one name.

    Args:
        table: The table.
        asked: The column that names clips; None tells it from names and cells.

    Raises:
        SetupError: No column names clips.
    """
    clip, of_models = _clip_column(table, asked)
    others = [name for name in table.columns if name != clip]
    prompt, model = first_column(others, called.PROMPT), first_column(others, called.MODEL)
    counts_rows = normalised(clip) == "id" and not called.is_text(table.columns[clip])
    by = clip if of_models else model if counts_rows else None
    rows_by = [name for name in texts(table, by) if name is not None]
    if asked is None and by is not None and prompt is not None and len(set(rows_by)) < len(rows_by):
        return _by_prompt(table, by, prompt)
    models = texts(table, model)
    names = [  # an address without its signature, which differs from row to row and is no part of the clip
        name.partition("?")[0] if name and called.is_clip_file(name) and _SIGNATURE.search(name) else name
        for name in texts(table, clip)
    ]
    notes: tuple[str, ...] = ()
    if any(times > 1 for times in Counter(name or "" for name, _ in set(zip(names, models, strict=True))).values()):
        names = under_models(names, models)
        notes = (f"Several models have clips of one name: clips are read as {model}/{clip}",)
    return TableClips(
        clip,
        {clip, prompt, model},
        names,
        texts(table, prompt),
        names if of_models else models,
        of_models,
        notes,
        prompt,
        model,
    )


def under_models(clips: Sequence[str | None], models: Sequence[str | None]) -> list[str | None]:
    """Return clips as ``model/clip``, where both are known."""
    return [f"{model}/{clip}" if clip and model else clip for clip, model in zip(clips, models, strict=True)]


def _by_prompt(table: SourceTable, model: str, prompt: str) -> TableClips:
    models, prompts = texts(table, model), texts(table, prompt)
    names = [f"{of}/{text}" if of and text else None for of, text in zip(models, prompts, strict=True)]
    notes = (f"No column names clips: each row is matched by its {model} and {prompt}",)
    return TableClips(prompt, {model, prompt}, names, prompts, models, False, notes, prompt, model, True)


def _clip_column(table: SourceTable, asked: str | None) -> tuple[str, bool]:
    """Return the column that names clips, and whether what it names are models."""
    if asked is not None:
        if asked not in table.columns:
            raise SetupError(f"{table.source}: no column {asked!r}; it has {table.heading}")
        return asked, normalised(asked) in called.MODEL
    named = [column for column in table.columns if normalised(column) in called.CLIP]
    if "annotation_id" in map(normalised, table.columns):  # then "id" is the number of a task
        named = [column for column in named if normalised(column) != "id"]
    files = [column for column, cells in table.columns.items() if cells and all(map(called.is_clip_file, cells))]
    match = first_column([c for c in named if called.is_text(table.columns[c])], called.CLIP)
    model = first_column(table.columns, (*called.MODEL, "models"))
    match = match or first_column(named, called.CLIP) or (files[0] if len(files) == 1 else None)
    if match is not None:
        return match, False
    if model is not None:
        return model, True
    if {"best", "worst"} <= set(map(normalised, table.columns)):
        raise SetupError(f"{table.source}: best-worst choices: write each as preferences, columns left, right, outcome")
    raise SetupError(
        f"{table.source}: expected a column that names clips (clip, video, file, path, ...) but got {table.heading}"
        f"{table.first_row}; name it with --clip-column (clip_column in Python)"
    )


# Rows of JSON.

Rows = tuple[Any, str]
"""Rows, or columns, and a note of what was read; "" where nothing had to be assumed."""


def is_rows(value: Any) -> bool:
    """Return True for a list of objects that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)
