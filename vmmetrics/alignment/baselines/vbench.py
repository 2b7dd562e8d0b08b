"""VBench's motion smoothness with FILM as the interpolator, from a TorchScript file of the user's.

Reda et al., "FILM: Frame Interpolation for Large Motion", ECCV 2022. The file holds network and weights and is
called as ``network(first, last, dt)`` with pictures (1, 3, H, W) in 0..1 and dt (1, 1), such as ``film_net_fp32.pt`` of
github.com/dajes/frame-interpolation-pytorch. Any other interpolator exported with that signature serves as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines.catalogue import ONE_FRAME, LoadedFamily
from vmmetrics.alignment.baselines.files import find, hashes, model_from_folder, prepare_device, require, versions
from vmmetrics.alignment.baselines.formulas import consistency, interpolation_smoothness
from vmmetrics.errors import SetupError
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.views import IMAGENET_MEAN, IMAGENET_STD
from vmmetrics.types import FloatArray, MetricResult

# CLIP and DINO consistency of frames, with transformers' models from the user's folder.
#
# Frames are prepared as VBench does: for CLIP the short side to 224 pixels (bicubic) and the middle square, for DINO the
# short side to 224 pixels (bilinear) and the whole picture, its positions interpolated; 0..1, then normalised.

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


MULTIPLE = 64
"""FILM's pyramid halves pictures that often; its release pads to this."""


def load(given: str | os.PathLike[str] | None, threads: int | None) -> LoadedFamily:
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
        pads = [(0, -side % MULTIPLE) for side in (height, width)]
        padded = [np.pad(picture, [*pads, (0, 0)], mode="edge").transpose(2, 0, 1)[None] for picture in (first, last)]
        with torch.inference_mode():
            pair = [torch.from_numpy(np.ascontiguousarray(p)).to(self._device).float() / 255 for p in padded]
            middle = self._network(*pair, pair[0].new_full((1, 1), 0.5))[0, :, :height, :width]
        levels = (middle.float().clamp(0, 1) * 255).round().byte().permute(1, 2, 0)
        return np.asarray(levels.cpu().numpy(), np.uint8)
