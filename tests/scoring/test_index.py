"""The index of a run is derived: made anew wherever it is not that of the journals; nothing is lost with it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from vmmetrics.scoring import index
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.index import RunIndex
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import read_events, read_records, records_by_name

CLIPS = [f"m/{name}.mp4" for name in ("b", "a", "\udcff", "ü", "c")]


def record(clip: str, score: float = 0.5) -> Record:
    return Record(clip, "m", f"/x/{clip}", "ab" * 32, "embedded", "vmmetrics", {"pas": score}, tags={"speed": 1})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunDirectory(tmp_path / "run", {}, {}) as directory:
        for clip in CLIPS:
            directory.append(record(clip), {"pas": {"events": [], "series": {"value": [0.5]}}})
    return tmp_path / "run"


def other_layout(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA user_version = 99")


def with_a_trigger(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON clips BEGIN DELETE FROM clips; END")


def torn(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize(
    "spoil",
    [Path.unlink, lambda file: file.write_bytes(b""), lambda file: file.write_bytes(b"x" * 9000), torn, other_layout,
     with_a_trigger],
)  # fmt: skip
def test_an_index_that_is_none_is_made_anew(run: Path, spoil: object) -> None:
    spoil(run / "index.sqlite")  # type: ignore[operator]
    assert [r.clip for r in read_records(run)] == sorted(CLIPS)  # a reader makes one for itself
    with RunDirectory(run, {}, {}) as directory:
        assert directory.newest("/x/m/a.mp4") == record("m/a.mp4")
    with closing(sqlite3.connect(run / "index.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM clips").fetchone() == (len(CLIPS),)


def test_what_was_changed_by_hand_counts(run: Path) -> None:
    lines = (run / "scores.jsonl").read_bytes()
    (run / "scores.jsonl").write_bytes(lines.replace(b'"pas":0.5', b'"pas":0.4', 1))  # no byte more or less
    assert sorted(r.scores["pas"] for r in read_records(run)) == [0.4, 0.5, 0.5, 0.5, 0.5]
    with RunDirectory(run, {}, {}) as directory:
        newest = directory.newest("/x/m/b.mp4")
        assert newest is not None and newest.scores == {"pas": 0.4}
    (run / "scores.jsonl").write_bytes(b"".join(lines.splitlines(keepends=True)[2:]))
    assert len(read_records(run)) == len(CLIPS) - 2


def test_an_index_that_is_behind_is_caught_up_with(run: Path) -> None:
    before = (run / "index.sqlite").read_bytes()
    with RunDirectory(run, {}, {}) as directory:
        directory.append(record("m/a.mp4", 0.25), {})
        directory.append(record("m/z.mp4"), {"pas": {"events": [], "series": {}}})
    (run / "index.sqlite").write_bytes(before)  # as a process leaves it that is killed before it writes it
    assert [(r.clip, r.scores["pas"]) for r in records_by_name(run)] == [
        (clip, 0.25 if clip == "m/a.mp4" else 0.5) for clip in sorted([*CLIPS, "m/z.mp4"])
    ]
    assert (run / "index.sqlite").read_bytes() == before  # a reader changes nothing
    assert "pas" in read_events(run, record("m/z.mp4"))


def test_only_what_is_new_is_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    from_line = Record.from_line.__func__  # type: ignore[attr-defined]
    spy = classmethod(lambda cls, line: (read.append(line), from_line(cls, line))[1])
    monkeypatch.setattr(Record, "from_line", spy)
    with RunDirectory(run, {}, {}) as directory:
        assert directory.entries(["/x/m/a.mp4"]).get("/x/m/a.mp4") is not None
        assert read == []
        directory.append(record("m/new.mp4"), {})
    assert len(read) == 1


def test_without_a_place_for_it_a_temporary_one_does(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, uri: bool = False) -> sqlite3.Connection:
        if path:
            raise sqlite3.OperationalError("locking protocol")
        return connected(path, uri)

    connected = index._connected
    monkeypatch.setattr(index, "_connected", refuse)
    with RunDirectory(run, {}, {}) as directory:
        directory.append(record("m/new.mp4"), {})
        assert directory.newest("/x/m/new.mp4") == record("m/new.mp4")
    assert [r.clip for r in read_records(run)] == sorted([*CLIPS, "m/new.mp4"])


def test_damage_during_the_work_is_survived(run: Path) -> None:
    with RunDirectory(run, {}, {}) as directory:
        (run / "index.sqlite").write_bytes(b"x" * 20_000)  # under its hands
        for number in range(3):
            directory.append(record(f"m/{number}.mp4"), {})
        directory.commit()
        assert directory.newest("/x/m/a.mp4") == record("m/a.mp4")
    assert len(read_records(run)) == len(CLIPS) + 3


def test_many_lines_go_through_in_pieces(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_BUFFER_LINES", 3)
    monkeypatch.setattr(index, "_PAGE", index._PAGE.replace("10000", "2"))
    (run / "index.sqlite").unlink()
    with RunDirectory(run, {}, {}) as directory:
        directory.append(replace(record("m/a.mp4"), error="broken"), {})
    with closing(RunIndex(run, writing=False)) as found:
        assert len(found.offsets()) == len(CLIPS)
        assert [r.clip for r in records_by_name(run)] == sorted(CLIPS)
        entry = found.entries(["/x/m/a.mp4"]).get("/x/m/a.mp4")
        assert entry is not None and entry.failed and entry.settled == frozenset()
        assert {tag for kind in found.kinds() for tag in kind.tags} == {"speed"}
