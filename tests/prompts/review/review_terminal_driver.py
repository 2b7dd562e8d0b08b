"""A command on a pseudo-terminal, driven by keys, for the tests of the review."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
_PATIENCE = 60.0  # seconds for what never comes


class Terminal:
    """``vmmetrics ARGUMENTS`` on a terminal of its own."""

    def __init__(self, *arguments: object, size: tuple[int, int] = (40, 120), **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(*size, tell=False)
        clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vmmetrics", *map(str, arguments)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**clean, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.seen = ""

    def resize(self, lines: int, columns: int, tell: bool = True) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def modes(self) -> int:
        return int(termios.tcgetattr(self._ours)[3])

    def keys(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, pattern: str) -> str:
        """Wait until ``pattern`` stands in what was printed since the last call; that output."""
        end = time.monotonic() + _PATIENCE
        while not (found := re.search(pattern, plain(self.seen), re.DOTALL)):
            ready = select.select([self._ours], [], [], max(0.0, end - time.monotonic()))[0]
            more = self._read() if ready else b""
            if not more:
                raise AssertionError(f"never printed {pattern!r} but {plain(self.seen)!r}")
            self.seen += more.decode("utf-8", "replace")
        seen, self.seen = self.seen, ""
        assert found
        return seen

    def press(self, text: str, pattern: str) -> str:
        self.keys(text)
        return self.until(pattern)

    def rest(self) -> None:
        """Wait until the command has dealt with all keys and sleeps until the next one."""
        state, asleep = Path(f"/proc/{self.process.pid}/stat"), 0
        while state.exists() and asleep < 5:
            time.sleep(0.02)
            asleep = asleep + 1 if state.read_text().rpartition(")")[2].split()[0] == "S" else 0
        if not state.exists():  # no Linux: guess
            time.sleep(0.5)

    def _read(self) -> bytes:
        try:
            return os.read(self._ours, 65536)
        except OSError:  # the other side has gone
            return b""

    def finish(self) -> int:
        """Wait for the end; the exit code."""
        end = time.monotonic() + _PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self._ours], [], [], 0.05)[0]:
                self.seen += self._read().decode("utf-8", "replace")
        return self.process.wait(1)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._ours)
        self._ours = os.open(os.devnull, os.O_RDONLY)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        os.close(self._ours)


def plain(text: str) -> str:
    """Text without the sequences that a terminal is steered by."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
