"""Quality of frames as VMBench's motion smoothness has it: Q-Align's level for a window around each of them.

Next to the released script, which sends every window by itself through the whole network: a frame is looked at once,
not in each of its three windows; the words before the images are read once; and of the answer only the five levels at
the last place are computed.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmmetrics.errors import ClipError
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.vmbench.models import UInt8Array, WindowRater
from vmmetrics.perception.vmbench.qalign_files import find_model, load_network
from vmmetrics.perception.vmbench.qalign_frames import normalised, shades, squared
from vmmetrics.perception.vmbench.qalign_network import Network, Question, answer, pose
from vmmetrics.perception.vmbench.qalign_prompt import LEVELS, read_prompt
from vmmetrics.perception.vmbench.runtime import DTYPES, Held, Precision, Shelf, in_batches
from vmmetrics.types import FloatArray

WINDOW = 3
"""Frames of a window."""

PARAMETERS = 8_204_550_144
"""Numbers that one-align stores, for the room that it needs: 16.4 GB in fp16."""

FRAMES_AT_ONCE = 16
WINDOWS_AT_ONCE = 32
"""Batches of some 16,000 and 7,000 tokens: enough to keep a GPU busy, activations below 1 GB."""

THREADS = min(8, os.cpu_count() or 1)
"""That scale frames ahead of the network."""


@dataclass(frozen=True)
class Loaded:
    """The network, ready to be shown windows."""

    network: Network
    question: Question
    table: Tensor


class QAlignRater:
    """A :class:`~vmmetrics.perception.vmbench.models.WindowRater`.

    Args:
        place: Folder of q-future/one-align: a copy of its files, or the repository's folder in the hub's cache.
        shelf: Where it runs, and with which models it shares the device.
        precision: What it is computed in; scores, too, are as fine as this allows (in fp16 steps of 2⁻¹¹ above 0.5).
            Default: fp16, as released, on a GPU; fp32 on a CPU.
    """

    def __init__(self, place: Path, shelf: Shelf, precision: Precision | None = None) -> None:
        self.place = place
        self.precision: Precision = precision or ("fp16" if shelf.device.type == "cuda" else "fp32")
        self._held = Held("Q-Align", self._load, PARAMETERS * DTYPES[self.precision].itemsize, shelf)

    def rate(self, frames: UInt8Array, windows: NDArray[np.int64]) -> FloatArray:
        """Return (W,) float64 in 0..1, 1 best.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            windows: (W, 3) int64 indices of the frames of each window, in order.

        Raises:
            ClipError: The network's answer is not finite.
            SetupError: The model cannot be loaded; the text names what is wrong.
        """
        logits = self.logits(frames, windows)
        worth = torch.tensor(list(LEVELS.values())).to(logits)
        scores = torch.softmax(logits, dim=-1) @ worth
        if not bool(torch.isfinite(scores).all()):
            raise ClipError(f"the answer of Q-Align is not finite in {self.precision}")
        result: FloatArray = scores.double().cpu().numpy()
        return result

    @torch.inference_mode()  # type: ignore[misc]
    def logits(self, frames: UInt8Array, windows: NDArray[np.int64]) -> Tensor:
        """Return (W, 5) logits of the levels, best first, on the device; arguments as for :meth:`rate`."""
        loaded = self._held.get()
        shown, within = np.unique(windows, return_inverse=True)
        seen = self._see(loaded, frames, shown)
        rows = list(torch.from_numpy(within.reshape(windows.shape)).to(seen.device))
        answers = in_batches(
            lambda batch: list(answer(loaded.network, loaded.question, seen[torch.stack(list(batch))])),
            rows,
            WINDOWS_AT_ONCE,
            self._held,
        )
        return torch.stack(answers)

    def _see(self, loaded: Loaded, frames: UInt8Array, shown: NDArray[np.int64]) -> Tensor:
        """Return (N, tokens, width) of the frames ``shown``; later ones are scaled while the network sees earlier ones."""
        side = loaded.network.sizes.vision.image
        with ThreadPoolExecutor(THREADS) as pool:
            scaled = [pool.submit(squared, frames[index], side) for index in shown]
            tokens = in_batches(
                lambda batch: list(self._see_batch(loaded, np.stack([f.result() for f in batch]))),
                scaled,
                FRAMES_AT_ONCE,
                self._held,
            )
        return torch.stack(tokens)

    def _see_batch(self, loaded: Loaded, pixels: UInt8Array) -> Tensor:
        images = normalised(torch.from_numpy(pixels).to(loaded.table.device), loaded.table)
        return loaded.network.see(images)

    @torch.inference_mode()  # type: ignore[misc]
    def _load(self) -> Loaded:
        folder = find_model(self.place)
        prompt = read_prompt(folder / "tokenizer.model")
        network = load_network(folder, self._held.shelf.device, DTYPES[self.precision])
        table = shades().to(network.lm_head.weight)
        return Loaded(network, pose(network, prompt, WINDOW), table)


class QAlignQuality:
    """A :class:`~vmmetrics.perception.protocols.QualityModel`: the level of the window around each frame."""

    def __init__(self, rater: WindowRater) -> None:
        self.rater = rater

    def assess(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, 1 best."""
        frames = scene.clip.frames
        return self.rater.rate(frames, windows_of(len(frames)))


def windows_of(count: int) -> NDArray[np.int64]:
    """Return (count, 3) indices of VMBench's windows: a frame between its neighbours.

    At the ends as released: the first window is the first frame three times, and the last one makes up for the missing
    neighbour on the left, or, where that frame is the first, on the right.

    >>> windows_of(4).tolist()
    [[0, 0, 0], [0, 1, 2], [1, 2, 3], [2, 2, 3]]
    >>> windows_of(2).tolist()
    [[0, 0, 0], [0, 1, 1]]
    """
    windows = np.arange(count)[:, None] + np.array([-1, 0, 1])
    windows[0] = 0
    if count == 2:
        windows[1] = (0, 1, 1)
    elif count > 2:
        windows[-1] = (count - 2, count - 2, count - 1)
    return windows
