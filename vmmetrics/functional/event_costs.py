"""Cost of each event: the part of a score's loss that one event accounts for, derived from the metric's formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vmmetrics.types import Event, MetricResult, Protocol

BEST = 1.0
"""Best score of metrics whose low scores are faults."""
_SLACK = 1e-6  # of stored scores


class Loss(NamedTuple):
    """Loss of a score, to be divided among its events.

    Attributes:
        events: The unexcused events, one at least.
        lost: Best score less score.
        num_frames: T of the clip.
        protocol: Definition of the metric.
    """

    events: Sequence[Event]
    lost: float
    num_frames: int
    protocol: Protocol


Divide = Callable[[Loss], Sequence[float | None]]
"""Returns the cost of each event, None where it has no share of its own."""


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


def event_costs(divide: Divide | None, result: MetricResult, num_frames: int, protocol: Protocol) -> EventCosts:
    """Divide the loss of a score among its events.

    Args:
        divide: The metric's own division (``divide_loss`` beside its formula); None for a metric whose low scores are
            no faults, or cannot be divided.
        result: Its result.
        num_frames: T of the clip.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.

    Returns:
        The costs.

    Example:
        >>> from vmmetrics.functional.mss import divide_loss
        >>> drop = Event("mss", (2,), "quality drops")
        >>> event_costs(divide_loss, MetricResult(0.75, events=(drop,)), 5, "vmmetrics")
        EventCosts(costs=(0.2,), lost=0.25, unexplained=0.05)
    """
    charged = [event for event in result.events if event.excuse is None]
    lost = 0.0
    costs: list[float | None] = [None] * len(charged)
    if divide is not None and result.score is not None:
        lost = BEST - result.score
        costs = list(divide(Loss(charged, lost, num_frames, protocol))) if charged else []
    total = sum(cost for cost in costs if cost is not None)
    if total > lost + _SLACK:  # events of a version with another formula
        total, costs = 0.0, [None] * len(charged)
    remaining = iter(costs)
    every = tuple(next(remaining) if event.excuse is None else 0.0 for event in result.events)
    return EventCosts(every, lost, round(max(lost - total, 0.0), 12))
