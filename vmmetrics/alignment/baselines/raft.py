"""RAFT's flow in the place of ours, for the baselines that look at flow.

Teed and Deng, "RAFT: Recurrent All-Pairs Field Transforms for Optical Flow", ECCV 2020, as torchvision has it. Pictures
have the same size as those of the embedded flow, so that the networks differ and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines.catalogue import (
    BaselineMeasure,
    LoadedFamily,
    flow_magnitude,
    forward_backward_error,
    resized_frames,
    warping_error,
)
from vmmetrics.alignment.baselines.files import find, hashes, prepare_device, read_state, require, versions
from vmmetrics.errors import SetupError
from vmmetrics.perception.answers import Flow
from vmmetrics.perception.embedded.flow import DISFlow, look_up, pixel_grid, working_size
from vmmetrics.perception.scene import Scene
from vmmetrics.types import BoolArray, FloatArray

MULTIPLE = 8
"""RAFT works on an eighth of the picture."""
LEAST = 128
"""Pixels a side below which its pyramid of correlations is empty (torchvision refuses such pictures)."""
BATCH = 4
"""Pairs at a time: about 1 GB at the working size."""


def load(given: str | os.PathLike[str] | None, threads: int | None) -> LoadedFamily:
    """Load RAFT from the user's file.

    Args:
        given: Weights of torchvision's ``raft_large`` or ``raft_small``; None looks in the folder of weights.
        threads: For torch on the CPU.

    Raises:
        SetupError: torchvision is missing, or the file is, or holds other weights.
    """
    require("torch", "torchvision")
    path = find("raft", given, "raft.pth", "the weights of torchvision's raft_large or raft_small (.pth)")
    state = read_state(path)
    network = _network(state, str(path))
    device = prepare_device(threads)
    raft = RAFT(network.to(device), device)
    measured: dict[str, BaselineMeasure] = {
        f"raft_{measure.__name__}": partial(measure, flow=raft.flow)
        for measure in (flow_magnitude, warping_error, forward_backward_error)
    }
    return LoadedFamily(measured, {"weights": hashes(path), "versions": versions("torch", "torchvision")})


def _network(state: Mapping[str, Any], name: str) -> Any:
    """The network that fits the weights: the large one's first layer has 64 channels, the small one's 32."""
    from torchvision.models.optical_flow import raft_large, raft_small

    first = state.get("feature_encoder.convnormrelu.0.weight")
    makers = {64: raft_large, 32: raft_small}
    make = makers.get(len(first)) if first is not None else None
    if make is None:
        raise SetupError(f"{name}: these are not the weights of torchvision's raft_large or raft_small")
    network = make(weights=None)
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise SetupError(f"{name}: these weights do not fit torchvision's RAFT: {error}") from error
    return network.eval()


class RAFT:
    """Dense flow by RAFT, with the validity of the embedded flow.

    Args:
        network: torchvision's network, in eval mode.
        device: Where it is.
    """

    def __init__(self, network: Any, device: Any) -> None:
        self._network = network
        self._device = device

    def flow(self, scene: Scene) -> Flow:
        """The flow of every pair, computed once per scene."""
        return scene.once("baselines:raft", lambda: self.estimate(scene))

    def estimate(self, scene: Scene) -> Flow:
        """Compute the flow of every consecutive pair of frames, both ways."""
        clip = scene.clip
        wanted = working_size(clip.width, clip.height)
        width, height = (max(LEAST, round(side / MULTIPLE) * MULTIPLE) for side in wanted)
        frames = resized_frames(scene, (width, height))
        forward = self._pairs(frames[:-1], frames[1:])
        backward = self._pairs(frames[1:], frames[:-1])
        grid = pixel_grid(width, height)
        forward_valid = np.stack([_agree(f, b, grid) for f, b in zip(forward, backward, strict=True)])
        backward_valid = np.stack([_agree(b, f, grid) for f, b in zip(forward, backward, strict=True)])
        images = np.stack([np.asarray(cv2.cvtColor(f, cv2.COLOR_RGB2GRAY), np.uint8) for f in frames])
        scale = (clip.width / width, clip.height / height)
        return Flow(images, forward, backward, forward_valid, backward_valid, scale)

    def _pairs(self, first: NDArray[np.uint8], second: NDArray[np.uint8]) -> FloatArray:
        """(N, h, w, 2) flow from each picture to its counterpart."""
        import torch

        found = []
        with torch.inference_mode():
            for start in range(0, len(first), BATCH):
                pair = [self._tensor(frames[start : start + BATCH]) for frames in (first, second)]
                found.append(self._network(*pair)[-1].permute(0, 2, 3, 1).float().cpu().numpy())
        return np.ascontiguousarray(np.concatenate(found), np.float32)

    def _tensor(self, frames: NDArray[np.uint8]) -> Any:
        """Frames as RAFT takes them: (N, 3, h, w) in −1..1."""
        import torch

        tensor = torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 3, 1, 2))).to(self._device)
        return tensor.float() / 127.5 - 1


def _agree(there: FloatArray, back: FloatArray, grid: FloatArray) -> BoolArray:
    """Where going there and back again ends where it began, by the embedded flow's tolerance, inside the picture."""
    height, width = there.shape[:2]
    target = grid + there
    gap = there + look_up(back, target)
    allowed = DISFlow.tolerance**2 + DISFlow.tolerance_share**2 * np.square(there).sum(-1)
    x, y = target[..., 0], target[..., 1]
    inside = (x > -0.5) & (x < width - 0.5) & (y > -0.5) & (y < height - 0.5)
    agree: BoolArray = (np.square(gap).sum(-1) < allowed) & inside
    return agree
