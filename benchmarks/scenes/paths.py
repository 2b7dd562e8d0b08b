"""Where camera and objects are at any time: exact, continuous, and the only source of both pictures and truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes.spec import MotionSpec, ObjectSpec, SceneSpec

Matrix = NDArray[np.float64]
Points = NDArray[np.float64]
AnyFloats = NDArray[np.floating]


def translation(x: float, y: float) -> Matrix:
    """Return a 3×3 shift."""
    return np.array([[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]])


def similarity(scale: float, degrees: float) -> Matrix:
    """Return a 3×3 scaling and rotation about the origin."""
    angle = np.deg2rad(degrees)
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def project(matrix: AnyFloats, points: AnyFloats) -> Points:
    """Apply a 3×3 matrix to (..., 2) points."""
    homogeneous = points @ matrix[:, :2].T + matrix[:, 2]
    return np.asarray(homogeneous[..., :2] / homogeneous[..., 2:])


class CameraPath:
    """World to frame, as a function of time. The world is frame 0 of the same camera without its shake."""

    def __init__(self, spec: SceneSpec, rng: np.random.Generator) -> None:
        self._spec = spec
        # Handheld shake: a few incommensurate tones between sway and tremor, weaker as they get faster.
        self._tones = np.array([0.7, 1.6, 3.1, 5.3]) * rng.uniform(0.85, 1.15, (3, 4))
        self._phases = rng.uniform(0, 2 * np.pi, (3, 4))
        self._weights = np.array([0.6, 0.4, 0.2, 0.1])

    def at(self, time: float) -> Matrix:
        """Return the 3×3 matrix at ``time`` (frames)."""
        spec, camera = self._spec, self._spec.camera
        width, height = spec.size
        progress = time / max(spec.num_frames - 1, 1)
        sway = np.sum(self._weights * np.sin(2 * np.pi * self._tones * time / spec.fps + self._phases), axis=1)
        shift = (np.array(camera.pan) * progress + camera.shake * sway[:2]) * spec.diagonal
        roll = camera.rotation * progress + np.rad2deg(camera.shake * sway[2])
        tilt = np.eye(3)
        tilt[2, :2] = np.array(camera.tilt) * progress / (np.array(spec.size) / 2)
        cx, cy = (width - 1) / 2, (height - 1) / 2
        turn = similarity(camera.zoom**progress, roll)
        return translation(cx + shift[0], cy + shift[1]) @ tilt @ turn @ translation(-cx, -cy)


class ObjectPath:
    """Object units (its radius is 1) to world, as a function of time."""

    def __init__(self, spec: ObjectSpec, scene: SceneSpec, camera: CameraPath, rng: np.random.Generator) -> None:
        self._motion, self._scene = spec.motion, scene
        self._radius = spec.radius * min(scene.size)
        screen = np.array(spec.motion.anchor) * scene.size
        self._anchor = project(np.linalg.inv(camera.at(spec.motion.anchor_frame)), screen)
        self._angle = rng.uniform(0, 360) if spec.shape in {"blob", "superellipse", "polygon"} else 0.0
        self._wobble = rng.uniform(0, 2 * np.pi, 4)
        self._deform = spec.deform
        self._swing = spec.swing

    def at(self, time: float) -> Matrix:
        """Return the 3×3 matrix at ``time`` (frames)."""
        scene, motion = self._scene, self._motion
        seconds = (motion.moved_until(time) - motion.anchor_frame) / scene.fps
        centre = self._anchor + _displacement(motion, seconds, scene)
        angle = self._angle + motion.spin * seconds
        return translation(*centre) @ similarity(self._radius * self.growth(time), angle)

    def growth(self, time: float) -> float:
        """Return the object's scale at ``time``."""
        progress = time / max(self._scene.num_frames - 1, 1)
        first, last = self._motion.grow
        return float(first ** (1 - progress) * last**progress)

    def limb_angle(self, phase: float, time: float) -> float:
        """Return the swing of a limb in degrees; about one stride a second."""
        return float(self._swing * np.sin(2 * np.pi * 1.1 * time / self._scene.fps + phase))

    @property
    def deforms(self) -> bool:
        """Whether :meth:`wobble` is ever other than 0."""
        return self._deform > 0

    def wobble(self, points: Points, time: float) -> Points:
        """Return by how much a point (..., 2) of the object, in object units, is out of place."""
        seconds = time / self._scene.fps
        x = np.sin(2.1 * points[..., 1] + 5.0 * seconds + self._wobble[0])
        y = np.sin(2.3 * points[..., 0] + 4.1 * seconds + self._wobble[1])
        return np.asarray(self._deform * np.stack([x, y], -1))

    def unwobble(self, points: Points, time: float) -> Points:
        """Return which point of the object has come to lie at ``points``.

        Fixed-point iteration: the wobble's gradient is below 0.25 for every deform the suites use, so five rounds
        leave less than a hundredth of a pixel.
        """
        rest = points
        for _ in range(5):
            rest = points - self.wobble(rest, time)
        return rest


def _displacement(motion: MotionSpec, seconds: float, scene: SceneSpec) -> Points:
    diagonal = scene.diagonal
    velocity = np.array(motion.velocity) * diagonal
    speed = float(np.hypot(*velocity))
    if motion.kind == "hopping":
        share = seconds * scene.fps / motion.period % 1.0
        return velocity * seconds - (0.0, 4 * motion.radius * diagonal * share * (1 - share))
    if motion.kind == "none" or speed == 0.0:
        return np.zeros(2)
    if motion.kind == "linear":
        return np.asarray(velocity * seconds)
    along = velocity / speed
    radius = motion.radius * diagonal
    turn = speed / radius * seconds
    if motion.kind == "oscillating":
        return np.asarray(along * radius * np.sin(turn))
    across = np.array([-along[1], along[0]])
    return np.asarray(radius * (np.sin(turn) * along + (1 - np.cos(turn)) * across))
