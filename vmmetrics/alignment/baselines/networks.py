"""RAFT's flow in the place of ours, for the baselines that look at flow.

Teed and Deng, "RAFT: Recurrent All-Pairs Field Transforms for Optical Flow", ECCV 2020, as torchvision has it. Pictures
have the same size as those of the embedded flow, so that the networks differ and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines.catalogue import (
    ONE_FRAME,
    BaselineMeasure,
    LoadedFamily,
    flow_magnitude,
    forward_backward_error,
    resized_frames,
    warping_error,
)
from vmmetrics.alignment.baselines.files import (
    find,
    hashes,
    model_from_folder,
    prepare_device,
    read_state,
    require,
    versions,
)
from vmmetrics.alignment.baselines.formulas import consistency, interpolation_smoothness
from vmmetrics.errors import SetupError
from vmmetrics.perception.embedded.flow import DISFlow, look_up, pixel_grid, working_size
from vmmetrics.perception.scene import Flow, Scene
from vmmetrics.perception.views import IMAGENET_MEAN, IMAGENET_STD
from vmmetrics.types import BoolArray, FloatArray, MetricResult

# VBench's motion smoothness with FILM as the interpolator, from a TorchScript file of the user's.
#
# Reda et al., "FILM: Frame Interpolation for Large Motion", ECCV 2022. The file holds network and weights and is called
# as ``network(first, last, dt)`` with pictures (1, 3, H, W) in 0..1 and dt (1, 1), such as ``film_net_fp32.pt`` of
# github.com/dajes/frame-interpolation-pytorch. Any other interpolator exported with that signature serves as well.

# CLIP and DINO consistency of frames, with transformers' models from the user's folder.
#
# Frames are prepared as VBench does: for CLIP the short side to 224 pixels (bicubic) and the middle square, for DINO
# the short side to 224 pixels (bilinear) and the whole picture, its positions interpolated; 0..1, then normalised.

SIDE = 224
"""Short side in pixels, VBench's."""
BATCH = 16
"""Frames at a time."""
CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
"""Of the pictures CLIP was trained on (its release)."""


def load_clip(given: str | os.PathLike[str] | None, threads: int | None) -> LoadedFamily:
    """Load CLIP; VBench's is ``openai/clip-vit-base-patch32``.

    Raises:
        SetupError: transformers is missing, or the folder is, or holds another model.
    """
    require("torch", "transformers")
    from transformers import CLIPVisionModelWithProjection

    what = "a folder with a CLIP model of transformers, such as openai/clip-vit-base-patch32"
    path = find("clip_consistency", given, "clip-vit-base-patch32", what)
    network = model_from_folder(CLIPVisionModelWithProjection, path, ("clip", "clip_vision_model"))
    prepared = _Pictures("bicubic", True, CLIP_MEAN, CLIP_STD)
    return _loaded(
        "clip_consistency", path, prepared, network, lambda net, x: net(pixel_values=x).image_embeds, threads
    )


def load_dino(given: str | os.PathLike[str] | None, threads: int | None) -> LoadedFamily:
    """Load DINO; VBench's is ``facebook/dino-vitb16``.

    Raises:
        SetupError: transformers is missing, or the folder is, or holds another model.
    """
    require("torch", "transformers")
    from transformers import ViTModel

    what = "a folder with a DINO model of transformers, such as facebook/dino-vitb16"
    path = find("dino_consistency", given, "dino-vitb16", what)
    network = model_from_folder(ViTModel, path, ("vit",), add_pooling_layer=False)
    prepared = _Pictures("bilinear", False, tuple(IMAGENET_MEAN.tolist()), tuple(IMAGENET_STD.tolist()))

    def encode(net: Any, pictures: Any) -> Any:
        return net(pixel_values=pictures, interpolate_pos_encoding=True).last_hidden_state[:, 0]

    return _loaded("dino_consistency", path, prepared, network, encode, threads)


@dataclass(frozen=True, slots=True)
class _Pictures:
    """How frames are prepared."""

    mode: str
    square: bool
    mean: Sequence[float]
    std: Sequence[float]

    def __call__(self, frames: NDArray[np.uint8], device: Any) -> Any:
        """(N, H, W, 3) uint8 as an (N, 3, h, w) tensor."""
        import torch
        from torch.nn.functional import interpolate

        height, width = frames.shape[1:3]
        short = min(height, width)
        size = [SIDE if side == short else int(SIDE * side / short) for side in (height, width)]
        pictures = torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 3, 1, 2))).to(device).float() / 255
        pictures = interpolate(pictures, size=size, mode=self.mode, align_corners=False, antialias=True)
        if self.square:
            top, left = (round((side - SIDE) / 2) for side in size)
            pictures = pictures[:, :, top : top + SIDE, left : left + SIDE]
        mean, std = (torch.tensor(v, device=device).view(3, 1, 1) for v in (self.mean, self.std))
        return (pictures.clamp(0, 1) - mean) / std


def _loaded(
    name: str, path: Path, pictures: _Pictures, network: Any, encode: Callable[[Any, Any], Any], threads: int | None
) -> LoadedFamily:
    device = prepare_device(threads)
    network = network.to(device)

    def features(frames: NDArray[np.uint8]) -> FloatArray:
        import torch

        with torch.inference_mode():
            batches = (frames[start : start + BATCH] for start in range(0, len(frames), BATCH))
            found = [encode(network, pictures(batch, device)).float().cpu().numpy() for batch in batches]
        return np.concatenate(found).astype(np.float64)

    def measure(scene: Scene) -> MetricResult:
        if len(scene.clip) < 2:
            return MetricResult(None, ONE_FRAME)
        return MetricResult(consistency(features(scene.clip.frames)))

    return LoadedFamily({name: measure}, {"weights": hashes(path), "versions": versions("torch", "transformers")})


FILM_MULTIPLE = 64
"""FILM's pyramid halves pictures that often; its release pads to this."""


def load_film(given: str | os.PathLike[str] | None, threads: int | None) -> LoadedFamily:
    """Load the interpolator.

    Raises:
        SetupError: torch is missing, or the file is, or it is no TorchScript.
    """
    require("torch")
    import torch

    path = find("film_smoothness", given, "film_net_fp32.pt", "FILM as TorchScript (film_net_fp32.pt)")
    device = prepare_device(threads)
    try:
        network = torch.jit.load(str(path), map_location=device).eval().float()  # half precision is none for a CPU
    except RuntimeError as error:
        raise SetupError(f"{path}: not readable as TorchScript: {error}") from error
    interpolator = Interpolator(network, device)

    def measure(scene: Scene) -> MetricResult:
        if len(scene.clip) < 3:
            return MetricResult(None, "fewer than three frames: none lies between two others")
        return MetricResult(interpolation_smoothness(scene.clip.frames, interpolator.between))

    return LoadedFamily({"film_smoothness": measure}, {"weights": hashes(path), "versions": versions("torch")})


class Interpolator:
    """Pictures half way between two others.

    Args:
        network: Called as ``network(first, last, dt)``.
        device: Where it is.
    """

    def __init__(self, network: Any, device: Any) -> None:
        self._network = network
        self._device = device

    def between(self, first: NDArray[np.uint8], last: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the (H, W, 3) picture half way; pictures are padded to a size the network can halve."""
        import torch

        height, width = first.shape[:2]
        pads = [(0, -side % FILM_MULTIPLE) for side in (height, width)]
        padded = [np.pad(picture, [*pads, (0, 0)], mode="edge").transpose(2, 0, 1)[None] for picture in (first, last)]
        with torch.inference_mode():
            pair = [torch.from_numpy(np.ascontiguousarray(p)).to(self._device).float() / 255 for p in padded]
            middle = self._network(*pair, pair[0].new_full((1, 1), 0.5))[0, :, :height, :width]
        levels = (middle.float().clamp(0, 1) * 255).round().byte().permute(1, 2, 0)
        return np.asarray(levels.cpu().numpy(), np.uint8)


RAFT_MULTIPLE = 8
"""RAFT works on an eighth of the picture."""
LEAST = 128
"""Pixels a side below which its pyramid of correlations is empty (torchvision refuses such pictures)."""
PAIRS_AT_ONCE = 4
"""Pairs at a time: about 1 GB at the working size."""


def load_raft(given: str | os.PathLike[str] | None, threads: int | None) -> LoadedFamily:
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
        width, height = (max(LEAST, round(side / RAFT_MULTIPLE) * RAFT_MULTIPLE) for side in wanted)
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
            for start in range(0, len(first), PAIRS_AT_ONCE):
                pair = [self._tensor(frames[start : start + PAIRS_AT_ONCE]) for frames in (first, second)]
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
