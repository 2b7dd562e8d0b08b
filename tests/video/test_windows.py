"""Windows of long clips: their bounds by hand, and their frames against those of the file as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.bad_inputs import moving_frames
from vmmetrics.errors import ClipError
from vmmetrics.types import UInt8Array
from vmmetrics.video import read_clip
from vmmetrics.video.budget import clip_bytes
from vmmetrics.video.encoding import write_h264
from vmmetrics.video.windows import long_clip, stream_windows, window_lengths

FPS = 6
SIZE = (72, 64)


def written(path: Path, seconds: float, **options: object) -> Path:
    frames = moving_frames(round(seconds * FPS), SIZE)
    write_h264(path, frames, FPS, {"crf": "18"}, **options)  # type: ignore[arg-type]
    return path


def memory_for(seconds: float) -> int:
    return clip_bytes(round(seconds * FPS), *SIZE)


@pytest.mark.parametrize(
    ("times", "lengths"),
    [
        (np.arange(60) / 4, [20, 20, 20]),
        (np.arange(44) / 4, [20, 24]),  # a rest of a second joins the window before
        (np.arange(46) / 4, [20, 20, 6]),
        (np.arange(300) * 1001 / 30000, [150, 150]),  # frame 150 comes 5 ms after the edge
        ([0, 1, 2, 12, 13, 14, 15, 16], [3, 3, 2]),  # nothing is shown from 5 to 10 s
        ([0], [1]),
    ],
)
def test_windows_begin_at_multiples_of_five_seconds(times: list[float], lengths: list[int]) -> None:
    assert list(window_lengths(times)) == lengths


def test_a_window_is_complete_one_second_after_its_end() -> None:
    times = iter(np.arange(100) / 4)
    assert next(window_lengths(times)) == 20
    assert next(times) == 6.25  # that of 6.0 was the last to be asked for


def test_windows_of_a_file_hold_its_frames_at_full_size(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mp4", 11.5)
    whole = read_clip(path)
    long = long_clip(path, {}, max_memory=memory_for(7))
    assert long is not None
    windows = list(long.windows())
    assert [(w.first, w.start, len(w.clip)) for w in windows] == [(0, 0, 30), (30, 5, 30), (60, 10, 9)]
    assert np.array_equal(np.concatenate([w.clip.frames for w in windows]), whole.frames)
    assert {w.clip.fps for w in windows} == {FPS}
    assert not long.notes
    assert len(long) == len(whole)
    overlap = windows[1].after(windows[0].end())
    assert (overlap.first, overlap.start, overlap.clip.fps) == (24, 4, FPS)
    assert np.array_equal(overlap.clip.frames, whole.frames[24:36])
    assert overlap.clip.timestamps == pytest.approx(np.arange(12) / FPS)


def test_what_fits_or_is_slow_is_read_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mp4", 11)
    assert long_clip(path, {}, max_memory=memory_for(11)) is None
    assert long_clip(path, {}) is None
    assert long_clip(written(tmp_path / "one.mp4", 6), {}, max_memory=memory_for(5)) is None
    slow = written(tmp_path / "slow.mp4", 11, times=range(0, 66 * 90_000, 90_000))
    assert long_clip(slow, {}, max_memory=memory_for(7)) is None
    np.save(tmp_path / "a.npy", np.zeros((66, 64, 72, 3), np.uint8))
    assert long_clip(tmp_path / "a.npy", {}, max_memory=memory_for(7)) is None


def test_a_window_that_does_not_fit_is_made_smaller_and_says_so(tmp_path: Path) -> None:
    frames = moving_frames(66, (144, 128))
    write_h264(tmp_path / "a.mp4", frames, FPS, {"crf": "18"})
    long = long_clip(tmp_path / "a.mp4", {}, max_memory=memory_for(7))
    assert long is not None
    width, height = long.plan.stored
    assert f"downscaled from 144x128 to {width}x{height}" in long.notes[0]
    assert next(long.windows()).clip.frames.shape[1:3] == (height, width) < (128, 144)


def test_damage_at_the_end_is_found_before_the_first_window(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mp4", 11)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ClipError):
        long_clip(path, {}, max_memory=memory_for(7))


def arriving(count: int, chunk: int | None = None) -> Iterator[UInt8Array]:
    frames = moving_frames(count, SIZE)
    yield from frames if chunk is None else np.array_split(frames, count // chunk)


def test_frames_that_arrive_make_the_same_windows_in_any_pieces() -> None:
    about = {}
    one = list(stream_windows(arriving(69), about, fps=FPS))
    several = list(stream_windows(arriving(69, 7), about, fps=FPS))
    floats = (frame.transpose(2, 0, 1) / 255 for frame in arriving(69))
    channels_first = list(stream_windows(floats, about, fps=FPS, layout="CHW", value_range=(0, 1)))
    assert [len(w.clip) for w in one] == [30, 30, 9]
    for other in (several, channels_first):
        assert all(np.array_equal(a.clip.frames, b.clip.frames) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("items", "fps", "text"),
    [
        ([np.zeros((64, 72, 3), np.uint8), np.zeros((72, 64, 3), np.uint8)], 6, "one size"),
        ([np.zeros((64, 72, 3), np.float32)], 6, "value_range"),
        ([np.zeros((64, 72, 3), np.uint8)], 2, "frames per second"),
    ],
)
def test_streams_that_cannot_be_windows_are_refused(items: list[UInt8Array], fps: float, text: str) -> None:
    with pytest.raises(ClipError, match=text):
        list(stream_windows(items, {}, fps=fps))


def test_windows_that_hold_their_frames_for_long_end_where_the_next_begins(tmp_path: Path) -> None:
    times = [*np.arange(60) / 6, *np.arange(10, 25, 1.5), *(25 + np.arange(60) / 6)]  # a slide each 1.5 s for 15 s
    path = tmp_path / "slides.mp4"
    ticks = [round(90_000 * time) for time in times]
    write_h264(path, moving_frames(len(times), SIZE), FPS, {"crf": "18"}, times=ticks)
    long = long_clip(path, {}, max_memory=memory_for(6))
    assert long is not None
    windows = list(long.windows())
    assert [w.start + w.seconds for w in windows[:-1]] == [w.start for w in windows[1:]]
    ends = [window.end() for window in windows]
    assert all(len(end.clip) >= 1 for end in ends)
    assert all(len(after.after(end).clip) >= 2 for end, after in zip(ends[:-1], windows[1:], strict=True))


def test_items_of_a_stream_are_not_downscaled_one_by_one() -> None:
    frames = moving_frames(9 * FPS, SIZE)
    items = [frames[:48], frames[48:]]  # the first alone is more than the memory
    windows = list(stream_windows(items, {"tags": {"seconds": 20}}, fps=FPS, max_memory=memory_for(7.2)))
    assert [len(window.clip) for window in windows] == [30, 24]
    assert {(window.clip.width, window.clip.height) for window in windows} == {SIZE}
    assert "seconds" not in windows[0].clip.tags
