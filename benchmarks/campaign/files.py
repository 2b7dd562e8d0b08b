"""Files that are given by option: no files at all, hostile settings, tables, numbers and names; and runs that clash."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from benchmarks.campaign.hostile_runs import KINDS, special
from benchmarks.campaign.results import Campaign
from benchmarks.campaign.runs import INFINITE, fault_of
from tests.bad_inputs import moving_frames, write_video
from tests.reliability.warm import build_commands_once, fork_workers, import_what
from tests.reliability.watched import Limits, command, run_command

LIMITS = Limits(cpu=40, idle=12, memory=2 << 30, wall=90)
COUNT = 8
BARE = re.compile(r"[:,\[]\s*-?(NaN|Infinity)\b")
Arguments = list[object]
Case = tuple[str, str, Arguments]


def run(campaign: Campaign) -> None:
    """Give each file to the commands that read one of its kind."""
    folder = campaign.scratch
    clips, good = folder / "clips", folder / "good"
    clips.mkdir()
    for number in range(COUNT):
        write_video(clips / f"c{number}.mp4", moving_frames(6, seed=number))
    import_what(lambda: command(["score", clips, "--metrics", "pas", "--out", folder / "first"]))
    build_commands_once()
    made = run_command("score", clips, "--metrics", "pas", "--out", good, before=fork_workers)
    if made.value:
        raise RuntimeError(made.output)
    os.chdir(folder)
    roles = _roles(clips, good, folder)
    cases = chain(_no_files(folder, roles), _settings(folder, clips), _numbers(folder, roles), _large(folder, roles))
    for row, name, arguments in cases:
        if not campaign.done(key := f"{row}: {name}"):
            ended = run_command(*arguments, limits=LIMITS, before=fork_workers)
            campaign.add(row, key, fault_of(ended) or _infinite(folder / "out"), f"exit code {ended.value}")
            shutil.rmtree(folder / "out", ignore_errors=True)
    for row, check in {"names": _named, "names in two forms": _in_two_forms, "runs that clash": _clashes}.items():
        for name, fault in check(folder / row.replace(" ", "-"), clips):
            campaign.add(row, f"{row}: {name}", fault)


def _infinite(out: Path) -> str:
    """A bare number in JSON, or a cell of a table of agreement, that is not finite; texts may hold what they like."""
    for path in sorted(out.rglob("*")):
        pattern = BARE if path.suffix in (".json", ".jsonl") else INFINITE if path.name == "table.csv" else None
        if pattern and pattern.search(path.read_text(errors="replace")):
            return f"writes inf or nan to {path.name}"
    return ""


def _roles(clips: Path, good: Path, folder: Path) -> dict[str, Callable[[Path], Arguments]]:
    """From the suffix and purpose of a file to the command that reads it."""
    out = folder / "out"
    score: Arguments = ["score", clips, "--metrics", "pas", "--out", out]
    label: Arguments = ["cas", "label", "--out", out / "labels.jsonl"]
    run: Arguments = ["understand", "run", "synthetic", "--out", out, "--model"]
    roles: dict[str, Callable[[Path], Arguments]] = {
        f"ratings.{suffix}": lambda path: ["align", good, path, "--out", out]
        for suffix in ("csv", "tsv", "json", "jsonl", "md", "parquet")
    }
    roles |= {f"prompts.{suffix}": lambda path: [*score, "--prompts", path] for suffix in ("csv", "json", "jsonl")}
    roles |= {f"clips.{suffix}": lambda path: ["score", path, "--out", out] for suffix in ("jsonl", "txt", "parquet")}
    roles |= {f"clip.{suffix}": lambda path: ["score", path, "--out", out] for suffix in ("mp4", "npy", "gif", "pt")}
    roles |= {f"options.{suffix}": lambda path: [*score, "--config", path] for suffix in ("yaml", "toml")}
    return roles | {
        "plugin.py": lambda path: [*score, "--plugin", path],
        "classifier.pt": lambda path: [*score, "--cas-model", path],
        "list.json": lambda path: ["prompts", "stats", path],
        "filtered.json": lambda path: ["prompts", "filter", path, "--out", out / "kept.json", "--no-embedding"],
        "against.jsonl": lambda path: ["prompts", "filter", "mini", "--out", out / "kept.json", "--against", path],
        "captions.txt": lambda path: ["prompts", "extract", path, "--out", out, "--no-infer"],
        "made.json": lambda path: ["generate-clips", "--prompts", path, "--out", out, "--command", "true"],
        "pairs.csv": lambda path: [*label, path],
        "labelled.jsonl": lambda path: [*label, "--clips", path, "--ask", "2"],
        "answers.jsonl": lambda path: [*run, f"recorded:{path}", "--data", folder],
        "questions": lambda path: [*run, "random", "--data", path],
        "run": lambda path: ["leaderboard", path],
    }


def _no_files(folder: Path, roles: dict[str, Callable[[Path], Arguments]]) -> Iterator[Case]:
    for kind in KINDS:
        for role, arguments in roles.items():
            place = folder / "no-files" / kind.replace("/", " ") / role
            place.parent.mkdir(parents=True, exist_ok=True)
            special(place, kind)
            yield "no files", f"{kind} as {role}", arguments(place)
    os.chdir(folder)


def _nested(names: str, prefix: str = "") -> str:
    """YAML whose aliases stand for 10^10 values."""
    lines = [f"{prefix}a: &a [{','.join('x' * 10)}]"]
    for before, name in pairwise(names):
        lines.append(f"{prefix}{name}: &{name} [{','.join(['*' + before] * 10)}]")
    return "\n".join(lines) + "\n"


SETTINGS: dict[str, dict[str, str | bytes]] = {
    "yaml": {
        "aliases": _nested("abcdefghij"),
        "aliases as a value": "out:\n" + _nested("abcdefghij", "  "),
        "long text 50,000 times": "metrics: [&a " + "x" * 10**5 + ", *a" * 50_000 + "]\n",
        "a list in itself": "jobs: &a [*a]",
        "merged": "a: &a {x: 1}\nb: &b {<<: [*a, *a]}\n",
        "deep flow": "jobs: " + "[" * 20_000,
        "deep blocks": "".join(" " * n + "a:\n" for n in range(2000)),
        "code": "jobs: !!python/object/apply:os.system ['touch made']",
        "a Python name": "jobs: !!python/name:os.system",
        "own tag": "jobs: !x 1",
        "long number": "jobs: " + "9" * 6000,
        "base 60": "jobs: 1:30:00",
        "inf": "jobs: .inf",
        "nan": "assume-fps: .nan",
        "1e308": "assume-fps: 1.0e+308",
        "date": "jobs: 2001-12-14t21:59:43.10-05:00",
        "binary": "jobs: !!binary AAAA",
        "no": "metrics: no",
        "null": "jobs: ~",
        "two documents": "jobs: 1\n---\njobs: 2\n",
        "repeated key": "jobs: 1\njobs: 99999999999\n",
        "tab": "\tjobs: 1",
        "escape": 'metrics: "\\e]0;title\\a"',
        "number as key": "1: 2",
        "list": "- a",
        "text": "abc",
        "2 MB": "#" + "a" * 2_000_000,
        "no UTF-8": b"jobs: \xff\xfe",
        "NUL": b"jobs: \0",
        "options in options": "config: x.yaml",
    },
    "toml": {
        "deep": "jobs = " + "[" * 20_000,
        "deep keys": "a" + ".a" * 20_000 + " = 1",
        "deep tables": "[" + "a." * 20_000 + "a]",
        "date": "jobs = 2020-01-01",
        "long number": "jobs = " + "9" * 6000,
        "inf": "assume-fps = inf",
        "no value": "jobs = =",
        "repeated key": "jobs = 1\njobs = 2",
    },
    "py": {
        "no Python": "def (",
        "raises": "raise ValueError('\\x1b]0;title\\x07')",
        "ends Python": "import sys; sys.exit(7)",
        "ends Python with words": "import sys; sys.exit('\\x1b]0;title\\x07')",
        "stops": "raise GeneratorExit",
        "no Exception": "class B(BaseException): pass\nraise B('hm')",
        "no text": "class B(Exception):\n  def __str__(self): raise RuntimeError('no')\nraise B",
        "text of text": "class B(Exception):\n  def __str__(self): return 5\nraise B",
        "endless": "def f(): f()\nf()",
        "long": "raise ValueError('x' * 10**6)",
        "groups": "raise ExceptionGroup('a', [ValueError('b')] * 1000)",
        "chained": "e = ValueError('a')\ne.__cause__ = e\nraise e",
        "no module": "import no_such_module_x",
        "NUL": "\0",
        "UTF-16": "x=1".encode("utf-16"),
        "empty": "",
    },
}


def _settings(folder: Path, clips: Path) -> Iterator[Case]:
    for suffix, texts in SETTINGS.items():
        option = "--plugin" if suffix == "py" else "--config"
        for number, (name, text) in enumerate(texts.items()):
            path = folder / f"setting-{number}.{suffix}"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            arguments: Arguments = ["score", clips, "--metrics", "pas", "--out", folder / "out", option, path]
            yield f"options.{suffix}" if suffix != "py" else "plugin.py", name, [*arguments, "--limit", "1"]


NUMBERS = (
    *("nan", "inf", "-inf", "Infinity", "1e999", "1e308", "-1e308", "1e50", "1e51", "1e-320", "0x10", "1_000", "１"),
    *("٣", "", "null", "True", "--", "1,5", "5/5", "⅕", "9" * 400, "9" * 5000, "1e" + "9" * 50, "=1+1"),
    "\x1b]0;title\x07",
)


def _rows(value: object, every: bool) -> list[dict[str, object]]:
    rows = [(f"c{n}.mp4", rater, (n * 7 + rater) % 5 + 1) for n in range(COUNT) for rater in range(3)]
    return [
        {"clip": clip, "rater": f"r{rater}", "quality": value if every or (clip, rater) == ("c1.mp4", 1) else rating}
        for clip, rater, rating in rows
    ]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def _numbers(folder: Path, roles: dict[str, Callable[[Path], Arguments]]) -> Iterator[Case]:
    ratings, prompts = roles["ratings.jsonl"], roles["prompts.jsonl"]
    for number, value in enumerate(NUMBERS):
        name = f"{value[:20]!r} {number}"
        for every in (False, True):
            rows = _rows(value, every)
            where = f"{name} in {'every' if every else 'a'} row"
            yield "ratings.csv", where, roles["ratings.csv"](_write(folder / f"{number}-{every}.csv", rows))
            yield "ratings.jsonl", where, ratings(_write(folder / f"{number}-{every}.jsonl", rows))
        entry = {"clip": "c1.mp4", "prompt": "a dog runs", "tags": {"speed": value}}
        yield "prompts.jsonl", f"tag {name}", prompts(_write(folder / f"tag-{number}.jsonl", [entry]))
    for bare in ("1e308", "1e999", "NaN", "-Infinity", "1" + "0" * 400, "9" * 5000):
        path = folder / f"bare-{bare[:9]}.jsonl"
        line = f'{{"clip": "c1.mp4", "prompt": "a dog", "quality": {bare}, "tags": {{"speed": {bare}}}}}\n'
        path.write_text(line * 3)
        yield "ratings.jsonl", f"bare {bare[:9]}", ratings(path)
        yield "prompts.jsonl", f"bare {bare[:9]}", prompts(path)


_NAMES = [f"d{number}" for number in range(10**6)]
LARGE: dict[str, Callable[[], bytes]] = {
    "10^6 columns": lambda: ("clip,prompt," + ",".join(_NAMES) + "\nc1.mp4,x" + ",1" * 10**6 + "\n").encode(),
    "10^6 keys": lambda: json.dumps({"clip": "c1.mp4", "prompt": "x", **dict.fromkeys(_NAMES, 1)}).encode(),
    "10^6 keys in a list": lambda: json.dumps([{"clip": "a", "prompt": "x", **dict.fromkeys(_NAMES, 1)}]).encode(),
    "a line of 200 MB": lambda: b'{"clip":"' + b"a" * 200_000_000 + b'","prompt":"x","quality":1}\n',
    "a cell of 200 MB": lambda: b"clip,prompt\nc1.mp4," + b"1" * 200_000_000 + b"\n",
    "a number of 10 MB": lambda: b'[{"clip":"c1.mp4","prompt":"x","quality":' + b"1" * 10_000_000 + b"}]",
    "deep": lambda: b"[" * 500_000 + b"]" * 500_000,
    "NULs": lambda: bytes(1000),
    "UTF-16": lambda: "clip,prompt\nc1.mp4,x\n".encode("utf-16"),
    "open quote": lambda: b'clip,prompt\nc1.mp4,"x' + b"\n" * 10**6,
    "10^6 empty lines": lambda: b"\n" * 10**6,
}
_OF_ROWS = ("ratings", "prompts", "clips", "list", "against", "captions", "pairs", "labelled", "answers")


def _large(folder: Path, roles: dict[str, Callable[[Path], Arguments]]) -> Iterator[Case]:
    for name, data in LARGE.items():
        large = folder / "large"
        large.write_bytes(data())
        for role, arguments in roles.items():
            if role.partition(".")[0] in _OF_ROWS:
                path = folder / f"large-{role}"
                path.hardlink_to(large)
                yield "large tables", f"{name} as {role}", arguments(path)
                path.unlink()


def _records(out: Path) -> list[dict[str, Any]]:
    path = out / "scores.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


Checked = Iterator[tuple[str, str]]


def _scored(clips: Path, out: Path, *more: object) -> tuple[list[dict[str, Any]], str, str]:
    ended = run_command("score", clips, "--metrics", "pas", "--out", out, *more, limits=LIMITS, before=fork_workers)
    return _records(out), fault_of(ended), ended.output


def _named(folder: Path, clips: Path) -> Checked:
    """A clip whose name has as many bytes as a file system takes, beside a good one."""
    for letter, size in (("x", 1), ("é", 2), ("猫", 3), ("🐎", 4), ("9", 1), (".", 1), (" ", 1), ("-", 1)):
        for bytes_ in (243, 246, 249, 250, 251):
            place = folder / f"{ord(letter)}-{bytes_}"
            place.mkdir(parents=True)
            shutil.copy(clips / "c0.mp4", place / "good.mp4")
            name = "n" * (bytes_ % size) + letter * (bytes_ // size)
            shutil.copy(clips / "c1.mp4", place / f"{name if letter != '.' else 'n' + name[1:]}.mp4")
            records, fault, _ = _scored(place, place / ".out")
            fault = fault or ("" if len(records) == 2 else f"{len(records)} of 2 clips")
            yield f"{bytes_ + 4} bytes of {letter!r}", fault


def _in_two_forms(folder: Path, clips: Path) -> Checked:
    """A name in one form of Unicode in the list, and in another on the disk."""
    forms = ("NFC", "NFD", "NFKC", "NFKD")
    for word in ("é", "Å", "ﬁ", "한"):
        for listed in forms:
            for stored in forms:
                place = folder / f"{ord(word[0])}-{listed}-{stored}"
                place.mkdir(parents=True)
                names = [f"{unicodedata.normalize(form, word)}.mp4" for form in (listed, stored)]
                shutil.copy(clips / "c0.mp4", place / names[1])
                prompts = place / "list.csv"
                prompts.write_text(f"clip,prompt\n{names[0]},a dog runs\n")
                records, fault, output = _scored(place, place / ".out", "--prompts", prompts)
                same = len({unicodedata.normalize("NFC", name) for name in names}) == 1
                matched = bool(records) and records[0]["prompt"] == "a dog runs"
                if same != matched and not (matched or "without a" in output):
                    fault = fault or f"not matched, and not said: {output[-200:]}"
                yield f"{word} {listed} in the list, {stored} on the disk", fault


def _clashes(folder: Path, clips: Path) -> Checked:
    """Clips that have one name in a run, but are not the same."""
    parent = folder / "parent"
    for model, start in (("one", 0), ("two", 2)):
        (parent / model).mkdir(parents=True)
        for number in range(2):
            shutil.copy(clips / f"c{start + number}.mp4", parent / model / f"c{number}.mp4")
    starts: dict[str, list[Path]] = {
        "a model, then its parent": [parent / "one", parent],
        "the parent, then a model": [parent, parent / "one"],
        "one model, then the other": [parent / "one", parent / "two"],
        "a clip, then its folder": [parent / "one" / "c0.mp4", parent / "one"],
        "a clip, then the parent": [parent / "one" / "c0.mp4", parent],
        "clips of one name": [parent / "one" / "c0.mp4", parent / "two" / "c0.mp4"],
    }
    for name, places in starts.items():
        out, fault = folder / name.replace(" ", "-"), ""
        before: dict[str, Any] = {}
        for place in places:
            records, trouble, output = _scored(place, out)
            names = [record["clip"] for record in records]
            fault = fault or trouble or ("" if len(set(names)) == len(names) else f"one name twice: {names}")
            now = {record["clip"]: record["sha256"] for record in records}
            lost = [clip for clip, sha in before.items() if now.get(clip) != sha]
            fault = fault or (f"renamed or replaced in silence: {lost}, {output[-200:]}" if lost else "")
            before = now
        yield name, fault
    runs = [folder / f"run-{model}" for model in ("one", "two")]
    for model, out in zip(("one", "two"), runs, strict=True):
        _scored(parent / model, out)
    for name, given in {"merge of two models": runs, "merge of one twice": [runs[0], runs[0]]}.items():
        ended = run_command("merge", *given, "--out", folder / name, limits=LIMITS)
        names = [record["clip"] for record in _records(folder / name)]
        yield name, fault_of(ended) or ("" if len(set(names)) == len(names) else f"one name twice: {names}")
