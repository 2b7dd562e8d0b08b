"""Make sam2.npz: what sam2 answers with random weights at a tiny size, for stills and for video.

Run where sam2 and segment-anything's recipe (:mod:`make_sam`) are importable, beside torch and torchvision:
``python tests/data/vmbench/make_sam2.py``. The file kept here was made with the sam2 that VMBench's Grounded-SAM-2
carries (its video predictor is sam2 1.1.0's ``sam2_video_predictor_legacy.py``), torch 2.15.0 and torchvision 0.29.2 on
a CPU. Upstream's CUDA operator for connected components is replaced by SciPy's labels; everything else is upstream's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from make_sam import epsilons, random_frame, random_weights  # noqa: E402

SEED = 0
KINDS = {"calm": (0.5, 0, False), "half": (0.5, 0, True), "lively": (0.7, 0, False), "filled": (0.7, 8, False)}
"""Gain of the weights (the calm net has every object in every frame, the lively one loses and finds them), area of
holes that are filled, and whether in bfloat16."""
SIDE, WIDTH, CHANNELS, MEMORY = 128, 16, 128, 64
STAGES, HEADS, WINDOWS, GLOBAL, BACKGROUND = (1, 2, 3, 1), 1, (8, 4, 6, 4), (4,), (3, 3)
LAYERS, HIDDEN = 2, 64  # of the memory attention

SIZE, FRAMES = (60, 100), 12
BOXES = [[10, 8, 50, 40], [30.5, 20.25, 95, 58], [0, 0, 100, 60]]
SHOWN = (slice(None, None, 6), slice(None, None, 6))  # pixels whose logits are kept


def clip() -> np.ndarray:
    """(T, H, W, 3) uint8: a picture that moves under changing noise."""
    wide = random_frame(SIZE[0] + 2 * FRAMES, SIZE[1] + 3 * FRAMES, SEED)
    moving = [wide[2 * t : 2 * t + SIZE[0], 3 * t : 3 * t + SIZE[1]] for t in range(FRAMES)]
    noise = np.random.default_rng(SEED).integers(-10, 11, (FRAMES, *SIZE, 3))
    return np.clip(np.stack(moving) + noise, 0, 255).astype(np.uint8)


def prompts() -> dict[str, tuple[int, dict[int, np.ndarray], int, bool]]:
    """Calls in order, each after a reset: first frame, masks by object id, frames to follow, whether backwards."""
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    round_one = (x - 30) ** 2 + (y - 25) ** 2 < 200
    square = (abs(x - 70) < 15) & (abs(y - 35) < 12)
    pierced = square & ~((abs(x - 66) <= 2) & (abs(y - 35) <= 2))
    return {
        "long": (0, {1: round_one, 2: square}, 9, False),
        "reset": (5, {7: pierced, 2: round_one, 9: np.zeros(SIZE, bool)}, 3, False),
        "backwards": (5, {4: pierced | round_one}, 4, True),
    }


def parts() -> dict[str, object]:
    """Upstream's modules at the tiny size, untrained."""
    from sam2.modeling.backbones.hieradet import Hiera
    from sam2.modeling.backbones.image_encoder import FpnNeck, ImageEncoder
    from sam2.modeling.memory_attention import MemoryAttention, MemoryAttentionLayer
    from sam2.modeling.memory_encoder import CXBlock, Fuser, MaskDownSampler, MemoryEncoder
    from sam2.modeling.position_encoding import PositionEmbeddingSine
    from sam2.modeling.sam.transformer import RoPEAttention

    def sine(channels: int) -> PositionEmbeddingSine:
        return PositionEmbeddingSine(num_pos_feats=channels, normalize=True, scale=None, temperature=10000)

    trunk = Hiera(
        embed_dim=WIDTH, num_heads=HEADS, stages=STAGES, window_spec=WINDOWS, global_att_blocks=GLOBAL,
        window_pos_embed_bkg_spatial_size=BACKGROUND,
    )  # fmt: skip
    neck = FpnNeck(
        sine(CHANNELS), CHANNELS, backbone_channel_list=[WIDTH * 2**i for i in (3, 2, 1, 0)],
        fpn_interp_model="nearest", fpn_top_down_levels=[2, 3],
    )  # fmt: skip
    rope = {
        "rope_theta": 10000.0, "feat_sizes": (SIDE // 16,) * 2, "embedding_dim": CHANNELS, "num_heads": 1,
        "downsample_rate": 1, "dropout": 0.1,
    }  # fmt: skip
    layer = MemoryAttentionLayer(
        activation="relu", dim_feedforward=HIDDEN, dropout=0.1, d_model=CHANNELS, pos_enc_at_attn=False,
        pos_enc_at_cross_attn_keys=True, pos_enc_at_cross_attn_queries=False, self_attention=RoPEAttention(**rope),
        cross_attention=RoPEAttention(rope_k_repeat=True, kv_in_dim=MEMORY, **rope),
    )  # fmt: skip
    fuser = Fuser(CXBlock(CHANNELS, kernel_size=7, padding=3, layer_scale_init_value=1e-6), num_layers=2)
    return {
        "image_encoder": ImageEncoder(trunk, neck, scalp=1),
        "memory_attention": MemoryAttention(CHANNELS, True, layer, LAYERS),
        "memory_encoder": MemoryEncoder(
            MEMORY, MaskDownSampler(CHANNELS, kernel_size=3, stride=2, padding=1), fuser, sine(MEMORY), in_dim=CHANNELS
        ),
    }


def upstream(fill_hole_area: int) -> object:
    """Return sam2's video predictor at the tiny size, with the options of its configuration and its builder."""
    from sam2.sam2_video_predictor import SAM2VideoPredictor

    return SAM2VideoPredictor(
        **parts(), image_size=SIDE, num_maskmem=7, sigmoid_scale_for_mem_enc=20.0, sigmoid_bias_for_mem_enc=-10.0,
        use_mask_input_as_output_without_sam=True, directly_add_no_mem_embed=True, no_obj_embed_spatial=True,
        use_high_res_features_in_sam=True, multimask_output_in_sam=True, iou_prediction_use_sigmoid=True,
        use_obj_ptrs_in_encoder=True, add_tpos_enc_to_obj_ptrs=True, proj_tpos_enc_in_obj_ptrs=True,
        use_signed_tpos_enc_to_obj_ptrs=True, only_obj_ptrs_in_the_past_for_eval=True, pred_obj_scores=True,
        pred_obj_scores_mlp=True, fixed_no_obj_ptr=True, multimask_output_for_tracking=True,
        use_multimask_token_for_obj_ptr=True, multimask_min_pt_num=0, multimask_max_pt_num=1,
        use_mlp_for_obj_ptr_proj=True, binarize_mask_from_pts_for_mem_enc=True, fill_hole_area=fill_hole_area,
        sam_mask_decoder_extra_args={
            "dynamic_multimask_via_stability": True, "dynamic_multimask_stability_delta": 0.05,
            "dynamic_multimask_stability_thresh": 0.98,
        },
    ).eval()  # fmt: skip


def published() -> dict[str, np.ndarray]:
    """Names and shapes of the weights of Hiera-L, and the window of each of its blocks, as JSON."""
    from sam2.build_sam import build_sam2

    model = build_sam2("configs/sam2.1/sam2.1_hiera_l.yaml", None, device="cpu")
    shapes = {name: list(weight.shape) for name, weight in model.state_dict().items()}
    windows = [block.window_size for block in model.image_encoder.trunk.blocks]
    return {"published": np.array(json.dumps(shapes)), "windows": np.array(windows)}


def label_components(mask: object) -> tuple[object, object]:
    """Stand in for upstream's CUDA operator: labels and areas of 8-connected parts of (N, 1, H, W)."""
    import torch
    from scipy import ndimage

    labels = np.stack([ndimage.label(m, np.ones((3, 3)))[0] for m in mask[:, 0].numpy()])
    areas = np.stack([np.bincount(one.ravel())[one] for one in labels])
    return torch.from_numpy(labels)[:, None], torch.from_numpy(areas)[:, None]


def video(model: object, frames: np.ndarray) -> Iterator[tuple[str, int, np.ndarray]]:
    """Yield name of the call, frame and (N, H, W) logits of upstream's video predictor."""
    import torch
    from sam2 import sam2_video_predictor
    from sam2.utils.transforms import SAM2Transforms

    transform = SAM2Transforms(SIDE, 0.0)
    loaded = (torch.stack([transform(frame) for frame in frames]), *SIZE)
    sam2_video_predictor.load_video_frames = lambda **_: loaded
    state = model.init_state("")
    for name, (start, masks, steps, reverse) in prompts().items():
        model.reset_state(state)
        for number, mask in masks.items():
            model.add_new_mask(state, start, number, mask)
        for frame, _, logits in model.propagate_in_video(state, start, steps, reverse):
            yield name, frame, logits[:, 0].float().numpy()


def stills(model: object, frame: np.ndarray) -> np.ndarray:
    """Return (N, H, W) logits of upstream's image predictor."""
    from sam2.sam2_image_predictor import SAM2ImagePredictor

    predictor = SAM2ImagePredictor(model)
    predictor._bb_feat_sizes = [(SIDE // n, SIDE // n) for n in (4, 8, 16)]
    predictor.set_image(frame)
    logits, _, _ = predictor.predict(box=np.array(BOXES), multimask_output=False, return_logits=True)
    return logits[:, 0]


def main() -> None:
    """Run upstream and keep its answers."""
    import torch
    from sam2.utils import misc

    torch.set_num_threads(1)
    misc.get_connected_components = label_components
    model = upstream(0)
    layout = {name: list(weight.shape) for name, weight in model.state_dict().items()}
    kept = {"layout": np.array(json.dumps(layout)), "epsilons": epsilons(model), **published()}
    frames = clip()
    for kind, (gain, holes, half) in KINDS.items():
        model = upstream(holes)
        weights = random_weights(layout, SEED, gain)
        model.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            answers = [("still 0", stills(model, frames[0]))] if holes == 0 else []
            answers += [(f"{name} {frame}", logits) for name, frame, logits in video(model, frames)]
        for name, logits in answers:
            kept[f"{kind} {name}"] = logits[(..., *SHOWN)]
            kept[f"{kind} {name} masks"] = np.packbits(logits > 0)
            print(kind, name, logits.std((1, 2)), (logits > 0).mean((1, 2)))
    np.savez_compressed(HERE / "sam2.npz", **kept)


if __name__ == "__main__":
    main()
