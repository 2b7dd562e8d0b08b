"""Places that are no plain file: symlinks, pipes, devices, sockets; and names that are more than letters."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from tests.bad_inputs import moving_frames, write_video
from tests.reliability.bad_clips import BadClip, put

TITLE = "\x1b]0;title\x07"
"""Sets the title of a terminal that gets it raw."""

NAMES: tuple[bytes, ...] = (
    b"line\nend.mp4",
    b"return\rx.mp4",
    b"tab\tx.mp4",
    b"colour \x1b[31mred\x1b[0m.mp4",
    TITLE.encode() + b".mp4",
    b"bell\x07.mp4",
    b"delete\x7f.mp4",
    b"c1 \xc2\x9b31m.mp4",
    b"no utf-8 \xff\xfe.mp4",
    b"latin-1 \xe9.mp4",
    "horse 🐎.mp4".encode(),
    "right to left \u202egpm.mp4".encode(),
    "no width \u200b.mp4".encode(),
    "separators \u2028 \u2029.mp4".encode(),
    "decomposed e\u0301.mp4".encode(),
    "composed \u00e9.mp4".encode(),
    b"quotes ' \".mp4",
    b"=cmd|' -C calc'!A0.mp4",
    b"@SUM(1+1).mp4",
    b"+1+1.mp4",
    b"-1+1.mp4",
    b"$(touch made).mp4",
    b"`touch made`.mp4",
    b"; touch made.mp4",
    b"<script>alert(1)<&script>.mp4",
    b"&amp;<b>.mp4",
    b"%n%s%x.mp4",
    b"{prompt}.mp4",
    b"[red]markup[&red].mp4",
    b"\\input{x}.mp4",
    b"--help.mp4",
    b"-.mp4",
    b" leading.mp4",
    b"trailing.mp4 ",
    b"back\\slash.mp4",
    b"file:x.mp4",
    b"concat:a|b.mp4",
    b"%04d.mp4",
    b"br[ack]et*?.mp4",
    b"n" * 245 + b".mp4",
    b"9" * 240 + b".mp4",
)


def kinds(folder: Path, _dense: bool) -> Iterator[BadClip]:
    """Every place and name once."""
    outside = folder / "outside"
    outside.mkdir()
    root = folder / "clips"
    root.mkdir()
    data = write_video(outside / "good.mp4", moving_frames(6)).read_bytes()
    yield from _links(root, outside, data)
    yield from _special(root)
    yield from _frames(root, outside)
    for number, name in enumerate(NAMES):
        path = root / os.fsdecode(name)
        with contextlib.suppress(OSError):  # a file system that takes no such name
            yield BadClip(f"name {number}: {name!r}"[:60], put(path, data), "ok")
    deep = root.joinpath(*(letter * 100 for letter in "defg"))
    deep.mkdir(parents=True)
    yield BadClip("deep path", put(deep / "a.mp4", data), "ok")


def _links(root: Path, outside: Path, data: bytes) -> Iterator[BadClip]:
    put(root / "plain.mp4", data)
    for name, target, rule in (
        ("link-inside.mp4", "plain.mp4", "ok"),
        ("link-outside.mp4", outside / "good.mp4", "ok"),  # links to regular files are followed
        ("link-of-link.mp4", "link-outside.mp4", "ok"),
        ("link-nowhere.mp4", "nothing.mp4", "error"),
        ("link-itself.mp4", "link-itself.mp4", "error"),
        ("link-a.mp4", "link-b.mp4", "error"),
        ("link-b.mp4", "link-a.mp4", "error"),
        ("link-text.mp4", "/etc/hostname", "error"),
        ("link-zero.mp4", "/dev/zero", "error"),
        ("link-zero.npy", "/dev/zero", "error"),
        ("link-zero.gif", "/dev/zero", "error"),
        ("link-zero.apng", "/dev/zero", "error"),
        ("link-random.mp4", "/dev/urandom", "error"),
        ("link-null.mp4", "/dev/null", "error"),
        ("link-terminal.mp4", "/dev/tty", "error"),
        ("link-kernel.mp4", "/proc/kmsg", "error"),
        ("link-stdin.mp4", "/proc/self/fd/0", "error"),
        ("link-memory.mp4", "/proc/self/mem", "error"),
        ("link-folder.mp4", ".", "any"),
        ("link-empty.mp4", "empty.mp4", "error"),
    ):
        (root / name).symlink_to(target)
        yield BadClip(f"symlink {name}", root / name, rule)  # type: ignore[arg-type]
    put(root / "empty.mp4", b"")
    os.link(root / "plain.mp4", root / "hard.mp4")
    yield BadClip("hard link", root / "hard.mp4", "ok")
    if os.geteuid():  # root reads everything
        denied = put(root / "denied.mp4", data)
        denied.chmod(0)
        yield BadClip("no permission", denied, "error")


def _special(root: Path) -> Iterator[BadClip]:
    for suffix in ("mp4", "npy", "gif", "webp", "pt"):
        os.mkfifo(root / f"pipe.{suffix}")
        yield BadClip(f"pipe .{suffix}", root / f"pipe.{suffix}", "error")
    address = socket.socket(socket.AF_UNIX)
    before = Path.cwd()
    os.chdir(root)  # the whole path may be too long for a socket
    with contextlib.suppress(OSError):
        address.bind("socket.mp4")
    os.chdir(before)
    address.close()
    yield BadClip("socket", root / "socket.mp4", "error")


def _frames(root: Path, outside: Path) -> Iterator[BadClip]:
    picture = Image.fromarray(moving_frames(1)[0])
    picture.save(outside / "frame.png")
    for name, rule in (("pipe", "any"), ("outside", "any"), ("text", "any"), ("zero", "any"), ("folder", "any")):
        home = root / f"frames-{name}"
        home.mkdir()
        for number in (0, 2):
            picture.save(home / f"{number:03}.png")
        odd = home / "001.png"
        if name == "pipe":
            os.mkfifo(odd)
        elif name == "folder":
            odd.mkdir()
        else:
            odd.symlink_to({"outside": outside / "frame.png", "text": "/etc/hostname", "zero": "/dev/zero"}[name])
        yield BadClip(f"frames, one {name}", home, rule)  # type: ignore[arg-type]
