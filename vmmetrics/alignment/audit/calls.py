"""Calls of a target in a process group of its own, with limits of time, memory and files, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from vmmetrics.alignment.audit import runner
from vmmetrics.alignment.audit.target import Target

CRASH = re.compile(r"(exit code \d+: )?(Attribute|Index|Key|Name|Type|UnboundLocal|ZeroDivision)Error\b.*", re.DOTALL)
"""Refusals by exceptions that nobody raises to refuse a clip."""
_LOOK_SECONDS = 0.5  # between two looks at the folder and the memory of the group
_GRACE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one process group.

    Attributes:
        seconds: Of one call, and of loading.
        memory: Bytes of data of each process, and resident of the whole group.
        file_size: Bytes of one file.
        folder_size: Bytes of all files in its folder.
    """

    seconds: float = 120.0
    memory: int = 8 << 30
    file_size: int = 256 << 20
    folder_size: int = 1 << 30


class Item(NamedTuple):
    """One clip as it is handed over.

    Attributes:
        path: File.
        array: ``.npy`` file with (T, H, W, 3) uint8, or whatever ``raw`` says.
        fps: Frames per second.
        prompt: Text it was generated from.
        times: Seconds of the frames.
        raw: "array" hands the array over as it is stored, "list" as a list of its first axis; "" by the route.
        memory: "fortran", "strided" or "read-only" for an array of that kind.
        reference: Path of the clip that it is compared with.
    """

    path: str | None = None
    array: str | None = None
    fps: float | None = None
    prompt: str | None = None
    times: tuple[float, ...] = ()
    raw: str = ""
    memory: str = ""
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a target answers for a clip.

    Attributes:
        scores: By name, "" where it gives one number; NaN and infinities as they are.
        refused: Why there is no score: its own reason or exception; None with scores.
        failed: True if the process hung, died or broke a limit.
        mutated: True if the array handed over was changed.
    """

    scores: Mapping[str, float] = field(default_factory=dict)
    refused: str | None = None
    failed: bool = False
    mutated: bool = False


class Caller:
    """A process that calls a target, started when it is needed and again after it died.

    Args:
        target: The target.
        limits: Its bounds.
        python: Interpreter; None for this one.
        environment: Variables on top of this process's.
        scratch: Folder in which its own is made; None for the system's.
    """

    def __init__(
        self, target: Target, limits: Limits, python: str | None = None,
        environment: Mapping[str, str] | None = None, scratch: Path | None = None,
    ) -> None:  # fmt: skip
        self._target, self._limits = target, limits
        self._python, self._environment = python or sys.executable, dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._folder, self._scratch = Path(), scratch
        self._stopped = threading.Event()
        self.facts: Mapping[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, items: Sequence[Item], route: str, omit: Sequence[str] = ()) -> list[Answer]:
        """Return the target's answer for each item; one call of the target for routes of batches.

        Args:
            items: Clips.
            route: Way of taking them.
            omit: Keyword parameters that are left out.
        """
        if route in runner.BATCHES:
            return self._exchange(items, route, omit)
        return [answer for item in items for answer in self._exchange([item], route, omit)]

    def start(self) -> str | None:
        """Load the target; return why it cannot be, or None."""
        if self._stopped.is_set():
            return "it was stopped"
        if self._process is not None and self._process.poll() is None:
            return None
        self.close()
        self._folder = Path(tempfile.mkdtemp(prefix="vmmetrics-audit-", dir=self._scratch))
        self._answers = queue.Queue()
        # one hash seed: what depends on it is a matter of the check that changes it
        where = {"TMPDIR": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        if self._target.origin:
            where["PYTHONPATH"] = os.pathsep.join(filter(None, (self._target.origin, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(  # noqa: S603
            [self._python, runner.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=self._folder, env={**os.environ, **where, **self._environment}, start_new_session=True,
        )  # fmt: skip
        self._process = process
        threading.Thread(target=_read, args=(process, self._answers), daemon=True).start()
        if self._stopped.is_set():  # meanwhile
            self.close()
            return "it was stopped"
        spec = self._target.spec(self._limits.seconds)
        bounds = {"memory": self._limits.memory, "file_size": self._limits.file_size}
        reply = self._ask({**spec, **bounds})
        if isinstance(reply, str) or "setup" in reply:
            self.close()
            return reply if isinstance(reply, str) else str(reply["setup"])
        self.facts = reply["ready"]
        return None

    def _exchange(self, items: Sequence[Item], route: str, omit: Sequence[str]) -> list[Answer]:
        if (broken := self.start()) is not None:
            return [Answer(refused=broken, failed=True)] * len(items)
        reply = self._ask({"route": route, "items": [item._asdict() for item in items], "omit": list(omit)})
        if isinstance(reply, str):
            return [Answer(refused=reply, failed=True)] * len(items)
        if "error" in reply:
            return [Answer(refused=reply["error"])] * len(items)
        return [_answer(of) for of in reply["answers"]]

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any] | str:
        """Return the reply, or why there is none; the group is ended then."""
        process = self._process
        assert process is not None and process.stdin is not None  # noqa: S101
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        deadline = time.monotonic() + self._limits.seconds
        trouble = None
        while trouble is None:
            try:
                line = self._answers.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                trouble = self._trouble(deadline)
                continue
            if line:
                if (trouble := self._overfull()) is None:
                    return dict(json.loads(line))
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
            trouble = f"its process died ({_cause(process.returncode)})"
        self.close()
        return trouble

    def _trouble(self, deadline: float) -> str | None:
        limits = self._limits
        if time.monotonic() > deadline:
            return f"it took longer than {limits.seconds:g} s"
        if overfull := self._overfull():
            return overfull
        assert self._process is not None  # noqa: S101
        if _resident(self._process.pid) > limits.memory:
            return f"it took more than {limits.memory >> 20} MiB of memory"
        return None

    def _overfull(self) -> str | None:
        most = self._limits.folder_size
        return f"it wrote more than {most >> 20} MiB" if sum(_sizes(self._folder)) > most else None

    def stop(self) -> None:
        """End the group for good; for another thread than that of the calls."""
        self._stopped.set()
        self.close()

    def close(self) -> None:
        """End the group, and remove its folder."""
        if self._process is None:
            return
        process, self._process = self._process, None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:  # who reads the other pipe closes it: a child that left may keep it open
            with contextlib.suppress(OSError):
                process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _read(process: subprocess.Popen[bytes], answers: queue.Queue[bytes]) -> None:
    assert process.stdout is not None  # noqa: S101
    with contextlib.suppress(ValueError, OSError), process.stdout:
        for line in process.stdout:
            answers.put(line)
    answers.put(b"")


def _answer(of: Mapping[str, Any]) -> Answer:
    if "scores" in of:
        scores = {name: float(value) for name, value in of["scores"].items()}
        return Answer(scores, mutated=bool(of.get("mutated")))
    return Answer(refused=str(of.get("missing") or of.get("error")), mutated=bool(of.get("mutated")))


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _sizes(folder: Path) -> Iterator[int]:
    for root, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                yield os.lstat(os.path.join(root, name)).st_blocks * 512  # noqa: PTH118


def _resident(group: int) -> int:
    """Return bytes of memory that the processes of a group hold; 0 where the system does not say."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return total
