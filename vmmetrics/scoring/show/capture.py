"""Pictures of a clip, made while its frames and perception results are in memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping

import cv2
from PIL import Image

from vmmetrics.clip import Clip
from vmmetrics.errors import explain
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.pictures import Pictures
from vmmetrics.scoring.show.findings import perceive
from vmmetrics.scoring.show.overlay import encode_overlay
from vmmetrics.types import MetricResult

POSTER_SIDE = 320
"""Pixels of the longer side at most: a tile of a gallery on a laptop."""
_QUALITY = 70


def pictures_of(
    clip: Clip, scene: Scene | None, results: Mapping[str, MetricResult]
) -> tuple[Pictures, tuple[str, ...]]:
    """Return the pictures of a scored clip, and the reasons for missing ones, which cost no score.

    Args:
        clip: The clip.
        scene: Perception results; None makes no overlay.
        results: Result by metric; abilities that none of them was scored with are not drawn.
    """
    makers: dict[str, Callable[[], bytes]] = {"poster": lambda: poster_of(clip)}
    if scene is not None:
        makers["overlay"] = lambda: encode_overlay(clip, perceive(scene, results))
    made, problems = dict[str, bytes](), list[str]()
    for name, make in makers.items():
        try:
            made[name] = make()
        except Exception as error:
            problems.append(f"no {name}: {explain(error)}")
    return Pictures(**made), tuple(problems)


def poster_of(clip: Clip) -> bytes:
    """Return the frame in the middle of a clip as WebP, at most :data:`POSTER_SIDE` pixels a side.

    The same bytes for the same frame and version of Pillow.
    """
    shrunk = min(1.0, POSTER_SIDE / max(clip.width, clip.height))
    size = (max(1, round(clip.width * shrunk)), max(1, round(clip.height * shrunk)))
    picture = cv2.resize(clip.frames[len(clip) // 2], size, interpolation=cv2.INTER_AREA)
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "WEBP", quality=_QUALITY, method=4)
    return data.getvalue()
