"""Only regular files are opened, and nothing is waited for."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from vmmetrics.utils.storage.opening import open_regular, read_regular


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


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/null")], ids=["pipe", "device"])
def test_nothing_is_written_to_what_is_no_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "a")
    for mode in ("rb+", "ab"):
        with pytest.raises(OSError, match="Not a regular file"):
            open_regular(tmp_path / "a", mode)


def test_a_file_is_made_to_append_to(tmp_path: Path) -> None:
    for text in (b"a", b"b"):
        with open_regular(tmp_path / "new", "ab") as file:
            file.write(text)
    assert read_regular(tmp_path / "new", 2) == b"ab"
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "absent")


def test_a_file_is_read_up_to_a_bound(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 2**20)
    assert len(read_regular(tmp_path / "a", 2**20)) == 2**20
    (tmp_path / "a").write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(OSError, match="Larger than 1 MiB"):
        read_regular(tmp_path / "a", 2**20)
