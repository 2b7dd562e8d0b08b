"""Values from files: of the type of their field, or a sentence that names file, field and what was there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.scoring.record import Record
from vmmetrics.utils.schema import check, convert, parse_json, read_json


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    size: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Thing:
    parts: tuple[Part, ...]
    numbers: Mapping[str, float]
    tags: Mapping[str, str | float]
    done: bool = False


GOOD: dict[str, Any] = {"parts": [{"name": "a", "size": [1, 2]}], "numbers": {"x": 1}, "tags": {"t": "u", "n": 2}}


def test_objects_become_dataclasses_and_lists_tuples() -> None:
    thing = convert(Thing, {**GOOD, "field of a later version": 1})
    assert thing == Thing((Part("a", (1, 2)),), {"x": 1}, {"t": "u", "n": 2})
    assert [type(value) for value in (*thing.numbers.values(), thing.tags["n"])] == [int, int]  # 1 is not 1.0 in a CSV


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"parts": 5}, "parts: expected a list but got 5"),
        ({"parts": [{"size": None}]}, "parts.0.name: expected a value but got nothing"),
        ({"parts": [{"name": "a", "size": [1]}]}, "parts.0.size.1: expected a value but got nothing"),
        ({"parts": [{"name": "a", "size": "ab"}]}, "parts.0.size: expected a list but got 'ab'"),
        ({"parts": [{"name": "a", "size": [1, 1.5]}]}, "parts.0.size.1: expected a whole number but got 1.5"),
        ({"numbers": None}, "numbers: expected an object but got None"),
        ({"numbers": {"x": "1"}}, "numbers.x: expected a finite number up to 1e+15 but got '1'"),
        ({"numbers": {"x": True}}, "numbers.x: expected a finite number up to 1e+15 but got True"),
        ({"numbers": {"x": 1e308}}, "numbers.x: expected a finite number up to 1e+15 but got 1e+308"),
        ({"numbers": {"x": float("nan")}}, "numbers.x: expected a finite number up to 1e+15 but got nan"),
        ({"tags": {"t": [1]}}, "tags.t: expected text or a finite number up to 1e+15 but got [1]"),
        ({"done": 1}, "done: expected true or false but got 1"),
    ],
)
def test_a_value_that_does_not_fit_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SetupError) as raised:
        check(Thing, {**GOOD, **change}, "file.json")
    assert str(raised.value) == f"file.json, {says}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("NaN", "finite"), ("-Infinity", "finite"), ("1e999", "finite"), ("[" * 100_000, "nested too deeply"),
        ("1" * 5000, "digits"), ("{", "Expecting"), (b"\xe9", "byte 0"), ("", "Expecting"),
    ],
)  # fmt: skip
def test_what_is_no_strict_json(text: str | bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_json(text)


def test_names_that_are_no_utf8_and_gaps() -> None:
    assert parse_json('{"a": "\\udcff"}') == {"a": "\udcff"}
    assert convert(Part, {"name": "\udcff"}).name == "\udcff"
    (gap,) = parse_json("[NaN]", gaps=True)
    assert gap != gap


def test_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{")
    with pytest.raises(SetupError, match=r"a\.json cannot be read as JSON: Expecting"):
        read_json(tmp_path / "a.json")
    with pytest.raises(SetupError, match=r"Cannot read .*b\.json: No such file"):
        read_json(tmp_path / "b.json")


def test_a_dataclass_that_refuses_says_so_in_its_own_words() -> None:
    line = {"clip": "a", "model": None, "path": None, "sha256": None, "preset": "p", "protocol": "vmmetrics"}
    with pytest.raises(ValueError, match=r"^Expected cas in 0\.\.1 but got 1\.5$"):
        convert(Record, {**line, "scores": {"cas": 1.5}})
