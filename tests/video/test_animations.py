"""GIF, APNG and WebP: partial frames, disposal, transparency and delays against the frames that were written."""

from __future__ import annotations

import resource
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.bad_inputs import moving_frames, write_animation
from vmmetrics.errors import ClipError
from vmmetrics.video import read_clip
from vmmetrics.video.folders import promise_of_gif, promise_of_png, promise_of_webp


def square_frames(count: int = 7, *, alpha: bool = False) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A square moving over stripes of few colours (GIF stays lossless), or over nothing."""
    frames = np.zeros((count, 48, 64, 4 if alpha else 3), np.uint8)
    if not alpha:
        frames[:, ::8] = (20, 90, 160)
    for t in range(count):
        frames[t, 10:26, 5 * t : 5 * t + 16] = (230, 60, 10, 255)[: frames.shape[-1]]
    return frames


OPTIONS: dict[str, dict[str, Any]] = {".gif": {"optimize": False}, ".apng": {}, ".webp": {"lossless": True}}


@pytest.mark.parametrize("suffix", OPTIONS)
@pytest.mark.parametrize("disposal", [None, 2])
def test_partial_frames(tmp_path: Path, suffix: str, disposal: int | None) -> None:
    frames = square_frames()
    options = OPTIONS[suffix] | ({"disposal": disposal} if disposal and suffix == ".gif" else {})
    clip = read_clip(write_animation(tmp_path / f"a{suffix}", frames, duration=50, **options))
    np.testing.assert_array_equal(clip.frames, frames)
    np.testing.assert_allclose(clip.timestamps, np.arange(7) * 0.05)
    assert clip.fps == pytest.approx(20)


@pytest.mark.parametrize("suffix", OPTIONS)
def test_transparent_background_is_white(tmp_path: Path, suffix: str) -> None:
    frames = square_frames(alpha=True)
    options = OPTIONS[suffix] | ({"disposal": 2} if suffix == ".gif" else {})
    clip = read_clip(write_animation(tmp_path / f"a{suffix}", frames, duration=50, **options))
    expected = np.where(frames[..., 3:] == 255, frames[..., :3], 255)
    np.testing.assert_array_equal(clip.frames, expected)
    assert "transparent pixels put on white" in clip.notes


def test_gif_restore_to_previous(tmp_path: Path) -> None:
    """Worked by hand: frame 1 covers a corner and is undone, frame 2 covers another."""
    # Pillow writes only the changed box; ask for "restore to previous" after frame 1.
    frames = [np.zeros((20, 20), np.uint8) for _ in range(3)]
    frames[1][:5, :5] = 1
    frames[2][10:, 10:] = 2
    pictures = []
    for frame in frames:
        picture = Image.new("P", (20, 20))
        picture.putdata(frame.ravel().tolist())
        picture.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
        pictures.append(picture)
    file = tmp_path / "a.gif"
    pictures[0].save(file, save_all=True, append_images=pictures[1:], duration=100, disposal=[1, 3, 1], optimize=False)
    clip = read_clip(file)
    palette = np.array([[0, 0, 0], [255, 0, 0], [0, 255, 0]], np.uint8)
    np.testing.assert_array_equal(clip.frames, palette[np.stack(frames)])


@pytest.mark.parametrize("suffix", OPTIONS)
def test_uneven_delays(tmp_path: Path, suffix: str) -> None:
    delays = [50, 200, 30, 100, 50, 50, 400]
    clip = read_clip(write_animation(tmp_path / f"a{suffix}", square_frames(), duration=delays, **OPTIONS[suffix]))
    np.testing.assert_allclose(clip.timestamps, [0, 0.05, 0.25, 0.28, 0.38, 0.43, 0.48])


@pytest.mark.parametrize("delay", [0, 10])
def test_unstated_delay_is_assumed(tmp_path: Path, delay: int) -> None:
    file = write_animation(tmp_path / "a.gif", square_frames(), duration=delay)
    clip = read_clip(file, assume_fps=16)
    assert clip.fps == 16
    assert clip.notes[0] == "states no frame rate; 16 frames per second assumed"
    assert read_clip(file, fps=24).fps == 24


def test_single_unstated_delay_takes_the_median(tmp_path: Path) -> None:
    clip = read_clip(write_animation(tmp_path / "a.gif", square_frames(4), duration=[100, 0, 100, 0]))
    np.testing.assert_allclose(clip.timestamps, [0, 0.1, 0.2, 0.3])
    assert any("1 frames state no delay; 100 ms taken" in note for note in clip.notes)


@pytest.mark.parametrize(
    ("suffix", "promise_of"), [(".gif", promise_of_gif), (".apng", promise_of_png), (".webp", promise_of_webp)]
)
def test_every_cut_is_found(tmp_path: Path, suffix: str, promise_of: Any) -> None:
    data = write_animation(tmp_path / f"a{suffix}", square_frames(), duration=50, **OPTIONS[suffix]).read_bytes()
    assert promise_of(data).fault is None
    assert promise_of(data).delays_ms == (50.0,) * 7
    for length in range(20, len(data) - 1, 7):
        assert promise_of(data[:length]).fault is not None, length


@pytest.mark.parametrize("suffix", OPTIONS)
def test_noise_ends_in_a_clip_or_a_reason(tmp_path: Path, suffix: str) -> None:
    data = write_animation(tmp_path / f"a{suffix}", square_frames(), duration=50, **OPTIONS[suffix]).read_bytes()
    rng = np.random.default_rng(0)
    file = tmp_path / f"b{suffix}"
    for _ in range(40):
        damaged = bytearray(data)
        for at in rng.integers(12, len(data), 3):
            damaged[at] = rng.integers(256)
        file.write_bytes(damaged)
        try:
            assert len(read_clip(file)) >= 1
        except ClipError as error:
            assert str(error)


def test_apng_default_image_is_no_frame(tmp_path: Path) -> None:
    pictures = [Image.fromarray(frame) for frame in square_frames(3)]
    cover = Image.new("RGB", (64, 48), (1, 2, 3))
    cover.save(tmp_path / "a.apng", save_all=True, append_images=pictures, default_image=True, duration=100)
    clip = read_clip(tmp_path / "a.apng")
    np.testing.assert_array_equal(clip.frames, square_frames(3))


def large_canvas(file: Path, suffix: str) -> None:
    """State a canvas of 8000 x 7999 in the header of an animation of small frames."""
    data = bytearray(file.read_bytes())
    if suffix == ".gif":
        struct.pack_into("<HH", data, 6, 8000, 7999)
    elif suffix == ".webp":
        data[24:30] = (7999).to_bytes(3, "little") + (7998).to_bytes(3, "little")
    else:
        struct.pack_into(">II", data, 16, 8000, 7999)
        struct.pack_into(">I", data, 29, zlib.crc32(data[12:29]))
    file.write_bytes(data)


@pytest.mark.parametrize("suffix", OPTIONS)
def test_too_many_pixels_are_not_decoded(tmp_path: Path, suffix: str) -> None:
    file = write_animation(tmp_path / f"a{suffix}", moving_frames(50, (32, 32)), duration=50)
    assert len(read_clip(file)) == 50
    large_canvas(file, suffix)
    with pytest.raises(
        ClipError, match=r"50 frames of 8000x7999 have 3200 million .*, more than the limit of 3000 million"
    ):
        read_clip(file)


def sparse(file: Path, head: bytes, size: int) -> Path:
    """``head`` and zeros up to ``size``, which take no room on the disk."""
    with file.open("wb") as out:
        out.write(head)
        out.truncate(size)
    return file


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("head.gif", "unknown block"),
        ("head.apng", "damaged"),
        ("head.webp", "no chunk at byte|ends within"),
        ("chunk.apng", "has a chunk of 4096 MiB; at most 64 MiB are read"),
        ("frame.apng", "has a chunk of 4096 MiB; at most 488 MiB are read"),
        ("riff.webp", "WebP of 4096 MiB takes twice as much .* max_memory to 8192 MiB"),
        ("tail.webp", ""),
    ],
)
def test_huge_files_are_not_read(tmp_path: Path, name: str, match: str) -> None:
    kind = name.split(".")[1]
    whole = write_animation(tmp_path / f"whole.{kind}", square_frames(), duration=50).read_bytes()
    heads = {
        "head": whole[:100],
        "chunk": whole[:8] + struct.pack(">I4s", 0xFFFFFFF0, b"teXt"),
        "frame": whole[:8] + struct.pack(">I4s", 0xFFFFFFF0, b"IDAT"),
        "riff": b"RIFF" + struct.pack("<I", 0xFFFFFFF0) + b"WEBP",
        "tail": whole,
    }
    file = sparse(tmp_path / name, heads[name.split(".")[0]], 5 * 2**30)
    before = resource.getrusage(resource.RUSAGE_SELF)
    if match:
        with pytest.raises(ClipError, match=match):
            read_clip(file)
    else:
        assert len(read_clip(file)) == 7  # what follows the stated end is not read
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 200 * 2**10  # KiB on Linux


def test_webp_that_its_decoder_could_not_hold(tmp_path: Path) -> None:
    file = write_animation(tmp_path / "a.webp", square_frames(), duration=50)
    with pytest.raises(ClipError, match="takes twice as much to decode"):
        read_clip(file, max_memory=2 * file.stat().st_size - 1)
