"""End of commands on Ctrl-C, on SIGTERM (sent by schedulers) and on SIGHUP (sent by a closed terminal)."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from vmmetrics.errors import VMMetricsError

EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C, SIGTERM or SIGHUP; finished results are kept."""
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def _interrupt() -> None:
    raise KeyboardInterrupt


_asked_to_leave: list[bool] = []  # empty until a signal came within leaving()


def _leave() -> None:
    _asked_to_leave.append(True)
    with contextlib.suppress(OSError):  # the terminal may be gone
        os.write(2, b"vmmetrics: stopped\n")  # not through sys.stderr: it may be in the middle of a line
    sys.exit(EXIT_INTERRUPTED)


@contextlib.contextmanager
def _on_signals(act: Callable[[], None]) -> Iterator[None]:
    """Call ``act``, which raises, when a signal arrives; one that is ignored (nohup, background jobs) stays ignored."""
    stopped = False

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal stopped
        stopped = True
        act()

    here = threading.current_thread() is threading.main_thread()  # handlers cannot be set elsewhere
    before = {number: signal.getsignal(number) for number in _SIGNALS if here}
    taken = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in taken:
            signal.signal(number, handle)
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
        for number, handler in taken.items():
            signal.signal(number, handler)


def stoppable() -> contextlib.AbstractContextManager[None]:
    """Raise KeyboardInterrupt on the signals, for a block that catches it and says what is kept."""
    if _asked_to_leave:
        _leave()  # a destructor or callback swallowed the first try
    return _on_signals(_interrupt)


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """Print a line and exit with :data:`EXIT_INTERRUPTED` on the signals, wherever the program is."""
    _asked_to_leave.clear()
    show = sys.unraisablehook
    sys.unraisablehook = lambda seen: None if seen.exc_type is SystemExit else show(seen)
    try:
        with _on_signals(_leave):
            yield
    finally:
        sys.unraisablehook = show
        _asked_to_leave.clear()
