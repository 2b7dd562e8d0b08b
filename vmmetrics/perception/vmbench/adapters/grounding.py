"""Grounding DINO Swin-B: boxes of the objects that a text names.

The network is transformers'. Its attention implementation must be left alone: set to ``eager`` it adds the text's
boolean mask to the scores as a number, and no box agrees with upstream's any more (measured on 5.23; the text encoder
is therefore asked for ``sdpa`` by name).

References:
    Liu et al., Grounding DINO: Marrying DINO with Grounded Pre-Training for Open-Set Object Detection
    (arXiv 2303.05499).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench import runtime
from vmmetrics.perception.vmbench.checkpoints import load_hub
from vmmetrics.perception.vmbench.runtime import CachedModel, DeviceCache, Precision
from vmmetrics.types import FloatArray, UInt8Array
from vmmetrics.utils.tensors import reading

BOX_THRESHOLD = 0.25
"""A query counts when its best token's probability is above this; VMBench's setting in PAS and TCS."""

SHORT_SIDE, LONG_SIDE = 800, 1333
"""Pixels: frames are resized to the first along their short side, unless the long one then exceeded the second."""
PIXEL_MEAN, PIXEL_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""ImageNet's, RGB, of values in 0..1."""

FRAMES_AT_ONCE = 4
"""Most frames in one pass on a GPU; on a CPU one, where more gain nothing."""
THREADS = 4
"""That resize frames while the network looks at those before them."""

SPECIAL_TOKENS = {"[CLS]": 101, "[SEP]": 102, ".": 1012, "?": 1029}
"""Where phrases end: transformers has these ids built in, so the vocabulary must agree."""

NAME = "grounding-dino-base"
"""What ``vmmetrics weights`` calls the checkpoint, its tokenizer included."""
_BYTES = 233_000_000 * 4


class GroundingDINO:
    """Grounding DINO Swin-B through transformers. Nothing is ever downloaded.

    Args:
        folder: Checkpoint ``grounding-dino-base``.
        cache: The device and the models that share it.
        precision: What matrix products are computed in; ``"fp32"``, as released.
    """

    def __init__(self, folder: Path, cache: DeviceCache, precision: Precision = "fp32") -> None:
        self.precision: Precision = precision
        self.device = cache.device

        def load() -> tuple[Any, Any]:
            return load_grounding_dino(folder).to(cache.device), load_tokenizer(folder)

        self._model = CachedModel("Grounding DINO", load, _BYTES, cache, lambda loaded: loaded[0])

    def boxes(self, frame: UInt8Array, text: str) -> FloatArray:
        """Do :meth:`boxes_in` for a single frame."""
        return self.boxes_in([frame], text)[0]

    def boxes_in(self, frames: Sequence[UInt8Array], text: str) -> list[FloatArray]:
        """Return per frame (N, 4) float32 boxes in the order of the queries.

        A box is centre x and y, width, height, in shares of the frame.

        Args:
            frames: (H, W, 3) uint8 RGB each, of one size.
            text: What to find; made lower case and to end in a dot.

        Raises:
            SetupError: The checkpoint or the tokenizer is missing or wrong.
        """

        def confident_boxes(images: Sequence[Future[UInt8Array]]) -> list[FloatArray]:
            pixels = prepared(np.stack([image.result() for image in images]), self.device)
            logits, boxes = self.queries(pixels, caption(text))
            sure = logits.sigmoid().amax(dim=-1) > BOX_THRESHOLD
            return [np.asarray(of_frame[mask].numpy()) for of_frame, mask in zip(boxes, sure, strict=True)]

        with ThreadPoolExecutor(THREADS) as pool:
            images = [pool.submit(shrunk, frame) for frame in frames]
            return runtime.in_batches(confident_boxes, images, self._model.at_once(FRAMES_AT_ONCE), self._model)

    def queries(self, pixels: Tensor, text: str) -> tuple[Tensor, Tensor]:
        """Return every query's (B, 900, 256) logits over the text's tokens and (B, 900, 4) box, float32, on the CPU.

        Args:
            pixels: (B, 3, h, w) float32 from :func:`prepared`.
            text: From :func:`caption`.
        """
        model, tokenizer = self._model.get()
        with runtime.computing(self.device, self.precision):
            tokens = tokenizer([text] * len(pixels), return_tensors="pt").to(self.device)
            answer = model(pixel_values=pixels.to(self.device), **tokens)
        return answer.logits.float().cpu(), answer.pred_boxes.float().cpu()


def shrunk(frame: UInt8Array) -> UInt8Array:
    """Resize a frame (H, W, 3) uint8 as upstream does, to (h, w, 3) of :func:`resized`."""
    size = resized(*frame.shape[:2])
    if size == frame.shape[:2]:
        return frame
    return np.array(Image.fromarray(np.ascontiguousarray(frame)).resize(size[::-1], Image.Resampling.BILINEAR))


def prepared(images: UInt8Array, device: torch.device) -> Tensor:
    """Normalise (B, h, w, 3) uint8 of :func:`shrunk` on ``device``, bit for bit as upstream does on the CPU.

    Returns:
        (B, 3, h, w) float32.
    """
    pixels = runtime.on_device(images, device).permute(0, 3, 1, 2).float().contiguous()
    # Divisors are tensors: by a number CUDA multiplies with its reciprocal, which is not the same to the last bit.
    white = runtime.on_device(np.array([255], np.float32), device)
    return runtime.normalised(pixels / white, PIXEL_MEAN, PIXEL_STD)


def resized(height: int, width: int) -> tuple[int, int]:
    """Height and width that a frame is resized to.

    >>> resized(480, 720), resized(720, 1280)
    ((800, 1200), (750, 1333))
    """
    short, long = sorted((height, width))
    target = SHORT_SIDE
    if long / short * target > LONG_SIDE:
        target = round(LONG_SIDE * short / long)
    if short == target:
        return height, width
    other = int(target * long / short)
    return (target, other) if height <= width else (other, target)


def caption(text: str) -> str:
    """Text as the network was trained on it.

    >>> caption(" A Horse ")
    'a horse.'
    """
    lowered = text.lower().strip()
    return lowered if lowered.endswith(".") else lowered + "."


def load_grounding_dino(folder: Path) -> Any:
    """Load the network in float32 and evaluation mode, every weight from the checkpoint and every one used.

    Raises:
        SetupError: transformers is not installed, or the checkpoint is missing, damaged or of another network.
    """
    # Custom kernels would be fetched.
    net = load_hub("GroundingDinoForObjectDetection", folder, NAME, disable_custom_kernels=True)
    net.model.text_backbone.set_attn_implementation("sdpa")
    return net


def load_tokenizer(folder: Path) -> Any:
    """Load BERT's uncased tokenizer from the checkpoint's folder.

    Raises:
        SetupError: It is not there, or has another vocabulary.
    """
    with runtime.needed():
        from transformers import BertTokenizer
    mend = f"fetch it with: vmmetrics weights fetch {NAME}"
    if not folder.is_dir():
        raise SetupError(f"{folder}: no such folder for BERT's tokenizer; {mend}")
    with reading(f"{folder}: holds no tokenizer; {mend}. The cause"):
        tokenizer = BertTokenizer.from_pretrained(str(folder), local_files_only=True)
    token_ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    if token_ids != SPECIAL_TOKENS:
        raise SetupError(f"{folder}: expected the vocabulary of bert-base-uncased but its ids are {token_ids}")
    return tokenizer
