"""Prompt lists and metadata on disk, and the paths of the shipped library."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import Action, Metadata, Place, PromptEntry, SubjectClass, SubjectEntry, Tags
from vmmetrics.utils.schema import check, plain
from vmmetrics.utils.storage.atomic import write_text
from vmmetrics.utils.tables import located_rows
from vmmetrics.utils.weights.manifest import shipped_folder, shipped_list

LARGEST = 64 * 2**20
"""Largest list or table read, bytes; a hundred thousand entries take about this."""

_FILES: Final = {"classes": SubjectClass, "subjects": SubjectEntry, "places": Place, "actions": Action}


def read_entries(name: str | os.PathLike[str]) -> list[PromptEntry]:
    """Read a prompt list: ours, candidates, or VMBench's own (from the user's copy).

    Args:
        name: ``"library"``, ``"mini"``, or a path: ``.json`` holds an array of objects, ``.jsonl`` one object a line.

    Raises:
        SetupError: The file cannot be read, or an entry has no prompt or a field that cannot be.
    """
    path = shipped_list(name)
    rows = read_rows(path)
    return [_entry(row, number, path) for number, row in enumerate(rows, start=1)]


def write_entries(path: Path, entries: Iterable[PromptEntry]) -> None:
    """Write a prompt list atomically: an array with one entry a line for ``.json``, else JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, map(row_of, entries))


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write objects atomically: an array with one a line for ``.json``, else JSON Lines."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    text = "[\n" + ",\n".join(lines) + "\n]\n" if path.suffix.lower() == ".json" else "".join(f"{x}\n" for x in lines)
    write_text(path, text)  # half a pair of UTF-16 is an escape in JSON too


def row_of(entry: PromptEntry) -> dict[str, Any]:
    """Return the entry as a JSON object: unknown fields are left out, except VMBench's six."""
    always = ("index", "prompt", "subject", "subject_noun", "place", "action")
    row = {key: value for key, value in plain(entry).items() if key in always or value}
    if entry.tags is not None:
        row["tags"] = {name: value for name, value in row["tags"].items() if value != "unstated"}
        if entry.tags.contrast == "none":
            del row["tags"]["contrast"]
    return row


def read_metadata(folder: Path | None = None) -> Metadata:
    """Read a folder of metadata; missing files count as empty.

    Args:
        folder: The folder; None reads the shipped one.

    Raises:
        SetupError: No table is there, or a line is invalid.
    """
    home = shipped_folder("prompts") / "metadata" if folder is None else folder
    if not any((home / f"{name}.jsonl").is_file() for name in _FILES):
        raise SetupError(f"{home}: expected classes.jsonl, subjects.jsonl, places.jsonl or actions.jsonl there")
    return Metadata(**{name: _read_table(home / f"{name}.jsonl", kind) for name, kind in _FILES.items()})


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write the non-empty tables of a folder, each atomically; default values are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, kind in _FILES.items():
        defaults = {part.name: part.default for part in fields(kind)}
        rows = [{key: v for key, v in asdict(item).items() if v != defaults[key]} for item in getattr(metadata, name)]
        if rows:
            write_rows(folder / f"{name}.jsonl", rows)


def read_rows(path: Path) -> list[Mapping[str, Any]]:
    """Read the objects of a ``.json`` array or of JSON Lines.

    Raises:
        SetupError: The file cannot be read, is too large, or holds something else.
    """
    rows = list(located_rows(path, most=LARGEST, expected="a list of prompts is expected"))
    if not all(isinstance(row, Mapping) and where != path.name for where, row in rows):
        raise SetupError(f"{path}: expected a list of objects")
    return [row for _, row in rows]


def _entry(row: Mapping[str, Any], number: int, path: Path) -> PromptEntry:
    where = f"{path.name}, entry {number}"
    index, objects = row.get("index", number), {"tags", "provenance", "forms"}
    texts = {part.name: row.get(part.name, "") for part in fields(PromptEntry) if part.name not in objects}
    texts["index"] = f"{index:04d}" if type(index) is int else index
    wrong = [name for name, value in texts.items() if not isinstance(value, str)]
    if wrong:
        raise SetupError(f"{where}: expected text in {', '.join(wrong)}")
    tags, provenance, forms = row.get("tags"), row.get("provenance") or {}, row.get("forms") or {}
    for name, value in (("tags", tags), ("provenance", provenance), ("forms", forms)):
        if not isinstance(value, Mapping | None):
            raise SetupError(f"{where}: expected an object in {name}")
    if empty := [name for name, text in forms.items() if not isinstance(text, str) or not text.strip()]:
        raise SetupError(f"{where}: expected text in forms.{empty[0]}")
    try:
        return PromptEntry(**texts, tags=None if tags is None else Tags(**tags), provenance=provenance, forms=forms)
    except (TypeError, ValueError) as error:
        raise SetupError(f"{where}: {error}") from error


def _read_table(path: Path, kind: Any) -> tuple[Any, ...]:
    if not path.is_file():
        return ()
    items = []
    for number, row in enumerate(read_rows(path), start=1):
        where = f"{path.name}, line {number}"
        unknown = row.keys() - {part.name for part in fields(kind)}
        if unknown:
            raise SetupError(f"{where}: there is no field {min(unknown)}")
        items.append(check(kind, row, where))
    return tuple(items)
