"""The run directory: records, resume, provenance, export, and the engine that drives it."""

from vmmetrics.run.api import score
from vmmetrics.run.record import Record
from vmmetrics.run.statistics import Mean
from vmmetrics.run.table import Table

__all__ = ["Mean", "Record", "Table", "score"]
