"""What must hold of a run directory, whenever a process that wrote it was killed."""

from __future__ import annotations

import csv
import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VOLATILE = frozenset(
    {
        "seconds",
        "state",  # none, where the file was written a moment before
        "worker",
        "started",
        "ended",
        "sessions",
        "time",
        "when",
        "wall",
        "session",
        "versions",
        "machine",
        "command",
    }
    | {"folder", "jobs", "path", "tokens", "input_tokens", "output_tokens", "cost", "spent", "cached", "asked"}
    | {"elapsed", "requests", "attempts", "tries"}
)
"""Keys of JSON whose values differ from run to run: times, costs, what a session was called."""


def strict_json(text: str | bytes) -> Any:
    """Parse JSON without NaN and infinities.

    Raises:
        ValueError: It is not JSON, or not strict.
    """

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def parse_lines(path: Path) -> tuple[list[Any], list[str]]:
    """The complete lines of a journal, and what is wrong with them; a torn last line is no fault."""
    if not path.exists():
        return [], []
    data = path.read_bytes()
    lines, faults = [], []
    for number, raw in enumerate(data[: data.rfind(b"\n") + 1].split(b"\n")[:-1], start=1):
        try:
            lines.append(strict_json(raw))
        except ValueError as error:
            faults.append(f"{path.name} line {number}: {error}")
    return lines, faults


def faults_of_files(folder: Path) -> list[str]:
    """Faults of any JSON, journal or table under ``folder`` (files with a hidden name aside)."""
    faults = []
    for path in sorted(folder.rglob("*")):
        if _is_hidden(path.relative_to(folder)) or not path.is_file():
            continue
        try:
            if path.suffix == ".jsonl":
                faults += parse_lines(path)[1]
            elif path.suffix == ".json":
                strict_json(path.read_bytes())
            elif path.suffix == ".csv":
                with path.open(newline="", encoding="utf-8") as file:
                    rows = list(csv.DictReader(file))
                if any(None in row or None in row.values() for row in rows):
                    faults.append(f"{path.name} has rows of another length")
        except FileNotFoundError:
            continue
        except (ValueError, csv.Error) as error:
            faults.append(f"{path.name}: {error}")
    return faults


def leftovers(folder: Path) -> list[str]:
    """Hidden files and files of hidden folders that are no locks: temporary ones that nobody removed."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return sorted(str(path) for path in files if _is_hidden(path))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def stuck_locks(folder: Path) -> list[str]:
    """Lock files on which somebody holds a lock."""
    stuck = []
    for path in folder.rglob("*.lock"):
        with path.open("rb+") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                stuck.append(str(path.relative_to(folder)))
    return stuck


def contents(folder: Path) -> dict[str, Any]:
    """The contents of a folder that must not depend on interruptions: JSON, journals in any order, tables."""
    files: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file() or _is_hidden(Path(name)):
            continue
        if path.suffix == ".jsonl":
            lines = [steady(line) for line in parse_lines(path)[0]]
            kept = [line for line in lines if not (isinstance(line, dict) and line.get("kind") == "session")]
            files[name] = sorted({json.dumps(line, sort_keys=True) for line in kept})
        elif path.suffix == ".json":
            files[name] = steady(strict_json(path.read_bytes()))
        elif path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as file:
                files[name] = [steady(row) for row in csv.DictReader(file)]
    return files


def steady(value: Any) -> Any:
    """A JSON value without the keys of :data:`VOLATILE`."""
    if isinstance(value, Mapping):
        return {key: steady(inner) for key, inner in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [steady(inner) for inner in value]
    return value


def scores_of(run: Path) -> dict[str, Any]:
    """From each clip of a run to its last record, times and paths aside."""
    return {line["clip"]: steady(line) for line in parse_lines(run / "scores.jsonl")[0]}
