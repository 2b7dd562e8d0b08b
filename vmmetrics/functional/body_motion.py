"""Implausible motion of a whole body, the part of OIS beyond the shape of single parts.

Lengths are torso lengths of the person in that frame (about half a metre, so that gravity is about 20 of them per
second squared); the camera's motion is compensated where it is known.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import find_objects, grey_opening, label, median_filter

from vmmetrics.functional.limbs import (
    FULL_LENGTHS,
    JOINTS,
    NOSE,
    PARTS,
    SMALLEST,
    TRUNK,
    part_vectors,
    person_scale,
    usable_keypoints,
)
from vmmetrics.functional.pas import project
from vmmetrics.types import BoolArray, FloatArray

MOTION_REASONS = ("jitters", "slides or floats", "jolted", "bends backwards")
"""Event reasons."""

EARS, SHOULDERS, HIPS, FEET = (3, 4), (5, 6), (11, 12), (15, 16)
FEWEST = 8
"""Least number of frames, at :data:`FASTEST_FPS` or less, for a measurement."""
FASTEST_FPS = 30.0
"""Frame rate, frames per second, above which frames are compared at the distance of this rate."""

# Jitter
TREMBLE_SECONDS = 0.5
"""Window of the running medians, and least duration, seconds: landmarks of limbs in fast motion err for 0.4 s."""
TREMBLE_NOISE = 0.02
"""High-frequency movement of a part by landmark noise on clean footage, torso lengths per frame."""
TREMBLE_PIXELS = 0.6
"""The same in pixels, for small people."""
TREMBLE_SHARE = 0.5
"""Allowed high-frequency share of the movement between frames: real motion shown three times as fast has up to 0.5,
parts that tremble about 0.9."""
TREMBLE_SNAP = 2500.0
"""Allowed high-frequency movement at low frame rates, torso lengths per frame duration to the fourth power, from
rendered runners."""
TREMBLE_BODY = 0.75
"""Limit for the median of all parts, relative to that of one part: noise affects single parts, jitter the body."""
WHOLE = 6
"""Least number of parts in view for their median."""

# Sliding and floating
STANDING = (0.7, 1.1)
"""Height of the shoulders above the hips, and of the hips above the lower ankle, from which a person stands, torso
lengths."""
STEP_SECONDS = 0.17
"""Window of a foot's speed, seconds: shorter than the stance of a runner (0.2 s)."""
SLIDE_SPEED = 0.6
"""Allowed speed of the slower foot, torso lengths per second."""
SLIDE_CAMERA = 0.3
"""Allowance for parallax and errors of the camera motion, as a share of the camera's speed at the foot."""
SLIDE_SECONDS = 0.4
"""Shortest time without a resting foot, seconds; a runner is in the air for 0.15 s."""
FALL_SECONDS = 0.25
"""Window of the hips' acceleration, seconds."""
GRAVITY = (12.0, 55.0)
"""Range of acceleration of falling adults (20) and children (35), torso lengths per second squared; a walker's hips
reach 6."""

# Jolts
JOLT = 200.0
"""Allowed acceleration of shoulders and hips, torso lengths per second squared: a small child landing on a bed has 150,
and what landmarks of a person on the floor err by, 170."""
JOLT_NOISE = 0.22
"""Allowed deviation from an even path in one frame, torso lengths."""
JOLT_SHARE = 1.0
"""Allowed deviation as a share of the usual movement between frames, for the noise of fast motion."""
JOLT_SECONDS = 1.0
"""Window of the running median of that movement, seconds."""
JOLT_FRAMES = 5
"""Window of the running median of the path, frames: deviations of up to two frames are landmark errors."""
JOLT_CAMERA = 0.3
"""Allowance for errors of the camera motion, as a share of the camera's acceleration."""

# Joints past straight
BACKWARDS = {"knee": 25.0, "elbow": 50.0}
"""Allowed angle past straight, degrees."""
BACKWARDS_SECONDS = 0.3
"""Window of the running median of the angle, seconds."""
SIDE_VIEW = 0.4
"""Largest distance between the shoulders, and between the hips, of a person in side view, torso lengths."""
NOSE_AHEAD = 0.12
"""Least distance of the nose ahead of the ears in side view, torso lengths."""
IN_VIEW = 0.75
"""Least visible share of the full length of both bones of a judged joint."""
BONES = {"knee": ("thigh", "calf"), "elbow": ("upper arm", "forearm")}
"""The two bones of each joint."""


def body_motion(
    keypoints: FloatArray, scores: FloatArray, fps: float, homographies: FloatArray | None = None
) -> dict[str, FloatArray]:
    """Measure the implausibility of the motion of people.

    Args:
        keypoints: (T, P, 17, 2) float64 pixels in COCO order, any value where the score is not above
            :data:`~vmmetrics.functional.limbs.CONFIDENT`.
        scores: (T, P, 17) float64.
        fps: Frames per second.
        homographies: (T-1, 3, 3) camera motion, pixels of frame t to pixels of frame t+1, NaN where unknown; None for
            a static camera.

    Returns:
        Entries of :data:`MOTION_REASONS` to (T, P, 12) float64, measured over allowed value, above 1 where that part
        is at fault, NaN where unknown; the ``evidence`` of
        :func:`~vmmetrics.functional.object_integrity_score`.
    """
    camera = np.tile(np.eye(3), (max(len(keypoints) - 1, 0), 1, 1)) if homographies is None else homographies
    people = [_person(keypoints[:, p], scores[:, p], fps, camera) for p in range(keypoints.shape[1])]
    empty = np.full((len(keypoints), 0, len(PARTS)), np.nan)
    return {r: np.stack([person[r] for person in people], axis=1) if people else empty for r in MOTION_REASONS}


def _person(keypoints: FloatArray, scores: FloatArray, fps: float, camera: FloatArray) -> dict[str, FloatArray]:
    """Return a (T, 12) map per reason from keypoints (T, 17, 2) and scores (T, 17) of one person."""
    out = {reason: np.full((len(keypoints), len(PARTS)), np.nan) for reason in MOTION_REASONS}
    points, lengths = usable_keypoints(keypoints, scores)
    if not np.isfinite(lengths).any() or len(points) < FEWEST * _stride(fps):
        return out
    scale = person_scale(lengths)
    seen = np.isfinite(lengths)
    moves, drifts = ground_moves(points, scale, camera)
    out["jitters"] = trembling(part_vectors(points) / scale[:, None, None], scale, fps)
    legs = [part for part, name in enumerate(PARTS) if name.endswith(("thigh", "calf"))]
    out["slides or floats"][:, legs] = sliding(points / scale[:, None, None], moves, drifts, fps)[:, None]
    out["jolted"] = np.where(seen, jolts(moves, drifts, fps)[:, None], np.nan)
    for (side, kind), deviations in reversed_joints(points / scale[:, None, None], fps).items():
        for bone in BONES[kind]:
            out["bends backwards"][:, list(PARTS).index(f"{side} {bone}")] = deviations
    return {reason: np.where(seen, deviations, np.nan) for reason, deviations in out.items()}


def ground_moves(points: FloatArray, scale: FloatArray, camera: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split the movement of keypoints between frames into their own and the camera's.

    Args:
        points: (T, 17, 2) pixels, NaN where not judged.
        scale: (T,) pixels per torso length.
        camera: (T-1, 3, 3) pixels of frame t to pixels of frame t+1, NaN where unknown.

    Returns:
        Own movement and the camera's, each (T-1, 17, 2) torso lengths.
    """
    carried = project(camera, points[:-1])
    return (points[1:] - carried) / scale[1:, None, None], (carried - points[:-1]) / scale[1:, None, None]


def trembling(parts: FloatArray, scale: FloatArray, fps: float) -> FloatArray:
    """Measure the jitter of each part relative to that of noise and fast motion.

    The third difference over time is the movement that alternates between frames; its median over a window lasts.

    Args:
        parts: (T, 12, 2) torso lengths from one end of each part to the other, NaN where not judged.
        scale: (T,) pixels per torso length.
        fps: Frames per second.

    Returns:
        (T, 12) measured over allowed value.
    """
    stride = _stride(fps)
    third = (
        parts[3 * stride :] - 3 * parts[2 * stride : -stride] + 3 * parts[stride : -2 * stride] - parts[: -3 * stride]
    )
    fine = np.linalg.norm(third, axis=-1) / np.sqrt(1 + 9 + 9 + 1)
    coarse = np.linalg.norm(parts[2 * stride : -stride] - parts[stride : -2 * stride], axis=-1)
    width = _window(TREMBLE_SECONDS, fps)
    middle = 3 * stride // 2
    noise = TREMBLE_NOISE + TREMBLE_SNAP * (stride / fps) ** 4 + TREMBLE_PIXELS / scale[middle : middle + len(fine)]
    ratio = running_median(fine, width) / (noise[:, None] + TREMBLE_SHARE * running_median(coarse, width))
    ratio = np.fmax(ratio, median_of(ratio, fewest=WHOLE)[:, None] / TREMBLE_BODY)
    lasting = grey_opening(np.nan_to_num(ratio), size=(math.ceil(TREMBLE_SECONDS * fps), 1), mode="nearest")
    ratio = np.where(np.isfinite(ratio), lasting, np.nan)
    return np.pad(ratio, ((middle, len(parts) - middle - len(fine)), (0, 0)), mode="edge")


def sliding(positions: FloatArray, moves: FloatArray, drifts: FloatArray, fps: float) -> FloatArray:
    """Measure foot sliding: the speed of the slower foot of a standing person.

    A standing body is supported by a resting foot, or it is in the air and falls.

    Args:
        positions: (T, 17, 2) torso lengths, NaN where not judged.
        moves: (T-1, 17, 2) torso lengths, movement over the ground.
        drifts: (T-1, 17, 2) torso lengths, the camera's.
        fps: Frames per second.

    Returns:
        (T,) measured over allowed value; NaN where the person does not stand with both feet in view.
    """
    out = np.full(len(positions), np.nan)
    steps = max(1, int(STEP_SECONDS * fps))
    if len(moves) < steps:
        return out
    hips, feet = list(HIPS), list(FEET)
    hip_height = positions[:, hips, 1].mean(axis=1)
    stands = hip_height - positions[:, list(SHOULDERS), 1].mean(axis=1) > STANDING[0]
    stands &= positions[:, feet, 1].max(axis=1) - hip_height > STANDING[1]
    own, camera = (np.linalg.norm(_running_mean(m[:, feet], steps), axis=-1) * fps for m in (moves, drifts))
    ratio = (own / (SLIDE_SPEED + SLIDE_CAMERA * camera)).min(axis=1)
    middle = slice(steps // 2, steps // 2 + len(ratio))
    ratio = np.where(stands[middle], ratio, np.nan)
    values = np.minimum(ratio, 1.0)
    for (spell,) in find_objects(label((ratio > 1) & ~falling(moves[:, hips, 1].mean(axis=1), fps)[middle])[0]):
        if spell.stop - spell.start >= SLIDE_SECONDS * fps:
            values[spell] = ratio[spell].max()
    out[middle] = values
    return out


def falling(moves: FloatArray, fps: float) -> BoolArray:
    """Return (T,) bool, True in free fall or flight; ``moves`` (T-1,) downwards movement of the hips, torso lengths."""
    count = max(3, 2 * round(FALL_SECONDS * fps / 2) + 1)
    time = (np.arange(count) - count // 2) / fps
    padded = np.pad(moves * fps, (count // 2, count // 2 + 1), constant_values=np.nan)
    slope = sliding_window_view(padded, count) @ (time / (time @ time))
    return np.asarray((slope > GRAVITY[0]) & (slope < GRAVITY[1]))


def jolts(moves: FloatArray, drifts: FloatArray, fps: float) -> FloatArray:
    """Measure the acceleration of shoulders and hips relative to the largest plausible one.

    Args:
        moves: (T-1, 17, 2) torso lengths, movement over the ground.
        drifts: (T-1, 17, 2) torso lengths, the camera's.
        fps: Frames per second.

    Returns:
        (T,) measured over allowed value; NaN where fewer than two of the four keypoints are in view.
    """
    stride = _stride(fps)
    own, camera = (median_of(m[:, list(TRUNK)]) for m in (moves, drifts))
    path = np.pad(np.nancumsum(own, axis=0), ((1, 0), (0, 0)))
    path = median_filter(path, size=(JOLT_FRAMES, 1), mode="nearest")
    velocity = path[stride:] - path[:-stride]
    camera = _running_mean(camera, stride) * stride
    jerked, shaken = (np.linalg.norm(v[stride:] - v[:-stride], axis=-1) for v in (velocity, camera))
    usual = running_median(np.linalg.norm(velocity[stride:], axis=-1)[:, None], _window(JOLT_SECONDS, fps))[:, 0]
    ratio = jerked / (max(JOLT * (stride / fps) ** 2, JOLT_NOISE) + JOLT_SHARE * usual + JOLT_CAMERA * shaken)
    seen = _running_mean(np.isfinite(own[:, 0]).astype(np.float64), 2 * stride) == 1
    return np.pad(np.where(seen, ratio, np.nan), stride, constant_values=np.nan)


def reversed_joints(positions: FloatArray, fps: float) -> dict[tuple[str, str], FloatArray]:
    """Measure the bending of knees and elbows past straight, of a person in side view.

    Args:
        positions: (T, 17, 2) torso lengths, NaN where not judged.
        fps: Frames per second.

    Returns:
        (side, kind) of the joint to (T,) measured over allowed value, NaN outside side views.
    """
    up = positions[:, list(SHOULDERS)].mean(axis=1) - positions[:, list(HIPS)].mean(axis=1)
    up = up / np.maximum(np.linalg.norm(up, axis=-1, keepdims=True), SMALLEST)
    right = np.stack([-up[:, 1], up[:, 0]], axis=-1)
    across = [np.abs(((positions[:, a] - positions[:, b]) * right).sum(axis=-1)) for a, b in (SHOULDERS, HIPS)]
    ahead = ((positions[:, NOSE] - median_of(positions[:, list(EARS)], fewest=1)) * right).sum(axis=-1)
    width = _window(BACKWARDS_SECONDS, fps)
    ahead = running_median(ahead[:, None], width)[:, 0]
    sideways = (np.maximum(*across) < SIDE_VIEW) & (np.abs(ahead) > NOSE_AHEAD)
    out = {}
    for name, (root, joint, end) in JOINTS.items():
        side, kind = name.split()
        if kind not in BACKWARDS:
            continue
        upper, lower = positions[:, joint] - positions[:, root], positions[:, end] - positions[:, joint]
        cross = upper[:, 0] * lower[:, 1] - upper[:, 1] * lower[:, 0]
        bent = np.degrees(np.arctan2(cross, (upper * lower).sum(axis=-1))) * np.sign(ahead)
        full = [FULL_LENGTHS[list(PARTS).index(f"{side} {bone}")] for bone in BONES[kind]]
        flat = (
            np.minimum(*(np.linalg.norm(v, axis=-1) / f for v, f in zip((upper, lower), full, strict=True))) > IN_VIEW
        )
        past = np.where(sideways & flat, bent if kind == "elbow" else -bent, np.nan)
        out[side, kind] = running_median(past[:, None], width)[:, 0] / BACKWARDS[kind]
    return out


def _stride(fps: float) -> int:
    """Return the distance, frames, between compared frames."""
    return max(1, round(fps / FASTEST_FPS))


def _window(seconds: float, fps: float) -> int:
    """Return ``seconds`` as an odd number of frames, at least 5."""
    return max(5, 2 * round(seconds * fps / 2) + 1)


def running_median(values: FloatArray, width: int) -> FloatArray:
    """Return the running medians of ``values`` (T, N) over ``width`` frames; NaN where fewer than half are finite."""
    padded = np.pad(values, ((width // 2, width // 2), (0, 0)), constant_values=np.nan)
    return median_of(np.moveaxis(sliding_window_view(padded, width, axis=0), -1, 1), fewest=width // 2)


def median_of(values: FloatArray, fewest: int = 2) -> FloatArray:
    """Return the median of the finite ``values`` (T, K, ...) along K; NaN with fewer than ``fewest``."""
    enough = np.isfinite(values).sum(axis=1) >= fewest
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing finite
        return np.asarray(np.where(enough, np.nanmedian(values, axis=1), np.nan))


def _running_mean(moves: FloatArray, count: int) -> FloatArray:
    """Return (N - count + 1, ...), the means of ``count`` consecutive ``moves`` (N, ...)."""
    return np.asarray(sliding_window_view(moves, count, axis=0).mean(axis=-1))
