"""Exports of Label Studio 1.x: CSV, TSV and JSON-MIN, whose cells hold results; and the full JSON, which holds tasks.

A rating is exported as ``[{"rating": 4}]``, a number as ``[{"number": 4}]``, one choice as its text and several as
``{"choices": [...]}``; in CSV and TSV these are JSON in a cell. In the full JSON they are the ``value`` of an entry
of ``annotations[].result``, and the name of the control (``from_name``) is the dimension.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from vmmetrics.alignment.readers.columns import CLIP, MODEL, PROMPT, is_text, normalised
from vmmetrics.errors import SetupError
from vmmetrics.utils.schema import parse_json

_KINDS = ("rating", "number", "choices", "selected")  # "selected" is the side that a pairwise control holds
_UPLOAD = re.compile(r"^(?:https?://\S+?)?/data/upload/(?:\d+/)?(?P<stored>[^/?#]+)$")
_PREFIX = re.compile(r"^[0-9a-f]{4,8}-(?=.)")  # put before the name of an uploaded file
_LOCAL = re.compile(r"^(?:https?://\S+?)?/data/local-files/?\?d=(?P<path>[^&#]+)")


def detect(content: Any) -> bool:
    """Return True if JSON content is Label Studio's full export: a list of tasks with ``data`` and ``annotations``."""
    if not isinstance(content, list) or not content or not all(isinstance(task, Mapping) for task in content):
        return False
    return all(isinstance(t.get("data"), Mapping) and isinstance(t.get("annotations"), list) for t in content)


def rows(tasks: Sequence[Mapping[str, Any]], source: str) -> tuple[list[dict[str, Any]], str]:
    """Return a row per annotation, with its annotator, its answers and the task's data, and a note of what was read.

    Predictions and numbers among the data are no one's ratings and left out, as are annotations that were skipped.

    Raises:
        SetupError: No task is annotated.
    """
    cells: defaultdict[str, list[Any]] = defaultdict(list)
    for name, value in (item for task in tasks for item in task["data"].items()):
        cells[str(name)].append(value)
    # what says which clip it is and what it shows: texts, and what is so called
    described = {*CLIP, *MODEL, *PROMPT}
    fields = {name for name, values in cells.items() if normalised(name) in described or is_text(values)}
    annotated, skipped = [], 0
    for task in tasks:
        data = {name: value for name, value in task["data"].items() if name in fields}
        for annotation in filter(lambda entry: isinstance(entry, Mapping), task["annotations"]):
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                skipped += 1
                continue
            person = annotation.get("completed_by")
            if isinstance(person, Mapping):
                person = person.get("email") or person.get("id")
            annotator = {} if person is None else {"annotator": str(person)}
            results = annotation.get("result")
            answers: defaultdict[str, list[Any]] = defaultdict(list)
            for result in results if isinstance(results, list) else ():
                if isinstance(result, Mapping) and result.get("from_name"):
                    answers[str(result["from_name"])].append(result.get("value"))
            annotated.append({**data, **annotator, **{name: answer(values) for name, values in answers.items()}})
    if not annotated:
        raise SetupError(f"{source}: the Label Studio export holds no annotation; annotate its tasks and export again")
    note = f"Label Studio: {len(annotated)} annotations of {len(tasks)} tasks"
    return annotated, note + (f"; {skipped} skipped ones were left out" if skipped else "")


def answer(cell: Any) -> Any:
    """Return the answer that an exported result holds; any other cell as it is.

    >>> answer('[{"rating": 4}]'), answer({"choices": ["4"]}), answer("a cat")
    (4, '4', 'a cat')
    """
    value = cell
    if isinstance(cell, str):
        if not cell.startswith(("[{", '{"')):
            return cell
        try:
            value = parse_json(cell, gaps=True)
        except ValueError:
            return cell
    results = value if isinstance(value, list) else [value]
    answers = [_answer_of(result) for result in results]
    return answers[0] if answers and None not in answers and len(set(answers)) == 1 else cell


def plain_columns(columns: Mapping[str, Sequence[Any]]) -> tuple[dict[str, list[Any]], tuple[str, ...]]:
    """Return the columns with answers instead of results and paths instead of Label Studio's addresses, and notes."""
    read = {name: _file_names(name, [answer(cell) for cell in cells]) for name, cells in columns.items()}
    notes = tuple(note for _, column_notes in read.values() for note in column_notes)
    return {name: cells for name, (cells, _) in read.items()}, notes


def _answer_of(result: Any) -> int | float | str | None:
    """Return the answer in one result; None where it holds no answer."""
    if not isinstance(result, Mapping):
        return None
    kinds = set(result) - {"type", "original_width", "original_height"}
    kind = kinds.pop() if len(kinds) == 1 else None
    value = result[kind] if kind in _KINDS else None
    if isinstance(value, list):
        return ", ".join(map(str, value)) or None
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def _file_names(column: str, cells: list[Any]) -> tuple[list[Any], list[str]]:
    """Return cells with the path of a local file, and the name that an uploaded file had, instead of the address."""
    addresses = {cell for cell in cells if isinstance(cell, str) and "/data/" in cell}
    paths = {cell: unquote(match["path"]) for cell in addresses if (match := _LOCAL.match(cell))}
    uploads = {cell: unquote(match["stored"]) for cell in addresses if (match := _UPLOAD.match(cell))}
    names = {cell: _PREFIX.sub("", stored) for cell, stored in uploads.items()}
    repeated = {name for name, count in Counter(names.values()).items() if count > 1}
    paths |= {cell: uploads[cell] if name in repeated else name for cell, name in names.items()}
    notes = []
    if names != uploads:
        notes.append(f"{column}: uploads are called by their names without the prefix that Label Studio adds")
    if repeated:
        notes.append(
            f"{column}: several uploads are called {min(repeated)} and keep the prefix; have another column of the "
            "task name the clip, and name it with --clip-column"
        )
    return [paths.get(cell, cell) if isinstance(cell, str) else cell for cell in cells] if paths else cells, notes
