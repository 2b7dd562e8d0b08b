"""Weights that the user supplies: where they are looked for and how they are read, without running code from them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, install
from vmmetrics.utils.storage.provenance import version_of
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.tensors import default_device, load_tensors, quiet_transformers, reading
from vmmetrics.utils.weights.folder import fault_of, weights_home

_LOADED = (".json", ".safetensors", ".bin", ".txt", ".model", ".jinja")  # of a folder, what transformers reads


def require(*packages: str) -> None:
    """Check that packages are there.

    Raises:
        SetupError: One is not; the text says what installs it.
    """
    for package in packages:
        try:
            import_module(package)
        except ImportError as error:
            raise SetupError(
                f"This baseline needs {package}, which cannot be loaded ({error}): {install('baselines')}"
            ) from error


def find(family: str, location: str | os.PathLike[str] | None, default: str, what: str) -> Path:
    """Return the file or folder of a family's weights.

    Args:
        family: Its name.
        location: Where the user says they are, or None.
        default: Name in the folder of fetched weights, where they are looked for if nothing is given.
        what: What they are and where they come from, for the message.

    Raises:
        SetupError: They are not there, or a file is not whole.
    """
    path = weights_home() / default if location is None else Path(location)
    if not path.exists():
        raise SetupError(f"{family} needs {what}: not found at {path}; put it there or set --weights {family}=PATH")
    if path.is_file() and (fault := fault_of(path)) is not None:
        raise SetupError(f"{path} {fault}")
    return path


def identity(path: Path, *packages: str) -> dict[str, dict[str, str | None]]:
    """Return what the values of a model depend on, ready for JSON.

    Args:
        path: Its file, or a folder, of which weights and configuration count.
        packages: Those whose versions count.
    """
    files = [path] if path.is_file() else sorted(f for f in path.iterdir() if f.is_file() and f.suffix in _LOADED)
    hashes: dict[str, str | None] = {file.name: sha256_of(file) for file in files}
    return {"weights": hashes, "versions": {package: version_of(package) for package in packages}}


def read_state(path: Path) -> Mapping[str, Any]:
    """Read weights by name from a ``.safetensors`` file or one of ``torch.save``; nothing in it is executed.

    Raises:
        SetupError: It holds no weights.
    """
    import torch

    with reading(f"{path}: not readable as weights"):
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        state = load_tensors(path)
    if not isinstance(state, Mapping) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        raise SetupError(f"{path}: expected weights by name, as torchvision publishes them")
    return state


def model_from_folder(kind: Any, path: Path, types: tuple[str, ...] = (), **options: Any) -> Any:
    """Load a model of transformers from a folder, without any network and without any code of the folder's.

    Args:
        kind: Class of transformers.
        path: The folder.
        types: Types of model that will do, the usual one first; empty for any that the class takes.
        options: For ``from_pretrained``.

    Raises:
        SetupError: The folder holds no such model, or not all of its weights.
    """
    from transformers import AutoConfig

    safe = {"local_files_only": True, "trust_remote_code": False}
    with reading(f"{path}: not readable as a model of transformers"):
        config = AutoConfig.from_pretrained(path, **safe)
        if types and config.model_type not in types:
            raise SetupError(f"{path} holds a model of type {config.model_type!r}, not {types[0]!r}")
        with quiet_transformers():
            model, info = kind.from_pretrained(path, output_loading_info=True, **safe, **options)
    if info["missing_keys"]:
        raise SetupError(f"{path} lacks weights: {', '.join(sorted(info['missing_keys'])[:4])}")
    return model.eval()


def prepare_device(threads: int | None) -> Any:
    """Return the torch device, a GPU where there is one, and let the CPU use so many threads."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    return torch.device(default_device())
