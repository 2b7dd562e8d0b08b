"""One frame with what the models saw in it, and what cost points there."""

from __future__ import annotations

import itertools

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vmmetrics.clip import Clip
from vmmetrics.perception.protocols import Objects, PointTracks, Poses
from vmmetrics.report.findings import Findings, Perceived
from vmmetrics.report.style import FAULT, OBJECTS, PAPER, Colour, face, legible, text_width
from vmmetrics.types import Event

Picture = NDArray[np.uint8]

MASK_OPACITY = 0.28
TRAIL_FRAMES = 10
"""Length of a trail: longer ones hide the picture."""
TRAILS_PER_OBJECT = 36
LEAST_SCORE = 0.3
"""Joints below it are not drawn: the pose model does not stand by them."""

# Pairs of COCO joints, left limbs, right limbs, then trunk and head.
_LEFT = ((5, 7), (7, 9), (11, 13), (13, 15))
_RIGHT = ((6, 8), (8, 10), (12, 14), (14, 16))
_TRUNK = ((5, 6), (5, 11), (6, 12), (11, 12), (0, 1), (0, 2), (1, 3), (2, 4))
_SIDES: tuple[tuple[tuple[tuple[int, int], ...], Colour], ...] = (
    (_TRUNK, (245, 245, 245)), (_LEFT, (64, 200, 255)), (_RIGHT, (255, 176, 64)),
)  # fmt: skip
_FAR = 10_000  # pixels
_SHIFT = 4  # OpenCV takes fixed-point coordinates with this many bits behind the point


def draw_frame(clip: Clip, frame: int, findings: Findings, perceived: Perceived, size: tuple[int, int]) -> Picture:
    """Draw a frame.

    Args:
        clip: The clip.
        frame: Which frame.
        findings: What cost points.
        perceived: What the models saw.
        size: (width, height) of the picture.

    Returns:
        (height, width, 3) uint8 RGB.
    """
    enlarging = size[0] > clip.width
    picture = cv2.resize(clip.frames[frame], size, interpolation=cv2.INTER_CUBIC if enlarging else cv2.INTER_AREA)
    scale = (size[0] / clip.width, size[1] / clip.height)
    if perceived.objects is not None:
        picture = _masks(picture, frame, perceived.objects)
        for number, tracks in perceived.tracks.items():
            _trails(picture, frame, tracks, OBJECTS[(number - 1) % len(OBJECTS)], scale)
    if perceived.poses is not None:
        _skeletons(picture, frame, perceived.poses, scale)
    return _boxes(picture, [e for e in findings.faults if frame in e.frames], scale)


def _masks(picture: Picture, frame: int, objects: Objects) -> Picture:
    size = (picture.shape[1], picture.shape[0])
    for item in objects.objects:
        mask = (objects.labels[frame] == item.id).astype(np.uint8)
        if not mask.any():
            continue
        colour = OBJECTS[(item.id - 1) % len(OBJECTS)]
        large = cv2.resize(mask * 255, size, interpolation=cv2.INTER_LINEAR) > 127
        tinted = picture[large] * (1 - MASK_OPACITY) + np.array(colour) * MASK_OPACITY
        picture[large] = tinted.astype(np.uint8)
        outline, _ = cv2.findContours(large.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(picture, outline, -1, colour, 2, cv2.LINE_AA)
    return picture


def _trails(picture: Picture, frame: int, tracks: PointTracks, colour: Colour, scale: tuple[float, float]) -> None:
    chosen = np.linspace(0, tracks.xy.shape[1] - 1, min(TRAILS_PER_OBJECT, tracks.xy.shape[1])).astype(int)
    start = max(0, frame - TRAIL_FRAMES)
    points = _fixed(tracks.xy[start : frame + 1, chosen], scale)
    visible = tracks.visible[start : frame + 1][:, chosen]
    for step in range(len(points) - 1):
        fade = (step + 1) / max(1, len(points) - 1)
        shade = tuple(int(c * fade + 255 * (1 - fade)) for c in colour)
        for point in np.flatnonzero(visible[step] & visible[step + 1]):
            _line(picture, points[step, point], points[step + 1, point], shade, 1)
    for point in np.flatnonzero(visible[-1]):
        cv2.circle(picture, points[-1, point].tolist(), 2 << _SHIFT, colour, -1, cv2.LINE_AA, _SHIFT)
        cv2.circle(picture, points[-1, point].tolist(), 2 << _SHIFT, PAPER, 1, cv2.LINE_AA, _SHIFT)


def _skeletons(picture: Picture, frame: int, poses: Poses, scale: tuple[float, float]) -> None:
    for person in range(poses.keypoints.shape[1]):
        joints, scores = poses.keypoints[frame, person], poses.scores[frame, person]
        known = np.isfinite(joints).all(axis=-1) & (scores >= LEAST_SCORE)
        fixed = _fixed(np.nan_to_num(joints), scale)
        tall = float(np.ptp(joints[known, 1])) * scale[1] if known.any() else 0.0
        width = int(np.clip(tall / 60, 1, 5))
        for bones, colour in _SIDES:
            for a, b in bones:
                if known[a] and known[b]:
                    _line(picture, fixed[a], fixed[b], (20, 20, 20), width + 2)
                    _line(picture, fixed[a], fixed[b], colour, width)
        for joint in np.flatnonzero(known):
            cv2.circle(picture, fixed[joint].tolist(), (width + 1) << _SHIFT, (20, 20, 20), -1, cv2.LINE_AA, _SHIFT)
            cv2.circle(picture, fixed[joint].tolist(), width << _SHIFT, PAPER, -1, cv2.LINE_AA, _SHIFT)


def _boxes(picture: Picture, events: list[Event], scale: tuple[float, float]) -> Picture:
    """Frame what is at fault in red with its name; a fault of the whole frame gets the picture's rim."""
    if not events:
        return picture
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    width, height = image.size
    size = max(12, min(20, width // 32))
    whole = [event for event in events if event.box is None]
    if whole:
        draw.rectangle((0, 0, width - 1, height - 1), outline=FAULT, width=4)
    rim = (0.0, 0.0, float(width), float(height))
    labelled: list[tuple[float, float]] = []
    grouped = itertools.groupby(sorted(events, key=_place), key=_place)
    for box, group in grouped:
        text = ", ".join(dict.fromkeys(_name(event) for event in group))
        x0, y0, x1, y1 = _scaled(box, scale) if box else rim
        if box:
            draw.rectangle((x0, y0, max(x0 + 1, x1), max(y0 + 1, y1)), outline=FAULT, width=3)
        top = y0 - size - 6 if box and y0 > size + 6 else y0
        top = _free_row(top, x0, labelled, size + 7, height)
        left = min(max(0.0, x0), max(0.0, width - text_width(text, size) - 10))
        labelled.append((left, top))
        draw.rectangle((left, top, left + text_width(text, size) + 10, top + size + 6), fill=FAULT)
        draw.text((left + 5, top + 2), legible(text, size), font=face(size).font, fill=PAPER)
    return np.asarray(image).copy()


def _place(event: Event) -> tuple[float, ...]:
    return event.box or ()


def _name(event: Event) -> str:
    return (
        f"{event.metric.upper()} {event.target}: {event.reason}"
        if event.target
        else f"{event.metric.upper()} {event.reason}"
    )


def _free_row(top: float, left: float, taken: list[tuple[float, float]], step: float, height: int) -> float:
    """The first row from ``top`` downwards on which no other label lies near."""
    while any(abs(top - y) < step and abs(left - x) < 400 for x, y in taken) and top + 2 * step < height:
        top += step
    return max(0.0, top)


def _scaled(box: tuple[float, ...], scale: tuple[float, float]) -> tuple[float, float, float, float]:
    """A box in picture pixels; far-off sides are held near the picture, whose drawing would take minutes."""
    x0, y0, x1, y1 = np.clip(np.array(box) * np.tile(scale, 2), -_FAR, _FAR).tolist()
    return (x0, y0, x1, y1)


def _fixed(xy: NDArray[np.floating], scale: tuple[float, float]) -> NDArray[np.int32]:
    """Clip pixels (centres at integers) as fixed-point picture pixels; far-off points are held near the picture."""
    moved = (xy + 0.5) * np.array(scale) - 0.5
    fixed: NDArray[np.int32] = np.rint(np.clip(moved, -_FAR, _FAR) * (1 << _SHIFT)).astype(np.int32)
    return fixed


def _line(picture: Picture, a: NDArray[np.int32], b: NDArray[np.int32], colour: tuple[int, ...], width: int) -> None:
    cv2.line(picture, a.tolist(), b.tolist(), colour, width, cv2.LINE_AA, _SHIFT)
