"""Place of scores among real footage, and what harmless changes move them by: the one reader of ``anchors.json``.

``python -m benchmarks.anchors`` makes that table, of one preset, protocol and version of each score; elsewhere there is
no place but a reason.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.functional.motion_index import INDEX_METRICS
from vmmetrics.functional.motion_index import VERSION as INDEX_VERSION
from vmmetrics.metrics.registry import label, registered
from vmmetrics.scoring.record import FIRST_VERSION
from vmmetrics.utils.schema import check, read_json

INDEX = "motion_index"
ANCHORED = (*(key for key in INDEX_METRICS if not registered()[key].is_amount), INDEX)
"""Scores with a place among real footage; an amount is no merit."""
BELOW_REAL, HALF_WIDTH, REASON = "_below_real", "_half_width", "no_anchor"
"""Ends of the names of columns in ``scores.csv``, and the column of reasons."""
COLUMNS = (*(key + BELOW_REAL for key in ANCHORED), *(key + HALF_WIDTH for key in ANCHORED), REASON)
MOST_DECIMALS = 4
"""Decimals of a score without a known uncertainty."""
Scores = Mapping[str, float | None]
Versions = Mapping[str, int]
_UNKNOWN = "the models of these scores are not known"
_FILE = Path(__file__).with_name("anchors.json")
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a score among real footage.

    Attributes:
        above: Real sources with a higher one.
        sources: Real sources in all.
        half_width: Half the width of the 90 % interval of harmless changes to clips of such a score.
    """

    score: float
    above: int
    sources: int
    half_width: float

    @property
    def share(self) -> float:
        """Share of the real sources that the score is below, 0..1."""
        return self.above / self.sources

    @property
    def rounded(self) -> str:
        """The score to the decimal of its uncertainty."""
        return rounded(self.score, self.half_width)

    @property
    def interval(self) -> str:
        """The score and its uncertainty: ``0.71 ± 0.05``."""
        return f"{self.rounded} ± {rounded(self.half_width, self.half_width)}"

    def __str__(self) -> str:
        return f"below {self.above} of {self.sources} real sources"


def rounded(value: float, half_width: float | None) -> str:
    """Return a value to the decimal of the first digit of ``half_width``; to 4 decimals where that is None.

    >>> rounded(0.7149, 0.05), rounded(0.7149, 0.2), rounded(0.7149, 0.004), rounded(0.7149, None)
    ('0.71', '0.7', '0.715', '0.7149')
    """
    if half_width is None:
        return f"{value:.{MOST_DECIMALS}f}"
    decimals = math.ceil(-math.log10(half_width) - 1e-9)  # 0.1 is 1 decimal whatever its logarithm rounds to
    return f"{value:.{min(max(decimals, 1), MOST_DECIMALS)}f}"


@dataclass(frozen=True, slots=True)
class Anchors:
    """The table.

    Attributes:
        format: Version of its layout.
        preset: Preset of the scores.
        protocol: Protocol of the scores.
        versions: Version by metric, of all metrics in the index.
        index_version: Version of the index.
        models: Model by ability (:attr:`vmmetrics.perception.presets.Preset.description`).
        weights: SHA-256 by weight name.
        made_by: Command that made it.
        made_of: SHA-256 of the recipe, the footage and the scores it was made of.
        values: Score of every real source, by metric.
        half_widths: Knots (score, half-width), by metric; half-widths between them lie on straight lines.

    Raises:
        ValueError: The numbers are no such table.
    """

    format: int
    preset: str
    protocol: str
    versions: Mapping[str, int]
    index_version: str
    models: Mapping[str, str]
    weights: Mapping[str, str]
    made_by: str
    made_of: str
    values: Mapping[str, tuple[float, ...]]
    half_widths: Mapping[str, tuple[tuple[float, float], ...]]

    def __post_init__(self) -> None:
        if self.format != _FORMAT:
            raise ValueError(f"format: expected {_FORMAT} but got {self.format}")
        for name, table in (("values", self.values), ("half_widths", self.half_widths)):
            if set(table) != set(ANCHORED) or not all(table.values()):
                raise ValueError(f"{name}: expected numbers for {', '.join(ANCHORED)} and no others")
        if set(self.versions) != set(INDEX_METRICS):
            raise ValueError(f"versions: expected those of {', '.join(INDEX_METRICS)} and no others")
        for key in ANCHORED:
            if not all(0 <= value <= 1 for value in self.values[key]):
                raise ValueError(f"values.{key}: expected scores in 0..1")
            knots = self.half_widths[key]
            at, widths = [knot[0] for knot in knots], [knot[1] for knot in knots]
            if at != sorted(set(at)) or not all(0 <= x <= 1 for x in at) or not all(0 < width <= 1 for width in widths):
                raise ValueError(f"half_widths.{key}: expected ascending scores in 0..1 with widths above 0, up to 1")

    def place(self, metric: str, score: float) -> Place:
        """Return the place of a score."""
        values = sorted(self.values[metric])
        at, widths = zip(*self.half_widths[metric], strict=True)
        above = len(values) - bisect_right(values, score)
        return Place(score, above, len(values), float(np.interp(score, at, widths)))


def read_anchors(path: Path) -> Anchors:
    """Read a table.

    Raises:
        SetupError: It cannot be read, or is no such table.
    """
    return check(Anchors, read_json(path), path.name)


@cache
def _shipped() -> Anchors | str:
    """Return the table of this version, or why there is none: without it no score has a place."""
    try:
        return read_anchors(_FILE)
    except SetupError as error:
        return f"the table of real footage cannot be used: {error}"


class Scale:
    """The table of real footage, as far as it holds for the scores of a run.

    Args:
        configuration: What the scores depend on (:meth:`vmmetrics.scoring.suite.Suite.describe`); None if not known.
        anchors: The table; None for the one of this version.
    """

    def __init__(self, configuration: Mapping[str, Any] | None = None, anchors: Anchors | None = None) -> None:
        table = anchors or _shipped()
        self._anchors = None if isinstance(table, str) else table
        self._reasons = dict.fromkeys(ANCHORED, table) if isinstance(table, str) else {}
        if not isinstance(table, str):
            self._reasons = _foreign(table, configuration)

    def reason(self, metric: str, scores: Scores, versions: Versions) -> str:
        """Return why a score of a clip has no place; "" where it has one.

        Args:
            metric: One of :data:`ANCHORED`.
            scores: The clip's scores; the index has the versions of those that are in it.
            versions: Their versions (:attr:`vmmetrics.scoring.record.Record.score_version`).
        """
        if self._anchors is None or self._reasons.get(metric):
            return self._reasons[metric]
        for key in (part for part in INDEX_METRICS if scores.get(part) is not None) if metric == INDEX else (metric,):
            ours, theirs = self._anchors.versions[key], versions.get(key, FIRST_VERSION)
            if ours != theirs:
                return f"the table is of {label(key)} version {ours}, the score of version {theirs}"
        return ""

    def places(self, scores: Scores, versions: Versions) -> dict[str, Place]:
        """Return the places of the scores of a clip that have one, its index under ``"motion_index"``."""
        return {
            key: self._anchors.place(key, score)
            for key in ANCHORED
            if (score := scores.get(key)) is not None and not self.reason(key, scores, versions) and self._anchors
        }

    def columns(self, scores: Scores, versions: Versions) -> dict[str, Any]:
        """Return the values of :data:`COLUMNS` that a clip has, by column."""
        places = self.places(scores, versions)
        shares: dict[str, Any] = {key + BELOW_REAL: place.share for key, place in places.items()}
        widths = {key + HALF_WIDTH: place.half_width for key, place in places.items()}
        return shares | widths | {REASON: self.text(scores, versions) or None}

    def text(self, scores: Scores, versions: Versions) -> str:
        """Return the reasons why scores of a clip have no place, with the scores where they differ; "" for none."""
        present = [key for key in ANCHORED if scores.get(key) is not None]
        by_reason: dict[str, list[str]] = {}
        for key in present:
            by_reason.setdefault(self.reason(key, scores, versions), []).append(key)
        if len(by_reason) == 1:
            return next(iter(by_reason))
        return "; ".join(f"{_names(keys)}: {reason}" for reason, keys in by_reason.items() if reason)


def _names(keys: Iterable[str]) -> str:
    return ", ".join("INDEX" if key == INDEX else label(key) for key in keys)


def _foreign(table: Anchors, configuration: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the reason by score why the table does not hold for a configuration."""
    if configuration is None:
        return dict.fromkeys(ANCHORED, _UNKNOWN)
    for name, mine in (("preset", table.preset), ("protocol", table.protocol)):
        if (stated := configuration.get(name)) != mine:
            return dict.fromkeys(ANCHORED, f"the table is of {name} {mine}, the scores of {stated}")
    reasons = {}
    if table.index_version != INDEX_VERSION:
        reasons[INDEX] = f"the table is of INDEX version {table.index_version}, the score of {INDEX_VERSION}"
    stated_weights = configuration.get("weights") or {}
    for name, sha256 in table.weights.items():
        if stated_weights.get(name, sha256) != sha256:
            return dict.fromkeys(ANCHORED, f"the table is of other weights ({name})")
    models = configuration.get("models")
    if not models:
        return dict.fromkeys(ANCHORED, _UNKNOWN)
    differing = [ability for ability, model in table.models.items() if models.get(ability) != model]
    if "plausibility" in differing:
        reasons |= dict.fromkeys(("cas", INDEX), "the table is of another CAS model")
    if others := [ability for ability in differing if ability != "plausibility"]:
        return dict.fromkeys(ANCHORED, f"the table is of another model of {others[0]}")
    return reasons
