"""Only regular files are opened, and nothing is waited for."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bad_inputs import moving_frames, write_pictures
from vmmetrics.video import discover
from vmmetrics.video.containers import open_regular
from vmmetrics.video.folders import frame_files


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, _socket, Path.mkdir, lambda path: path.symlink_to("/dev/zero")],
    ids=["pipe", "socket", "folder", "device"],
)
def test_what_is_no_regular_file_is_refused(
    make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    make(Path("a"))
    with pytest.raises(OSError, match="Not a regular file"):
        open_regular(Path("a"))


def test_a_symlink_is_followed_and_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"content")
    (tmp_path / "a.mp4").symlink_to("blob")
    with open_regular(tmp_path / "a.mp4") as file:
        assert (file.read(), Path(file.name).name) == (b"content", "a.mp4")  # FFmpeg goes by the suffix too


def test_a_pipe_put_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    regular, look = (tmp_path / "a").stat(), os.stat
    monkeypatch.setattr("os.stat", lambda path, **o: regular if str(path).endswith("pipe") else look(path, **o))
    with pytest.raises(OSError, match="Not a regular file"):
        open_regular(tmp_path / "pipe")


def test_a_search_opens_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.webp")
    folder = write_pictures(tmp_path / "frames", moving_frames(2))
    os.mkfifo(folder / "0002.png")
    assert [source.name for source in discover([tmp_path])] == ["a.webp", "frames"]
    assert len(frame_files(folder)) == 3  # a frame that cannot be read is an error, not a gap
