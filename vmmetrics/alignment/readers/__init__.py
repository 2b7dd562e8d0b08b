"""Readers of scores and ratings: run directories, tables of every usual form, and released rated sets."""

from __future__ import annotations

from vmmetrics.alignment.readers.read import FORMATS, read_study

__all__ = ["FORMATS", "read_study"]
