"""Baselines by networks of the user's: features by CLIP and DINO, smoothness by FILM, flow by RAFT, DOVER."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines import catalogue
from vmmetrics.alignment.baselines.catalogue import Loaded, in_grey, resized_frames
from vmmetrics.alignment.baselines.files import find, identity, model_from_folder, prepare_device, read_state, require
from vmmetrics.alignment.baselines.formulas import consistency, interpolation_smoothness
from vmmetrics.errors import SetupError
from vmmetrics.perception.embedded.flow import agree, pixel_grid, working_size
from vmmetrics.perception.scene import Flow, Scene
from vmmetrics.perception.views import IMAGENET_MEAN, IMAGENET_STD
from vmmetrics.types import FloatArray
from vmmetrics.utils.tensors import reading


def _tensor(frames: NDArray[np.uint8], device: Any) -> Any:
    """Return (N, H, W, 3) frames as (N, 3, H, W) float32 levels."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 3, 1, 2))).to(device).float()


# CLIP and DINO consistency of frames, with transformers' models from the user's folder.
#
# Frames are prepared as VBench does: for CLIP the short side to 224 pixels (bicubic) and the middle square, for DINO
# the short side to 224 pixels (bilinear) and the whole picture, its positions interpolated; 0..1, then normalised.

SIDE = 224
"""Short side in pixels, as in VBench."""
BATCH = 16
"""Batch size in frames."""
CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
"""Mean and deviation of CLIP's training images (from its release)."""


def load_clip(location: str | os.PathLike[str] | None, threads: int | None) -> Loaded:
    """Load CLIP; VBench's is ``openai/clip-vit-base-patch32``.

    Raises:
        SetupError: transformers is missing, or the folder is, or holds another model.
    """
    require("torch", "transformers")
    from transformers import CLIPVisionModelWithProjection

    what = "a folder with a CLIP model of transformers, such as openai/clip-vit-base-patch32"
    path = find("clip_consistency", location, "clip-vit-base-patch32", what)
    network = model_from_folder(CLIPVisionModelWithProjection, path, ("clip", "clip_vision_model"))

    def encode(levels: Any) -> Any:
        return network(pixel_values=_prepared(levels, "bicubic", CLIP_MEAN, CLIP_STD, square=True)).image_embeds

    return _consistency("clip_consistency", path, network, encode, threads)


def load_dino(location: str | os.PathLike[str] | None, threads: int | None) -> Loaded:
    """Load DINO; VBench's is ``facebook/dino-vitb16``.

    Raises:
        SetupError: transformers is missing, or the folder is, or holds another model.
    """
    require("torch", "transformers")
    from transformers import ViTModel

    what = "a folder with a DINO model of transformers, such as facebook/dino-vitb16"
    path = find("dino_consistency", location, "dino-vitb16", what)
    network = model_from_folder(ViTModel, path, ("vit",), add_pooling_layer=False)

    def encode(levels: Any) -> Any:
        pictures = _prepared(levels, "bilinear", IMAGENET_MEAN.tolist(), IMAGENET_STD.tolist())
        return network(pixel_values=pictures, interpolate_pos_encoding=True).last_hidden_state[:, 0]

    return _consistency("dino_consistency", path, network, encode, threads)


def _prepared(levels: Any, mode: str, mean: Sequence[float], std: Sequence[float], square: bool = False) -> Any:
    """Return (N, 3, H, W) levels as pictures of the short side, normalised; with ``square`` their middle."""
    import torch
    from torch.nn.functional import interpolate

    height, width = levels.shape[2:]
    short = min(height, width)
    size = [SIDE if side == short else int(SIDE * side / short) for side in (height, width)]
    pictures = interpolate(levels / 255, size=size, mode=mode, align_corners=False, antialias=True)
    if square:
        top, left = (round((side - SIDE) / 2) for side in size)
        pictures = pictures[:, :, top : top + SIDE, left : left + SIDE]
    middle, spread = (torch.tensor(v, device=levels.device).view(3, 1, 1) for v in (mean, std))
    return (pictures.clamp(0, 1) - middle) / spread


def _consistency(name: str, path: Path, network: Any, encode: Callable[[Any], Any], threads: int | None) -> Loaded:
    """Return a baseline that compares the vectors that ``encode`` makes of (N, 3, H, W) levels."""
    device = prepare_device(threads)
    network.to(device)

    def measure(scene: Scene) -> float:
        import torch

        frames = scene.clip.frames
        with torch.inference_mode():
            batches = (_tensor(frames[start : start + BATCH], device) for start in range(0, len(frames), BATCH))
            features = np.concatenate([encode(batch).float().cpu().numpy() for batch in batches])
        return consistency(features.astype(np.float64))

    return {name: measure}, identity(path, "torch", "transformers")


# VBench's motion smoothness with FILM as the interpolator, from a TorchScript file of the user's.
#
# Reda et al., "FILM: Frame Interpolation for Large Motion", ECCV 2022. The file holds network and weights and is called
# as ``network(first, last, dt)`` with pictures (1, 3, H, W) in 0..1 and dt (1, 1), such as ``film_net_fp32.pt`` of
# github.com/dajes/frame-interpolation-pytorch. Any other interpolator exported with that signature serves as well.

FILM_MULTIPLE = 64
"""Multiple in pixels that FILM pads frames to, as in its release."""


def load_film(location: str | os.PathLike[str] | None, threads: int | None) -> Loaded:
    """Load the interpolator.

    Raises:
        SetupError: torch is missing, or the file is, or it is no TorchScript.
    """
    require("torch")
    import torch

    path = find("film_smoothness", location, "film_net_fp32.pt", "FILM as TorchScript (film_net_fp32.pt)")
    device = prepare_device(threads)
    with reading(f"{path}: not readable as TorchScript"):
        network = torch.jit.load(str(path), map_location=device).eval().float()  # half precision is none for a CPU

    def between(first: NDArray[np.uint8], last: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the (H, W, 3) picture half way; pictures are padded to a size the network can halve."""
        height, width = first.shape[:2]
        pads = [(0, -side % FILM_MULTIPLE) for side in (height, width)]
        with torch.inference_mode():
            pair = [_tensor(np.pad(p, [*pads, (0, 0)], mode="edge")[None], device) / 255 for p in (first, last)]
            middle = network(*pair, pair[0].new_full((1, 1), 0.5))[0, :, :height, :width]
        levels = (middle.float().clamp(0, 1) * 255).round().byte().permute(1, 2, 0)
        return np.asarray(levels.cpu().numpy(), np.uint8)

    def measure(scene: Scene) -> float | str:
        if len(scene.clip) < 3:
            return "fewer than three frames: none lies between two others"
        return interpolation_smoothness(scene.clip.frames, between)

    return {"film_smoothness": measure}, identity(path, "torch")


# RAFT's flow in the place of ours, for the baselines that look at flow.
#
# Teed and Deng, "RAFT: Recurrent All-Pairs Field Transforms for Optical Flow", ECCV 2020, as torchvision has it.
# Pictures have the same size as those of the embedded flow, so that the networks differ and nothing else.

RAFT_MULTIPLE = 8
"""Multiple in pixels of RAFT's input size: it works at 1/8 resolution."""
LEAST = 128
"""Minimum side in pixels of RAFT's input (torchvision refuses smaller ones)."""
PAIRS_AT_ONCE = 4
"""Batch size in pairs: about 1 GB at the working size."""


def load_raft(location: str | os.PathLike[str] | None, threads: int | None) -> Loaded:
    """Load RAFT from the user's file.

    Args:
        location: Weights of torchvision's ``raft_large`` or ``raft_small``; None looks in the folder of weights.
        threads: For torch on the CPU.

    Raises:
        SetupError: torchvision is missing, or the file is, or holds other weights.
    """
    require("torch", "torchvision")
    path = find("raft", location, "raft.pth", "the weights of torchvision's raft_large or raft_small (.pth)")
    network = _raft(read_state(path), path)
    device = prepare_device(threads)
    network.to(device)

    def flow(scene: Scene) -> Flow:
        return scene.once("baselines:raft", lambda: _flow(network, device, scene))

    measures = (catalogue.flow_magnitude, catalogue.warping_error, catalogue.forward_backward_error)
    measured = {f"raft_{measure.__name__}": partial(measure, flow=flow) for measure in measures}
    return measured, identity(path, "torch", "torchvision")


def _raft(state: Mapping[str, Any], path: Path) -> Any:
    """Return the network that fits the weights: the large one's first layer has 64 channels, the small one's 32."""
    from torchvision.models.optical_flow import raft_large, raft_small

    first = state.get("feature_encoder.convnormrelu.0.weight", ())
    make = {64: raft_large, 32: raft_small}.get(len(first))
    if make is None:
        raise SetupError(f"{path}: these are not the weights of torchvision's raft_large or raft_small")
    network = make(weights=None)
    with reading(f"{path}: these weights do not fit torchvision's RAFT"):
        network.load_state_dict(state)
    return network.eval()


def _flow(network: Any, device: Any, scene: Scene) -> Flow:
    """Return the flow of every consecutive pair of frames, both ways, with the validity of the embedded flow."""
    import torch

    clip = scene.clip
    size = working_size(clip.width, clip.height)
    width, height = (max(LEAST, round(side / RAFT_MULTIPLE) * RAFT_MULTIPLE) for side in size)
    frames = resized_frames(scene, width, height)

    def estimated(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> FloatArray:
        flows = []
        with torch.inference_mode():
            for start in range(0, len(first), PAIRS_AT_ONCE):
                pair = [_tensor(f[start : start + PAIRS_AT_ONCE], device) / 127.5 - 1 for f in (first, second)]
                flows.append(network(*pair)[-1].permute(0, 2, 3, 1).float().cpu().numpy())
        return np.ascontiguousarray(np.concatenate(flows), np.float32)

    forward, backward = estimated(frames[:-1], frames[1:]), estimated(frames[1:], frames[:-1])
    grid = pixel_grid(width, height)
    ways = ((forward, backward), (backward, forward))
    fine_there, fine_back = (np.stack([agree(f, b, grid) for f, b in zip(*way, strict=True)]) for way in ways)
    return Flow(in_grey(frames), forward, backward, fine_there, fine_back, (clip.width / width, clip.height / height))


# DOVER's technical quality, with the network of the user's ``dover`` package and the published weights.
#
# The package (github.com/VQAssessment/DOVER, S-Lab licence: not for commercial use) pins old versions; with
# ``pip install --no-deps`` it runs on current ones. Only its network is used: clips are read and cut here.
#
# Fragments, what DOVER's technical branch looks at: small pieces at full sharpness instead of a shrunken picture.
#
# Wu et al., "FAST-VQA", ECCV 2022, and "Exploring Video Quality Assessment on User Generated Contents from Aesthetic
# and Technical Perspectives" (DOVER), ICCV 2023. Their code puts each piece at a random place of its cell and each
# stretch at a random time; here pieces lie in the middle and stretches at equal distances, so that a clip has one
# score.

GRID = 7
"""Fragments along each side."""
PIECE = 32
"""Side of a fragment in pixels."""
LENGTH = 32
"""Frames per segment, as published."""
INTERVAL = 2
"""Frame stride within a segment, as published."""
STRETCHES = 3
"""Segments per clip, as published."""


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
DOVER_INSTALL = (
    "pip install --no-deps git+https://github.com/VQAssessment/DOVER && pip install decord einops scikit-video timm"
)
_NETWORK = {  # its dover.yml, without the branch for aesthetics, whose backbone would be downloaded
    "backbone": {BRANCH: {"type": "swin_tiny_grpb", "checkpoint": True, "pretrained": None}},
    "backbone_preserve_keys": BRANCH,
    "divide_head": True,
    "vqa_head": {"in_channels": 768, "hidden_channels": 64},
}


def load_dover(location: str | os.PathLike[str] | None, threads: int | None) -> Loaded:
    """Load DOVER.

    Args:
        location: The published ``DOVER.pth``; None looks in the folder of weights.
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
            f"dover needs the package of that name, which cannot be loaded ({error}): {DOVER_INSTALL}"
        ) from error
    path = find("dover", location, "DOVER.pth", "the published weights DOVER.pth")
    technical = {key: value for key, value in read_state(path).items() if key.startswith(f"{BRANCH}_")}
    with reading(f"{path}: these are not the weights of DOVER's technical branch"):
        network.load_state_dict(technical)
    device = prepare_device(threads)
    network = network.to(device).eval()

    def score(frames: NDArray[np.uint8]) -> float:
        """Return the score of one stretch: the mean of the head's output over space and time."""
        pieces = (fragments(frames).astype(np.float32) / 255 - IMAGENET_MEAN) / IMAGENET_STD
        view = torch.from_numpy(np.ascontiguousarray(pieces.transpose(3, 0, 1, 2)))[None].to(device)
        (scores,) = network({BRANCH: view})
        return float(scores.mean())

    def measure(scene: Scene) -> float | str:
        if len(scene.clip) < 2:
            return "one frame: the network looks at stretches of time"
        return float(np.mean([score(scene.clip.frames[indices]) for indices in stretches(len(scene.clip))]))

    return {"dover": measure}, identity(path, "torch", "timm", "dover")
