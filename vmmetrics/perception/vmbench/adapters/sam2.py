"""SAM 2.1 Hiera-L, as the released TCS asks for it: masks of boxes in a still, and masks followed through a clip.

One network serves both: the published weights are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.perception.vmbench.models import UInt8Array
from vmmetrics.perception.vmbench.ported.sam2_net import decode_boxes, encode, prepared
from vmmetrics.perception.vmbench.ported.sam2_session import Session
from vmmetrics.perception.vmbench.ported.sam_weights import SHARED_RULES, Recipe, computing, load, lower
from vmmetrics.perception.vmbench.runtime import Held, Precision, Shelf, in_batches
from vmmetrics.types import BoolArray, FloatArray

HUB_ID = "facebook/sam2.1-hiera-large"

HOLE_AREA = 8
"""Of upstream's video predictor, where its CUDA extension is installed; without it holes stay."""

BOXES_AT_ONCE = 16
"""Boxes in one pass of the mask decoder."""

FRAMES_AT_ONCE = 4
"""Frames in one pass of the image encoder; enough to fill a GPU, and 2 GB of activations in bf16."""

BYTES = 900_000_000
"""Of the weights: 224.4 M in float32; less in bf16."""

RULES = (
    *SHARED_RULES,
    (r"^prompt_encoder\.point_embed\.", "prompt_encoder.point_embeddings.*."),
    (r"^vision_encoder\.backbone\.", "image_encoder.trunk."),
    (r"^vision_encoder\.neck\.convs\.(\d+)\.", r"image_encoder.neck.convs.\1.conv."),
    (r"\.mlp\.proj_in\.", ".mlp.layers.0."),
    (r"\.mlp\.proj_out\.", ".mlp.layers.1."),
    (r"\.o_proj\.", ".out_proj."),
    *(
        (rf"\.mask_downsampler\.layers\.{layer}\.{part}\.", f".mask_downsampler.encoder.{3 * layer + offset}.")
        for layer in range(4)
        for offset, part in enumerate(("conv", "layer_norm"))
    ),
    (r"\.mask_downsampler\.final_conv\.", ".mask_downsampler.encoder.12."),
    (r"^memory_encoder\.feature_projection\.", "memory_encoder.pix_feat_proj."),
    (r"^memory_encoder\.projection\.", "memory_encoder.out_proj."),
    (r"^memory_encoder\.memory_fuser\.", "memory_encoder.fuser."),
    (r"\.depthwise_conv\.", ".dwconv."),
    (r"\.pointwise_conv(\d)\.", r".pwconv\1."),
    (r"^(memory_encoder\.fuser\.layers\.\d+)\.scale$", r"\1.gamma"),
    (r"\.layer_norm(\d?)\.", r".norm\1."),
    (r"^(prompt_encoder|mask_decoder)\.", r"sam_\1."),
    (r"^object_pointer_proj\.", "obj_ptr_proj."),
    (r"^temporal_positional_encoding_projection_layer\.", "obj_ptr_tpos_proj."),
    (r"^memory_temporal_positional_encoding$", "maskmem_tpos_enc"),
    (r"^no_memory_embedding$", "no_mem_embed"),
    (r"^no_memory_positional_encoding$", "no_mem_pos_enc"),
    (r"^no_object_pointer$", "no_obj_ptr"),
    (r"^occlusion_spatial_embedding_parameter$", "no_obj_embed_spatial"),
)  # fmt: skip


HIERA_LARGE = {
    "vision_config": {
        "model_type": "sam2_vision_model",
        "backbone_channel_list": [1152, 576, 288, 144],
        "backbone_config": {
            "model_type": "sam2_hiera_det_model",
            "hidden_size": 144,
            "num_attention_heads": 2,
            "blocks_per_stage": [2, 6, 36, 4],
            "embed_dim_per_stage": [144, 288, 576, 1152],
            "num_attention_heads_per_stage": [2, 4, 8, 16],
            "window_size_per_stage": [8, 4, 16, 8],
            "global_attention_blocks": [23, 33, 43],
        },
    }
}
"""The size of ``sam2.1_hiera_large.pt``, as far as transformers' default is another."""

RECIPE = Recipe("Sam2VideoModel", HIERA_LARGE, RULES, name="sam2.1-hiera-large", original="sam2.1-hiera-large-original")


class Sam2:
    """A :class:`~vmmetrics.perception.vmbench.models.StillSegmenter` and ``VideoSegmenter``.

    Args:
        source: ``sam2.1_hiera_large.pt``, a folder in transformers' layout, or a hub id in the hub's cache.
        shelf: The device, and the models it is shared with.
        precision: Of matrix products and convolutions. Default: bf16 on a GPU, as the released code has it; fp32 on a
            CPU.
        hole_area: Holes up to this size are filled in masks that are followed.
        recipe: What to build from a publisher's file.
    """

    def __init__(
        self,
        source: str | Path,
        shelf: Shelf,
        precision: Precision | None = None,
        hole_area: int = HOLE_AREA,
        recipe: Recipe = RECIPE,
    ) -> None:
        self.precision: Precision = precision or ("bf16" if shelf.device.type == "cuda" else "fp32")
        self.hole_area = hole_area
        self.held: Held[Any] = Held("SAM 2", lambda: self._loaded(recipe, source), BYTES, shelf)

    def _loaded(self, recipe: Recipe, source: str | Path) -> Any:
        net = load(recipe, source)
        lower(net, self.precision)
        return net.to(self.held.shelf.device)

    def masks(self, frame: UInt8Array, boxes: FloatArray) -> BoolArray:
        """Return (N, H, W) bool, one mask per box.

        Args:
            frame: (H, W, 3) uint8 RGB.
            boxes: (N, 4) x0, y0, x1, y1 in pixels of the frame.
        """
        masks: BoolArray = (self.logits(frame, boxes) > 0).cpu().numpy()
        return masks

    def logits(self, frame: UInt8Array, boxes: FloatArray) -> Tensor:
        """Return (N, H, W) float32 on the model's device; the masks are where it is above 0."""
        net, device = self.held.get(), self.held.shelf.device
        side = net.config.image_size
        height, width = frame.shape[:2]
        prompts = torch.as_tensor(np.asarray(boxes, np.float32)) / torch.tensor([width, height] * 2) * side

        def decode(some: Sequence[Tensor]) -> list[Tensor]:
            coarse = decode_boxes(net, features, torch.stack(list(some)))
            return list(F.interpolate(coarse, (height, width), mode="bilinear", align_corners=False)[:, 0])

        with computing(device, self.precision):
            features = encode(net, prepared(frame, side, device))
            return torch.stack(in_batches(decode, list(prompts.to(device)), BOXES_AT_ONCE, self.held))

    def open(self, frames: UInt8Array) -> Session:
        """Begin a clip (T, H, W, 3) uint8 RGB."""
        at_once = FRAMES_AT_ONCE if self.held.shelf.device.type == "cuda" else 1
        return Session(self.held, frames, self.precision, self.hole_area, at_once)
