"""Weights out of files that ``torch.save`` wrote, whatever else their trainers put beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vmmetrics.errors import SetupError
from vmmetrics.utils.tensors import load_tensors, require_safe_torch


class _LeftOut:
    """Stands where a file names a class or function that torch does not know: logs, numpy arrays, settings."""

    def __new__(cls, *_: object, **__: object) -> _LeftOut:
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None: ...

    def __setstate__(self, state: object) -> None: ...

    def __call__(self, *_: object) -> _LeftOut:
        return self


def read_weights(path: Path, entry: str, name: str) -> dict[str, Tensor]:
    """Read the weights of a checkpoint; nothing in it is executed.

    Args:
        path: Written by ``torch.save``.
        entry: Where its weights are; a file without that entry holds nothing but weights.
        name: What ``vmmetrics weights`` calls it, for messages.

    Returns:
        Weights by name, on the CPU.

    Raises:
        SetupError: No such file, no checkpoint, damaged, or without weights.
    """
    if not path.is_file():
        raise SetupError(f"{path}: no such checkpoint; fetch it with: vmmetrics weights fetch {name}")
    require_safe_torch()
    try:
        unknown = torch.serialization.get_unsafe_globals_in_checkpoint(str(path))
        with torch.serialization.safe_globals([(_LeftOut, name) for name in unknown]):
            loaded: Any = load_tensors(path)
    except Exception as error:  # torch's reader fails in many ways on what is no checkpoint
        raise SetupError(
            f"{path}: not readable as a checkpoint; remove it and fetch it again with: vmmetrics weights fetch "
            f"{name}. torch says: {error}"
        ) from error
    found = loaded.get(entry, loaded) if isinstance(loaded, Mapping) else None
    if not isinstance(found, Mapping) or not found:
        raise SetupError(f"{path}: expected weights in its entry {entry!r} but got {type(loaded).__name__}")
    strange = [str(key) for key, value in found.items() if not isinstance(value, Tensor)]
    if strange:
        raise SetupError(f"{path}: expected tensors only but found {', '.join(strange[:6])}")
    return dict(found)
