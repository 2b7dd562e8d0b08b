"""Whether a file of weights ends where it should, told from the file alone: no published size or hash needed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

_HEADER_LENGTH = 8  # bytes of a safetensors file that say how long its header is
_LONGEST_HEADER = 100_000_000  # bytes; the format's own limit
_MARKUP = (b"<!doctype", b"<html", b"<?xml")
_ZIPPED = (".pt", ".pth", ".bin")


def fault_of(path: Path, name: str | None = None) -> str | None:
    """Say what is wrong with a file's form, or None.

    The form of ``.safetensors``, ``.pt``, ``.pth``, ``.bin`` and ``.json`` is looked at. torch's old format, no
    archive, cannot be told cut off from whole.

    Args:
        path: A file.
        name: What it is to be called; None where it is called so already.
    """
    with path.open("rb") as file:
        start = file.read(16)
    if not start:
        return "is empty"
    if start.lower().startswith(_MARKUP):
        return "is a web page, not weights: a proxy or login page answered for the server"
    if start.startswith(b"version https://"[:16]):
        return "is a Git LFS pointer, not the weights it stands for"
    suffix = Path(name or path).suffix
    if suffix == ".safetensors":
        return _fault_of_safetensors(path)
    if suffix in _ZIPPED and start.startswith(b"PK\x03\x04") and not zipfile.is_zipfile(path):
        return "is cut off: the end of its archive is missing"
    if suffix == ".json":
        return _fault_of_json(path)
    return None


def _fault_of_safetensors(path: Path) -> str | None:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_HEADER_LENGTH), "little")
        if length > _LONGEST_HEADER:
            return "is no safetensors file"
        text = file.read(length)
    if len(text) < length:
        return f"is cut off at {size} bytes, inside its header"
    try:
        header = json.loads(text)
        ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
        return "is no safetensors file"
    whole = _HEADER_LENGTH + length + max(ends, default=0)
    return None if size == whole else f"has {size} bytes where its header speaks of {whole}: it is cut off or altered"


def _fault_of_json(path: Path) -> str | None:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        return f"is no JSON: {error}"
    return None
