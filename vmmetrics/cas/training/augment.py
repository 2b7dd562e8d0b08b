"""Training views: a stretch of a clip, changed in space and colour by one draw for all of its frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmmetrics.cas.train_settings import Augmentation
from vmmetrics.perception.views import ViewPlan, normalised, resize
from vmmetrics.types import FloatArray

ASPECT = 4 / 3
"""Largest ratio of sides of a crop, either way, before it is resized to a square."""
ERASED = (0.02, 0.2)
"""Share of the picture that is greyed out."""
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""ITU-R BT.601."""


class Rectangle(NamedTuple):
    """A part of a picture, in pixels."""

    top: int
    left: int
    height: int
    width: int

    def of(self, frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The part of (..., H, W, 3) pictures, as a view."""
        return frames[..., self.top : self.top + self.height, self.left : self.left + self.width, :]


def training_view(
    frames: NDArray[np.uint8], plan: ViewPlan, change: Augmentation, draw: np.random.Generator
) -> FloatArray:
    """Cut a random view out of a clip.

    Args:
        frames: (T, H, W, 3) uint8 RGB.
        plan: Frames, rate and size of the view.
        change: What may be changed.
        draw: Where from.

    Returns:
        (3, frames, size, size) float32, normalised.
    """
    taken = frames[draw_stretch(len(frames), plan, draw)]
    part = draw_crop(frames.shape[1], frames.shape[2], change.least_crop, draw)
    view = np.stack([resize(np.ascontiguousarray(part.of(frame)), (plan.size, plan.size)) for frame in taken])
    if draw.random() < change.flip:
        view = view[:, :, ::-1]
    view = change_colour(view, change.colour, draw)
    pixels = normalised(view)
    if draw.random() < change.erase:
        top, left, height, width = draw_rectangle(plan.size, draw)
        pixels[:, :, top : top + height, left : left + width] = 0  # ImageNet's mean, in every frame
    return pixels


def draw_stretch(num_frames: int, plan: ViewPlan, draw: np.random.Generator) -> NDArray[np.int64]:
    """Draw the frames of a view: every ``plan.rate``-th from a random one on; a clip too short repeats its last."""
    span = (plan.frames - 1) * plan.rate + 1
    room = num_frames - span
    start = draw.integers(0, room + 1) if room >= 0 else draw.integers(0, min(plan.rate, num_frames))
    taken = np.arange(start, num_frames, plan.rate)[: plan.frames]
    return np.concatenate([taken, np.full(plan.frames - len(taken), taken[-1])])


def draw_crop(height: int, width: int, least: float, draw: np.random.Generator) -> Rectangle:
    """Draw a crop nearly square, of at least a share ``least`` of the largest square's area."""
    side = min(height, width) * np.sqrt(draw.uniform(least, 1))
    stretch = np.sqrt(np.exp(draw.uniform(-np.log(ASPECT), np.log(ASPECT))))
    rows = int(np.clip(round(side * stretch), 1, height))
    columns = int(np.clip(round(side / stretch), 1, width))
    top, left = draw.integers(0, height - rows + 1), draw.integers(0, width - columns + 1)
    return Rectangle(int(top), int(left), rows, columns)


def draw_rectangle(size: int, draw: np.random.Generator) -> Rectangle:
    """Draw what is greyed out of a square picture."""
    side = size * np.sqrt(draw.uniform(*ERASED))
    stretch = np.sqrt(np.exp(draw.uniform(-np.log(ASPECT), np.log(ASPECT))))
    rows, columns = (int(np.clip(round(s), 1, size)) for s in (side * stretch, side / stretch))
    return Rectangle(int(draw.integers(0, size - rows + 1)), int(draw.integers(0, size - columns + 1)), rows, columns)


def change_colour(view: NDArray[np.uint8], amount: float, draw: np.random.Generator) -> NDArray[np.uint8]:
    """Scale brightness, contrast and saturation of all frames by one factor each."""
    brightness, contrast, saturation = draw.uniform(1 - amount, 1 + amount, 3).astype(np.float32)
    pixels = view.astype(np.float32) * brightness
    grey = (pixels @ LUMA)[..., None]
    pixels = grey + (pixels - grey) * saturation
    middle = grey.mean()  # of the whole view: a mean per frame would hide flicker
    return np.asarray(np.clip(middle + (pixels - middle) * contrast, 0, 255).round(), np.uint8)
