"""Says when models are being loaded, which does not count against the clip that needs them first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[bool], None]] = []


def on_loading(listener: Callable[[bool], None]) -> None:
    """Have ``listener`` called with True when loading begins in this process and with False when it ends."""
    _listeners.append(listener)


@contextmanager
def loading() -> Iterator[None]:
    """Mark a block that loads a model."""
    for listener in _listeners:
        listener(True)
    try:
        yield
    finally:
        for listener in _listeners:
            listener(False)
