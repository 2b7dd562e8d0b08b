"""Arrays and tensors as clips: any axis order, 8-bit or float, grey or with alpha, on any device."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vmmetrics.errors import ClipError, SetupError, os_reason
from vmmetrics.types import UInt8Array
from vmmetrics.utils.tensors import load_tensors
from vmmetrics.video.pixels import OVERSHOOT, TRANSPARENT, Frames, Limits, composite, picture_to_rgb

_MIN_GUESSED_SIDE = 8  # a side shorter than this is not taken for height or width when the layout is guessed

_PARSING = threading.Lock()
"""numpy has Python parse the header, and Python 3.11's parser counts its depth for all threads together: two at once
can end in a SystemError (CPython issue 106905)."""
_TENSOR_KEYS = ("frames", "video", "clip")  # what a saved dictionary may call its tensor


def to_numpy(source: Any) -> NDArray[Any]:
    """Bring an array, a tensor on any device, or a sequence of frames to numpy without importing torch.

    Raises:
        ClipError: It is none of these, or ragged.
    """
    if isinstance(source, np.ndarray):
        array = source
    elif isinstance(source, (list, tuple)):
        if not source:
            raise ClipError("Expected at least one frame but got an empty sequence")
        pictures = all(isinstance(frame, Image.Image) for frame in source)
        arrays = [picture_to_rgb(frame)[0] if pictures else to_numpy(frame) for frame in source]
        shapes = {array.shape for array in arrays}
        if len(shapes) > 1:
            raise ClipError(f"Expected frames of one size but got {', '.join(map(str, sorted(shapes)))}")
        array = np.stack(arrays)
    elif hasattr(source, "detach") and hasattr(source, "cpu"):
        tensor = source.detach().cpu()
        torch = sys.modules.get("torch")
        if torch is not None and tensor.dtype == torch.bfloat16:
            tensor = tensor.float()  # numpy has no bfloat16
        array = tensor.numpy()
    elif hasattr(source, "__array__"):
        array = np.asarray(source)
    elif hasattr(source, "__dlpack__"):
        array = np.from_dlpack(source)
    else:
        raise ClipError(f"Expected a path, an array or a tensor but got {type(source).__name__}")
    if array.dtype.name == "bfloat16":  # from JAX, through ml_dtypes
        array = array.astype(np.float32)
    if array.dtype == object:
        raise ClipError("Expected frames of one size but the array is ragged or holds Python objects")
    return array


def guess_layout(shape: tuple[int, ...]) -> str:
    """Name the axes of ``shape`` where only one reading makes sense.

    >>> guess_layout((16, 3, 64, 64))
    'TCHW'

    Raises:
        ClipError: No reading makes sense, or several do.
    """
    if len(shape) == 3:
        return "THW"
    if len(shape) == 5:
        return "B" + guess_layout(shape[1:])
    if len(shape) != 4:
        raise ClipError(f"Expected an array with 3, 4 or 5 axes but got shape {shape}; a clip is (T, H, W, 3)")
    for channels in ((3,), (1, 4)):  # colour is so much likelier that it decides
        fits = [
            layout
            for layout in ("THWC", "TCHW", "CTHW")
            if shape[layout.index("C")] in channels
            and min(shape[layout.index("H")], shape[layout.index("W")]) >= _MIN_GUESSED_SIDE
        ]
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise ClipError(f"Shape {shape} can be read as {' or '.join(fits)}; pass layout=")
    if any(shape[axis] in (1, 3, 4) for axis in (0, 1, 3)):
        raise ClipError(
            f"Shape {shape} has a side under {_MIN_GUESSED_SIDE} pixels, too short to guess the axes from; say "
            "what they are with layout="
        )
    raise ClipError(f"Shape {shape} has no axis of 1, 3 or 4 channels; say what the axes are with layout=")


def _batched(array: NDArray[Any], layout: str | None) -> tuple[NDArray[Any], str]:
    """View ``array`` as (B, T, H, W, C) and return the layout it had."""
    shape = array.shape
    if 0 in shape:
        raise ClipError(f"Expected at least one frame of one pixel but got shape {shape}")
    axes = layout_name = (layout or guess_layout(shape)).upper()
    allowed = {"".join(p) for letters in ("THW", "THWC") for p in itertools.permutations(letters)}
    if layout_name.removeprefix("B") not in allowed:
        raise ClipError(f"Expected a layout such as THWC, TCHW, CTHW, THW or BTCHW but got {layout_name!r}")
    if len(layout_name) != len(shape):
        raise ClipError(f"Layout {layout_name} has {len(layout_name)} axes but the array has shape {shape}")
    if "C" not in axes:
        array, axes = array[..., None], axes + "C"
    elif (channels := shape[axes.index("C")]) not in (1, 3, 4):
        raise ClipError(f"Expected 1, 3 or 4 channels but shape {shape} as {layout_name} has {channels}")
    if not axes.startswith("B"):
        array, axes = array[None], "B" + axes
    return array.transpose([axes.index(axis) for axis in "BTHWC"]), layout_name


ValueRange = tuple[float, float]
"""What black and white are in an array of floats."""


def _value_range(array: NDArray[Any], stated: ValueRange | None) -> ValueRange | None:
    """Return what black and white are; None for uint8.

    Raises:
        ClipError: Another type, values that are not finite, or values out of range.
    """
    if array.dtype == np.uint8:
        return None
    if not np.issubdtype(array.dtype, np.floating):
        raise ClipError(f"Expected uint8 or float values but got {array.dtype}")
    low, high = np.inf, -np.inf
    for clip in array:  # a frame at a time: no temporary the size of the whole
        for frame in clip:
            least, most = float(frame.min()), float(frame.max())
            if not (np.isfinite(least) and np.isfinite(most)):
                raise ClipError("Expected finite values but the array holds NaN or infinity")
            low, high = min(low, least), max(high, most)
    black, white = stated or (-1.0, 1.0)
    slack = OVERSHOOT * (1.0 if stated is None else white - black)
    if high > white + slack or low < black - slack:
        hint = "; values of 0..255 belong in uint8" if stated is None and low >= 0 and high <= 255 else ""
        expected = "0..1 or -1..1" if stated is None else f"{black:g}..{white:g}"
        raise ClipError(f"Expected floats in {expected} but got {low:g}..{high:g}{hint}")
    return stated or ((-1.0, 1.0) if low < -OVERSHOOT else (0.0, 1.0))


def _to_uint8(frame: NDArray[Any], values: ValueRange | None) -> UInt8Array:
    """Return one (H, W, C) frame to (H, W, 3) uint8 RGB; a view where it already is."""
    if values is not None:
        unit = (frame.astype(np.float32) - values[0]) / (values[1] - values[0])
        frame = np.rint(np.clip(unit, 0, 1) * 255).astype(np.uint8)
    if frame.shape[-1] == 1:
        return np.repeat(frame, 3, axis=-1)
    return composite(frame) if frame.shape[-1] == 4 else frame


def array_frames(
    source: Any, layout: str | None, limits: Limits, value_range: ValueRange | None = None
) -> list[Frames]:
    """Return the clips of one array; a batch axis of its own is optional.

    ``value_range`` is what black and white are in floats; None takes 0..1, or -1..1 where there are values below 0.

    Raises:
        ClipError: Axes that cannot be told. While decoding: values not finite, or out of range.
    """
    batch, axes = _batched(to_numpy(source), layout)
    count, height, width, channels = batch.shape[1:]
    range_of_batch = cache(lambda: _value_range(batch, value_range))  # read once, when the size is known to be bearable

    def decode(number: int, notes: list[str]) -> Iterator[UInt8Array]:
        values = range_of_batch()
        conditions = (
            (not layout, f"axes taken as {axes}"),
            (values is not None and not value_range, "floats taken as {:g}..{:g}".format(*values or (0, 0))),
            (channels == 4, TRANSPARENT),
        )
        notes += [note for holds, note in conditions if holds]
        return (_to_uint8(frame, values) for frame in batch[number])

    timing = limits.regular(count)
    return [Frames(timing, (width, height), partial(decode, number)) for number in range(len(batch))]


def load_npy(path: Path) -> NDArray[Any]:
    """Map a ``.npy`` file; nothing is unpickled and nothing is read before the header has been checked.

    Raises:
        ClipError: Not a ``.npy`` file, cut short, or of Python objects.
    """
    try:
        with _PARSING:
            loaded: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # the parser of headers raises whatever the damage provokes, with lines of the header
        damage = "it is damaged, cut short or holds Python objects"
        raise ClipError(
            f"The .npy file cannot be read: {os_reason(error) if isinstance(error, OSError) else damage}; "
            "save the frames again with numpy.save"
        ) from error
    return loaded


def load_pt(path: Path) -> Any:
    """Load the tensor of a ``.pt`` file without running any code in it (``weights_only=True``).

    A dictionary is taken where it holds one tensor, or one called frames, video or clip.

    Raises:
        SetupError: torch is not installed, or too old to be safe.
        ClipError: Anything but a tensor, or a file that asks for code to be run.
    """
    try:
        import torch
    except ImportError as error:
        raise SetupError("Reading .pt files takes torch, which is not installed: pip install torch") from error
    try:
        loaded = load_tensors(path)
    except SetupError:
        raise
    except Exception as error:  # many kinds for damage, and advice to load what was refused
        raise ClipError(
            "The .pt file is damaged or holds more than plain tensors; save the tensor of frames alone: "
            "torch.save(frames, path)"
        ) from error
    if isinstance(loaded, dict):
        tensors = {key: value for key, value in loaded.items() if isinstance(value, torch.Tensor)}
        candidates = [tensors[key] for key in _TENSOR_KEYS if key in tensors]
        if not candidates and len(tensors) != 1:
            raise ClipError(f"Expected one tensor of frames but the .pt file holds {sorted(map(str, loaded))}")
        return (candidates or list(tensors.values()))[0]
    if not isinstance(loaded, torch.Tensor):
        raise ClipError(f"Expected a tensor but the .pt file holds a {type(loaded).__name__}")
    return loaded
