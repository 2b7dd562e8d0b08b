"""Index of a run directory: offsets of the newest line of every clip and of its events, and its settled metrics.

It is made of the journals whenever a run is opened, in a temporary database, so that nothing but them decides what is
read: 100,000 clips take some seconds.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from vmmetrics.errors import SetupError
from vmmetrics.scoring.record import FIRST_VERSION, Record, State
from vmmetrics.utils.schema import convert_json
from vmmetrics.utils.storage.journal import Journal, RawLine, sentences

SCORES, EVENTS, STATES = "scores.jsonl", "events.jsonl", "states.jsonl"
KEYS = 500
"""Clips to ask for in one query."""
_LINES_AT_ONCE = 10_000
_CACHE_KIB = 32_768
_HEAD = 65_536  # bytes in which a line of events names its clip
_SCHEMA = """
CREATE TABLE kinds (id INTEGER PRIMARY KEY, text TEXT UNIQUE);
CREATE TABLE clips (id INTEGER PRIMARY KEY, key BLOB UNIQUE, clip BLOB, offset INTEGER, sha256 BLOB, state TEXT,
    input BLOB, failed INTEGER, kind INTEGER);
CREATE INDEX names ON clips (clip);
CREATE TABLE events (clip INTEGER, offset INTEGER, line INTEGER, PRIMARY KEY (clip, offset)) WITHOUT ROWID;
CREATE TABLE damaged (name TEXT, line INTEGER, offset INTEGER, why TEXT);
"""
_INSERT = (
    "INSERT INTO clips (key, clip, offset, sha256, state, input, failed, kind) "
    "SELECT ?, ?, ?, ?, ?, ?, ?, id FROM kinds WHERE text = ? "
    "ON CONFLICT (key) DO UPDATE SET clip = excluded.clip, offset = excluded.offset, sha256 = excluded.sha256, "
    "state = excluded.state, input = excluded.input, failed = excluded.failed, kind = excluded.kind"
)
_ENTRY = "key, offset, sha256, state, input, failed, (SELECT text FROM kinds WHERE kinds.id = kind)"
_ENCODER = json.JSONEncoder(sort_keys=True, default=str)


class Kind(NamedTuple):
    """Part of an entry that many records share.

    Attributes:
        settled: Metrics that are scored or missing.
        errors: Metrics that failed.
        tags: Names of the tags.
        versions: Metric versions of the scores, by metric.
    """

    settled: frozenset[str]
    errors: frozenset[str]
    tags: tuple[str, ...]
    versions: Mapping[str, int]


@lru_cache(4096)
def kind_of(text: str) -> Kind:
    """Return the kind that was written as JSON."""
    settled, errors, tags, versions = json.loads(text)
    return Kind(frozenset(settled), frozenset(errors), tuple(tags), versions)


class Entry(NamedTuple):
    """Short form of a clip's newest record.

    Attributes:
        offset: Byte offset of its newest line in ``scores.jsonl``.
        sha256: SHA-256 (hex) of its content, or None.
        state: State of its file (:func:`state_text`), or None.
        input: Hash of prompt, subject and tags (:func:`input_hash`).
        failed: True if the clip failed as a whole.
        kind: :class:`Kind`, as JSON.
    """

    offset: int
    sha256: str | None
    state: str | None
    input: bytes
    failed: bool
    kind: str

    @classmethod
    def of(cls, record: Record, offset: int = 0) -> Entry:
        """Return the entry of a record."""
        settled = sorted({*record.scores, *record.missing})
        versions = {metric: record.score_version.get(metric, FIRST_VERSION) for metric in settled}
        kind = json.dumps([settled, sorted(record.errors), sorted(record.tags), versions])
        subject = record.subject and (record.subject.get("noun"), record.subject.get("phrase"))
        inputs = input_hash(record.prompt, subject or None, record.tags)
        return cls(offset, record.sha256, state_text(record.state), inputs, record.error is not None, kind)

    @property
    def settled(self) -> frozenset[str]:
        """The metrics that need no more work: scored or missing."""
        return frozenset() if self.failed else kind_of(self.kind).settled

    @property
    def errors(self) -> frozenset[str]:
        """The metrics that failed."""
        return kind_of(self.kind).errors


def state_text(state: State | None) -> str | None:
    """Return the state of a file as text that is equal where the states are."""
    return None if state is None else _ENCODER.encode(dict(state))


def input_hash(prompt: str | None, subject: tuple[str | None, str | None] | None, tags: Mapping[str, Any]) -> bytes:
    """Return a hash of a clip's inputs besides its content: prompt, noun and phrase of its subject, tags."""
    if prompt is None and subject is None and not tags:
        return b""
    numbers = {name: float(v) if isinstance(v, int | float) else v for name, v in tags.items()}
    text = _ENCODER.encode([prompt, subject, numbers])
    return blake2b(text.encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class _EventHead:
    """Fields that identify the clip of a line of ``events.jsonl``."""

    clip: str
    sha256: str | None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class StateNote:
    """A line of ``states.jsonl``: a file that was hashed again and has the content that was scored."""

    key: str
    sha256: str
    state: State


class RunIndex:
    """The index.

    Args:
        run: Run directory; nothing in it is changed.

    Raises:
        SetupError: A journal cannot be read, or there is no room for temporary files.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._journals = {name: Journal(run / name) for name in (SCORES, STATES, EVENTS)}
        self._positions = dict.fromkeys(self._journals, (0, 0))  # bytes and lines that were read
        self._db = sqlite3.connect("", isolation_level=None)  # a file of SQLite's own, once it outgrows the cache
        self._db.executescript(f"PRAGMA cache_size = -{_CACHE_KIB}; PRAGMA synchronous = OFF; {_SCHEMA}")
        self.update()

    @property
    def read(self) -> int:
        """Bytes of ``scores.jsonl`` that were indexed."""
        return self._positions[SCORES][0]

    def update(self) -> None:
        """Read the lines appended to the journals.

        Raises:
            SetupError: One of them was removed or cut short.
        """
        self._take_in(SCORES)
        self._take_in(STATES)

    def _take_in(self, name: str) -> None:
        lines = self._journals[name].raw_lines(self._positions[name][0])
        while block := list(islice(lines, _LINES_AT_ONCE)):
            first = self._positions[name][1] + 1
            with self._transaction() as db:
                rows, damaged = self._rows_of(name, enumerate(block, first))
                if name == SCORES:
                    db.executemany("INSERT OR IGNORE INTO kinds (text) VALUES (?)", {row[-1:] for row in rows})
                    db.executemany(_INSERT, rows)
                elif name == STATES:
                    db.executemany("UPDATE clips SET state = ? WHERE key = ? AND sha256 = ?", rows)
                else:
                    db.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
                db.executemany("INSERT INTO damaged VALUES (?, ?, ?, ?)", damaged)
            self._positions[name] = block[-1].end, first + len(block) - 1

    @staticmethod
    def _rows_of(name: str, lines: Iterable[tuple[int, RawLine]]) -> tuple[list[tuple[Any, ...]], list[Any]]:
        """Return what is stored of lines of a journal, and what of those that are damaged."""
        row = {SCORES: _clip_row, STATES: _state_row, EVENTS: _events_row}[name]
        rows, damaged = [], []
        for number, raw in lines:
            try:
                rows.append(row(raw, number))
            except ValueError as error:
                fault = str(error).encode("utf-8", "backslashreplace").decode()
                damaged.append((name, number, raw.start, fault))
        return rows, damaged

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise SetupError(f"Cannot index {self._run}: {error}; free some room for temporary files") from error

    def _select(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._transaction() as db:
            return db.execute(sql, values).fetchall()

    def entries(self, keys: Sequence[str]) -> dict[str, Entry]:
        """Return the entries of the clips with these keys that have a line."""
        return {
            _text(key): Entry(offset, None if sha256 is None else _text(sha256), state, inputs, bool(failed), kind)
            for key, offset, sha256, state, inputs, failed, kind in self._clips(_ENTRY, keys)
        }

    def offsets_of(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the offsets of the newest lines of the clips with these keys that have one."""
        return {_text(key): offset for key, offset in self._clips("key, offset", keys)}

    def names(self, column: str, values: Sequence[str]) -> list[tuple[str, str]]:
        """Return key and name of the clips whose ``key`` or ``clip`` is given."""
        return [(_text(key), _text(clip)) for key, clip in self._clips("key, clip", values, column)]

    def _clips(self, columns: str, values: Sequence[str], by: str = "key") -> list[Any]:
        sql = f"SELECT {columns} FROM clips WHERE {by} IN ({', '.join('?' * len(values))})"  # noqa: S608  (all ours)
        return self._select(sql, [_bytes(value) for value in values])

    def key_of(self, clip: str, sha256: str | None) -> str | None:
        """Return the key of the clip of that name and content, or None."""
        sql = "SELECT key FROM clips WHERE clip = ? AND sha256 IS ?"
        rows = self._select(sql, (_bytes(clip), _bytes(sha256)))
        return _text(rows[0][0]) if rows else None

    def offsets(self) -> Sequence[int]:
        """Return the offset of the newest line of every clip, in order of the clips' names."""
        return array("q", (offset for (offset,) in self._select("SELECT offset FROM clips ORDER BY clip, id")))

    def events(self, key: str) -> list[tuple[int, int]]:
        """Return offset and number of the lines with events of a clip, oldest first."""
        self._take_in(EVENTS)  # here, as few need it and it is the largest
        return self._select("SELECT offset, line FROM events WHERE clip = ? ORDER BY offset", (_number(key),))

    def kinds(self) -> list[Kind]:
        """Return the kinds of records there are."""
        texts = self._select("SELECT text FROM kinds WHERE id IN (SELECT DISTINCT kind FROM clips)")
        return [kind_of(text) for (text,) in texts]

    def damaged(self, name: str) -> list[tuple[int, int, str]]:
        """Return number, offset and fault of the lines of a journal that were skipped."""
        self._take_in(name)
        return self._select("SELECT line, offset, why FROM damaged WHERE name = ? ORDER BY line", (name,))

    def warnings(self, then: str = "") -> list[str]:
        """Return texts on skipped lines of ``scores.jsonl``; ``then`` states the consequence."""
        return sentences(SCORES, [(line, fault) for line, _, fault in self.damaged(SCORES)], then)

    def close(self) -> None:
        """Remove it."""
        self._db.close()


def _clip_row(raw: RawLine, _: int) -> tuple[Any, ...]:
    record = Record.from_line(raw.text)
    e = Entry.of(record, raw.start)
    key, clip, sha256 = _bytes(record.key), _bytes(record.clip), _bytes(e.sha256)
    return key, clip, e.offset, sha256, e.state, e.input, e.failed, e.kind


def _state_row(raw: RawLine, _: int) -> tuple[Any, ...]:
    note = convert_json(StateNote, raw.text)
    return state_text(note.state), _bytes(note.key), _bytes(note.sha256)


def _events_row(raw: RawLine, number: int) -> tuple[Any, ...]:
    end = raw.text.find(b',"metrics":', 0, _HEAD)  # quotes within a text have a backslash in front
    head = convert_json(_EventHead, raw.text if end < 0 else raw.text[:end] + b"}")
    return _number(head.path or head.clip), raw.start, number


def _bytes(text: str | None) -> Any:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")


def _number(key: str) -> int:
    """Return a hash of eight bytes of a key; collisions are rare, and lines of events name their clip."""
    return int.from_bytes(blake2b(_bytes(key), digest_size=8).digest(), "big", signed=True)
