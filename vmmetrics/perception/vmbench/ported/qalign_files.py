"""one-align as the hub lays it out (q-future/one-align): its sizes, and its weights, each straight to its place.

Every weight must find its place, and every place its weight: upstream's loader draws at random what is missing.
"""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.checkpoints import check_fit, listed, misfit
from vmmetrics.perception.vmbench.ported.qalign_network import LanguageSize, Network, Sizes
from vmmetrics.perception.vmbench.ported.qalign_vision import DEVIATION, MEAN, AbstractorSize, VisionSize
from vmmetrics.perception.vmbench.runtime import needed
from vmmetrics.utils.tensors import load_tensors
from vmmetrics.utils.weights.manifest import is_inside

Size = TypeVar("Size", VisionSize, AbstractorSize, LanguageSize)

MEND = "fetch it again with: vmmetrics weights fetch vmbench"

INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
"""Lists of which weight is in which file, the format preferred first."""

DERIVED = ".rotary_emb.inv_freq"
"""End of names that old versions of transformers wrote, of what follows from the sizes."""


def read_sizes(folder: Path) -> Sizes:
    """Read ``config.json``; what it leaves out has upstream's default.

    Raises:
        SetupError: It is no model of this kind, or of a variant that one-align is not.
    """
    path = folder / "config.json"
    config = _read_json(path)
    if config.get("model_type") != "mplug_owl2":
        raise SetupError(f"{path}: expected model_type mplug_owl2 but got {config.get('model_type')}")
    visual = config.get("visual_config") or {}
    try:
        eyes, abstractor = visual.get("visual_model") or {}, visual.get("visual_abstractor") or {}
        sizes = Sizes(
            vision=_taken(VisionSize, eyes),
            abstractor=_taken(AbstractorSize, abstractor),
            language=_taken(LanguageSize, config),
        )
    except (AttributeError, TypeError) as error:
        raise SetupError(f"{path}: not understood: {error}") from error
    _refuse_variants(path, config, eyes, abstractor, sizes)
    _check_processor(folder / "preprocessor_config.json", sizes.vision.image_size)
    return sizes


def load_network(folder: Path, device: torch.device, dtype: torch.dtype) -> Network:
    """Build the network and read its weights file by file, each weight straight to the device in the wanted type.

    Beside the finished weights, memory never holds more than one of them.

    Args:
        folder: Checkpoint ``one-align``.
        device: Where to.
        dtype: What the weights are converted to.

    Raises:
        SetupError: A file is missing or damaged; weights are missing, are of another shape, or have no place. The
            text names them.
    """
    sizes = read_sizes(folder)
    with torch.device("meta"):  # nothing is drawn only to be overwritten
        network = Network(sizes)
    places = network.state_dict()
    index, files, promised = _files(folder)
    _check_names(index, places, promised)  # told before 16 GB are read
    found: set[str] = set()
    for path in files:
        weights = {n: w.to(device, dtype) for n, w in _weights(path) if not n.endswith(DERIVED)}
        check_fit(path, places, {**places, **weights})
        network.load_state_dict(weights, strict=False, assign=True)
        found |= weights.keys()
    _check_names(index, places, found)
    network.requires_grad_(False)
    network.eval()
    return network


def _check_names(index: Path, places: Mapping[str, Tensor], found: set[str]) -> None:
    told = misfit(places.keys() - found, found - places.keys(), ())
    if told:
        raise SetupError(f"{index}: the weights do not fit: {told}")


def _taken(kind: type[Size], config: Mapping[str, Any]) -> Size:
    return kind(**{name: config[name] for name in kind.__dataclass_fields__ if name in config})


def _refuse_variants(
    path: Path, config: Mapping[str, Any], eyes: Mapping[str, Any], abstractor: Mapping[str, Any], sizes: Sizes
) -> None:
    """Name what the file asks for and this network does not have."""
    grid = sizes.vision.image_size // sizes.vision.patch_size
    eyes_width, width = sizes.vision.hidden_size, sizes.language.hidden_size
    for part, whole in ((sizes.vision, eyes_width), (sizes.abstractor, eyes_width), (sizes.language, width)):
        heads = part.num_attention_heads
        if whole % heads:
            raise SetupError(f"{path}: hidden_size {whole} is no multiple of its {heads} heads")
    only = [
        ("num_key_value_heads", config.get("num_key_value_heads"), sizes.language.num_attention_heads),
        ("hidden_act", config.get("hidden_act"), "silu"),
        ("rope_scaling", config.get("rope_scaling"), None),
        ("attention_bias", config.get("attention_bias"), False),
        ("tie_word_embeddings", config.get("tie_word_embeddings"), False),
        ("visual_model num_channels", eyes.get("num_channels"), 3),
        ("visual_abstractor hidden_size", abstractor.get("hidden_size"), eyes_width),
        ("visual_abstractor encoder_hidden_size", abstractor.get("encoder_hidden_size"), eyes_width),
        ("visual_abstractor grid_size", abstractor.get("grid_size"), grid),
    ]
    strange = [f"{name} {value} (only {known})" for name, value, known in only if value not in (None, known)]
    if strange:
        raise SetupError(f"{path}: of a kind that is not supported: {', '.join(strange)}")


def _check_processor(path: Path, side: int) -> None:
    """Where the file is there, it must ask for what :mod:`.qalign_vision` does."""
    if not path.is_file():
        return
    config = _read_json(path)
    size = config.get("size", side)
    size = size.get("shortest_edge") if isinstance(size, Mapping) else size
    wanted = {"size": (size, side), "image_mean": (config.get("image_mean"), list(MEAN))}
    wanted |= {"image_std": (config.get("image_std"), list(DEVIATION)), "resample": (config.get("resample"), 3)}
    wrong = [f"{key} {got} where {ours} is expected" for key, (got, ours) in wanted.items() if got not in (None, ours)]
    if wrong:
        raise SetupError(f"{path}: {', '.join(wrong)}")


def _files(folder: Path) -> tuple[Path, list[Path], set[str]]:
    """Return the index, the files that it names, and the weights that should be in them."""
    for index in INDEXES:
        listing = folder / index
        if not listing.is_file():
            continue
        places = _read_json(listing).get("weight_map") or {}
        if not isinstance(places, dict) or not all(map(is_inside, places.values())):
            raise SetupError(f"{listing}: expected weight_map to name files in its folder; {MEND}")
        files = [folder / name for name in sorted(set(places.values()))]
        absent = [path.name for path in files if not path.is_file()]
        if absent or not files:
            raise SetupError(f"{listing} names {listed(absent) or 'no file'}, missing beside it; {MEND}")
        return listing, files, {name for name in places if not name.endswith(DERIVED)}
    raise SetupError(f"{folder / INDEXES[1]} is missing; {MEND}")


def _weights(path: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of a file by name, one after another; nothing in it is executed."""
    try:
        for name, value in _safetensors(path) if path.suffix == ".safetensors" else _pickled(path):
            if not isinstance(value, Tensor):
                raise SetupError(f"{path}: expected tensors only but {name} is of type {type(value).__name__}")
            yield name, value
    except pickle.UnpicklingError as error:
        raise SetupError(f"{path}: holds more than weights, or is damaged; {MEND}. torch says: {error}") from error
    except (RuntimeError, OSError, EOFError, AttributeError) as error:
        raise SetupError(f"{path}: truncated, or no checkpoint; {MEND}. torch says: {error}") from error


def _pickled(path: Path) -> Iterator[tuple[str, Any]]:
    mapped = zipfile.is_zipfile(path)  # so that a file of 10 GB is read one weight at a time
    yield from load_tensors(path, mapped=mapped).items()


def _safetensors(path: Path) -> Iterator[tuple[str, Any]]:
    with needed():
        from safetensors import SafetensorError, safe_open
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - it is no dict
                yield name, file.get_tensor(name)
    except SafetensorError as error:
        raise SetupError(f"{path}: truncated, or no checkpoint; {MEND}. safetensors says: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SetupError(f"{path}: not readable as JSON: {error}; {MEND}") from error
    if not isinstance(content, dict):
        raise SetupError(f"{path}: expected an object but got {type(content).__name__}; {MEND}")
    return content
