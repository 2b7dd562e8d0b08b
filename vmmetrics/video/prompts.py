"""The prompt that belongs to a clip: from a list given, a text beside the clip, a list beside it, or its name."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from vmmetrics.clip import Subject
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.types import Tags
from vmmetrics.utils.display.markup import is_ours, without_guard
from vmmetrics.utils.schema import LARGEST_NUMBER, parse_json
from vmmetrics.utils.tables import SEPARATORS, read_text
from vmmetrics.utils.weights.manifest import shipped_list
from vmmetrics.video.containers import open_regular
from vmmetrics.video.discover import Source
from vmmetrics.video.subject import find_subject, subject_of_phrase

# Prompt lists as people keep them: VMBench's prompts.json, JSON, JSON Lines, CSV and TSV.

LIST_SUFFIXES = frozenset({".json", ".jsonl", ".csv", ".tsv"})

MAX_LIST_BYTES = 64 * 2**20
"""Larger lists are refused: a hundred thousand prompts take a tenth of this."""

# What the columns are called, the first that is there counts. Compared in lower case, with "_" for blanks and dashes.
_CLIP_COLUMNS = (
    "clip", "video", "file", "filename", "file_name", "path", "video_path", "clip_path", "video_name", "name",
    "index", "id", "clip_id", "video_id", "prompt_id",
)  # fmt: skip
_PROMPT_COLUMNS = ("prompt", "caption", "text", "prompt_en", "text_prompt", "description")
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
        where: Where it stands, for messages (``"prompts.csv, entry 3"``).
        tags: What it says of the motion asked for: its pattern, and any tags.
    """

    clip: str
    prompt: str | None
    subject: Subject | None
    where: str
    tags: Tags = field(default_factory=dict)


def read_list(path: Path) -> list[ListEntry]:
    """Read a prompt list; its form is told from the file's suffix.

    Raises:
        SetupError: The file cannot be read, or an entry names no clip, or neither prompt nor subject.
    """
    text = read_text(path, MAX_LIST_BYTES, "a prompt list is expected", "the prompt list ")
    suffix = path.suffix.lower()
    if suffix not in LIST_SUFFIXES:
        raise SetupError(f"{path}: expected a prompt list in {', '.join(sorted(LIST_SUFFIXES))}")
    try:
        rows = _rows_of_json(text, suffix) if suffix.startswith(".json") else list(_rows_of_table(text, suffix))
    except (ValueError, csv.Error) as error:
        raise SetupError(f"{path}: not readable as {suffix[1:]}: {error}") from error
    return [_entry(row, f"{path.name}, entry {number}") for number, row in enumerate(rows, start=1)]


def _rows_of_table(text: str, suffix: str) -> Iterator[Mapping[str, Any]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=SEPARATORS[suffix], strict=True)
    ours = is_ours(reader.fieldnames or ())
    for row in reader:
        if None in row:
            raise ValueError(f"line {reader.line_num} has more columns than the header; quote texts that hold commas")
        yield {name: without_guard(cell) if ours and cell is not None else cell for name, cell in row.items()}


def _rows_of_json(text: str, suffix: str) -> list[Mapping[str, Any]]:
    """Entries of a list, of one object per line, or of an object clip -> prompt or clip -> entry."""
    if suffix == ".jsonl":
        # not splitlines: it takes characters for line ends that JSON has in texts, such as U+2028
        loaded: Any = [parse_json(line, gaps=True) for line in text.split("\n") if line.strip()]
    else:
        loaded = parse_json(text, gaps=True)
    if isinstance(loaded, Mapping):
        entries = ((key, value if isinstance(value, Mapping) else {"prompt": value}) for key, value in loaded.items())
        loaded = [{**entry, "clip": key} for key, entry in entries]
    if not isinstance(loaded, list) or not all(isinstance(row, Mapping) for row in loaded):
        raise ValueError("expected a list of objects, each with clip (or index) and prompt")
    return loaded


def _entry(row: Mapping[str, Any], where: str) -> ListEntry:
    named = {str(key).strip().lower().replace(" ", "_").replace("-", "_"): value for key, value in row.items()}
    clip = _first(named, _CLIP_COLUMNS, where)
    prompt = _first(named, _PROMPT_COLUMNS, where)
    phrase, noun = _first(named, _SUBJECT_COLUMNS, where), _first(named, _NOUN_COLUMNS, where)
    if clip is None:
        raise SetupError(f"{where}: expected a column clip (or video, file, path, index) but got {', '.join(named)}")
    if prompt is None and phrase is None and noun is None:
        raise SetupError(f"{where}: expected a prompt or a subject for {clip} but got {', '.join(named)}")
    subject = None if phrase is None else _subject(phrase, "list")
    if noun is not None:
        subject = Subject(noun, phrase or noun, "list")
    return ListEntry(clip, prompt, subject, where, _tags(named, where))


def _subject(phrase: str, source: str) -> Subject:
    return subject_of_phrase(phrase, source) or Subject(phrase, phrase, source)


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


MAX_SIDECAR_BYTES = 64 * 2**10
"""Longer texts beside a clip are no prompts."""

MAX_PROMPT = 100_000
"""Characters of a prompt; what is longer is refused, not cut: no model reads it, and a list must not stall a run."""

_LIST_STEMS = ("prompts", "prompt", "captions")  # lists looked for beside the clips, in this order
_LONGEST_NUMBER = 100  # digits; Python refuses to read some thousands, and no clips are counted so far
_INDEXED_NAME = re.compile(r"(?P<prompt>.* .*\S)-[0-9]+")


class PromptOf(NamedTuple):
    """What is known about a clip's prompt.

    Attributes:
        prompt: The prompt, or None.
        subject: Who or what it is about, or None.
        source: ``"list"``, ``"sidecar"``, ``"name"`` or ``"none"``.
        tags: What the list says of the motion asked for.
    """

    prompt: str | None
    subject: Subject | None
    source: str
    tags: Tags = MappingProxyType({})


class _Listed:
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
        """Position of the entry for the clip called ``name``, or None."""
        return next((number for key in _keys(name) if (number := self._by_key.get(key)) is not None), None)


def _keys(clip: str) -> list[tuple[str, str | int]]:
    """The ways to match a clip, the most telling first. Every tail of its path counts as a path."""
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


class Prompts:
    """Prompts and subjects of a set of clips: from a prompt list, or looked for beside the clips.

    Args:
        path: The list (JSON, JSON Lines, CSV or TSV), ``"library"`` or ``"mini"`` for one that is shipped; None looks
            beside each clip.
        root: Folder against which a relative ``path`` that does not exist is tried too.
        subject: What every clip is about (``--subject``), whatever lists and prompts say.

    Raises:
        SetupError: The list cannot be read, or contradicts itself.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        root: str | os.PathLike[str] | None = None,
        *,
        subject: str | None = None,
    ) -> None:
        self._subject = None if subject is None else _subject(subject, "option")
        self._given: _Listed | None = None
        self._beside: dict[Path, _Listed | None] = {}
        if path is not None:
            file = shipped_list(path)
            if not file.exists() and root is not None and (Path(root) / file).exists():
                file = Path(root) / file
            self._given = _Listed(read_list(file))

    def __len__(self) -> int:
        return 0 if self._given is None else len(self._given.entries)

    def lookup(self, source: Source) -> PromptOf:
        """Find the prompt of a clip: in the list given, a ``.txt`` beside it, a list beside it, then its name.

        No path in a list is ever opened, and a list or text beside a clip counts only inside the folder given.

        Raises:
            SetupError: A list beside the clip cannot be read.
            ClipError: The text beside the clip cannot be read, or the prompt is longer than :data:`MAX_PROMPT`.
        """
        listed = None if self._given is None else _from_list(self._given, source)
        found = listed or self._sidecar(source) or self._listed_beside(source)
        if found is None:  # "a dog runs-3.mp4"; a single word is a name, not a prompt
            match = _INDEXED_NAME.fullmatch(source.path.stem if source.path.suffix else source.path.name)
            found = PromptOf(match["prompt"], None, "name") if match else PromptOf(None, None, "none")
        if found.prompt and len(found.prompt) > MAX_PROMPT:
            raise ClipError(f"The prompt has {len(found.prompt):,} characters; shorten it to {MAX_PROMPT:,}")
        subject = self._subject or found.subject
        if subject is None and found.prompt:
            subject = find_subject(found.prompt)
        return found._replace(subject=subject)

    def unmatched(self, sources: Iterable[Source]) -> list[str]:
        """Clips that the list given names and that are not among ``sources``, as the list writes them."""
        if self._given is None:
            return []
        used = {self._given.find(source.name) for source in sources}
        return [entry.clip for number, entry in enumerate(self._given.entries) if number not in used]

    def _sidecar(self, source: Source) -> PromptOf | None:
        path = source.path
        text_file = path.with_suffix(".txt") if path.is_file() else path.with_name(path.name + ".txt")
        if not text_file.is_file() or not _inside(text_file, source):
            return None
        try:
            with open_regular(text_file) as file:
                data = file.read(MAX_SIDECAR_BYTES + 1)
            if len(data) > MAX_SIDECAR_BYTES:
                raise ClipError(f"{text_file.name} beside the clip is too long for a prompt")
            text = data.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ClipError(f"{text_file.name} beside the clip cannot be read as UTF-8 text: {error}") from error
        prompt = " ".join(text.split())
        return PromptOf(prompt, None, "sidecar") if prompt else None

    def _listed_beside(self, source: Source) -> PromptOf | None:
        """Look in the clip's folder and those above it, up to the root given."""
        for folder in source.path.parents:
            if folder not in self._beside:
                files = (folder / f"{stem}{suffix}" for stem in _LIST_STEMS for suffix in sorted(LIST_SUFFIXES))
                file = next((file for file in files if file.is_file() and _inside(file, source)), None)
                self._beside[folder] = None if file is None else _Listed(read_list(file))
            listed = self._beside[folder]
            found = None if listed is None else _from_list(listed, source, folder)
            if found or source.root is None or folder == source.root:
                return found
        return None


def _inside(file: Path, source: Source) -> bool:
    home = source.root or source.path.parent
    return file.resolve().is_relative_to(home.resolve())


def _from_list(listed: _Listed, source: Source, folder: Path | None = None) -> PromptOf | None:
    """Look a clip up by its name in the run, then by its path from where the list lies."""
    number = listed.find(source.name)
    if number is None and folder is not None:
        number = listed.find(source.path.relative_to(folder).as_posix())
    if number is None:
        return None
    entry = listed.entries[number]
    return PromptOf(entry.prompt, entry.subject, "list", entry.tags)
