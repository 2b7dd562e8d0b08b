"""One small picture of a clip, made while its frames are at hand: lists and galleries show it without the clip."""

from __future__ import annotations

import io

import cv2
from PIL import Image

from vmmetrics.clip import Clip

POSTER_SIDE = 320
"""Pixels of the longer side at most: two of three columns of a gallery on a laptop."""
_QUALITY = 70


def poster_of(clip: Clip) -> bytes:
    """Return the frame in the middle of a clip as WebP, at most :data:`POSTER_SIDE` pixels a side.

    Some 4 to 12 KB; the same bytes for the same frame and version of Pillow.
    """
    shrunk = min(1.0, POSTER_SIDE / max(clip.width, clip.height))
    size = (max(1, round(clip.width * shrunk)), max(1, round(clip.height * shrunk)))
    picture = cv2.resize(clip.frames[len(clip) // 2], size, interpolation=cv2.INTER_AREA)
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "WEBP", quality=_QUALITY, method=4)
    return data.getvalue()
