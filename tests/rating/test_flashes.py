"""Flashes: pairs of opposite changes of luminance over a quarter of the frame, counted in any second."""

from __future__ import annotations

import numpy as np
import pytest

from vmmetrics.rating.flashes import LIMIT, most_flashes


def clip(levels: list[int], share: float = 1.0, size: tuple[int, int] = (72, 128)) -> np.ndarray:
    frames = np.full((len(levels), *size, 3), 60, np.uint8)
    for frame, level in zip(frames, levels, strict=True):
        frame[:, : round(size[1] * share)] = level
    return frames


def flicker(hertz: float, seconds: float = 2.0, fps: float = 30.0) -> tuple[list[int], np.ndarray]:
    times = np.arange(round(seconds * fps)) / fps
    return [230 if (time * hertz) % 1 < 0.5 else 20 for time in times], times


@pytest.mark.parametrize("hertz", [1, 2, 3, 5, 10])
def test_a_light_that_flashes_so_often_is_counted(hertz: int) -> None:
    levels, times = flicker(hertz)
    assert most_flashes(clip(levels), times) in (hertz, hertz - 1)
    assert (most_flashes(clip(levels), times) > LIMIT) == (hertz > LIMIT)


@pytest.mark.parametrize(("share", "flashes"), [(0.2, False), (0.3, True)])
def test_a_flash_covers_a_quarter_of_the_frame(share: float, flashes: bool) -> None:
    levels, times = flicker(10)
    assert (most_flashes(clip(levels, share), times) > LIMIT) == flashes


def test_small_changes_and_those_among_bright_pictures_do_not_count() -> None:
    times = np.arange(60) / 30
    faint = [60 + 20 * (n % 2) for n in range(60)]
    bright = [235 + 20 * (n % 2) for n in range(60)]
    assert most_flashes(clip(faint), times) == most_flashes(clip(bright), times) == 0


def test_a_slow_fade_up_and_down_is_one_flash() -> None:
    up = np.linspace(20, 230, 30).astype(int).tolist()
    assert most_flashes(clip(up + up[::-1]), np.arange(60) / 60) == 1
    assert most_flashes(clip([20]), np.zeros(1)) == 0
