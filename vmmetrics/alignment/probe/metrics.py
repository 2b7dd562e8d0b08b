"""What can be probed: our metrics, the baselines, and any function of a clip."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError, explain
from vmmetrics.scoring.settings import Scoring, Settings

Function = Callable[[Clip], Mapping[str, float | None] | float | None]
"""A metric of one's own: a score, or several by name; None where there is none."""


@dataclass(frozen=True, slots=True)
class CaseScores:
    """What the metrics say of one clip: every name is in one of the three."""

    scores: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


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
        loaded: Function = found
        return loaded


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


def score(sources: Iterable[Source], clip: Clip) -> CaseScores:
    """Return the scores of every source; what one of them does wrong is its error and nobody else's."""
    found = CaseScores()
    for source in sources:
        part = _by_function(source, clip) if isinstance(source, FunctionSource) else _by_suite(source, clip)
        found.scores.update(part.scores)
        found.missing.update(part.missing)
        found.errors.update(part.errors)
    return found


@cache  # models are loaded once in each process
def _suite(source: Settings) -> Scoring:
    return source.build()


def _by_suite(source: Settings, clip: Clip) -> CaseScores:
    try:
        scores = _suite(source).score_clip(clip)
    except SetupError:
        raise
    except Exception as error:  # one metric's fault must not cost the others their answer
        return CaseScores(errors=dict.fromkeys(source.metrics, explain(error)))
    return CaseScores(
        {name: float(value) for name, value in scores.scores.items()}, scores.missing, dict(scores.errors)
    )


def _by_function(source: FunctionSource, clip: Clip) -> CaseScores:
    try:
        given = source.load()(clip)
        named = given if isinstance(given, Mapping) else {source.label: given}
        values = {str(name): None if value is None else float(value) for name, value in named.items()}
    except SetupError:
        raise
    except Exception as error:  # likewise
        return CaseScores(errors={source.label: explain(error)})
    scores = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    missing = {
        name: "no score" if value is None else f"the score is {value}"
        for name, value in values.items()
        if name not in scores
    }
    return CaseScores(scores, missing)
