"""Waiting: requests kept apart in time, and pauses that end where everything is stopped."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

_NAP = 0.1
"""Seconds: how soon a pause notices that everything is stopped."""


def rest(seconds: float, stopped: threading.Event) -> None:
    """Sleep, in naps, until the time is over or ``stopped`` is set."""
    while seconds > 0 and not stopped.is_set():
        time.sleep(min(seconds, _NAP))
        seconds -= _NAP


@dataclass
class Pace:
    """Keeps the requests of all threads apart.

    Attributes:
        per_minute: Most requests a minute; None for no bound.
    """

    per_minute: float | None
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def wait(self, stopped: threading.Event) -> None:
        """Sleep until the next request is due, or ``stopped`` is set."""
        if self.per_minute is None:
            return
        with self._lock:  # each takes a moment of its own, and sleeps until it without holding up who takes the next
            now = time.monotonic()
            mine = max(now, self._next)
            self._next = mine + 60 / self.per_minute
        if mine > now:
            rest(mine - now, stopped)
