"""One-page picture of a clip: scores, key frames, curves, and a list of the events."""

from __future__ import annotations

import itertools

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vmmetrics.clip import Clip
from vmmetrics.metrics.registry import colour_of, label
from vmmetrics.perception.scene import Objects, PointTracks, Poses
from vmmetrics.scoring.anchors import INDEX, rounded
from vmmetrics.scoring.show.findings import Findings, Perceived
from vmmetrics.scoring.show.plot import draw_plot, strips_of
from vmmetrics.types import Event
from vmmetrics.utils.display import style
from vmmetrics.utils.display.style import FAULT, INK, MUTED, OBJECTS, PAPER, RULE, Colour, write

# One frame with what the models saw in it, and what cost points there.

Picture = NDArray[np.uint8]

MASK_OPACITY = 0.28
TRAIL_FRAMES = 10
"""Length of a trail: longer ones hide the picture."""
TRAILS_PER_OBJECT = 36
LEAST_SCORE = 0.3
"""Confidence (0..1) below which joints are not drawn."""

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
        frame: Index of the frame.
        findings: Results of the clip.
        perceived: Perception results.
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
        visible = np.isfinite(joints).all(axis=-1) & (scores >= LEAST_SCORE)
        fixed = _fixed(np.nan_to_num(joints), scale)
        tall = float(np.ptp(joints[visible, 1])) * scale[1] if visible.any() else 0.0
        width = int(np.clip(tall / 60, 1, 5))
        for bones, colour in _SIDES:
            for a, b in bones:
                if visible[a] and visible[b]:
                    _line(picture, fixed[a], fixed[b], (20, 20, 20), width + 2)
                    _line(picture, fixed[a], fixed[b], colour, width)
        for joint in np.flatnonzero(visible):
            cv2.circle(picture, fixed[joint].tolist(), (width + 1) << _SHIFT, (20, 20, 20), -1, cv2.LINE_AA, _SHIFT)
            cv2.circle(picture, fixed[joint].tolist(), width << _SHIFT, PAPER, -1, cv2.LINE_AA, _SHIFT)


def _boxes(picture: Picture, events: list[Event], scale: tuple[float, float]) -> Picture:
    """Draw a red box with a label around each fault; a fault of the whole frame gets the picture's rim."""
    if not events:
        return picture
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    width, height = image.size
    size = max(12, min(20, width // 32))
    if any(event.box is None for event in events):
        draw.rectangle((0, 0, width - 1, height - 1), outline=FAULT, width=4)
    rim = (0.0, 0.0, float(width), float(height))
    labelled: list[tuple[float, float]] = []
    for x0, y0, x1, y1 in (_scaled(event.box, scale) for event in events if event.box):
        draw.rectangle((x0, y0, max(x0 + 1, x1), max(y0 + 1, y1)), outline=FAULT, width=3)
    for box, group in itertools.groupby(sorted(events, key=_box_of), key=_box_of):  # no box crosses a label
        names = (f"{label(e.metric)} {e.target + ': ' if e.target else ''}{e.reason}" for e in group)
        text = ", ".join(dict.fromkeys(names))
        x0, y0, _, _ = _scaled(box, scale) if box else rim
        top = y0 - size - 6 if box and y0 > size + 6 else y0
        step = size + 7
        while any(abs(top - y) < step and abs(x0 - x) < 400 for x, y in labelled) and top + 2 * step < height:
            top += step  # to the first row on which no other label lies near
        top = max(0.0, top)
        left = min(max(0.0, x0), max(0.0, width - style.text_width(text, size) - 10))
        labelled.append((left, top))
        draw.rectangle((left, top, left + style.text_width(text, size) + 10, top + size + 6), fill=FAULT)
        draw.text((left + 5, top + 2), style.legible(text, size), font=style.face(size).font, fill=PAPER)
    return np.asarray(image).copy()


def _box_of(event: Event) -> tuple[float, ...]:
    return event.box or ()


def _scaled(box: tuple[float, ...], scale: tuple[float, float]) -> tuple[float, float, float, float]:
    """Return a box in picture pixels, clipped near the picture; drawing far-off sides would take minutes."""
    x0, y0, x1, y1 = np.clip(np.array(box) * np.tile(scale, 2), -_FAR, _FAR).tolist()
    return (x0, y0, x1, y1)


def _fixed(xy: NDArray[np.floating], scale: tuple[float, float]) -> NDArray[np.int32]:
    """Return clip pixels (centres at integers) as fixed-point picture pixels, clipped to the picture's surroundings."""
    moved = (xy + 0.5) * np.array(scale) - 0.5
    fixed: NDArray[np.int32] = np.rint(np.clip(moved, -_FAR, _FAR) * (1 << _SHIFT)).astype(np.int32)
    return fixed


def _line(picture: Picture, a: NDArray[np.int32], b: NDArray[np.int32], colour: tuple[int, ...], width: int) -> None:
    cv2.line(picture, a.tolist(), b.tolist(), colour, width, cv2.LINE_AA, _SHIFT)


WIDTH = 1500
BORDER = 30
KEY_FRAMES = 6
COLUMNS = 3
LISTED_EVENTS = 14
LEGEND = (
    "Coloured areas: moving objects, with their tracked points and their trails. Skeletons: blue left, orange "
    "right. Red: cost points; grey: excused. Triangles: the frames above."
)
_CHIP = 104
_HEADER = 102 + _CHIP
_CAPTION = 30
_LINE = 22


def draw_sheet(clip: Clip, findings: Findings, perceived: Perceived) -> Image.Image:
    """Draw the page.

    Args:
        clip: The clip.
        findings: Its results.
        perceived: Perception results.
    """
    chosen = key_frames(findings, len(clip))
    rows = -(-len(chosen) // COLUMNS)
    cell = (WIDTH - 2 * BORDER - (COLUMNS - 1) * 12) // COLUMNS
    size = (cell, max(2, round(cell * clip.height / clip.width)))
    plot = draw_plot(strips_of(findings, len(clip)), len(clip), clip.fps, WIDTH - 2 * BORDER, chosen)
    events = findings.events[:LISTED_EVENTS]
    words = (len(events) + 3) * _LINE
    height = _HEADER + rows * (size[1] + _CAPTION) + plot.height + words + 2 * BORDER
    page = Image.new("RGB", (WIDTH, height), PAPER)
    draw = ImageDraw.Draw(page)
    draw_header(draw, findings, BORDER, WIDTH - 2 * BORDER)
    top = BORDER + _HEADER
    for index, frame in enumerate(chosen):
        x = BORDER + (index % COLUMNS) * (cell + 12)
        y = top + (index // COLUMNS) * (size[1] + _CAPTION)
        page.paste(Image.fromarray(draw_frame(clip, frame, findings, perceived, size)), (x, y))
        at_fault = any(frame in event.frames for event in findings.faults)
        text = f"frame {frame}, {clip.timestamps[frame]:.2f} s"
        write(draw, (x, y + size[1] + 5), text, 14, FAULT if at_fault else MUTED, width=cell)
    top += rows * (size[1] + _CAPTION)
    page.paste(plot, (BORDER, top))
    _draw_events(draw, events, len(findings.events), top + plot.height + 10)
    write(draw, (BORDER, height - BORDER), LEGEND, 13, MUTED, width=WIDTH - 2 * BORDER)
    return page


def key_frames(findings: Findings, num_frames: int) -> tuple[int, ...]:
    """Return the frames to show, ascending: the worst faults of each metric, then evenly spread ones."""
    count = min(KEY_FRAMES, num_frames)

    def gravity(event: Event) -> float:
        return 1.0 if event.magnitude is None or not event.threshold else abs(event.magnitude / event.threshold)

    by_gravity = sorted(findings.faults, key=gravity, reverse=True)
    rank = {id(event): [e for e in by_gravity if e.metric == event.metric].index(event) for event in by_gravity}
    gravest = sorted(by_gravity, key=lambda event: rank[id(event)])
    chosen: list[int] = []
    for event in gravest:
        middle = event.frames[len(event.frames) // 2]
        if middle < num_frames and middle not in chosen and len(chosen) < count:
            chosen.append(middle)
    spread = [round(i * (num_frames - 1) / max(1, count - 1)) for i in range(count)]
    while len(chosen) < count:  # of the evenly spread ones, always the one farthest from all chosen
        left = [f for f in spread if f not in chosen] or [f for f in range(num_frames) if f not in chosen]
        chosen.append(max(left, key=lambda f: min((abs(f - other) for other in chosen), default=0)))
    return tuple(sorted(chosen))


def draw_header(draw: ImageDraw.ImageDraw, findings: Findings, left: int, width: int) -> None:
    """Write the clip's name, prompt and scores, and the comparability of the scores."""
    write(draw, (left, BORDER), findings.title, 26, INK, width=width)
    unplaced = f"; no place among real footage: {findings.no_anchor}" if findings.no_anchor else ""
    write(draw, (left, BORDER + 36), findings.label + unplaced, 15, MUTED, width=width)
    if findings.prompt is not None:
        write(draw, (left, BORDER + 57), f'"{findings.prompt}"', 15, MUTED, width=width)
    chips = _chips(findings)
    chip = (width - (max(1, len(chips)) - 1) * 12) / max(1, len(chips))
    for index, (metric, value, small) in enumerate(chips):
        x, y = left + index * (chip + 12), BORDER + 84
        draw.rounded_rectangle((x, y, x + chip, y + _CHIP), 6, outline=RULE, width=2)
        draw.rectangle((x + 2, y + 8, x + 6, y + _CHIP - 8), fill=colour_of(metric))
        write(draw, (x + 16, y + 8), label(metric), 14, MUTED)
        if value:
            write(draw, (x + 16, y + 27), value, 20, INK)
        for row, line in enumerate(style.wrapped(small, 12, chip - 24, 3)):
            write(draw, (x + 16, y + (54 if value else 24) + 15 * row), line, 12, MUTED)


def _chips(findings: Findings) -> list[tuple[str, str, str]]:
    """Return name, score and small text of every score: its place among real footage, or why it is missing.

    The small text of the index begins with its factor.
    """
    scores = {metric: result.score for metric, result in findings.results.items()} | {INDEX: findings.index}
    absent = {metric: f"missing: {result.missing}" for metric, result in findings.results.items()}
    absent |= {metric: f"failed: {reason}" for metric, reason in findings.errors.items()}
    chips = []
    for metric in (*absent, INDEX):
        score = scores.get(metric)
        place = findings.places.get(metric)
        remark = findings.index_remark if metric == INDEX else None
        if score is not None:
            small = "; ".join(filter(None, (remark, str(place or ""))))
            chips.append((metric, place.interval if place else rounded(score, None), small))
        elif metric in absent:
            chips.append((metric, "", absent[metric]))
    return chips


def describe(event: Event) -> str:
    """Return the text of an event, with its magnitude and threshold."""
    frames = f"frame {event.frames[0]}" if len(event.frames) == 1 else "clip"
    if len(event.frames) > 1:
        frames = f"frames {event.frames[0]} to {event.frames[-1]}"
    text = f"{frames}: {event.target + ' ' if event.target else ''}{event.reason}"
    if event.magnitude is not None:
        text += f" ({event.magnitude:.3g}"
        text += f", threshold {event.threshold:.3g})" if event.threshold is not None else ")"
    return text + (f", excused: {event.excuse}" if event.excuse else "")


def _draw_events(draw: ImageDraw.ImageDraw, events: list[Event], total: int, top: float) -> None:
    title = "What cost points, and what was excused" if events else "Nothing cost points"
    write(draw, (BORDER, top), title, 15, INK)
    for row, event in enumerate(events, 1):
        y = top + row * _LINE + 4
        colour = FAULT if event.excuse is None else MUTED
        draw.ellipse((BORDER, y + 5, BORDER + 7, y + 12), fill=colour)
        write(draw, (BORDER + 16, y), label(event.metric), 14, INK)
        text = describe(event)
        write(draw, (BORDER + 64, y), text, 14, INK if event.excuse is None else MUTED, width=WIDTH - 2 * BORDER - 64)
    if total > len(events):
        write(draw, (BORDER + 16, top + (len(events) + 1) * _LINE + 4), f"and {total - len(events)} more", 14, MUTED)
