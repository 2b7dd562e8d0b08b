"""Matroska and WebM files that are cut short, and whole ones of many kinds."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.bad_inputs import moving_frames, write_video
from vmmetrics.errors import ClipError
from vmmetrics.video import containers, read_clip
from vmmetrics.video.containers import check_whole

QUICK = {"deadline": "realtime", "cpu-used": "8"}
KINDS = [("a.webm", "libvpx-vp9", QUICK), ("a.webm", "libvpx", QUICK), ("a.mkv", "libx264", {})]


class Pipe(io.RawIOBase):
    """Takes what a muxer writes and cannot go back."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: Any) -> int:
        self.data += data
        return len(data)

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def streamed(frames: Any, codec: str, container: str, muxer: dict[str, str]) -> bytes:
    """Encode into a pipe: neither segment nor duration is stated."""
    pipe = Pipe()
    with av.open(pipe, "w", format=container, options=muxer) as output:
        stream = output.add_stream(codec, rate=10, options=QUICK if "vpx" in codec else {})
        stream.width, stream.height, stream.pix_fmt = frames.shape[2], frames.shape[1], "yuv420p"
        for frame in frames:
            output.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        output.mux(stream.encode())
    return bytes(pipe.data)


@pytest.mark.parametrize(("name", "codec", "options"), KINDS)
def test_every_cut_is_noticed(tmp_path: Path, name: str, codec: str, options: dict[str, str]) -> None:
    file = write_video(tmp_path / name, moving_frames(8), codec, options=options)
    whole = file.read_bytes()
    check_whole(file)
    for length in [*range(64, len(whole), 61), *range(len(whole) - 8, len(whole))]:
        file.write_bytes(whole[:length])
        with pytest.raises(ClipError, match="cut short"):
            check_whole(file)
        with pytest.raises(ClipError):
            read_clip(file)


@pytest.mark.parametrize("muxer", [{}, {"live": "1"}])
def test_a_live_file_is_whole_between_blocks_alone(tmp_path: Path, muxer: dict[str, str]) -> None:
    file = tmp_path / "a.webm"
    whole = streamed(moving_frames(8), "libvpx", "webm", muxer)
    file.write_bytes(whole)
    assert len(read_clip(file)) == 8
    passed = []
    for length in range(len(whole) - 400, len(whole)):
        file.write_bytes(whole[:length])
        try:
            check_whole(file)
        except ClipError:
            continue
        passed.append(length)
    assert len(passed) <= 8


@pytest.mark.parametrize(("name", "codec", "options"), KINDS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_short_whole_files_pass(tmp_path: Path, name: str, codec: str, options: dict[str, str], count: int) -> None:
    frames = moving_frames(count)
    for number, settings in enumerate(
        [
            {},
            {"times": [0, 30, 4000][:count]},
            {"times": [2000, 2100, 2150][:count]},
            {"muxer": {"cluster_time_limit": "1"}},
        ]
    ):
        clip = read_clip(write_video(tmp_path / f"{number}{name}", frames, codec, options=options, **settings))
        assert len(clip) == count


@pytest.mark.parametrize("count", [1, 2, 8])
def test_longer_audio_is_no_cut(tmp_path: Path, count: int) -> None:
    file = tmp_path / "a.mkv"
    with av.open(str(file), "w") as output:
        video, audio = output.add_stream("libx264", rate=10), output.add_stream("aac", rate=48000)
        video.width = video.height = 64
        video.pix_fmt = "yuv420p"
        for frame in moving_frames(count):
            output.mux(video.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        output.mux(video.encode())
        for number in range(100):
            sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            sound.sample_rate, sound.pts = 48000, number * 1024
            output.mux(audio.encode(sound))
        output.mux(audio.encode())
    assert len(read_clip(file)) == count


def test_one_packet_of_a_longer_duration_is_a_cut(tmp_path: Path) -> None:
    """Without its blocks and sizes, the duration that the header states tells."""
    whole = write_video(tmp_path / "a.mkv", moving_frames(8)).read_bytes()
    segment = whole.index(bytes.fromhex("18538067")) + 4
    cluster = whole.index(bytes.fromhex("1F43B675")) + 4
    data, file = bytearray(whole), tmp_path / "b.mkv"
    data[segment : segment + 8] = bytes.fromhex("01FFFFFFFFFFFFFF")  # unknown, as a live file has it
    width = 9 - data[cluster].bit_length()
    data[cluster : cluster + width] = ((2 << 7 * width) - 1).to_bytes(width)
    for length in range(cluster + width + 1, len(data)):
        file.write_bytes(data[:length])
        try:
            check_whole(file)
            read_clip(file)
        except ClipError as error:
            if str(error) == "The file is cut short: 1 frames up to 0.10 s of 0.80 s stated":
                return
    pytest.fail("the cut behind the first block was not noticed")


def test_other_files_and_what_follows_the_segment_pass(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    check_whole(tmp_path / "a.txt")
    file = write_video(tmp_path / "a.mkv", moving_frames(3))
    file.write_bytes(file.read_bytes() + b"\0" * 5000)
    assert len(read_clip(file)) == 3


def test_zeros_in_the_place_of_an_element_are_damage(tmp_path: Path) -> None:
    file = write_video(tmp_path / "a.mkv", moving_frames(3))
    with file.open("r+b") as opened:
        opened.truncate(100)
        opened.truncate(5 * 2**30)  # as a download leaves it that was given its room first
    with pytest.raises(ClipError, match="damaged: no element begins at byte"):
        read_clip(file)


LIVE = bytes.fromhex("1A45DFA380 18538067FF 1F43B675FF")  # the heads of a file, segment and cluster of unknown size


@pytest.mark.parametrize("zeros", [1, 5, 4096, 100_000])
def test_zeros_behind_a_live_file_are_padding(tmp_path: Path, zeros: int) -> None:
    file = tmp_path / "a.webm"
    whole = streamed(moving_frames(8), "libvpx", "webm", {"live": "1"})
    file.write_bytes(whole + bytes(zeros))
    assert len(read_clip(file)) == 8
    file.write_bytes(whole + bytes(zeros) + b"\xec\x80" * 9)
    with pytest.raises(ClipError, match=f"damaged: no element begins at byte {len(whole)}"):
        check_whole(file)


def test_zeros_for_most_of_a_live_file_are_damage(tmp_path: Path) -> None:
    file = tmp_path / "a.webm"
    file.write_bytes(LIVE)
    with file.open("r+b") as opened:
        opened.truncate(5 * 2**30)
    with pytest.raises(ClipError, match=f"damaged: no element begins at byte {len(LIVE)}"):
        check_whole(file)


def test_no_more_than_so_many_elements_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.webm"
    file.write_bytes(LIVE + b"\xec\x80" * 1000 + b"\xff")
    with pytest.raises(ClipError, match="cut short"):
        check_whole(file)
    monkeypatch.setattr(containers, "_MAX_ELEMENTS", 1000)
    check_whole(file)
