"""Some frames of a clip: the very frames that reading all of it gives, without reading all of it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bad_inputs import make_all, moving_frames, write_animation, write_pictures, write_video
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.video import files, read_clip, sample_clip


def grey(count: int, size: int = 64) -> Any:
    """Frames whose level names them."""
    return np.stack([np.full((size, size, 3), 40 + 3 * (t % 60), np.uint8) for t in range(count)])


@pytest.mark.parametrize(
    ("name", "codec", "options"),
    [
        ("closed.mp4", "libx264", {"x264-params": "keyint=6:min-keyint=6:bframes=2"}),
        ("open.mp4", "libx264", {"x264-params": "keyint=6:min-keyint=6:bframes=2:open-gop=1"}),
        ("open.mkv", "libx264", {"x264-params": "keyint=6:min-keyint=6:bframes=2:open-gop=1"}),
        ("pyramid.mkv", "libx265", {"x265-params": "keyint=8:min-keyint=8:bframes=3:open-gop=1:log-level=none"}),
        ("stream.ts", "libx264", {"x264-params": "keyint=6:min-keyint=6:bframes=2"}),
        ("old.mpg", "mpeg2video", {"g": "6", "bf": "2"}),
        ("nine.webm", "libvpx-vp9", {"g": "6", "deadline": "realtime", "cpu-used": "8"}),
        ("avi.avi", "mpeg4", {"g": "6", "bf": "2"}),
        ("intra.mov", "mjpeg", {}),
    ],
)
@pytest.mark.parametrize("places", [[0], [29], [3, 4, 17], [11, 12, 13], [5, 6, 23, 24], list(range(30))])
def test_chosen_frames_are_those_of_the_whole(
    tmp_path: Path, name: str, codec: str, options: dict[str, str], places: list[int]
) -> None:
    pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    try:
        path = write_video(tmp_path / name, moving_frames(30), codec, pix_fmt, options=options)
    except Exception as error:  # this build of FFmpeg lacks the encoder
        pytest.skip(str(error))
    whole = read_clip(path)
    some = sample_clip(path, lambda times, end: places)
    np.testing.assert_array_equal(some.frames, whole.frames[places])
    np.testing.assert_allclose(some.timestamps, whole.timestamps[places], atol=1e-9)
    assert (some.fps, some.size) == (pytest.approx(whole.fps), whole.size)


def test_the_choice_is_made_from_all_times_and_the_end(tmp_path: Path) -> None:
    seen: list[Any] = []

    def choose(times: Any, end: float) -> list[int]:
        seen.append((times, end))
        return [4, 1, 4]

    path = write_video(tmp_path / "a.mkv", moving_frames(6), times=[500, 540, 580, 700, 740, 1000])
    some = sample_clip(path, choose)
    np.testing.assert_allclose(seen[0][0], [0, 0.04, 0.08, 0.2, 0.24, 0.5], atol=1e-9)
    assert seen[0][1] == pytest.approx(0.54)  # the last frame stays for the usual 40 ms
    np.testing.assert_allclose(some.timestamps, [0.04, 0.24], atol=1e-9)


@pytest.mark.parametrize("kind", ["gif", "folder", "npy"])
def test_other_sources_are_thinned(tmp_path: Path, kind: str) -> None:
    frames = moving_frames(12)
    if kind == "gif":
        path = write_animation(tmp_path / "a.gif", frames, duration=100)
    elif kind == "folder":
        path = write_pictures(tmp_path / "pictures", frames)
    else:
        path = tmp_path / "a.npy"
        np.save(path, frames)
    whole, some = read_clip(path), sample_clip(path, lambda times, end: [2, 7])
    np.testing.assert_array_equal(some.frames, whole.frames[[2, 7]])
    np.testing.assert_allclose(some.timestamps, whole.timestamps[[2, 7]])
    assert sample_clip(path, lambda times, end: [2, 7], side=32).frames.shape == (2, 32, 32, 3)


def test_upright_and_no_larger_than_asked(tmp_path: Path) -> None:
    def turn(stream: Any) -> None:
        stream.set_display_rotation(90)

    path = write_video(tmp_path / "a.mp4", moving_frames(8, (96, 48)), prepare=turn)
    whole = read_clip(path)
    assert whole.height == 96
    np.testing.assert_array_equal(sample_clip(path, lambda times, end: [3]).frames[0], whole.frames[3])
    small = sample_clip(path, lambda times, end: [3, 5], side=48)
    assert max(small.frames.shape[1:3]) == 48
    assert small.frames.shape[1] / small.frames.shape[2] == pytest.approx(whole.height / whole.width, rel=0.05)


def test_few_frames_of_a_long_file_take_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "long.mp4", grey(1200), options={"g": "30", "bf": "2"})
    decoded = []
    take = files.Decoder._take
    monkeypatch.setattr(files.Decoder, "_take", lambda self, frame: (decoded.append(1), take(self, frame)))
    tracemalloc.start()
    some = sample_clip(path, lambda times, end: [100, 600, 1100])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(some.frames.mean((1, 2, 3)), 40 + 3 * (np.array([100, 600, 1100]) % 60), atol=4)
    assert len(decoded) <= 4 * 30  # a group each, not 1,200
    assert peak < 1200 * 64 * 64 * 3 / 4


def test_bad_inputs_end_alike(tmp_path: Path) -> None:
    for case in make_all(tmp_path / "inputs"):
        try:
            whole = read_clip(case.path)
        except SetupError:
            continue
        except ClipError:
            try:
                some = sample_clip(case.path, lambda times, end: [0])
            except ClipError:
                continue
            assert len(some) == 1, case.name  # damage behind the frame is not looked for
        else:
            last = len(whole) - 1
            some = sample_clip(case.path, lambda times, end, last=last: [0, last])
            np.testing.assert_array_equal(some.frames, whole.frames[sorted({0, last})], case.name)


def test_wanted_frames_fit_into_memory(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", grey(20))
    some = sample_clip(path, lambda times, end: range(10), max_memory=10 * 32 * 32 * 3)
    assert some.frames.shape == (10, 32, 32, 3)
    assert any("downscaled from 64x64 to 32x32" in note for note in some.notes)
    # only what is held counts: scoring these ten at full size would take many times as much
    assert sample_clip(path, lambda times, end: range(10), max_memory=10 * 64 * 64 * 3).height == 64


def test_a_choice_that_cannot_be_made_is_not_tried_twice(tmp_path: Path) -> None:
    tries = []

    def choose(times: Any, end: float) -> list[int]:
        tries.append(end)
        raise ClipError("behind the end")

    with pytest.raises(ClipError, match="behind the end"):
        sample_clip(write_video(tmp_path / "a.mp4", grey(5)), choose)
    assert len(tries) == 1
