"""One clip as the models see it: every ability is asked at most once, on first use, and its answer shared.

Each ability has a small protocol. It is given the :class:`Scene` of a clip, so that it can build on other abilities
(the tracker on the flow, the segmenter on camera and poses) and none of them runs twice.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Protocol, TypeVar, cast, runtime_checkable

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.perception.answers import Camera, Flow, Objects, PointTracks, Poses, ReleasedObjects
from vmmetrics.types import FloatArray, Look

Answer = TypeVar("Answer")


class FlowEstimator(Protocol):
    """Dense optical flow."""

    def estimate(self, scene: Scene) -> Flow:
        """Return the flow of every frame pair."""
        ...


class CameraEstimator(Protocol):
    """Global (camera) motion."""

    def estimate(self, scene: Scene) -> Camera:
        """Return the camera motion of every frame pair."""
        ...


class Segmenter(Protocol):
    """Objects with masks and identities over time."""

    def segment(self, scene: Scene) -> Objects:
        """Return the objects of the clip."""
        ...


class Tracker(Protocol):
    """Follows query points through the whole clip, forwards and backwards."""

    def track(self, scene: Scene, queries: FloatArray) -> PointTracks:
        """Track ``queries`` (N, 3): frame index, x, y in clip pixels."""
        ...


class PoseEstimator(Protocol):
    """Human keypoints."""

    def estimate(self, scene: Scene) -> Poses:
        """Return the people of the clip."""
        ...


class QualityModel(Protocol):
    """Per-frame quality without a reference."""

    def assess(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, 1 best."""
        ...


class SteadinessModel(Protocol):
    """How much of each frame is something else in both of its neighbours."""

    def unsteadiness(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, 0 where everything goes on."""
        ...


class PlausibilityModel(Protocol):
    """Probabilities of the five commonsense levels."""

    def classify(self, scene: Scene) -> FloatArray:
        """Return (V, 5) float64, one row per view, Bad..Perfect, rows sum to 1."""
        ...

    def view_frames(self, scene: Scene) -> list[tuple[int, ...]]:
        """Return the clip's frames that each row of :meth:`classify` was judged by, ascending."""
        ...


@runtime_checkable
class ExplainingModel(Protocol):
    """A plausibility model that can say what its score was made from."""

    def looked(self, scene: Scene) -> tuple[Look, ...]:
        """Return where it looked in the view that it found worst."""
        ...


class ReleasedFlow(Protocol):
    """What the released code asks of the published models, in its own order and with its own quirks."""

    def amplitude_tracks(self, scene: Scene) -> tuple[PointTracks | None, PointTracks]:
        """Return the points on the subject, None where it is not found, and those on the background (PAS)."""
        ...

    def objects(self, scene: Scene) -> ReleasedObjects:
        """Return the subject's identities over the key frames (TCS)."""
        ...

    def person(self, scene: Scene) -> tuple[FloatArray, FloatArray]:
        """Return (T, 17, 2) pixels and (T, 17) scores of the first instance of each frame (OIS)."""
        ...


@dataclass(frozen=True)
class Models:
    """A choice of model per ability; None where a preset has none.

    Attributes:
        released: The released code's control flow on these models, which are the published ones: they find the
            subject by its noun, and their quality is Q-Align's. None where the models are others.
        notes: What they had to do to fit this machine, in words; grows as they find out.
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


class Scene:
    """The shared, lazily computed perception of one clip.

    Attributes:
        clip: The clip.
        models: Who answers.
        calls: How often each ability was really run (the benchmark asserts 1).
        seconds: Seconds spent in each ability, those it drew on included.
    """

    def __init__(self, clip: Clip, models: Models) -> None:
        self.clip = clip
        self.models = models
        self.calls: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self._answers: dict[str, object] = {}
        self._locks: defaultdict[str, RLock] = defaultdict(RLock)

    def once(self, name: str, compute: Callable[[], Answer]) -> Answer:
        """Return what ``compute`` gave the first time ``name`` was asked for; an exception is given again."""
        with self._locks[name]:  # two threads may want the same; which ability draws on which has no cycles
            if name not in self._answers:
                self.calls[name] += 1
                start = time.perf_counter()
                try:
                    self._answers[name] = compute()
                except Exception as error:  # kept, so that every metric that needs it reports the same cause
                    self._answers[name] = error
                self.seconds[name] = time.perf_counter() - start
        answer = self._answers[name]
        if isinstance(answer, Exception):
            raise answer
        return cast(Answer, answer)

    @property
    def no_subject(self) -> str | None:
        """Why the subject of this clip cannot be looked for; None where it can, or where models need no noun."""
        if self.models.released is None or self.clip.subject is not None:
            return None
        return "no subject: the published models look for it by its noun"

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
        """(T,) share of each frame that is something else in both neighbours; None where the preset cannot tell."""
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
