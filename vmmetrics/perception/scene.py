"""One clip as the models see it: every ability is asked at most once, on first use, and its answer shared."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import TypeVar, cast

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.perception.protocols import (
    Camera,
    CameraEstimator,
    Flow,
    FlowEstimator,
    Objects,
    PlausibilityModel,
    PointTracks,
    PoseEstimator,
    Poses,
    QualityModel,
    ReleasedFlow,
    Segmenter,
    SteadinessModel,
    Tracker,
)
from vmmetrics.types import FloatArray

Answer = TypeVar("Answer")


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
