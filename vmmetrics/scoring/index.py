"""Index of a run directory: offsets of the newest line of every clip and of its events, and its settled metrics.

It is derived from the journals: one that is missing, damaged or of other journals is rebuilt. Where none can be stored
(a disk without SQLite's locks, a read-only folder) a temporary one is used.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from vmmetrics.scoring.entry import Entry, Kind, kind_of, state_text
from vmmetrics.scoring.record import Record, State
from vmmetrics.utils.schema import convert_json
from vmmetrics.utils.storage.journal import Journal, RawLine, sentences

SCORES, EVENTS, STATES = "scores.jsonl", "events.jsonl", "states.jsonl"
FILE = "index.sqlite"
"""Its name in the run directory."""
KEYS = 500
"""Clips to ask for in one query."""
_LAYOUT = 1  # of the tables
_BUFFER_LINES = 10_000  # lines that are in memory alone
_BUFFER_SECONDS = 5.0
_WAIT_SECONDS = 10.0  # for another process that reads or writes the index
_CACHE_KIB = 32_768
_HEAD = 65_536  # bytes in which a line of events names its clip
_SCHEMA = (
    "CREATE TABLE journals (name TEXT PRIMARY KEY, offset INTEGER, lines INTEGER, last INTEGER, crc INTEGER, "
    "mtime_ns INTEGER)",
    "CREATE TABLE kinds (id INTEGER PRIMARY KEY, text TEXT UNIQUE)",
    "CREATE TABLE clips (id INTEGER PRIMARY KEY, key BLOB UNIQUE, clip BLOB, offset INTEGER, sha256 BLOB, state TEXT, "
    "input BLOB, failed INTEGER, kind INTEGER)",
    "CREATE INDEX names ON clips (clip)",
    "CREATE TABLE events (clip INTEGER, offset INTEGER, line INTEGER, PRIMARY KEY (clip, offset)) WITHOUT ROWID",
    "CREATE TABLE damaged (name TEXT, line INTEGER, offset INTEGER, why TEXT)",
)
T = TypeVar("T")


class _Position(NamedTuple):
    """Position up to which a journal was read: bytes, lines, start of the last line, and checksum of the part read."""

    offset: int = 0
    lines: int = 0
    last: int = 0
    crc: int = 0


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


class _OtherError(Exception):
    """The file is no index of these journals."""


class RunIndex:
    """The index, open.

    Args:
        run: Run directory.
        writing: True if it may be written there; the caller then holds the lock of the journals around opening,
            :meth:`update` and :meth:`close`. Otherwise nothing in the directory is changed.
    """

    def __init__(self, run: Path, *, writing: bool) -> None:
        self._path = run / FILE
        self._journals = {name: Journal(run / name) for name in (SCORES, STATES, EVENTS)}
        self._reset()
        self._read_only = not writing
        self._flushed = time.monotonic()
        try:
            self._db = self._opened(writing)
            self._positions = self._checked()
            if self._read_only and self._behind():
                self._db = _copied(self._db)
                self._read_only = False
        except (sqlite3.Error, OSError, _OtherError):
            self._rebuild(writing)
        self.update()
        if not self._read_only:
            self._recovering(self._write_buffer)  # the times of the journals, too

    def _reset(self) -> None:
        self._positions = dict.fromkeys(self._journals, _Position())
        self._clips: dict[bytes, tuple[bytes, Entry]] = {}
        self._events: list[tuple[int, int, int]] = []
        self._notes: list[tuple[str | None, bytes, bytes, int]] = []
        self._damaged: list[tuple[str, int, int, str]] = []
        self._kinds: dict[int, str] = {}

    def _opened(self, writing: bool) -> sqlite3.Connection:
        if writing:
            return _connected(str(self._path))
        if not self._path.is_file():
            raise _OtherError
        return _connected(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)

    def _checked(self) -> dict[str, _Position]:
        """Return the positions up to which the index covers the journals.

        Raises:
            _OtherError: It is not an index, has another layout, or is of other journals.
            sqlite3.Error: It is damaged.
        """
        db = self._db
        tables = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master") if sql}
        layout = db.execute("PRAGMA user_version").fetchone()[0]
        if (tables, layout) != (set(_SCHEMA), _LAYOUT) or db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise _OtherError
        positions = {name: (_Position(*row), mtime) for name, *row, mtime in db.execute("SELECT * FROM journals")}
        if positions.keys() != self._journals.keys():
            raise _OtherError
        for name, (position, mtime) in positions.items():
            if not _is_of(self._journals[name].path, position, mtime, whole=name != EVENTS):
                raise _OtherError
        return {name: position for name, (position, _) in positions.items()}

    @property
    def read(self) -> int:
        """Bytes of ``scores.jsonl`` that were indexed."""
        return self._positions[SCORES].offset

    def _behind(self) -> bool:
        lines = (self._journals[name].raw_lines(position.offset) for name, position in self._positions.items())
        return any(next(new, None) is not None for new in lines)

    def _rebuild(self, writing: bool) -> None:
        """Make an empty index, in place of the file or, if that fails, as a temporary one."""
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self._db.close()
        self._reset()
        self._read_only = False
        if writing:
            with contextlib.suppress(sqlite3.Error, OSError):
                for name in (FILE, f"{FILE}-journal"):
                    self._path.with_name(name).unlink(missing_ok=True)
                self._db = _created(str(self._path), self._journals)
                return
        self._db = _created("", self._journals)

    def _recovering(self, work: Callable[[], T]) -> T:
        """Run a function that uses the index; if that fails, again with a temporary index."""
        try:
            return work()
        except sqlite3.Error:
            self._rebuild(writing=False)
            self._take_in()
            self._write_buffer()
            return work()

    def update(self) -> None:
        """Read the lines appended to the journals.

        Raises:
            SetupError: One of them was removed or cut short.
        """
        self._recovering(self._take_in)

    def _take_in(self) -> None:
        takers = {SCORES: self._take_scores, STATES: self._take_state, EVENTS: self._take_events}
        for name, take in takers.items():
            for raw in self._journals[name].raw_lines(self._positions[name].offset):
                _, lines, _, crc = self._positions[name]
                try:
                    take(raw, lines + 1)
                except ValueError as error:
                    fault = str(error).encode("utf-8", "backslashreplace").decode()
                    self._damaged.append((name, lines + 1, raw.start, fault))
                crc = zlib.crc32(raw.text, 0 if name == EVENTS else crc)
                self._positions[name] = _Position(raw.end, lines + 1, raw.start, crc)
                if self._buffered >= _BUFFER_LINES:
                    self._write_buffer()
        if self._buffered and time.monotonic() - self._flushed >= _BUFFER_SECONDS:
            self._write_buffer()

    @property
    def _buffered(self) -> int:
        return len(self._clips) + len(self._events) + len(self._notes) + len(self._damaged)

    def _take_scores(self, raw: RawLine, _: int) -> None:
        record = Record.from_line(raw.text)
        self._clips[_bytes(record.key)] = (_bytes(record.clip), Entry.of(record, raw.start))

    def _take_state(self, raw: RawLine, _: int) -> None:
        note = convert_json(StateNote, raw.text)
        self._notes.append((state_text(note.state), _bytes(note.key), _bytes(note.sha256), raw.start))

    def _take_events(self, raw: RawLine, number: int) -> None:
        end = raw.text.find(b',"metrics":', 0, _HEAD)  # quotes within a text have a backslash in front
        head = convert_json(_EventHead, raw.text if end < 0 else raw.text[:end] + b"}")
        self._events.append((_number(head.path or head.clip), raw.start, number))

    def flush(self) -> None:
        """Write the buffered entries and the positions in the journals."""
        if not self._read_only and self._buffered:
            self._recovering(self._write_buffer)

    def _write_buffer(self) -> None:
        self._flushed = time.monotonic()
        with _transaction(self._db):
            self._write()
        self._clips, self._events, self._notes, self._damaged = {}, [], [], []

    def _write(self) -> None:
        db = self._db
        before = dict(db.execute("SELECT name, offset FROM journals"))  # another process may be further
        clips = [
            (key, clip, e.offset, _bytes(e.sha256), e.state, e.input, e.failed, e.kind)
            for key, (clip, e) in self._clips.items()
            if e.offset >= before[SCORES]
        ]
        db.executemany("INSERT OR IGNORE INTO kinds (text) VALUES (?)", {(clip[-1],) for clip in clips})
        db.executemany(_INSERT, clips)
        notes = (note[:3] for note in self._notes if note[3] >= before[STATES])
        db.executemany("UPDATE clips SET state = ? WHERE key = ? AND sha256 = ?", notes)
        db.executemany("INSERT OR REPLACE INTO events VALUES (?, ?, ?)", self._events)
        damaged = (row for row in self._damaged if row[2] >= before[row[0]])
        db.executemany("INSERT INTO damaged VALUES (?, ?, ?, ?)", damaged)
        for name, position in self._positions.items():
            if position.offset >= before[name]:
                path = self._journals[name].path
                stat = path.stat() if path.exists() else None
                mtime = stat.st_mtime_ns if stat is not None and stat.st_size == position.offset else -1
                db.execute("INSERT OR REPLACE INTO journals VALUES (?, ?, ?, ?, ?, ?)", (name, *position, mtime))

    def entries(self, keys: Sequence[str]) -> dict[str, Entry]:
        """Return the entries of the clips with these keys that have a line."""
        entries: dict[str, Entry] = {}
        for key, offset, sha256, state, inputs, failed, kind in self._rows(keys, _ENTRY):
            if kind not in self._kinds:
                self._kinds.update(self._recovering(lambda: self._db.execute("SELECT id, text FROM kinds").fetchall()))
            text = None if sha256 is None else _text(sha256)
            entries[_text(key)] = Entry(offset, text, state, inputs, bool(failed), self._kinds[kind])
        if self._clips:
            entries |= {key: newest[1] for key in keys if (newest := self._clips.get(_bytes(key))) is not None}
        return entries

    def offsets_of(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the offsets of the newest lines of the clips with these keys that have one."""
        offsets = {_text(key): offset for key, offset in self._rows(keys, "key, offset")}
        if self._clips:
            offsets |= {key: newest[1].offset for key in keys if (newest := self._clips.get(_bytes(key))) is not None}
        return offsets

    def names(self, column: str, values: Sequence[str]) -> list[tuple[str, str]]:
        """Return key and name of the clips whose ``key`` or ``clip`` is given, as of the last :meth:`flush`."""
        return [(_text(key), _text(clip)) for key, clip in self._rows(values, "key, clip", column)]

    def _rows(self, values: Sequence[str], columns: str, by: str = "key") -> list[Any]:
        sql = f"SELECT {columns} FROM clips WHERE {by} IN ({', '.join('?' * len(values))})"  # noqa: S608  (all ours)
        return self._recovering(lambda: self._db.execute(sql, [_bytes(value) for value in values]).fetchall())

    def key_of(self, clip: str, sha256: str | None) -> str | None:
        """Return the key of the clip of that name and content, or None."""
        self.flush()
        sql = "SELECT key FROM clips WHERE clip = ? AND sha256 IS ?"
        row = self._recovering(lambda: self._db.execute(sql, (_bytes(clip), _bytes(sha256))).fetchone())
        return None if row is None else _text(row[0])

    def offsets(self) -> Sequence[int]:
        """Return the offset of the newest line of every clip, in order of the clips' names."""
        self.flush()

        def read() -> array[int]:
            offsets, name, number = array("q"), b"", -1
            while True:  # a page at a time: who reads for long would keep others from writing
                rows = self._db.execute(_PAGE, (name, number)).fetchall()
                offsets.extend(offset for _, _, offset in rows)
                if not rows:
                    return offsets
                name, number, _ = rows[-1]

        return self._recovering(read)

    def events(self, key: str) -> list[tuple[int, int]]:
        """Return offset and number of the lines with events of a clip, oldest first."""
        number, sql = _number(key), "SELECT offset, line FROM events WHERE clip = ? ORDER BY offset"
        stored = self._recovering(lambda: self._db.execute(sql, (number,)).fetchall())
        return sorted({*stored, *((offset, line) for clip, offset, line in self._events if clip == number)})

    def kinds(self) -> list[Kind]:
        """Return the kinds of records there are."""
        self.flush()
        sql = "SELECT text FROM kinds WHERE id IN (SELECT DISTINCT kind FROM clips)"
        return [kind_of(text) for (text,) in self._recovering(lambda: self._db.execute(sql).fetchall())]

    def damaged(self, name: str) -> list[tuple[int, int, str]]:
        """Return number, offset and fault of the lines of a journal that were skipped."""
        sql = "SELECT line, offset, why FROM damaged WHERE name = ?"
        stored = self._recovering(lambda: self._db.execute(sql, (name,)).fetchall())
        return sorted({*stored, *(row[1:] for row in self._damaged if row[0] == name)})

    def warnings(self, then: str = "") -> list[str]:
        """Return texts on skipped lines of ``scores.jsonl``; ``then`` states the consequence."""
        return sentences(SCORES, [(line, fault) for line, _, fault in self.damaged(SCORES)], then)

    def close(self) -> None:
        """Close the file; entries that :meth:`flush` did not write are read from the journals next time."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()


_INSERT = (
    "INSERT INTO clips (key, clip, offset, sha256, state, input, failed, kind) "
    "SELECT ?, ?, ?, ?, ?, ?, ?, id FROM kinds WHERE text = ? "
    "ON CONFLICT (key) DO UPDATE SET clip = excluded.clip, offset = excluded.offset, sha256 = excluded.sha256, "
    "state = excluded.state, input = excluded.input, failed = excluded.failed, kind = excluded.kind"
)
_ENTRY = "key, offset, sha256, state, input, failed, kind"
_PAGE = "SELECT clip, id, offset FROM clips WHERE (clip, id) > (?, ?) ORDER BY clip, id LIMIT 10000"


def _connected(path: str, uri: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, uri=uri)
    db.execute("PRAGMA trusted_schema = OFF")  # the file may be somebody else's
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    return db


def _copied(db: sqlite3.Connection) -> sqlite3.Connection:
    private = _connected("")
    with contextlib.closing(db):
        db.backup(private)
    return private


def _created(path: str, journals: Mapping[str, object]) -> sqlite3.Connection:
    db = _connected(path)
    with _transaction(db):
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {_LAYOUT}")
        db.executemany("INSERT INTO journals VALUES (?, 0, 0, 0, 0, -1)", [(name,) for name in journals])
    return db


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _is_of(path: Path, position: _Position, mtime_ns: int, whole: bool) -> bool:
    """Return True if a journal begins with the part that was read, by checksum of that part or of its last line."""
    stat = path.stat() if path.exists() else None
    size, mtime = (0, -1) if stat is None else (stat.st_size, stat.st_mtime_ns)
    if size < position.offset:
        return False
    if size == position.offset and mtime == mtime_ns:
        return True
    start, crc = 0 if whole else position.last, 0
    for raw in Journal(path).raw_lines(start) if position.offset else ():
        crc = zlib.crc32(raw.text, crc)
        if raw.end >= position.offset:
            return raw.end == position.offset and crc == position.crc
    return not position.offset


def _bytes(text: str | None) -> Any:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")


def _number(key: str) -> int:
    """Return a hash of eight bytes of a key; collisions are rare, and lines of events name their clip."""
    return int.from_bytes(blake2b(_bytes(key), digest_size=8).digest(), "big", signed=True)
