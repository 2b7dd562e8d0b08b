"""DOVER's technical quality, with the network of the user's ``dover`` package and the published weights.

The package (github.com/VQAssessment/DOVER, S-Lab licence: not for commercial use) pins old versions; with
``pip install --no-deps`` it runs on current ones. Only its network is used: clips are read and cut here.
"""

from __future__ import annotations

import contextlib
import io
import os

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines.catalogue import Loaded
from vmmetrics.alignment.baselines.files import find, hashes, prepare_device, read_state, require, versions
from vmmetrics.errors import SetupError
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.views import IMAGENET_MEAN, IMAGENET_STD

# Fragments, what DOVER's technical branch looks at: small pieces at full sharpness instead of a shrunken picture.
#
# Wu et al., "FAST-VQA", ECCV 2022, and "Exploring Video Quality Assessment on User Generated Contents from Aesthetic
# and Technical Perspectives" (DOVER), ICCV 2023. Their code puts each piece at a random place of its cell and each
# stretch at a random time; here pieces lie in the middle and stretches at equal distances, so that a clip has one
# score.

GRID = 7
"""Cells along each side."""
PIECE = 32
"""Side of a piece in pixels."""
LENGTH = 32
"""Frames of a stretch ..."""
INTERVAL = 2
"""... of which every second one of the clip is taken ..."""
STRETCHES = 3
"""... and how many stretches there are (all as published)."""


def stretches(frames: int) -> list[NDArray[np.int64]]:
    """Return the frame indices of each stretch, from the first that fits to the last, equal ones once.

    A clip that is too short begins again at its end, as in the published code.

    >>> [s[[0, -1]].tolist() for s in stretches(100)]
    [[0, 62], [18, 80], [36, 98]]
    >>> [s[[0, 31]].tolist() for s in stretches(40)]
    [[0, 22]]
    """
    room = max(0, frames - LENGTH * INTERVAL)
    starts = sorted({round(start) for start in np.linspace(0, room, STRETCHES).tolist()})
    return [(start + INTERVAL * np.arange(LENGTH)) % frames for start in starts]


def fragments(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return (T, 224, 224, 3) pictures put together from a piece of every cell of (T, H, W, 3) frames.

    Frames with a side of less than 224 pixels are enlarged until none is.
    """
    whole = GRID * PIECE
    height, width = frames.shape[1:3]
    short = min(height, width)
    if short < whole:
        height, width = (max(whole, round(side * whole / short)) for side in (height, width))
        frames = np.stack([cv2.resize(frame, (width, height), interpolation=cv2.INTER_LINEAR) for frame in frames])
    # the pixels along each side that lie in a piece
    starts = (side // GRID * np.arange(GRID) + (side // GRID - PIECE) // 2 for side in (height, width))
    rows, columns = ((start[:, None] + np.arange(PIECE)).ravel() for start in starts)
    return np.ascontiguousarray(frames[:, rows][:, :, columns])


BRANCH = "technical"
INSTALL = (
    "pip install --no-deps git+https://github.com/VQAssessment/DOVER && pip install decord einops scikit-video timm"
)
_NETWORK = {  # its dover.yml, without the branch for aesthetics, whose backbone would be downloaded
    "backbone": {BRANCH: {"type": "swin_tiny_grpb", "checkpoint": True, "pretrained": None}},
    "backbone_preserve_keys": BRANCH,
    "divide_head": True,
    "vqa_head": {"in_channels": 768, "hidden_channels": 64},
}


def load(given: str | os.PathLike[str] | None, threads: int | None) -> Loaded:
    """Load DOVER.

    Args:
        given: The published ``DOVER.pth``; None looks in the folder of weights.
        threads: For torch on the CPU.

    Raises:
        SetupError: A package or the file is missing, or the file holds other weights.
    """
    require("torch")
    import torch

    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints what it builds
            from dover.models import DOVER

            network = DOVER(**_NETWORK)
    except ImportError as error:
        raise SetupError(
            f"dover needs the package of that name, which cannot be loaded ({error}): {INSTALL}"
        ) from error
    path = find("dover", given, "DOVER.pth", "the published weights DOVER.pth")
    technical = {key: value for key, value in read_state(path).items() if key.startswith(f"{BRANCH}_")}
    try:
        network.load_state_dict(technical)
    except RuntimeError as error:
        raise SetupError(f"{path}: these are not the weights of DOVER's technical branch: {error}") from error
    device = prepare_device(threads)
    network = network.to(device).eval()

    def score(frames: NDArray[np.uint8]) -> float:
        """The score of one stretch: the mean over what the head says of every place and time."""
        pieces = (fragments(frames).astype(np.float32) / 255 - IMAGENET_MEAN) / IMAGENET_STD
        view = torch.from_numpy(np.ascontiguousarray(pieces.transpose(3, 0, 1, 2)))[None].to(device)
        (scores,) = network({BRANCH: view})
        return float(scores.mean())

    def measure(scene: Scene) -> float | str:
        if len(scene.clip) < 2:
            return "one frame: the network looks at stretches of time"
        return float(np.mean([score(scene.clip.frames[places]) for places in stretches(len(scene.clip))]))

    return {"dover": measure}, {"weights": hashes(path), "versions": versions("torch", "timm", "dover")}
