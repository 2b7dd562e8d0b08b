"""First frames of clips: pictures named by prompt, and how well clips keep them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image

from vmmetrics.errors import SetupError, VMMetricsError, explain
from vmmetrics.functional.first_frame import FirstFrame, first_frame, ssim
from vmmetrics.functional.tripwires import tripwires
from vmmetrics.types import UInt8Array
from vmmetrics.utils.display.tables import DisplayTable, Part, figure, heads
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.utils.tables import sha256_of
from vmmetrics.video import read_clip
from vmmetrics.video.discover import Source
from vmmetrics.video.pixels import picture_to_rgb

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
"""Suffixes of pictures, the preferred first."""


class GivenFrame(NamedTuple):
    """A picture that a clip is to begin with: its file, and the hash of that."""

    path: Path
    sha256: str


def find_first_frames(folder: Path, indices: Iterable[str]) -> dict[str, GivenFrame]:
    """Return the picture of each prompt, ``0003.png`` and so on.

    Raises:
        SetupError: The folder lacks some.
    """
    found, absent = {}, []
    for index in indices:
        path = next((file for suffix in SUFFIXES if (file := folder / f"{index}{suffix}").is_file()), None)
        if path is None:
            absent.append(index)
        else:
            found[index] = GivenFrame(path, sha256_of(path))
    if absent:
        names = ", ".join(f"{index}.png" for index in absent[:3])
        raise SetupError(f"{folder} lacks first frames of {len(absent)} prompts: {names}{' ...' * (len(absent) > 3)}")
    return found


def read_picture(path: Path) -> UInt8Array:
    """Return a picture as (H, W, 3) uint8 RGB.

    Raises:
        SetupError: It cannot be read.
    """
    try:
        with open_regular(path) as file, Image.open(file) as picture:
            return picture_to_rgb(picture)[0]
    except Exception as error:  # decoders raise of all kinds
        raise SetupError(f"{path}: not readable as a picture: {explain(error)}") from error


def fitted(picture: UInt8Array, frame: UInt8Array) -> UInt8Array:
    """Return a picture at the size of a frame: stretched, or with its middle cut out, whichever is nearer to the frame.

    Args:
        picture: (h, w, 3) uint8.
        frame: (H, W, 3) uint8.
    """
    high, wide = frame.shape[:2]
    scale = max(high / picture.shape[0], wide / picture.shape[1])
    size = max(wide, round(picture.shape[1] * scale)), max(high, round(picture.shape[0] * scale))
    stretched = cv2.resize(picture, (wide, high), interpolation=cv2.INTER_AREA)
    covering = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    top, left = (size[1] - high) // 2, (size[0] - wide) // 2
    both = stretched, covering[top : top + high, left : left + wide]
    likeness = [ssim(one.mean(-1), frame.mean(-1)) for one in both]
    return np.asarray(both[int(np.argmax(likeness))], np.uint8)


@dataclass(frozen=True, slots=True)
class Kept:
    """How a clip keeps its first frame, or the reason why that is not known.

    Attributes:
        clip: Its name.
        frame: Fidelity and losses, or None.
        onset: Seconds before the first motion (:data:`vmmetrics.functional.tripwires.UNITS`), or None.
        error: Reason where there are none.
    """

    clip: str
    frame: FirstFrame | None = None
    onset: float | None = None
    error: str | None = None


def measure(source: Source, pictures: Path) -> Kept:
    """Compare a clip, ``0003.mp4`` or ``0003-2.mp4``, with its picture."""
    stem = Path(source.name).stem
    try:
        indices = [stem, stem.rpartition("-")[0]]
        given = next((index for index in indices if index and _has(pictures, index)), stem)
        picture = find_first_frames(pictures, [given])[given]
        clip = read_clip(source.path)
        found = first_frame(clip.frames, fitted(read_picture(picture.path), clip.frames[0]))
        return Kept(source.name, found, tripwires(clip.frames, clip.fps).onset)
    except (VMMetricsError, ValueError) as error:
        return Kept(source.name, error=str(error))


def _has(folder: Path, index: str) -> bool:
    return any((folder / f"{index}{suffix}").is_file() for suffix in SUFFIXES)


def first_frame_parts(kept: Iterable[Kept]) -> list[Part]:
    """Return a table of clips and their means."""
    columns = heads("clip", "fidelity", "loss", "colour loss", "sharpness", "onset (s)", "error")
    shown = DisplayTable("clips", "Fidelity to the first frame", "", columns)
    rows: list[list[float]] = []
    for one in kept:
        if one.frame is None or one.onset is None:
            shown.add(one.clip, "", "", "", "", "", one.error or "")
            continue
        frame = one.frame
        rows.append([frame.fidelity, frame.loss, frame.colour_loss, frame.sharpness, one.onset])
        shown.add(one.clip, *map(figure, rows[-1]))
    if rows:
        shown.add(f"mean of {len(rows)}", *map(figure, np.mean(rows, axis=0).tolist()), reference=True)
    return [shown]
