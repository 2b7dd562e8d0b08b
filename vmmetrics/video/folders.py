"""Clips through Pillow: GIF, APNG and animated WebP, and folders of pictures, one per frame."""

from __future__ import annotations

import io
import math
import mmap
import os
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from PIL import Image, ImageOps, UnidentifiedImageError

from vmmetrics.errors import ClipError, os_reason
from vmmetrics.types import UInt8Array
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.video.budget import MAX_ANIMATION_PIXELS, MAX_PICTURE_BYTES, check_size
from vmmetrics.video.pixels import TRANSPARENT, Frames, Limits, picture_to_rgb
from vmmetrics.video.timing import from_delays, regular

# Animations, each compared with the frames that its own bytes promise.
#
# FFmpeg refuses animated WebP and can lose GIF frames silently; Pillow stops silently at a cut. So the blocks are
# counted here first, which gives delays and completeness independently of the decoder.

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_FRAME_CHUNKS = (b"IDAT", b"fdAT")
_MAX_PNG_CHUNK = 64 * 2**20  # bytes of a chunk that holds no picture; Pillow takes no more text than that either
_GIF_EXTENSION, _GIF_IMAGE, _GIF_TRAILER, _GIF_GRAPHIC_CONTROL = 0x21, 0x2C, 0x3B, 0xF9


@dataclass(frozen=True, slots=True)
class Promise:
    """Frame delays of an animation, read from its bytes without decoding.

    Attributes:
        delays_ms: Milliseconds each frame is shown; one entry per frame.
        fault: Reason why the file is incomplete, or None.
        skip_first: True if the first picture is a still that does not belong to the animation (APNG).
    """

    delays_ms: tuple[float, ...]
    fault: str | None = None
    skip_first: bool = False


def sniff(head: bytes) -> str | None:
    """Tell ``"gif"``, ``"png"`` and ``"webp"`` from the first 16 bytes of a file; None for anything else."""
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if head.startswith(_PNG_SIGNATURE):
        return "png"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    return None


def promise_of_gif(data: mmap.mmap | bytes) -> Promise:
    """Walk the blocks of a GIF (GIF89a specification, sections 17 to 27)."""
    delays: list[float] = []
    delay = 0.0
    try:
        offset = 13 + _gif_table_bytes(data[10])
        while True:
            kind = data[offset]
            if kind == _GIF_TRAILER:
                return Promise(tuple(delays))
            if kind == _GIF_EXTENSION:
                if data[offset + 1] == _GIF_GRAPHIC_CONTROL:
                    delay = 10.0 * struct.unpack_from("<H", data, offset + 4)[0]
                offset = _skip_gif_sub_blocks(data, offset + 2)
            elif kind == _GIF_IMAGE:
                offset = _skip_gif_sub_blocks(data, offset + 11 + _gif_table_bytes(data[offset + 9]))
                delays.append(delay)
                delay = 0.0
            else:
                return Promise(tuple(delays), f"has an unknown block at byte {offset}")
    except (IndexError, struct.error):
        return Promise(tuple(delays), "ends before its trailer")


def _gif_table_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_gif_sub_blocks(data: mmap.mmap | bytes, offset: int) -> int:
    while data[offset]:
        offset += data[offset] + 1
    return offset + 1


def promise_of_png(data: mmap.mmap | bytes) -> Promise:
    """Walk the chunks of a PNG or APNG and check their sums (W3C PNG, third edition, sections 5.3 and 11.3.6)."""
    offset, stated, image_seen, skip_first = len(_PNG_SIGNATURE), 1, False, False
    delays: list[float] = []
    kind, animated, fault = b"", False, None
    try:
        while kind != b"IEND" and fault is None:
            length, kind = struct.unpack_from(">I4s", data, offset)
            most = MAX_PICTURE_BYTES if kind in _PNG_FRAME_CHUNKS else _MAX_PNG_CHUNK
            if length > most:
                fault = f"has a chunk of {length / 2**20:.0f} MiB; at most {most // 2**20} MiB are read"
                break
            (checksum,) = struct.unpack_from(">I", data, offset + 8 + length)
            with memoryview(data) as view, view[offset + 4 : offset + 8 + length] as body:
                if zlib.crc32(body) != checksum:
                    fault = f"has a damaged {kind.decode('latin-1')} chunk"
            if kind == b"acTL":
                animated, stated = True, struct.unpack_from(">I", data, offset + 8)[0]
            elif kind == b"fcTL" and fault is None:
                numerator, denominator = struct.unpack_from(">HH", data, offset + 28)
                delays.append(1000.0 * numerator / (denominator or 100))
                skip_first |= image_seen and len(delays) == 1
            image_seen |= kind == b"IDAT"
            offset += length + 12
    except struct.error:
        fault = "ends before its last chunk"
    if fault is None and not animated:
        return Promise((0.0,))
    if fault is None and len(delays) != stated:
        fault = f"holds {len(delays)} of {stated} stated frames"
    return Promise(tuple(delays), fault, skip_first)


def promise_of_webp(data: mmap.mmap | bytes) -> Promise:
    """Walk the chunks of a WebP (RFC 9649, section 2.7)."""
    delays: list[float] = []
    size = _webp_bytes(data)
    if len(data) < size:
        return Promise((), f"holds {len(data)} of {size} stated bytes")
    offset, animated, fault = 12, False, None
    while fault is None and offset + 8 <= size:
        kind, length = struct.unpack_from("<4sI", data, offset)
        if kind == bytes(4):
            fault = f"has no chunk at byte {offset}"
        animated |= kind == b"ANIM"
        if kind == b"ANMF":
            delays.append(float(int.from_bytes(data[offset + 20 : offset + 23], "little")))
        offset += 8 + length + (length & 1)
    return Promise(tuple(delays) if animated or fault else (0.0,), fault)


def _webp_bytes(data: mmap.mmap | bytes) -> int:
    """Return bytes that a WebP states it has; what follows them is not of it."""
    return int.from_bytes(data[4:8], "little") + 8


_PROMISES = {"gif": promise_of_gif, "png": promise_of_png, "webp": promise_of_webp}


def animation_frames(path: Path, kind: str, limits: Limits) -> Frames:
    """Return the frames of an animation of ``kind`` (see :func:`sniff`).

    Raises:
        ClipError: Damaged, cut short, or a still picture.
    """
    name = {"png": "APNG"}.get(kind, kind.upper())
    with open_regular(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if kind == "webp":
            size = _webp_bytes(data)
            if 2 * size > limits.max_memory:  # its decoder holds the file twice
                allowed = f"{limits.max_memory / 2**20:.0f} MiB allowed"
                raise ClipError(
                    f"The WebP of {size / 2**20:.0f} MiB takes twice as much to decode, more than the {allowed}; "
                    f"raise max_memory to {math.ceil(2 * size / 2**20)} MiB"
                )
        promise = _PROMISES[kind](data)
    if promise.fault:
        raise ClipError(f"The {name} {promise.fault} (after {len(promise.delays_ms)} frames)")
    if not promise.delays_ms:
        raise ClipError(f"Expected at least one frame but the {name} holds none")
    if len(promise.delays_ms) == 1 and kind == "png" and path.suffix.lower() != ".apng":
        raise ClipError("This is a still image, not a clip; to score a sequence of images, name the folder with them")
    count = len(promise.delays_ms)

    def damaged(number: int, error: Exception) -> ClipError:
        return ClipError(f"The {name} is damaged after {number} of {count} frames: {error}")

    def decode(notes: list[str]) -> Iterator[UInt8Array]:
        number, transparent = 0, False
        try:
            with _opened(path, name) as picture:
                for number in range(count):
                    picture.seek(number + promise.skip_first)
                    rgb, see_through = picture_to_rgb(picture)
                    transparent |= see_through
                    yield rgb
        except ClipError:
            raise
        except Exception as error:  # Pillow's decoders raise whatever the damage provokes
            raise damaged(number, error) from error
        notes += [TRANSPARENT] if transparent else []

    try:
        with _opened(path, name) as picture:
            canvas = picture.size
    except Exception as error:
        raise damaged(0, error) from error
    stated = from_delays(promise.delays_ms, limits.assume_fps)
    timing = stated if limits.fps is None else regular(count, limits.fps)
    codec = "apng" if kind == "png" else kind
    return Frames(timing, canvas, decode, codec=codec, most=MAX_ANIMATION_PIXELS)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[Image.Image]:
    """Yield the animation opened in Pillow; a WebP is cut at its stated size, as Pillow reads to the end."""
    with open_regular(path) as file:
        source: BinaryIO = file
        if name == "WEBP":
            head = file.read(8)
            source = io.BytesIO(head + file.read(_webp_bytes(head) - len(head)))
        with Image.open(source, formats=["PNG" if name == "APNG" else name]) as picture:
            yield picture


CLIP_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".webm", ".mov", ".avi", ".mkv", ".mpg", ".mpeg", ".ts", ".m2ts", ".flv", ".wmv", ".ogv", ".3gp"}
    | {".gif", ".apng", ".webp", ".npy", ".pt"}
)
"""Files in a folder that are taken for clips, whole or not; everything else in it is left alone."""
FRAME_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
"""Pictures that can be frames."""

_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP", "PPM")


def natural_key(name: str) -> tuple[tuple[int, str | int], ...]:
    """Sort key under which ``frame2`` comes before ``frame10``.

    >>> sorted(["f10.png", "f2.png", "f1.png"], key=natural_key)
    ['f1.png', 'f2.png', 'f10.png']
    """
    parts = re.split(r"([0-9]+)", name.lower())
    return tuple((1, int(part)) if part.isdecimal() else (0, part) for part in parts)


def frame_files(folder: Path) -> list[Path]:
    """Return the pictures directly in ``folder`` by their names, hidden ones and folders apart, in natural order."""
    files = [p for p in folder.iterdir() if p.suffix.lower() in FRAME_SUFFIXES and not p.name.startswith(".")]
    return sorted((p for p in files if not p.is_dir()), key=lambda p: (natural_key(p.name), p.name))


def check_inside(path: Path, root: Path) -> None:
    """Refuse a path that leads out of ``root``.

    Raises:
        ClipError: It does.
    """
    if not path.resolve().is_relative_to(root.resolve()):
        kind = "symlink" if path.is_symlink() else "file"
        raise ClipError(
            f"The {kind} {path.name} leads out of the folder given, {root}; copy its target there, or allow symlinks"
        )


def frames_of(folder: Path, root: Path | None = None) -> list[Path]:
    """List the frames of a folder; symlinks are followed, but not out of ``root`` where one is given.

    Raises:
        ClipError: There is none, or one lies outside ``root``.
    """
    files = frame_files(folder)
    if not files:
        raise ClipError("The folder holds no pictures that could be frames")
    if root is not None:
        for file in files:
            check_inside(file, root)
    return files


@contextmanager
def opened_picture(path: Path) -> Iterator[Image.Image]:
    """Yield a picture as stored; its errors become a ClipError with its name."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > MAX_PICTURE_BYTES:  # Pillow holds a whole WebP
                raise ClipError(f"Frame {path.name} has more than {MAX_PICTURE_BYTES // 2**20} MiB; compress it")
            with Image.open(file, formats=_FORMATS) as stored:
                check_size(*stored.size)
                yield stored
    except ClipError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever the damage provokes
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        if isinstance(error, UnidentifiedImageError):
            reason = f"it is not a {', '.join(_FORMATS)} image"
        raise ClipError(f"Frame {path.name} cannot be read: {reason}") from error


def folder_frames(folder: Path, limits: Limits, root: Path | None = None) -> Frames:
    """Return the pictures of a folder as frames, in natural order of their names.

    Raises:
        ClipError: There is none, or one lies outside ``root``; the first is damaged. While decoding: a picture is
            damaged, or sizes differ.
    """
    files = frames_of(folder, root)
    with opened_picture(files[0]) as stored:
        codec = stored.format and stored.format.lower()
        size = ImageOps.exif_transpose(stored).size

    def decode(notes: list[str]) -> Iterator[UInt8Array]:
        transparent, floats = False, False
        for file in files:
            with opened_picture(file) as stored:
                picture = ImageOps.exif_transpose(stored)
                if picture.size != size:
                    raise ClipError(
                        f"Expected frames of one size but {files[0].name} is {size[0]}x{size[1]} and "
                        f"{file.name} is {picture.size[0]}x{picture.size[1]}"
                    )
                rgb, see_through = picture_to_rgb(picture)
            transparent |= see_through
            floats |= picture.mode == "F"
            yield rgb
        notes += [TRANSPARENT] * transparent + ["floats taken as 0..1"] * floats

    others = sum(p.suffix.lower() not in FRAME_SUFFIXES and not p.name.startswith(".") for p in folder.iterdir())
    ignored = (f"{others} other file{'s' * (others > 1)} in the folder ignored",) if others else ()
    return Frames(limits.regular(len(files)), size, decode, ignored, codec)
