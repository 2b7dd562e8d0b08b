"""Pairwise comparisons of clips: read strictly, nothing dropped silently.

The format is in docs/cas-labels.md: one comparison per line of JSON Lines or row of CSV, either as ``a``, ``b`` and
``winner`` (``a``, ``b`` or ``tie``) or as ``winner``, ``loser`` and, where they were equal, ``tie``.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vmmetrics.errors import SetupError, os_reason
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE, Outcome, Preference
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.utils.tables import SEPARATORS, read_cells

T = TypeVar("T")
MAX_PROBLEMS = 20
"""Maximum problems of a file that are listed; the rest is counted."""

_USED = frozenset({"a", "b", "winner", "loser", "tie", "rater", "prompt", "prompt_a", "prompt_b", "weight"})
_WINNER: Mapping[str, Outcome] = {"a": LEFT, "b": RIGHT, "tie": TIE}
_TRUE, _FALSE = {"1", "true", "yes"}, {"", "0", "false", "no"}


@dataclass(frozen=True, slots=True)
class Comparison(Preference):
    """One judgement of two clips.

    Attributes:
        prompt_left: Prompt of the left clip, or None where the line does not say.
        prompt_right: Prompt of the right clip, or None.
        where: File and line, for messages.
    """

    prompt_left: str | None = None
    prompt_right: str | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Comparisons read from files.

    Attributes:
        rows: The comparisons in the order read.
        ignored_columns: Names in the files that mean nothing here, for the record.
    """

    rows: tuple[Comparison, ...]
    ignored_columns: tuple[str, ...] = ()


def read_comparisons(paths: Iterable[str | Path]) -> Comparisons:
    """Read files of comparisons.

    Args:
        paths: ``.jsonl`` (or ``.ndjson``), ``.csv`` or ``.tsv`` files, UTF-8.

    Returns:
        Every comparison in them.

    Raises:
        SetupError: A file cannot be read, or a line is not a comparison; every problem is named with its line.
    """
    ignored: set[str] = set()

    def comparison(fields: Mapping[str, Any], where: str) -> Comparison:
        ignored.update(name for name in fields if name not in _USED)
        return _comparison(fields, where)

    return Comparisons(tuple(read_lines(paths, comparison)), tuple(sorted(ignored)))


def read_lines(paths: Iterable[str | Path], make: Callable[[Mapping[str, Any], str], T]) -> list[T]:
    """Yield ``make(fields, where)`` of each line of JSON Lines, CSV or TSV files.

    In a table an empty cell is a field that is not there.

    Raises:
        SetupError: A file cannot be opened, its kind is unknown, or lines cannot be read or are refused by ``make``
            (by a ValueError); all of them are named.
    """
    made: list[T] = []
    problems: list[str] = []
    for path in map(Path, paths):
        suffix = path.suffix.lower()
        if suffix not in {".jsonl", ".ndjson", ".csv", ".tsv"}:
            raise SetupError(f"Expected a .jsonl, .csv or .tsv file but got {path}")
        try:
            text = read_regular(path).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"Cannot read {path}: {os_reason(error)}") from error
        as_table = suffix in {".csv", ".tsv"}
        rows = _table_rows(path, text, suffix, problems) if as_table else _json_lines(path, text, problems)
        for where, fields in rows:
            try:
                made.append(make(fields, where))
            except ValueError as error:
                problems.append(f"{where}: {error}")
    raise_problems(problems)
    return made


def raise_problems(problems: list[str]) -> None:
    """Raise a SetupError that lists ``problems``, if there are any."""
    if problems:
        more = [f"and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
        raise SetupError(*problems[:MAX_PROBLEMS], *more)


def _json_lines(path: Path, text: str, problems: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line, object_pairs_hook=_without_repeats)
            if not isinstance(fields, dict):
                raise ValueError("expected a JSON object")
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else error
            problems.append(f"{path}:{number}: {why}")
            continue
        yield f"{path}:{number}", {name: value for name, value in fields.items() if value is not None}


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a name occurs twice in this object")
    return fields


def _table_rows(path: Path, text: str, suffix: str, problems: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = read_cells(io.StringIO(text, newline=""), SEPARATORS[suffix], path, problems)
    line, header = next(rows, (0, []))
    if "" in header:
        raise SetupError(f"{path}:{line}: the columns must have names: {', '.join(header)}")
    for line, cells in rows:
        values = [cell.strip() for cell in cells]
        if len(values) != len(header):
            problems.append(f"{path}:{line}: expected {len(header)} cells but got {len(values)}")
        else:
            yield f"{path}:{line}", {name: value for name, value in zip(header, values, strict=True) if value}


def _comparison(fields: Mapping[str, Any], where: str) -> Comparison:
    if "a" in fields or "b" in fields:
        if "loser" in fields or "tie" in fields:
            raise ValueError("loser and tie go with winner, not with a and b")
        left, right, winner = required_text(fields, "a"), required_text(fields, "b"), fields.get("winner")
        if not isinstance(winner, str) or winner not in _WINNER:
            raise ValueError(f"expected winner a, b or tie but got {winner!r}")
        outcome = _WINNER[winner]
    else:
        left, right = required_text(fields, "winner"), required_text(fields, "loser")
        tie = str(fields.get("tie", "")).strip().lower()
        if tie not in _TRUE | _FALSE:
            raise ValueError(f"expected tie true or false but got {fields['tie']!r}")
        outcome = TIE if tie in _TRUE else LEFT
    if left == right:
        raise ValueError(f"{left!r} is compared with itself")
    both = optional_text(fields, "prompt")
    if both is not None and ("prompt_a" in fields or "prompt_b" in fields):
        raise ValueError("prompt is for both clips; give it or prompt_a and prompt_b, not all")
    rater, one, other = (optional_text(fields, name) for name in ("rater", "prompt_a", "prompt_b"))
    weight = _weight(fields.get("weight", 1.0))
    return Comparison(left, right, outcome, weight, rater, both or one, both or other, where)


def required_text(fields: Mapping[str, Any], name: str) -> str:
    """Return the text under ``name``.

    Raises:
        ValueError: It is not there, empty or no text.
    """
    if (value := optional_text(fields, name)) is None:
        raise ValueError(f"{name} is missing; there are {', '.join(sorted(fields)) or 'no names'}")
    return value


def optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    """Return the text under ``name``, or None where there is none.

    Raises:
        ValueError: It is empty or no text.
    """
    value = fields.get(name)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ValueError(f"expected text for {name} but got {value!r}")
    return value


def shown_prompts(a: str | None, b: str | None) -> dict[str, str | None]:
    """Return the fields of a comparison that say what its clips were generated from."""
    return {"prompt": a} if a == b else {"prompt_a": a, "prompt_b": b}


def _weight(value: Any) -> float:
    try:
        weight = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise ValueError(f"expected a weight above 0 but got {value!r}")
    return weight


# The clips behind the comparisons: their prompts, and which model made them.


@dataclass(frozen=True, slots=True)
class ListedClip:
    """One clip of the pool.

    Attributes:
        clip: Name, as comparisons have it.
        prompt: Text it was generated from, or None.
        group: Model or folder, or None.
    """

    clip: str
    prompt: str | None = None
    group: str | None = None


def read_clip_list(path: Path) -> list[ListedClip]:
    """Read a list of clips: ``.jsonl``, ``.csv`` or ``.tsv`` with clip and, optionally, prompt and group.

    Raises:
        SetupError: The file cannot be read, a line has no clip, or a clip is listed twice.
    """
    listed: dict[str, ListedClip] = {}

    def add(fields: Mapping[str, Any], _: str) -> None:
        clip = required_text(fields, "clip")
        if clip in listed:
            raise ValueError(f"{clip} is listed twice")
        listed[clip] = ListedClip(clip, optional_text(fields, "prompt"), optional_text(fields, "group"))

    read_lines([path], add)
    return list(listed.values())


def collect_clips(rows: Iterable[Comparison], listed: Iterable[ListedClip] | None = None) -> list[ListedClip]:
    """Return every clip of the comparisons and of the list, sorted, with prompt and group.

    Args:
        rows: Comparisons.
        listed: The list, which must then name every clip compared; None where there is none.

    Returns:
        Clips by name; a group that is not given is the first folder of the name, where it has one.

    Raises:
        SetupError: A clip has two prompts, or is compared and not listed.
    """
    entries = {entry.clip: entry for entry in listed or ()}
    prompts = {name: entry.prompt for name, entry in entries.items()}
    source = dict.fromkeys(prompts, "the list of clips")
    problems = []
    for row in rows:
        for clip, prompt in ((row.left, row.prompt_left), (row.right, row.prompt_right)):
            if listed is not None and clip not in entries:
                problems.append(f"{row.where}: {clip} is not in the list of clips")
            elif prompts.get(clip) is None:
                prompts[clip], source[clip] = prompt, row.where
            elif prompt is not None and prompt != prompts[clip]:
                problems.append(f"{row.where}: {clip} has another prompt in {source[clip]}")
    raise_problems(problems)
    collected = []
    for clip in sorted(prompts):
        record, folder = entries.get(clip), clip.partition("/")[0] if "/" in clip else ""
        group = folder if record is None or record.group is None else record.group
        collected.append(ListedClip(clip, prompts[clip], group or None))
    return collected
