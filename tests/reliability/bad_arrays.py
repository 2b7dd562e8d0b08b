"""Arrays and tensors: headers of NPY, types and values, payloads of ``.pt``."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tests.bad_inputs import moving_frames
from tests.reliability.bad_clips import BadClip, put

MOST_LENGTH = 0xFFFFFFF0
MARK = "executed"
"""A payload that is run makes a folder of this name beside its clip."""


def npy(header: str, body: bytes = b"", version: tuple[int, int] = (1, 0), length: int | None = None) -> bytes:
    """An NPY file with a header of any text."""
    text = header.encode("latin-1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", size) + text + body


def _described(kind: str, shape: str, fortran: str = "False") -> str:
    return f"{{'descr': {kind}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


HEADERS: dict[str, str] = {
    "huge": _described("'|u1'", "(1000000, 100000, 100000, 3)"),
    "2^62": _described("'|u1'", "(4611686018427387904, 4, 4, 3)"),
    "2^64": _described("'|u1'", "(18446744073709551616, 4, 4, 3)"),
    "5000 digits": _described("'|u1'", f"({'9' * 5000}, 4, 4, 3)"),
    "power": _described("'|u1'", "(2**3,)"),
    "negative": _described("'|u1'", "(-1, 4, 4, 3)"),
    "objects": _described("'|O'", "(4,)"),
    "fields": _described("[('a', '<f4'), ('b', '|O')]", "(8, 64, 64)"),
    "no dictionary": "[1, 2, 3]",
    "call": f"__import__('os').mkdir('{MARK}')",
    "deep": "(" * 5000 + ")" * 5000,
    "unterminated": "{'descr': '|u1', 'shape': (",
    "unterminated text": "{'descr': '|u1",
    "bool shape": _described("'|u1'", "(True, 64, 64)"),
    "float shape": _described("'|u1'", "(8.0, 64, 64)"),
    "text shape": _described("'|u1'", "'8'"),
    "None shape": _described("'|u1'", "None"),
    "text": _described("'<U10'", "(8, 64, 64)"),
    "complex": _described("'<c8'", "(8, 64, 64)"),
    "long double": _described("'<f16'", "(2, 16, 16)"),
    "dates": _described("'<M8[s]'", "(8, 16, 16)"),
    "void": _described("'|V4'", "(8, 16, 16)"),
    "no axes": _described("'|u1'", "()"),
    "no frames": _described("'|u1'", "(0, 64, 64, 3)"),
    "six axes": _described("'|u1'", "(1, 1, 8, 16, 16, 3)"),
    "40 axes": _described("'|u1'", "(" + "1, " * 40 + ")"),
    "no type": _described("''", "(8, 16, 16)"),
    "type is a number": _described("5", "(8, 16, 16)"),
    "type of size 0": _described("'|S0'", "(8, 16, 16)"),
    "indented": "\n    {'descr'",
    "missing key": "{'descr': '|u1'}",
    "further key": "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 16, 16), 'x': 1}",
    "Fortran is text": _described("'|u1'", "(8, 16, 16)", "'x'"),
    "NUL": "{'descr': '|u1\0'}",
    "backslash": "{'descr': '|u1' \\ }",
    "bytes": _described("b'|u1'", "(8, 16, 16)"),
    "set": "{1, 2}",
    "empty": "",
}


class _Payload:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (MARK,)


def kinds(folder: Path, dense: bool) -> Iterator[BadClip]:
    """Every header, type and payload once."""
    for name, header in HEADERS.items():
        data = npy(header, bytes(8 * 16 * 16 * 3))
        yield BadClip(f"npy header {name}", put(folder / f"header-{name.replace(' ', '-')}.npy", data), "error")
    shape = _described("'|u1'", "(8,16,16)")
    yield BadClip("npy version 9", put(folder / "version.npy", npy(shape, bytes(3000), (9, 9))), "error")
    data = npy(shape, bytes(3000), (2, 0), MOST_LENGTH)
    yield BadClip("npy header of 4 GB", put(folder / "long-header.npy", data), "error")
    yield BadClip("npy header of 0", put(folder / "no-header.npy", npy(shape, bytes(9), (1, 0), 0)), "error")
    data = npy(_described("'|O'", "(1,)"), pickle.dumps(_Payload()))
    yield BadClip("npy pickle", put(folder / "pickle.npy", data), "error")
    yield from _values(folder)
    yield from _payloads(folder)
    if dense:
        many = _save(folder, "many", np.zeros((200_000, 1, 1, 3), np.uint8))
        yield BadClip("array 200,000 frames of 1x1", many)


def _values(folder: Path) -> Iterator[BadClip]:
    clip = moving_frames(8)
    unit = clip.astype(np.float32) / 255
    high = unit > 0.8
    for name, array in {
        "NaN": np.where(high, np.nan, unit),
        "infinity": np.where(high, np.inf, unit),
        "minus infinity": np.where(high, -np.inf, unit),
        "all NaN": np.full_like(unit, np.nan),
        "0 to -255": -unit * 255,
        "0 to 255 as float": unit * 255,
        "float16 beyond its range": np.full_like(unit, np.inf, np.float16),
        "int16": clip.astype(np.int16),
        "int64": clip.astype(np.int64),
        "uint16": clip.astype(np.uint16),
        "bool": clip > 128,
        "complex": unit.astype(np.complex64),
        "five channels": np.zeros((8, 32, 32, 5), np.uint8),
        "two channels": np.zeros((8, 32, 32, 2), np.uint8),
        "batch of two": np.stack([clip, clip]),
        "one number": np.uint8(5),
        "text": np.array(["a", "b"]),
    }.items():
        yield BadClip(f"array {name}", _save(folder, name, np.asarray(array)), "error")
    for name, array in {
        "float64": unit.astype(np.float64),
        "float16": unit.astype(np.float16),
        "-1 to 1": unit * 2 - 1,
        "big-endian": unit.astype(">f4"),
        "Fortran order": np.asfortranarray(clip),
        "subnormal": np.full((8, 32, 32, 3), 1e-45, np.float32),
        "alpha": np.concatenate([clip, clip[..., :1]], -1),
        "grey": clip[..., 0],
        "channels first": np.moveaxis(clip, -1, 1),
        "batch of one": clip[None],
        "one frame": clip[:1],
        "constant": np.full((8, 64, 64, 3), 128, np.uint8),
        "black": np.zeros((8, 64, 64, 3), np.uint8),
        "white noise": np.random.default_rng(0).integers(0, 256, (8, 64, 64, 3), np.uint8),
        "checkerboard": np.repeat((np.indices((8, 64, 64)).sum(0) % 2 * 255).astype(np.uint8)[..., None], 3, -1),
        "wide": np.zeros((8, 8, 4000, 3), np.uint8),
        "tall": np.zeros((8, 4000, 8, 3), np.uint8),
    }.items():
        yield BadClip(f"array {name}", _save(folder, name, array), "ok")
    for side in (1, 2, 3, 5, 7):
        yield BadClip(f"array {side}x{side}", _save(folder, f"side-{side}", np.zeros((8, side, side, 3), np.uint8)))
    yield BadClip("array ambiguous axes", _save(folder, "ambiguous", np.zeros((3, 3, 16, 16), np.uint8)))


def _save(folder: Path, name: str, array: np.ndarray[Any, Any]) -> Path:
    path = folder / f"array-{name.replace(' ', '-')}.npy"
    np.save(path, array)
    return path


def _payloads(folder: Path) -> Iterator[BadClip]:
    code = pickle.dumps(_Payload())
    for name, data in {
        "pickle": code,
        "pickle in a ZIP": _zip({"archive/data.pkl": code, "archive/version": b"3\n"}),
        "pickle in a ZIP with byte order": _zip(
            {"archive/data.pkl": code, "archive/version": b"3\n", "archive/byteorder": b"little"}
        ),
        "ZIP bomb": _zip({"archive/data.pkl": bytes(100_000_000)}),
        "ZIP that leads out": _zip({f"../../{MARK}": b"x"}),
        "empty ZIP": _zip({}),
        "text": b"hello",
        "tar": b"ustar" * 200,
    }.items():
        for suffix in ("pt", "mp4"):
            path = put(folder / f"payload-{name.replace(' ', '-')}.{suffix}", data)
            yield BadClip(f"{name} named .{suffix}", path, "error")
    if find_spec("torch"):
        yield from _tensors(folder)


def _tensors(folder: Path) -> Iterator[BadClip]:
    import torch

    clip = torch.from_numpy(moving_frames(8))
    for name, value in {
        "dictionary": {"frames": clip},
        "list": [clip, clip],
        "number": 5,
        "sparse tensor": torch.zeros((8, 16, 16)).to_sparse(),
        "quantised": torch.quantize_per_tensor(clip.float(), 1.0, 0, torch.quint8),
        "bfloat16": clip.bfloat16() / 255,
        "meta": torch.empty((8, 16, 16, 3), device="meta"),
        "expanded": torch.zeros((1, 1, 1, 3), dtype=torch.uint8).expand(1_000_000, 1000, 1000, 3),
    }.items():
        path = folder / f"tensor-{name.replace(' ', '-')}.pt"
        torch.save(value, path)
        yield BadClip(f"tensor {name}", path)
    whole = io.BytesIO()
    torch.save(clip, whole)
    data = whole.getvalue()
    for share in (0.1, 0.5, 0.9):
        yield BadClip("tensor cut", put(folder / f"cut-{share}.pt", data[: int(len(data) * share)]), "error")


def _zip(members: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return archive.getvalue()
