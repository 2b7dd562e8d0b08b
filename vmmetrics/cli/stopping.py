"""End of commands on Ctrl-C, on SIGTERM (sent by schedulers) and on SIGHUP (sent by a closed terminal)."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from vmmetrics.errors import VMMetricsError

EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C, SIGTERM or SIGHUP; finished results are kept."""
_AGAIN_SECONDS = 0.05
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


_asked_to_leave: list[bool] = []  # empty until a signal came within leaving()


def _leave(*_: object) -> None:
    if not _asked_to_leave:
        with contextlib.suppress(OSError):  # the terminal may be gone
            os.write(2, b"vmmetrics: stopped\n")  # not through sys.stderr: it may be in the middle of a line
    _asked_to_leave.append(True)
    sys.exit(EXIT_INTERRUPTED)


@contextlib.contextmanager
def _on_signals(act: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Call ``act``, which raises, when a signal arrives; one that is ignored (nohup, background jobs) stays ignored."""
    stopped = 0  # the last signal

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = number
        act(number, frame)

    def again() -> None:
        if sys.unraisablehook is unheard:  # else the block has ended
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(threading.main_thread().ident or 0, stopped)  # which may sleep
            else:
                signal.raise_signal(stopped)

    def unheard(seen: sys.UnraisableHookArgs) -> None:
        """Send the signal again if a destructor or callback swallowed what it raised."""
        if stopped and seen.exc_type in (KeyboardInterrupt, SystemExit):
            timer = threading.Timer(_AGAIN_SECONDS, again)
            timer.daemon = True
            timers.append(timer)
            timer.start()
        else:
            show(seen)

    show, timers = sys.unraisablehook, list[threading.Timer]()
    here = threading.current_thread() is threading.main_thread()  # handlers cannot be set elsewhere
    before = {number: signal.getsignal(number) for number in _SIGNALS if here}
    taken = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in taken:
            signal.signal(number, handle)
        if here:
            sys.unraisablehook = unheard
        yield
    except KeyboardInterrupt:  # outside of what catches it
        if stopped:
            _leave()
        raise
    except Exception as error:
        # An import that was cut off, a terminal that takes no more text: such an error follows from the signal.
        if stopped and not isinstance(error, VMMetricsError):
            raise SystemExit(getattr(error, "exit_code", EXIT_INTERRUPTED)) from None
        raise
    finally:
        if here:
            sys.unraisablehook = show
        for timer in timers:
            timer.cancel()
        for number, handler in taken.items():
            signal.signal(number, handler)


def stoppable() -> contextlib.AbstractContextManager[None]:
    """Raise KeyboardInterrupt on the signals, for a block that catches it and says what is kept."""
    if _asked_to_leave:
        _leave()  # a destructor or callback swallowed the first try
    return _on_signals(signal.default_int_handler)


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """Print a line and exit with :data:`EXIT_INTERRUPTED` on the signals, wherever the program is."""
    _asked_to_leave.clear()
    try:
        with _on_signals(_leave):
            yield
    finally:
        _asked_to_leave.clear()
