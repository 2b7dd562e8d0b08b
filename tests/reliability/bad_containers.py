"""Every container cut, flipped, overwritten, lengthened, doubled and named wrongly."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np

from tests.bad_inputs import moving_frames, write_animation, write_video
from tests.reliability.bad_clips import BadClip, attempt, put

FRAMES = 8
FLIPS = 60
FAST = {"deadline": "realtime", "cpu-used": "8"}
STREAMED = {"ts", "mpg", "ogv"}
"""Containers that state no length: their cuts cannot be seen (docs/inputs.md)."""


def seeds(folder: Path) -> dict[str, bytes]:
    """A good clip of every container, eight frames of 64x64, by name and suffix."""
    clip = moving_frames(FRAMES)
    folder.mkdir()
    made = [
        attempt(write_video, folder / "h264.mp4", clip),
        attempt(write_video, folder / "fast.mp4", clip, muxer={"movflags": "faststart"}),
        attempt(write_video, folder / "fragments.mp4", clip, muxer={"movflags": "frag_keyframe+empty_moov"}),
        attempt(write_video, folder / "vp9.webm", clip, "libvpx-vp9", options=FAST),
        attempt(write_video, folder / "vp8.webm", clip, "libvpx", options=FAST),
        attempt(write_video, folder / "h264.mkv", clip),
        attempt(write_video, folder / "ffv1.mkv", clip, "ffv1", "bgr0"),
        attempt(write_video, folder / "mpeg4.avi", clip, "mpeg4"),
        attempt(write_video, folder / "h264.ts", clip, container="mpegts"),
        attempt(write_video, folder / "h264.flv", clip),
        attempt(write_video, folder / "mpeg1.mpg", clip, "mpeg1video", container="mpeg"),
        attempt(write_animation, folder / "colours.gif", clip, duration=120),
        attempt(write_animation, folder / "frames.apng", clip, duration=120, format="PNG"),
        attempt(write_animation, folder / "lossy.webp", clip, duration=120),
        attempt(write_animation, folder / "lossless.webp", clip, duration=120, lossless=True),
    ]
    np.save(folder / "uint8.npy", clip)
    return {path.name: path.read_bytes() for path in [*made, folder / "uint8.npy"] if path is not None}


def cuts(size: int) -> list[int]:
    """The 21 lengths at which a file of ``size`` bytes is cut."""
    front = [1, 4, 8, 11, 12, 15, 16, 20, 32, 64, 100]
    behind = [size - n for n in (100, 12, 8, 4, 2, 1)]
    return sorted({n for n in [*front, size // 10, size // 4, size // 2, 3 * size // 4, *behind] if 0 < n < size})


def kinds(folder: Path, dense: bool) -> Iterator[BadClip]:
    """Cuts, flips, noise and wrong names; a few of each where not ``dense``."""
    rng = random.Random(20)
    originals = seeds(folder / "seeds")
    for name, data in originals.items():
        stem, suffix = name.split(".")
        yield BadClip(f"good {name}", folder / "seeds" / name, "ok")
        yield from _cut(folder, name, data, dense)
        yield BadClip(f"empty {suffix}", put(folder / f"empty-{name}", b""), "error")
        for number in range(FLIPS if dense else 2):
            flipped = bytearray(data)
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            yield BadClip(f"bit flip {name}", put(folder / f"flip-{stem}-{number}.{suffix}", flipped))
        for number in range(10 if dense else 1):
            changed = bytearray(data)
            changed[rng.randrange(min(200, len(data)))] = rng.choice([0, 127, 128, 255])
            yield BadClip(f"header byte {name}", put(folder / f"byte-{stem}-{number}.{suffix}", changed))
        for number in range(6 if dense else 1):
            noisy, length = bytearray(data), rng.randrange(1, 400)
            start = rng.randrange(len(data))
            noisy[start : start + length] = rng.randbytes(len(noisy[start : start + length]))
            yield BadClip(f"noise in {name}", put(folder / f"noise-{stem}-{number}.{suffix}", noisy))
        hole = bytearray(data)
        hole[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
        yield BadClip(f"hole in {name}", put(folder / f"hole-{name}", hole))
        yield BadClip(f"zeros after {name}", put(folder / f"longer-{name}", data + bytes(5000)))
        yield BadClip(f"twice {name}", put(folder / f"twice-{name}", data + data))
    yield from _wrong_names(folder, originals)
    yield from _other_formats(folder, originals, rng)


def _cut(folder: Path, name: str, data: bytes, dense: bool) -> Iterator[BadClip]:
    stem, suffix = name.split(".")
    rule = "any" if suffix in STREAMED or stem == "fragments" else "whole"
    lengths = cuts(len(data))
    for length in lengths if dense else lengths[-9::4]:
        path = put(folder / f"cut-{stem}-{length}.{suffix}", data[:length])
        yield BadClip(f"cut {name}", path, rule, FRAMES)  # type: ignore[arg-type]


def _wrong_names(folder: Path, originals: dict[str, bytes]) -> Iterator[BadClip]:
    for name, suffix in (
        ("colours.gif", "mp4"),
        ("h264.mp4", "gif"),
        ("uint8.npy", "mp4"),
        ("h264.mp4", "npy"),
        ("lossy.webp", "webm"),
        ("h264.mp4", "pt"),
        ("frames.apng", "mp4"),
        ("vp9.webm", "mp4"),
        ("h264.mkv", "avi"),
        ("h264.mp4", "webp"),
        ("h264.mp4", "apng"),
        ("h264.mp4", "png"),
        ("h264.mp4", "jpg"),
        ("h264.mp4", "npz"),
        ("h264.mp4", "txt"),
        ("h264.mp4", "MP4"),
    ):
        if name in originals:
            path = put(folder / f"named-{name.replace('.', '-')}.{suffix}", originals[name])
            yield BadClip(f"{name} named .{suffix}", path)


def _other_formats(folder: Path, originals: dict[str, bytes], rng: random.Random) -> Iterator[BadClip]:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.mp4", originals["h264.mp4"])
    playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n"
    manifest = '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>'
    manifest += (
        "<Representation><BaseURL>file:///etc/hostname</BaseURL></Representation></AdaptationSet></Period></MPD>"
    )
    session = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5000 RTP/AVP 96\n"
    for kind, data in {
        "text": b"hello\n" * 50,
        "web page": b"<!DOCTYPE html><html><body>404</body></html>",
        "JSON": json.dumps({"error": "not found"}).encode(),
        "ZIP": archive.getvalue(),
        "PDF": b"%PDF-1.7\n%\xe2\xe3\n" + b"x" * 400,
        "program": b"MZ" + bytes(900),
        "ELF": b"\x7fELF" + bytes(900),
        "random bytes": rng.randbytes(20000),
        "zeros": bytes(50000),
        "0xff": b"\xff" * 50000,
        "line end": b"\n",
        "one byte": b"\0",
        "m3u8": playlist.encode(),
        "ffconcat": b"ffconcat version 1.0\nfile /etc/hostname\n",
        "SDP": session.encode(),
        "DASH manifest": manifest.encode(),
        "SVG": b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
        "SRT": b"1\n00:00:01,000 --> 00:00:02,000\nhello\n",
        "Y4M without frames": b"YUV4MPEG2 W64 H64 F10:1 Ip A1:1 C420jpeg\n",
        "gzip": b"\x1f\x8b\x08" + bytes(300),
        "HEIC": b"\0\0\0\x18ftypheic" + bytes(300),
    }.items():
        for suffix in ("mp4", "webm", "gif"):
            name = kind.replace(" ", "-")
            yield BadClip(f"{kind} named .{suffix}", put(folder / f"{name}.{suffix}", data), "error")
