"""VBench's motion smoothness: how well the odd frames can be interpolated from the even ones.

Huang et al., "VBench", CVPR 2024, and its released code, which interpolates with AMT-S.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]


def interpolation_smoothness(frames: Picture, between: Callable[[Picture, Picture], Picture]) -> float:
    """Return (255 − D) / 255, D the mean absolute difference of odd and interpolated frames: higher is smoother.

    A last frame of odd number, which no frame follows, is left out.

    Args:
        frames: (T, H, W, 3) uint8, T at least 3.
        between: Returns the picture half way between two (H, W, 3) pictures.

    Raises:
        ValueError: Too few frames.
    """
    if len(frames) < 3:
        raise ValueError(f"Expected at least three frames but got {len(frames)}")
    errors = [
        float(cv2.absdiff(frames[2 * i + 1], between(a, b)).mean(dtype=np.float64))
        for i, (a, b) in enumerate(itertools.pairwise(frames[::2]))
    ]
    return (255 - float(np.mean(errors))) / 255
