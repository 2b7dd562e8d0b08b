"""Registry of benchmarks by name: modules of :mod:`.benchmarks`, loaded on demand, and those of plugins."""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from vmmetrics.errors import SetupError
from vmmetrics.understanding import benchmarks
from vmmetrics.understanding.harness.benchmark import Benchmark
from vmmetrics.utils import plugins

_REGISTERED: dict[str, Benchmark] = {}


def register(benchmark: Benchmark) -> None:
    """Register a benchmark under its name; an earlier one of that name is replaced.

    Raises:
        SetupError: The name is invalid or that of a shipped benchmark.
    """
    if not re.fullmatch(r"[a-z0-9][\w.-]*", benchmark.name) or benchmark.name in _shipped():
        raise SetupError(f"No benchmark can be registered as {benchmark.name!r}: it is taken, or no name")
    benchmark.source = plugins.source()
    _REGISTERED[benchmark.name] = benchmark


def names() -> tuple[str, ...]:
    """Return the names of all benchmarks, the shipped ones first."""
    return (*_shipped(), *_REGISTERED)


def find(name: str) -> Benchmark:
    """Return the benchmark of a name.

    Raises:
        SetupError: None exists.
    """
    if name not in names():
        raise SetupError(f"No benchmark is called {name!r}; there are {', '.join(names()) or 'none'}")
    if name in _REGISTERED:
        return _REGISTERED[name]
    return cast(Benchmark, import_module(f"{benchmarks.__name__}.{name.replace('-', '_')}").BENCHMARK)


def _shipped() -> tuple[str, ...]:
    modules = (module.name for module in iter_modules(benchmarks.__path__) if not module.ispkg)
    return tuple(sorted(name.replace("_", "-") for name in modules))
