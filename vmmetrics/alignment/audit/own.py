"""Metrics and baselines of vmmetrics as targets of an audit: one scoring for all of them, the index included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from vmmetrics.alignment.audit.runner import answered, handed
from vmmetrics.alignment.baselines.catalogue import BASELINES
from vmmetrics.alignment.probe import cases
from vmmetrics.alignment.probe.session import sources_of
from vmmetrics.alignment.readers.columns import measures_amount
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import METRICS, find
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.anchors import INDEX
from vmmetrics.scoring.settings import Settings
from vmmetrics.video import read_clip


def names_of(text: str) -> list[str]:
    """Return names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def metric_facts(
    text: str, plugins: Sequence[str]
) -> tuple[dict[str, bool], dict[str, tuple[float, float]], tuple[str, ...]]:
    """Return direction and range of each score, and which measure an amount.

    Raises:
        SetupError: A name is no metric or baseline.
    """
    own = OwnMetrics(text, tuple(plugins))
    higher: dict[str, bool] = {}
    ranges: dict[str, tuple[float, float]] = {}
    for name in own.scores:
        if name in BASELINES:
            higher[name] = not BASELINES[name].lower_is_better
            continue
        metric = find(name)
        higher[name] = metric is None or metric.higher_is_better
        span = (0.0, 1.0) if metric is None else metric.range
        if span is not None and all(np.isfinite(span)):
            ranges[name] = (float(span[0]), float(span[1]))
    return higher, ranges, tuple(name for name in own.scores if measures_amount(name))


@dataclass(frozen=True)
class OwnMetrics:
    """Function from a clip to the scores of metrics and baselines by name.

    Attributes:
        text: Names between commas; ``motion_index`` and ``baselines`` among them.
        plugins: Files that register metrics.

    Raises:
        SetupError: A name is no metric or baseline.
    """

    text: str
    plugins: tuple[str, ...] = ()
    scores: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        named = [name for source in self.sources for name in source.metrics]
        asked = names_of(self.text)
        shown = [name for name in named if name in asked or name in BASELINES]
        object.__setattr__(self, "scores", (*shown, *([INDEX] if INDEX in asked else [])))

    @property
    def __name__(self) -> str:
        return self.text

    @cached_property
    def sources(self) -> list[Settings]:
        """Who computes them."""
        asked = names_of(self.text)
        needed = [*(name for name in asked if name != INDEX), *(METRICS if INDEX in asked else ())]
        try:
            found = sources_of(list(dict.fromkeys(needed)), "embedded", list(self.plugins))
        except ValueError as error:
            raise SetupError(f"{error}; a function is named as module:function") from error
        return [source for source in found if isinstance(source, Settings)]

    def __call__(self, clip: Clip) -> Mapping[str, float | None]:
        """Return scores by name.

        Raises:
            RuntimeError: A metric fails; the text says why.
        """
        scores: dict[str, float | None] = {}
        scenes = dict[str, Scene]()
        for source in self.sources:
            result = cases.scored(source, clip, scenes)
            if result.errors:
                raise RuntimeError("; ".join(f"{name}: {why}" for name, why in result.errors.items()))
            scores |= {name: result.scores.get(name) for name in source.metrics if name in self.scores}
            if INDEX in self.scores and source.preset == "embedded":
                scores[INDEX] = result.index
        return scores


class MetricTarget:
    """Side of the runner: metrics that read files and arrays by the readers of this package."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._metrics = OwnMetrics(spec["text"], tuple(spec["plugins"]))

    def describe(self) -> dict[str, Any]:
        """Return that the rate of arrays is passed, and has no default."""
        return {"named": ["fps", "prompt"], "defaults": {}}

    def call(self, route: str, items: Sequence[Mapping[str, Any]], omit: Sequence[str]) -> list[dict[str, Any]]:
        """Return an answer for each item."""
        return [answered(partial(self._one, route, item, omit)) for item in items]

    def _one(self, route: str, item: Mapping[str, Any], omit: Sequence[str]) -> Mapping[str, float | None]:
        given = handed(route, item)
        if isinstance(given, list):
            given = np.stack(given)
        rate: dict[str, Any] = {} if route == "path" or "fps" in omit else {"fps": item.get("fps")}
        return self._metrics(given if route == "clip" else read_clip(given, prompt=item.get("prompt"), **rate))
