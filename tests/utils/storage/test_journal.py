from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.errors import SetupError
from vmmetrics.utils.storage.journal import Journal, encode, iterate_lines

LINES = [{"clip": "a", "x": 1}, {"clip": "ü\u2028b", "x": 2.5}, {"clip": "c\n", "x": None}]


def test_what_is_appended_is_read_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append(LINES[:2])
    assert journal.read_new() == LINES[:2]
    journal.append(LINES[2:])
    assert journal.read_new() == LINES[2:]
    assert journal.read_new() == []
    assert Journal(tmp_path / "j.jsonl").read_new() == LINES


@given(cut=st.integers(0, 200))
def test_cut_off_anywhere_loses_only_the_torn_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    data = b"".join(encode(line) for line in LINES)
    path.write_bytes(data[:cut])
    whole = data[:cut].count(b"\n")
    journal = Journal(path)
    assert journal.read_new() == LINES[:whole]
    journal.append([{"clip": "d"}])
    assert Journal(path).read_new() == [*LINES[:whole], {"clip": "d"}]
    assert journal.read_new() == [{"clip": "d"}]
    assert journal.damaged == []


def test_a_long_torn_tail_is_cut_whole(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1}\n' + b"x" * 200_000)
    assert Journal(path).cut_torn_tail() == 200_000
    assert path.read_bytes() == b'{"a":1}\n'


def test_a_damaged_line_in_the_middle_is_passed_over_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1}\n\x00\x00garbage\n[1]\n{"a":2}\n')
    journal = Journal(path)
    assert journal.read_new() == [{"a": 1}, {"a": 2}]
    assert journal.damaged == [
        (2, "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (3, "expected an object but got [1]"),
    ]
    assert journal.warnings() == [
        "j.jsonl line 2 is damaged and was skipped (not JSON: Expecting value: line 1 column 1 (char 0))",
        "j.jsonl line 3 is damaged and was skipped (expected an object but got [1])",
    ]
    assert journal.warnings() == []


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_not_a_number_never_reaches_the_file(tmp_path: Path, value: float) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.append([{"a": 1}, {"a": value}])
    assert journal.read_new() == []


def test_a_full_disk_is_said_to_be_one_and_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append(LINES[:1])

    def full(descriptor: int) -> None:
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - 5)  # the last bytes found no room
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("vmmetrics.utils.storage.journal.os.fsync", full)
    with pytest.raises(SetupError, match="No space left on device"):
        journal.append(LINES[1:2])
    monkeypatch.undo()
    journal.append(LINES[2:])
    assert Journal(tmp_path / "j.jsonl").read_new() == [LINES[0], LINES[2]]


def test_a_name_that_is_no_utf8_survives() -> None:
    line = {"clip": b"a\xff.mp4".decode("utf-8", "surrogateescape")}
    assert json.loads(encode(line).decode("utf-8")) == line


def test_of_many_damaged_lines_the_first_are_named(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b"x\n" * 1005)
    journal = Journal(path)
    journal.read_new()
    warnings = journal.warnings("; sorry")
    assert len(warnings) == 6
    assert warnings[-1] == "j.jsonl: 1,000 more lines are damaged and were skipped; sorry"


def test_a_file_that_is_only_written_is_missed_when_it_is_cut(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append([{"a": 1}])
    (tmp_path / "j.jsonl").write_bytes(b"")
    with pytest.raises(SetupError, match="removed or cut short"):
        journal.append([{"a": 2}])


def test_lines_one_at_a_time_name_what_was_passed_over(tmp_path: Path) -> None:
    (tmp_path / "j.jsonl").write_bytes(b'{"a": 1}\nx\n{"a": 2}\n')
    warnings: list[str] = []
    assert [line["a"] for line in iterate_lines(tmp_path / "j.jsonl", warnings=warnings)] == [1, 2]
    assert len(warnings) == 1 and warnings[0].startswith("j.jsonl line 2 is damaged and was skipped (not JSON")
