"""Times: kept where stated, mended where they do not increase, assumed where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bad_inputs import moving_frames, write_animation, write_video
from vmmetrics.errors import ClipError
from vmmetrics.scoring.scorer import Scorer
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import tasks_of_paths
from vmmetrics.video import read_clip, sample_clip
from vmmetrics.video.timing import Timing, from_delays, from_times, regular, without_gaps


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


CLOSED = "a gap in the times, closed to the median step of 0.1 s"
GAPS = [24.0, 48.0, 8766.0]  # hours, the last a year


@pytest.mark.parametrize("hours", GAPS)
def test_gap_is_closed_to_the_median_step_and_noted(hours: float) -> None:
    times = np.arange(8) / 10 + np.where(np.arange(8) > 3, hours * 3600, 0)
    timing = without_gaps(from_times(times.tolist(), 10, 8))
    np.testing.assert_allclose(timing.timestamps, np.arange(8) / 10, atol=1e-6)
    assert timing.fps == pytest.approx(10)
    (note,) = timing.notes
    assert (
        note
        == f"{hours * 3600 + 0.1:.7g} s between frames 3 and 4: a gap in the times, closed to the median step of 0.1 s"
    )


def test_several_gaps_are_one_note() -> None:
    timing = without_gaps(from_times([0, 0.1, 60.1, 60.2, 60.3, 160.3, 160.4], 10, 8))
    np.testing.assert_allclose(timing.timestamps, np.arange(7) / 10, atol=1e-6)
    assert timing.notes == (f"100 s between frames 4 and 5 (the longest of 2 such steps): {CLOSED}",)


@pytest.mark.parametrize("step, gap", [(1e-4, 20.0), (1e-9, 1e9)])  # rates without the gap: 10 kHz; infinite
def test_gap_stays_where_the_rest_is_no_frame_rate(step: float, gap: float) -> None:
    before = from_times([0, step, 2 * step, 3 * step, gap], 10, 8)
    timing = without_gaps(before)
    np.testing.assert_array_equal(timing.timestamps, before.timestamps)
    assert timing.fps == before.fps == pytest.approx(4 / gap)
    (note,) = timing.notes
    assert note.endswith(f"between frames 3 and 4: a gap in the times, kept; the median step is {step:.3g} s")


def test_hold_keeps_its_time_and_is_noted() -> None:
    before = from_times([0, 0.1, 0.2, 2.2, 2.3], 10, 8)
    timing = without_gaps(before)
    np.testing.assert_array_equal(timing.timestamps, before.timestamps)
    assert timing.fps == before.fps
    assert timing.notes == (
        "2 s between frames 2 and 3: a hold, included in the mean frame rate; the median step is 0.1 s",
    )


@pytest.mark.parametrize("timing", [regular(1, 8), regular(2, 0.01), regular(9, 1 / 3600), from_delays([40] * 9, 8)])
def test_even_times_are_left_alone(timing: Timing) -> None:
    left = without_gaps(timing)
    assert left.timestamps is timing.timestamps and (left.fps, left.notes) == (timing.fps, timing.notes)


def test_two_steps_of_which_one_is_a_gap() -> None:
    assert without_gaps(from_times([0, 0.1, 86400], 10, 8)).fps == pytest.approx(10)


def test_sampled_frames_keep_the_times_of_the_file(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", moving_frames(4), times=[0, 100, 200, 60_000])
    assert sample_clip(path, lambda times, _: range(len(times))).timestamps[-1] == 60
    assert read_clip(path).timestamps[-1] == pytest.approx(0.3)


def test_a_gap_changes_neither_scores_nor_cost(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frames = np.tile(rng.integers(60, 150, (64, 64, 3), np.uint8), (8, 1, 1, 1))
    thing = rng.integers(90, 250, (22, 21, 3), np.uint8)
    for t, frame in enumerate(frames):
        frame[10:32, 5 + 3 * t : 26 + 3 * t] = thing
    settings = Settings(metrics=("pas", "mss"))
    scorer, records = Scorer(settings), []
    for hours in (0, 24, 8766):
        times = [100 * t + (hours * 3_600_000 if t > 3 else 0) for t in range(8)]
        path = write_video(tmp_path / f"{hours}.mkv", frames, "ffv1", "bgr0", times=times)
        records.append(scorer.score(tasks_of_paths([path], settings.metrics)[0][0]).record)
    plain, day, year = records
    assert plain.scores["pas"] > 0.1
    for record in (day, year):
        assert record.scores == pytest.approx(plain.scores, abs=1e-6)
        assert [note for note in record.notes if "a gap in the times" in note]
    assert plain.notes == ()


def test_gap_in_the_delays_of_an_animation(tmp_path: Path) -> None:
    path = write_animation(tmp_path / "a.gif", moving_frames(4), duration=[100, 600_000, 100, 100])
    assert read_clip(path).fps == pytest.approx(10)
