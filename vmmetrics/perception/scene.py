"""Shared perception of one clip: every ability runs at most once, on first use, and its result is cached.

Each ability has a small protocol. It receives the :class:`Scene` of a clip, so that it can use other abilities (the
tracker the flow, the segmenter camera and poses) without running them twice.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.perception.content import Unjudgeable, find_unjudgeable
from vmmetrics.types import BoolArray, FloatArray, IntArray, SaliencyMap, UInt8Array
from vmmetrics.utils.progress import tell_share

# Results of a scene's abilities: flow, camera, objects, tracks, poses.
#
# All coordinates are pixels of ``scene.clip.frames``, x right and y down, pixel centres at integers.


@dataclass(frozen=True, slots=True)
class Flow:
    """Dense motion between consecutive frames, at a working resolution.

    Attributes:
        images: (T, h, w) uint8 grey frames at the working resolution.
        forward: (T-1, h, w, 2) float32, working pixels: where a pixel of frame t is in frame t+1, minus itself.
        backward: (T-1, h, w, 2) float32, working pixels: where a pixel of frame t+1 was in frame t, minus itself.
        forward_valid: (T-1, h, w) bool, forward and backward flow are consistent (not occluded, not lost).
        backward_valid: (T-1, h, w) bool, the same of ``backward``.
        scale: (sx, sy): clip pixels per working pixel. Working x corresponds to clip x = (x + 0.5) * sx - 0.5.
    """

    images: UInt8Array
    forward: FloatArray
    backward: FloatArray
    forward_valid: BoolArray
    backward_valid: BoolArray
    scale: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Camera:
    """Global motion per frame pair.

    Attributes:
        homographies: (T-1, 3, 3) float64, clip pixels of frame t to clip pixels of frame t+1.
        kinds: T-1 of ``"homography"``, ``"affine"``, ``"translation"``, ``"still"`` or ``"unknown"`` (identity; no
            model could be trusted, a cut for example).
        inliers: (T-1,) float64, share of the background that follows the model.
    """

    homographies: FloatArray
    kinds: tuple[str, ...]
    inliers: FloatArray

    def between(self, start: int, stop: int) -> FloatArray:
        """Return the (3, 3) motion from frame ``start`` to ``stop``, at least ``start``."""
        motion = np.eye(3)
        for homography in self.homographies[start:stop]:
            motion = homography @ motion
        return motion


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object with an identity over the clip.

    Attributes:
        id: 1-based, its value in :attr:`Objects.labels`.
        label: Class or phrase (``"person"``, ``"object"``, a detector's phrase).
        present: (T,) bool, visible in that frame.
        occluded: (T,) bool, absent because hidden behind something.
        left: (T,) bool, absent because out of the frame; None where the segmenter does not report it.
    """

    id: int
    label: str
    present: BoolArray
    occluded: BoolArray
    left: BoolArray | None = None

    @property
    def first_frame(self) -> int:
        """Index of the first frame in which the object is visible."""
        return int(np.argmax(self.present))


@dataclass(frozen=True, slots=True)
class Objects:
    """The moving objects (or detected subjects) of a clip.

    Attributes:
        labels: (T, h, w) uint8 map at a working resolution: 0 background, else the object's id.
        objects: One entry per id.
        scale: (sx, sy) clip pixels per map pixel, as in :class:`Flow`.
        moving: (T, h, w) bool, independently moving pixels of each frame, part of an object or not; None where the
            model does not report them.
    """

    labels: UInt8Array
    objects: tuple[SceneObject, ...]
    scale: tuple[float, float]
    moving: BoolArray | None = None


@dataclass(frozen=True, slots=True)
class PointTracks:
    """Points tracked through a clip.

    Attributes:
        xy: (T, N, 2) float64 clip pixels; an estimate also where invisible.
        visible: (T, N) bool.
        query_frames: (N,) int, the frame of each point's query.
    """

    xy: FloatArray
    visible: BoolArray
    query_frames: IntArray

    @classmethod
    def none(cls, num_frames: int) -> PointTracks:
        """Return tracks without a point."""
        return cls(np.zeros((num_frames, 0, 2)), np.zeros((num_frames, 0), np.bool_), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Poses:
    """People with stable identity. P may be 0.

    Attributes:
        keypoints: (T, P, 17, 2) float64 clip pixels in COCO order, NaN where the person is absent.
        scores: (T, P, 17) float64 in 0..1, probability that the keypoint is within 0.1 torso lengths; 0 where absent.
        boxes: (T, P, 4) float64 x0, y0, x1, y1, NaN where absent.
        notes: Notes for the user on how they were detected.
        silhouettes: (T, P, 4, 3) float64, NaN where unknown, or None where the model has no masks: for left and
            right forearm, left and right calf, the clip pixels from elbow or knee along the bone to the end of the
            person's silhouette, the silhouette's largest extent from there in any direction away from the body, and
            the share of the bone that lies on it.
    """

    keypoints: FloatArray
    scores: FloatArray
    boxes: FloatArray
    notes: tuple[str, ...] = field(default=())
    silhouettes: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class ReleasedObject:
    """One identity of the released TCS, detected at key frames only.

    Attributes:
        present: (C,) bool, among the masks that a key frame's chunk starts with.
        boxes: (C, 4) float64 clip pixels x0, y0, x1, y1 of those masks, NaN where there is none or it is empty.
        ordinal: Index of the first key frame in which it is present, in the list of key frames.
        tracks: Its points, queried in the *frame* of that number (Q13); None where it never appears or vanishes.
    """

    present: BoolArray
    boxes: FloatArray
    ordinal: int
    tracks: PointTracks | None


@dataclass(frozen=True, slots=True)
class ReleasedObjects:
    """All identities of the released TCS.

    Attributes:
        key_frames: (C,) int64 frame indices.
        objects: One entry per identity.
    """

    key_frames: IntArray
    objects: tuple[ReleasedObject, ...]


Answer = TypeVar("Answer")


class FlowEstimator(Protocol):
    """Estimator of dense optical flow."""

    def estimate(self, scene: Scene) -> Flow:
        """Return the flow of every frame pair."""


class CameraEstimator(Protocol):
    """Estimator of global (camera) motion."""

    def estimate(self, scene: Scene) -> Camera:
        """Return the camera motion of every frame pair."""


class Segmenter(Protocol):
    """Segmenter of objects with masks and identities over time."""

    def segment(self, scene: Scene) -> Objects:
        """Return the objects of the clip."""


class Tracker(Protocol):
    """Tracker of query points through the whole clip, forwards and backwards."""

    def track(self, scene: Scene, queries: FloatArray) -> PointTracks:
        """Track ``queries`` (N, 3): frame index, x, y in clip pixels."""


class PoseEstimator(Protocol):
    """Estimator of human keypoints."""

    def estimate(self, scene: Scene) -> Poses:
        """Return the people of the clip."""


class QualityModel(Protocol):
    """Model of per-frame quality without a reference."""

    def assess(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, 1 best."""


class SteadinessModel(Protocol):
    """Model of class changes from frame to frame."""

    def unsteadiness(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, the deviation of each frame's content from both neighbours, 0 for none."""


class PlausibilityModel(Protocol):
    """Classifier of the five commonsense levels."""

    def classify(self, scene: Scene) -> FloatArray:
        """Return (V, 5) float64, one row per view, Bad..Perfect, rows sum to 1."""

    def view_frames(self, scene: Scene) -> list[tuple[int, ...]]:
        """Return the frame indices of the view behind each row of :meth:`classify`, ascending."""


@runtime_checkable
class ExplainingModel(Protocol):
    """A plausibility model that can explain its score.

    Attributes:
        explained_below: Score below which clips are explained while scored; others are when they are shown.
    """

    explained_below: float

    def saliency(self, scene: Scene) -> tuple[SaliencyMap, ...]:
        """Return the saliency of the view with the lowest score."""


class ReleasedFlow(Protocol):
    """Control flow of the released code on the published models, with its quirks."""

    def amplitude_tracks(self, scene: Scene) -> tuple[PointTracks | None, PointTracks]:
        """Return the tracks on the subject, None where it is not detected, and those on the background (PAS)."""

    def objects(self, scene: Scene) -> ReleasedObjects:
        """Return the subject's identities over the key frames (TCS)."""

    def person(self, scene: Scene) -> tuple[FloatArray, FloatArray]:
        """Return (T, 17, 2) pixels and (T, 17) scores of the first instance of each frame (OIS)."""


@dataclass(frozen=True)
class Models:
    """One model per ability; None where a preset has none.

    Attributes:
        released: The released code's control flow, where these are the published models: they detect the subject by
            its noun, and their quality is Q-Align's. None for other models.
        notes: Notes for the user on how the models were fitted to this machine; grows while they run.
        costs: Typical cost of each ability that is needed, by the name it is cached under up to a colon, in any unit;
            empty where they are not known.
    """

    flow: FlowEstimator
    camera: CameraEstimator
    segmenter: Segmenter
    tracker: Tracker
    pose: PoseEstimator
    quality: QualityModel
    plausibility: PlausibilityModel | None = None
    steadiness: SteadinessModel | None = None
    released: ReleasedFlow | None = None
    notes: Sequence[str] = ()
    costs: Mapping[str, float] = field(default_factory=dict)


class Scene:
    """The shared, lazily computed perception of one clip.

    Attributes:
        clip: The clip.
        models: The models of its abilities.
        calls: Number of runs of each ability (the benchmark asserts 1).
        seconds: Seconds spent in each ability, including those it uses.
    """

    def __init__(self, clip: Clip, models: Models) -> None:
        self.clip = clip
        self.models = models
        self.calls: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self._answers: dict[str, object] = {}
        self._locks: defaultdict[str, RLock] = defaultdict(RLock)

    def once(self, name: str, compute: Callable[[], Answer]) -> Answer:
        """Return the cached result of ``compute`` under ``name``; a cached exception is raised again."""
        with self._locks[name]:  # two threads may ask for the same; abilities depend on each other without cycles
            if name not in self._answers:
                self.calls[name] += 1
                start = time.perf_counter()
                try:
                    self._answers[name] = compute()
                except Exception as error:  # kept, so that every metric that needs it reports the same cause
                    self._answers[name] = error
                self.seconds[name] = time.perf_counter() - start
                if (share := self.share_done) is not None:
                    tell_share(share)
        answer = self._answers[name]
        if isinstance(answer, Exception):
            raise answer
        return cast(Answer, answer)

    @property
    def share_done(self) -> float | None:
        """Share of the clip's perception that is done, 0..1, by typical costs; None where they are not known."""
        costs, done = self.models.costs, {name.partition(":")[0] for name in list(self.seconds)}
        return sum(costs[name] for name in costs.keys() & done) / sum(costs.values()) if costs else None

    @property
    def no_subject(self) -> str | None:
        """Reason why the subject cannot be detected; None where it can, or where the models need no noun."""
        if self.models.released is None or self.clip.subject is not None:
            return None
        return "no subject: the published models detect it by its noun"

    @property
    def unjudgeable(self) -> Unjudgeable | None:
        """Kind and reason of a clip without motion to judge (noise, a still, slides); None for others."""
        return self.once("unjudgeable", lambda: find_unjudgeable(self.clip))

    @property
    def flow(self) -> Flow:
        """Dense flow, both directions."""
        return self.once("flow", lambda: self.models.flow.estimate(self))

    @property
    def camera(self) -> Camera:
        """Global motion per frame pair."""
        return self.once("camera", lambda: self.models.camera.estimate(self))

    @property
    def objects(self) -> Objects:
        """Moving objects with identity."""
        return self.once("objects", lambda: self.models.segmenter.segment(self))

    @property
    def poses(self) -> Poses:
        """People with keypoints."""
        return self.once("poses", lambda: self.models.pose.estimate(self))

    @property
    def quality(self) -> FloatArray:
        """(T,) per-frame quality."""
        return self.once("quality", lambda: self.models.quality.assess(self))

    @property
    def unsteadiness(self) -> FloatArray | None:
        """(T,) deviation of each frame's content from both neighbours, 0..1; None where the preset has no model."""
        model = self.models.steadiness
        return None if model is None else self.once("unsteadiness", lambda: model.unsteadiness(self))

    @property
    def probabilities(self) -> FloatArray:
        """(V, 5) probabilities of the commonsense levels, one row per view."""
        model = self.models.plausibility
        if model is None:
            raise SetupError("this preset has no plausibility model")
        return self.once("probabilities", lambda: model.classify(self))

    def track(self, name: str, queries: FloatArray) -> PointTracks:
        """Track ``queries`` (N, 3); ``name`` identifies this query set within the scene."""
        return self.once(f"tracks:{name}", lambda: self.models.tracker.track(self, queries))
