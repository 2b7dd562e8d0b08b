"""PAS, perceptible amplitude: the subject's own motion relative to the amplitude that is perceived in full."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from vmmetrics.functional._checks import FrameSize, as_bools, as_floats, as_frame_size, check_protocol
from vmmetrics.types import AmplitudeResult, BoolArray, Event, FloatArray, Protocol

# Frame-to-frame camera motion from tracked background points, where it is not given.
#
# Iteratively reweighted least squares: a robust and deterministic fit. The model depends on the number of points:
# translation, affine, homography.

MIN_POINTS_AFFINE = 8
MIN_POINTS_HOMOGRAPHY = 24
"""Least numbers of points per model: three to six times its minimum (3 and 4), for robustness to outliers."""
ITERATIONS = 30
"""Most iterations of the fit."""
NOISE_FLOOR = 0.05
"""Least scale of the residuals, pixels: about the precision of a good tracker."""
CONVERGED = 1e-7
"""Largest change of an entry, in normalised coordinates, at convergence."""
CAUCHY = 2.385
"""Cauchy weights at 95 % efficiency under Gaussian noise (Holland & Welsch 1977)."""


def estimate_camera(tracks: FloatArray, visibility: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Fit one homography per frame pair to the points visible in both frames.

    Args:
        tracks: (T, N, 2) float64 pixels, background points.
        visibility: (T, N) bool.

    Returns:
        (T−1, 3, 3) float64 homographies from frame t to t+1, and (T−1,) bool, False (identity) where no point is
        visible in both frames.
    """
    homographies = np.tile(np.eye(3), (len(tracks) - 1, 1, 1))
    shared: BoolArray = visibility[:-1] & visibility[1:]
    for t, points in enumerate(shared):
        if points.any():
            homographies[t] = fit_global_motion(tracks[t, points], tracks[t + 1, points])
    has_camera: BoolArray = np.any(shared, axis=1)
    return homographies, has_camera


def fit_global_motion(source: FloatArray, target: FloatArray) -> FloatArray:
    """Fit the robust (3, 3) motion from ``source`` (N, 2) to ``target`` (N, 2), N ≥ 1."""
    centre = source.mean(axis=0)
    scale = max(float(source.std()), 1.0)
    normalise = np.array([[1 / scale, 0, -centre[0] / scale], [0, 1 / scale, -centre[1] / scale], [0, 0, 1]])
    a, b = (source - centre) / scale, (target - centre) / scale
    motion: FloatArray = np.eye(3)
    motion[:2, 2] = np.median(b - a, axis=0)
    if len(a) >= MIN_POINTS_AFFINE:
        motion = _reweighted(a, b, motion, _solve_affine, NOISE_FLOOR / scale)
    if len(a) >= MIN_POINTS_HOMOGRAPHY:
        motion = _reweighted(a, b, motion, _solve_homography, NOISE_FLOOR / scale)
    result: FloatArray = np.linalg.inv(normalise) @ motion @ normalise
    result /= result[2, 2]
    return result


def project(homographies: FloatArray, points: FloatArray) -> FloatArray:
    """Return (..., N, 2), ``points`` (..., N, 2) mapped by ``homographies`` (..., 3, 3)."""
    mapped = points @ np.swapaxes(homographies[..., :2], -1, -2) + homographies[..., None, :, 2]
    return mapped[..., :2] / mapped[..., 2:]


Solver = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def _reweighted(a: FloatArray, b: FloatArray, motion: FloatArray, solve: Solver, floor: float) -> FloatArray:
    """Refine ``motion`` by iteratively reweighted least squares."""
    for _ in range(ITERATIONS):
        residual = np.linalg.norm(project(motion, a) - b, axis=1)
        scale = max(1.4826 * float(np.median(residual)), floor)
        weights = 1 / (1 + (residual / (CAUCHY * scale)) ** 2)
        before, motion = motion, solve(a, b, weights)
        if np.abs(motion - before).max() < CONVERGED:
            break
    return motion


def _solve_affine(a: FloatArray, b: FloatArray, weights: FloatArray) -> FloatArray:
    root = np.sqrt(weights)[:, None]
    design = np.column_stack([a, np.ones(len(a))])
    solution = np.linalg.lstsq(design * root, b * root, rcond=None)[0]
    return np.vstack([solution.T, [0.0, 0.0, 1.0]])


def _solve_homography(a: FloatArray, b: FloatArray, weights: FloatArray) -> FloatArray:
    """Fit a homography algebraically, linear in its eight entries; its denominator is near 1 here."""
    (x, y), (u, v) = a.T, b.T
    zero, one = np.zeros_like(x), np.ones_like(x)
    rows_u = np.column_stack([x, y, one, zero, zero, zero, -u * x, -u * y])
    rows_v = np.column_stack([zero, zero, zero, x, y, one, -v * x, -v * y])
    root = np.sqrt(np.concatenate([weights, weights]))
    design = np.vstack([rows_u, rows_v]) * root[:, None]
    entries = np.linalg.lstsq(design, np.concatenate([u, v]) * root, rcond=None)[0]
    return np.append(entries, 1.0).reshape(3, 3)


STILL_CAMERA_THRESHOLD = 0.15
"""τ, diagonals per second, of a static camera: amplitudes from there on count in full. Calibrated to a median score of
0.5 on real footage (docs/protocols.md, PAS)."""
MOVING_CAMERA_THRESHOLD = 0.25
"""τ, diagonals per second, of a fast camera: motion is less perceptible while the eye follows the frame."""
CAMERA_HALF_SPEED = 0.1
"""Camera speed, diagonals per second, at which τ is half way between the two."""


def perceptible_amplitude_score(
    subject_tracks: ArrayLike | None,
    background_tracks: ArrayLike | None,
    frame_size: FrameSize,
    *,
    subject_visibility: ArrayLike | None = None,
    background_visibility: ArrayLike | None = None,
    camera: ArrayLike | None = None,
    fps: float | None = None,
    protocol: Protocol = "vmmetrics",
) -> AmplitudeResult:
    """Score perceptible amplitude: the subject's motion relative to the amplitude that is perceived in full.

    ``vmmetrics`` (the paper): PAS = (1/T') Σ_t min(A_t / τ, 1) with A_t the mean of
    |x(t+1) − H_t x(t)| · fps / diagonal over the points visible in frames t and t+1, over the T' frame pairs that have
    such points. τ rises with the speed c of the camera from :data:`STILL_CAMERA_THRESHOLD` towards
    :data:`MOVING_CAMERA_THRESHOLD`, half way at c = :data:`CAMERA_HALF_SPEED`.
    ``vmbench`` (the released code): mean over points of Σ_t |x(t+1) − x(t)| / diagonal, the background's subtracted
    where the subject's is larger; visibility, camera and fps are not used; unbounded.

    Args:
        subject_tracks: (T, N, 2) float, x and y in pixels of points on the subject; None or N = 0 where there is none.
        background_tracks: (T, M, 2) float, the same of the background.
        frame_size: (width, height) in pixels.
        subject_visibility: (T, N) bool; None for all visible.
        background_visibility: (T, M) bool; None for all visible.
        camera: (T−1, 3, 3) float homographies, pixels of frame t to pixels of frame t+1. None: estimated from the
            background tracks; static without them.
        fps: Frames per second; needed under ``vmmetrics``, whose amplitude is per second.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.

    Returns:
        ``.score`` in 0..1 (``vmbench``: 0 and up) and ``.amplitude`` in diagonals per second (``vmbench``: equal to
        the score, diagonals per clip). No subject: 0.0 with an event under ``vmmetrics``, the background's amplitude
        under ``vmbench``. Missing under ``vmmetrics`` for one frame and where no point is visible in two consecutive
        frames. Series under ``vmmetrics``: ``amplitude`` and ``threshold``, value t belonging
        to the step from frame t to t+1, NaN where no point is visible in both and at the last frame.

    Raises:
        ValueError: If shapes or dtypes are not as above, T differs or is 0, a value is NaN, a homography is singular,
            ``frame_size`` or ``fps`` is not positive, ``fps`` is None under ``vmmetrics``, ``protocol`` is unknown, or
            under ``vmbench`` neither set has a point (the released code gives NaN).

    References:
        VMBench (arXiv 2503.10076), perceptible amplitude score; quirks Q3 to Q7 in ``docs/protocols.md``.

    Example:
        One point that moves 10 px per frame at 8 fps, in a frame with a diagonal of 500 px:

        >>> track = np.array([[[10.0 * t, 0.0]] for t in range(5)])
        >>> result = perceptible_amplitude_score(track, None, (300, 400), fps=8)
        >>> round(result.amplitude, 6), result.score
        (0.16, 1.0)
        >>> round(perceptible_amplitude_score(track, None, (300, 400), protocol="vmbench").score, 6)
        0.08
    """
    check_protocol(protocol)
    size = as_frame_size(frame_size)
    subject, subject_visible = _checked("subject", subject_tracks, subject_visibility)
    background, background_visible = _checked("background", background_tracks, background_visibility)
    lengths = {len(tracks) for tracks in (subject, background) if tracks is not None}
    if len(lengths) > 1:
        raise ValueError(f"Expected subject_tracks and background_tracks of one length T but got {sorted(lengths)}")
    if fps is not None and not (np.isfinite(fps) and fps > 0):
        raise ValueError(f"Expected fps to be positive but got {fps}")
    homographies = None if camera is None else _checked_camera(camera, lengths)
    if protocol == "vmbench":
        return _score_vmbench(subject, background, size)
    if lengths == {1}:
        return AmplitudeResult(score=None, missing="one frame: no motion to measure")
    if subject is None or subject_visible is None or subject.shape[1] == 0:
        return AmplitudeResult(score=0.0, amplitude=0.0, events=(Event("pas", (), "nothing moves"),))
    if fps is None:
        raise ValueError("Expected fps, since the amplitude is per second under protocol 'vmmetrics', but got None")
    has_camera = np.ones(len(subject) - 1, dtype=bool)
    if homographies is None:
        homographies = np.tile(np.eye(3), (len(has_camera), 1, 1))
        if background is not None and background_visible is not None and background.shape[1]:
            homographies, has_camera = estimate_camera(background, background_visible)
    return _score_vmmetrics(subject, subject_visible, homographies, has_camera, size, fps)


SPREAD_SHARE = 0.05
"""Moving share of the frame from which its speed counts in full; less counts in proportion."""
FOLLOWED_SHARE = 0.2
"""Least share of tracked points, per step and on average over the clip. In noise with grains of 4 to 64 px it is up to
0.19 by chance; in generated clips that jump every frame 0.26 and more."""


def frame_amplitude_score(
    own_motion: ArrayLike, lost: ArrayLike, camera: ArrayLike, frame_size: FrameSize, *, fps: float
) -> AmplitudeResult:
    """Score the perceptible amplitude of motion that is spread over the frame and belongs to no object.

    A_t is the mean own motion of the moving points, times min(m / :data:`SPREAD_SHARE`, 1) with m the share of the
    frame that moves or is lost. The score follows from A_t as in :func:`perceptible_amplitude_score`.

    Args:
        own_motion: (T−1, N) float pixels, at N points spread evenly over the frame: the length of each point's motion
            from frame t to t+1 relative to the camera; 0 within the error, NaN where untextured or not tracked.
        lost: (T−1, N) bool, textured points that neither the camera's motion nor their own explains.
        camera: (T−1, 3, 3) float homographies, pixels of frame t to pixels of frame t+1.
        frame_size: (width, height) in pixels.
        fps: Frames per second.

    Returns:
        As :func:`perceptible_amplitude_score`; 0.0 where the whole frame is untextured. Missing where on average less
        than :data:`FOLLOWED_SHARE` of the textured points is tracked.

    Raises:
        ValueError: If shapes are not as above, or ``frame_size`` or ``fps`` is not positive.

    Example:
        Ten points of a frame with a diagonal of 500 px, five of which move by 10 px per frame at 8 fps:

        >>> own_motion = np.array([[10.0] * 5 + [0.0] * 5] * 4)
        >>> still = np.tile(np.eye(3), (4, 1, 1))
        >>> result = frame_amplitude_score(own_motion, np.zeros((4, 10), bool), still, (300, 400), fps=8)
        >>> round(result.amplitude, 6), result.score
        (0.16, 1.0)
    """
    size = as_frame_size(frame_size)
    if not (np.isfinite(fps) and fps > 0):
        raise ValueError(f"Expected fps to be positive but got {fps}")
    own = np.asarray(own_motion, np.float64)
    if own.ndim != 2 or own.size == 0:
        raise ValueError(f"Expected own_motion of shape (T−1, N) but got {own.shape}")
    lost_points = as_bools("lost", lost, f"{own.shape[0]}, {own.shape[1]}")
    homographies = _checked_camera(camera, {len(own) + 1})
    share = followed_share(np.isfinite(own), lost_points)
    measured = share >= FOLLOWED_SHARE
    if share.mean() < FOLLOWED_SHARE:
        return AmplitudeResult(score=None, missing="too few points can be tracked between frames")
    own = np.nan_to_num(own)
    moving = (own > 0).sum(axis=1)
    spread = np.minimum((moving + lost_points.sum(axis=1)) / own.shape[1] / SPREAD_SHARE, 1)
    speed = own.sum(axis=1) / np.maximum(moving, 1) * fps / float(np.hypot(*size))
    return _scored(np.where(measured, speed * spread, np.nan), homographies, size, fps)


def followed_share(followed: BoolArray, lost: BoolArray) -> FloatArray:
    """Return (T−1,), the share of ``followed`` (T−1, N) points among followed and ``lost`` ones; 1 without a point."""
    count, textured = followed.sum(axis=1), (followed | lost).sum(axis=1)
    return np.where(textured > 0, count / np.maximum(textured, 1), 1.0)


def camera_speed(homographies: FloatArray, frame_size: FrameSize) -> FloatArray:
    """Return (T−1,), the mean displacement of a 5 × 5 grid over the frame, pixels per frame."""
    width, height = frame_size
    grid = np.stack(np.meshgrid(np.linspace(0, width, 5), np.linspace(0, height, 5)), axis=-1).reshape(-1, 2)
    return np.asarray(np.linalg.norm(project(homographies, grid) - grid, axis=-1).mean(axis=-1))


def _checked_camera(camera: ArrayLike, lengths: set[int]) -> FloatArray:
    homographies = as_floats("camera", camera, f"{next(iter(lengths)) - 1 if lengths else 'T−1'}, 3, 3")
    if (np.abs(np.linalg.det(homographies)) < 1e-12).any():
        raise ValueError("Expected camera to hold invertible homographies but got a singular one")
    return homographies


def _score_vmmetrics(
    subject: FloatArray,
    visible: BoolArray,
    homographies: FloatArray,
    has_camera: BoolArray,
    size: FrameSize,
    fps: float,
) -> AmplitudeResult:
    both = visible[:-1] & visible[1:]
    diagonal = float(np.hypot(*size))
    measured = both.any(axis=1) & has_camera
    if not measured.any():
        return AmplitudeResult(score=None, missing="no subject point is visible in two consecutive frames")

    own_motion = np.linalg.norm(subject[1:] - project(homographies, subject[:-1]), axis=2)
    amplitude = np.full(len(both), np.nan)
    count = both.sum(axis=1)
    amplitude[measured] = (own_motion * both).sum(axis=1)[measured] / count[measured] * fps / diagonal
    return _scored(amplitude, homographies, size, fps)


def _scored(amplitude: FloatArray, homographies: FloatArray, size: FrameSize, fps: float) -> AmplitudeResult:
    """Score the amplitudes (T−1,) in diagonals per second, NaN where unmeasured, against the camera's threshold."""
    speed = camera_speed(homographies, size) * fps / float(np.hypot(*size))
    moving = speed / (speed + CAMERA_HALF_SPEED)  # smooth, so that no clip sits on a border
    threshold = STILL_CAMERA_THRESHOLD + (MOVING_CAMERA_THRESHOLD - STILL_CAMERA_THRESHOLD) * moving
    measured = np.isfinite(amplitude)
    score = float(np.minimum(amplitude / threshold, 1)[measured].mean())
    series = {"amplitude": np.append(amplitude, np.nan), "threshold": np.append(threshold, np.nan)}
    events = () if score > 0 else (Event("pas", tuple(range(len(amplitude) + 1)), "nothing moves"),)
    return AmplitudeResult(
        score=score, amplitude=float(amplitude[measured].mean()), events=events, series=MappingProxyType(series)
    )


def _score_vmbench(subject: FloatArray | None, background: FloatArray | None, frame_size: FrameSize) -> AmplitudeResult:
    of_subject, of_background = _path_length(subject, frame_size), _path_length(background, frame_size)
    if of_subject is None and of_background is None:
        raise ValueError("Expected a subject or background track under protocol 'vmbench' but got none (released: NaN)")
    if of_subject is None or of_background is None:
        score = of_subject or of_background or 0.0
    else:
        score = of_subject - of_background if of_subject > of_background else of_subject
    events = () if score > 0 else (Event("pas", (), "nothing moves"),)
    return AmplitudeResult(score=score, amplitude=score, events=events)


def _path_length(tracks: FloatArray | None, frame_size: FrameSize) -> float | None:
    """Return the mean path length of the points, diagonals, in the released code's float32; None without a point."""
    if tracks is None or tracks.shape[1] == 0:
        return None
    diagonal = np.sqrt(np.float32(frame_size[0] ** 2 + frame_size[1] ** 2))
    steps = np.linalg.norm(np.diff(tracks.astype(np.float32), axis=0), axis=2) / diagonal
    return float(np.float32(steps.sum(axis=0, dtype=np.float64).mean()))


def _checked(
    name: str, tracks: ArrayLike | None, visibility: ArrayLike | None
) -> tuple[FloatArray | None, BoolArray | None]:
    if tracks is None:
        if visibility is not None:
            raise ValueError(f"Expected {name}_visibility to be None, as {name}_tracks is, but got an array")
        return None, None
    xy = as_floats(f"{name}_tracks", tracks, "T, N, 2")
    if len(xy) == 0:
        raise ValueError(f"Expected {name}_tracks of at least one frame but got shape {xy.shape}")
    if visibility is None:
        return xy, np.ones(xy.shape[:2], dtype=bool)
    return xy, as_bools(f"{name}_visibility", visibility, f"{xy.shape[0]}, {xy.shape[1]}")
