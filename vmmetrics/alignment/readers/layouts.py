"""Table layouts of other tools, rearranged to a row per clip and person by their columns."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.forms import from_columns_of_clips
from vmmetrics.alignment.readers.mturk import from_mturk
from vmmetrics.alignment.readers.tables import SourceTable, numbers
from vmmetrics.errors import SetupError


def rearranged(table: SourceTable, clips: Collection[str] = ()) -> SourceTable:
    """Return the table with a row per clip and person, if it has one of the layouts below; else as it is.

    Args:
        table: The table.
        clips: Clips that are known, whose names may stand in its header.
    """
    for layout in LAYOUTS:
        if (matched := layout(table, clips)) is not None:
            return matched
    return table


def _from_qualtrics(table: SourceTable, clips: Collection[str]) -> SourceTable | None:
    """Return Qualtrics' responses under their questions: a second header has these, a third one identifiers."""
    heads = {name: cells[:2] for name, cells in table.columns.items()}
    if not all(len(cells) == 2 and str(cells[1]).startswith('{"ImportId"') for cells in heads.values()):
        return None
    names = {name: str(cells[0]) for name, cells in heads.items()}
    columns = {text: table.columns[name][2:] for name, text in names.items()}
    origins = {text: name for name, text in names.items()}
    notes = (*table.notes, "Qualtrics: columns are called by their questions")
    plain = replace(table, columns=columns, origins=origins, notes=notes)
    return from_columns_of_clips(plain, clips) or plain


def _from_pick_a_pic(table: SourceTable, _: Collection[str]) -> SourceTable | None:
    """Return the preferences of Pick-a-Pic: ``label_0`` and ``label_1`` are 1 and 0, or 0.5 each."""
    names = {f"{what}_{side}" for what in ("video", "label") for side in (0, 1)}
    if not names <= set(table.columns):
        return None
    roles = {"video_0": "left", "video_1": "right"}
    labels = zip(*(numbers(table, f"label_{side}", required=True) for side in (0, 1)), strict=True)
    outcome = ["tie" if one == other else "left" if one > other else "right" for one, other in labels]
    kept = {roles.get(name, name): cells for name, cells in table.columns.items() if not name.startswith("label_")}
    origins = {new: name for name, new in roles.items()} | {"outcome": "label_0"}
    used = {"label_1": "not read", "has_label": "not read"}
    kept.pop("has_label", None)
    return replace(table, columns={**kept, "outcome": outcome}, origins=origins, used=used)


def _refuse_best_worst(table: SourceTable, _: Collection[str]) -> None:
    names = set(map(normalised, table.columns))
    if {"best", "worst"} <= names:
        raise SetupError(f"{table.source}: best-worst choices: write each as preferences, columns left, right, outcome")


LAYOUTS: tuple[Callable[[SourceTable, Collection[str]], SourceTable | None], ...] = (
    _refuse_best_worst,
    from_mturk,
    _from_qualtrics,
    _from_pick_a_pic,
    from_columns_of_clips,
)
"""Layouts in the order tried; each returns None for other content."""
