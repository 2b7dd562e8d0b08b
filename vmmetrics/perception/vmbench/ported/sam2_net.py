"""The parts of SAM 2.1 as they are put together for stills and for video, on the modules of transformers.

Its own assembly for video takes objects one at a time and departs from upstream in four places, all mended here (the
figures are of transformers 5.23 and the tests' tiny nets):

- The memory of a prompted frame: upstream encodes the mask as it comes back from low resolution. 6e-3 in logits of 2.
- The pointer of a prompted object: upstream takes the single mask's token, it the best of three. 8e-3 in logits of 2.
- Position encodings under autocast: upstream computes them in float32. Up to 0.028 in values of 1.
- The pyramid's last level under autocast: upstream leaves the sum in float32. 8e-3 in values of 2.

References:
    Ravi et al., SAM 2: Segment Anything in Images and Videos (arXiv 2408.00714).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.perception.vmbench.runtime import normalised, on_device
from vmmetrics.types import UInt8Array

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""ImageNet's, of pixels in 0..1, R, G and B."""

ABSENT = -1024.0
"""Mask logit of an object that is not in the frame."""

SURE = 10.0
"""Mask logit of a pixel inside a given mask; outside it is the negative."""

SINE_BASE = 10000.0
"""Of the position encodings, as in Vaswani et al. 2017, section 3.5."""

SINE_EPSILON = 1e-6
"""What upstream adds to a length before it divides by it."""


class Features(NamedTuple):
    """Features of frames from the image encoder.

    Attributes:
        fine: (B, C/8, S/4, S/4), S the side of the input.
        middle: (B, C/4, S/8, S/8).
        coarse: (B, C, S/16, S/16).
    """

    fine: Tensor
    middle: Tensor
    coarse: Tensor

    def at(self, index: int) -> Features:
        """Those of one of the frames."""
        return Features(*(level[index : index + 1] for level in self))

    def to(self, device: torch.device) -> Features:
        """Return the features on ``device``."""
        return Features(*(level.to(device) for level in self))


class DecodedMasks(NamedTuple):
    """Answer of the mask decoder for N objects.

    Attributes:
        masks: (N, 1, S/4, S/4) float32 logits, :data:`ABSENT` where the object is.
        pointers: (N, C), what is remembered of an object beside its mask; all that are not there have the same.
        scores: (N, 1) logit of its being in the frame.
    """

    masks: Tensor
    pointers: Tensor
    scores: Tensor


def prepared(frames: UInt8Array, side: int, device: torch.device) -> Tensor:
    """Resize to squares, bilinear and antialiased, and normalise.

    Upstream does just this with stills. Video files it lets decord resize, from the decoder's YUV and without
    antialiasing: that differs by 1.3 to 2.4 grey levels on average, 4 to 11 for one pixel in a hundred
    (``docs/vmbench-preset.md``).

    Args:
        frames: (B, H, W, 3) uint8 RGB.
        side: Side of the square.
        device: Where it is done.

    Returns:
        (B, 3, side, side) float32.
    """
    pixels = on_device(frames, device).permute(0, 3, 1, 2).float() / 255
    square = F.interpolate(pixels, (side, side), mode="bilinear", align_corners=False, antialias=True)
    return normalised(square, MEAN, STD)


def encode(net: Any, pixels: Tensor) -> Features:
    """Run the image encoder on (B, 3, S, S) of :func:`prepared`."""
    stages = net.vision_encoder.backbone(pixels).intermediate_hidden_states  # finest first, channels last
    laterals = [
        conv(stage.permute(0, 3, 1, 2)) for conv, stage in zip(net.vision_encoder.neck.convs, stages[::-1], strict=True)
    ]
    coarsest, coarse, middle, fine = laterals
    coarse = coarse + F.interpolate(coarsest.float(), scale_factor=2.0, mode="nearest")
    return Features(net.mask_decoder.conv_s0(fine), net.mask_decoder.conv_s1(middle), coarse)


def decode_boxes(net: Any, features: Features, boxes: Tensor) -> Tensor:
    """Return (N, 1, S/4, S/4) float32 mask logits for boxes (N, 4) in pixels of the square, of one frame."""
    sparse, dense = net.prompt_encoder(input_points=None, input_labels=None, input_boxes=boxes[None], input_masks=None)
    coarse = features.coarse + net.no_memory_embedding.reshape(1, -1, 1, 1)
    masks: Tensor = _decode(net, features, coarse, sparse, dense, several=False)[0]
    return masks[0].float()


def decode_objects(net: Any, features: Features, coarse: Tensor, masks: Tensor | None) -> DecodedMasks:
    """Run the mask decoder on N objects of one frame without points or boxes.

    Args:
        net: The network.
        features: Of the frame.
        coarse: (N, C, S/16, S/16) in place of ``features.coarse``.
        masks: (N, 1, S/4, S/4) to prompt with: one mask comes back; None: the best of three.
    """
    count = len(coarse)
    sparse, dense = net.prompt_encoder(
        input_points=coarse.new_zeros(count, 1, 1, 2, dtype=torch.float32),
        input_labels=torch.full((count, 1, 1), -1, dtype=torch.int32, device=coarse.device),  # no point
        input_boxes=None,
        input_masks=masks,
    )
    logits, qualities, tokens, scores = _decode(net, features, coarse, sparse, dense, several=masks is None)
    scores = scores[:, 0]
    here = scores > 0
    best = qualities[:, 0].argmax(dim=-1)
    rows = torch.arange(count, device=coarse.device)
    chosen = torch.where(here[:, :, None], logits[rows, 0, best], ABSENT).float()[:, None]
    pointers = torch.where(here, net.object_pointer_proj(tokens[rows, 0, best]), net.no_object_pointer)
    return DecodedMasks(chosen, pointers, scores)


def _decode(net: Any, features: Features, coarse: Tensor, sparse: Tensor, dense: Tensor, *, several: bool) -> Any:
    """Run the mask decoder on (N, C, S/16, S/16)."""
    count = len(coarse)
    return net.mask_decoder(
        image_embeddings=coarse,
        image_positional_embeddings=net.get_image_wide_positional_embeddings().repeat(count, 1, 1, 1),
        sparse_prompt_embeddings=sparse,
        dense_prompt_embeddings=dense,
        multimask_output=several,
        high_resolution_features=[features.fine.expand(count, -1, -1, -1), features.middle.expand(count, -1, -1, -1)],
    )


def remember(net: Any, features: Features, coverage: Tensor, here: Tensor) -> Tensor:
    """Encode how objects lie in a frame.

    Args:
        net: The network.
        features: Of the frame.
        coverage: (N, 1, S, S) in 0..1, how much of each pixel is the object's.
        here: (N, 1) bool, whether it is in the frame.

    Returns:
        (N, S/16 * S/16, M), in the dtype that convolutions have.
    """
    config = net.config
    signal = coverage * config.sigmoid_scale_for_mem_enc + config.sigmoid_bias_for_mem_enc
    memory, _ = net.memory_encoder(features.coarse.expand(len(coverage), -1, -1, -1), signal)
    missing = (~here).float()[:, :, None, None] * net.occlusion_spatial_embedding_parameter[:, :, None, None]
    return (memory + missing).to(memory.dtype).flatten(2).transpose(1, 2)


def recall(net: Any, features: Features, memories: Tensor, positions: Tensor, pointers: int) -> Tensor:
    """Tell objects in a frame by what is remembered of them.

    Args:
        net: The network.
        features: Of the frame.
        memories: (K, N, M) tokens.
        positions: (K, N, M) where and when they are of.
        pointers: How many of the K, at the end, are of pointers and thus of no place.

    Returns:
        (N, C, S/16, S/16), in place of the frame's own coarse features.
    """
    _, channels, height, width = features.coarse.shape
    count = memories.shape[1]
    here = plane_positions(height, width, channels, features.coarse.device).to(features.coarse.dtype)
    answer = net.memory_attention(
        features.coarse.flatten(2).permute(2, 0, 1).expand(-1, count, -1),
        memories,
        here[:, None].expand(-1, count, -1),
        positions,
        pointers,
    )
    return answer[0].transpose(1, 2).reshape(count, channels, height, width)


@lru_cache(maxsize=4)
def plane_positions(height: int, width: int, channels: int, device: torch.device) -> Tensor:
    """Encode the places of a grid, (height * width, channels) float32: the first half of the channels y, the rest x."""
    half = channels // 2
    pair = torch.arange(half, dtype=torch.float32, device=device) // 2
    periods = SINE_BASE ** (2 * pair / half)
    axes = []
    for length in (height, width):
        steps = torch.arange(1, length + 1, dtype=torch.float32, device=device)
        angles = (steps / (length + SINE_EPSILON) * 2 * math.pi)[:, None] / periods
        axes.append(torch.stack((angles[:, 0::2].sin(), angles[:, 1::2].cos()), dim=2).flatten(1))
    rows = axes[0][:, None].expand(-1, width, -1)
    columns = axes[1][None].expand(height, -1, -1)
    return torch.cat((rows, columns), dim=2).flatten(0, 1)


def time_positions(times: Tensor, channels: int) -> Tensor:
    """Encode times (K,), (K, channels) float32: sines in the first half of the channels, cosines in the second."""
    half = channels // 2
    pair = torch.arange(half, dtype=torch.float32, device=times.device) // 2
    angles = times[:, None] / SINE_BASE ** (2 * pair / half)
    return torch.cat((angles.sin(), angles.cos()), dim=1)
