"""Frames as Q-Align sees them, equal to the pixel to CLIP's image processor of transformers 4.37 (through PIL)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

MEAN = (0.48145466, 0.4578275, 0.40821073)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)
"""Of the pixels that CLIP was trained on, red, green and blue in 0..1."""

PADDING = tuple(int(255 * mean) for mean in MEAN)
"""Colour of the bars that make a frame square: (122, 116, 104)."""


def squared(frame: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Pad a frame to a centred square and scale it (bicubic, antialiased).

    Args:
        frame: (H, W, 3) uint8 RGB.
        side: Of the result in pixels.

    Returns:
        (side, side, 3) uint8.
    """
    height, width = frame.shape[:2]
    longer = max(height, width)
    canvas = np.full((longer, longer, 3), PADDING, dtype=np.uint8)
    top, left = (longer - height) // 2, (longer - width) // 2
    canvas[top : top + height, left : left + width] = frame
    return np.asarray(Image.fromarray(canvas).resize((side, side), Image.Resampling.BICUBIC))


def shades() -> Tensor:
    """Return (3, 256) float32: what each of the 256 values of red, green and blue becomes for the network."""
    unit = (np.arange(256) * (1 / 255)).astype(np.float32)  # times 1/255, as upstream, is not always divided by 255
    mean, deviation = (np.array(x, dtype=np.float32)[:, None] for x in (MEAN, DEVIATION))
    return torch.from_numpy((unit - mean) / deviation)


def normalised(pixels: Tensor, table: Tensor) -> Tensor:
    """Return (B, 3, side, side) of pixels (B, side, side, 3) uint8, by the table of :func:`shades` on their device."""
    channels = torch.arange(3, device=pixels.device)[:, None, None]
    return table[channels, pixels.permute(0, 3, 1, 2).int()]
