"""What is read of a run is decided by its journals alone, whatever lies beside them."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.scoring import index
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.index import RunIndex
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import read_events, read_records, records_by_name

CLIPS = [f"m/{name}.mp4" for name in ("b", "a", "\udcff", "ü", "c")]
SCHEMA_OF_0_2 = """
CREATE TABLE journals (name TEXT PRIMARY KEY, offset INTEGER, lines INTEGER, last INTEGER, crc INTEGER,
    mtime_ns INTEGER);
CREATE TABLE clips (id INTEGER PRIMARY KEY, key BLOB UNIQUE, clip BLOB, offset INTEGER, sha256 BLOB, state TEXT,
    input BLOB, failed INTEGER, kind INTEGER);
PRAGMA user_version = 1;
"""


def record(clip: str, score: float = 0.5) -> Record:
    return Record(clip, "m", f"/x/{clip}", "ab" * 32, "embedded", "vmmetrics", {"pas": score}, tags={"speed": 1})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunDirectory(tmp_path / "run", {}, {}) as directory:
        for clip in CLIPS:
            directory.append(record(clip), {"pas": {"events": [], "series": {"value": [0.5]}}})
    return tmp_path / "run"


def test_an_index_of_somebody_else_decides_nothing(run: Path) -> None:
    file = run / "index.sqlite"  # as release 0.2 kept it
    with closing(sqlite3.connect(file)) as db:
        db.executescript(SCHEMA_OF_0_2)
        journal = run / "scores.jsonl"
        read = (journal.stat().st_size, 5, 0, 0, journal.stat().st_mtime_ns)
        db.execute("INSERT INTO journals VALUES ('scores.jsonl', ?, ?, ?, ?, ?)", read)
        for number, clip in enumerate(CLIPS):
            db.execute("INSERT INTO clips (key, clip, offset) VALUES (?, ?, 0)", (str(number), repr(clip).encode()))
        db.commit()
    stored = file.read_bytes()
    chance = random.Random(1)
    expected = [(clip, {"pas": 0.5}) for clip in sorted(CLIPS)]
    for number in range(20):
        damaged = bytearray(stored)
        if number:
            damaged[chance.randrange(len(stored))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        assert [(r.clip, r.scores) for r in read_records(run)] == expected
        assert "pas" in read_events(run, record("m/a.mp4"))
        assert file.read_bytes() == damaged  # a reader changes nothing
    with RunDirectory(run, {}, {}) as directory:
        assert directory.newest("/x/m/a.mp4") == record("m/a.mp4")


def test_what_was_changed_by_hand_counts(run: Path) -> None:
    lines = (run / "scores.jsonl").read_bytes()
    (run / "scores.jsonl").write_bytes(lines.replace(b'"pas":0.5', b'"pas":0.4', 1))  # no byte more or less
    assert sorted(r.scores["pas"] for r in read_records(run)) == [0.4, 0.5, 0.5, 0.5, 0.5]
    with RunDirectory(run, {}, {}) as directory:
        newest = directory.newest("/x/m/b.mp4")
        assert newest is not None and newest.scores == {"pas": 0.4}
    (run / "scores.jsonl").write_bytes(b"".join(lines.splitlines(keepends=True)[2:]))
    assert len(read_records(run)) == len(CLIPS) - 2


def test_later_lines_count(run: Path) -> None:
    with RunDirectory(run, {}, {}) as directory, closing(RunIndex(run)) as reader:
        directory.append(record("m/a.mp4", 0.25), {})
        directory.append(record("m/z.mp4"), {"pas": {"events": [], "series": {}}})
        directory.commit()
        assert len(reader.offsets()) == len(CLIPS)
        reader.update()
        assert len(reader.offsets()) == len(CLIPS) + 1
    assert [(r.clip, r.scores["pas"]) for r in records_by_name(run)] == [
        (clip, 0.25 if clip == "m/a.mp4" else 0.5) for clip in sorted([*CLIPS, "m/z.mp4"])
    ]
    assert "pas" in read_events(run, record("m/z.mp4"))


def test_a_line_is_read_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    from_line = Record.from_line.__func__  # type: ignore[attr-defined]
    spy = classmethod(lambda cls, line: (read.append(line), from_line(cls, line))[1])
    monkeypatch.setattr(Record, "from_line", spy)
    with RunDirectory(run, {}, {}) as directory:
        assert len(read) == len(CLIPS)
        assert directory.entries(["/x/m/a.mp4"]).get("/x/m/a.mp4") is not None
        assert len(read) == len(CLIPS)
        directory.append(record("m/new.mp4"), {})
    assert len(read) == len(CLIPS) + 1


def test_no_room_for_it_is_said(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_INSERT", "INSERT INTO nowhere VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
    with pytest.raises(SetupError, match=r"Cannot index .*; free some room for temporary files"):
        read_records(run)


def test_many_lines_go_through_in_pieces(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_LINES_AT_ONCE", 3)
    with RunDirectory(run, {}, {}) as directory:
        directory.append(replace(record("m/a.mp4"), error="broken"), {})
    with closing(RunIndex(run)) as found:
        assert len(found.offsets()) == len(CLIPS)
        assert [r.clip for r in records_by_name(run)] == sorted(CLIPS)
        entry = found.entries(["/x/m/a.mp4"]).get("/x/m/a.mp4")
        assert entry is not None and entry.failed and entry.settled == frozenset()
        assert {tag for kind in found.kinds() for tag in kind.tags} == {"speed"}
