"""Reader of run directories: ``run.json``, the newest records, and their events, on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError, cannot
from vmmetrics.metrics.registry import in_order
from vmmetrics.scoring.index import EVENTS, SCORES, RunIndex
from vmmetrics.scoring.record import Record
from vmmetrics.types import IntArray
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.schema import check, read_json
from vmmetrics.utils.storage.journal import LONGEST_LINE, Line, decoded, iterate_with_text, sentences
from vmmetrics.utils.storage.opening import open_regular

FORMAT = 2
"""Version of the layout, in ``run.json``."""
_READ = (1, FORMAT)


def described(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of ``run.json`` on single scores: ``parts`` and ``lower_is_better``; empty without parts."""
    if not parts:
        return {}
    lower = [name for name in in_order(parts) if parts[name].get("lower_is_better")]
    return {"parts": {name: parts[name] for name in in_order(parts)}, "lower_is_better": lower}


def index_origins(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the origin in words of each index of one's own among parts, by name: file, hash and ratings."""
    sources = {key: source for key, part in parts.items() if "index" in (source := part.get("source", {}))}
    return {
        key: clean(f"{key}: {source['index']}, sha256 {str(source.get('sha256'))[:12]}, {parts[key].get('title')}")
        for key, source in sources.items()
    }


@dataclass(frozen=True, slots=True)
class _Configuration:
    """Fields of every run's configuration; suites add their own."""

    preset: str = ""
    protocol: str = ""
    label: str = ""
    comparable: bool = False
    models: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Header:
    """Fields of ``run.json``."""

    configuration: _Configuration
    metrics: tuple[str, ...]
    sessions: tuple[Mapping[str, Any], ...]
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lower_is_better: tuple[str, ...] = ()


def read_run_json(path: Path) -> dict[str, Any]:
    """Read ``run.json`` of a run directory.

    Raises:
        SetupError: There is none, it is damaged, or a later version wrote it.
    """
    file = path / "run.json"
    if not file.is_file():
        raise SetupError(f"{path} is not a run directory: it has no run.json")
    run: dict[str, Any] = check(dict[str, Any], read_json(file), file)
    if type(run.get("format")) is not int or run["format"] not in _READ:
        raise SetupError(f"{path} was written by another version of vmmetrics (format {FORMAT} or earlier expected)")
    check(_Header, run, file)
    return run


class RunRecords(Sequence[Record]):
    """Records read on demand from their offsets in ``scores.jsonl``; none stays in memory.

    Args:
        path: The journal.
        offsets: (N,) offsets of the lines, in the order of the records.

    Raises:
        SetupError: When one is read: the journal was removed or changed meanwhile.
    """

    def __init__(self, path: Path, offsets: Iterable[int]) -> None:
        self._path = path
        self.offsets: IntArray = np.fromiter(offsets, np.int64)

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return RunRecords(self._path, self.offsets[index])
        return next(self._read(self.offsets[[index]]))

    def __iter__(self) -> Iterator[Record]:
        return self._read(self.offsets)

    def _read(self, offsets: IntArray) -> Iterator[Record]:
        if not len(offsets):
            return
        try:
            with open_regular(self._path) as file:
                for offset in offsets.tolist():
                    file.seek(offset)
                    line = file.readline(LONGEST_LINE)
                    try:
                        record = Record.from_line(line)
                    except ValueError as error:
                        words = f"{self._path} was changed while it was read ({error}); run the command again"
                        raise SetupError(words) from error
                    yield record
        except OSError as error:
            raise cannot("read", self._path, error) from error

    def without(self, others: RunRecords) -> RunRecords:
        """Return the records whose lines are not among those of ``others``, in order."""
        return RunRecords(self._path, self.offsets[~np.isin(self.offsets, others.offsets)])


@contextmanager
def opened_index(path: Path) -> Iterator[RunIndex]:
    """Open the index of a run.

    Raises:
        SetupError: It is not a run directory, or cannot be read.
    """
    read_run_json(path)
    try:
        index = RunIndex(path)
    except OSError as error:
        raise cannot("read", error.filename or path, error) from error
    with closing(index):
        yield index


def records_by_name(path: Path, warnings: list[str] | None = None) -> RunRecords:
    """Return the newest record of every clip of a run directory, in order of name, read when they are asked for.

    Args:
        path: Run directory.
        warnings: Receives texts on damaged lines; None for none.

    Raises:
        SetupError: It is not a run directory, or cannot be read.
    """
    with opened_index(path) as index:
        if warnings is not None:
            warnings += index.warnings()
        return RunRecords(path / SCORES, index.offsets())


def read_records(path: Path, warnings: list[str] | None = None) -> list[Record]:
    """Return :func:`records_by_name`, all in memory."""
    return list(records_by_name(path, warnings))


@dataclass(frozen=True, slots=True)
class _Events:
    """Fields of a line of ``events.jsonl`` that every reader needs."""

    clip: str
    sha256: str | None
    metrics: Mapping[str, Any]
    path: str | None = None


def events_lines(path: Path, warnings: list[str] | None = None) -> Iterator[tuple[Line, bytes]]:
    """Yield the lines of ``events.jsonl`` that name their clip, parsed and raw; skip others with a warning."""
    return iterate_with_text(path / EVENTS, like=_Events, warnings=warnings)


@contextmanager
def opened_events(path: Path, warnings: list[str] | None = None) -> Iterator[Callable[[Record], dict[str, Any]]]:
    """Open ``events.jsonl`` of a run to look up clips.

    Args:
        path: Run directory.
        warnings: Receives texts on damaged lines.

    Yields:
        A function from a record to events and series by metric, for the metrics that the record has: the newest of
        each.

    Raises:
        SetupError: It is not a run directory, or cannot be read.
    """
    journal = path / EVENTS
    with opened_index(path) as index, open_regular(journal) if journal.exists() else BytesIO() as file:
        damaged_lines = [(offset, line) for line, offset, _ in index.damaged(EVENTS)]
        damaged: dict[int, str] = {}

        def events_of(record: Record) -> dict[str, Any]:
            newest: dict[str, Any] = {}
            for offset, number in sorted(index.events(record.key) + damaged_lines):
                file.seek(offset)
                raw = file.readline(LONGEST_LINE)
                if str(record.sha256).encode() not in raw:
                    continue
                try:
                    line = decoded(raw.removesuffix(b"\n"), _Events)[0]
                except ValueError as error:
                    damaged[number] = str(error)
                    continue
                if (line.get("path") or line["clip"]) == record.key and line["sha256"] == record.sha256:
                    newest.update(line["metrics"])
            return {metric: newest[metric] for metric in in_order(newest) if metric in record.settled()}

        yield events_of
    if warnings is not None:
        warnings += sentences(EVENTS, sorted(damaged.items()))


def read_events(path: Path, record: Record, warnings: list[str] | None = None) -> dict[str, Any]:
    """Return events and series of one clip, as :func:`opened_events` does."""
    with opened_events(path, warnings) as events_of:
        return events_of(record)
