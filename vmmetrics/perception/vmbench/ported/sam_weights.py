"""Where the mask models' weights come from: the publisher's own file, a folder of transformers', or the hub's cache.

Every weight must find its place and every place its weight, whichever of the three it is. The networks are those of
transformers; rules say what the publisher calls each of their weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.checkpoints import read_checkpoint
from vmmetrics.perception.vmbench.runtime import DTYPES, Precision

Rules = Sequence[tuple[str, str]]
"""Patterns and replacements, applied in order, from transformers' names to the publisher's; a ``*`` in the outcome
stands for the rows of the weight, which the publisher keeps one by one."""

_HEADS = r"(iou_prediction_head|pred_obj_score_head|output_hypernetworks_mlps\.\d+|object_pointer_proj)"
SHARED_RULES: Rules = (
    (r"^(shared_image_embedding|prompt_encoder\.shared_embedding)\.positional_embedding$", "prompt_encoder.pe_layer."
     "positional_encoding_gaussian_matrix"),
    (r"^prompt_encoder\.mask_embed\.conv1", "prompt_encoder.mask_downscaling.0"),
    (r"^prompt_encoder\.mask_embed\.layer_norm1", "prompt_encoder.mask_downscaling.1"),
    (r"^prompt_encoder\.mask_embed\.conv2", "prompt_encoder.mask_downscaling.3"),
    (r"^prompt_encoder\.mask_embed\.layer_norm2", "prompt_encoder.mask_downscaling.4"),
    (r"^prompt_encoder\.mask_embed\.conv3", "prompt_encoder.mask_downscaling.6"),
    (r"^mask_decoder\.upscale_conv1", "mask_decoder.output_upscaling.0"),
    (r"^mask_decoder\.upscale_layer_norm", "mask_decoder.output_upscaling.1"),
    (r"^mask_decoder\.upscale_conv2", "mask_decoder.output_upscaling.3"),
    (_HEADS + r"\.layers\.0\.", r"\1.layers.1."),
    (_HEADS + r"\.proj_in\.", r"\1.layers.0."),
    (_HEADS + r"\.proj_out\.", r"\1.layers.2."),
    (r"\.layer_norm_final_attn\.", ".norm_final_attn."),
    (r"\.patch_embed\.projection\.", ".patch_embed.proj."),
)  # fmt: skip
"""What SAM and SAM 2 have in common."""

_FILES = {".pth", ".pt"}  # how publishers' files end

_SHOWN = 6  # names listed in a message before "and n more"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one kind of network is built.

    Attributes:
        kind: Its class in transformers.
        options: Of its configuration at the published size.
        rules: From its names to those of the publisher's file.
        name: What ``vmmetrics weights`` calls the weights in transformers' layout.
        original: What it calls the publisher's file.
    """

    kind: str
    options: Mapping[str, Any]
    rules: Rules
    name: str
    original: str


def load(recipe: Recipe, source: str | Path) -> Any:
    """Build a network on the CPU, in float32 and evaluation mode, without gradients.

    Args:
        recipe: What to build.
        source: The publisher's file, a folder in transformers' layout, or a hub id that is in the hub's cache. Nothing
            is downloaded.

    Raises:
        SetupError: There is no such thing, it cannot be read, misses weights, has others, or has them in other shapes;
            the text names it and the command that fetches what was expected.
    """
    path = Path(source)
    alone = path.is_file() or path.suffix in _FILES
    mend = f"fetch it with: vmmetrics weights fetch {recipe.original if alone else recipe.name}"
    if alone and not path.is_file():
        raise SetupError(f"{path}: no such file; {mend}")
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise SetupError(f"{error.name} is missing; install it with: pip install 'vmmetrics[vmbench]'") from error
    kind, logging = getattr(transformers, recipe.kind), transformers.utils.logging
    progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        if alone:
            config = kind.config_class(**recipe.options)
            weights = _from_publisher(path, kind, config, recipe.rules)
            net, report = kind.from_pretrained(None, config=config, state_dict=weights, output_loading_info=True)
        else:
            net, report = kind.from_pretrained(
                str(source), local_files_only=True, output_loading_info=True, dtype=torch.float32
            )
    except SetupError as error:
        raise SetupError(f"{error}; {mend}") from error
    except Exception as error:  # transformers and safetensors fail in many ways on what is no such network
        what = "no such checkpoint" if alone else "neither in the hub's cache nor a folder that transformers can load"
        raise SetupError(f"{source}: {what}; {mend}. The cause: {error}") from error
    finally:
        if progress:
            logging.enable_progress_bar()
    _complain(str(source), report["missing_keys"], report["unexpected_keys"], [], mend)
    return net.float().eval().requires_grad_(False)


def _from_publisher(path: Path, kind: Any, config: Any, rules: Rules) -> dict[str, Tensor]:
    """Read the publisher's file and give its weights transformers' names."""
    with torch.device("meta"):
        expected = kind(config).state_dict()
    found = read_checkpoint(path).weights
    names = {name: publisher_names(name, rules, len(weight)) for name, weight in expected.items()}
    known = {theirs for group in names.values() for theirs in group}
    weights: dict[str, Tensor] = {}
    taken: set[str] = set()
    for name, group in names.items():
        if all(theirs in found for theirs in group):
            once = len(group) == 1 and group[0] not in taken  # what has two places must not share its memory
            weights[name] = found[group[0]] if once else torch.cat([found[theirs] for theirs in group])
            taken.update(group)
    shapes = [
        f"{names[name][0]} as {tuple(weight.shape)} where {tuple(expected[name].shape)} is expected"
        for name, weight in weights.items()
        if weight.shape != expected[name].shape
    ]
    _complain(str(path), known - found.keys(), found.keys() - known, shapes, "")
    return weights


def _complain(source: str, missing: Iterable[str], surplus: Iterable[str], shapes: Sequence[str], mend: str) -> None:
    """Name what is missing, what is too much and what has another shape."""
    told = (("misses ", missing, ""), ("has ", surplus, " besides"), ("has ", shapes, ""))
    faults = [f"it {verb}{_listed(names)}{end}" for verb, names, end in told if names]
    if faults:
        raise SetupError(
            "; ".join([f"{source}: the weights do not fit: {faults[0]}", *faults[1:], *filter(None, [mend])])
        )


def publisher_names(name: str, rules: Rules, rows: int = 1) -> list[str]:
    """Return what the publisher calls a weight, or its rows where it keeps them one by one.

    >>> publisher_names("prompt_encoder.mask_embed.conv2.bias", SHARED_RULES)
    ['prompt_encoder.mask_downscaling.3.bias']
    """
    for pattern, replacement in rules:
        name = re.sub(pattern, replacement, name)
    return [name.replace("*", str(row)) for row in range(rows)] if "*" in name else [name]


def _listed(names: Iterable[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


@contextmanager
def computing(device: torch.device, precision: Precision) -> Iterator[None]:
    """No gradients; matrix products and convolutions in ``precision``, the rest in float32, as upstream's autocast."""
    lowered = precision != "fp32"
    with torch.inference_mode(), torch.autocast(device.type, DTYPES[precision] if lowered else None, enabled=lowered):
        yield


def lower(net: nn.Module, precision: Precision) -> None:
    """Keep in ``precision`` the weights that :func:`computing` would cast at each use; the answers are the same."""
    for module in net.modules():
        if isinstance(module, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            module.to(DTYPES[precision])
