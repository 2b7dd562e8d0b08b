"""Odd animations and folders of frames."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from tests.bad_inputs import moving_frames, write_animation
from tests.reliability.bad_clips import BadClip, attempt, put
from tests.reliability.bad_headers import apng


def kinds(folder: Path, _dense: bool) -> Iterator[BadClip]:
    """Every animation and folder once."""
    for width, height in ((1, 1), (65535, 1), (1, 65535), (3, 5)):
        clip = np.stack([np.full((height, width, 3), 40 * number, np.uint8) for number in range(3)])
        for suffix in ("gif", "apng", "webp"):
            path = folder / f"size-{width}x{height}.{suffix}"
            options = {"format": "PNG"} if suffix == "apng" else {}
            if attempt(write_animation, path, clip, duration=100, **options):
                yield BadClip(f"{suffix} of {width}x{height}", path)
    clip = moving_frames(6)
    for name, duration in (("0", 0), ("1", 1), ("60000", 60000), ("uneven", [10, 500, 10, 500, 10, 500])):
        path = folder / f"delay-{name}.gif"
        if attempt(write_animation, path, clip, duration=duration):
            yield BadClip(f"gif with delay {name}", path)
    for suffix in ("gif", "webp"):
        path = folder / f"still.{suffix}"
        Image.fromarray(clip[0]).save(path)
        yield BadClip(f"still {suffix}", path)
    yield from _folders(folder)


def _folders(folder: Path) -> Iterator[BadClip]:
    pictures = [Image.fromarray(frame) for frame in moving_frames(4)]
    for mode, suffix in (
        ("CMYK", "jpg"),
        ("L", "png"),
        ("RGBA", "png"),
        ("P", "png"),
        ("1", "png"),
        ("LAB", "tif"),
        ("I;16", "png"),
        ("RGB", "bmp"),
    ):
        made = [_grey16(p) if mode == "I;16" else p.convert(mode) for p in pictures]
        name = f"frames-{mode.replace(';', '')}-{suffix}"
        yield BadClip(f"frames {mode} {suffix}", _save(folder / name, suffix, made))
    floats = [Image.fromarray(np.where(np.asarray(p)[..., 0] > 127, np.nan, 1).astype(np.float32)) for p in pictures]
    yield BadClip("frames of NaN in TIFF", _save(folder / "frames-nan", "tif", floats), "error")
    unit = [Image.fromarray(np.asarray(p)[..., 0].astype(np.float32) / 255) for p in pictures]
    yield BadClip("frames of floats in TIFF", _save(folder / "frames-float", "tif", unit))
    mixed = _save(folder / "frames-mixed", "png", [pictures[0], pictures[1].resize((32, 32)), pictures[2]])
    yield BadClip("frames of two sizes", mixed, "error")
    for name, data in {
        "cut": _png(pictures[1])[:200],
        "empty": b"",
        "text": b"<html>",
        "bomb": apng(50000, 50000, 1, b"x"),
        "EPS": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n",
    }.items():
        home = _save(folder / f"frames-one-{name}", "png", [pictures[0], pictures[1], pictures[2]])
        put(home / "001.png", data)
        yield BadClip(f"frames, one {name}", home, "error")
    exif = Image.Exif()
    exif[0x0112] = 6
    home = folder / "frames-exif"
    home.mkdir()
    for number, picture in enumerate(pictures):
        picture.save(home / f"{number}.jpg", exif=exif)
    yield BadClip("frames turned by EXIF", home)
    yield BadClip("one frame", _save(folder / "frames-single", "png", pictures[:1]))
    home = folder / "frames-gaps"
    home.mkdir()
    for number, picture in zip((1, 5, 900, 10**9), pictures, strict=True):
        picture.save(home / f"{number}.png")
    yield BadClip("frames with gaps", home)
    home = folder / "frames-200-digits"
    home.mkdir()
    for number, picture in enumerate(pictures):
        picture.save(home / f"{'9' * 200}{number}.png")
    yield BadClip("frames of 200 digits", home)
    home = _save(folder / "frames-in.mp4", "png", pictures)
    yield BadClip("frames in a folder named .mp4", home, "ok")
    for name in ("empty.mp4", "empty"):
        (folder / name).mkdir()
        yield BadClip(f"folder {name}", folder / name, "error")
    home = folder / "text.mp4"
    home.mkdir()
    put(home / "a.txt", b"x")
    yield BadClip("folder of text named .mp4", home, "error")


def _save(home: Path, suffix: str, pictures: list[Image.Image]) -> Path:
    home.mkdir()
    for number, picture in enumerate(pictures):
        picture.save(home / f"{number:03}.{suffix}")
    return home


def _grey16(picture: Image.Image) -> Image.Image:
    return Image.fromarray(np.asarray(picture)[..., 0].astype(np.uint16) * 257)


def _png(picture: Image.Image) -> bytes:
    data = BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()
