"""Plugins: Python files of the user, run once in each process and identified by their hash."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import util
from pathlib import Path

from vmmetrics.errors import SetupError, kind_and_text, refusing
from vmmetrics.utils.storage.opening import read_regular

_at_work: list[Mapping[str, str]] = []


def source() -> Mapping[str, str]:
    """Return the source that is registering now: file and SHA-256, or package and version; "" for user code."""
    return _at_work[-1] if _at_work else {}


@contextmanager
def registering(name: Mapping[str, str]) -> Iterator[None]:
    """Have :func:`source` say ``name`` meanwhile."""
    _at_work.append(name)
    try:
        yield
    finally:
        _at_work.pop()


def run_plugins(paths: Sequence[str]) -> list[Mapping[str, str]]:
    """Run files, each once.

    Args:
        paths: Python files. They are run as they are, like any module that is imported.

    Returns:
        The source of each, as :func:`source` gave it while the file was run.

    Raises:
        SetupError: A file cannot be read, or fails.
    """
    return [_run(str(Path(path).absolute())) for path in paths]


@cache
def _run(path: str) -> Mapping[str, str]:
    with refusing("read", f"the plugin {path}"):
        sha256 = hashlib.sha256(read_regular(Path(path))).hexdigest()
    spec = util.spec_from_file_location(f"vmmetrics_plugin_{sha256[:16]}", path)
    if spec is None or spec.loader is None:
        raise SetupError(f"The plugin {path} is not a Python file: its name must end in .py")
    name = {"plugin": Path(path).name, "sha256": sha256}
    with registering(name):
        try:
            module = sys.modules[spec.name] = util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and whatever else it raises
            raise SetupError(f"The plugin {path} failed: {kind_and_text(error)}") from error
    return name
