"""Quality of frames as VMBench's motion smoothness has it: Q-Align's level for a window around each of them.

Next to the released script, which sends every window by itself through the whole network: a frame is looked at once,
not in each of its three windows; the words before the images are read once; and of the answer only the five levels at
the last place are computed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vmmetrics.errors import ClipError
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.vmbench.ported import qalign_network
from vmmetrics.perception.vmbench.ported.qalign_files import load_network
from vmmetrics.perception.vmbench.ported.qalign_vision import normalised, shades, squared
from vmmetrics.perception.vmbench.runtime import DTYPES, Held, Precision, Shelf, in_batches
from vmmetrics.types import FloatArray, IntArray, UInt8Array

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
class LoadedQAlign:
    """The network, ready to be shown windows."""

    network: qalign_network.Network
    question: qalign_network.PosedPrompt
    table: Tensor

    @classmethod
    def of(cls, network: qalign_network.Network, prompt: qalign_network.Prompt) -> LoadedQAlign:
        """Read the prompt with a network that is on its device, without gradients."""
        with torch.inference_mode():
            return cls(network, qalign_network.pose(network, prompt, WINDOW), shades().to(network.lm_head.weight))


class QAlignRater:
    """Q-Align's level of windows of frames. Nothing is ever downloaded.

    Args:
        folder: Checkpoint ``one-align``.
        shelf: The device, and the models it is shared with.
        precision: What it is computed in; scores, too, are as fine as this allows (in fp16 steps of 2⁻¹¹ above 0.5).
            Default: fp16, as released, on a GPU; fp32 on a CPU.
    """

    def __init__(self, folder: Path, shelf: Shelf, precision: Precision | None = None) -> None:
        self.folder = folder
        self.device = shelf.device
        self.precision: Precision = precision or ("fp16" if shelf.device.type == "cuda" else "fp32")
        self._held = Held("Q-Align", self.load, PARAMETERS * DTYPES[self.precision].itemsize, shelf)

    def rate(self, frames: UInt8Array, windows: IntArray) -> FloatArray:
        """Return (W,) float64 in 0..1, 1 best.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            windows: (W, 3) int64 indices of the frames of each window, in order.

        Raises:
            ClipError: The network's answer is not finite.
            SetupError: The model cannot be loaded; the text names what is wrong.
        """
        logits = self.logits(frames, windows)
        worth = torch.tensor(list(qalign_network.LEVELS.values())).to(logits)
        scores = torch.softmax(logits, dim=-1) @ worth
        if not bool(torch.isfinite(scores).all()):
            raise ClipError(f"the answer of Q-Align is not finite in {self.precision}")
        return np.asarray(scores.double().cpu().numpy())

    def logits(self, frames: UInt8Array, windows: IntArray) -> Tensor:
        """Return (W, 5) logits of the levels, best first, on the device; arguments as for :meth:`rate`."""
        loaded = self._held.get()
        shown, within = np.unique(windows, return_inverse=True)

        def answers(rows: Sequence[IntArray]) -> list[Tensor]:
            batch = torch.from_numpy(np.stack(rows)).to(self.device)
            return list(qalign_network.answer(loaded.network, loaded.question, seen[batch]))

        with torch.inference_mode():
            seen = self._see(loaded, [frames[index] for index in shown])
            rows = list(within.reshape(windows.shape))
            return torch.stack(in_batches(answers, rows, WINDOWS_AT_ONCE, self._held))

    def _see(self, loaded: LoadedQAlign, frames: Sequence[UInt8Array]) -> Tensor:
        """Return (T, tokens, width) of frames; later ones are scaled while the network sees earlier ones."""
        side = loaded.network.sizes.vision.image_size

        def tokens(batch: Sequence[Future[UInt8Array]]) -> list[Tensor]:
            pixels = torch.from_numpy(np.stack([frame.result() for frame in batch])).to(self.device)
            return list(loaded.network.see(normalised(pixels, loaded.table)))

        with ThreadPoolExecutor(THREADS) as pool:
            scaled = [pool.submit(squared, frame, side) for frame in frames]
            return torch.stack(in_batches(tokens, scaled, FRAMES_AT_ONCE, self._held))

    def load(self) -> LoadedQAlign:
        """Read the model from :attr:`folder`; a subclass may get it from elsewhere."""
        prompt = qalign_network.read_prompt(self.folder / "tokenizer.model")
        return LoadedQAlign.of(load_network(self.folder, self.device, DTYPES[self.precision]), prompt)


class QAlignQuality:
    """A :class:`~vmmetrics.perception.scene.QualityModel`: the level of the window around each frame."""

    def __init__(self, rater: QAlignRater) -> None:
        self.rater = rater

    def assess(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, 1 best."""
        frames = scene.clip.frames
        return self.rater.rate(frames, windows_of(len(frames)))


def windows_of(count: int) -> IntArray:
    """Return (count, 3) indices of VMBench's windows: a frame between its neighbours.

    At the ends as released: the first window is the first frame three times, and the last one makes up for the missing
    neighbour on the left, or, where that frame is the first, on the right.

    >>> windows_of(4).tolist()
    [[0, 0, 0], [0, 1, 2], [1, 2, 3], [2, 2, 3]]
    >>> windows_of(2).tolist()
    [[0, 0, 0], [0, 1, 1]]
    """
    windows: IntArray = np.arange(count, dtype=np.int64)[:, None] + np.array([-1, 0, 1])
    windows[0] = 0
    if count == 2:
        windows[1] = (0, 1, 1)
    elif count > 2:
        windows[-1] = (count - 2, count - 2, count - 1)
    return windows
