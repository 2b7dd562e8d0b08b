"""Dense optical flow, forwards and backwards, at one working resolution for clips of any size.

DIS flow (Kroeger et al., "Fast Optical Flow using Dense Inverse Search", ECCV 2016) as OpenCV ships it. Its stripes are
fixed in number, so its answer does not depend on how many threads compute them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.answers import Flow
from vmmetrics.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from vmmetrics.perception.scene import Scene

SHORT_SIDE = 256
"""Working short side in pixels: about 6 ms a pair and direction on two laptop threads, at 0.1 px of error."""

MIN_SIDE = 48
"""DIS matches 8 px patches over a pyramid and refuses pictures below 12 px; smaller clips are enlarged to this."""

MAX_ASPECT = 4.0
"""Beyond this ratio of sides the short side shrinks, so that a strip costs no more than an ordinary picture."""


def working_size(width: int, height: int, short_side: int = SHORT_SIDE) -> tuple[int, int]:
    """Return (w, h) of the working images of a clip of ``width`` x ``height`` pixels.

    The short side becomes ``short_side`` where the clip is larger, and stays what it is where it is smaller, down to
    :data:`MIN_SIDE`, below which the picture is enlarged.

    >>> working_size(720, 480), working_size(160, 120), working_size(16, 16)
    ((384, 256), (160, 120), (48, 48))
    """
    short, long = min(width, height), max(width, height)
    factor = min(1.0, short_side / short, MAX_ASPECT * short_side / long)
    return max(MIN_SIDE, round(width * factor)), max(MIN_SIDE, round(height * factor))


def working_images(frames: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return ``frames`` (T, H, W, 3) RGB as (T, h, w) grey, area-resampled to ``size`` (w, h)."""
    images = np.empty((len(frames), size[1], size[0]), np.uint8)
    shrinking = size[0] <= frames.shape[2] and size[1] <= frames.shape[1]
    interpolation = cv2.INTER_AREA if shrinking else cv2.INTER_LINEAR
    for frame, image in zip(frames, images, strict=True):
        grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
        image[...] = cv2.resize(grey, size, interpolation=interpolation)
    return images


@dataclass(frozen=True)
class DISFlow:
    """DIS (medium) optical flow with forward-backward validity.

    Attributes:
        short_side: Short side of the working images in pixels.
        tolerance: Forward and backward may differ by this many working pixels ...
        tolerance_share: ... and, squares added, this share of the motion, with which the error grows (as in Sundaram
            et al., ECCV 2010).
    """

    short_side: int = SHORT_SIDE
    tolerance: float = 0.8
    tolerance_share: float = 0.1

    def estimate(self, scene: Scene) -> Flow:
        """Compute the flow of every consecutive pair of frames, both ways."""
        clip = scene.clip
        width, height = working_size(clip.width, clip.height, self.short_side)
        images = working_images(clip.frames, (width, height))
        pairs = len(images) - 1
        forward = np.zeros((pairs, height, width, 2), np.float32)
        backward = np.zeros_like(forward)
        forward_valid = np.zeros((pairs, height, width), np.bool_)
        backward_valid = np.zeros_like(forward_valid)
        dis: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
        grid = pixel_grid(width, height)
        for t in range(pairs):
            # The very same picture (a repeated frame) needs no search, and DIS would give noise in flat areas.
            if np.array_equal(images[t], images[t + 1]):
                forward_valid[t] = backward_valid[t] = True
                continue
            forward[t] = dis.calc(images[t], images[t + 1], None)
            backward[t] = dis.calc(images[t + 1], images[t], None)
            forward_valid[t] = self._agree(forward[t], backward[t], grid)
            backward_valid[t] = self._agree(backward[t], forward[t], grid)
        scale = (clip.width / width, clip.height / height)
        return Flow(images, forward, backward, forward_valid, backward_valid, scale)

    def _agree(self, there: FloatArray, back: FloatArray, grid: FloatArray) -> BoolArray:
        """Whether going ``there`` and ``back`` again ends where it began, inside the picture all the way."""
        height, width = there.shape[:2]
        target = grid + there
        gap = there + look_up(back, target)
        # Column by column: numpy is slow over a last axis of two.
        far = gap[..., 0] ** 2 + gap[..., 1] ** 2
        moved = there[..., 0] ** 2 + there[..., 1] ** 2
        x, y = target[..., 0], target[..., 1]
        inside = (x > -0.5) & (x < width - 0.5) & (y > -0.5) & (y < height - 0.5)
        agree: BoolArray = (far < self.tolerance**2 + self.tolerance_share**2 * moved) & inside
        return agree


def look_up(image: FloatArray, places: FloatArray) -> FloatArray:
    """Bilinear ``image`` (h, w) or (h, w, C) float32 at ``places`` (N, K, 2) x, y; beyond the border, the border."""
    no_second_map: Any = None
    looked = cv2.remap(
        image,
        places.astype(np.float32, copy=False),
        no_second_map,
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return looked.astype(np.float32, copy=False)


def pixel_grid(width: int, height: int) -> FloatArray:
    """Return (height, width, 2) float32: x, y of every pixel."""
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    return np.stack([x, y], -1)
