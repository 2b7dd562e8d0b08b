"""Run directories from somebody else: a good one, and every way in which one of its files can be wrong."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAN, INFINITY = float("nan"), float("inf")
LONG = "1" * 5000

FIELDS: dict[str, list[Any]] = {
    "clip": [None, 5, ["x"], "", {}, "a" * 10**6, "../../a", "a\nb"],
    "model": [5, ["x"], {}, "a\nb"],
    "path": [5, ["x"], "", "/dev/zero", "/etc/hostname", "\0", "/" + "a" * 5000, "/proc/self/mem"],
    "sha256": [5, ["x"], None, "x"],
    "prompt": [5, ["x"], {}],
    "subject": ["x", {"noun": 5}, {"a": 1}, [1]],
    "tags": [None, "x", {"a": [1]}, {"a": None}, {"a": True}, {"a": NAN}, {"a": INFINITY}, {"": ""}],
    "preset": [5, None, ["x"]],
    "protocol": [5, "zzz", None],
    "scores": ["x", ["a"], {"pas": "x"}, {"pas": None}, {"pas": NAN}, {"pas": INFINITY}, {"pas": -INFINITY}],
    "missing": ["x", None, {"pas": 5}, ["pas"]],
    "errors": [None, "x", ["a"], {"pas": 5}],
    "error": [5, ["x"], {}, True],
    "notes": ["x", None, 5, [5], [None]],
    "size": [5, "ab", [1], [], [0, 0], ["a", "b"]],
    "frames": ["x", None, -1, 10**400, 1.5],
    "fps": ["x", INFINITY, NAN, 0, -1],
    "seconds": ["x", None, INFINITY],
    "not_applicable": ["x", None, 5, {"pas": 5}],
}
MORE_SCORES: list[Any] = [{"pas": True}, {"pas": 1e308}, {"unknown": 0.5}, None, 5, {"pas": 10**400}, {"pas": -5}]

RUN: dict[str, Any] = {
    "configuration": [None, [], {}, "x"],
    "metrics": [None, "x", [5], {}],
    "sessions": [None, {}, "x", [5], [{}]],
    "parts": [[], {"ssim": 5}, "x"],
    "format": [5, "x", None, 10**30],
}
CONFIGURATION: dict[str, list[Any]] = {
    "reading": ["x", {"root": "/", "zzz": 1}, None, {"assume_fps": "x"}, {"max_memory": -1}, {"assume_fps": INFINITY}],
    "label": [None, 5, "a\n\\input{x}"],
    "protocol": [5, None],
    "preset": [["x"], None, "../../x"],
    "weights": ["x", None, {"a": 5}],
    "versions": ["x", None, {"a": 5}],
}

TEXTS: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"x",
    "deep": b'{"a":' * 100_000,
    "deep list": b"[" * 100_000,
    "list": b"[]",
    "null": b"null",
    "number": b"5",
    "long number": b'{"clip":' + LONG.encode() + b"}",
    "latin-1": b'{"clip":"\xe9"}',
    "UTF-16": '{"clip":"a"}'.encode("utf-16"),
    "BOM": b'\xef\xbb\xbf{"clip":"a"}',
    "NUL": bytes(100),
    "surrogate": b'{"clip":"\\ud800"}',
    "repeated key": b'{"clip":"a","clip":5}',
}

EVENTS: list[Any] = [
    {},
    {"clip": 5},
    {"clip": "a.npy"},
    {"metrics": 5},
    {"metrics": None},
    {"metrics": {"pas": 5}},
    {"metrics": {"pas": {}}},
    {"metrics": {"pas": {"events": 5, "series": {}}}},
    {"metrics": {"pas": {"events": [{}], "series": {}}}},
    {"metrics": {"pas": {"events": [5], "series": {}}}},
    {"metrics": {"pas": {"events": [], "series": 5}}},
    {"metrics": {"pas": {"events": [], "series": {"amplitude": "x"}}}},
    {"metrics": {"pas": {"events": [], "series": {"amplitude": [NAN, INFINITY]}}}},
    {"metrics": {"pas": {"events": [], "series": {"amplitude": [10**400]}}}},
    {"metrics": {"pas": {"events": [], "series": {"amplitude": [[1], [2, 3]]}}}},
    {"metrics": {"zzz": {"events": [], "series": {}}}},
    {"metrics": {"pas": {"events": [{"frames": [10**9], "reason": "x", "box": [0, 0, 1e9, 1e9]}], "series": {}}}},
    {"metrics": {"pas": {"events": [{"frames": "x", "reason": 5, "box": "x"}], "series": {}}}},
    {"metrics": {"pas": {"events": [{"frames": [0, 1], "reason": "x", "box": [NAN] * 4}], "series": {}}}},
]


def special(path: Path, kind: str) -> None:
    """Make what is no file at a path."""
    path.unlink(missing_ok=True)
    match kind:
        case "FIFO":
            os.mkfifo(path)
        case "link to a FIFO":
            os.mkfifo(path.with_name("." + path.name))
            path.symlink_to("." + path.name)
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                os.chdir(path.parent)  # an address has 108 bytes at most
                bound.bind(path.name)
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case device:
            path.symlink_to(device)


KINDS = ("FIFO", "link to a FIFO", "socket", "folder", "loop", "/dev/zero", "/nonexistent/x")


JOURNALS = ("run.json", "scores.jsonl", "events.jsonl", "posters.jsonl", "states.jsonl", "index.sqlite", "scores.csv")


def variants(good: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Copies of a good run of one clip below ``folder``, each wrong in one place: what is wrong, and the copy."""
    record = json.loads((good / "scores.jsonl").read_text())
    run = json.loads((good / "run.json").read_text())
    events = json.loads((good / "events.jsonl").read_text())
    number = 0

    def copy(name: str, file: str, data: bytes) -> tuple[str, Path]:
        nonlocal number
        number += 1
        place = folder / f"{number:03}"
        shutil.copytree(good, place)
        (place / file).write_bytes(data)
        return name, place

    for field, values in FIELDS.items():
        for value in [*values, *(MORE_SCORES if field == "scores" else [])]:
            line = json.dumps({**record, field: value}).encode() + b"\n"
            yield copy(f"record {field}={value!r}"[:60], "scores.jsonl", line)
        without = {name: value for name, value in record.items() if name != field}
        yield copy(f"record without {field}", "scores.jsonl", json.dumps(without).encode() + b"\n")
    for field, values in RUN.items():
        for value in values:
            yield copy(f"run {field}={value!r}"[:60], "run.json", json.dumps({**run, field: value}).encode())
    for field, values in CONFIGURATION.items():
        for value in values:
            changed = {**run, "configuration": {**run["configuration"], field: value}}
            yield copy(f"configuration {field}={value!r}"[:60], "run.json", json.dumps(changed).encode())
    for name, data in TEXTS.items():
        for file in ("run.json", "scores.jsonl", "events.jsonl"):
            yield copy(f"{file} {name}", file, data + b"\n")
    for value in EVENTS:
        line = json.dumps({**events, **value} if value else {}).encode() + b"\n"
        yield copy(f"events {value!r}"[:60], "events.jsonl", line)
    for file in JOURNALS:
        for kind in KINDS:
            _, place = copy("", "run.json", json.dumps(run).encode())
            (place / "index.sqlite").unlink(missing_ok=True)
            special(place / file, kind)
            yield f"{file}: {kind}", place
