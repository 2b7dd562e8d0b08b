"""Times: kept where stated, mended where they do not increase, assumed where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.errors import ClipError
from vmmetrics.video.timing import from_delays, from_times


def test_repeated_time_is_spread_between_neighbours() -> None:
    timing = from_times([0.0, 0.1, 0.1, 0.3], 10, 8)
    np.testing.assert_allclose(timing.timestamps, [0, 0.1, 0.2, 0.3])
    assert timing.notes == ("1 frames have a time that does not increase; spread evenly",)


def test_repeated_last_time_is_carried_on() -> None:
    np.testing.assert_allclose(from_times([0.0, 0.1, 0.2, 0.2], 10, 8).timestamps, [0, 0.1, 0.2, 0.3])


def test_one_time_for_all_frames() -> None:
    np.testing.assert_allclose(from_times([5.0] * 4, 20, 8).timestamps, np.arange(4) / 20)
    np.testing.assert_allclose(from_times([5.0] * 4, None, 8).timestamps, np.arange(4) / 8)


@pytest.mark.parametrize(("rate", "fps"), [(25.0, 25.0), (None, 8.0), (90000.0, 8.0)])
def test_no_times(rate: float | None, fps: float) -> None:
    timing = from_times([None, 0.1, None], rate, 8)
    assert timing.fps == fps
    assert len(timing.notes) == 1


def test_single_frame_has_the_stated_rate() -> None:
    assert from_times([0.4], 30, 8).fps == 30
    assert from_times([0.4], None, 8).fps == 8


def test_absurd_rate_of_real_times_is_refused() -> None:
    with pytest.raises(ClipError, match="frame rate"):
        from_times([0.0, 1e-6, 2e-6], 10, 8)


@given(st.lists(st.one_of(st.none(), st.integers(0, 50)), min_size=1, max_size=30))
def test_times_always_increase_from_zero(ticks: list[int | None]) -> None:
    timing = from_times([None if tick is None else tick / 10 for tick in ticks], 10, 8)
    assert len(timing.timestamps) == len(ticks)
    assert timing.timestamps[0] == 0
    assert (np.diff(timing.timestamps) > 0).all()
    assert 0 < timing.fps <= 1000


@given(st.lists(st.integers(0, 500), min_size=1, max_size=30))
def test_delays_always_give_increasing_times(delays: list[int]) -> None:
    timing = from_delays(delays, 8)
    assert timing.timestamps[0] == 0
    assert (np.diff(timing.timestamps) > 0).all()
    if min(delays) > 10:
        np.testing.assert_allclose(np.diff(timing.timestamps), np.array(delays[:-1]) / 1000)
        assert timing.notes == ()
