"""Loading of transformers models, from a folder or the Hub, with readable errors.

Weights are read from safetensors alone, and no code that comes with them is run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError, install
from vmmetrics.utils.storage.provenance import version_of
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.tensors import quiet_transformers

INSTALL: Final = install("baselines")
"""Command that installs torch, torchvision, transformers and safetensors."""
LESS: Final = "use fewer frames (--frames, 'at most N'), smaller ones (--max-size), --dtype bfloat16 or --batch-size 1"
"""Advice for a full memory."""
_HUB: Final = re.compile(r"[\w.-]+/[\w.-]+(?:@[\w./-]+)?")
_READ: Final = (".json", ".safetensors", ".txt", ".model", ".jinja")  # what transformers reads of a folder
_NEEDED: Final = {"torch": "torch", "transformers": "transformers", "safetensors": "safetensors"}
_BY_SOME: Final = {"torchvision": "torchvision", "PIL": "pillow", "sentencepiece": "sentencepiece"}
_SAFE: Final = {"local_files_only": True, "trust_remote_code": False}
_DTYPES: Final = ("auto", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to generate.

    Attributes:
        model: Of transformers, on its device or devices.
        processor: Of its words and frames.
        name: Name shown in tables.
        identity: What its answers depend on, as JSON values.
    """

    model: Any
    processor: Any
    name: str
    identity: Mapping[str, Any]


def load(source: str, dtype: str = "auto", device: str | None = None) -> LoadedModel:
    """Load an image-text-to-text model of transformers.

    Args:
        source: Its folder, or its name on the Hub (``org/name``, ``org/name@revision``), from where it is fetched once.
        dtype: Of its numbers: "float32", "float16", "bfloat16", or "auto" for that of its weights.
        device: In torch's words; "auto" spreads it over all GPUs; None takes a GPU where there is one, all of several.

    Raises:
        SetupError: It cannot be loaded; the text says why and what to do.
    """
    if dtype not in _DTYPES:
        raise SetupError(f"Expected a dtype of {', '.join(_DTYPES)} but got {dtype!r}")
    try:
        import torch
        from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor
    except Exception as error:  # a package that does not fit another raises what it likes
        raise SetupError(f"Local models cannot run: {_fault_of_packages(error)}") from error
    folder, origin = (Path(source), None) if Path(source).is_dir() else fetched(source)
    if not (folder / "config.json").is_file():
        raise SetupError(f"{source} is not a transformers model: config.json is missing; name the folder that has it")
    try:
        config = AutoConfig.from_pretrained(folder, **_SAFE)
        if type(config) not in AutoModelForImageTextToText._model_mapping:
            raise SetupError(
                f"{source} is a {config.model_type!r}, which transformers {version_of('transformers')} does not load "
                "as an image-text-to-text model; choose a vision-language model, or serve it and name its endpoint"
            )
        with quiet_transformers():
            processor = AutoProcessor.from_pretrained(folder, **_SAFE)
        if getattr(processor, "image_processor", None) is None:
            raise SetupError(
                f"{source} has no image processor (preprocessor_config.json, processor_config.json); "
                "copy them from the base model to the folder of the weights"
            )
        placed = _placed(torch, device)
        with quiet_transformers():
            model, info = AutoModelForImageTextToText.from_pretrained(
                folder, dtype=dtype, use_safetensors=True, output_loading_info=True, **placed, **_SAFE
            )
        if not placed:
            model = model.to(_one_device(torch, device))
    except SetupError:
        raise
    except Exception as error:  # files of others: whatever is wrong with them
        raise SetupError(f"{source} cannot be loaded: {_why(error, folder)}") from error
    if info["missing_keys"]:
        raise SetupError(
            f"{source} lacks weights: {', '.join(sorted(info['missing_keys'])[:4])}; download all of it again"
        )
    identity = {
        "weights": origin or _hashes(folder),
        "versions": {package: version_of(package) for package in ("torch", "transformers")},
        "device": model.device.type,
        "dtype": str(model.dtype),
    }
    name = folder.resolve().name if origin is None else origin["repository"].partition("/")[2]
    return LoadedModel(model.eval(), processor, name, identity)


def fetched(name: str) -> tuple[Path, dict[str, str]]:
    """Download a model from the Hub, or use the Hub's cache if it is complete.

    Code, pickles and folders within it are not fetched.

    Returns:
        The folder, and repository and commit.

    Raises:
        SetupError: The name is none of a model there, or it cannot be fetched.
    """
    if not _HUB.fullmatch(name):
        raise SetupError(f"There is no folder {name}; expected one with a model, or a name on the Hub (org/name)")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise SetupError(
            f"{name} is not a local folder, and downloading it needs huggingface_hub: {INSTALL}"
        ) from error
    repository, _, revision = name.partition("@")
    patterns = [f"*{ending}" for ending in _READ]
    try:
        folder = Path(
            snapshot_download(
                repository, revision=revision or None, allow_patterns=patterns, ignore_patterns=["*/*", "consolidated*"]
            )
        )
    except Exception as error:  # of the Hub, the network, or the disk
        kind = type(error).__name__
        cures = {
            "GatedRepoError": "accept its terms on huggingface.co, then run 'hf auth login'",
            "RepositoryNotFoundError": "check its spelling; for a private model run 'hf auth login' first",
            "RevisionNotFoundError": "check the revision after the @",
        }
        cure = cures.get(kind, f"download it on a machine with network access: hf download {repository}")
        reason = str(error).strip().partition("\n")[0] or kind
        raise SetupError(
            f"{name} is not a local folder and cannot be downloaded from the Hub: {reason}; {cure}"
        ) from error
    return folder, {"repository": repository, "revision": folder.name}


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.suffix in _READ)
    return {file.name: sha256_of(file) for file in files}


def _placed(torch: Any, device: str | None) -> dict[str, str]:
    """Return the transformers arguments that spread a model over several devices; empty for one device."""
    several = torch.cuda.is_available() and torch.cuda.device_count() > 1
    spreads = util.find_spec("accelerate") is not None
    if device != "auto" and not (device is None and several and spreads):
        return {}
    if not spreads:
        raise SetupError(
            "Several GPUs need accelerate, which is not installed; pip install accelerate, or name one: --device cuda:0"
        )
    return {"device_map": "auto"}


def _one_device(torch: Any, device: str | None) -> Any:
    try:
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(0, device=chosen)
    except Exception as error:  # torch has a kind of its own for each thing that a device may lack
        reason = str(error).partition("\n")[0]
        raise SetupError(f"The device {device} cannot be used: {reason}; choose another, or cpu") from error
    return chosen


def is_memory(error: BaseException) -> bool:
    """Return whether an error says that the memory is full."""
    words = ("out of memory", "not enough memory", "can't allocate memory")
    return isinstance(error, MemoryError) or any(word in str(error).lower() for word in words)


def _why(error: Exception, folder: Path) -> str:
    """Return the reason a model cannot be loaded, and what to do."""
    text = str(error).strip()
    first = text.partition("\n")[0]
    if is_memory(error):
        return f"out of memory ({first or 'MemoryError'}); use a smaller model, --dtype bfloat16, or more GPUs"
    if isinstance(error, ImportError):
        return _fault_of_packages(error)
    if "does not recognize this architecture" in text or "trust_remote_code" in text or "custom code" in text:
        return (
            f"transformers {version_of('transformers')} does not support it, and code that comes with "
            "weights is not run; try 'pip install -U transformers', or serve it and name its endpoint"
        )
    if not any(folder.glob("*.safetensors")):
        return "it has no weights in safetensors, and pickles are not read; convert them, or choose another revision"
    if any(word in text for word in ("processor", "tokenizer", "feature extractor")):
        return f"its processor is incomplete ({first}); copy the files of the base model to the folder of the weights"
    return f"{type(error).__name__}: {first}; download it again, or upgrade transformers"


def _fault_of_packages(error: BaseException) -> str:
    """Name the package that is missing or fails to import, and why; else the deepest cause of the error."""
    message = str(error)
    candidates = {
        module: name for module, name in _BY_SOME.items() if name in message.lower() or util.find_spec(module)
    }
    for module, name in {**_NEEDED, **candidates}.items():
        if util.find_spec(module) is None:
            return f"{name} is not installed; {INSTALL}"
        try:
            import_module(module)
        except Exception as cause:
            pair = f" beside torch {version_of('torch')}" if module == "torchvision" else ""
            cure = f"pip install --force-reinstall {'torch torchvision' if pair else name}"
            what = f"{name} {version_of(name)}{pair} is installed but cannot be imported"
            return f"{what} ({type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}); {cure}"
    deepest = error
    while (cause_of := deepest.__cause__ or deepest.__context__) is not None:
        deepest = cause_of
    lines = [line.strip() for line in str(deepest).splitlines() if line.strip()]
    return f"{type(deepest).__name__}: {lines[0] if lines else ''}; {INSTALL}"
