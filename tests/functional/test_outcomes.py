"""Outcomes of made tracks, known by construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vmmetrics.functional.outcomes import Mover, count, decider, direction, order, stop
from vmmetrics.types import FloatArray

FPS = 20.0
T = 60
TIMES = np.arange(T) / T


def mover(
    x: FloatArray | float = 0.0, y: FloatArray | float = 0.0, degrees: FloatArray | float = 0.0, area: float = 0.04,
    across: float = 0.5, seen: slice = slice(None), leaves: bool = False,
) -> Mover:  # fmt: skip
    """Make the mover of a path in diagonals and of its turning; its radius is a tenth of a diagonal."""
    path = np.stack(np.broadcast_arrays(x, y, np.zeros(T))[:2], -1).astype(float)
    turned = np.broadcast_to(degrees, T).astype(float)
    steps = np.hypot(np.hypot(*np.diff(path, axis=0).T), 0.1 * np.radians(np.diff(turned)))
    visible = np.zeros(T, bool)
    visible[seen] = True
    hidden = np.where(visible, 0.0, np.nan)
    return Mover(
        path + hidden[:, None], turned + hidden, np.append(steps * FPS, np.nan) + hidden, path[:, 0] + across + hidden,
        np.where(visible, area, 0.0), visible & leaves,
    )  # fmt: skip


def hopped(number: int, rest: float = 0.1) -> FloatArray:
    """Return y of hops of a tenth of a diagonal, after and before rest."""
    share = np.clip((TIMES - rest) / (1 - 2 * rest), 0, 1) * number % 1.0
    return np.asarray(-0.4 * share * (1 - share))


@pytest.mark.parametrize(
    ("path", "axis", "expected"),
    [
        ((-0.2 * TIMES, 0.0), "horizontal", "left"),
        ((0.2 * TIMES, 0.05 * TIMES), "horizontal", "right"),
        ((0.0, -0.2 * TIMES), "vertical", "up"),
        ((0.0, 0.2 * TIMES), "vertical", "down"),
        ((0.2 * TIMES, hopped(3)), "horizontal", "right"),
    ],
)
def test_direction_is_the_net_displacement(path: Any, axis: Any, expected: str) -> None:
    assert direction([mover(*path)], FPS, axis).value == expected


@pytest.mark.parametrize(
    ("movers", "reason"),
    [
        ([], "nothing moves"),
        ([mover(0.005 * TIMES)], "far or long enough"),
        ([mover(0.2 * TIMES, seen=slice(0, 6), leaves=True)], "far or long enough"),
        ([mover(0.8 * TIMES, seen=slice(10, 30))], "far or long enough"),  # vanishes in the middle
        ([mover(0.08 * TIMES, area=0.4)], "far enough"),  # sways
        ([mover(0.2 * np.sin(2 * np.pi * TIMES))], "far"),
        ([mover(0.2 * np.sin(0.85 * np.pi * TIMES))], "turns back"),
        ([mover(0.05 * TIMES, 0.3 * TIMES)], "other axis"),
        ([mover(0.2 * TIMES), mover(-0.2 * TIMES)], "each in its own way"),
        ([mover(0.2 * TIMES, area=0.7)], "fills the frame"),
    ],
)
def test_no_direction_is_guessed(movers: list[Mover], reason: str) -> None:
    outcome = direction(movers, FPS, "horizontal")
    assert outcome.value is None
    assert reason in outcome.reason


def test_what_leaves_the_frame_may_be_in_sight_for_less() -> None:
    gone = mover(0.8 * TIMES, seen=slice(0, 20), leaves=True)
    assert direction([gone], FPS, "horizontal").value == "right"
    assert stop([gone], FPS).value == "goes on"


def test_what_moves_little_beside_the_main_mover_does_not_contradict_it() -> None:
    assert direction([mover(-0.05 * TIMES), mover(0.3 * TIMES)], FPS, "horizontal").value == "right"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_cycles_are_counted(number: int) -> None:
    angle = 2 * np.pi * number * np.clip((TIMES - 0.1) / 0.8, 0, 1)
    noise = np.random.default_rng(number).normal(0, 0.003, T)
    assert count([mover(0.1 * TIMES, hopped(number) + noise)], FPS, "hops").value == number
    assert count([mover(0.1 * np.sin(angle), 0.03 * np.sin(angle) + noise)], FPS, "swings").value == number
    assert count([mover(0.1 * np.cos(angle))], FPS, "swings").value == number  # from one end
    assert count([mover(degrees=-np.degrees(angle))], FPS, "turns").value == number
    assert count([mover(0.1 * np.cos(angle), 0.05 * np.sin(angle))], FPS, "turns").value == number


def test_cycles_of_falling_height_count_in_full() -> None:
    height = np.where(TIMES < 0.5, 1.0, 0.6)
    assert count([mover(0.0, height * hopped(2, rest=0.0))], FPS, "hops").value == 2


@pytest.mark.parametrize(
    ("moved", "of", "reason"),
    [
        (mover(0.0, -0.2 * TIMES), "hops", "0.5 hops"),
        (mover(0.1 * np.cos(3 * np.pi * TIMES)), "swings", "1.5 swings"),
        (mover(0.2 * TIMES), "turns", "no turns"),
        (mover(degrees=360 * 1.5 * TIMES), "turns", "1.5 turns"),
        (mover(degrees=360 * np.sin(np.pi * TIMES)), "turns", "no turns"),
        (mover(0.0, hopped(2), seen=slice(0, 40)), "hops", "out of sight"),
        # a path of one circle, on which it spins three times
        (mover(0.1 * np.cos(2 * np.pi * TIMES), 0.1 * np.sin(2 * np.pi * TIMES), 1080 * TIMES), "turns", "no turns"),
    ],
)
def test_no_count_is_guessed(moved: Mover, of: Any, reason: str) -> None:
    outcome = count([moved], FPS, of)
    assert outcome.value is None
    assert reason in outcome.reason


def test_a_stop_is_rest_at_the_end() -> None:
    assert stop([mover(0.3 * np.minimum(TIMES, 0.6))], FPS).value == "stops"
    assert stop([mover(0.3 * np.minimum(TIMES, 0.85))], FPS).value == "stops"
    assert stop([mover(0.3 * TIMES)], FPS).value == "goes on"
    assert stop([mover(degrees=300 * TIMES)], FPS).value == "goes on"
    assert stop([mover(0.1 * np.sin(7 * TIMES))], FPS).value == "goes on"
    slower = stop([mover(0.3 * np.where(TIMES < 0.7, TIMES, 0.7 + 0.2 * (TIMES - 0.7)))], FPS)
    assert (slower.value, slower.reason) == (None, "it is slow at the end")
    hidden = stop([mover(0.3 * TIMES, seen=slice(0, 40))], FPS)  # not at the edge
    assert (hidden.value, hidden.reason) == (None, "it is out of sight at the end")


def begun(at: float, across: float, area: float = 0.04) -> Mover:
    return mover(0.0, 0.2 * np.maximum(TIMES - at, 0), across=across, area=area)


def test_order_is_that_of_the_two_beginnings() -> None:
    assert order([begun(0.1, 0.2), begun(0.5, 0.8)], FPS).value == "left first"
    assert order([begun(0.5, 0.2), begun(0.1, 0.8)], FPS).value == "right first"
    assert order([begun(0.1, 0.8), begun(0.5, 0.2, area=0.02)], FPS).value == "right first"
    assert order([begun(0.3, 0.2), begun(0.3, 0.8)], FPS).reason == "no start is clearly first"
    assert order([begun(0.1, 0.5), begun(0.5, 0.52)], FPS).reason == "the two are not left and right of each other"
    assert order([begun(0.1, 0.2)], FPS).reason == "no two things move"
    assert order([begun(0.1, 0.2), begun(0.5, 0.8), begun(0.3, 0.5)], FPS).reason == "more than two things move"


def ended(at: float, across: float) -> Mover:
    return mover(0.0, 0.2 * np.minimum(TIMES, at), across=across)


def test_an_arrival_is_rest_after_motion() -> None:
    assert order([ended(0.4, 0.2), ended(0.7, 0.8)], FPS, "arrival").value == "left first"
    assert order([ended(1.0, 0.2), ended(0.5, 0.8)], FPS, "arrival").value == "right first"
    assert order([ended(0.5, 0.2), ended(0.5, 0.8)], FPS, "arrival").reason == "no arrival is clearly first"
    assert order([ended(1.0, 0.2), ended(1.0, 0.8)], FPS, "arrival").reason == "both move to the end"


@pytest.mark.parametrize(
    "measure",
    [
        {},
        {"kind": "direction", "yes": "north"},
        {"kind": "count", "yes": 2},
        {"kind": "count", "yes": True, "of": "hops"},
        {"kind": "count", "yes": 2, "of": "leaps"},
        {"kind": "order", "yes": "left first", "of": "size"},
        {"kind": ["stop"], "yes": "stops"},
        {"kind": "stop", "yes": ["stops"]},
        {"kind": "speed", "yes": "fast"},
    ],
)
def test_other_measures_are_refused(measure: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Expected a measure"):
        decider(measure)


def test_a_measure_names_what_is_decided() -> None:
    two = [begun(0.1, 0.2), begun(0.5, 0.8)]
    assert decider({"kind": "direction", "yes": "right"})([mover(-0.2 * TIMES)], FPS).value == "left"
    assert decider({"kind": "direction", "yes": "up"})([mover(-0.2 * TIMES)], FPS).value is None
    assert decider({"kind": "count", "yes": 1, "of": "hops"})([mover(0.0, hopped(2))], FPS).value == 2
    assert decider({"kind": "stop", "yes": "stops"})([mover(0.2 * TIMES)], FPS).value == "goes on"
    assert decider({"kind": "order", "yes": "right first"})(two, FPS).value == "left first"
