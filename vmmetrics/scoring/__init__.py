"""The run directory: records, resume, provenance, export, and the engine that drives it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vmmetrics.scoring.api import score
    from vmmetrics.scoring.record import Record
    from vmmetrics.scoring.table import Table
    from vmmetrics.utils.statistics.paired import Mean

# Resolved on first use: journals, locks and atomic writes are used where nothing heavy should be loaded.
_HOMES = {
    "Mean": "vmmetrics.utils.statistics.paired",
    "Record": "vmmetrics.scoring.record",
    "Table": "vmmetrics.scoring.table",
    "score": "vmmetrics.scoring.api",
}

__all__ = ["Mean", "Record", "Table", "score"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
