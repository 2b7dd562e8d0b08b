"""Argument checks shared by the scoring functions, with messages of the form "Expected ... but got ..."."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmmetrics.types import BoolArray, Protocol

FrameSize = tuple[float, float]
"""Width and height in pixels."""
PROTOCOLS: tuple[str, ...] = get_args(Protocol)


def check_protocol(protocol: str) -> None:
    """Raise unless ``protocol`` is one of :data:`PROTOCOLS`."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"Expected protocol to be one of {', '.join(PROTOCOLS)} but got {protocol!r}")


def as_floats(name: str, values: ArrayLike, shape: str, *, finite: bool = True) -> NDArray[np.float64]:
    """Return ``values`` as float64 of the given shape.

    Args:
        name: Argument name, for the message.
        values: Any real array.
        shape: Axes as words or numbers, ``"T, 17, 2"``; a number must match.
        finite: Refuse NaN and infinities.

    Returns:
        A float64 array; the input itself where it already is one.

    Raises:
        ValueError: If the dtype is not real, the shape differs, or a value is not finite.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"Expected {name} to be an array of real numbers but got dtype {array.dtype}")
    _check_shape(name, array.shape, shape)
    array = array.astype(np.float64, copy=False)
    if finite and not np.isfinite(array).all():
        unusable = int((~np.isfinite(array)).sum())
        raise ValueError(f"Expected {name} to be finite but got {unusable} NaN or infinite values")
    return array


def as_bools(name: str, values: ArrayLike, shape: str) -> BoolArray:
    """Return ``values`` as a bool array of the given shape (see :func:`as_floats`)."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise ValueError(f"Expected {name} to be an array of bool but got dtype {array.dtype}")
    _check_shape(name, array.shape, shape)
    return array


def as_integer(name: str, value: object, *, at_least: int | None = None) -> int:
    """Return ``value`` as an int, or raise ValueError."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"Expected {name} to be an integer but got {value!r}")
    if at_least is not None and value < at_least:
        raise ValueError(f"Expected {name} to be at least {at_least} but got {value}")
    return int(value)


def as_frame_size(frame_size: FrameSize) -> FrameSize:
    """Return (width, height) in pixels, both positive, or raise ValueError."""
    size = as_floats("frame_size", np.asarray(frame_size), "2")
    if not (size > 0).all():
        raise ValueError(f"Expected frame_size to be a positive (width, height) but got {tuple(size.tolist())}")
    return float(size[0]), float(size[1])


def _check_shape(name: str, actual: tuple[int, ...], expected: str) -> None:
    axes = [axis.strip() for axis in expected.split(",")]
    fits = len(axes) == len(actual) and all(
        not axis.isdigit() or int(axis) == length for axis, length in zip(axes, actual, strict=True)
    )
    if not fits:
        raise ValueError(f"Expected {name} to be of shape ({expected}) but got {actual}")
