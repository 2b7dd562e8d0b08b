"""How well clips keep the pictures that they were to begin with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from vmmetrics.errors import VMMetricsError
from vmmetrics.functional.first_frame import FirstFrame, first_frame, ssim
from vmmetrics.functional.tripwires import tripwires
from vmmetrics.types import UInt8Array
from vmmetrics.utils.display.tables import DisplayTable, Part, figure, heads
from vmmetrics.video import read_clip
from vmmetrics.video.discover import Source
from vmmetrics.video.first_frames import first_frame_file, read_picture


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
        files = (first_frame_file(pictures, index) for index in (stem, stem.rpartition("-")[0]) if index)
        file = next(filter(None, files), None)
        if file is None:
            return Kept(source.name, error=f"{pictures} lacks its first frame, {stem}.png")
        clip = read_clip(source.path)
        found = first_frame(clip.frames, fitted(read_picture(file), clip.frames[0]))
        return Kept(source.name, found, tripwires(clip.frames, clip.fps).onset)
    except (VMMetricsError, ValueError) as error:
        return Kept(source.name, error=str(error))


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
