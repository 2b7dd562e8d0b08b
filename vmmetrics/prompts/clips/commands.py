"""Clips from any program: a template of its command line, run without a shell."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.prompts.clips.jobs import Job

FIELDS = ("prompt", "seed", "out", "index", "sample", "subject", "action", "place", "pattern")
_FIELD = re.compile(r"\{([a-z_]+)\}")
_LAST_WORDS = 2000  # bytes of a failed program's output that are recorded


class CommandMaker:
    """Runs a program for each clip.

    Args:
        template: Its command line, split as a shell would but run without one; ``{prompt}``, ``{seed}``, ``{out}`` and
            the other :data:`FIELDS` are put in after the splitting, so that no text can become an argument of its own
            or anything a shell would act on. Other braces stay as they are.
        timeout: Seconds after which a program is killed; None for never.

    Raises:
        SetupError: The template cannot be split, lacks ``{prompt}`` or ``{out}``, or has another field.
    """

    def __init__(self, template: str, timeout: float | None = None) -> None:
        try:
            self._parts = shlex.split(template)
        except ValueError as error:
            raise SetupError(f"The command cannot be split into words: {error}") from error
        names = {name for part in self._parts for name in _FIELD.findall(part)}
        unknown = sorted(names - set(FIELDS))
        if unknown:
            raise SetupError(f"The command has {{{unknown[0]}}}; fields are {', '.join(FIELDS)}")
        if not {"prompt", "out"} <= names:
            raise SetupError("The command needs {prompt} and {out}: 'python gen.py --prompt={prompt} --out {out}'")
        self._timeout = timeout

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The template."""
        return {"command": self._parts}

    def load(self) -> Mapping[str, Any]:
        """Look whether the program is there.

        Raises:
            SetupError: It is not.
        """
        if not _FIELD.search(self._parts[0]) and shutil.which(self._parts[0]) is None:
            raise SetupError(f"There is no program {self._parts[0]}")
        return {"program": shutil.which(self._parts[0]), "timeout": self._timeout}

    def make(self, job: Job, out: Path) -> None:
        """Run the program.

        Raises:
            ClipError: It failed or took too long; with its last words.
        """
        arguments = self._filled(job, out)
        log = out.with_name("output.log")
        with log.open("wb") as file:
            try:
                process = subprocess.Popen(  # noqa: S603 - the user's own command, and no shell
                    arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
                )
            except (OSError, ValueError) as error:  # no such program; a NUL in the prompt
                raise ClipError(f"The command cannot be run: {error}") from error
            try:
                code = process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                raise ClipError(f"The command took longer than {self._timeout:g} s{_last_words(log)}") from None
            finally:
                _end(process)
        if code:
            cause = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with code {code}"
            raise ClipError(f"The command {cause}{_last_words(log)}")

    def _filled(self, job: Job, out: Path) -> list[str]:
        entry = job.entry
        values = {
            "prompt": entry.prompt, "seed": str(job.seed), "out": str(out.absolute()), "index": entry.index,
            "sample": str(job.sample), "subject": entry.subject, "action": entry.action, "place": entry.place,
            "pattern": entry.pattern,
        }  # fmt: skip
        return [_FIELD.sub(lambda found: values[found[1]], part) for part in self._parts]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing running: a program may have started others, which its group holds."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(log: Path) -> str:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LAST_WORDS))
        words = file.read().decode("utf-8", "replace").strip()
    return f": {words}" if words else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
