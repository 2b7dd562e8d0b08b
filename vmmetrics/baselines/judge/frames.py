"""What the judge sees: frames evenly spread over time, as JPEG."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.clip import Clip


@dataclass(frozen=True, slots=True)
class Shown:
    """The frames a judge is shown.

    Attributes:
        times: Seconds of each.
        pictures: JPEG of each.
    """

    times: tuple[float, ...]
    pictures: tuple[bytes, ...]


def show(clip: Clip, count: int, side: int) -> Shown:
    """Take frames of a clip.

    Args:
        clip: The clip.
        count: How many, at equal distances in time from the first to the last; fewer where the clip has fewer.
        side: Longer side in pixels; larger frames are made smaller.
    """
    wanted = np.linspace(0, clip.timestamps[-1], count)
    places = np.unique(np.abs(clip.timestamps[:, None] - wanted).argmin(axis=0))
    factor = min(1.0, side / max(clip.width, clip.height))
    size = max(1, round(clip.width * factor)), max(1, round(clip.height * factor))
    pictures = []
    for place in places:
        small = cv2.resize(clip.frames[place], size, interpolation=cv2.INTER_AREA)
        written, data = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 92])
        assert written  # noqa: S101  (an uint8 picture can always be written)
        pictures.append(data.tobytes())
    return Shown(tuple(float(clip.timestamps[place]) for place in places), tuple(pictures))
