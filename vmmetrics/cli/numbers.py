"""Bounds of the numbers that options take: nothing larger is meant, and what counts by them must not overflow."""

from __future__ import annotations

import math
from typing import TypeVar

import typer

MAX_COUNT = 10**9
"""Of clips, prompts, frames, tokens, pixels, draws."""
MAX_JOBS = 1024
"""Of processes and threads."""
MAX_SEED = 2**63 - 1
"""Larger ones torch refuses."""
MAX_FPS = 1000.0
"""As :data:`vmmetrics.video.timing.MAX_FPS`, which would load numpy into every command."""
MAX_SECONDS = 1e6
"""Eleven days; waiting in the system overflows at 24."""
MAX_PRICE = 1e9
"""In the money of the prices given."""


_Number = TypeVar("_Number", bound=float | tuple[float, ...] | None)


def finite(value: _Number) -> _Number:
    """Return an option's float, tuple of floats or None; the range check of an option lets NaN pass.

    Raises:
        typer.BadParameter: One is NaN or infinite.
    """
    numbers = value if isinstance(value, tuple) else (value,)
    if not all(number is None or math.isfinite(number) for number in numbers):
        raise typer.BadParameter(f"expected a finite number but got {value}")
    return value
