"""Headers that state what is not so: atoms of MP4, sizes and counts of GIF, PNG and WebP, sparse files."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from tests.bad_inputs import moving_frames, write_video
from tests.reliability.bad_clips import BadClip, put, sparse

GIB = 1 << 30
MOST = 0xFFFFFFF0
BLOCKS = b"GIF89a" + struct.pack("<HHBBB", 64, 64, 0, 0, 0) + b"\x21\xfe"
"""A GIF up to the first block of a comment."""

ATOMS: tuple[tuple[str, bytes, int, int], ...] = (
    ("sample count", b"stsz", 12, MOST),
    ("sample size", b"stsz", 8, MOST),
    ("time entries", b"stts", 8, MOST),
    ("time step", b"stts", 16, MOST),
    ("zero time step", b"stts", 16, 0),
    ("samples a step", b"stts", 12, MOST),
    ("time scale 0", b"mdhd", 16, 0),
    ("time scale 1", b"mdhd", 16, 1),
    ("time scale 4e9", b"mdhd", 16, MOST),
    ("media duration", b"mdhd", 20, 0xFFFFFFFF),
    ("movie duration", b"mvhd", 20, 0xFFFFFFFF),
    ("movie scale 0", b"mvhd", 16, 0),
    ("65535x65535", b"avc1", 28, 0xFFFFFFFF),
    ("0x0", b"avc1", 28, 0),
    ("chunk map", b"stsc", 8, 0x7FFFFFFF),
    ("samples a chunk", b"stsc", 16, 0x7FFFFFFF),
    ("chunk offset", b"stco", 12, 0x7FFFFFFF),
    ("chunk count", b"stco", 8, MOST),
    ("key frames", b"stss", 8, MOST),
    ("moov of size 0", b"moov", -4, 0),
    ("moov of 2 GiB", b"moov", -4, 0x7FFFFFFF),
    ("mdat of 2 GiB", b"mdat", -4, 0x7FFFFFFF),
    ("trak of size 1", b"trak", -4, 1),
    ("edit duration", b"elst", 12, 0x7FFFFFFF),
    ("edit start", b"elst", 16, MOST),
    ("edit count", b"elst", 8, MOST),
    ("composition offset", b"ctts", 16, 0x7FFFFFFF),
    ("handler", b"hdlr", 12, 0x736F756E),
    ("data reference", b"dref", 8, MOST),
    ("configuration", b"avcC", 4, 0),
)


def kinds(folder: Path, dense: bool) -> Iterator[BadClip]:
    """Every atom once; the large bombs and the sparse files where ``dense``."""
    yield from _atoms(folder)
    yield from _gifs(folder)
    yield from _pngs(folder)
    yield from _webps(folder)
    if dense:
        yield from _large(folder)
        yield from _sparse(folder)


def _atoms(folder: Path) -> Iterator[BadClip]:
    good = write_video(folder / "good.mp4", moving_frames(8)).read_bytes()
    for name, atom, offset, value in ATOMS:
        data = bytearray(good)
        at = data.find(atom)
        if at >= 0:
            struct.pack_into(">I", data, at + offset, value)
            yield BadClip(f"mp4 {name}", put(folder / f"{atom.decode()}-{name.replace(' ', '-')}.mp4", data))
    matrix = good.find(b"tkhd") + 4 + 4 + 20 + 16
    for degrees in (45, 90, 180, 270):
        data = bytearray(good)
        cosine, sine = (round(65536 * f(math.radians(degrees))) for f in (math.cos, math.sin))
        struct.pack_into(">9i", data, matrix, cosine, sine, 0, -sine, cosine, 0, 0, 0, 1 << 30)
        yield BadClip(f"mp4 turned by {degrees}", put(folder / f"turned-{degrees}.mp4", data))
    data = bytearray(good)
    data[matrix : matrix + 36] = bytes(36)
    yield BadClip("mp4 zero matrix", put(folder / "zero-matrix.mp4", data))


def gif(width: int, height: int, frames: int, inner: tuple[int, int] | None = None) -> bytes:
    """A GIF that states frames of a size and holds a few pixels of each."""
    data = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    inside = struct.pack("<HHHHB", 0, 0, *(inner or (width, height)), 0)
    return data + (b"\x21\xf9\x04\0\x0a\0\0\0," + inside + b"\x02\x02\x44\x01\0") * frames + b";"


def _gifs(folder: Path) -> Iterator[BadClip]:
    for kind, data in (
        ("16000x16000", gif(16000, 16000, 2)),
        ("65535x65535", gif(65535, 65535, 2)),
        ("0x0", gif(0, 0, 2)),
        ("60000x60000 frame in 8x8", gif(8, 8, 2, (60000, 60000))),
        ("extension without end", BLOCKS + b"\xff" + bytes(255)),
        ("no frames", BLOCKS[:13] + b";"),
        ("code size 255", gif(16, 16, 3).replace(b"\x02\x02\x44\x01\0", b"\xff\x02\x44\x01\0")),
    ):
        yield BadClip(f"gif {kind}", put(folder / f"{kind.replace(' ', '-')}.gif", data))


def _large(folder: Path) -> Iterator[BadClip]:
    """Bombs that take seconds to make or to read."""
    row = zlib.compress(bytes((8000 * 3 + 1) * 7999), 9)
    text = chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(600_000_000), 9))
    small = apng(64, 64, 2, zlib.compress(bytes((64 * 3 + 1) * 64)))
    for kind, suffix, data in (
        ("8000x7999, 200 frames", "gif", gif(8000, 7999, 200)),
        ("8000x7999, 5000 frames", "gif", gif(8000, 7999, 5000)),
        ("100,000 frames", "gif", gif(16, 16, 100_000)),
        ("3 million blocks", "gif", BLOCKS + b"\x01a" * 3_000_000 + b"\0;"),
        ("20 million blocks", "gif", BLOCKS + b"\x01a" * 20_000_000 + b"\0;"),
        ("8000x7999, 4 frames", "apng", apng(8000, 7999, 4, row)),
        ("8000x7999, 200 frames", "apng", apng(8000, 7999, 200, row)),
        ("zTXt bomb", "apng", small[:33] + text + small[33:]),
        ("8000x7999, 50 frames", "webp", webp(8000, 7999, 50)),
    ):
        name = kind.replace(" ", "-").replace(",", "")
        yield BadClip(f"{suffix} {kind}", put(folder / f"{name}.{suffix}", data))


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def apng(width: int, height: int, frames: int, pixels: bytes, stated: int | None = None, depth: int = 8) -> bytes:
    """An APNG whose frames all hold the same packed ``pixels``."""
    head = struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    data += chunk(b"acTL", struct.pack(">II", frames if stated is None else stated, 0))
    number = 0
    for index in range(frames):
        data += chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, 10, 100, 0, 0))
        data += chunk(b"fdAT", struct.pack(">I", number + 1) + pixels) if index else chunk(b"IDAT", pixels)
        number += 2 if index else 1
    return data + chunk(b"IEND", b"")


def _pngs(folder: Path) -> Iterator[BadClip]:
    few = zlib.compress(bytes(1000))
    whole = zlib.compress(bytes((64 * 3 + 1) * 64))
    for kind, data in (
        ("16000x16000", apng(16000, 16000, 2, few)),
        ("2^31 x 2^31", apng(2**31 - 1, 2**31 - 1, 2, few)),
        ("0x0", apng(0, 0, 2, few)),
        ("4e9 frames stated", apng(64, 64, 2, whole, stated=4_000_000_000)),
        ("no frames stated", apng(64, 64, 2, whole, stated=0)),
        ("too few pixels", apng(64, 64, 3, few)),
        ("no deflate", apng(64, 64, 3, b"x" * 100)),
        ("depth 3", apng(64, 64, 3, whole, depth=3)),
    ):
        yield BadClip(f"apng {kind}", put(folder / f"{kind.replace(' ', '-')}.apng", data))


def webp(width: int, height: int, frames: int, offset: int = 0) -> bytes:
    """A WebP whose canvas is of a size, and whose frames are of 64x64."""
    picture = BytesIO()
    Image.fromarray(moving_frames(1)[0]).save(picture, "WEBP")
    inner = picture.getvalue()[12:]
    body = b"VP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + (width - 1).to_bytes(3, "little")
    body += (height - 1).to_bytes(3, "little") + b"ANIM" + struct.pack("<I", 6) + bytes(6)
    part = offset.to_bytes(3, "little") * 2 + (63).to_bytes(3, "little") * 2 + (100).to_bytes(3, "little") + b"\0"
    frame = b"ANMF" + struct.pack("<I", len(part) + len(inner)) + part + inner + bytes(len(inner) % 2)
    body += frame * frames
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def _webps(folder: Path) -> Iterator[BadClip]:
    for kind, data in (
        ("whole", webp(64, 64, 4)),
        ("16000x16000", webp(16000, 16000, 2)),
        ("2^24 x 2^24", webp(2**24, 2**24, 2)),
        ("canvas smaller than frame", webp(8, 8, 4)),
        ("frame outside", webp(64, 64, 4, 9000)),
        ("no frames", webp(64, 64, 0)),
    ):
        yield BadClip(f"webp {kind}", put(folder / f"{kind.replace(' ', '-')}.webp", data))


def _sparse(folder: Path) -> Iterator[BadClip]:
    clip = moving_frames(2)
    heads = {"zeros.mp4": b"", "head.mp4": (folder / "good.mp4").read_bytes()[:100], "head.gif": gif(64, 64, 1)[:60]}
    heads["head.apng"] = apng(64, 64, 1, b"")[:60]
    heads["head.webp"] = webp(64, 64, 1)[:100]
    heads["head.webm"] = write_video(folder / "good.webm", clip, "libvpx").read_bytes()[:100]
    heads["head.mkv"] = write_video(folder / "good.mkv", clip, "ffv1", "bgr0").read_bytes()[:100]
    header = BytesIO()
    np.save(header, clip)
    heads["head.npy"] = header.getvalue()[:128]
    heads["head.pt"] = b"PK\x03\x04"
    heads["chunk.apng"] = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", MOST, b"teXt")
    heads["mdat.mp4"] = struct.pack(">I4s", 24, b"ftyp") + b"isom\0\0\2\0isomiso2"
    heads["mdat.mp4"] += struct.pack(">I4sQ", 1, b"mdat", 5 * GIB - 24)
    for name, head in heads.items():
        path = sparse(folder / f"sparse-{name}", head, 5 * GIB)
        whole = name in ("head.webp", "head.npy")  # what their headers state is there, and zeros behind it
        yield BadClip(f"sparse 5 GiB {name}", path, "any" if whole else "error")
