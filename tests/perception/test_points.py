"""Query points: what is laid out by time stays within the frames there are."""

from __future__ import annotations

import pytest

from vmmetrics.perception.points import key_moments


def test_moments_are_half_a_second_apart() -> None:
    assert key_moments(24, 8.0) == [2, 6, 10, 14, 18, 22]
    assert key_moments(1, 8.0) == [0]


@pytest.mark.parametrize("fps", [1.0, 0.01, 1e-7, 5e-324])
def test_no_moment_is_taken_twice_however_low_the_rate(fps: float) -> None:
    assert key_moments(8, fps) == list(range(8))
