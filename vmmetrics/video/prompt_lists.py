"""Prompt lists as people keep them: VMBench's prompts.json, JSON, JSON Lines, CSV and TSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.clip import Subject
from vmmetrics.errors import SetupError, cannot
from vmmetrics.types import Tags
from vmmetrics.utils.markup import is_ours, without_guard
from vmmetrics.utils.schema import LARGEST_NUMBER, parse_json
from vmmetrics.video.subject import subject_of_phrase

LIST_SUFFIXES = frozenset({".json", ".jsonl", ".csv", ".tsv"})

MAX_LIST_BYTES = 64 * 2**20
"""Larger lists are refused: a hundred thousand prompts take a tenth of this."""

# What the columns are called, the first that is there counts. Compared in lower case, with "_" for blanks and dashes.
_CLIP_COLUMNS = (
    "clip",
    "video",
    "file",
    "filename",
    "file_name",
    "path",
    "video_path",
    "clip_path",
    "video_name",
    "name",
)
_INDEX_COLUMNS = ("index", "id", "clip_id", "video_id", "prompt_id")
_PROMPT_COLUMNS = ("prompt", "caption", "text", "prompt_en", "text_prompt", "description")
_SUBJECT_COLUMNS = ("subject", "subject_phrase")
_NOUN_COLUMNS = ("subject_noun", "noun")
_PATTERN_COLUMNS = ("pattern", "motion_pattern")
_TAG_COLUMN = "tag_"  # what the names of a table's columns of tags begin with; JSON has them in an object "tags"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a prompt list.

    Attributes:
        clip: The clip it is for, as written: a path, a name, or an index.
        prompt: The prompt, or None where the entry gives a subject alone.
        subject: The subject the list states, or None.
        where: Where it stands, for messages (``"prompts.csv, entry 3"``).
        tags: What it says of the motion asked for: its pattern, and any tags.
    """

    clip: str
    prompt: str | None
    subject: Subject | None
    where: str
    tags: Tags = field(default_factory=dict)


def read_list(path: Path) -> list[Entry]:
    """Read a prompt list; its form is told from the file's suffix.

    Raises:
        SetupError: The file cannot be read, or an entry names no clip, or neither prompt nor subject.
    """
    try:
        if path.stat().st_size > MAX_LIST_BYTES:
            raise SetupError(f"{path}: larger than {MAX_LIST_BYTES // 2**20} MiB; a prompt list is expected")
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise cannot("read", f"the prompt list {path}", error) from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path}: expected UTF-8 text but byte {error.start} is not") from error
    suffix = path.suffix.lower()
    if suffix not in LIST_SUFFIXES:
        raise SetupError(f"{path}: expected a prompt list in {', '.join(sorted(LIST_SUFFIXES))}")
    try:
        rows = list(_rows_of_json(text, suffix) if suffix.startswith(".json") else _rows_of_table(text, suffix))
    except (ValueError, csv.Error) as error:
        raise SetupError(f"{path}: not readable as {suffix[1:]}: {error}") from error
    return [_entry(row, f"{path.name}, entry {number}") for number, row in enumerate(rows, start=1)]


def _rows_of_table(text: str, suffix: str) -> Iterator[Mapping[str, Any]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if suffix == ".tsv" else ",", strict=True)
    ours = is_ours(reader.fieldnames or ())
    for row in reader:
        if None in row:
            raise ValueError(f"line {reader.line_num} has more columns than the header; quote texts that hold commas")
        yield {name: without_guard(cell) if ours and isinstance(cell, str) else cell for name, cell in row.items()}


def _rows_of_json(text: str, suffix: str) -> Iterator[Mapping[str, Any]]:
    """Entries of a list, of one object per line, or of an object clip -> prompt or clip -> entry."""
    if suffix == ".jsonl":
        # not splitlines: it takes characters for line ends that JSON has in texts, such as U+2028
        loaded: Any = [parse_json(line, gaps=True) for line in text.split("\n") if line.strip()]
    else:
        loaded = parse_json(text, gaps=True)
    if isinstance(loaded, Mapping):
        loaded = [
            {**value, "clip": key} if isinstance(value, Mapping) else {"clip": key, "prompt": value}
            for key, value in loaded.items()
        ]
    if not isinstance(loaded, list) or not all(isinstance(row, Mapping) for row in loaded):
        raise ValueError("expected a list of objects, each with clip (or index) and prompt")
    yield from loaded


def _entry(row: Mapping[str, Any], where: str) -> Entry:
    named = {str(key).strip().lower().replace(" ", "_").replace("-", "_"): value for key, value in row.items()}
    clip = _first(named, (*_CLIP_COLUMNS, *_INDEX_COLUMNS), where)
    prompt = _first(named, _PROMPT_COLUMNS, where)
    phrase, noun = _first(named, _SUBJECT_COLUMNS, where), _first(named, _NOUN_COLUMNS, where)
    if clip is None:
        raise SetupError(f"{where}: expected a column clip (or video, file, path, index) but got {', '.join(named)}")
    if prompt is None and phrase is None and noun is None:
        raise SetupError(f"{where}: expected a prompt or a subject for {clip} but got {', '.join(named)}")
    subject = None
    if noun is not None:
        subject = Subject(noun, phrase or noun, "list")
    elif phrase is not None:
        subject = subject_of_phrase(phrase, "list") or Subject(phrase, phrase, "list")
    return Entry(clip, prompt, subject, where, _tags(named, where))


def _tags(row: Mapping[str, Any], where: str) -> dict[str, str | float]:
    """Pattern and tags of an entry; tags that are no object of texts and numbers are someone else's, and left alone."""
    pattern = _first(row, _PATTERN_COLUMNS, where)
    given = {key.removeprefix(_TAG_COLUMN): _cell(value) for key, value in row.items() if key.startswith(_TAG_COLUMN)}
    listed = row.get("tags")
    if isinstance(listed, Mapping):
        given |= {str(key): value for key, value in listed.items()}
    tags = {key: tag for key, value in given.items() if (tag := _tag(value)) is not None}
    return ({} if pattern is None else {"pattern": pattern}) | tags


def _cell(value: Any) -> Any:
    """A cell of a table, which has no types: a number where it reads as one."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return value


def _tag(value: Any) -> str | float | None:
    """The value of a tag: None for a gap, which pandas writes as nan; a number that no table can hold is a text."""
    if isinstance(value, bool) or not isinstance(value, str | float | int) or value == "" or value != value:
        return None
    return str(value) if not isinstance(value, str) and abs(value) > LARGEST_NUMBER else value


def _first(row: Mapping[str, Any], columns: tuple[str, ...], where: str) -> str | None:
    """The text of the first of ``columns`` that is there and not blank."""
    for column in columns:
        value = row.get(column)
        if value is None or isinstance(value, bool) or value != value:  # NaN is a gap
            continue
        if not isinstance(value, (str, int)):
            raise SetupError(f"{where}: expected text in {column} but got {type(value).__name__}")
        if str(value).strip():
            return str(value).strip()
    return None
