"""OIS, object integrity: the share of body parts, over frames, that keep their shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import binary_opening

from vmmetrics.functional import shapes
from vmmetrics.functional._checks import as_floats, check_protocol
from vmmetrics.functional.event_costs import Loss
from vmmetrics.functional.limbs import JOINTS, LASTING, NUM_KEYPOINTS, PARTS, REASONS, part_deviations
from vmmetrics.types import Event, FloatArray, MetricResult, Protocol

# Values of the released code: least keypoint score, least length in pixels, largest relative change of a part's length
# and largest change of a joint's angle in degrees.
MIN_SCORE = 0.3
MIN_LENGTH = 1e-6
MAX_LENGTH_CHANGE = 0.45
MAX_ANGLE_CHANGE = 30.0


def object_integrity_score(
    keypoints: ArrayLike,
    keypoint_scores: ArrayLike,
    *,
    evidence: Mapping[str, ArrayLike] | None = None,
    protocol: Protocol = "vmmetrics",
) -> MetricResult:
    """Score object integrity: the share of body parts, over frames, that keep their shape.

    ``vmmetrics`` (the paper): OIS = 1/(F·K) Σ_f Σ_k 1(D_f^(k) ≤ τ^(k)) over the persons, frames and parts that can be
    judged; D is defined in :mod:`vmmetrics.functional.limbs`.
    ``vmbench`` (the released code): the mean of two shares, that of the 12 parts whose length in pixels never changes
    by more than 45 % from one valid frame to the next, and that of the 8 joints whose angle never changes by more than
    30°.

    Args:
        keypoints: (T, 17, 2) float, x and y in pixels, COCO order; under ``vmmetrics`` also (T, P, 17, 2) with P
            persons of stable identity, NaN where one is absent.
        keypoint_scores: (T, 17) or (T, P, 17) float, confidence of each keypoint; it is used above
            0.3 (``vmbench``) or :data:`~vmmetrics.functional.limbs.CONFIDENT`.
        evidence: Further deviations, under ``vmmetrics`` only: reason to (T, 12) or (T, P, 12) float, measured over
            allowed value, above 1 where that part is at fault, NaN where unknown.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.

    Returns:
        Score in 0..1, 1 best; missing under ``vmmetrics`` where there is one frame or no person. One event per person
        and part (``vmbench``: and joint) at fault, with all its frames. Series: ``faults``, parts at fault per frame.

    Raises:
        ValueError: If shapes or dtypes are not as above, a score is NaN, a keypoint is infinite (``vmbench``: or NaN
            with a score above 0.3), ``protocol`` is unknown, or under ``vmbench`` a joint is valid in at least ⌊T/3⌋
            frames but in no more than one (the released code fails there).

    References:
        VMBench (arXiv 2503.10076), object integrity score; quirks Q8 to Q12 in ``docs/protocols.md``.

    Example:
        >>> person = np.random.default_rng(0).uniform(100, 200, (17, 2))
        >>> still = np.repeat(person[None], 6, axis=0)
        >>> object_integrity_score(still, np.ones((6, 17)), protocol="vmbench").score
        1.0
    """
    check_protocol(protocol)
    points, scores = _checked(keypoints, keypoint_scores, protocol)
    if protocol == "vmbench":
        return _score_vmbench(points, scores)
    if len(points) == 1:
        return MetricResult(score=None, missing="one frame: no change of shape to judge")
    if points.ndim == 3:
        points, scores = points[:, None], scores[:, None]
    people = [part_deviations(points[:, person], scores[:, person]) for person in range(points.shape[1])]
    if not people or not np.isfinite(people).any():
        return MetricResult(score=None, missing="no person")
    own = _lasting(np.stack(people))
    further = [_further_deviations(reason, maps, points.shape[:2]) for reason, maps in (evidence or {}).items()]
    deviations = np.concatenate([own, *further], axis=1)  # (P, reasons, T, 12)
    reasons = (*REASONS, *(evidence or {}))
    judged = np.isfinite(deviations).any(axis=1)
    faults = (deviations > 1).any(axis=1)
    return MetricResult(
        score=1 - float(faults.sum() / judged.sum()),
        events=_events(deviations, reasons, points),
        series=MappingProxyType({"faults": faults.sum(axis=(0, 2)).astype(np.float64)}),
    )


def _checked(
    keypoints: ArrayLike, keypoint_scores: ArrayLike, protocol: Protocol
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    array = np.asarray(keypoints)
    if protocol == "vmbench" and array.ndim == 4:
        raise ValueError(
            f"Expected keypoints to be of shape (T, 17, 2) under protocol 'vmbench', which scores the first instance "
            f"only (keypoints[:, 0]), but got {array.shape}"
        )
    people = "P, " if array.ndim == 4 else ""
    points = as_floats("keypoints", array, f"T, {people}{NUM_KEYPOINTS}, 2", finite=False)
    scores = as_floats("keypoint_scores", keypoint_scores, ", ".join(map(str, points.shape[:-1])))
    if len(points) == 0:
        raise ValueError(f"Expected keypoints of at least one frame but got shape {points.shape}")
    unplaced = np.isinf(points).any(axis=-1)
    if protocol == "vmbench":
        unplaced = (scores > MIN_SCORE) & ~np.isfinite(points).all(axis=-1)
    if unplaced.any():
        raise ValueError(
            f"Expected finite keypoints, NaN only where absent, but got {int(unplaced.sum())} that are not"
        )
    return points, scores


def _further_deviations(reason: str, maps: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return evidence (T, 12) or (T, P, 12) as (P, 1, T, 12)."""
    array = np.asarray(maps, dtype=np.float64)
    if array.ndim == 2:
        array = array[:, None]
    if array.shape != (*shape, len(PARTS)):
        raise ValueError(f"Expected evidence {reason!r} to be of shape {(*shape, len(PARTS))} but got {np.shape(maps)}")
    return array.transpose(1, 0, 2)[:, None]


def _lasting(deviations: FloatArray) -> FloatArray:
    """Return (P, reasons, T, 12) deviations, at most 1 in spells above 1 of fewer than :data:`LASTING` frames."""
    window = [1, 1, LASTING, 1]
    return np.where(binary_opening(deviations > 1, np.ones(window)), deviations, np.minimum(deviations, 1.0))


def _events(deviations: FloatArray, reasons: Sequence[str], points: FloatArray) -> tuple[Event, ...]:
    """Return one event per person and part at fault, with the most frequent reason."""
    events = []
    faults = deviations > 1
    for person, part in np.argwhere(faults.any(axis=(1, 2))).tolist():
        name, ends = list(PARTS.items())[part]
        frames = np.flatnonzero(faults[person, :, :, part].any(axis=0))
        reason = int(faults[person, :, :, part].sum(axis=1).argmax())
        placed = points[frames][:, person, list(ends)].reshape(-1, 2)
        target = name if points.shape[1] == 1 else f"person {person + 1}: {name}"
        box = (*placed.min(axis=0).tolist(), *placed.max(axis=0).tolist())
        magnitude = float(np.nanmax(deviations[person, reason, :, part]))
        events.append(Event("ois", tuple(frames.tolist()), reasons[reason], target, box, magnitude, 1.0))
    return tuple(events)


def _score_vmbench(points: FloatArray, scores: FloatArray) -> MetricResult:
    num_frames = len(points)
    faults = np.zeros(num_frames)
    events: list[Event] = []
    for name, (start, end) in PARTS.items():
        length = np.linalg.norm(points[:, start] - points[:, end], axis=1)
        valid = np.flatnonzero((scores[:, [start, end]] > MIN_SCORE).all(axis=1) & (length > MIN_LENGTH))
        if len(valid) < num_frames // 2:
            continue
        change = np.abs(np.diff(length[valid])) / length[valid][:-1]
        events += _released_event(name, valid, change, MAX_LENGTH_CHANGE, "length changes", faults)
    broken_parts = len(events)
    for name, corners in JOINTS.items():
        valid = np.flatnonzero((scores[:, corners] > MIN_SCORE).all(axis=1))
        if len(valid) < num_frames // 3:
            continue
        if len(valid) < 2:
            raise ValueError(
                f"Expected all keypoints of the {name} to score above {MIN_SCORE} in at least two frames, or in fewer "
                f"than a third of the {num_frames}, but got {len(valid)} (where the released code fails)"
            )
        change = np.abs(np.diff(_angles(points[valid][:, corners])))
        events += _released_event(name, valid, change, MAX_ANGLE_CHANGE, "angle changes", faults)
    broken_joints = len(events) - broken_parts
    score = 0.5 * (1 - broken_parts / len(PARTS)) + 0.5 * (1 - broken_joints / len(JOINTS))
    return MetricResult(score=score, events=tuple(events), series=MappingProxyType({"faults": faults}))


def _released_event(
    name: str, valid: NDArray[np.intp], change: FloatArray, limit: float, reason: str, faults: FloatArray
) -> list[Event]:
    """Return one event if any change exceeds the limit; NaN, from a limb without length, exceeds it."""
    over = ~(change <= limit)
    if not over.any():
        return []
    frames = valid[1:][over]
    faults[frames] += 1
    finite = change[over][np.isfinite(change[over])]
    magnitude = float(finite.max()) if len(finite) else None
    return [Event("ois", tuple(frames.tolist()), reason, name, magnitude=magnitude, threshold=limit)]


def _angles(corners: FloatArray) -> FloatArray:
    """Return (V,), the angles in degrees at the middle of ``corners`` (V, 3, 2); NaN where a limb has no length."""
    first, second = corners[:, 0] - corners[:, 1], corners[:, 2] - corners[:, 1]
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = (first * second).sum(axis=1) / lengths
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def divide_loss(loss: Loss) -> list[float | None]:
    """Return the cost of each unexcused event (:mod:`.event_costs`).

    Every frame of a person's part at fault costs the same; under ``vmbench`` a part costs 1/24, a joint 1/16. Surfaces
    of several objects cannot be divided: the tiles of each object per moment are not stored.
    """
    if any(event.reason == shapes.REASON for event in loss.events):
        return [loss.lost] if len(loss.events) == 1 else [None] * len(loss.events)
    if loss.protocol == "vmbench":
        return [0.5 / len(PARTS if event.target in PARTS else JOINTS) for event in loss.events]
    frames = sum(len(event.frames) for event in loss.events)
    return [loss.lost * len(event.frames) / frames if frames else None for event in loss.events]
