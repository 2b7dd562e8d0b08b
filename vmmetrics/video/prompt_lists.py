"""Lists of prompts as people keep them: VMBench's prompts.json, JSON, JSON Lines, CSV, TSV, Parquet."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from vmmetrics.clip import Subject
from vmmetrics.errors import SetupError
from vmmetrics.types import Tags
from vmmetrics.utils.schema import LARGEST_NUMBER
from vmmetrics.utils.tables import located_rows, read_rows
from vmmetrics.utils.weights.manifest import PROMPT_LISTS, RETIRED_LIST, shipped_folder
from vmmetrics.video.shards import MODEL_COLUMNS, PATH_COLUMNS, PROMPT_COLUMNS
from vmmetrics.video.subject import subject_of_phrase

LIST_SUFFIXES = frozenset({".json", ".jsonl", ".csv", ".tsv", ".parquet"})

MAX_LIST_BYTES = 64 * 2**20
"""Larger lists are refused: a hundred thousand prompts take a tenth of this."""

# What the columns are called, the first that is there counts. Compared in lower case, with "_" for blanks and dashes.
_CLIP_COLUMNS = (
    "clip", "video", "file", *PATH_COLUMNS, "video_name", "name", "index", "id", "clip_id", "video_id", "prompt_id",
)  # fmt: skip
_FILE_COLUMNS = ("file_name", "video_file_name")
_SUBJECT_COLUMNS = ("subject", "subject_phrase")
_NOUN_COLUMNS = ("subject_noun", "noun")
_PATTERN_COLUMNS = ("pattern", "motion_pattern")
_TAG_COLUMN = "tag_"  # what the names of a table's columns of tags begin with; JSON has them in an object "tags"


@dataclass(frozen=True, slots=True)
class ListEntry:
    """One line of a prompt list.

    Attributes:
        clip: The clip it is for, as written: a path, a name, or an index.
        prompt: The prompt, or None where the entry gives a subject alone.
        subject: The subject the list states, or None.
        where: Position for messages (``"prompts.csv, entry 3"``).
        tags: Tags on the expected motion: its pattern, and others.
        model: Model that made the clip, where the list is the ``metadata`` of a data set; else None.
        twin: Index of the other prompt of its minimal pair, or None.
    """

    clip: str
    prompt: str | None
    subject: Subject | None
    where: str
    tags: Tags = field(default_factory=dict)
    model: str | None = None
    twin: str | None = None


def read_list(path: Path) -> list[ListEntry]:
    """Read a prompt list; its format follows from the file's suffix.

    Raises:
        SetupError: The file cannot be read, or an entry names no clip, or neither prompt nor subject.
    """
    return [_entry(row, where) for where, row in _rows(path)]


def read_metadata(path: Path) -> list[ListEntry]:
    """Read the ``metadata`` file of a data set in the ``videofolder`` layout: prompts and models by ``file_name``.

    Returns:
        An entry per clip, of the first row on it, prompts and models where there are any; none where the file is
        something else.
    """
    entries: dict[str, ListEntry] = {}
    try:
        rows = list(_rows(path))
    except SetupError:
        return []  # anything may be called metadata
    for where, row in rows:
        cells = {column: value for column, value in _by_name(row).items() if isinstance(value, str | int)}
        clip = _first(cells, _FILE_COLUMNS, where)
        if clip is not None and clip not in entries:
            prompt, model = _first(cells, PROMPT_COLUMNS, where), _first(cells, MODEL_COLUMNS, where)
            entries[clip] = ListEntry(clip, prompt, _subject_of(cells, where), where, _tags(cells, where), model)
    return list(entries.values())


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield entries with their places; of an object clip -> prompt or clip -> entry, those in it."""
    if path.suffix.lower() not in LIST_SUFFIXES:
        raise SetupError(f"{path}: expected a prompt list in {', '.join(sorted(LIST_SUFFIXES))}")
    rows = located_rows(path, most=MAX_LIST_BYTES, expected="a prompt list is expected", called="the prompt list ")
    for where, row in rows:
        if not isinstance(row, Mapping):
            raise SetupError(f"{where}: expected an object with clip (or index) and prompt")
        if where != path.name:
            yield where, row
            continue
        for clip, value in row.items():
            entry = value if isinstance(value, Mapping) else {"prompt": value}
            yield f"{where}, {clip}", {**entry, "clip": clip}


def _entry(row: Mapping[str, Any], where: str) -> ListEntry:
    by_name = _by_name(row)
    clip = _first(by_name, _CLIP_COLUMNS, where)
    prompt = _first(by_name, PROMPT_COLUMNS, where)
    subject = _subject_of(by_name, where)
    if clip is None:
        raise SetupError(f"{where}: expected a column clip (or video, file, path, index) but got {', '.join(by_name)}")
    if prompt is None and subject is None:
        raise SetupError(f"{where}: expected a prompt or a subject for {clip} but got {', '.join(by_name)}")
    return ListEntry(clip, prompt, subject, where, _tags(by_name, where), twin=_first(by_name, ("twin",), where))


def _by_name(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key).strip().lower().replace(" ", "_").replace("-", "_"): value for key, value in row.items()}


def _subject_of(row: Mapping[str, Any], where: str) -> Subject | None:
    phrase, noun = _first(row, _SUBJECT_COLUMNS, where), _first(row, _NOUN_COLUMNS, where)
    if noun is not None:
        return Subject(noun, phrase or noun, "list")
    return None if phrase is None else subject_in(phrase, "list")


def subject_in(phrase: str, source: str) -> Subject:
    """Return the subject of a phrase, or the whole phrase if it has no noun; ``source`` is its origin."""
    return subject_of_phrase(phrase, source) or Subject(phrase, phrase, source)


def _tags(row: Mapping[str, Any], where: str) -> dict[str, str | float]:
    """Return pattern and tags of an entry; a field ``tags`` of another type is ignored."""
    pattern = _first(row, _PATTERN_COLUMNS, where)
    cells = {key.removeprefix(_TAG_COLUMN): _cell(value) for key, value in row.items() if key.startswith(_TAG_COLUMN)}
    listed = row.get("tags")
    if isinstance(listed, Mapping):
        cells |= {str(key): value for key, value in listed.items()}
    tags = {key: tag for key, value in cells.items() if (tag := _tag(value)) is not None}
    return ({} if pattern is None else {"pattern": pattern}) | tags


def _cell(value: Any) -> Any:
    """Return a cell of a table, which has no types: a number where it reads as one."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return value


def _tag(value: Any) -> str | float | None:
    """Return the value of a tag: None for a gap (pandas writes nan); numbers that no table can hold become text."""
    if isinstance(value, bool) or not isinstance(value, str | float | int) or value == "" or value != value:
        return None
    return str(value) if not isinstance(value, str) and abs(value) > LARGEST_NUMBER else value


def _first(row: Mapping[str, Any], columns: tuple[str, ...], where: str) -> str | None:
    """Return the text of the first of ``columns`` that is there and not blank."""
    for column in columns:
        value = row.get(column)
        if value is None or isinstance(value, bool) or value != value:  # NaN is a gap
            continue
        if not isinstance(value, (str, int)):
            raise SetupError(f"{where}: expected text in {column} but got {type(value).__name__}")
        if str(value).strip():
            return str(value).strip()
    return None


_SAMPLE = re.compile(r"(.+)-[0-9]{1,6}(\.[A-Za-z0-9]{2,4})?")
_LONGEST_NUMBER = 100  # digits; Python refuses to read some thousands, and no clips are counted so far


@cache
def _retired() -> dict[str, tuple[str, str]]:
    """Return indices of the prompts of earlier versions of the library, and of their successors, by text."""
    rows = read_rows(shipped_folder("prompts") / RETIRED_LIST)
    return {row["prompt"]: (str(row["index"]), str(row["successor"])) for row in rows}


def refuse_retired(prompts: Set[str]) -> None:
    """Refuse prompts of an earlier version of the library beside those that replaced them.

    Args:
        prompts: Texts.

    Raises:
        SetupError: There are both.
    """
    retired = _retired()
    if retired.keys().isdisjoint(prompts):
        return
    texts = {str(row["index"]): row["prompt"] for row in read_rows(shipped_folder("prompts") / PROMPT_LISTS["library"])}
    for text, (index, new) in retired.items():
        if text in prompts and texts.get(new) in prompts:
            raise SetupError(
                f"Prompt {index} was replaced by {new} in the library, and both are here: clips of two versions of a "
                "prompt cannot be compared; leave one out, or make the clips again"
            )


class PromptList:
    """A prompt list with its keys: a clip is looked up by path, file name, stem, then number."""

    def __init__(self, entries: Sequence[ListEntry]) -> None:
        self.entries = entries
        self._by_key: dict[tuple[str, str | int], int | None] = {}
        for number, entry in enumerate(entries):
            for key in _keys(entry.clip):
                present = self._by_key.setdefault(key, number)
                first = entry if present is None else entries[present]
                if (first.prompt, first.subject, first.tags) == (entry.prompt, entry.subject, entry.tags):
                    continue
                if key[0] == "path":
                    raise SetupError(f"{entry.where}: {entry.clip} has another prompt in {first.where}")
                self._by_key[key] = None  # two folders with equal file names: the path must tell them apart

    def find(self, name: str) -> int | None:
        """Return the position of the entry for the clip called ``name``, or None.

        A clip ``0003-2.mp4`` that has no entry is the second of ``0003``, as ``generate-clips --samples`` names them.
        """
        number = next((number for key in _keys(name) if (number := self._by_key.get(key)) is not None), None)
        sample = _SAMPLE.fullmatch(PurePosixPath(name).name) if number is None else None
        return self.find(str(PurePosixPath(name).with_name(sample[1] + (sample[2] or "")))) if sample else number


def _keys(clip: str) -> list[tuple[str, str | int]]:
    """Return the ways to match a clip, the most telling first. Every tail of its path counts as a path."""
    clip = unicodedata.normalize("NFC", clip)  # macOS writes "é" as two characters
    path = PurePosixPath(clip.replace("\\", "/") if "/" not in clip else clip)
    parts = [part for part in path.parts if part not in ("/", ".", "..")]
    if not parts:
        return []
    tails = [("path", "/".join(parts))]
    tails += [("tail", "/".join(parts[start:])) for start in range(len(parts))]
    # Only a suffix that looks like one is taken off: "0.5 speed" is a name.
    stem = re.sub(r"\.[A-Za-z0-9]{2,4}$", "", parts[-1])
    keys: list[tuple[str, str | int]] = [*tails, ("stem", "/".join([*parts[:-1], stem])), ("stem", stem)]
    if stem.isdecimal() and len(stem) < _LONGEST_NUMBER:
        keys.append(("number", int(stem)))  # VMBench: index 1 is 0001.mp4
    return keys
