"""``vmmetrics doctor``."""

from __future__ import annotations


def doctor() -> None:
    """To be written."""
