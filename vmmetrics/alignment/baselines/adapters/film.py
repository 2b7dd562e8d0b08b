"""VBench's motion smoothness with FILM as the interpolator, from a TorchScript file of the user's.

Reda et al., "FILM: Frame Interpolation for Large Motion", ECCV 2022. The file holds network and weights and is
called as ``network(first, last, dt)`` with pictures (1, 3, H, W) in 0..1 and dt (1, 1), such as ``film_net_fp32.pt`` of
github.com/dajes/frame-interpolation-pytorch. Any other interpolator exported with that signature serves as well.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines.adapters.files import find, hashes, prepare_device, require, versions
from vmmetrics.alignment.baselines.catalogue import Loaded
from vmmetrics.alignment.baselines.formulas import interpolation_smoothness
from vmmetrics.errors import SetupError
from vmmetrics.perception.scene import Scene
from vmmetrics.types import MetricResult

MULTIPLE = 64
"""FILM's pyramid halves pictures that often; its release pads to this."""


def load(given: str | os.PathLike[str] | None, threads: int | None) -> Loaded:
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

    return Loaded({"film_smoothness": measure}, {"weights": hashes(path), "versions": versions("torch")})


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
