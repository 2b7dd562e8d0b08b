"""Readers of captions from all usual file formats, one at a time, whatever the size."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

from vmmetrics.errors import SetupError, refusing
from vmmetrics.prompts.entry import Place
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.utils.tables import csv_rows, json_lines, open_parquet, read_text

T = TypeVar("T")

SUFFIXES = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
"""Supported file suffixes."""

COLUMNS = (
    "prompt", "caption", "captions", "text", "sentence", "sentences", "description", "descriptions", "encap",
    "raw", "raw_caption", "en", "title",
)  # fmt: skip
"""Usual names of the caption column, the likeliest first, without regard to case."""

LARGEST_OBJECT = 512 * 2**20
"""Largest .json file with a single object, bytes; it is read whole, into several times its size."""

_CHUNK = 2**20
_ROWS_AT_ONCE = 4096
"""Rows of a Parquet file read at once; its row groups may have millions."""
_WORDS_OF_A_NAME = 3
"""Most words of a lone column's heading; a longer first line is a caption."""


class _NoColumnError(SetupError):
    """No caption column in a row."""


def read_corpus(paths: Sequence[Path], column: str | None = None) -> Iterator[tuple[str, float]]:
    """Yield the captions of several files, each with the share of the corpus read so far, in [0, 1].

    Args:
        paths: The files.
        column: As for :func:`read_captions`.
    """
    sizes, before = [path.stat().st_size for path in paths], 0
    for path, size in zip(paths, sizes, strict=True):
        for text, share in read_captions(path, column):
            yield text, (before + share * size) / max(1, sum(sizes))
        before += size


def sample(captions: Iterable[T], number: int, seed: int) -> list[T]:
    """Draw captions uniformly at random in one pass; they keep their order.

    Args:
        captions: Any number of them.
        number: How many to draw, N; all where there are no more.
        seed: The same seed draws the same captions of the same corpus.
    """
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    chosen: list[tuple[int, T]] = []
    for index, caption in enumerate(captions):
        if index < number:
            chosen.append((index, caption))
        elif (spot := chance.randrange(index + 1)) < number:  # reservoir sampling: kept with chance N / (place + 1)
            chosen[spot] = (index, caption)
    return [caption for _, caption in sorted(chosen, key=lambda pair: pair[0])]


def read_captions(path: Path, column: str | None = None) -> Iterator[tuple[str, float]]:
    """Yield the captions of a file.

    Args:
        path: A file of a kind in :data:`SUFFIXES`.
        column: Name of the column or key that has the captions; None finds it by its usual names.

    Yields:
        A caption as it stands there (empty where the row has none), and the share of the file read so far.

    Raises:
        SetupError: The file cannot be read as what its name says, or has no such column.
    """
    kind = path.suffix.lower()
    if kind == ".parquet":
        yield from _of_parquet(path, column)
        return
    with refusing("read", path), open_regular(path) as raw:
        size, newline = max(1, path.stat().st_size), "" if kind in (".csv", ".tsv") else None
        text = io.TextIOWrapper(raw, "utf-8-sig", errors="replace", newline=newline)
        if kind in (".csv", ".tsv"):
            captions = _of_table(text, path, column, "\t" if kind == ".tsv" else None)
        elif kind == ".json":
            captions = _of_json(text, path, column, size)
        elif kind in (".jsonl", ".ndjson"):
            captions = _of_rows(json_lines(text, path), column, path)
        else:
            captions = (line.strip() for line in text)
        for caption in captions:
            yield caption, min(1.0, raw.tell() / size)


def find_sources(paths: Sequence[Path]) -> list[Path]:
    """Return the files with a supported suffix: named ones, and all below a folder, sorted by name.

    Raises:
        SetupError: A path is not there, or no file is of a kind that is read.
    """
    sources: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = [p for p in sorted(path.rglob("*")) if p.suffix.lower() in SUFFIXES and p.is_file()]
            sources.update(dict.fromkeys(p for p in inside if not p.name.startswith(".")))
        elif not path.is_file():
            raise SetupError(f"{path} is not there")
        elif path.suffix.lower() not in SUFFIXES:
            raise SetupError(f"{path}: expected a file of a kind in {', '.join(SUFFIXES)}")
        else:
            sources[path] = None
    if not sources:
        raise SetupError(f"No {', '.join(SUFFIXES)} in {', '.join(map(str, paths))}")
    return list(sources)


def _column_of(names: Sequence[str], column: str | None, path: Path) -> str:
    """Return the caption column: the requested one, or the first with a usual name."""
    by_name = {name.strip().casefold(): name for name in reversed(names)}
    usual = COLUMNS if column is None else (column.strip().casefold(),)
    match = next((by_name[name] for name in usual if name in by_name), None)
    if match is None:
        shown = ", ".join(names[:20]) + (" ..." if len(names) > 20 else "") or "none"
        asked = f"{path}: which column has the captions? Name it with --column; there are {shown}"
        raise _NoColumnError(asked if column is None else f"{path} has no column {column!r} but {shown}")
    return match


def _of_table(text: IO[str], path: Path, column: str | None, delimiter: str | None) -> Iterator[str]:
    first = text.readline()
    mark = delimiter or max(",;\t|", key=first.count)
    try:
        names = [name.strip() for name in next(csv_rows([first], mark, strict=False), [])]
        if not names:
            return
        lone = len(names) == 1 and column is None and names[0].casefold() not in COLUMNS
        if lone and len(names[0].split()) > _WORDS_OF_A_NAME:
            yield names[0]
        index = 0 if lone else names.index(_column_of(names, column, path))
        for row in csv_rows(text, mark, strict=False):
            if row:
                yield row[index].strip() if index < len(row) else ""
    except csv.Error as error:
        raise SetupError(f"{path}: not readable as a table: {error}") from error


def _of_rows(rows: Iterable[Any], column: str | None, path: Path) -> Iterator[str]:
    """Yield the captions of rows; a row without one is empty if an earlier row had one."""
    resolved = False
    for row in rows:
        try:
            captions = list(_of_value(row, column, path))
        except _NoColumnError:
            if not resolved:
                raise
            captions = [""]
        resolved = resolved or isinstance(row, Mapping)
        yield from captions


def _of_json(text: IO[str], path: Path, column: str | None, size: int) -> Iterator[str]:
    """Yield the captions of an array, value by value, or of an object such as COCO's, read whole."""
    head = text.read(_CHUNK)
    try:
        if head.lstrip().startswith("["):
            yield from _of_rows(_array(head, text), column, path)
        elif size > LARGEST_OBJECT:
            raise SetupError(f"{path}: one JSON object of more than {LARGEST_OBJECT // 2**20} MiB; make it JSON Lines")
        else:
            yield from _of_value(parse_json(head + text.read(), gaps=True), column, path)
    except (ValueError, RecursionError) as error:
        raise SetupError(f"{path}: not readable as JSON: {error}") from error


def _array(head: str, text: IO[str]) -> Iterator[Any]:
    """Yield the values of a JSON array, read in chunks; only the current value's chunk is in memory."""
    decoder, buffer, start = json.JSONDecoder(), head.lstrip()[1:], 0
    ended = first = False
    while True:
        start = _past_space(buffer, start)
        if buffer.startswith("]", start):
            return
        try:
            if first and start < len(buffer) and buffer[start] != ",":
                raise json.JSONDecodeError("expected a comma", buffer, start)
            value, end = decoder.raw_decode(buffer, _past_space(buffer, start + first))
            if end == len(buffer) and not ended:  # a number may go on in the next piece
                raise json.JSONDecodeError("cut", buffer, end)
        except json.JSONDecodeError:
            piece = text.read(max(_CHUNK, len(buffer) - start))  # doubling: one long value is not decoded over and over
            if not piece and ended:
                raise
            ended = not piece
            buffer, start = buffer[start:] + piece, 0
            continue
        yield value
        first, start = True, end


def _past_space(text: str, start: int) -> int:
    while text.startswith((" ", "\t", "\r", "\n"), start):
        start += 1
    return start


def _of_value(value: Any, column: str | None, path: Path) -> Iterator[str]:
    """Yield the captions of a JSON value: a text, a list, a row, or an object with the rows under some key."""
    if isinstance(value, list):
        yield from _of_rows(value, column, path)
        return
    if not isinstance(value, Mapping):
        yield value.strip() if isinstance(value, str) else ""
        return
    parts: list[Any] = []
    if column is None or column.strip().casefold() not in {key.strip().casefold() for key in value}:
        parts = [value[key] for key in ("annotations", "data", "items", "rows") if isinstance(value.get(key), list)][:1]
        if not parts and all(isinstance(part, Mapping) for part in value.values()):
            parts = list(value.values())  # clip → its captions
    for part in parts or [value[_column_of(list(value), column, path)]]:
        yield from _of_value(part, column, path)


def _of_parquet(path: Path, column: str | None) -> Iterator[tuple[str, float]]:
    with open_parquet(path) as table:
        name = _column_of(table.schema_arrow.names, column, path)
        total, done = max(1, table.metadata.num_rows), 0
        for batch in table.iter_batches(_ROWS_AT_ONCE, columns=[name]):
            for value in batch.column(0).to_pylist():
                done += 1
                for caption in _of_value(value, None, path):
                    yield caption, done / total


# Lists of place categories such as Places365's: ``/b/balcony/interior 21`` or ``ice_skating_rink/outdoor`` a line.

_LINE = re.compile(
    r"(?:/?[a-z]/)?(?P<name>[a-z0-9][a-z0-9_'.-]*(?:/[a-z0-9][a-z0-9_'.-]*)*)(?:[\s,;]+-?\d+)?", re.IGNORECASE
)
_LEAST_MARKED = 0.3
"""Least share of lines with a slash or underscore in a place list; Places365's list has 0.56."""
_SAMPLED_LINES = 200

_SETTINGS = {"interior": "indoor", "indoor": "indoor", "exterior": "outdoor", "outdoor": "outdoor"}
_AFTER = ("platform", "room", "hall", "entrance", "cabin")
"""Parts that end a place's name ("train station platform"); other parts begin it ("broadleaf forest")."""


def is_place_list(path: Path) -> bool:
    """Return True if a text file lists place categories, not captions: one name a line, many with / or _."""
    if path.suffix.lower() != ".txt":
        return False
    with io.TextIOWrapper(open_regular(path), "utf-8-sig", errors="replace") as stream:
        lines = [line.strip() for line in islice(stream, _SAMPLED_LINES) if line.strip()]
    marked = sum("/" in line or "_" in line for line in lines)
    return bool(lines) and all(map(_LINE.fullmatch, lines)) and marked >= _LEAST_MARKED * len(lines)


def read_place_list(path: Path) -> list[Place]:
    """Read a list of place categories, each once, in order.

    Raises:
        SetupError: The file is too large.
    """
    text = read_text(path, LARGEST_OBJECT, "a list of places is expected", errors="replace")
    entries = map(place_category, text.splitlines())
    return list(dict.fromkeys(item for item in entries if item is not None))


def place_category(line: str) -> Place | None:
    """Return the place on a line; None if it has none.

    >>> balcony = place_category("/b/balcony/interior 21")
    >>> balcony.name, balcony.setting
    ('balcony', 'indoor')
    >>> place_category("forest/broadleaf").name, place_category("train_station/platform").name
    ('broadleaf forest', 'train station platform')
    """
    match = _LINE.fullmatch(line.strip())
    if match is None:
        return None
    first, *parts = (part.lower().replace("_", " ").strip() for part in match["name"].split("/"))
    setting = next((_SETTINGS[part] for part in reversed(parts) if part in _SETTINGS), "either")
    kinds = [part for part in parts if part and part not in _SETTINGS]
    after = [kind for kind in kinds if kind.split(" ")[-1] in _AFTER]
    name = " ".join([*(kind for kind in kinds if kind not in after), first, *after]).strip()
    return Place(name, setting=setting) if any(c.isalpha() for c in name) else None
