from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from vmmetrics.functional.tripwires import UNITS, tripwires

FPS = 10


def scene(shift: float, light: float = 0.0) -> np.ndarray:
    """A frame of a pattern, shifted by pixels and lit by grey levels more."""
    y, x = np.mgrid[:64, :96]
    grey = 120 + light + 50 * np.sin((x + shift) / 9) * np.cos(y / 8)
    return np.repeat(np.clip(grey, 0, 255)[..., None], 3, -1).astype(np.uint8)


def clip(shifts: list[float], lights: list[float] | None = None) -> np.ndarray:
    return np.stack([scene(shift, light) for shift, light in zip(shifts, lights or [0.0] * len(shifts), strict=True)])


def test_every_tripwire_has_a_unit() -> None:
    assert asdict(tripwires(clip([0, 1]), FPS)).keys() == UNITS.keys()


def test_a_clip_that_begins_frozen_says_for_how_long() -> None:
    found = tripwires(clip([0.0] * 11 + [2.0 * n for n in range(1, 11)]), FPS)
    assert found.onset == pytest.approx(1.0)  # the eleventh step, after ten tenths of a second
    assert found.frozen_share == pytest.approx(0.5)


def test_frames_shown_twice_are_half_frozen() -> None:
    found = tripwires(clip([float(n // 2 * 3) for n in range(20)]), FPS)
    assert found.frozen_share == pytest.approx(10 / 19)
    assert found.onset == pytest.approx(0.1)


def test_light_is_no_motion() -> None:
    lights = [20.0 * (n % 2) for n in range(20)]
    found = tripwires(clip([0.0] * 20, lights), FPS)
    assert found.frozen_share == 1
    assert found.onset == pytest.approx(2.0)
    assert found.flicker == pytest.approx(20 / 255, rel=0.05)
    assert found.exposure_drift == pytest.approx(0, abs=1e-3)


def test_a_steady_change_of_light_is_drift_and_no_flicker() -> None:
    found = tripwires(clip([float(n) for n in range(21)], [3.0 * n for n in range(21)]), FPS)
    assert found.flicker < 0.002
    assert found.exposure_drift == pytest.approx(3 * 17 / 255, rel=0.1)  # means of four frames, 17 apart


def test_saturation_that_builds_up() -> None:
    frames = clip([float(n) for n in range(10)]).astype(float)
    for number, frame in enumerate(frames):
        frame[..., 2] *= 1 - number / 10
    assert tripwires(frames.astype(np.uint8), FPS).saturation_drift == pytest.approx(0.8, abs=0.05)


def test_a_loop_ends_where_it_began() -> None:
    there = [float(n) for n in range(10)]
    assert tripwires(clip(there + there[::-1]), FPS).loop == pytest.approx(1)
    assert tripwires(clip(there), FPS).loop == 0
    assert tripwires(clip([0.0] * 9), FPS).loop == 0


def test_one_frame_has_none() -> None:
    with pytest.raises(ValueError, match="two frames"):
        tripwires(clip([0]), FPS)
