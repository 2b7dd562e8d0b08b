"""Checkpoints in VideoMAE V2's layout: every weight must find its place, and every place its weight.

What upstream drops or leaves random with a line in the log is an error here: a classifier with a random head gives
plausible numbers.
"""

from __future__ import annotations

import argparse
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.ported.videomae import SIZES, Architecture, VideoMAE
from vmmetrics.perception.vmbench.runtime import needed
from vmmetrics.utils.display import markup
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.tensors import load_tensors, quiet_transformers, reading, require_safe_torch

# Weights out of files that ``torch.save`` wrote, whatever else their trainers put beside them.


class _LeftOut:
    """Stands where a file names a class or function that torch does not know: logs, numpy arrays, settings."""

    def __new__(cls, *_: object, **__: object) -> _LeftOut:
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None: ...

    def __setstate__(self, state: object) -> None: ...

    def __call__(self, *_: object) -> _LeftOut:
        return self


CONTAINERS: Mapping[str, Any] = {
    "collections.defaultdict": lambda *_: OrderedDict(),  # torch fills no other dict than this
    "argparse.Namespace": argparse.Namespace,
}
"""Stand-ins for allow-listed classes that torch does not know by itself."""


def _loaded(path: Path) -> Any:
    """Load tensors and plain values; of what else is named, :data:`CONTAINERS` come back and the rest is left out.

    Nothing in the file is executed: a class or function that is not among torch's own or :data:`CONTAINERS` is never
    imported, :class:`_LeftOut` stands in its place.
    """
    require_safe_torch()
    names = torch.serialization.get_unsafe_globals_in_checkpoint(str(path))
    with torch.serialization.safe_globals([(CONTAINERS.get(name, _LeftOut), name) for name in names]):
        return load_tensors(path)


def _tensors(path: Path, weights: Mapping[str, Any]) -> dict[str, Tensor]:
    others = [str(key) for key, value in weights.items() if not isinstance(value, Tensor)]
    if others:
        raise SetupError(
            f"{path}: expected a checkpoint of weights, but these entries are not tensors: {listed(others)}"
        )
    if not weights:
        raise SetupError(f"{path}: expected a checkpoint of weights but it has no entries")
    return dict(weights)


NESTED = ("model", "module")
"""Where trainers put the weights, in the order upstream looks: its own, then DeepSpeed's."""

PREFIXES = ("_orig_mod.", "backbone.", "encoder.")
"""Left in front of names by torch.compile, by wrappers and by pre-training."""

PRETRAINING_ONLY = ("decoder.", "encoder_to_decoder.", "mask_token", "norm.")
"""Weights of a pre-trained autoencoder that its classifier does not have."""

_SHOWN = 6  # names listed in a message before "and n more"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The content of a file.

    Attributes:
        path: The file.
        weights: Weights by name, wrappers taken off, on the CPU.
        meta: What else stands at the top of the file, of plain types; empty in a bare file of weights.
    """

    path: Path
    weights: Mapping[str, Tensor]
    meta: Mapping[str, Any]

    def sha256(self) -> str:
        """Hash of the file, hexadecimal."""
        return sha256_of(self.path)


def read_checkpoint(
    path: Path, entries: Sequence[str] = NESTED, prefixes: Sequence[str] = PREFIXES, mend: str = ""
) -> Checkpoint:
    """Read a ``.safetensors`` file, or one written by ``torch.save``; nothing in it is executed.

    Args:
        path: The file.
        entries: Where its weights may be, the first that is there counts; without any it holds nothing but weights.
        prefixes: Taken off the names of weights.
        mend: End of messages: what to do.

    Raises:
        SetupError: No such file, no checkpoint, or one with other things than tensors among its weights.
    """
    if not path.is_file():
        raise SetupError(f"{path}: no such checkpoint{mend}")
    kind, read = ("safetensors", _read_safetensors) if path.suffix == ".safetensors" else ("a checkpoint", _loaded)
    with reading(f"{path}: not readable as {kind}{mend}"):
        loaded = read(path)
    if not isinstance(loaded, Mapping):
        raise SetupError(f"{path}: expected a dict of weights but got {type(loaded).__name__}{mend}")
    outer = next((key for key in entries if isinstance(loaded.get(key), Mapping)), None)
    raw: Mapping[str, Any] = loaded if outer is None else loaded[outer]
    meta = {} if outer is None else {key: value for key, value in loaded.items() if key != outer}
    weights: dict[str, Tensor] = {}
    for key, value in _tensors(path, raw).items():
        name = key
        for prefix in prefixes:
            name = name.removeprefix(prefix)
        if name in weights:
            raise SetupError(f"{path}: {name} is there twice, once as {key}")
        weights[name] = value
    return Checkpoint(path, weights, meta)


def _read_safetensors(path: Path) -> Any:
    with needed():
        from safetensors.torch import load_file
    return load_file(path)


def read_weights(path: Path, entry: str, name: str) -> Mapping[str, Tensor]:
    """Read the weights of a checkpoint by :func:`read_checkpoint`.

    Args:
        path: Written by ``torch.save``.
        entry: Where its weights are; a file without that entry holds nothing but weights.
        name: What ``vmmetrics weights`` calls it, for messages.
    """
    return read_checkpoint(path, (entry,), (), f"; fetch it with: vmmetrics weights fetch {name}").weights


def load_hub(kind: str, folder: Path, name: str, **options: Any) -> Any:
    """Load a network of transformers from a folder in the hub's layout; float32, evaluation mode, without gradients.

    Args:
        kind: Its class in transformers.
        folder: Where it lies; nothing is downloaded.
        name: What ``vmmetrics weights`` calls it, for messages.
        options: Entries of its configuration that are to be others.

    Raises:
        SetupError: transformers is not installed; the folder cannot be loaded, misses weights, has others, or has them
            in other shapes.
    """
    with needed():
        import transformers
    mend = f"; fetch it with: vmmetrics weights fetch {name}"
    with reading(f"{folder}: no folder that transformers can load{mend}. The cause"), quiet_transformers():
        net, report = getattr(transformers, kind).from_pretrained(
            str(folder),
            local_files_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are told below, by name
            dtype=torch.float32,
            **options,
        )
    problems = misfit(report["missing_keys"], report["unexpected_keys"], report["mismatched_keys"])
    if problems:
        raise SetupError(f"{folder}: the weights do not fit: {problems}{mend}")
    return net.float().eval().requires_grad_(False)


def build_videomae(checkpoint: Checkpoint, classes: int, net: Architecture | None = None) -> VideoMAE:
    """Build the classifier that a checkpoint holds, in float32 and evaluation mode.

    Args:
        checkpoint: ``vit_g_vmbench.pt``, any other fine-tuned VideoMAE V2 checkpoint, or one of our own training.
        classes: Number of classes that it must have.
        net: Its architecture; None takes what the file states, else the published size with its shapes.

    Raises:
        SetupError: The file is of no known size, misses weights, has others, or has them in other shapes; the text
            names them.
    """
    net = net or architecture_of(checkpoint)
    with torch.device("meta"):  # nothing is drawn only to be overwritten
        model = VideoMAE(net, classes)
    check_fit(checkpoint.path, model.state_dict(), checkpoint.weights)
    model.load_state_dict(checkpoint.weights, strict=True, assign=True)
    model.float().eval()
    return model


def load_encoder(checkpoint: Checkpoint, model: VideoMAE) -> list[str]:
    """Start ``model`` from a checkpoint whose classes may be others, or that was only pre-trained.

    Args:
        checkpoint: Where from. All blocks and the patch embedding must be there and fit; the head is taken if it has
            as many classes as ``model``, ``fc_norm`` if it is there.
        model: Initialised already; what the checkpoint lacks stays as it is.

    Returns:
        Names of the weights that are not from the checkpoint.

    Raises:
        SetupError: As for :func:`build_videomae`, the head and ``fc_norm`` excepted.
    """
    own = model.state_dict()
    weights = {k: v for k, v in checkpoint.weights.items() if not k.startswith(PRETRAINING_ONLY)}
    if "head.weight" in weights and weights["head.weight"].shape != own["head.weight"].shape:
        weights = {k: v for k, v in weights.items() if not k.startswith("head.")}
    fresh = [k for k in own if k.startswith(("head.", "fc_norm.")) and k not in weights]
    check_fit(checkpoint.path, own, {**weights, **{k: own[k] for k in fresh}})
    model.load_state_dict(weights, strict=False)
    return fresh


def architecture_of(checkpoint: Checkpoint) -> Architecture:
    """Tell the architecture of a checkpoint: as the file states it, else the published one that its shapes fit.

    Raises:
        SetupError: It is no VideoMAE checkpoint, or of no published size.
    """
    stated = checkpoint.meta.get("architecture")
    if stated is not None:
        try:
            return Architecture(**stated)
        except (TypeError, ValueError) as error:
            raise SetupError(f"{checkpoint.path}: its architecture cannot be understood: {error}") from error
    weights = checkpoint.weights
    try:
        width, _, tubelet, patch, _ = weights["patch_embed.proj.weight"].shape
        mlp_width = len(weights["blocks.0.mlp.fc1.weight"])
    except (KeyError, ValueError) as error:
        raise SetupError(f"{checkpoint.path}: expected weights of a VideoMAE but got {listed(weights)}") from error
    depth = len({name.split(".")[1] for name in weights if name.startswith("blocks.")})
    sizes = (width, depth, mlp_width, patch, tubelet)
    for net in SIZES.values():
        if sizes == (net.width, net.depth, net.mlp_width, net.patch, net.tubelet):
            return net
    raise SetupError(
        f"{checkpoint.path}: width {width}, depth {depth}, MLP {mlp_width}, patch {patch}, tubelet {tubelet}: none of "
        f"the published sizes ({', '.join(SIZES)})"
    )


def check_fit(path: Path, expected: Mapping[str, Tensor], weights: Mapping[str, Tensor], mend: str = "") -> None:
    """Compare the weights of a file with those that a network has.

    Args:
        path: The file, for the message.
        expected: Weights of the network, by name.
        weights: Weights of the file, by name.
        mend: End of the message: what to do.

    Raises:
        SetupError: Some are missing, too many, or of another shape; the text names them.
    """
    shapes = [
        f"{k} as {tuple(weights[k].shape)} where {tuple(expected[k].shape)} is expected"
        for k in expected
        if k in weights and weights[k].shape != expected[k].shape
    ]
    problems = misfit(expected.keys() - weights.keys(), weights.keys() - expected.keys(), shapes)
    if problems:
        raise SetupError(f"{path}: the weights do not fit: {problems}{mend}")


def misfit(missing: Iterable[Any], surplus: Iterable[Any], shapes: Iterable[Any]) -> str:
    """Say what is missing, what is too much and what has another shape; nothing where all is right."""
    parts = (("misses ", missing, ""), ("has ", surplus, " besides"), ("has ", shapes, ""))
    return "; ".join(f"it {verb}{listed(names)}{end}" for verb, names, end in parts if names)


def listed(names: Iterable[Any]) -> str:
    """Some names, sorted.

    >>> listed(["b", "a"])
    'a, b'
    """
    return markup.listed(sorted(map(str, names)), _SHOWN)
