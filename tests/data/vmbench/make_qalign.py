"""Writes ``qalign.npz``: what VMBench's own code makes of a tiny Q-Align with random weights.

    python make_qalign.py VMBENCH

VMBENCH is a checkout of AMAP-ML/VMBench. Its code needs transformers 4.37.2, numpy 1.26, accelerate, sentencepiece,
icecream, protobuf and any torch (made with 2.13.0). The released script runs as it is, from files on disk to scores;
only its video reader is replaced by one that hands out given frames.
The tests import :func:`random_weights` and the clip from here; that part needs numpy alone.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

SEED = 5
CLIP = np.random.default_rng(SEED).integers(0, 256, (7, 36, 52, 3), dtype=np.uint8)
SHAPES_448 = ((480, 720), (721, 405), (448, 448), (300, 300))
"""Sizes of frames that preprocessing is compared at."""

VISION, WIDTH = 32, 48
CONFIG = {
    "vocab_size": 420,
    "hidden_size": WIDTH,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "max_position_embeddings": 256,
    "visual_config": {
        "visual_model": {
            "hidden_size": VISION,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 56,
            "patch_size": 14,
            "layer_norm_eps": 1e-6,
        },
        "visual_abstractor": {
            "num_learnable_queries": 6,
            "hidden_size": VISION,
            "encoder_hidden_size": VISION,
            "intermediate_size": 40,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "layer_norm_eps": 1e-6,
            "grid_size": 4,
        },
    },
}
SMALL = {
    "embed_tokens": 0.5,
    "vit_eos": 0.3,
    "cls_token": 0.05,
    "patch_embed": 0.05,
    "position_embedding": 0.05,
    "pre_layernorm": 0.05,
    "vision_model.encoder": 0.3,
    "post_layernorm": 0.1,
    "query_embeds": 0.1,
    "norm1": 0.1,
    "out_proj": 0.1,
}
"""Weights kept small, as many trained ones are: an epsilon shows where what is normed is small."""


def noise(shape: tuple[int, int]) -> np.ndarray:
    """Return (H, W, 3) uint8 of random pixels."""
    return np.random.default_rng(SEED).integers(0, 256, (*shape, 3), dtype=np.uint8)


def random_weights(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Draw all weights, float32, norms and biases included; each depends on its rank among the sorted names alone."""
    weights = {}
    for rank, name in enumerate(sorted(shapes)):
        shape = shapes[name]
        drawn = np.random.default_rng([SEED, rank]).uniform(-1, 1, shape)
        if name.endswith("bias"):
            drawn *= 0.2
        elif "norm" in name or name.endswith("ffn_ln.weight"):
            drawn = 1 + 0.5 * drawn
        elif len(shape) > 1:
            drawn *= 1.7 / np.sqrt(np.prod(shape[1:]))  # unit gain
        for part, factor in SMALL.items():
            drawn *= factor if part in name else 1
        if name.startswith("lm_head"):
            drawn *= 2
        weights[name] = drawn.astype(np.float32)
    return weights


def main() -> None:
    """Run the released code and write the file beside this one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vmbench", type=Path)
    options = parser.parse_args()
    script = released(options.vmbench)
    kept: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder, kept)
        kept |= ask(script, folder, half=False, suffix="32")
        kept |= ask(script, folder, half=True, suffix="16")
        kept |= numbers(script, folder)
    kept |= windows(script)
    kept |= preprocessing(script, options.vmbench)
    kept["versions"] = versions()
    np.savez_compressed(Path(__file__).with_name("qalign.npz"), **kept)
    print({name: np.asarray(value).shape for name, value in kept.items()})
    print(kept["logits32"], kept["scores32"], kept["scores16"], kept["versions"], sep="\n")


def released(vmbench: Path) -> Any:
    """Import the released script, without the parts of it that draw and read files."""
    import transformers  # noqa: F401 - looks for what is installed, and must not find the stubs

    for stub in ("matplotlib", "matplotlib.pyplot", "pandas", "scipy", "scipy.signal", "decord"):
        module = types.ModuleType(stub)
        module.VideoReader = Frames
        module.find_peaks = None
        sys.modules[stub] = module
    sys.path[:0] = [str(vmbench), str(vmbench / "Q-Align")]
    import motion_smoothness_score

    return motion_smoothness_score


class Frames:
    """Stands in for decord's reader; the "file" is the frames."""

    def __init__(self, frames: np.ndarray) -> None:
        self.frames = frames

    def __len__(self) -> int:
        return len(self.frames)

    def get_batch(self, indices: list[int]) -> Frames:
        return Frames(self.frames[indices])

    def asnumpy(self) -> np.ndarray:
        return self.frames


def write_model(folder: Path, kept: dict[str, Any]) -> None:
    """Save a model as upstream's classes do, in several files, with random weights."""
    import torch
    from q_align.model import MPLUGOwl2Config, MPLUGOwl2LlamaForCausalLM

    vocabulary = train_vocabulary()
    (folder / "tokenizer.model").write_bytes(vocabulary)
    texts = {
        "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "legacy": True},
        "preprocessor_config.json": processor(56),
    }
    for name, content in texts.items():
        (folder / name).write_text(json.dumps(content))
    config = MPLUGOwl2Config(**CONFIG)
    config.name_or_path = str(folder)
    model = MPLUGOwl2LlamaForCausalLM(config)
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    weights = random_weights(shapes)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    model.save_pretrained(folder, max_shard_size="100KB", safe_serialization=False)
    kept["vocabulary"] = np.frombuffer(vocabulary, dtype=np.uint8)
    kept["config"] = (folder / "config.json").read_text()
    kept["processor"] = json.dumps(processor(56))
    kept["shapes"] = json.dumps(shapes)


def train_vocabulary() -> bytes:
    """Return a SentencePiece vocabulary with LLaMA's settings in which the levels are words."""
    import sentencepiece

    words = "excellent good fair poor bad the quality of this video is How would you rate The image"
    text = [f"{word} {word}" for word in words.split()] + [words, "USER ASSISTANT"]
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text * 20),
        model_writer=content,
        model_type="bpe",
        vocab_size=CONFIG["vocab_size"] - 20,
        byte_fallback=True,
        split_digits=True,
        allow_whitespace_only_pieces=True,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        character_coverage=1.0,
        minloglevel=2,
    )
    return content.getvalue()


def processor(side: int) -> dict[str, Any]:
    """What stands in Q-Align's preprocessor_config.json, for another size."""
    return {
        "crop_size": side,
        "do_center_crop": True,
        "do_normalize": True,
        "do_resize": True,
        "feature_extractor_type": "CLIPFeatureExtractor",
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_std": [0.26862954, 0.26130258, 0.27577711],
        "resample": 3,
        "size": side,
    }


@contextmanager
def single_precision() -> Iterator[None]:
    """Make the released code, which asks for half precision everywhere, compute in single precision."""
    import torch
    from q_align.model import builder

    half, load = torch.Tensor.half, builder.AutoModelForCausalLM.from_pretrained

    def in_single(*arguments: Any, **options: Any) -> Any:
        return load(*arguments, **{**options, "torch_dtype": torch.float32})

    torch.Tensor.half = torch.Tensor.float
    builder.AutoModelForCausalLM.from_pretrained = in_single
    try:
        yield
    finally:
        torch.Tensor.half = half
        builder.AutoModelForCausalLM.from_pretrained = load


def ask(script: Any, folder: Path, *, half: bool, suffix: str) -> dict[str, Any]:
    """Run the released scorer on the clip."""
    import torch

    def run() -> dict[str, Any]:
        scorer = script.QAlignVideoScorer(pretrained=str(folder), device="cpu")
        logits, _, scores = scorer(script.load_video_sliding_window(CLIP, 3))
        result = {"logits" + suffix: logits.float().numpy(), "scores" + suffix: scores.double().numpy()}
        if not half:
            squares = [scorer.expand2square(script.Image.fromarray(f), (122, 116, 104)) for f in CLIP[:2]]
            pixels = scorer.image_processor.preprocess(squares, return_tensors="pt")["pixel_values"]
            with torch.inference_mode():
                result["tokens"] = scorer.model.encode_images(pixels).numpy()
        return result

    if half:
        return run()
    with single_precision():
        return run()


def numbers(script: Any, folder: Path) -> dict[str, Any]:
    """Tokenise the prompt with each setting that a tokenizer_config.json may have."""
    from transformers import AutoTokenizer

    prompt = "USER: How would you rate the quality of this video?\n<|image|>\nASSISTANT: The quality of the video is"
    found = []
    for legacy in (True, False):
        words = AutoTokenizer.from_pretrained(folder, use_fast=False, legacy=legacy)
        levels = [ids[1] for ids in words(["excellent", "good", "fair", "poor", "bad"])["input_ids"]]
        found.append(([*script.tokenizer_image_token(prompt, words, -200)], levels))
    assert found[0] == found[1], found
    return {"prompt": np.array(found[0][0]), "levels": np.array(found[0][1])}


def windows(script: Any) -> dict[str, Any]:
    """Ask for the windows of clips of one to six frames, each of which shows its own number."""
    result = {}
    for count in range(1, 7):
        clip = np.arange(count, dtype=np.uint8)[:, None, None, None].repeat(3, axis=-1)
        groups = script.load_video_sliding_window(clip, 3)
        result[f"windows{count}"] = np.array([[image.getpixel((0, 0))[0] for image in group] for group in groups])
    return result


def preprocessing(script: Any, vmbench: Path) -> dict[str, Any]:
    """Hash what the network is shown of frames of several shapes, in single and half precision."""
    from transformers.models.clip.image_processing_clip import CLIPImageProcessor

    settings = json.loads((vmbench / "Q-Align/preprocessor_config.json").read_text())
    assert settings == processor(448)
    clip = CLIPImageProcessor(**settings)
    colour = tuple(int(x * 255) for x in clip.image_mean)
    hashes = []
    for shape in SHAPES_448:
        square = script.QAlignVideoScorer.expand2square(None, script.Image.fromarray(noise(shape)), colour)
        pixels = clip.preprocess([square], return_tensors="pt")["pixel_values"]
        hashes.append([hashlib.sha256(p.numpy().tobytes()).hexdigest() for p in (pixels, pixels.half())])
    return {"pixels": np.array(hashes)}


def versions() -> str:
    """What the file was made with."""
    from importlib.metadata import version

    return ", ".join(
        f"{name} {version(name)}" for name in ("torch", "transformers", "numpy", "pillow", "sentencepiece")
    )


if __name__ == "__main__":
    main()
