"""Per-frame values as curves, with the frames at fault marked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from vmmetrics.metrics.registry import colour_of, label
from vmmetrics.scoring.show.findings import Findings
from vmmetrics.types import Event, FloatArray
from vmmetrics.utils.display.style import EXCUSED, FAULT, INK, MUTED, PAPER, RULE, Colour, write

STRIP_HEIGHT = 96
GAP = 38
MARGIN = 64
"""Pixels left and right of the curves, for the numbers of the axis."""
_FINE = 3  # drawn so many times larger and shrunk: smooth lines
_LEAST_DIFFERENCE = 0.05  # half the axis of a difference, at least
_TINT = 0.16  # opacity of a marked frame


@dataclass(frozen=True)
class Strip:
    """One curve.

    Attributes:
        metric: Its metric.
        name: Name of the series.
        values: (T,), NaN where a frame has no value.
        events: Events of the metric.
        threshold: (T,) threshold of the values, or None.
    """

    metric: str
    name: str
    values: FloatArray
    events: tuple[Event, ...]
    threshold: FloatArray | None = None


def strips_of(findings: Findings, num_frames: int) -> list[Strip]:
    """Return the curves of a clip: those of its metrics that have a value in any frame."""
    strips = []
    for metric, result in findings.results.items():
        series = {name: np.asarray(values, np.float64) for name, values in result.series.items()}
        curves = {n: v for n, v in series.items() if v.shape == (num_frames,) and np.isfinite(v).any()}
        threshold = curves.pop("threshold", None)
        strips += [Strip(metric, name, values, result.events, threshold) for name, values in curves.items()]
    return strips


def frame_x(frame: float, num_frames: int, width: int) -> float:
    """Return the x coordinate of a frame on the axis, in pixels."""
    return MARGIN + (width - 2 * MARGIN) * (frame / max(1, num_frames - 1))


def draw_plot(strips: list[Strip], num_frames: int, fps: float, width: int, marks: tuple[int, ...] = ()) -> Image.Image:
    """Draw curves under one another over one axis of frames.

    Args:
        strips: The curves.
        num_frames: Length of the clip.
        fps: Frames per second, for the axis.
        width: Width of the picture.
        marks: Frames shown elsewhere; they get a small triangle.
    """
    plot = Image.new("RGB", (width, len(strips) * (STRIP_HEIGHT + GAP) + (24 if strips else 0)), PAPER)
    draw = ImageDraw.Draw(plot)
    for row, strip in enumerate(strips):
        top = row * (STRIP_HEIGHT + GAP) + GAP
        plot.paste(_curve(strip, num_frames, width), (0, top))
        write(draw, (MARGIN, top - 22), f"{label(strip.metric)} {strip.name}", 15, INK)
        low, high = _range(strip)
        for value, y in ((high, top), (low, top + STRIP_HEIGHT)):
            write(draw, (MARGIN - 8, y), f"{value:.3g}", 12, MUTED, anchor="rm")
    if strips:
        _axis(draw, num_frames, fps, width, plot.height - 22, marks)
    return plot


def _curve(strip: Strip, num_frames: int, width: int) -> Image.Image:
    size = (width * _FINE, STRIP_HEIGHT * _FINE)
    image = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(image)
    left, right = MARGIN * _FINE, (width - MARGIN) * _FINE
    half = max(1.5 * _FINE, (right - left) / max(1, num_frames - 1) / 2)
    for event in sorted(strip.events, key=lambda e: e.excuse is None):  # faults over what was excused
        colour = FAULT if event.excuse is None else EXCUSED
        tint = tuple(round(255 * (1 - _TINT) + c * _TINT) for c in colour)
        for frame in event.frames:
            x = frame_x(frame, num_frames, width) * _FINE
            draw.rectangle((max(left, x - half), 0, min(right, x + half), size[1]), fill=tint)
    for share in (0.0, 0.5, 1.0):
        y = min(size[1] - 1, share * size[1])
        draw.line((left, y, right, y), fill=RULE, width=_FINE)
    low, high = _range(strip)
    if low < 0 < high:
        zero = size[1] * high / (high - low)
        draw.line((left, zero, right, zero), fill=MUTED, width=_FINE)
    room = size[1] - 4 * _FINE
    heights = room * (1 - (strip.values - low) / (high - low)) + 2 * _FINE
    xs = [frame_x(frame, num_frames, width) * _FINE for frame in range(num_frames)]
    colour = colour_of(strip.metric)
    if strip.threshold is not None:
        limits = room * (1 - (strip.threshold - low) / (high - low)) + 2 * _FINE
        for x, y in zip(xs, limits, strict=True):
            if np.isfinite(y):
                draw.line((x - half / 2, y, x + half / 2, y), fill=MUTED, width=_FINE)
    _polyline(draw, xs, heights, colour)
    for frame in sorted({f for e in strip.events if e.excuse is None for f in e.frames if f < num_frames}):
        if np.isfinite(heights[frame]):
            x, y, radius = xs[frame], heights[frame], 3.2 * _FINE
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=FAULT)
    return image.resize((width, STRIP_HEIGHT), Image.Resampling.LANCZOS)


def _polyline(draw: ImageDraw.ImageDraw, xs: list[float], heights: FloatArray, colour: Colour) -> None:
    """Join neighbours; a value without neighbours is a dot."""
    finite = np.isfinite(heights)
    for frame in np.flatnonzero(finite):
        if frame + 1 < len(xs) and finite[frame + 1]:
            ends = (xs[frame], heights[frame], xs[frame + 1], heights[frame + 1])
            draw.line(ends, fill=colour, width=2 * _FINE, joint="curve")
        x, y, radius = xs[frame], heights[frame], 1.4 * _FINE
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _range(strip: Strip) -> tuple[float, float]:
    """Return the ends of the axis: 0 and 1 for what lies between, else from 0 or the least value to the largest."""
    everything = strip.values if strip.threshold is None else np.append(strip.values, strip.threshold)
    low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
    if low < 0:  # a difference: not magnified until rounding looks like news
        return min(low, -_LEAST_DIFFERENCE), max(high, _LEAST_DIFFERENCE)
    if 0.25 <= high <= 1:
        return 0.0, 1.0
    return 0.0, high if high > 0 else 1.0


def _axis(draw: ImageDraw.ImageDraw, num_frames: int, fps: float, width: int, top: int, marks: tuple[int, ...]) -> None:
    for mark in marks:
        x = frame_x(mark, num_frames, width)
        draw.polygon([(x, top - 7), (x - 5, top + 1), (x + 5, top + 1)], fill=INK)
    # 1, 2 or 5 times a power of ten, so that at most twelve frames are numbered
    steps = [m * int(10**p) for p in range(9) for m in (1, 2, 5)]
    step = next((step for step in steps if 12 * step >= num_frames), steps[-1])
    for frame in range(0, num_frames, step):
        x = frame_x(frame, num_frames, width)
        write(draw, (x, top + 4), f"{frame}", 12, MUTED, anchor="ma")
    write(draw, (width - MARGIN + 8, top + 4), f"{num_frames / fps:.1f} s", 12, MUTED)
