"""A suite of the real one's shape that scores a clip from its pixels in no time, and misbehaves on request.

What it does to a clip is asked for by the clip's name: ``slow`` sleeps, ``hang`` for an hour, ``meet`` waits for a
second process to have a clip in hand, ``kill`` dies as if killed for memory, ``raise`` raises, ``badmss`` fails in one
metric, ``noone`` has no person, ``still`` has no motion.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.perception.scene import Camera, Objects, PointTracks, Poses, Scene, SceneObject
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.types import AmplitudeResult, Event, MetricResult

SUITE = "fake_suite:FakeSuite"


SQUARE = slice(4, 10)  # rows and columns of the one object there is


class FakeModels:
    """One object, a square that stays where it is, with one point in its middle; one person, a vertical line."""

    def segment(self, scene: Scene) -> Objects:
        clip = scene.clip
        labels = np.zeros((len(clip), clip.height, clip.width), np.uint8)
        labels[:, SQUARE, SQUARE] = 1
        there = np.ones(len(clip), np.bool_)
        return Objects(labels, (SceneObject(1, "object", there, ~there),), (1.0, 1.0))

    def track(self, scene: Scene, queries) -> PointTracks:
        count = len(scene.clip)
        xy = np.broadcast_to(queries[:, 1:], (count, len(queries), 2)).astype(np.float64)
        return PointTracks(xy, np.ones((count, len(queries)), np.bool_), queries[:, 0].astype(np.int64))

    def estimate(self, scene: Scene) -> Poses:
        count = len(scene.clip)
        joints = np.zeros((count, 1, 17, 2))
        joints[..., 0], joints[..., 1] = scene.clip.width - 4, np.linspace(1, scene.clip.height - 2, 17)
        return Poses(joints, np.ones((count, 1, 17)), np.zeros((count, 1, 4)))


class FakeCamera:
    def estimate(self, scene: Scene) -> Camera:
        pairs = len(scene.clip) - 1
        return Camera(np.tile(np.eye(3), (pairs, 1, 1)), ("still",) * pairs, np.ones(pairs))


def fake_models() -> Any:
    models = FakeModels()
    return SimpleNamespace(segmenter=models, tracker=models, pose=models, camera=FakeCamera(), costs={})


def meet(place: Path) -> None:
    """Return once two processes have come here, however long the other takes to start."""
    place.mkdir(exist_ok=True)
    (place / str(os.getpid())).touch()
    while len(list(place.iterdir())) < 2:
        time.sleep(0.01)


class FakeScores(ClipScores):
    def __init__(self, results: dict[str, MetricResult], errors: dict[str, str]) -> None:
        super().__init__("fake", results, errors, 0.0)


class FakeSuite:
    weights: ClassVar = {"fake": "00ff"}
    reads_ahead: ClassVar = False

    def __init__(
        self, preset="embedded", protocol="vmmetrics", metrics=METRICS, *, cas_model=None, threads=None
    ) -> None:
        if os.environ.get("FAKE_SUITE_DIES") and multiprocessing.parent_process():
            os._exit(7)
        if preset == "vmbench":
            raise SetupError("no weights of the published models")
        if preset != "embedded":
            raise ValueError(f"Expected preset to be one of ('embedded',) but got {preset!r}")
        self.preset, self.protocol, self.metrics = preset, protocol, tuple(metrics)

    def describe(self) -> dict[str, Any]:
        return {
            "preset": self.preset,
            "protocol": self.protocol,
            "metrics": list(self.metrics),
            "weights": dict(self.weights),
            "comparable": False,
            "label": f"preset {self.preset}, protocol {self.protocol}: not comparable with published VMBench numbers",
        }

    def scene(self, clip) -> Scene:
        return Scene(clip, fake_models())

    def score_scene(self, scene: Scene) -> FakeScores:
        return self.score_clip(scene.clip)

    def score_clip(self, clip, **_: Any) -> FakeScores:
        if isinstance(clip, np.ndarray):
            clip = Clip(clip, np.arange(len(clip)) / 8, 8.0)
        name = clip.name.rsplit("/")[-1]
        if "slow" in name:
            time.sleep(2.0 if "slowest" in name else 0.15)
        if "meet" in name:
            meet(Path(os.environ["FAKE_SUITE_MEETING"]))
        if "hang" in name:
            time.sleep(3600)
        if "kill" in name:
            os.kill(os.getpid(), signal.SIGKILL)
        if "raise" in name:
            raise RuntimeError("something unforeseen")
        if log := os.environ.get("FAKE_SUITE_LOG"):
            with Path(log).open("a") as file:
                file.write(f"{clip.name} {','.join(self.metrics)}\n")
        values = clip.frames.reshape(len(clip), -1).mean(axis=1) / 255
        results: dict[str, MetricResult] = {}
        errors: dict[str, str] = {}
        for metric in self.metrics:
            if "still" in name:
                results[metric] = MetricResult(None, "nothing moves: all 4 frames show the same image")
            elif metric == "cas" and not os.environ.get("FAKE_SUITE_CAS"):
                results[metric] = MetricResult(None, "this preset has no commonsense classifier")
            elif metric == "ois" and "noone" in name:
                results[metric] = MetricResult(None, "no person")
            elif metric == "mss" and "badmss" in name and not os.environ.get("FAKE_SUITE_MENDED"):
                errors[metric] = "ValueError: broken"
            elif metric == "pas":
                results[metric] = AmplitudeResult(float(values.mean()), amplitude=float(values.std()))
            else:
                event = Event(metric, (0, 1), "made up", box=(0.0, 0.0, 4.0, 4.0), magnitude=0.5, threshold=0.25)
                series = {"value": np.r_[np.nan, values[1:]]}
                results[metric] = MetricResult(float(values.max()), events=(event,), series=series)
        return FakeScores(results, errors)
