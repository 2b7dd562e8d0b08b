"""Cost of each event: the part of a score's loss that one event accounts for, derived from the metric's formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vmmetrics.functional import shapes
from vmmetrics.functional.limbs import JOINTS, PARTS
from vmmetrics.types import Event, MetricResult, Protocol

BEST = 1.0
"""Best score of the four metrics whose low scores are faults."""
_SLACK = 1e-6  # of stored scores


@dataclass(frozen=True, slots=True)
class EventCosts:
    """Loss of one score, divided among its events.

    Attributes:
        costs: Loss per event, in the score's unit and the order of the events: 0 where the event is excused, None where
            the loss cannot be divided.
        lost: Best score less score; 0 where there is no score or a low score is no fault.
        unexplained: Loss that belongs to no single event: ``lost`` less the sum of the costs.
    """

    costs: tuple[float | None, ...]
    lost: float
    unexplained: float


def event_costs(metric: str, result: MetricResult, num_frames: int, protocol: Protocol) -> EventCosts:
    """Divide the loss of a score among its events.

    TCS: each object at fault costs 1/N, shared equally by its unexcused events (``vmbench``: every unexcused event
    costs 1/(2 N)). OIS: every frame of a person's part at fault costs the same (``vmbench``: a part 1/24, a joint
    1/16); surfaces of several objects cannot be divided. MSS: 1/T per event, the rest is unsteadiness. CAS: the event
    of the level carries the whole loss. PAS is an amount and loses nothing. Other metrics cannot be divided.

    Args:
        metric: Key of the metric (``"tcs"``).
        result: Its result.
        num_frames: T of the clip.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.

    Returns:
        The costs.

    Example:
        >>> drop = Event("mss", (2,), "quality drops")
        >>> event_costs("mss", MetricResult(0.75, events=(drop,)), 5, "vmmetrics")
        EventCosts(costs=(0.2,), lost=0.25, unexplained=0.05)
    """
    charged = [event for event in result.events if event.excuse is None]
    scored = result.score is not None and metric in ("cas", "mss", "ois", "tcs")
    lost = BEST - result.score if scored and result.score is not None else 0.0
    costs = _divide(metric, charged, lost, num_frames, protocol) if scored else [None] * len(charged)
    total = sum(cost for cost in costs if cost is not None)
    if total > lost + _SLACK:  # events of a version with another formula
        total, costs = 0.0, [None] * len(charged)
    remaining = iter(costs)
    every = tuple(next(remaining) if event.excuse is None else 0.0 for event in result.events)
    return EventCosts(every, lost, round(max(lost - total, 0.0), 12))


def _divide(
    metric: str, events: Sequence[Event], lost: float, num_frames: int, protocol: Protocol
) -> Sequence[float | None]:
    """Return the cost of each of the unexcused events."""
    count = len(events)
    if not count:
        return []
    if metric == "cas":
        return [None if event.frames else lost for event in events]
    if metric == "mss":
        return [1 / num_frames] * count
    if metric == "tcs":
        if protocol == "vmbench":
            return [lost / count] * count
        changes = Counter(event.target for event in events)
        return [lost / len(changes) / changes[event.target] for event in events]
    if any(event.reason == shapes.REASON for event in events):
        return [lost] if count == 1 else [None] * count  # the tiles of each object per moment are not stored
    if protocol == "vmbench":
        return [0.5 / len(PARTS if event.target in PARTS else JOINTS) for event in events]
    frames = sum(len(event.frames) for event in events)
    return [lost * len(event.frames) / frames if frames else None for event in events]
