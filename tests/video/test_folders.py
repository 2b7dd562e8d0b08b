"""Folders of pictures as clips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.bad_inputs import moving_frames, write_pictures
from vmmetrics.errors import ClipError
from vmmetrics.video import read_clip
from vmmetrics.video.budget import clip_bytes
from vmmetrics.video.folders import natural_key

FRAMES = moving_frames(12, (40, 32))


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tiff", ".ppm"])
def test_pictures_come_back_exactly(tmp_path: Path, suffix: str) -> None:
    clip = read_clip(write_pictures(tmp_path / "clip", FRAMES, suffix), assume_fps=24)
    np.testing.assert_array_equal(clip.frames, FRAMES)
    assert (clip.fps, clip.name, clip.size) == (24, "clip", (40, 32))
    assert clip.notes == ("states no frame rate; 24 frames per second assumed",)


def test_natural_order(tmp_path: Path) -> None:
    for number, frame in enumerate(FRAMES):
        Image.fromarray(frame).save(tmp_path / f"frame{number}.png")  # frame10 after frame9, not after frame1
    np.testing.assert_array_equal(read_clip(tmp_path).frames, FRAMES)


def test_sixteen_bits_keep_their_levels(tmp_path: Path) -> None:
    for number, frame in enumerate(FRAMES):
        Image.fromarray(frame[..., 0].astype(np.uint16) * 257).save(tmp_path / f"{number}.png")  # 255 x 257 = 65535
    np.testing.assert_array_equal(read_clip(tmp_path).frames, np.repeat(FRAMES[..., :1], 3, -1))


def test_floats_are_taken_as_those_of_arrays(tmp_path: Path) -> None:
    for number, frame in enumerate(FRAMES):
        Image.fromarray(frame[..., 0].astype(np.float32) / 255).save(tmp_path / f"{number}.tiff")
    clip = read_clip(tmp_path)
    np.testing.assert_array_equal(clip.frames, np.repeat(FRAMES[..., :1], 3, -1))
    assert "floats taken as 0..1" in clip.notes


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.5, 255.0, 70_000, -1])
def test_grey_out_of_range_is_refused(tmp_path: Path, value: float) -> None:
    picture = np.zeros((8, 8), np.int32 if isinstance(value, int) else np.float32)
    picture[3, 4] = value
    Image.fromarray(picture).save(tmp_path / "0.tiff")
    with pytest.raises(ClipError, match=r"Expected (floats in 0\.\.1|grey in 0\.\.65535) but got"):
        read_clip(tmp_path)


@pytest.mark.parametrize("suffix", [".tiff", ".pgm"])
def test_integers_of_sixteen_bits_keep_their_levels(tmp_path: Path, suffix: str) -> None:
    for number, frame in enumerate(FRAMES):
        Image.fromarray(frame[..., 0].astype(np.uint16) * 257).save(tmp_path / f"{number}{suffix}")
    np.testing.assert_array_equal(read_clip(tmp_path).frames, np.repeat(FRAMES[..., :1], 3, -1))


def test_palette_and_its_transparency(tmp_path: Path) -> None:
    picture = Image.new("P", (8, 8))
    picture.putpalette([10, 20, 30, 200, 100, 50])
    picture.putpixel((3, 4), 1)
    picture.save(tmp_path / "0.png", transparency=0)
    clip = read_clip(tmp_path)
    assert tuple(clip.frames[0, 4, 3]) == (200, 100, 50)
    assert tuple(clip.frames[0, 0, 0]) == (255, 255, 255)
    assert "transparent pixels put on white" in clip.notes


def test_exif_orientation(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # stored turned; show it a quarter clockwise
    for number, frame in enumerate(FRAMES[:2]):
        Image.fromarray(frame).save(tmp_path / f"{number}.png", exif=exif)
    np.testing.assert_array_equal(read_clip(tmp_path).frames[1], np.rot90(FRAMES[1], -1))


def test_hidden_and_other_files(tmp_path: Path) -> None:
    write_pictures(tmp_path / "clip", FRAMES)
    (tmp_path / "clip" / ".DS_Store").write_bytes(b"x")
    (tmp_path / "clip" / "._0000.png").write_bytes(b"x")
    (tmp_path / "clip" / "a.txt").write_bytes(b"x")
    (tmp_path / "clip" / "b.json").write_bytes(b"x")
    clip = read_clip(tmp_path / "clip")
    assert len(clip) == 12
    assert "2 other files in the folder ignored" in clip.notes


def test_frame_that_leads_out(tmp_path: Path) -> None:
    write_pictures(tmp_path / "clip", FRAMES)
    Image.fromarray(FRAMES[0]).save(tmp_path / "other.png")
    (tmp_path / "clip" / "9998.png").symlink_to("0000.png")
    (tmp_path / "clip" / "9999.png").symlink_to(tmp_path / "other.png")
    np.testing.assert_array_equal(read_clip(tmp_path / "clip").frames[12:], FRAMES[[0, 0]])
    with pytest.raises(ClipError, match=r"The symlink 9999\.png leads out of the folder given"):
        read_clip(tmp_path / "clip", root=tmp_path / "clip")
    assert len(read_clip(tmp_path / "clip", root=tmp_path)) == 14


def test_frame_of_absurd_size_is_not_read(tmp_path: Path) -> None:
    write_pictures(tmp_path / "clip", FRAMES[:2], ".webp")
    with (tmp_path / "clip" / "0001.webp").open("r+b") as file:
        file.truncate(2**32)  # no bytes on the disk
    with pytest.raises(ClipError, match=r"Frame 0001\.webp has more than 488 MiB"):
        read_clip(tmp_path / "clip")


def test_memory_bound(tmp_path: Path) -> None:
    clip = read_clip(
        write_pictures(tmp_path / "clip", moving_frames(4, (400, 200))), max_memory=clip_bytes(4, 200, 100)
    )
    assert clip.frames.shape == (4, 100, 200, 3)


def test_digits_of_other_scripts_are_letters_in_names() -> None:
    assert sorted(["f10", "①1", "b²", "f2"], key=natural_key) == ["b²", "f2", "f10", "①1"]
