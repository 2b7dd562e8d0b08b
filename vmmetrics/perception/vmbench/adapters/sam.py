"""Masks of boxes in a still by SAM ViT-H, as the released PAS asks for them.

References:
    Kirillov et al., Segment Anything (arXiv 2304.02643).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.perception.vmbench.checkpoints import load_hub
from vmmetrics.perception.vmbench.runtime import CachedModel, DeviceCache, computing, in_batches, normalised, on_device
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Of the pixels that SAM was trained on, in grey levels, R, G and B: ImageNet's."""

DECODER_EPSILON = 1e-5
"""Of the LayerNorms in the mask decoder's transformer: torch's default, which upstream takes; transformers builds them
with 1e-6, which moves logits (tests/perception/vmbench/test_sam.py)."""

BOXES_AT_ONCE = 16
"""Boxes in one pass of the mask decoder; 16 take about 2 GB at the published size."""

BYTES = 2_570_000_000
"""Of the weights: 641 M in float32."""


class Sam:
    """Masks of boxes in one frame.

    Args:
        folder: Checkpoint ``sam-vit-huge``.
        cache: The device and the models that share it.
    """

    def __init__(self, folder: Path, cache: DeviceCache) -> None:
        self.model: CachedModel[Any] = CachedModel("SAM", lambda: _loaded(folder).to(cache.device), BYTES, cache)

    def masks(self, frame: UInt8Array, boxes: FloatArray) -> BoolArray:
        """Return (N, H, W) bool, one mask per box.

        Args:
            frame: (H, W, 3) uint8 RGB.
            boxes: (N, 4) x0, y0, x1, y1 in pixels of the frame.
        """
        return np.asarray((self.logits(frame, boxes) > 0).cpu().numpy())

    def logits(self, frame: UInt8Array, boxes: FloatArray) -> Tensor:
        """Return (N, H, W) float32 on the model's device; the masks are where it is above 0."""
        net, device = self.model.get(), self.model.cache.device
        side = net.config.vision_config.image_size
        height, width = frame.shape[:2]
        inner = fitted(height, width, side)
        scale = torch.tensor([inner[1] / width, inner[0] / height] * 2)
        prompts = (torch.as_tensor(np.asarray(boxes, np.float32)) * scale).to(device)

        def decode(some: Sequence[Tensor]) -> list[Tensor]:
            answer = net(image_embeddings=embedding, input_boxes=torch.stack(list(some))[None], multimask_output=False)
            coarse = answer.pred_masks[0].float()
            square = F.interpolate(coarse, (side, side), mode="bilinear", align_corners=False)
            inside = square[..., : inner[0], : inner[1]]
            return list(F.interpolate(inside, (height, width), mode="bilinear", align_corners=False)[:, 0])

        with computing(device, "fp32"):
            embedding = self.model.guarded(lambda: net.get_image_embeddings(prepared(frame, side, device)))
            return torch.stack(in_batches(decode, list(prompts), BOXES_AT_ONCE, self.model))


def fitted(height: int, width: int, side: int) -> tuple[int, int]:
    """Height and width with the longer of the two at ``side``.

    >>> fitted(480, 720, 1024)
    (683, 1024)
    """
    scale = side / max(height, width)
    return int(height * scale + 0.5), int(width * scale + 0.5)


def prepared(frame: UInt8Array, side: int, device: torch.device) -> Tensor:
    """Resize, normalise, and pad below and on the right.

    The resize is Pillow's on uint8, as upstream's, to the pixel; zeros are padded after the normalisation.

    Args:
        frame: (H, W, 3) uint8 RGB.
        side: Side of the network's square input.
        device: Where all but the resize is done.

    Returns:
        (1, 3, side, side) float32.
    """
    height, width = fitted(frame.shape[0], frame.shape[1], side)
    image = Image.fromarray(frame).resize((width, height), Image.Resampling.BILINEAR)
    pixels = on_device(np.array(image), device).permute(2, 0, 1).float()
    return F.pad(normalised(pixels, MEAN, STD), (0, side - width, 0, side - height))[None]


def _loaded(folder: Path) -> Any:
    net = load_hub("SamModel", folder, "sam-vit-huge")
    for layer in net.mask_decoder.transformer.layers:
        for norm in (layer.layer_norm1, layer.layer_norm2, layer.layer_norm3, layer.layer_norm4):
            norm.eps = DECODER_EPSILON
    return net
