"""Tracking of model loading, whose time does not count for the clip that needs the models first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

_listeners: list[Callable[[bool], None]] = []
_lock = Lock()
_depth = 0  # of blocks within blocks, in all threads


def on_loading(listener: Callable[[bool], None]) -> None:
    """Have ``listener`` called with True when loading begins in this process and with False when all has ended."""
    _listeners.append(listener)


@contextmanager
def loading() -> Iterator[None]:
    """Mark a block that loads a model; blocks may be nested, and run in several threads."""
    try:
        _change_depth(1)
        yield
    finally:
        _change_depth(-1)


def _change_depth(step: int) -> None:
    global _depth
    with _lock:  # while listeners are called as well: they are told in order
        before, _depth = _depth, _depth + step
        if not (before and _depth):
            for listener in _listeners:
                listener(_depth > 0)
