"""Shapes of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Rows = tuple[Any, str]
"""Rows, or columns, and a note of what was read; "" where nothing had to be assumed."""


def is_rows(value: Any) -> bool:
    """Return True for a list of objects that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)
