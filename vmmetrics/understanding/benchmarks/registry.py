"""Benchmarks by name; a module is loaded when its benchmark is asked for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, cast

from vmmetrics.errors import SetupError
from vmmetrics.understanding.harness.benchmark import Benchmark, Reference

_PACKAGE = "vmmetrics.understanding.benchmarks"
MODULES: Mapping[str, str] = {
    "motionbench": "motionbench",
    "favor-mcq": "favor_mcq",
    "favor-caption": "favor_caption",
    "tuna-mcq": "tuna_mcq",
    "tuna-cap": "tuna_cap",
    "fpsbench": "fpsbench",
    "fpsbench-certificate": "fpsbench_certificate",
    "fpsbench-slowed": "fpsbench_slowed",
    "synthetic": "synthetic",
    "custom": "custom",
}
"""Name of each benchmark to its module here, which has it as ``BENCHMARK``."""
POLICY = "adaptive"
"""Frame policy where a benchmark names none: 2 frames per second under 16 s, else 1, as TUNA and FAVOR show to closed
models."""


def names() -> tuple[str, ...]:
    """Names of the benchmarks that are there."""
    return tuple(name for name, module in MODULES.items() if find_spec(f"{_PACKAGE}.{module}") is not None)


def find(name: str) -> Benchmark:
    """The benchmark of a name.

    Raises:
        SetupError: There is none.
    """
    if name not in names():
        raise SetupError(f"No benchmark is called {name!r}; there are {', '.join(names()) or 'none'}")
    return cast(Benchmark, import_module(f"{_PACKAGE}.{MODULES[name]}").BENCHMARK)


def data_of(name: str) -> dict[str, Any]:
    """The data file of a benchmark, its own or the one it shares; empty where there is none."""
    module = MODULES.get(name, name)
    for stem in (module, module.partition("_")[0]):
        file = files(_PACKAGE).joinpath(f"{stem}.toml")
        if file.is_file():
            return tomllib.loads(file.read_text("utf-8"))
    return {}


def references(benchmark: Benchmark) -> Sequence[Reference]:
    """The published rows of a benchmark; none where it names none."""
    own: Sequence[Reference] | None = getattr(benchmark, "references", None)
    if own is not None:
        return own
    rows = data_of(benchmark.name).get("references", ())
    return [Reference(row["model"], row["source"], dict(_figures(row["figures"]))) for row in rows]


def policy(benchmark: Benchmark) -> str:
    """The frame policy, in words, that a benchmark is asked under if no other is wanted."""
    return str(getattr(benchmark, "policy", None) or data_of(benchmark.name).get("policy") or POLICY)


def _figures(nested: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], float]]:
    for measure, groups in nested.items():
        for group, values in groups.items():
            for name, value in values.items():
                yield (measure, group, name), float(value)
