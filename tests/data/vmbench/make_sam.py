"""Make sam.npz: what segment-anything answers with random weights at a tiny size.

Run where segment-anything 1.0 is installed beside torch and torchvision; the file kept here was made with torch 2.15.0
and torchvision 0.29.2 on a CPU: ``python tests/data/vmbench/make_sam.py``. Weights, frames and boxes come from seeds
(:func:`random_weights`, :func:`random_frame`, :data:`CASES`), so that only upstream's answers and the names and shapes
of its weights are kept.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SEED, GAIN = 30, 0.7

TINY = {"side": 128, "width": 32, "depth": 3, "heads": 2, "window": 5, "global": [2], "channels": 32, "mlp": 64}

CASES = {
    "wide": ((60, 100), [[10, 8, 50, 40], [30.5, 20.25, 95, 58], [0, 0, 100, 60]]),
    "high": ((150, 90), [[5, 30, 60, 120]]),
    "square": ((128, 128), [[64, 10, 120, 100], [2, 2, 30, 30]]),
}
"""Frame size and boxes."""


def random_weights(layout: dict[str, list[int]], seed: int, gain: float = 1.0) -> dict[str, np.ndarray]:
    """Weights by name for ``layout``, norms and biases too; with a smaller ``gain`` less chaotic."""
    weights = {}
    for number, (name, shape) in enumerate(sorted(layout.items())):
        values = np.random.default_rng([seed, number]).standard_normal(shape)
        if len(shape) == 1 and name.endswith("weight"):  # of a norm
            values = 1 + 0.3 * values
        elif len(shape) == 1:
            values *= 0.3
        elif not name.endswith("weight") and "pos" not in name:
            values *= 0.5
        elif "pos" not in name and "embed" not in name.rpartition(".")[0].rpartition(".")[2] and "token" not in name:
            values *= gain / np.sqrt(np.prod(shape[1:]))
        weights[name] = values.astype(np.float32)
    return weights


def random_frame(height: int, width: int, seed: int) -> np.ndarray:
    """(H, W, 3) uint8: smooth blobs under noise."""
    rng = np.random.default_rng([seed, height, width])
    y, x = np.mgrid[:height, :width] / 17
    waves = rng.uniform(-1, 1, (3, 6, 3))
    smooth = sum(np.sin(w[:, 0, None, None] * x + w[:, 1, None, None] * y + 6 * w[:, 2, None, None])
                 for w in waves.transpose(1, 0, 2))  # fmt: skip
    noisy = 128 + 35 * np.moveaxis(smooth, 0, 2) + rng.integers(-20, 21, (height, width, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def epsilons(model: object) -> np.ndarray:
    """Epsilon of every norm by the name of its module, as JSON."""
    return np.array(json.dumps({name: part.eps for name, part in model.named_modules() if hasattr(part, "eps")}))


def published() -> dict[str, np.ndarray]:
    """Names and shapes of the weights of ViT-H, and the window of each of its blocks, as JSON."""
    import torch
    from segment_anything import sam_model_registry

    with torch.device("meta"):
        model = sam_model_registry["vit_h"]()
    shapes = {name: list(weight.shape) for name, weight in model.state_dict().items()}
    windows = [block.window_size for block in model.image_encoder.blocks]
    return {"published": np.array(json.dumps(shapes)), "windows": np.array(windows)}


def upstream() -> object:
    """Return segment-anything's model at the tiny size, untrained."""
    from functools import partial

    import torch
    from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer

    grid = TINY["side"] // 16
    encoder = ImageEncoderViT(
        depth=TINY["depth"], embed_dim=TINY["width"], img_size=TINY["side"], mlp_ratio=4,
        norm_layer=partial(torch.nn.LayerNorm, eps=1e-6), num_heads=TINY["heads"], patch_size=16, qkv_bias=True,
        use_rel_pos=True, global_attn_indexes=TINY["global"], window_size=TINY["window"], out_chans=TINY["channels"],
    )  # fmt: skip
    prompts = PromptEncoder(
        embed_dim=TINY["channels"], image_embedding_size=(grid, grid), input_image_size=(TINY["side"],) * 2,
        mask_in_chans=16,
    )  # fmt: skip
    attention = TwoWayTransformer(depth=2, embedding_dim=TINY["channels"], mlp_dim=TINY["mlp"], num_heads=8)
    decoder = MaskDecoder(
        num_multimask_outputs=3, transformer=attention, transformer_dim=TINY["channels"], iou_head_depth=3,
        iou_head_hidden_dim=TINY["channels"],
    )  # fmt: skip
    return Sam(encoder, prompts, decoder, pixel_mean=[123.675, 116.28, 103.53], pixel_std=[58.395, 57.12, 57.375])


def main() -> None:
    """Run upstream and keep its answers."""
    import torch
    from segment_anything import SamPredictor

    torch.set_num_threads(1)
    model = upstream()
    layout = {name: list(weight.shape) for name, weight in model.state_dict().items()}
    weights = random_weights(layout, SEED, GAIN)
    model.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
    model.eval()
    total = sum(float(weight.sum()) for weight in weights.values())
    kept = {"layout": np.array(json.dumps(layout)), "epsilons": epsilons(model), "checksum": np.array(total)}
    kept |= published()
    for name, (size, boxes) in CASES.items():
        predictor = SamPredictor(model)
        predictor.set_image(random_frame(*size, SEED))
        scaled = predictor.transform.apply_boxes_torch(torch.tensor(boxes, dtype=torch.float32), size)
        logits, _, _ = predictor.predict_torch(None, None, scaled, multimask_output=False, return_logits=True)
        logits = logits[:, 0].numpy()
        kept[f"{name} logits"] = logits[:, ::3, ::3].astype(np.float32)
        kept[f"{name} masks"] = np.packbits(logits > 0)
        print(name, logits.std(), (logits > 0).mean((1, 2)))
    np.savez_compressed(HERE / "sam.npz", **kept)


if __name__ == "__main__":
    main()
