"""Rewards of scored samples: the same components within a group, and a reason wherever one is missing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from vmmetrics.errors import VMMetricsError
from vmmetrics.functional.motion_index import INDEX_METRICS, motion_index
from vmmetrics.functional.tripwires import TRIPWIRES, UNITS
from vmmetrics.metrics.registry import registered
from vmmetrics.scoring.anchors import INDEX
from vmmetrics.scoring.record import Record
from vmmetrics.types import INDEX_NEEDS, BoolArray, FloatArray, MetricResult, collapse_of

Missing = Literal["raise", "drop-component", "nan"]
Collapsed = Literal["least", "nan"]
REWARD = "reward"
"""Key of the reason of a whole reward."""
_OWN_CHANGE = "own change"  # the factor of the index
_SHOWN = 3  # samples named in an error


class RewardError(VMMetricsError):
    """A component could not be measured, and was not to be left out."""


@dataclass(frozen=True, slots=True)
class Rewards:
    """Rewards of a batch of B samples, in its order.

    Attributes:
        values: (B,) float64 rewards; NaN where there is none, never a placeholder.
        components: Metric, ``motion_index`` or tripwire to (B,) values as they went into rewards, NaN where missing.
        collapsed: (B,) True where a sample has no motion to judge: a still, slides, noise.
        reasons: For every sample, component to the reason why it is missing or left out, and under ``"reward"`` why
            the whole reward is missing or the least.
        events: For every sample, metric to the defects that cost points, as JSON types.
        dropped: Group to the components left out for all of its samples.
    """

    values: FloatArray
    components: Mapping[str, FloatArray]
    collapsed: BoolArray
    reasons: tuple[Mapping[str, str], ...]
    events: tuple[Mapping[str, Any], ...]
    dropped: Mapping[Hashable, tuple[str, ...]] = field(default_factory=dict)

    @property
    def tripwires(self) -> Mapping[str, FloatArray]:
        """The components that are tripwires (:data:`vmmetrics.functional.tripwires.UNITS` has their units)."""
        return {name: self.components[name] for name in UNITS}

    def complete(self) -> FloatArray:
        """Return the values, for what has no word for a missing one.

        Raises:
            RewardError: One is NaN.
        """
        if (absent := np.flatnonzero(np.isnan(self.values))).size:
            why = "; ".join(f"sample {n}: {self.reasons[n].get(REWARD, 'no reward')}" for n in absent[:_SHOWN])
            raise RewardError(f"{absent.size} of {len(self.values)} samples have no reward: {why}")
        return self.values

    def to_torch(self, device: Any = None) -> Any:
        """Return the values as a (B,) float32 tensor."""
        import torch

        return torch.as_tensor(self.values, dtype=torch.float32, device=device)


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """A sample: its record, its events by metric, and its tripwires under ``"tripwires"`` among these."""

    record: Record
    events: Mapping[str, Any]

    def component(self, name: str) -> float:
        """Return the value of a metric, of ``motion_index`` or of a tripwire; NaN where it is missing."""
        if name in UNITS:
            return float(self.events.get(TRIPWIRES, {}).get(name, np.nan))
        found = self.record.motion_index if name == INDEX else self.record.scores.get(name)
        return np.nan if found is None else float(found)

    @property
    def collapse(self) -> str | None:
        """Reason why there is no motion to judge, or None."""
        return next((reason for reason in self.record.missing.values() if collapse_of(reason)), None)

    @property
    def index_parts(self) -> frozenset[str]:
        """Scores, and the factor, that the index of this sample is made of."""
        factor = () if self.record.own_change is None else (_OWN_CHANGE,)
        return frozenset((*self.record.scores.keys() & set(INDEX_METRICS), *factor))

    def index_over(self, name: str, parts: frozenset[str]) -> float:
        """Return the index, or one of one's own, made of these parts alone; NaN where they are not enough."""
        scores = {key: score for key, score in self.record.scores.items() if key in parts}
        changed = self.record.own_change if _OWN_CHANGE in parts else None
        if name == INDEX:
            index = motion_index(scores, changed)
        else:
            index = registered()[name].compute({key: MetricResult(score) for key, score in scores.items()}, changed)
        return np.nan if index.score is None else index.score


def combine(
    samples: Sequence[ScoredSample],
    weights: Mapping[str, float],
    groups: Sequence[Hashable],
    missing: Missing,
    collapsed: Collapsed,
) -> Rewards:
    """Return the rewards of scored samples; arguments and errors as for :func:`vmmetrics.rewards`."""
    collapses = [one.collapse for one in samples]
    reasons: list[dict[str, str]] = [{**one.record.missing, **one.record.errors} for one in samples]
    for one, why in zip(samples, reasons, strict=True):
        if whole := one.record.error or one.collapse:
            why[REWARD] = whole
    names = dict.fromkeys((*(key for one in samples for key in one.record.score_version), *weights, *UNITS))
    components = {name: np.array([one.component(name) for one in samples], float) for name in names}
    values = np.full(len(samples), np.nan)
    indexes = [name for name in weights if name == INDEX or (name not in UNITS and registered()[name].is_index)]
    dropped: dict[Hashable, tuple[str, ...]] = {}
    for group in dict.fromkeys(groups):
        members = [number for number, of in enumerate(groups) if of == group]
        judged = [number for number in members if collapses[number] is None]
        left_out: list[str] = []
        for name in indexes:
            of_group = {number: samples[number] for number in judged}
            left_out += _one_index(name, of_group, components[name], reasons, missing)
        lacking = {name: [n for n in judged if np.isnan(components[name][n])] for name in weights}
        absent = {name: without for name, without in lacking.items() if without}
        if absent and missing == "raise":
            raise RewardError(_complaint(absent, reasons))
        used = dict(weights)
        if missing == "drop-component":
            left_out += absent
            used = {name: weight for name, weight in weights.items() if name not in absent}
        if left_out:
            dropped[group] = tuple(left_out)
        for number in judged:
            reasons[number] |= {name: reasons[number].get(name, _OF_GROUP) for name in left_out}
            if not used:
                reasons[number].setdefault(REWARD, "no component was measured for every sample of its group")
            else:
                values[number] = _mean(used, {name: float(components[name][number]) for name in used})
                if np.isnan(values[number]):
                    without = [name for name in used if number in lacking[name]]
                    reasons[number].setdefault(REWARD, f"no {', '.join(without)}")
        for number in (number for number in members if collapses[number] is not None):
            if collapsed == "least" and used:
                values[number] = _mean(
                    used, {name: _least(name, used[name], components[name][number]) for name in used}
                )
                reasons[number][REWARD] = f"the least of the scale: {collapses[number]}"
    events = tuple({key: result["events"] for key, result in one.events.items() if key != TRIPWIRES} for one in samples)
    still = np.array([collapse is not None for collapse in collapses], bool)
    return Rewards(values, components, still, tuple(reasons), events, dropped)


_OF_GROUP = "left out: a sample of its group has none"


def _one_index(
    name: str, samples: Mapping[int, ScoredSample], index: FloatArray, reasons: Sequence[dict[str, str]],
    missing: Missing,
) -> list[str]:  # fmt: skip
    """Make an index of a group one of the same parts; return the parts left out.

    A missing part deducts nothing, so an index without one would be above one with it.
    """
    parts = {number: one.index_parts for number, one in samples.items()}
    common = frozenset.intersection(*parts.values()) if parts else frozenset()
    every = frozenset[str]().union(*parts.values())
    if missing == "drop-component" and common.issuperset(INDEX_NEEDS):
        for number, one in samples.items():
            index[number] = one.index_over(name, common)
        return [f"{part} in {name}" for part in sorted(every - common)]
    for number, of in parts.items():
        if of != every or np.isnan(index[number]):
            index[number] = np.nan
            absent = sorted(every.union(INDEX_NEEDS) - of)
            why = "; ".join(
                f"no {part}: {reasons[number].get(part, reasons[number].get(REWARD, ''))}" for part in absent
            )
            reasons[number].setdefault(name, why)
    return []


def _complaint(absent: Mapping[str, Sequence[int]], reasons: Sequence[Mapping[str, str]]) -> str:
    """Return the text of the error for components that are missing."""
    texts = []
    for name, numbers in absent.items():
        why = reasons[numbers[0]].get(REWARD) or reasons[numbers[0]].get(name, "not measured")
        more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
        texts.append(f"no {name} for sample {', '.join(map(str, numbers[:_SHOWN]))}{more} ({why})")
    return f"{'; '.join(texts)}; missing='drop-component' leaves it out for the group, 'nan' gives these samples NaN"


def _mean(weights: Mapping[str, float], values: Mapping[str, float]) -> float:
    total = sum(abs(weight) for weight in weights.values())
    return sum(weight * values[name] for name, weight in weights.items()) / total


def _least(name: str, weight: float, measured: float) -> float:
    """Return the value of a component of a sample without motion that rewards least; tripwires are measured."""
    if name in UNITS:
        return measured
    low, high = (0.0, 1.0) if name == INDEX else registered()[name].range
    return low if weight > 0 else high
