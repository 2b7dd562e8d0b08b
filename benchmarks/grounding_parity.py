"""Hold our way of running Grounding DINO against the upstream implementation, both tiny, with the same random weights.

    python -m benchmarks.grounding_parity --write tests/data/vmbench/grounding_parity.npz

Needs an environment of its own: groundingdino-py, which stops at transformers 4.57 (with its timm, addict, yapf,
supervision, pycocotools and matplotlib), and torch. What upstream answered is kept for the tests, which compare with
the transformers that is installed; the same comparison is printed here.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vmmetrics.perception.vmbench.adapters.grounding import caption, prepared, shrunk

FIXTURE = Path(__file__).resolve().parents[1] / "tests" / "data" / "vmbench" / "grounding_parity.npz"

SEED = 4
QUERIES, WIDTH, LAYERS, HEADS, MLP = 40, 256, 2, 8, 64
"""The width is the published one: upstream's positions of words have no other."""
SWIN: dict[str, Any] = {"embed_dim": 8, "depths": [2, 2, 2, 2], "num_heads": [1, 2, 2, 4], "window_size": 12}
BERT = {
    "vocab_size": 1040,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
TEXT = " A black horse. Dog "
NETWORK_INPUT = (104, 168)
"""Height and width of the picture that all stages are compared on: windows of the backbone are padded and shifted."""
FRAMES = ((48, 72), (72, 128), (64, 64), (130, 70), (800, 1000))
"""Sizes of frames whose preparation is compared, the two usual shapes first."""
SAMPLES = 200
"""Values of each prepared frame that are kept."""
STRIDE = 9
"""One in so many tokens of the encoded picture is kept."""


def tiny_config() -> Any:
    """Our network's architecture: that of Swin-B, narrower and shallower."""
    from transformers import BertConfig, GroundingDinoConfig, SwinConfig

    return GroundingDinoConfig(
        backbone_config=SwinConfig(image_size=384, out_indices=[2, 3, 4], **SWIN),
        text_config=BertConfig(**BERT),
        d_model=WIDTH,
        encoder_ffn_dim=MLP,
        decoder_ffn_dim=MLP,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        num_queries=QUERIES,
    )


def write_tokenizer(folder: Path) -> Path:
    """Write a vocabulary of a few words, the special tokens where BERT has them."""
    words = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
    words |= {200: "a", 201: "black", 202: "horse", 203: "dog"}
    folder.mkdir(parents=True, exist_ok=True)
    lines = [words.get(i, f"[unused{i}]") for i in range(BERT["vocab_size"])]
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = {"do_lower_case": True, "tokenizer_class": "BertTokenizer", "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def random_weights(shapes: Mapping[str, list[int]]) -> dict[str, torch.Tensor]:
    """Weights by upstream's names, norms and biases randomised, the same for every copy of a shared one."""
    weights = {}
    for name, shape in shapes.items():
        shared = re.sub(r"^(transformer\.decoder\.)?bbox_embed\.\d+", "bbox_embed", name)
        draw = np.random.default_rng([SEED, zlib.crc32(shared.encode())])
        values = draw.standard_normal(shape)
        if "gamma" in name:  # how much image and text tell each other
            values = 0.5 + 0.1 * values
        elif len(shape) == 1:
            gain = name.endswith("weight")  # every vector of that name belongs to a norm
            values = 0.1 * values + (1.0 if gain else 0.0)
        elif "embed" not in name.split(".")[-2] and "bias_table" not in name:
            values /= np.sqrt(np.prod(shape[1:]))
        if "sampling_offsets" in name:
            values *= 2.0
        weights[name] = torch.from_numpy(np.ascontiguousarray(values, np.float32))
    return weights


def checkpoint() -> dict[str, torch.Tensor]:
    """The random weights as a publisher's file has them, from the shapes kept beside upstream's answers."""
    shapes = json.loads(str(np.load(FIXTURE)["shapes"]))
    weights = random_weights(shapes)
    side = np.arange(SWIN["window_size"])
    positions = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    apart = positions[:, None] - positions[None] + len(side) - 1
    index = torch.from_numpy(apart[..., 0] * (2 * len(side) - 1) + apart[..., 1])
    tables = [name for name in weights if name.endswith("relative_position_bias_table")]
    weights |= {name.replace("bias_table", "index"): index for name in tables}
    return {f"module.{name}": value for name, value in weights.items()}


def random_picture(height: int, width: int) -> np.ndarray:
    """(height, width, 3) uint8: coloured noise, coarse and fine."""
    draw = np.random.default_rng([SEED, height, width])
    coarse = draw.integers(0, 256, (height // 8 + 1, width // 8 + 1, 3)).repeat(8, 0).repeat(8, 1)[:height, :width]
    return ((3 * coarse + draw.integers(0, 256, (height, width, 3))) // 4).astype(np.uint8)


def network_input() -> torch.Tensor:
    """(3, h, w) float32, normalised but small."""
    draw = np.random.default_rng(SEED)
    return torch.from_numpy(draw.standard_normal((3, *NETWORK_INPUT), dtype=np.float32))


def sampled(pixels: torch.Tensor) -> np.ndarray:
    """(SAMPLES,) of a prepared frame's values."""
    indices = np.random.default_rng(SEED).integers(0, pixels.numel(), SAMPLES)
    return pixels.numpy().ravel()[indices]


def stages(model: Any, tokenizer: Any) -> dict[str, np.ndarray]:
    """What our network makes of the fixture's picture and text, stage by stage."""
    with torch.inference_mode():
        tokens = tokenizer(caption(TEXT), return_tensors="pt")
        answer = model(pixel_values=network_input()[None], **tokens)
        maps, _ = model.model.backbone(network_input()[None], torch.ones(1, *NETWORK_INPUT, dtype=torch.long))
    return {
        "backbone": np.concatenate([m[0].numpy().ravel() for m in maps]),
        "encoder": answer.encoder_last_hidden_state_vision[0, ::STRIDE].numpy(),
        "text": answer.encoder_last_hidden_state_text[0].numpy(),
        "logits": answer.logits[0, :, : tokens.input_ids.shape[1]].numpy(),
        "boxes": answer.pred_boxes[0].numpy(),
    }


def as_set(logits: np.ndarray, boxes: np.ndarray, others: np.ndarray) -> float:
    """Largest difference of queries, each matched to the nearest of ``others``, and each of those used once."""
    from scipy.optimize import linear_sum_assignment

    apart = np.abs(np.column_stack([logits, boxes])[:, None] - others[None]).max(axis=-1)
    return float(apart[linear_sum_assignment(apart)].max())


def upstream_settings(folder: Path) -> Any:
    """Upstream's settings at the tiny size, with a tiny BERT in ``folder``."""
    from groundingdino.models.GroundingDINO.backbone import backbone, swin_transformer
    from transformers import BertConfig, BertModel

    from benchmarks.parity.grounding_original import settings

    BertModel(BertConfig(**BERT)).save_pretrained(write_tokenizer(folder))
    backbone.build_swin_transformer = lambda *_, out_indices, **__: swin_transformer.SwinTransformer(
        pretrain_img_size=384, out_indices=out_indices, **SWIN
    )
    chosen = settings(folder)
    changes = {"hidden_dim": WIDTH, "dim_feedforward": MLP, "nheads": HEADS, "num_queries": QUERIES}
    changes |= {"enc_layers": LAYERS, "dec_layers": LAYERS, "use_checkpoint": False, "use_transformer_ckpt": False}
    for name, value in changes.items():
        setattr(chosen, name, value)
    return chosen


def _upstream(folder: Path) -> tuple[Any, dict[str, list[int]]]:
    """Upstream's network at the tiny size with the random weights, and the shapes of its weights."""
    from groundingdino.models import build_model

    model = build_model(upstream_settings(folder)).eval()
    shapes = {name: list(value.shape) for name, value in model.state_dict().items() if value.is_floating_point()}
    model.load_state_dict(random_weights(shapes), strict=False)
    return model, shapes


def _upstream_stages(model: Any) -> dict[str, np.ndarray]:
    outputs: dict[str, Any] = {}
    model.backbone[0].register_forward_hook(lambda _, __, out: outputs.update(maps=out))
    model.transformer.encoder.register_forward_hook(lambda _, __, out: outputs.update(encoder=out))
    with torch.inference_mode():
        answer = model(network_input()[None], captions=[caption(TEXT)])
    vision, text = outputs["encoder"]
    maps = outputs["maps"].values() if isinstance(outputs["maps"], dict) else outputs["maps"]
    return {
        "backbone": np.concatenate([m.tensors[0].numpy().ravel() for m in maps]),
        "encoder": vision[0, ::STRIDE].numpy(),
        "text": text[0].numpy(),
        "logits": answer["pred_logits"][0, :, : text.shape[1]].numpy(),
        "boxes": answer["pred_boxes"][0].numpy(),
    }


def _upstream_prepared(frame: np.ndarray) -> torch.Tensor:
    from groundingdino.datasets import transforms
    from PIL import Image

    steps = [
        transforms.RandomResize([800], max_size=1333),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
    return transforms.Compose(steps)(Image.fromarray(frame), None)[0]


def main() -> None:
    """Print the largest difference per stage."""
    import transformers

    from vmmetrics.perception.vmbench.adapters.grounding import load_grounding_dino, load_tokenizer

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="where upstream's answers are kept for the tests")
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        upstream, shapes = _upstream(folder / "bert")
        torch.save({"model": {f"module.{k}": v for k, v in upstream.state_dict().items()}}, folder / "tiny.pth")
        expected = _upstream_stages(upstream)
        ours = load_grounding_dino(folder / "tiny.pth", tiny_config())
        got = stages(ours, load_tokenizer(folder / "bert"))
    for stage, values in expected.items():
        print(f"{stage}: scale {np.abs(values).max():.2f}, max |difference| {np.abs(got[stage] - values).max():.1e}")
    pairs = np.column_stack([expected["logits"], expected["boxes"]])
    print(f"queries as a set: {as_set(got['logits'], got['boxes'], pairs):.1e}")
    best = torch.from_numpy(expected["logits"]).sigmoid().amax(dim=-1)
    print(f"queries above 0.25: {int((best > 0.25).sum())} of {len(best)}")
    tensors = {f"frame{i}": sampled(_upstream_prepared(random_picture(*size))) for i, size in enumerate(FRAMES)}
    for size in FRAMES:
        frame = random_picture(*size)
        there, here = _upstream_prepared(frame), prepared(shrunk(frame)[None], torch.device("cpu"))[0]
        same = there.shape == here.shape
        print(f"{size} to {tuple(here.shape)}: " + (f"{(there - here).abs().max():.1e}" if same else f"{there.shape}"))
    if arguments.write:
        np.savez_compressed(arguments.write, shapes=np.array(json.dumps(shapes)), **expected, **tensors)


if __name__ == "__main__":
    main()
