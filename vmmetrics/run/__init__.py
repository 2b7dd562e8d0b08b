"""The run directory: records, resume, provenance, export, and the engine that drives it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vmmetrics.run.api import score
    from vmmetrics.run.record import Record
    from vmmetrics.run.statistics import Mean
    from vmmetrics.run.table import Table

# Resolved on first use: journals, locks and atomic writes are used where nothing heavy should be loaded.
_HOMES = {
    "Mean": "vmmetrics.run.statistics",
    "Record": "vmmetrics.run.record",
    "Table": "vmmetrics.run.table",
    "score": "vmmetrics.run.api",
}

__all__ = ["Mean", "Record", "Table", "score"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
