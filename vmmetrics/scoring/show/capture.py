"""Pictures of a clip, made while its frames and perception results are in memory: whole, or window by window."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from PIL import Image

from vmmetrics.clip import Clip
from vmmetrics.errors import explain
from vmmetrics.functional.tripwires import TripwireMeter, Tripwires
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.pictures import Pictures, packed
from vmmetrics.scoring.show.findings import perceive
from vmmetrics.scoring.show.overlay import MOST_OBJECTS, encode_overlay, overlay_of
from vmmetrics.types import MetricResult
from vmmetrics.video.windows import Window

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


TRACKED_FRAMES = 1500
"""Frames of a clip up to which tracks and skeletons are kept: each has a place in every frame, each window its own."""
_NO_MOTION = [1, 0, 0, 0, 1, 0, 0, 0, 1]


class Album:
    """Collects poster, overlay and tripwires of a clip from its windows.

    Args:
        num_frames: Frames of the whole clip.
        fps: Their rate.
        overlay: True to keep masks of the first :data:`MOST_OBJECTS` objects, tracks and skeletons in clips
            of up to :data:`TRACKED_FRAMES` frames, and the camera for drawing.
        wires: True to measure tripwires.
    """

    def __init__(self, num_frames: int, fps: float, overlay: bool | None, wires: bool) -> None:
        self._num_frames, self._fps = num_frames, fps
        self._overlay: dict[str, Any] | None = {} if overlay else None
        self._meter = TripwireMeter() if wires else None
        self._poster = b""
        self._numbered = 0
        self._problems: list[str] = []

    def add(self, window: Window, scene: Scene, scores: Any, numbered: int) -> None:
        """Take a window in (:data:`vmmetrics.scoring.windows.Seen`); what fails costs a picture and no score."""
        clip = window.clip
        if self._meter is not None:
            self._meter.add(clip.frames)
        middle = self._num_frames // 2 - window.first
        try:
            if 0 <= middle < len(clip):
                frame = replace(clip, frames=clip.frames[middle : middle + 1], timestamps=np.zeros(1))
                self._poster = poster_of(frame)
            if self._overlay is not None:
                part = overlay_of(clip, perceive(scene, scores.results))
                _join(self._overlay, part, window.first, self._num_frames, numbered)
        except Exception as error:
            self._problems.append(f"no pictures of {window.text}: {explain(error)}")
            self._overlay = None

    def close(self) -> tuple[Pictures, tuple[str, ...], Tripwires | None]:
        """Return the pictures, the reasons for missing ones, and the tripwires if they were asked for."""
        overlay = packed(self._overlay) if self._overlay else b""
        wires = None if self._meter is None else self._meter.tripwires(self._fps)
        return Pictures(self._poster, overlay), tuple(self._problems), wires


def _join(overlay: dict[str, Any], part: dict[str, Any], first: int, num_frames: int, numbered: int) -> None:
    """Add the overlay of a window, whose objects follow ``numbered`` others."""
    stop = first + part["frames"]
    rest = num_frames - stop
    for name in ("format", "size", "map", "scale"):
        if name in part:
            overlay.setdefault(name, part[name])
    overlay["frames"] = num_frames

    for name, key, most in (("objects", "id", num_frames), ("tracks", "object", TRACKED_FRAMES)):
        if name in part:
            kept = [item for item in part[name] if item[key] + numbered <= MOST_OBJECTS]
            part[name] = kept if num_frames <= most else []
    for item in part.get("objects", ()):
        for name in ("present", "occluded", "left"):
            item[name] = item[name] and _marks(item[name], first, rest)
        item["outlines"] = [[]] * first + item["outlines"] + [[]] * rest
        item["id"] += numbered
    for tracks in part.get("tracks", ()):
        tracks["object"] += numbered
        tracks["query_frames"] = [frame + first for frame in tracks["query_frames"]]
        tracks["visible"] = [_marks(text, first, rest) for text in tracks["visible"]]
        # a point, then steps, here with 0 before and after
        tracks["xy"] = [[*xy[:2], *[0, 0] * first, *xy[2:], *[0, 0] * rest] for xy in tracks["xy"]]
    if num_frames > TRACKED_FRAMES:  # each has a place in every frame, and each window has people
        part.pop("people", None)
    for person in part.get("people", ()):
        person["frames"] = [None] * first + person["frames"] + [None] * rest
    for name in ("objects", "tracks", "people"):
        if name in part:
            overlay[name] = [*overlay.get(name, ()), *part[name]]
    if "camera" in part:  # between windows, and in those without one, it is unknown
        whole = overlay.setdefault("camera", {"kinds": [], "homographies": [], "inliers": []})
        between = first - len(whole["kinds"])
        for name, unknown in (("kinds", "unknown"), ("homographies", _NO_MOTION), ("inliers", 0.0)):
            whole[name] += [unknown] * between + part["camera"][name]


def _marks(text: str, first: int, rest: int) -> str:
    return "0" * first + text + "0" * rest
