"""Two charts that go with a trained classifier: how training went, and whether its confidence can be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image, ImageDraw

from vmmetrics.cas.evaluation import Bin
from vmmetrics.report.style import FAINT, FAULT, INK, OBJECTS, PAPER, RULE, Colour, text_width, write

WIDTH, PANEL, SIDE = 720, 220, 360
MARGIN, GAP = 64, 56
"""Pixels beside a panel for the numbers of its axis, and above and below it for its title and foot."""
_FINE = 3  # drawn so many times larger and shrunk: smooth lines
_LEAST_ROOM = 1e-9  # a curve that is constant still needs an axis with two ends


def training_chart(panels: Mapping[str, Mapping[str, Sequence[float]]], marked: int) -> Image.Image:
    """Draw curves over epochs, a panel per quantity.

    Args:
        panels: Title to curves by name, one value per epoch.
        marked: Epoch, from 1, to mark by a vertical line.
    """
    image = Image.new("RGB", (WIDTH, len(panels) * (PANEL + GAP) + 24), PAPER)
    draw = ImageDraw.Draw(image)
    for row, (title, curves) in enumerate(panels.items()):
        top = row * (PANEL + GAP) + GAP
        low, high = _ends(curves)
        image.paste(_panel(curves, low, high, marked), (MARGIN, top))
        write(draw, (MARGIN, top - 40), title, 15, INK)
        left = MARGIN
        for (name, _), colour in zip(curves.items(), OBJECTS, strict=False):
            draw.rectangle((left, top - 15, left + 10, top - 5), fill=colour)
            write(draw, (left + 16, top - 17), name, 12, FAINT)
            left += 16 + int(text_width(name, 12)) + 24
        for value, y in ((high, top), (low, top + PANEL)):
            write(draw, (MARGIN - 8, y), f"{value:.3g}", 12, FAINT, anchor="rm")
    epochs = max(len(values) for curves in panels.values() for values in curves.values())
    write(draw, (MARGIN, image.height - 24), "epoch 1", 12, FAINT)
    write(draw, (WIDTH - MARGIN, image.height - 24), f"{epochs}", 12, FAINT, anchor="ra")
    write(draw, (WIDTH / 2, image.height - 24), f"the line marks epoch {marked}, which is kept", 12, FAINT, anchor="ma")
    return image


def _ends(curves: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    values = [value for curve in curves.values() for value in curve]
    return min(0.0, *values), max(*values, _LEAST_ROOM)


def _panel(curves: Mapping[str, Sequence[float]], low: float, high: float, marked: int) -> Image.Image:
    width, height = (WIDTH - 2 * MARGIN) * _FINE, PANEL * _FINE
    image = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(image)
    for share in (0.0, 0.5, 1.0):
        y = min(height - 1, share * height)
        draw.line((0, y, width, y), fill=RULE, width=_FINE)
    for number, (values, colour) in enumerate(zip(curves.values(), OBJECTS, strict=False)):
        xs = np.linspace(0, width - 1, len(values)) if len(values) > 1 else np.array([width / 2])
        if number == 0:
            x = xs[marked - 1]
            draw.line((x, 0, x, height), fill=FAULT, width=_FINE)
        ys = (height - 1) * (1 - (np.asarray(values) - low) / (high - low))
        points = list(zip(xs.tolist(), ys.tolist(), strict=True))
        draw.line(points, fill=colour, width=2 * _FINE, joint="curve")
        for x, y in points:
            _dot(draw, x, y, 2.2 * _FINE, colour)
    return image.resize((width // _FINE, height // _FINE), Image.Resampling.LANCZOS)


def calibration_chart(bins: Sequence[Bin]) -> Image.Image:
    """Draw confidence against accuracy: on the diagonal is right, below it is overconfident."""
    image = Image.new("RGB", (SIDE + 2 * MARGIN, SIDE + 2 * GAP), PAPER)
    draw = ImageDraw.Draw(image)
    size = SIDE * _FINE
    panel = Image.new("RGB", (size, size), PAPER)
    pen = ImageDraw.Draw(panel)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = min(size - 1, share * size)
        pen.line((0, place, size, place), fill=RULE, width=_FINE)
        pen.line((place, 0, place, size), fill=RULE, width=_FINE)
    pen.line((0, size, size, 0), fill=FAINT, width=_FINE)
    most = max(part.clips for part in bins)
    for part in bins:
        x, y = part.confidence * size, (1 - part.accuracy) * size
        pen.line((x, y, x, (1 - part.confidence) * size), fill=FAULT, width=_FINE)
        _dot(pen, x, y, (3 + 9 * np.sqrt(part.clips / most)) * _FINE, OBJECTS[0])
    image.paste(panel.resize((SIDE, SIDE), Image.Resampling.LANCZOS), (MARGIN, GAP))
    write(draw, (MARGIN, 14), "share right, against confidence (area: clips)", 15, INK)
    for share in (0.0, 0.5, 1.0):
        write(draw, (MARGIN - 8, GAP + (1 - share) * SIDE), f"{share:g}", 12, FAINT, anchor="rm")
        write(draw, (MARGIN + share * SIDE, GAP + SIDE + 8), f"{share:g}", 12, FAINT, anchor="ma")
    return image


def _dot(draw: ImageDraw.ImageDraw, x: float, y: float, radius: float, colour: Colour) -> None:
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
