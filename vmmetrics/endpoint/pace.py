"""Requests kept apart in time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field


@dataclass
class Pace:
    """Keeps the requests of all threads apart.

    Attributes:
        per_minute: Most requests a minute; None for no bound.
    """

    per_minute: float | None
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def wait(self) -> None:
        """Sleep until the next request is due."""
        if self.per_minute is None:
            return
        with self._lock:  # each takes a moment of its own, and sleeps until it without holding up who takes the next
            now = time.monotonic()
            mine = max(now, self._next)
            self._next = mine + 60 / self.per_minute
        if mine > now:
            time.sleep(mine - now)
