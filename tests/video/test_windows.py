"""Windows of long clips: their bounds by hand, and their frames against those of the file as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.bad_inputs import moving_frames, write_animation, write_pictures
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


def source(folder: Path, kind: str) -> Path:
    """Eleven and a half seconds of one kind."""
    frames = moving_frames(69, SIZE)
    if kind == "folder":
        return write_pictures(folder / "pictures", frames)
    if kind == "webp":
        return write_animation(folder / "a.webp", frames, duration=round(1000 / FPS), lossless=True)
    if kind == "npy":
        np.save(folder / "a.npy", frames.transpose(0, 3, 1, 2) / np.float32(255))
        return folder / "a.npy"
    return written(folder / "a.mp4", 11.5)


@pytest.mark.parametrize("kind", ["mp4", "folder", "webp", "npy"])
def test_windows_of_a_clip_hold_its_frames_at_full_size(tmp_path: Path, kind: str) -> None:
    path = source(tmp_path, kind)
    whole = read_clip(path, assume_fps=FPS)
    long = long_clip(path, {}, assume_fps=FPS, max_memory=memory_for(7.2))
    assert long is not None
    windows = list(long.windows())
    assert [(w.first, len(w.clip)) for w in windows] == [(0, 30), (30, 30), (60, 9)]
    assert [w.start for w in windows] == pytest.approx([0, 5, 10], abs=0.1)
    assert np.array_equal(np.concatenate([w.clip.frames for w in windows]), whole.frames)
    rate = pytest.approx(FPS, rel=0.01)  # of an animation in milliseconds
    assert [w.clip.fps for w in windows] == [rate] * 3
    assert (long.notes, long.size, long.codec) == (whole.notes, whole.size, whole.codec)
    assert len(long) == len(whole)
    overlap = windows[1].after(windows[0].end())
    first = 25 if kind == "webp" else 24  # whose times are rounded
    assert (overlap.first, overlap.start, overlap.clip.fps) == (first, pytest.approx(first / FPS, abs=0.01), rate)
    assert np.array_equal(overlap.clip.frames, whole.frames[first:36])
    assert overlap.clip.timestamps == pytest.approx(np.arange(36 - first) / FPS, abs=0.01)


def test_what_fits_or_is_slow_is_read_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mp4", 11)
    assert long_clip(path, {}, max_memory=memory_for(11)) is None
    assert long_clip(path, {}) is None
    assert long_clip(written(tmp_path / "one.mp4", 6), {}, max_memory=memory_for(5)) is None
    slow = written(tmp_path / "slow.mp4", 11, times=range(0, 66 * 90_000, 90_000))
    assert long_clip(slow, {}, max_memory=memory_for(7)) is None
    assert long_clip(source(tmp_path, "npy"), {}, assume_fps=2, max_memory=memory_for(7)) is None


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
    pictures = source(tmp_path, "folder")
    last = sorted(pictures.iterdir())[-1]
    last.write_bytes(last.read_bytes()[:-50])
    for damaged in (path, pictures):
        with pytest.raises(ClipError):
            long_clip(damaged, {}, assume_fps=FPS, max_memory=memory_for(7))


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
