from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.bad_inputs import moving_frames, write_video
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError
from vmmetrics.perception.embedded.camera import GlobalMotion
from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.embedded.objects.segmenter import MotionSegmenter
from vmmetrics.perception.embedded.quality.quality import TemporalQuality
from vmmetrics.perception.embedded.tracker import GridTracker
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.video import budget, read_clip
from vmmetrics.video.budget import FrameStore, clip_bytes, make_plan


def test_bytes_by_hand() -> None:
    # 10 frames of 512 x 1024: RGB 3 bytes a pixel; working pictures of half that size, 65 bytes a pixel; maps of a
    # quarter, 16 bytes a pixel; 64 KiB a frame
    assert clip_bytes(10, 1024, 512) == 10 * (1024 * 512 * 3 + 512 * 256 * 65 + 256 * 128 * 16 + 65536)


@pytest.mark.parametrize("size", [(256, 256), (480, 480), (854, 480), (1280, 720), (1920, 1080)])
def test_no_clip_of_usual_size_is_made_smaller_than_before(size: tuple[int, int]) -> None:
    shrink = 256 / min(size)
    assert clip_bytes(1, *size) <= size[0] * size[1] * (3 + 70 * shrink**2) + 1


def test_the_largest_part_of_perception_stays_within_the_estimate() -> None:
    rng = np.random.default_rng(0)
    frames = rng.integers(60, 150, (1, 96, 96, 3), np.uint8).repeat(16, axis=0)
    thing = rng.integers(90, 250, (30, 30, 3), np.uint8)
    for t, frame in enumerate(frames):
        frame[20:50, 2 * t : 2 * t + 30] = thing
    models = Models(DISFlow(), GlobalMotion(), MotionSegmenter(), GridTracker(), None, TemporalQuality())  # type: ignore[arg-type]
    scene = Scene(Clip(frames, np.arange(16) / 8, 8.0), models)
    tracemalloc.start()
    try:
        assert scene.objects.objects
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 0.8 * (clip_bytes(16, 96, 96) - frames.nbytes)  # the rest is for what runs beside it


@given(
    count=st.integers(1, 2000),
    width=st.integers(64, 2000),
    height=st.integers(64, 2000),
    mebibytes=st.integers(64, 4096),
)
def test_what_is_kept_fits_and_keeps_its_shape(count: int, width: int, height: int, mebibytes: int) -> None:
    bound = mebibytes * 2**20
    try:
        plan = make_plan(count, width, height, bound)
    except ClipError:
        assert clip_bytes(count, *(round(64 * side / min(width, height)) + 1 for side in (width, height))) > bound
        return
    assert clip_bytes(count, *plan.stored) <= bound
    assert min(plan.stored) >= min(63, width, height)
    assert abs(plan.stored[0] / plan.stored[1] / (width / height) - 1) <= 2 / min(plan.stored)
    if plan.stored != plan.full:  # and it is the largest that fits, but for the changed aspect of the grown size
        grown = [side + 2 for side in plan.stored]
        assert clip_bytes(count, *grown) > 0.99 * bound


def test_the_bound_that_would_do_does() -> None:
    with pytest.raises(ClipError, match=r"max_memory of \d+ MiB is enough") as caught:
        make_plan(10_000, 1280, 720, 2**30)
    needed = int(str(caught.value).split("max_memory of ")[1].split()[0])
    assert min(make_plan(10_000, 1280, 720, needed * 2**20).stored) >= 63


def test_a_minute_of_4k_at_60_frames_per_second_passes() -> None:
    assert make_plan(3600, 3840, 2160, 2**32).full == (3840, 2160)
    with pytest.raises(
        ClipError, match=r"1001 frames of 8000x8000 have 64064 million .*, more than the limit of 64000"
    ):
        make_plan(1001, 8000, 8000, 2**62)


def test_an_array_of_too_many_pixels_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (1001, 8000, 8000, 3)}
        )
        file.truncate(file.tell() + 1001 * 8000 * 8000 * 3 * 4)  # no bytes on the disk
    with pytest.raises(ClipError, match="more than the limit of 64000 million"):
        read_clip(tmp_path / "a.npy")


def test_frames_of_too_many_pixels_are_not_read(tmp_path: Path) -> None:
    Image.new("1", (8000, 8000)).save(tmp_path / "black", "PNG")  # without a suffix, as in a cache of blobs
    (tmp_path / "clip").mkdir()
    for number in range(1001):
        (tmp_path / "clip" / f"{number}.png").symlink_to(tmp_path / "black")
    with pytest.raises(ClipError, match="more than the limit of 64000 million"):
        read_clip(tmp_path / "clip")


def test_the_bound_holds_for_videos_and_for_frames_beyond_those_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_video(tmp_path / "a.mp4", moving_frames(8))
    store = FrameStore(make_plan(2, 64, 64, 2**30))
    for check in (budget.check_total, budget.make_plan):
        monkeypatch.setattr(check, "__defaults__", (4 * 64 * 64,))
    with pytest.raises(ClipError, match="8 frames of 64x64"):
        read_clip(file)
    with pytest.raises(ClipError, match="5 frames of 64x64"):
        for frame in moving_frames(8):
            store.add(frame)
