"""Progress that a process tells of its item: that models are loading, whose time does not count, and the share done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

_listeners: list[Callable[[bool], None]] = []
_share_listeners: list[Callable[[float], None]] = []
_part_listeners: list[Callable[[], None]] = []
_part = 0.0, 1.0
_lock = Lock()
_depth = 0  # of blocks within blocks, in all threads


def on_loading(listener: Callable[[bool], None]) -> None:
    """Have ``listener`` called with True when loading begins in this process and with False when all has ended."""
    _listeners.append(listener)


def on_share(listener: Callable[[float], None]) -> None:
    """Have ``listener`` called with the share of the item in hand that is done, 0..1, whenever more of it is."""
    _share_listeners.append(listener)


def on_part(listener: Callable[[], None]) -> None:
    """Have ``listener`` called whenever a part of the item in hand begins."""
    _part_listeners.append(listener)


def tell_share(share: float) -> None:
    """Tell the listeners that this share of the item in hand, or of the block of :func:`part`, is done."""
    first, last = _part
    for listener in _share_listeners:
        listener(first + share * (last - first))


@contextmanager
def part(first: float, last: float) -> Iterator[None]:
    """Mark a block as the part of the item in hand from one share of it to another."""
    global _part
    _part = first, last
    for listener in _part_listeners:
        listener()
    try:
        yield
    finally:
        _part = 0.0, 1.0


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
