"""What TCS is told about one object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmmetrics.functional._checks import as_bools, as_floats, as_integer
from vmmetrics.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class ObjectHistory:
    """When one object was seen, and where its points went.

    Attributes:
        present: (C,) bool, seen at that key frame.
        key_frames: (C,) int, ascending frame indices at which presence was asked: every frame under ``vmmetrics``
            where possible, every (int(fps) − 1)-th under ``vmbench``.
        tracks: (T, N, 2) float, x and y in pixels, of points on the object at ``query_frame``, followed forwards and
            backwards; an estimate also where invisible.
        visibility: (T, N) bool.
        query_frame: The frame of the first appearance (``vmbench``: the ordinal of that key frame, as released).
        occluded: (T,) bool, not seen but known to be hidden behind something; None where that is not known.
    """

    present: BoolArray
    key_frames: NDArray[np.integer]
    tracks: FloatArray
    visibility: BoolArray
    query_frame: int
    occluded: BoolArray | None = None


def check_history(history: ObjectHistory, name: str, num_frames: int) -> ObjectHistory:
    """Return ``history`` with plain float64, bool and int64 arrays that fit each other, or raise ValueError."""
    if not isinstance(history, ObjectHistory):
        raise ValueError(f"Expected {name} to be an ObjectHistory but got {type(history).__name__}")
    present = as_bools(f"{name}.present", history.present, "C")
    key_frames = np.asarray(history.key_frames)
    if key_frames.dtype.kind not in "iu" or key_frames.shape != present.shape or len(present) == 0:
        raise ValueError(
            f"Expected {name}.key_frames to be integers, one per entry of present {present.shape} and at least one, "
            f"but got dtype {key_frames.dtype} of shape {key_frames.shape}"
        )
    key_frames = key_frames.astype(np.int64)
    if key_frames[0] < 0 or key_frames[-1] >= num_frames or (np.diff(key_frames) <= 0).any():
        raise ValueError(
            f"Expected {name}.key_frames to ascend within 0..{num_frames - 1} but got {key_frames.tolist()}"
        )
    tracks = as_floats(f"{name}.tracks", history.tracks, f"{num_frames}, N, 2")
    return ObjectHistory(
        present=present,
        key_frames=key_frames,
        tracks=tracks,
        visibility=as_bools(f"{name}.visibility", history.visibility, f"{num_frames}, {tracks.shape[1]}"),
        query_frame=as_integer(f"{name}.query_frame", history.query_frame, at_least=0),
        occluded=None if history.occluded is None else as_bools(f"{name}.occluded", history.occluded, f"{num_frames}"),
    )
