"""Video files: frames, colours, times and orientation against what was encoded, losslessly where it matters."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.bad_inputs import moving_frames, write_animation, write_pictures, write_video
from vmmetrics.errors import ClipError
from vmmetrics.video import read_clip
from vmmetrics.video.budget import clip_bytes
from vmmetrics.video.containers import packets_of

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
# Codes of the saturated primaries, from the matrices of the standards. Limited range:
# Y = 16 + 219 (Kr R + Kg G + Kb B),
# Cb = 128 + 224 (B - Y') / (2 - 2 Kb), Cr = 128 + 224 (R - Y') / (2 - 2 Kr); full range with 255 and no offset of luma.
PRIMARIES = [
    # matrix, range, {colour: (Y, Cb, Cr)}
    (5, 1, {RED: (81, 90, 240), GREEN: (145, 54, 34), BLUE: (41, 240, 110)}),  # BT.601: Kr .299, Kb .114
    (1, 1, {RED: (63, 102, 240), GREEN: (173, 42, 26), BLUE: (32, 240, 118)}),  # BT.709: Kr .2126, Kb .0722
    (9, 1, {RED: (74, 97, 240), GREEN: (164, 47, 25), BLUE: (29, 240, 119)}),  # BT.2020: Kr .2627, Kb .0593
    (5, 2, {RED: (76, 85, 255), GREEN: (150, 44, 21), BLUE: (29, 255, 107)}),
    (1, 2, {RED: (54, 99, 255), GREEN: (182, 30, 12), BLUE: (18, 255, 116)}),
]


def write_yuv(
    path: Path,
    codes: tuple[int, ...],
    *,
    codec: str,
    matrix: int | None = None,
    color_range: int | None = None,
    size: tuple[int, int] = (64, 64),
    pix_fmt: str = "yuv420p",
) -> Path:
    """Encode two frames of constant codes, tagged or not."""
    wide = pix_fmt.endswith("10le")
    with av.open(str(path), "w") as output:
        stream = output.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        if codec == "libx264":
            stream.codec_context.options = {"qp": "0", "preset": "ultrafast"}
        for number in range(2):
            frame = av.VideoFrame(*size, pix_fmt)
            for plane, code in zip(frame.planes, codes, strict=True):
                values = np.full(plane.buffer_size // (2 if wide else 1), code, np.uint16 if wide else np.uint8)
                plane.update(values.tobytes())
            frame.pts = number
            for owner in (stream.codec_context, frame):
                if matrix is not None:
                    owner.colorspace = matrix
                if color_range is not None:
                    owner.color_range = color_range
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return path


@pytest.mark.parametrize(("codec", "suffix"), [("libx264", ".mp4"), ("ffv1", ".mkv")])
@pytest.mark.parametrize(("matrix", "color_range", "primaries"), PRIMARIES)
def test_tagged_matrix_and_range(
    tmp_path: Path, codec: str, suffix: str, matrix: int, color_range: int, primaries: dict[Any, Any]
) -> None:
    for number, (colour, codes) in enumerate(primaries.items()):
        file = tmp_path / f"{number}{suffix}"
        clip = read_clip(write_yuv(file, codes, codec=codec, matrix=matrix, color_range=color_range))
        # One code of chroma is 2 x 0.886 x 255 / 224 = 2 levels of blue: half of that from rounding, and one more.
        np.testing.assert_allclose(clip.frames.reshape(-1, 3), np.tile(colour, (2 * 64 * 64, 1)), atol=2)


@pytest.mark.parametrize(("size", "row"), [((64, 64), 0), ((80, 720), 1), ((1280, 64), 1)])
def test_untagged_follows_size(tmp_path: Path, size: tuple[int, int], row: int) -> None:
    clip = read_clip(write_yuv(tmp_path / "a.mkv", PRIMARIES[row][2][GREEN], codec="ffv1", size=size))
    np.testing.assert_allclose(clip.frames[0, 5, 5], GREEN, atol=2)


def test_ten_bits(tmp_path: Path) -> None:
    codes = tuple(4 * code for code in PRIMARIES[1][2][RED])
    file = write_yuv(tmp_path / "a.mkv", codes, codec="ffv1", matrix=1, color_range=1, pix_fmt="yuv420p10le")
    np.testing.assert_allclose(read_clip(file).frames[1, 9, 9], RED, atol=2)


@pytest.mark.parametrize(("color_range", "level"), [(1, 110), (2, 110), (None, 110)])
def test_grey_ranges(tmp_path: Path, color_range: int | None, level: int) -> None:
    # Limited: 16 + 219 x 110 / 255 = 110.47, stored as 110, comes back as (110 - 16) x 255 / 219 = 109.45.
    clip = read_clip(write_yuv(tmp_path / "a.mkv", (110,), codec="ffv1", color_range=color_range, pix_fmt="gray"))
    expected = 109 if color_range == 1 else 110
    np.testing.assert_array_equal(clip.frames, np.full_like(clip.frames, expected))


@pytest.mark.parametrize(
    ("name", "codec", "pix_fmt", "options"),
    [
        ("a.mp4", "libx264rgb", "rgb24", {"qp": "0"}),
        ("a.mkv", "ffv1", "bgr0", {}),
        ("a.mov", "qtrle", "rgb24", {}),
        ("a.avi", "rawvideo", "bgr24", {}),
    ],
)
@pytest.mark.parametrize("size", [(64, 64), (61, 35)])
def test_lossless_frames_come_back_exactly(
    tmp_path: Path, name: str, codec: str, pix_fmt: str, options: dict[str, str], size: tuple[int, int]
) -> None:
    frames = moving_frames(25, size)
    clip = read_clip(write_video(tmp_path / name, frames, codec, pix_fmt, options=options))
    np.testing.assert_array_equal(clip.frames, frames)
    np.testing.assert_allclose(clip.timestamps, np.arange(25) / 10, atol=1e-3)
    assert clip.fps == pytest.approx(10, rel=1e-3)
    assert (clip.size, clip.notes, clip.frames.flags.c_contiguous) == (size, (), True)


@pytest.mark.parametrize("bframes", ["0", "3"])
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts", "a.flv", "a.avi"])
def test_reordered_frames_come_in_order(tmp_path: Path, name: str, bframes: str) -> None:
    # Frame t has the grey level 9 t, so order and count can be read off the pixels.
    frames = np.stack([np.full((64, 64, 3), 9 * t, np.uint8) for t in range(25)])
    clip = read_clip(write_video(tmp_path / name, frames, options={"bf": bframes, "qp": "4"}))
    np.testing.assert_allclose(clip.frames.mean((1, 2, 3)), 9 * np.arange(25), atol=3)
    np.testing.assert_allclose(clip.timestamps, np.arange(25) / 10, atol=2e-3)


def test_variable_rate_is_kept(tmp_path: Path) -> None:
    times = [0, 40, 80, 200, 240, 500]
    clip = read_clip(write_video(tmp_path / "a.mkv", moving_frames(6), times=times))
    np.testing.assert_allclose(clip.timestamps, np.array(times) / 1000, atol=1e-9)
    assert clip.fps == pytest.approx(5 / 0.5)


def test_late_start_begins_at_zero(tmp_path: Path) -> None:
    clip = read_clip(write_video(tmp_path / "a.mkv", moving_frames(3), times=[700, 800, 900]))
    np.testing.assert_allclose(clip.timestamps, [0, 0.1, 0.2], atol=1e-9)


def test_rate_given_overrides(tmp_path: Path) -> None:
    clip = read_clip(write_video(tmp_path / "a.mp4", moving_frames(5)), fps=25)
    np.testing.assert_allclose(clip.timestamps, np.arange(5) / 25)
    assert clip.fps == 25


@pytest.mark.parametrize(
    ("degrees", "hflip", "vflip", "upright"),
    [
        (0, False, False, lambda a: a),
        (90, False, False, lambda a: np.rot90(a, 1)),  # FFmpeg counts anticlockwise
        (180, False, False, lambda a: np.rot90(a, 2)),
        (270, False, False, lambda a: np.rot90(a, 3)),
        (0, True, False, np.fliplr),
        (0, False, True, np.flipud),
    ],
)
def test_display_matrix(tmp_path: Path, degrees: int, hflip: bool, vflip: bool, upright: Any) -> None:
    frames = moving_frames(3, (64, 48))

    def turn(stream: Any) -> None:
        stream.set_display_rotation(degrees, hflip=hflip, vflip=vflip)

    file = write_video(tmp_path / "a.mp4", frames, "libx264rgb", "rgb24", options={"qp": "0"}, prepare=turn)
    clip = read_clip(file)
    np.testing.assert_array_equal(clip.frames[1], upright(frames[1]))
    assert bool(clip.notes) == bool(degrees or hflip or vflip)


def test_wide_pixels_become_square(tmp_path: Path) -> None:
    def wide(stream: Any) -> None:
        from fractions import Fraction

        stream.codec_context.sample_aspect_ratio = Fraction(3, 2)

    clip = read_clip(write_video(tmp_path / "a.mp4", moving_frames(3), prepare=wide))
    assert (clip.width, clip.height, clip.size) == (96, 64, (64, 64))


@pytest.mark.parametrize(
    ("pix_fmt", "codec", "name"), [("yuva420p", "libvpx-vp9", "a.webm"), ("argb", "qtrle", "a.mov")]
)
def test_alpha_is_put_on_white(tmp_path: Path, pix_fmt: str, codec: str, name: str) -> None:
    frames = np.zeros((3, 64, 64, 4), np.uint8)
    frames[..., 0], frames[..., 3] = 200, 255
    frames[:, :32, :, 3] = 0
    frames[:, 32:48, :, 3] = 128
    options = {"lossless": "1", "cpu-used": "8"} if codec == "libvpx-vp9" else {}
    clip = read_clip(write_video(tmp_path / name, frames, codec, pix_fmt, options=options))
    half = 128 / 255
    for row, expected in [(10, (255, 255, 255)), (40, (200 * half + 255 * (1 - half), 127, 127)), (60, (200, 0, 0))]:
        np.testing.assert_allclose(clip.frames[1, row, 20], expected, atol=3)
    assert "transparent pixels put on white" in clip.notes


def test_too_large_is_downscaled_by_area(tmp_path: Path) -> None:
    frames = np.zeros((6, 400, 400, 3), np.uint8)
    frames[:, ::2] = 200  # alternate lines: the mean is 100 whatever the phase of the resampling by area
    file = write_video(tmp_path / "a.mkv", frames, "ffv1", "bgr0")
    clip = read_clip(file, max_memory=clip_bytes(6, 200, 200))
    assert clip.frames.shape == (6, 200, 200, 3)
    assert clip.size == (400, 400)
    assert any("downscaled from 400x400 to 200x200" in note for note in clip.notes)
    np.testing.assert_array_equal(clip.frames, np.full_like(clip.frames, 100))
    with pytest.raises(ClipError, match=r"max_memory of 3 MiB is enough"):
        read_clip(file, max_memory=100_000)
    _, height, width, _ = read_clip(file, max_memory=3 * 2**20).frames.shape
    assert clip_bytes(6, width, height) <= 3 * 2**20


def test_memory_holds_the_frames_once(tmp_path: Path) -> None:
    file = write_video(tmp_path / "a.mkv", moving_frames(60, (256, 256)), "ffv1", "bgr0")
    tracemalloc.start()
    clip = read_clip(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * clip.frames.nbytes


def test_playlists_open_nothing(tmp_path: Path) -> None:
    write_video(tmp_path / "real.mp4", moving_frames(3))
    (tmp_path / "list.mp4").write_text("ffconcat version 1.0\nfile real.mp4\n")
    with pytest.raises(ClipError, match="Not a video"):
        read_clip(tmp_path / "list.mp4")


def test_change_of_size_is_refused(tmp_path: Path) -> None:
    # Two lossless streams one after the other in a transport stream: the size changes in the middle.
    first = write_video(tmp_path / "a.h264", moving_frames(4, (64, 64)), container="h264").read_bytes()
    second = write_video(tmp_path / "b.h264", moving_frames(4, (96, 96)), container="h264").read_bytes()
    (tmp_path / "c.h264").write_bytes(first + second)
    with pytest.raises(ClipError, match=r"change from 64x64 to 96x96 at frame 4"):
        read_clip(tmp_path / "c.h264")


def test_ciphered_tail_names_both_counts(tmp_path: Path) -> None:
    file = write_video(tmp_path / "a.mp4", moving_frames(20), muxer={"movflags": "faststart"})
    data = file.read_bytes()
    file.write_bytes(data[: len(data) - 200])
    with pytest.raises(ClipError, match=r"cut short.*\d+ of 20 stated"):
        read_clip(file)


def remux(
    source: Path, target: Path, *, skip: int = 0, earlier: int = 0, options: dict[str, str] | None = None
) -> Path:
    """Copy packets without the first ``skip``, their times moved ``earlier`` by so many frames of 0.1 s."""
    with av.open(str(source)) as read, av.open(str(target), "w", options=options or {}) as written:
        stream = read.streams.video[0]
        copy = written.add_stream_from_template(stream)
        for number, packet in enumerate(read.demux(stream)):
            if not packet.size or number < skip:
                continue
            shift = earlier * packet.time_base.denominator // 10
            packet.pts, packet.dts, packet.stream = packet.pts - shift, packet.dts - shift, copy
            written.mux(packet)
    return target


def levels_video(path: Path) -> Path:
    """25 frames whose grey level is 9 t, a key frame every 10, reordered."""
    frames = np.stack([np.full((64, 64, 3), 9 * t, np.uint8) for t in range(25)])
    return write_video(path, frames, options={"bf": "2", "g": "10", "qp": "4"})


def test_frames_hidden_by_an_edit_list(tmp_path: Path) -> None:
    file = remux(
        levels_video(tmp_path / "a.mp4"), tmp_path / "b.mp4", earlier=5, options={"avoid_negative_ts": "disabled"}
    )
    clip = read_clip(file)
    np.testing.assert_allclose(clip.frames.mean((1, 2, 3)), 9 * np.arange(5, 25), atol=3)
    np.testing.assert_allclose(clip.timestamps, np.arange(20) / 10, atol=1e-3)


def test_frames_before_the_first_key_frame(tmp_path: Path) -> None:
    clip = read_clip(remux(levels_video(tmp_path / "a.mp4"), tmp_path / "b.mkv", skip=1))
    np.testing.assert_allclose(clip.frames.mean((1, 2, 3)), 9 * np.arange(10, 25), atol=3)
    assert "9 frames before the first key frame cannot be decoded" in clip.notes


@pytest.mark.parametrize("name", ["a.mp4", "a.ts"])
def test_interlaced(tmp_path: Path, name: str) -> None:
    file = write_video(tmp_path / name, moving_frames(8), options={"x264-params": "interlaced=1"})
    clip = read_clip(file)
    assert len(clip) == 8
    assert "interlaced; both fields are kept in each frame" in clip.notes


@pytest.mark.parametrize("codec", ["libvpx", "libvpx-vp9"])
def test_invisible_frames_are_not_missed(tmp_path: Path, codec: str) -> None:
    options = {"auto-alt-ref": "1", "lag-in-frames": "16", "deadline": "good", "cpu-used": "4"}
    clip = read_clip(write_video(tmp_path / "a.webm", moving_frames(40), codec, options=options))
    assert len(clip) == 40


def test_a_stream_that_begins_midway_is_damage() -> None:
    class Container:  # as PyAV behaves where FFmpeg adds a stream while it reads, found by fuzzing FLV
        def demux(self, stream: object) -> Iterator[object]:
            yield stream
            yield [][1]

    packets = packets_of(Container(), "packet")  # type: ignore[arg-type]
    assert next(packets) == "packet"
    with pytest.raises(ClipError, match=r"begins a stream that its header does not announce"):
        next(packets)


def test_the_codec_is_named(tmp_path: Path) -> None:
    frames = moving_frames(4)
    sources = {
        "h264": write_video(tmp_path / "a.mp4", frames),
        "gif": write_animation(tmp_path / "a.gif", frames, duration=100),
        "png": write_pictures(tmp_path / "pictures", frames),
    }
    assert {codec: read_clip(source).codec for codec, source in sources.items()} == {codec: codec for codec in sources}
    assert read_clip(frames, fps=8).codec is None
