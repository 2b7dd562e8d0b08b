"""How well clips keep the pictures that they were to begin with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from vmmetrics.errors import VMMetricsError
from vmmetrics.functional.first_frame import LEAST_SIDE, FirstFrame, first_frame, ssim
from vmmetrics.functional.tripwires import tripwires
from vmmetrics.types import UInt8Array
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Part, figure, heads
from vmmetrics.utils.statistics.bootstrap import mean_of_defined
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
    rows, columns = picture.shape[:2]
    of_rows, of_columns = min(rows, round(columns * high / wide)), min(columns, round(rows * wide / high))
    top, left = (rows - of_rows) // 2, (columns - of_columns) // 2
    middle = picture[top : top + max(1, of_rows), left : left + max(1, of_columns)]
    both = [cv2.resize(part, (wide, high), interpolation=cv2.INTER_AREA) for part in (picture, middle)]
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
        if min(clip.width, clip.height) < LEAST_SIDE:
            return Kept(source.name, error=f"frames of {clip.width}x{clip.height}: under {LEAST_SIDE} pixels a side")
        found = first_frame(clip.frames, fitted(read_picture(file), clip.frames[0]))
        return Kept(source.name, found, tripwires(clip.frames, clip.fps).onset)
    except (VMMetricsError, ValueError) as error:
        return Kept(source.name, error=str(error))


def first_frame_parts(kept: Iterable[Kept]) -> list[Part]:
    """Return a table of clips and their means."""
    columns = heads("clip", "fidelity", "loss", "colour loss", "sharpness kept", "onset (s)", "error")
    shown = DisplayTable("clips", "Fidelity to the first frame", "", columns)
    rows: list[list[float]] = []
    for one in kept:
        if one.frame is None or one.onset is None:
            shown.add(one.clip, "", "", "", "", "", one.error or "")
            continue
        frame = one.frame
        rows.append([frame.fidelity, frame.loss, frame.colour_loss, frame.sharpness, one.onset])
        shown.add(one.clip, *map(_shown, rows[-1]))
    if rows:
        means = mean_of_defined(np.array(rows), axis=0).tolist()
        shown.add(f"mean of {len(rows)}", *map(_shown, means), reference=True)
    return [shown]


def _shown(value: float) -> DisplayCell:
    return figure(None, why="the first frame is flat") if np.isnan(value) else figure(value)
