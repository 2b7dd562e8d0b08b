"""``run.json``: configuration and sessions of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import in_order
from vmmetrics.utils.schema import check, read_json

FORMAT = 2
"""Version of the layout, in ``run.json``."""
_READ = (1, FORMAT)


def described(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of ``run.json`` on single scores: ``parts`` and ``lower_is_better``; empty without parts."""
    if not parts:
        return {}
    lower = [name for name in in_order(parts) if parts[name].get("lower_is_better")]
    return {"parts": {name: parts[name] for name in in_order(parts)}, "lower_is_better": lower}


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
