"""Exceptions, by what the user has to do about them."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal


class VMMetricsError(Exception):
    """Base of the errors that this package raises on purpose; their text is written for the user.

    Args:
        args: Lines of the text; a line break inside one is escaped when it is printed.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class ClipError(VMMetricsError):
    """This clip cannot be read or scored; the others can. Becomes the clip's error record."""


class SetupError(VMMetricsError):
    """Something outside the clip has to be fixed first: a missing extra, weight file or setting."""


class BusyError(SetupError):
    """Disk or GPU memory is in use by others now and may be free later."""


class StoppedError(VMMetricsError):
    """The run ended early through no fault of its settings; results are saved, and the same command resumes."""


def cannot(action: Literal["read", "write"], target: object, error: OSError) -> SetupError:
    """Return the error for an operation that the system refused.

    Args:
        action: The operation.
        target: Path, or text that ends in one ("clips to out/").
        error: The system's error.

    >>> cannot("write", "out/scores.csv", OSError(28, "No space left on device"))
    SetupError('Cannot write out/scores.csv: No space left on device')
    """
    return SetupError(f"Cannot {action} {target}: {os_reason(error)}")


@contextmanager
def refusing(action: Literal["read", "write"], target: object) -> Iterator[None]:
    """Raise :func:`cannot` for an operation in the block that the system refuses."""
    try:
        yield
    except OSError as error:
        raise cannot(action, target, error) from error


def os_reason(error: Exception) -> str:
    """Return the reason that the system or FFmpeg gives, without number and path; else the error's own text."""
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


def os_sentence(error: OSError) -> str:
    """Return the reason and, where the error has one, the path.

    >>> os_sentence(FileNotFoundError(2, "No such file or directory", "a.mp4"))
    'No such file or directory: a.mp4'
    """
    return os_reason(error) + (f": {error.filename}" if error.filename else "")


def kind_and_text(error: BaseException) -> str:
    """Return the kind of a foreign error and its text as one line; the kind alone where its text cannot be read.

    >>> kind_and_text(ValueError("a  b"))
    'ValueError: a b'
    """
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:
        return type(error).__name__


def explain(error: BaseException) -> str:
    """Return an error as one line for a record: our own text unchanged, any other with type and code line."""
    if isinstance(error, VMMetricsError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"Out of memory ({error})" if str(error) else "Out of memory"
    if isinstance(error, OSError) and error.strerror:
        return os_sentence(error)
    where = traceback.extract_tb(error.__traceback__)[-1:]
    source = f" ({Path(where[0].filename).name}:{where[0].lineno})" if where else ""
    return kind_and_text(error) + source


def install(extra: str = "", options: str = "") -> str:
    """Return the command that installs this package, with an extra, from where this copy of it came.

    It is in no registry: a clone is installed again as editable, anything else from the address that pip recorded.
    """
    extras, origin = f"[{extra}]" if extra else "", _origin()
    package = f'-e "{origin}{extras}"' if isinstance(origin, Path) else f'"vmmetrics{extras}{origin}"'
    return " ".join(filter(None, ("pip install", options, package)))


@cache
def _origin() -> Path | str:
    """Return the clone that this package is imported from, else `` @ ADDRESS``, or "" where none is recorded."""
    clone = Path(__file__).resolve().parents[1]
    if (clone / "pyproject.toml").is_file():
        return clone
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError, ValueError, KeyError, TypeError):
        recorded = json.loads(metadata.distribution("vmmetrics").read_text("direct_url.json") or "{}")
        commit = recorded.get("vcs_info", {}).get("commit_id")
        return f" @ git+{recorded['url']}@{commit}" if commit else f" @ {recorded['url']}"
    return ""
