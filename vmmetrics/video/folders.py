"""A clip stored as a folder of pictures, one per frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps

from vmmetrics.errors import ClipError
from vmmetrics.video.budget import FrameStore, check_size, make_plan
from vmmetrics.video.decoded import Decoded, Limits
from vmmetrics.video.pixels import picture_to_rgb
from vmmetrics.video.timing import assumed, regular

FRAME_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
"""Pictures that can be frames."""

_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP", "PPM")


def natural_key(name: str) -> tuple[tuple[int, str | int], ...]:
    """Sort key under which ``frame2`` comes before ``frame10``.

    >>> sorted(["f10.png", "f2.png", "f1.png"], key=natural_key)
    ['f1.png', 'f2.png', 'f10.png']
    """
    parts = re.split(r"([0-9]+)", name.lower())
    return tuple((1, int(part)) if part.isdigit() else (0, part) for part in parts)


def frame_files(folder: Path) -> list[Path]:
    """The pictures directly in ``folder``, hidden ones apart, in natural order."""
    files = [p for p in folder.iterdir() if p.suffix.lower() in FRAME_SUFFIXES and not p.name.startswith(".")]
    return sorted((p for p in files if not p.is_dir()), key=lambda p: (natural_key(p.name), p.name))


def read_folder(folder: Path, limits: Limits) -> Decoded:
    """Read the pictures of a folder as frames, in natural order of their names.

    Raises:
        ClipError: No pictures, one that is damaged or lies outside the folder, or sizes that differ.
    """
    files = frame_files(folder)
    if not files:
        raise ClipError("The folder holds no pictures that could be frames")
    with _opened(files[0], folder) as first:
        size = first.size
    plan = make_plan(len(files), *size, limits.max_memory)
    store, transparent, floats = FrameStore(plan), False, False
    for file in files:
        with _opened(file, folder) as picture:
            if picture.size != size:
                raise ClipError(
                    f"Expected frames of one size but {files[0].name} is {size[0]}x{size[1]} and "
                    f"{file.name} is {picture.size[0]}x{picture.size[1]}"
                )
            rgb, see_through = picture_to_rgb(picture)
        transparent |= see_through
        floats |= picture.mode == "F"
        store.add(rgb)
    others = [p for p in folder.iterdir() if p.suffix.lower() not in FRAME_SUFFIXES and not p.name.startswith(".")]
    notes = [f"{len(others)} other file{'s' * (len(others) > 1)} in the folder ignored"] if others else []
    if plan.note:
        notes.append(plan.note)
    if transparent:
        notes.append("transparent pixels put on white")
    if floats:
        notes.append("floats taken as 0..1")
    count = len(store)
    timing = assumed(count, limits.assume_fps) if limits.fps is None else regular(count, limits.fps)
    return Decoded(store.frames, timing, size, tuple(notes))


@contextmanager
def _opened(file: Path, folder: Path) -> Iterator[Image.Image]:
    """One picture, turned upright; whatever is wrong with it becomes a ClipError that names it."""
    if not file.resolve().is_relative_to(folder.resolve()):
        raise ClipError(f"Frame {file.name} is a link that leads out of the folder")
    try:
        with Image.open(file, formats=_FORMATS) as stored:
            check_size(*stored.size)
            yield ImageOps.exif_transpose(stored)
    except ClipError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever the damage provokes
        raise ClipError(f"Frame {file.name} cannot be read: {error}") from error
