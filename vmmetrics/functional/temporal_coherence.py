"""TCS: the share of objects that neither vanish nor appear without a cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from vmmetrics.functional import excuses
from vmmetrics.functional._checks import as_frame_size, as_integer, check_protocol
from vmmetrics.functional.disappearance import find_changes
from vmmetrics.functional.object_history import ObjectHistory, check_history
from vmmetrics.types import Event, FloatArray, MetricResult, Protocol


def temporal_coherence_score(
    objects: Sequence[ObjectHistory],
    *,
    frame_size: tuple[float, float],
    num_frames: int,
    protocol: Protocol = "vmmetrics",
) -> MetricResult:
    """Temporal coherence score: do objects stay, unless there is a reason why they do not?

    ``vmmetrics`` (the paper): TCS = 1 − (1/N) Σ_i 1(A_i ∧ ¬R_i), each object i once, A_i a change of its presence at
    some frame and R_i a reason for it (:mod:`vmmetrics.functional.disappearance`). In 0..1.
    ``vmbench`` (the released code): mean of (N − unexcused disappearances)/N and (N − unexcused appearances)/N, each
    time counted; an object's excuses are asked once, from its query frame on. Can fall below 0.

    Args:
        objects: One history per object.
        frame_size: (width, height) in pixels.
        num_frames: T of the clip.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.

    Returns:
        Score, 1 best; missing under ``vmmetrics`` where there is no object or one frame (``vmbench`` gives 1). One
        event per change of presence, at the frame after it, with an ``excuse`` where there is a reason. Series:
        ``present``, the number of objects seen per frame (NaN between key frames).

    Raises:
        ValueError: If a history's shapes or dtypes do not fit each other or ``num_frames``, key frames are not
            ascending within the clip, a track is NaN, or ``protocol`` is unknown.

    References:
        VMBench (arXiv 2503.10076), temporal coherence score; quirks Q13, Q14 in ``docs/protocols.md``.

    Example:
        A still point, seen in frames 0 to 4 of 10 and then neither seen nor tracked:

        >>> seen = np.arange(10) < 5
        >>> ball = ObjectHistory(seen, np.arange(10), np.full((10, 1, 2), 50.0), seen[:, None], query_frame=0)
        >>> result = temporal_coherence_score([ball], frame_size=(100, 100), num_frames=10)
        >>> result.score, result.events[0].frames, result.events[0].reason
        (0.0, (5,), 'vanished without cause')
    """
    check_protocol(protocol)
    size = as_frame_size(frame_size)
    total = as_integer("num_frames", num_frames, at_least=1)
    histories = [check_history(history, f"objects[{index}]", total) for index, history in enumerate(objects)]
    series = MappingProxyType({"present": _present_per_frame(histories, total)})
    if protocol == "vmbench":
        score, events = _score_vmbench(histories, size)
        return MetricResult(score=score, events=events, series=series)
    if total == 1:
        return MetricResult(score=None, missing="one frame: nothing can vanish or appear", series=series)
    judged = [find_changes(history, f"object {i}", size) for i, history in enumerate(histories, 1)]
    events = tuple(event for changes in judged for event in changes.events)
    kept = [changes for changes in judged if changes.is_object]
    if not kept:
        return MetricResult(score=None, missing="no object", events=events, series=series)
    at_fault = sum(any(event.excuse is None for event in changes.events) for changes in kept)
    return MetricResult(score=1 - at_fault / len(kept), events=events, series=series)


def _score_vmbench(histories: list[ObjectHistory], size: tuple[float, float]) -> tuple[float, tuple[Event, ...]]:
    count = len(histories)
    if count == 0:
        return 1.0, ()
    events: list[Event] = []
    for index, history in enumerate(histories, 1):
        before, after = history.present[:-1], history.present[1:]
        for changed, reason, tests in (
            (before & ~after, "vanished", VANISH_TESTS),
            (after & ~before, "appeared", EMERGE_TESTS),
        ):
            frames = history.key_frames[1:][changed].tolist()
            excuse = _released_excuse(history, size, tests) if frames else None
            events += [
                Event(
                    "tcs",
                    (frame,),
                    f"{reason}{'' if excuse else ' without cause'}",
                    f"object {index}",
                    excuse=excuse,
                )
                for frame in frames
            ]
    unexcused = [event.reason for event in events if event.excuse is None]
    vanish = (count - unexcused.count("vanished without cause")) / count
    emerge = (count - unexcused.count("appeared without cause")) / count
    return (vanish + emerge) / 2, tuple(sorted(events, key=lambda event: event.frames))


ExcuseTest = Callable[[ArrayLike, ArrayLike, int, tuple[float, float]], bool]
VANISH_TESTS: dict[str, ExcuseTest] = {
    "left through the edge": excuses.is_edge_vanish,
    "became too small to see": excuses.is_small_vanish,
    "detection error: still visible": excuses.is_vanish_detection_error,
}
EMERGE_TESTS: dict[str, ExcuseTest] = {
    "came in through the edge": excuses.is_edge_emerge,
    "grew from too small to see": excuses.is_small_emerge,
    "detection error: visible before": excuses.is_emerge_detection_error,
}


def _released_excuse(history: ObjectHistory, size: tuple[float, float], tests: dict[str, ExcuseTest]) -> str | None:
    for excuse, test in tests.items():
        if test(history.tracks, history.visibility, history.query_frame, size):
            return excuse
    return None


def _present_per_frame(histories: list[ObjectHistory], num_frames: int) -> FloatArray:
    counts = np.full(num_frames, np.nan)
    for history in histories:
        counts[history.key_frames] = np.nan_to_num(counts[history.key_frames]) + history.present
    return counts
