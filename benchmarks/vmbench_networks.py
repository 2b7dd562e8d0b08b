"""The published models with random weights, for :mod:`benchmarks.vmbench_speed`: at full size, or small for a CPU.

They are built on the device and put where an adapter would load a checkpoint; everything else is the adapters' own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.grounding_parity import tiny_config, write_tokenizer
from benchmarks.parity import publishers
from vmmetrics.functional.cas import LEVELS
from vmmetrics.perception.scene import Models
from vmmetrics.perception.views import ViewPlan
from vmmetrics.perception.vmbench import preset
from vmmetrics.perception.vmbench.adapters import cotracker, grounding, qalign
from vmmetrics.perception.vmbench.ported import rtm_networks
from vmmetrics.perception.vmbench.ported.qalign_network import LanguageSize, Network, Prompt, Sizes
from vmmetrics.perception.vmbench.ported.qalign_vision import AbstractorSize, VisionSize
from vmmetrics.perception.vmbench.ported.videomae import SIZES, Architecture, VideoMAE
from vmmetrics.perception.vmbench.runtime import DTYPES, CachedModel, Precision, lower

SMALL_TRACKER = (32, 48)
"""Rows and columns in the place of CoTracker's 384 x 512."""
SMALL_SIDE = 128
SMALL_SAM = {
    "vision_config": {
        "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "output_channels": 32,
        "image_size": SMALL_SIDE, "window_size": 5, "global_attn_indexes": [2], "num_pos_feats": 16, "mlp_dim": 128,
    },
    "prompt_encoder_config": {"hidden_size": 32, "image_size": SMALL_SIDE},
    "mask_decoder_config": {"hidden_size": 32, "mlp_dim": 64, "iou_head_hidden_dim": 32},
}  # fmt: skip
SMALL_SAM2 = {
    "image_size": SMALL_SIDE,
    "vision_config": {
        "model_type": "sam2_vision_model",
        "backbone_channel_list": [128, 64, 32, 16],
        "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
        "fpn_hidden_size": 128,
        "backbone_config": {
            "model_type": "sam2_hiera_det_model",
            "image_size": [SMALL_SIDE, SMALL_SIDE],
            "hidden_size": 16,
            "num_attention_heads": 1,
            "blocks_per_stage": [1, 2, 3, 1],
            "embed_dim_per_stage": [16, 32, 64, 128],
            "num_attention_heads_per_stage": [1, 2, 4, 8],
            "window_size_per_stage": [8, 4, 6, 4],
            "window_positional_embedding_background_size": [3, 3],
            "global_attention_blocks": [4],
        },
    },
    "prompt_encoder_config": {"hidden_size": 128, "image_size": SMALL_SIDE},
    "mask_decoder_config": {"hidden_size": 128},
    "memory_attention_hidden_size": 128,
    "memory_attention_num_layers": 2,
    "memory_attention_feed_forward_hidden_size": 64,
    "memory_attention_rope_feat_sizes": [8, 8],
    "memory_encoder_hidden_size": 128,
    "mask_downsampler_embed_dim": 128,
    "memory_fuser_embed_dim": 128,
    "memory_fuser_intermediate_dim": 512,
}
SMALL_QALIGN = Sizes(
    VisionSize(hidden_size=128, num_hidden_layers=6, num_attention_heads=4, intermediate_size=512, image_size=224),
    AbstractorSize(num_learnable_queries=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256),
    LanguageSize(vocab_size=64, hidden_size=128, num_hidden_layers=6, num_attention_heads=4, intermediate_size=384),
)
SMALL_VIDEOMAE = Architecture(width=192, depth=4, heads=3, mlp_width=768, patch=32)
SMALL_RTM = rtm_networks.RTMSize(0.125, 0.17)


def random_models(device: str, *, small: bool, tracker: bool = True) -> Models:
    """Return the preset's models with random weights behind them; without ``tracker``, CoTracker is left as it is."""
    models = preset.build_models({}, device)
    released: Any = models.released
    place, half = torch.device(device), device != "cpu"
    fp16: Precision = "fp16" if half else "fp32"
    puts: list[tuple[CachedModel[Any], Callable[[], Any]]] = [
        (released.grounder._model, lambda: _dino(place, small=small)),
        (
            released.sam.model,
            lambda: _mask_net(publishers.SAM.kind, SMALL_SAM if small else publishers.SAM.options, place, "fp32"),
        ),
        (
            released.sam2.model,
            lambda: _mask_net(
                publishers.SAM2.kind, SMALL_SAM2 if small else publishers.SAM2.options, place, released.sam2.precision
            ),
        ),
        (released.people._model, lambda: _rtm(rtm_networks.RTMDet, place, small=small)),
        (released.keypoints._model, lambda: _rtm(rtm_networks.RTMPose, place, small=small)),
        (models.quality._model, lambda: _qalign(place, fp16, small=small)),  # type: ignore[attr-defined]
        (models.plausibility._model, lambda: _videomae(place, small=small)),  # type: ignore[union-attr]
    ]
    if tracker:
        puts.append((released.points._model, lambda: cotracker._Loaded(_tracker(small=small), place)))
    for held, build in puts:
        held.load = build
        held.get()  # now, so that no clip pays for it
    if small:
        models.plausibility.plan = ViewPlan()  # type: ignore[union-attr]
    return models


def on(device: torch.device, build: Callable[[], Any]) -> Any:
    """Build a network where it will run, in evaluation mode, without gradients."""
    torch.manual_seed(0)
    with device:
        net = build()
    return net.eval().requires_grad_(False)


def _dino(device: torch.device, *, small: bool) -> tuple[Any, Any]:
    config = tiny_config() if small else publishers.swin_b_config()
    net = on(device, lambda: transformers.GroundingDinoForObjectDetection(config))
    net.model.text_backbone.set_attn_implementation("sdpa")
    with tempfile.TemporaryDirectory() as folder:
        return net, grounding.load_tokenizer(write_tokenizer(Path(folder)))


def _mask_net(kind: str, options: Mapping[str, Any], device: torch.device, precision: Precision) -> Any:
    net_class = getattr(transformers, kind)
    net = on(device, lambda: net_class(net_class.config_class(**options)))
    lower(net, precision)
    return net


def _rtm(kind: Any, device: torch.device, *, small: bool) -> Any:
    net = on(device, lambda: kind(SMALL_RTM if small else rtm_networks.MEDIUM))

    def run(pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.inference_mode():
            first, second = net(pixels)
        return first.float().cpu(), second.float().cpu()

    return run


def _qalign(device: torch.device, precision: Precision, *, small: bool) -> qalign.LoadedQAlign:
    def build() -> Network:
        before = torch.get_default_dtype()
        torch.set_default_dtype(DTYPES[precision])  # 8 billion numbers, never in float32
        try:
            return Network(SMALL_QALIGN if small else Sizes())
        finally:
            torch.set_default_dtype(before)

    net = on(device, build)
    for name, weight in (*net.named_parameters(), *net.named_buffers()):
        if weight.ndim > 1:
            weight.normal_(0, 0.02)
        else:
            weight.fill_(0.0 if name.endswith("bias") else 1.0)
    prompt = Prompt(before=(1, *range(3, 17)), after=tuple(range(17, 29)), levels=tuple(range(30, 35)))
    return qalign.LoadedQAlign.of(net, prompt)


def _videomae(device: torch.device, *, small: bool) -> VideoMAE:
    net: VideoMAE = on(device, lambda: VideoMAE(SMALL_VIDEOMAE if small else SIZES["giant"], len(LEVELS)))
    net.initialise(0)
    return net


def _tracker(*, small: bool) -> Any:
    with cotracker._importable(cotracker.find_cotracker()):
        from cotracker.models.core.cotracker.cotracker3_offline import CoTrackerThreeOffline
        from cotracker.predictor import CoTrackerPredictor
    predictor = CoTrackerPredictor(checkpoint=None, v2=False, offline=True, window_len=cotracker.WINDOW)
    if small:
        settings = {"stride": 4, "corr_radius": 3, "window_len": cotracker.WINDOW, "model_resolution": SMALL_TRACKER}
        predictor.model, predictor.interp_shape = CoTrackerThreeOffline(**settings).eval(), SMALL_TRACKER
    return predictor
