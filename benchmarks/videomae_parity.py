"""Hold our VideoMAE V2 against the upstream implementation, both with the same random weights.

    git clone https://github.com/OpenGVLab/VideoMAEv2 /somewhere
    python -m benchmarks.videomae_parity /somewhere [--time] [--write tests/data/videomae_parity.json]

Weights and clips are drawn from numpy's generator, norms and biases included, so that the logits of upstream can be
kept in a small file and checked where upstream is not installed. Needs torch; timm only if upstream is to have the
real one (without it, the three helpers that upstream takes from it are put in their place).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
import time
import types
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vmmetrics.perception.vmbench.ported.videomae import NORM_EPSILON, SIZES, Architecture, VideoMAE

NARROW_GIANT = Architecture(width=176, depth=3, heads=2, mlp_width=768, patch=14)
"""The giant's patch, head width (88), ratio of widths (48/11) and 2048 tokens, in a network that runs in a second."""

CASES = {"small": (SIZES["small"], 11), "narrow giant": (NARROW_GIANT, 12)}
"""Network and seed of its weights."""

CLASSES = 5


def random_weights(net: Architecture, seed: int) -> dict[str, torch.Tensor]:
    """Weights by name, drawn so that tokens keep their size and logits are of order 1."""
    draw = np.random.default_rng(seed)
    with torch.device("meta"):
        shapes = {name: tuple(weight.shape) for name, weight in VideoMAE(net, CLASSES).state_dict().items()}
    weights = {}
    for name, shape in shapes.items():
        values = draw.standard_normal(shape, dtype=np.float32)
        if len(shape) == 1:  # biases around 0, gains of norms around 1
            values = 0.1 * values + (1.0 if "norm" in name and name.endswith("weight") else 0.0)
        else:
            values /= np.sqrt(np.prod(shape[1:]))
        # Tokens no larger than their positions, and branches that leave their mean so: a wrong epsilon shows.
        if name == "patch_embed.proj.weight":
            values *= 0.3
        elif name.endswith(("attn.proj.weight", "mlp.fc2.weight")):
            values /= np.sqrt(4 * net.depth)
        weights[name] = torch.from_numpy(np.ascontiguousarray(values, np.float32))
    return weights


def random_clips(net: Architecture, seed: int) -> torch.Tensor:
    """(1, 3, T, H, W) float32 as normalised clips are: of order 1, changing from frame to frame."""
    draw = np.random.default_rng(seed + 1000)
    shape = (1, 3, net.frames, net.image, net.image)
    return torch.from_numpy(draw.standard_normal(shape, dtype=np.float32))


def logits_of(model: Callable[[torch.Tensor], torch.Tensor], clips: torch.Tensor) -> np.ndarray:
    """(B, CLASSES) of a model."""
    with torch.inference_mode():
        return model(clips).numpy()


def our_model(net: Architecture, weights: Mapping[str, torch.Tensor]) -> VideoMAE:
    """Our implementation with ``weights``."""
    model = VideoMAE(net, CLASSES)
    model.load_state_dict(weights, strict=True)
    return model.eval()


def upstream_model(checkout: Path, net: Architecture, weights: Mapping[str, torch.Tensor]) -> torch.nn.Module:
    """Upstream's class, built as its own constructors for the published sizes do, with ``weights``."""
    module = _upstream_module(checkout)
    model = module.VisionTransformer(
        img_size=net.image,
        patch_size=net.patch,
        num_classes=CLASSES,
        embed_dim=net.width,
        depth=net.depth,
        num_heads=net.heads,
        mlp_ratio=net.mlp_width / net.width,
        qkv_bias=True,
        norm_layer=partial(torch.nn.LayerNorm, eps=NORM_EPSILON),
        all_frames=net.frames,
        tubelet_size=net.tubelet,
    )
    model.load_state_dict(weights, strict=True)
    return model.eval()


def _upstream_module(checkout: Path) -> Any:
    if "timm" not in sys.modules and importlib.util.find_spec("timm") is None:
        layers = types.ModuleType("timm.models.layers")
        layers.drop_path = lambda x, *_: x  # type: ignore[attr-defined]
        layers.to_2tuple = lambda x: (x, x)  # type: ignore[attr-defined]
        layers.trunc_normal_ = torch.nn.init.trunc_normal_  # type: ignore[attr-defined]
        registry = types.ModuleType("timm.models.registry")
        registry.register_model = lambda function: function  # type: ignore[attr-defined]
        for module in (types.ModuleType("timm"), types.ModuleType("timm.models"), layers, registry):
            sys.modules.setdefault(module.__name__, module)
    path = checkout / "models" / "modeling_finetune.py"
    spec = importlib.util.spec_from_file_location("upstream_videomae", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # timm's registry looks it up there
    spec.loader.exec_module(module)
    return module


def _seconds(model: Callable[[torch.Tensor], torch.Tensor], clip: torch.Tensor) -> float:
    """Median of five runs after one to warm up."""
    taken = []
    for _ in range(6):
        start = time.perf_counter()
        logits_of(model, clip)
        taken.append(time.perf_counter() - start)
    return float(np.median(taken[1:]))


def main() -> None:
    """Print the largest difference per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("upstream", type=Path, help="checkout of OpenGVLab/VideoMAEv2")
    parser.add_argument("--write", type=Path, help="where upstream's logits are kept for the tests")
    parser.add_argument("--time", action="store_true", help="time both as well")
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}")
    kept = []
    for name, (net, seed) in CASES.items():
        weights, clips = random_weights(net, seed), random_clips(net, seed)
        theirs, ours = upstream_model(arguments.upstream, net, weights), our_model(net, weights)
        expected, got = logits_of(theirs, clips), logits_of(ours, clips)
        wrong = our_model(net, weights)
        wrong.fc_norm.eps = 1e-5
        print(
            f"{name}: {net.tokens} tokens, largest |logit| {np.abs(expected).max():.2f}, "
            f"max |difference| {np.abs(got - expected).max():.1e} "
            f"(with 1e-5 as fc_norm's epsilon: {np.abs(logits_of(wrong, clips) - expected).max():.1e})"
        )
        if arguments.time:
            print(f"  one clip: upstream {_seconds(theirs, clips):.2f} s, ours {_seconds(ours, clips):.2f} s")
        kept.append({"name": name, "net": asdict(net), "seed": seed, "logits": expected.astype(float).tolist()})
    if arguments.write:
        arguments.write.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
