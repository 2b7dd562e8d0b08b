"""A clip stored as a folder of pictures, one per frame."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from vmmetrics.errors import ClipError, os_reason
from vmmetrics.video.budget import MAX_PICTURE_BYTES, FrameStore, check_size, make_plan
from vmmetrics.video.containers import open_regular
from vmmetrics.video.pixels import Decoded, Limits, picture_to_rgb
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
    return tuple((1, int(part)) if part.isdecimal() else (0, part) for part in parts)


def frame_files(folder: Path) -> list[Path]:
    """The pictures directly in ``folder`` by their names, hidden ones and folders apart, in natural order."""
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


def check_headers(folder: Path, root: Path | None = None) -> None:
    """Read the header of every frame of a folder.

    Raises:
        ClipError: As :func:`frames_of`; or one is no picture or no regular file.
    """
    for file in frames_of(folder, root):
        with _opened(file):
            pass


def read_folder(folder: Path, limits: Limits, root: Path | None = None) -> Decoded:
    """Read the pictures of a folder as frames, in natural order of their names.

    Raises:
        ClipError: As :func:`check_headers`; or a picture is damaged, or sizes differ.
    """
    files = frames_of(folder, root)
    with _upright(files[0]) as first:
        size = first.size
    plan = make_plan(len(files), *size, limits.max_memory)
    store, transparent, floats = FrameStore(plan), False, False
    for file in files:
        with _upright(file) as picture:
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
def _upright(path: Path) -> Iterator[Image.Image]:
    """One picture, turned upright; errors as for :func:`_opened`."""
    with _opened(path) as stored:
        yield ImageOps.exif_transpose(stored)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """One picture as it is stored; whatever is wrong with it becomes a ClipError that names it."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > MAX_PICTURE_BYTES:  # Pillow holds a whole WebP
                raise ClipError(f"Frame {path.name} has more than {MAX_PICTURE_BYTES // 2**20} MiB; compress it")
            with Image.open(file, formats=_FORMATS) as stored:
                check_size(*stored.size)
                yield stored
    except ClipError:
        raise
    except UnidentifiedImageError as error:
        raise ClipError(f"Frame {path.name} cannot be read: it is no {', '.join(_FORMATS)} picture") from error
    except OSError as error:
        raise ClipError(f"Frame {path.name} cannot be read: {os_reason(error)}") from error
    except Exception as error:  # Pillow's decoders raise whatever the damage provokes
        raise ClipError(f"Frame {path.name} cannot be read: {error}") from error
