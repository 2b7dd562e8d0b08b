"""Six tests of the released code that excuse an object's vanishing or appearance, computed from its point tracks.

Each test examines the frames strictly after (vanish) or before (emerge) the query frame, and is True if any frame shows
the cause; the two detection-error tests are True if *no* frame shows the object absent. ``docs/protocols.md`` lists
where the default protocol differs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vmmetrics.functional._checks import FrameSize, as_bools, as_floats, as_frame_size, as_integer
from vmmetrics.types import BoolArray, FloatArray

# Values of the released code.
EDGE_VANISH_INVISIBLE = 0.8
EDGE_EMERGE_INVISIBLE = 0.85
EDGE_OUTSIDE = 0.5
SMALL_INSIDE = 0.8
SMALL_VANISH_SIZE = 0.07
SMALL_EMERGE_SIZE = 0.03
GONE_VANISH_INVISIBLE = 1.0
GONE_EMERGE_INVISIBLE = 0.8
SIZE_QUANTILES = (0.1, 0.9)


def is_edge_vanish(tracks: ArrayLike, visibility: ArrayLike, query_frame: int, frame_size: FrameSize) -> bool:
    """Return True if the object left through the edge of the frame.

    Args:
        tracks: (T, N, 2) float, x and y in pixels, an estimate also where invisible.
        visibility: (T, N) bool.
        query_frame: Only frames after this one are examined.
        frame_size: (width, height) in pixels.

    Returns:
        True if in some frame at least 80 % of the points are invisible and at least 50 % outside the frame
        (x < 0, x > width, y < 0 or y > height).

    Raises:
        ValueError: If shapes, dtypes or the frame size are not as above, or a track is NaN.

    Example:
        >>> tracks = np.array([[[5.0, 50.0]], [[-3.0, 50.0]]])  # one point, gone to the left
        >>> is_edge_vanish(tracks, np.array([[True], [False]]), 0, (100, 100))
        True
    """
    return _left_through_edge(*_frames("after", tracks, visibility, query_frame, frame_size), EDGE_VANISH_INVISIBLE)


def is_edge_emerge(tracks: ArrayLike, visibility: ArrayLike, query_frame: int, frame_size: FrameSize) -> bool:
    """Return True if the object entered through the edge: :func:`is_edge_vanish` before the query frame, with 85 %.

    Args:
        tracks: (T, N, 2) float, x and y in pixels.
        visibility: (T, N) bool.
        query_frame: Only frames before this one are examined.
        frame_size: (width, height) in pixels.

    Returns:
        True if in some frame at least 85 % of the points are invisible and at least 50 % outside the frame.

    Raises:
        ValueError: As :func:`is_edge_vanish`.

    Example:
        >>> tracks = np.array([[[-3.0, 50.0]], [[5.0, 50.0]]])
        >>> is_edge_emerge(tracks, np.array([[False], [True]]), 1, (100, 100))
        True
    """
    return _left_through_edge(*_frames("before", tracks, visibility, query_frame, frame_size), EDGE_EMERGE_INVISIBLE)


def is_small_vanish(tracks: ArrayLike, visibility: ArrayLike, query_frame: int, frame_size: FrameSize) -> bool:
    """Return True if the object became too small to see.

    Args:
        tracks: (T, N, 2) float, x and y in pixels.
        visibility: (T, N) bool; checked, not used.
        query_frame: Only frames after this one are examined.
        frame_size: (width, height) in pixels.

    Returns:
        True if in some frame at least 80 % of the points, and two or more, are strictly inside the frame and the box
        of their 10 % to 90 % quantiles spans less than 0.07 of the frame in both directions.

    Raises:
        ValueError: As :func:`is_edge_vanish`.

    Example:
        >>> tracks = np.array([[[10.0, 10.0], [60.0, 60.0]], [[30.0, 30.0], [31.0, 31.0]]])
        >>> is_small_vanish(tracks, np.ones((2, 2), bool), 0, (100, 100))
        True
    """
    xy, _, size = _frames("after", tracks, visibility, query_frame, frame_size)
    return _is_ever_small(xy, size, SMALL_VANISH_SIZE)


def is_small_emerge(tracks: ArrayLike, visibility: ArrayLike, query_frame: int, frame_size: FrameSize) -> bool:
    """Return True if the object grew from too small to see: :func:`is_small_vanish` before the query frame, with 0.03.

    Args:
        tracks: (T, N, 2) float, x and y in pixels.
        visibility: (T, N) bool; checked, not used.
        query_frame: Only frames before this one are examined.
        frame_size: (width, height) in pixels.

    Returns:
        True if in some frame the object spans less than 0.03 of the frame in both directions.

    Raises:
        ValueError: As :func:`is_edge_vanish`.

    Example:
        >>> tracks = np.array([[[30.0, 30.0], [31.0, 31.0]], [[10.0, 10.0], [60.0, 60.0]]])
        >>> is_small_emerge(tracks, np.ones((2, 2), bool), 1, (100, 100))
        True
    """
    xy, _, size = _frames("before", tracks, visibility, query_frame, frame_size)
    return _is_ever_small(xy, size, SMALL_EMERGE_SIZE)


def is_vanish_detection_error(
    tracks: ArrayLike, visibility: ArrayLike, query_frame: int, frame_size: FrameSize
) -> bool:
    """Return True if only the detector lost the object: it is never wholly invisible after the query frame.

    Args:
        tracks: (T, N, 2) float, x and y in pixels; checked, not used.
        visibility: (T, N) bool.
        query_frame: Only frames after this one are examined.
        frame_size: (width, height) in pixels; checked, not used.

    Returns:
        True if no frame has all points invisible; also without points or frames.

    Raises:
        ValueError: As :func:`is_edge_vanish`.

    Example:
        >>> tracks = np.zeros((2, 2, 2))
        >>> is_vanish_detection_error(tracks, np.array([[True, True], [True, False]]), 0, (100, 100))
        True
    """
    _, visible, _ = _frames("after", tracks, visibility, query_frame, frame_size)
    return not (_invisible_share(visible) >= GONE_VANISH_INVISIBLE).any()


def is_emerge_detection_error(
    tracks: ArrayLike, visibility: ArrayLike, query_frame: int, frame_size: FrameSize
) -> bool:
    """Return True if the detector missed the object before: no earlier frame has 80 % of its points invisible.

    Args:
        tracks: (T, N, 2) float, x and y in pixels; checked, not used.
        visibility: (T, N) bool.
        query_frame: Only frames before this one are examined.
        frame_size: (width, height) in pixels; checked, not used.

    Returns:
        True if no frame has at least 80 % of the points invisible; also without points or frames.

    Raises:
        ValueError: As :func:`is_edge_vanish`.

    Example:
        >>> tracks = np.zeros((2, 2, 2))
        >>> is_emerge_detection_error(tracks, np.array([[False, False], [True, True]]), 1, (100, 100))
        False
    """
    _, visible, _ = _frames("before", tracks, visibility, query_frame, frame_size)
    return not (_invisible_share(visible) >= GONE_EMERGE_INVISIBLE).any()


def is_outside(xy: FloatArray, frame_size: FrameSize) -> BoolArray:
    """Return (...) bool, True where positions ``xy`` (..., 2) lie beyond an edge of the frame."""
    return np.asarray(np.any((xy < 0) | (xy > np.asarray(frame_size)), axis=-1))


def relative_extent(xy: FloatArray, frame_size: FrameSize) -> float:
    """Return the larger side, relative to the frame's, of the 10 % to 90 % quantile box of points (N, 2), N ≥ 1."""
    low, high = np.quantile(xy, SIZE_QUANTILES, axis=0)
    return float(((high - low) / np.asarray(frame_size)).max())


def _frames(
    side: str, tracks: ArrayLike, visibility: ArrayLike, query: int, frame_size: FrameSize
) -> tuple[FloatArray, BoolArray, FrameSize]:
    """Check the arguments; return tracks and visibility on one ``side`` of the query frame, and the frame size."""
    xy = as_floats("tracks", tracks, "T, N, 2")
    visible = as_bools("visibility", visibility, f"{xy.shape[0]}, {xy.shape[1]}")
    as_integer("query_frame", query)
    frames = np.arange(len(xy))
    selected = frames > query if side == "after" else frames < query
    return xy[selected], visible[selected], as_frame_size(frame_size)


def _invisible_share(visible: BoolArray) -> FloatArray:
    """Return (T,), the share of invisible points of ``visible`` (T, N); −1, which no test accepts, without points."""
    if visible.shape[1] == 0:
        return np.full(len(visible), -1.0)
    return np.asarray(np.mean(~visible, axis=1))


def _left_through_edge(xy: FloatArray, visible: BoolArray, size: FrameSize, invisible: float) -> bool:
    gone = _invisible_share(visible) >= invisible
    outside = is_outside(xy[gone], size).sum(axis=1) / max(xy.shape[1], 1)
    return bool((outside >= EDGE_OUTSIDE).any())


def _is_ever_small(xy: FloatArray, size: FrameSize, limit: float) -> bool:
    inside: BoolArray = np.all((xy > 0) & (xy < np.asarray(size)), axis=-1)
    counts = inside.sum(axis=1)
    enough = (counts >= 2) & (counts / max(xy.shape[1], 1) >= SMALL_INSIDE)
    return any(relative_extent(xy[t][inside[t]], size) < limit for t in np.flatnonzero(enough).tolist())
