"""Bad and odd clips, each made from nothing: what a folder of generated clips may hold and a run must survive."""

from __future__ import annotations

import json
import os
import pickle
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

Frames = NDArray[np.uint8]
SIZE = 64  # pixels: small enough to be quick, large enough for every encoder


@dataclass(frozen=True, slots=True)
class BadInput:
    """One input and what must become of it.

    Attributes:
        name: Unique name of the kind.
        path: The clip: a file or a folder.
        kind: What is odd about it, in words.
        expected: ``"error"``: a record with a reason; ``"ok"``: a clip.
        match: Regular expression that the reason (or, for ``"ok"``, one of the notes; empty for any) must match.
        discovered: Whether a search of the folder it lies in lists it. Others become clips only when named outright.
    """

    name: str
    path: Path
    kind: str
    expected: Literal["error", "ok"]
    match: str
    discovered: bool = True


def moving_frames(count: int = 8, size: tuple[int, int] = (SIZE, SIZE), seed: int = 0) -> Frames:
    """(T, H, W, 3) uint8: a smooth texture that moves two pixels a frame; ``size`` is (width, height)."""
    width, height = size
    y, x = np.mgrid[:height, : width + 2 * count]
    phase = np.random.default_rng(seed).uniform(0, 6, 3)
    wide = np.stack([127 + 100 * np.sin(x / (5 + c) + phase[c]) * np.cos(y / (7 - c)) for c in range(3)], -1)
    return np.stack([wide[:, 2 * t : 2 * t + width] for t in range(count)]).astype(np.uint8)


def to_ordinary_priority() -> None:
    """Undo what SVT-AV1 does to the thread that opens it as root: realtime priority, which its children inherit."""
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def write_video(
    path: Path,
    frames: Frames,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    *,
    container: str | None = None,
    times: list[int] | None = None,
    options: dict[str, str] | None = None,
    muxer: dict[str, str] | None = None,
    prepare: Callable[[Any], None] | None = None,
) -> Path:
    """Encode (T, H, W, 3) or (T, H, W, 4) frames at 10 frames a second, or at ``times`` in milliseconds."""
    with av.open(str(path), "w", format=container, options=muxer or {}) as output:
        stream = output.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = frames.shape[2], frames.shape[1], pix_fmt
        stream.codec_context.options = options or {}
        if times is not None:
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        if prepare is not None:
            prepare(stream)
        for number, picture in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(
                np.ascontiguousarray(picture), format="rgba" if frames.shape[-1] == 4 else "rgb24"
            )
            frame.pts = number if times is None else times[number]
            if times is not None:
                frame.time_base = Fraction(1, 1000)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    to_ordinary_priority()
    return path


def write_pictures(folder: Path, frames: Frames, suffix: str = ".png") -> Path:
    """Write frames as numbered pictures."""
    folder.mkdir()
    for number, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"{number:04d}{suffix}")
    return folder


def write_animation(path: Path, frames: Frames, **options: Any) -> Path:
    """Write a GIF, APNG or WebP; ``duration`` in milliseconds where given."""
    pictures = [Image.fromarray(frame) for frame in frames]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], loop=0, **options)
    return path


def _cut(path: Path, share: float) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


def _bytes(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _npy(path: Path, array: NDArray[Any], **options: Any) -> Path:
    np.save(path, array, **options)
    return path


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def make_all(folder: Path) -> list[BadInput]:
    """Make every kind under ``folder``, each in a folder of its own, and list them."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[BadInput] = []
    for group in (_files, _cut_short, _wrong_content, _odd_videos, _animations, _folders, _arrays, _places):
        home = folder / group.__name__.strip("_")
        home.mkdir()
        made.extend(group(home))
    return made


def _files(home: Path) -> Iterator[BadInput]:
    clip = moving_frames()
    yield BadInput("empty file", _bytes(home / "empty.mp4", b""), "0 bytes", "error", "empty")
    yield BadInput("noise", _bytes(home / "noise.webm", bytes(range(256)) * 40), "random bytes", "error", "Not a video")
    yield BadInput("zeros", _bytes(home / "zeros.mkv", bytes(4096)), "zero bytes", "error", "Not a video")
    one = write_video(home / "one.mp4", clip[:1])
    yield BadInput("one frame", one, "a video of one frame", "ok", "")
    with av.open(str(home / "audio.mp4"), "w") as output:
        stream = output.add_stream("aac", rate=44100)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        sound.sample_rate = 44100
        output.mux(stream.encode(sound))
        output.mux(stream.encode())
    yield BadInput("audio only", home / "audio.mp4", "no video stream", "error", "video stream.*audio")
    with av.open(str(home / "nothing.avi"), "w") as output:
        stream = output.add_stream("mpeg4", rate=10)
        stream.width = stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        output.start_encoding()
    yield BadInput("no frames", home / "nothing.avi", "a header and no frames", "error", "one frame|Not a video")


def _cut_short(home: Path) -> Iterator[BadInput]:
    clip = moving_frames(16)
    fast = write_video(home / "cut_fast.mp4", clip, muxer={"movflags": "faststart"})
    yield BadInput("cut mp4", _cut(fast, 0.7), "header in front, frames cut", "error", "cut short.* of 16")
    late = write_video(home / "cut_late.mp4", clip)
    yield BadInput("cut mp4 without header", _cut(late, 0.6), "header behind, cut off", "error", "cut short")
    webm = write_video(home / "cut.webm", clip, "libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8"})
    yield BadInput("cut webm", _cut(webm, 0.8), "frames cut", "error", r"cut short.*byte \d+ of \d+")
    avi = write_video(home / "cut.avi", clip, "mpeg4")
    yield BadInput("cut avi", _cut(avi, 0.8), "frames cut", "error", "cut short")
    gif = write_animation(home / "cut.gif", clip, duration=100)
    yield BadInput("cut gif", _cut(gif, 0.6), "frames cut", "error", "ends before its trailer")
    webp = write_animation(home / "cut.webp", clip, duration=100)
    yield BadInput("cut webp", _cut(webp, 0.6), "frames cut", "error", "stated bytes")
    apng = write_animation(home / "cut.apng", clip, duration=100)
    yield BadInput("cut apng", _cut(apng, 0.6), "frames cut", "error", "ends before|damaged")
    data = bytearray(write_video(home / "holes.avi", clip, "mjpeg", "yuvj420p").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 800] = bytes(800)
    yield BadInput(
        "damaged frames",
        _bytes(home / "holes.avi", bytes(data)),
        "zeros in mid-file",
        "error",
        "[Dd]amaged|could be decoded|cut short",
    )
    data = bytearray(write_animation(home / "holes.apng", clip, duration=100).read_bytes())
    data[len(data) // 2] ^= 0xFF
    yield BadInput("damaged apng", _bytes(home / "holes.apng", bytes(data)), "one byte changed", "error", "damaged")
    npy = _npy(home / "cut.npy", clip)
    yield BadInput("cut npy", _cut(npy, 0.5), "half of the array", "error", "npy file cannot be read")


def _wrong_content(home: Path) -> Iterator[BadInput]:
    clip = moving_frames()
    Image.fromarray(clip[0]).save(home / "picture.png")
    picture = (home / "picture.png").rename(home / "picture.mp4")
    yield BadInput("png named mp4", picture, "a still picture", "error", "still image")
    Image.fromarray(clip[0]).save(home / "photo.jpg")
    photo = (home / "photo.jpg").rename(home / "photo.mov")
    yield BadInput("jpeg named mov", photo, "a still picture", "error", "still image")
    yield BadInput("text named mp4", _bytes(home / "text.mp4", b"not found\n" * 9), "text", "error", "Not a video")
    page = _bytes(home / "page.webm", b"<!DOCTYPE html><html><body>403 Forbidden</body></html>")
    yield BadInput("web page named webm", page, "a failed download", "error", "Not a video")
    lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
    yield BadInput("git-lfs pointer", _bytes(home / "pointer.mp4", lfs), "a pointer", "error", "Not a video")
    secret = write_video(home / ".secret.mp4", clip)
    playlist = f"ffconcat version 1.0\nfile {secret.name}\n".encode()
    yield BadInput(
        "playlist named mp4", _bytes(home / "list.mp4", playlist), "makes FFmpeg open others", "error", "Not a video"
    )
    playlist = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{secret.as_uri()}\n#EXT-X-ENDLIST\n".encode()
    yield BadInput(
        "m3u8 named mp4", _bytes(home / "hls.mp4", playlist), "makes FFmpeg open others", "error", "Not a video"
    )
    mp4 = write_video(home / "is_mp4.tmp", clip, container="mp4").rename(home / "is_mp4.gif")
    yield BadInput("mp4 named gif", mp4, "content decides", "ok", "")
    gif = write_animation(home / "is_gif.gif", clip, duration=100).rename(home / "is_gif.mp4")
    yield BadInput("gif named mp4", gif, "content decides", "ok", "")
    yield BadInput("text file", _bytes(home / "notes.md", b"hello"), "plainly no clip", "error", "Not a video", False)
    npz = home / "arrays.npz"
    np.savez(npz, clip)
    yield BadInput("npz", npz, "not a format we read", "error", "as .npy", False)


def _odd_videos(home: Path) -> Iterator[BadInput]:
    clip = moving_frames(8)
    times = [0, 100, 150, 400, 420, 700, 710, 900]
    yield BadInput("variable rate", write_video(home / "vfr.mkv", clip, times=times), "real times", "ok", "")
    alpha = np.concatenate([clip, np.full_like(clip[..., :1], 128)], -1)
    webm = write_video(
        home / "alpha.webm", alpha, "libvpx-vp9", "yuva420p", options={"cpu-used": "8", "deadline": "realtime"}
    )
    yield BadInput("alpha webm", webm, "half transparent", "ok", "transparent|alpha")
    odd = write_video(home / "odd.mkv", moving_frames(4, (61, 35)), "ffv1", "bgr0")
    yield BadInput("odd size", odd, "61x35", "ok", "")
    grey = write_video(home / "grey.mkv", clip, "ffv1", "gray")
    yield BadInput("grey", grey, "luma alone", "ok", "")
    deep = write_video(home / "deep.mkv", clip, "ffv1", "yuv420p10le")
    yield BadInput("10 bit", deep, "10 bits a channel", "ok", "")
    turned = write_video(home / "turned.mp4", clip, prepare=lambda stream: stream.set_display_rotation(90))
    yield BadInput("rotated", turned, "turned by metadata", "ok", "turned upright")

    def wide(stream: Any) -> None:
        stream.codec_context.sample_aspect_ratio = Fraction(4, 3)

    yield BadInput(
        "wide pixels", write_video(home / "wide.mp4", clip, prepare=wide), "4:3 pixels", "ok", "square pixels"
    )
    tiny = write_video(home / "tiny.mkv", moving_frames(4, (2, 2)), "ffv1", "bgr0")
    yield BadInput("tiny", tiny, "2x2", "ok", "")
    data = bytearray(write_video(home / "huge.avi", clip, "rawvideo", "bgr24").read_bytes())
    header = data.index(b"strf") + 8
    struct.pack_into("<ii", data, header + 4, 30000, 30000)
    yield BadInput(
        "huge header",
        _bytes(home / "huge.avi", bytes(data)),
        "states 30000x30000",
        "error",
        "million pixels|[Dd]amaged",
    )


def _animations(home: Path) -> Iterator[BadInput]:
    clip = moving_frames()
    yield BadInput("gif without delays", write_animation(home / "zero.gif", clip), "states no rate", "ok", "assumed")
    yield BadInput(
        "webp", write_animation(home / "a.webp", clip, duration=40, lossless=True), "FFmpeg refuses it", "ok", ""
    )
    yield BadInput("apng", write_animation(home / "a.apng", clip, duration=40), "animated PNG", "ok", "")
    apng_named_png = write_animation(home / "b.apng", clip, duration=40).rename(home / "b.png")
    yield BadInput("apng named png", apng_named_png, "animated PNG", "ok", "", False)
    alpha = np.concatenate([clip, np.full_like(clip[..., :1], 99)], -1)
    yield BadInput(
        "transparent webp", write_animation(home / "alpha.webp", alpha, duration=40), "alpha", "ok", "transparent"
    )
    header = struct.pack(">IIBBBBB", 40000, 40000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + _png_chunk(b"IHDR", header) + _png_chunk(b"acTL", struct.pack(">II", 1, 0))
    bomb += _png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 40000, 40000, 0, 0, 1, 10, 0, 0))
    bomb += _png_chunk(b"IDAT", zlib.compress(bytes(1000))) + _png_chunk(b"IEND", b"")
    yield BadInput("bomb", _bytes(home / "bomb.apng", bomb), "states 40000x40000", "error", "million pixels|bomb")
    screen = b"GIF89a" + struct.pack("<HHBBB", 60000, 60000, 0x80, 0, 0) + bytes(6) + b"\x2c"
    screen += struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00\x3b"
    yield BadInput("gif bomb", _bytes(home / "bomb.gif", screen), "states 60000x60000", "error", "million pixels|bomb")
    nothing = b"GIF89a" + struct.pack("<HHBBB", 8, 8, 0, 0, 0) + b"\x3b"
    yield BadInput("gif without frames", _bytes(home / "none.gif", nothing), "no frames", "error", "at least one frame")


def _folders(home: Path) -> Iterator[BadInput]:
    clip = moving_frames(4)
    yield BadInput("frames", write_pictures(home / "frames", clip), "numbered pictures", "ok", "assumed")
    mixed = write_pictures(home / "mixed", clip)
    Image.fromarray(clip[0][:32]).save(mixed / "0002.png")
    yield BadInput("mixed sizes", mixed, "one frame is smaller", "error", "one size.*0002.png is 64x32")
    broken = write_pictures(home / "broken", clip)
    _cut(broken / "0001.png", 0.5)
    yield BadInput("cut frame", broken, "one frame is cut", "error", "0001.png cannot be read")
    (home / "empty").mkdir()
    yield BadInput("empty folder", home / "empty", "no pictures", "error", "no pictures", False)
    (home / "folder.mp4").mkdir()
    yield BadInput("folder named mp4", home / "folder.mp4", "a folder", "error", "no pictures")
    deep = home / "deep"
    deep.mkdir()
    for number in range(3):
        Image.fromarray(clip[number, ..., 0].astype(np.uint16) * 257).save(deep / f"{number}.png")
    yield BadInput("16-bit frames", deep, "16-bit grey PNG", "ok", "")
    palette = home / "palette"
    palette.mkdir()
    for number in range(3):
        Image.fromarray(clip[number]).quantize(32).save(palette / f"p{number}.png")
    yield BadInput("palette frames", palette, "palette PNG", "ok", "")
    print_ready = home / "cmyk"
    print_ready.mkdir()
    for number in range(3):
        Image.fromarray(clip[number]).convert("CMYK").save(print_ready / f"{number}.jpg")
    yield BadInput("cmyk frames", print_ready, "CMYK JPEG", "ok", "")
    noted = write_pictures(home / "noted", clip)
    (noted / "readme.txt").write_text("hello")
    yield BadInput("frames and notes", noted, "other files beside the frames", "ok", "1 other file ")


def _arrays(home: Path) -> Iterator[BadInput]:
    clip = moving_frames()
    unit = clip.astype(np.float32) / 255
    holes = unit.copy()
    holes[3, 5, 5] = np.nan
    yield BadInput("nan", _npy(home / "nan.npy", holes), "NaN", "error", "finite")
    yield BadInput(
        "infinity", _npy(home / "inf.npy", np.where(np.isnan(holes), np.inf, holes)), "inf", "error", "finite"
    )
    yield BadInput(
        "int64", _npy(home / "int64.npy", clip.astype(np.int64)), "integers", "error", "uint8 or float.*int64"
    )
    yield BadInput("out of range", _npy(home / "range.npy", unit * 255), "floats 0..255", "error", "0..1 or -1..1")
    yield BadInput("two channels", _npy(home / "two.npy", clip[..., :2]), "2 channels", "error", "channels")
    yield BadInput("two axes", _npy(home / "axes.npy", clip[0, ..., 0]), "one grey picture", "error", "3, 4 or 5 axes")
    yield BadInput("empty array", _npy(home / "none.npy", clip[:0]), "no frames", "error", "at least one frame")
    yield BadInput("batch", _npy(home / "batch.npy", np.stack([clip, clip])), "two clips", "error", "batch holds 2")
    ragged = np.empty(2, object)
    ragged[:] = [clip[0], clip[1][:32]]
    yield BadInput(
        "objects", _npy(home / "objects.npy", ragged, allow_pickle=True), "a pickle", "error", "npy file cannot be read"
    )
    huge = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000, 10000, 10000, 3), }"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + huge.ljust(117) + b"\n" + bytes(100)
    yield BadInput("huge npy", _bytes(home / "huge.npy", data), "states 300 TB", "error", "npy file cannot be read")
    yield BadInput("half floats", _npy(home / "half.npy", unit.astype(np.float16)), "float16", "ok", "0..1")
    pt = _bytes(home / "pickle.pt", pickle.dumps(os.getcwd))
    yield BadInput("pickle", pt, "asks for code to be run", "error", "torch|plain tensors")


def _places(home: Path) -> Iterator[BadInput]:
    clip = moving_frames()
    data = write_video(home / "plain.mp4", clip).read_bytes()
    for name in (
        "ünïcode 视频.mp4",
        "new\nline.mp4",
        "br[ack]et*?.mp4",
        "%04d.mp4",
        "file:x.mp4",
        "-dash 'quote\".mp4",
    ):
        yield BadInput(f"name {name!r}", _bytes(home / name, data), "an odd name", "ok", "")
    (home / "dangling.mp4").symlink_to(home / "nowhere.mp4")
    yield BadInput("dangling link", home / "dangling.mp4", "leads nowhere", "error", "link leads nowhere|leads out")
    (home / "loop.mp4").symlink_to(home / "loop.mp4")
    yield BadInput("link to itself", home / "loop.mp4", "a loop", "error", "link leads nowhere|cannot be opened|loop")
    outside = home.parent.parent / f".outside-{home.parent.name}.mp4"
    outside.write_bytes(data)
    (home / "outside.mp4").symlink_to(outside)
    yield BadInput("link outside", home / "outside.mp4", "leads out of the folder", "ok", "")
    secret = _bytes(home.parent.parent / f".secret-{home.parent.name}", b"root:x:0:0:root:/root:/bin/bash\n" * 9)
    for suffix, match in ((".mp4", "Not a video"), (".npy", "of another format"), (".pt", "of another format")):
        (home / f"secret{suffix}").symlink_to(secret)
        yield BadInput(f"link to no clip {suffix}", home / f"secret{suffix}", "leads to a text", "error", match)
    (home / "zero.mp4").symlink_to("/dev/zero")
    yield BadInput("link to a device", home / "zero.mp4", "leads to a device", "error", "regular file")
    for suffix in (".mp4", ".webp", ".npy", ".gif"):
        os.mkfifo(home / f"pipe{suffix}")
        yield BadInput(f"pipe {suffix}", home / f"pipe{suffix}", "not a regular file", "error", "regular file")
    piped = write_pictures(home / "piped", clip)
    os.mkfifo(piped / "0009.png")
    yield BadInput("pipe among frames", piped, "one frame is a pipe", "error", "0009.png.*[Nn]ot a regular file")
    dangling = write_pictures(home / "dangling", clip)
    (dangling / "0009.png").symlink_to(home / "nowhere.png")
    yield BadInput("dangling frame", dangling, "one frame leads nowhere", "error", "0009.png cannot be read: No such")
    linked = home / "linked"
    linked.mkdir()
    for frame in sorted(dangling.glob("000[0-3].png")):
        (linked / frame.name).symlink_to(frame)
    yield BadInput("linked frames", linked, "all frames are links", "ok", "")
    if os.geteuid() != 0:  # root reads everything
        locked = _bytes(home / "locked.mp4", data)
        locked.chmod(0)
        yield BadInput("unreadable", locked, "no permission", "error", "cannot be opened.*ermission")
    (home / "prompts.json").write_text(json.dumps([{"clip": "missing.mp4", "prompt": "a dog runs"}]))
    yield BadInput("prompt missing", _bytes(home / "unprompted.mp4", data), "no entry in the list", "ok", "")
