"""Arrays of a ``.safetensors`` file, mapped into memory: plain numbers behind a header of JSON, nothing that runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError

_LENGTH_BYTES: Final = 8
_LONGEST_HEADER: Final = 2**20
"""Bytes; the header of a model with 100 tensors takes 10 KB, and the format itself allows 100 MB."""
_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Map every array of a file, read-only; a page is read when it is used.

    Args:
        path: A file in safetensors' format (https://github.com/huggingface/safetensors, "Format").

    Raises:
        SetupError: It cannot be read, is cut off, or says of itself what cannot be.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            text = file.read(length) if length <= _LONGEST_HEADER else b""
        if not text or len(text) < length:
            raise SetupError(f"{path}: not a safetensors file, or cut off inside its header")
        data = np.memmap(path, np.uint8, "r")[_LENGTH_BYTES + length :]
    except (OSError, ValueError) as error:
        raise SetupError(f"Cannot read {path}: {error}") from error
    try:
        header = json.loads(text)
        return {name: _tensor(data, entry) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SetupError(f"{path}: cut off or altered: {type(error).__name__}: {error}") from error


def _tensor(data: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    shape, kind = tuple(entry["shape"]), np.dtype(_TYPES[entry["dtype"]])
    sound = all(type(number) is int and number >= 0 for number in (begin, end, *shape))
    if not sound or end > len(data) or end - begin != math.prod(shape) * kind.itemsize:
        raise ValueError(f"bytes {begin} to {end} of {len(data)} cannot be {kind} of shape {shape}")
    return data[begin:end].view(kind).reshape(shape)
