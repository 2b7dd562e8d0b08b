"""What can be probed: our metrics, the baselines, and any function of a clip."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError, explain
from vmmetrics.scoring.settings import Scoring, Settings

Function = Callable[[Clip], Mapping[str, float | None] | float | None]
"""A metric of one's own: a score, or several by name; None where there is none."""


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A metric of somebody else's.

    Attributes:
        function: The function, or ``module:name`` of one.
        label: What its scores are called; where it gives several, they keep their names.
    """

    function: Function | str
    label: str

    def load(self) -> Function:
        """Return the function itself.

        Raises:
            SetupError: There is none of that name.
        """
        if not isinstance(self.function, str):
            return self.function
        module, _, name = self.function.partition(":")
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise SetupError(f"No function {self.function!r} (expected module:name): {error}") from error
        if not callable(found):
            raise SetupError(f"{self.function} is no function but a {type(found).__name__}")
        return cast("Function", found)


Source = Settings | FunctionSource


def own_function(function: Function | str) -> FunctionSource:
    """Return a function, or ``module:name`` of one, as a source."""
    name = function.rpartition(":")[2] if isinstance(function, str) else getattr(function, "__name__", "metric")
    return FunctionSource(function, "metric" if name == "<lambda>" else name)


def describe(source: Source) -> dict[str, Any]:
    """Return what the scores of a source depend on, ready for JSON.

    Raises:
        SetupError: Something it needs is missing here.
    """
    if isinstance(source, FunctionSource):
        source.load()
        named = source.function
        if not isinstance(named, str):
            named = getattr(named, "__qualname__", source.label)
        return {"function": named, "label": source.label}
    suite = _suite(source)
    return {**source.configuration(suite), "metrics": list(source.metrics), "parts": dict(source.parts(suite))}


def load(source: Source) -> None:
    """Load the models of a source, or its function.

    Raises:
        SetupError: Something it needs is missing here.
    """
    if isinstance(source, FunctionSource):
        source.load()
    else:
        _suite(source)


def score(sources: Iterable[Source], clip: Clip) -> dict[str, dict[str, Any]]:
    """Return ``scores``, ``missing`` and ``errors`` by metric; what one source does wrong is its error alone."""
    found: dict[str, dict[str, Any]] = {"scores": {}, "missing": {}, "errors": {}}
    for source in sources:
        try:
            part = _by_function(source, clip) if isinstance(source, FunctionSource) else _by_suite(source, clip)
        except SetupError:
            raise
        except Exception as error:  # one metric's fault must not cost the others their answer
            names = (source.label,) if isinstance(source, FunctionSource) else source.metrics
            part = {"errors": dict.fromkeys(names, explain(error))}
        for name, values in part.items():
            found[name].update(values)
    return found


@cache  # models are loaded once in each process
def _suite(source: Settings) -> Scoring:
    return source.build()


def _by_suite(source: Settings, clip: Clip) -> dict[str, Mapping[str, Any]]:
    found = _suite(source).score_clip(clip)
    scores = {name: float(value) for name, value in found.scores.items()}
    return {"scores": scores, "missing": found.missing, "errors": found.errors}


def _by_function(source: FunctionSource, clip: Clip) -> dict[str, Mapping[str, Any]]:
    given = source.load()(clip)
    named = given if isinstance(given, Mapping) else {source.label: given}
    values = {str(name): None if value is None else float(value) for name, value in named.items()}
    scores = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    lost = {name: value for name, value in values.items() if name not in scores}
    missing = {name: "no score" if value is None else f"the score is {value}" for name, value in lost.items()}
    return {"scores": scores, "missing": missing}
