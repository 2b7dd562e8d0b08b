"""Objects, points and camera of the published models under our own definition, on scenes whose truth is known."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

from released_fakes import HORSE, FakeModels

from vmmetrics.clip import Clip
from vmmetrics.metrics import pas, tcs
from vmmetrics.perception.scene import Models, Objects, PointTracks, Scene, SceneObject
from vmmetrics.perception.vmbench.adapters.cotracker import BackgroundCamera, SharedPoints, background_queries
from vmmetrics.perception.vmbench.adapters.objects import GroundedObjects, key_frames

LENGTH, HEIGHT, WIDTH, FPS = 33, 60, 90, 8.0
KEYS = [0, 8, 16, 24, 32]


@dataclass
class World:
    """Rectangles x0, y0, x1, y1 per frame, None where hidden; and a detector and a tracker that err as they are told.

    Attributes:
        things: One list of rectangles per thing.
        missed: (thing, frame) that the detector does not see.
        extra: Further rectangles that it reports, by frame.
        loses: The tracker does not find a thing again that was hidden, going forwards.
    """

    things: list[list[tuple[int, int, int, int] | None]]
    missed: set[tuple[int, int]] = field(default_factory=set)
    extra: dict[int, list[tuple[int, int, int, int]]] = field(default_factory=dict)
    loses: bool = False
    followed: list[tuple[int, int, bool]] = field(default_factory=list)

    def frames(self) -> np.ndarray:
        frames = np.zeros((LENGTH, HEIGHT, WIDTH, 3), np.uint8)
        frames[:, 0, 0, 0] = np.arange(LENGTH)  # for the detector to know the frame by
        return frames

    def boxes(self, frame: np.ndarray, text: str) -> np.ndarray:
        assert text == "horse."
        now = int(frame[0, 0, 0])
        seen = [t[now] for i, t in enumerate(self.things) if t[now] is not None and (i, now) not in self.missed]
        corners = np.array([*seen, *self.extra.get(now, [])], np.float32).reshape(-1, 4)
        size = corners[:, 2:] - corners[:, :2]
        return np.concatenate([corners[:, :2] + size / 2, size], axis=1) / np.array([WIDTH, HEIGHT] * 2, np.float32)

    def boxes_in(self, frames: Sequence[np.ndarray], text: str) -> list[np.ndarray]:
        return [self.boxes(frame, text) for frame in frames]

    def masks(self, frame: int, boxes: np.ndarray, ahead: Sequence[int] = ()) -> np.ndarray:
        return np.stack([rectangle(np.round(box).astype(int)) for box in boxes])

    def open(self, frames: np.ndarray) -> World:
        assert len(frames) == LENGTH
        return self

    def propagate(
        self, start: int, masks: Mapping[int, np.ndarray], steps: int, *, reverse: bool = False
    ) -> Iterator[tuple[int, dict[int, np.ndarray]]]:
        self.followed.append((start, len(masks), reverse))
        shown = [np.zeros((HEIGHT, WIDTH), bool) if t[start] is None else rectangle(t[start]) for t in self.things]
        which = {identity: int(np.argmax([(mask & m).sum() for m in shown])) for identity, mask in masks.items()}
        lost: set[int] = set()
        for frame in range(start, start - steps - 1, -1) if reverse else range(start, start + steps + 1):
            answer = {}
            for identity, thing in which.items():
                place = self.things[thing][frame]
                if place is None and self.loses and not reverse:
                    lost.add(identity)
                answer[identity] = np.zeros((HEIGHT, WIDTH), bool)
                if place is not None and identity not in lost:
                    answer[identity] = rectangle(place)
            yield frame, answer


def rectangle(box: np.ndarray | tuple[int, int, int, int]) -> np.ndarray:
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[box[1] : box[3], box[0] : box[2]] = True
    return mask


def scene_of(world: World, **models: object) -> Scene:
    clip = Clip(world.frames(), np.arange(LENGTH) / FPS, FPS, subject=HORSE)
    nothing = dict.fromkeys(("flow", "camera", "tracker", "pose", "quality"))
    return Scene(clip, Models(**{**nothing, "segmenter": GroundedObjects(world, world), **models}))  # type: ignore[arg-type]


WALKS = [(10 + t, 20, 30 + t, 40) for t in range(LENGTH)]
STANDS = [(60, 5, 80, 18)] * LENGTH


def test_everything_is_found_at_once_and_followed_once():
    world = World([list(WALKS), list(STANDS)])
    objects = scene_of(world).objects
    assert [item.id for item in objects.objects] == [1, 2]
    assert all(item.present.all() for item in objects.objects)
    assert world.followed == [(0, 2, False)]
    x0, y0, x1, y1 = WALKS[7]
    assert (objects.labels[7, y0:y1, x0:x1] == 1).all()
    assert (objects.labels[7] > 0).sum() == 20 * 20 + 20 * 13
    assert objects.scale == (1.0, 1.0)


def test_what_the_detector_sees_late_is_followed_back():
    world = World([list(WALKS), list(STANDS)], missed={(1, 0), (1, 8)})
    objects = scene_of(world).objects
    assert len(objects.objects) == 2
    assert all(item.present.all() for item in objects.objects)
    assert world.followed == [(0, 1, False), (16, 1, False), (16, 1, True)]


def test_what_appears_late_was_not_there_before():
    late: list[tuple[int, int, int, int] | None] = [None] * 12 + STANDS[12:]
    objects = scene_of(World([list(WALKS), late])).objects
    np.testing.assert_array_equal(objects.objects[1].present, np.arange(LENGTH) >= 12)


@pytest.mark.parametrize("loses", [False, True])
def test_what_was_hidden_is_the_same_object_again(loses: bool):
    hidden: list[tuple[int, int, int, int] | None] = [None if 10 <= t < 20 else place for t, place in enumerate(WALKS)]
    objects = scene_of(World([hidden], loses=loses)).objects
    (item,) = objects.objects
    np.testing.assert_array_equal(item.present, [place is not None for place in hidden])


def test_doubles_and_parts_are_no_objects():
    part, double, empty = (12, 22, 18, 30), (11, 21, 31, 40), (5, 5, 5, 9)
    objects = scene_of(World([list(WALKS)], extra={0: [part, double, empty], 8: [(20, 22, 26, 30)]})).objects
    assert len(objects.objects) == 1


def test_no_object_and_large_frames():
    objects = scene_of(World([])).objects
    assert objects.objects == ()
    assert not objects.labels.any()
    assert pas.measure(scene_of(World([]), released=object()), "vmmetrics").missing == "the subject is not detected"
    from vmmetrics.perception.vmbench.adapters.objects import _small

    mask = np.zeros((1080, 1920), bool)
    mask[400:800, 800:1200] = True
    assert _small(mask).shape == (270, 480)
    assert _small(mask).sum() == 100 * 100


def test_without_a_subject_nothing_is_looked_for():
    world = World([list(WALKS)])
    scene = scene_of(world)
    nobody = Scene(Clip(world.frames(), scene.clip.timestamps, FPS), scene.models)
    assert nobody.objects.objects == ()
    assert nobody.objects.labels.shape == (LENGTH, HEIGHT, WIDTH)


def test_key_frames():
    assert key_frames(LENGTH, FPS) == KEYS
    assert key_frames(1, 8.0) == [0]
    assert key_frames(3, 30.0) == [0, 2]
    assert key_frames(5, 1e-9) == [0, 1, 2, 3, 4]  # a gap in the times, or a time lapse


class Points:
    """A PointTracker for :data:`WALKS` before a camera that moves by (2, 1) pixels a frame."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def points(self, frames: np.ndarray, queries: np.ndarray) -> PointTracks:
        self.asked.append(len(queries))
        when, xy = queries[:, 0].astype(int), queries[:, 1:]
        x0, y0, x1, y1 = np.array(WALKS)[when].T
        walks = (xy[:, 0] >= x0) & (xy[:, 0] < x1) & (xy[:, 1] >= y0) & (xy[:, 1] < y1)
        speed = np.where(walks[:, None], [1.0, 0.0], [-2.0, -1.0])
        age = np.arange(len(frames))[:, None, None] - when[None, :, None]
        tracks = xy + speed * age
        inside = ((tracks >= 0) & (tracks < [WIDTH, HEIGHT])).all(axis=-1)
        return PointTracks(tracks, inside, when)


def test_points_are_followed_together_and_the_camera_is_theirs():
    points = Points()
    world = World([list(WALKS)], missed={(0, 0)})
    scene = scene_of(world, tracker=SharedPoints(points), camera=BackgroundCamera())  # type: ignore[arg-type]
    camera = scene.camera
    result = pas.measure(scene, "vmmetrics")
    tcs.measure(scene, "vmmetrics")
    assert len(points.asked) == 1
    assert set(camera.kinds) == {"homography"}
    np.testing.assert_allclose(camera.homographies[:, :2, 2], np.tile([-2.0, -1.0], (LENGTH - 1, 1)), atol=1e-3)
    np.testing.assert_allclose(camera.inliers, 1)
    # the subject moves by 3 px in x and 1 in y against the camera
    assert result.amplitude == pytest.approx(np.hypot(3, 1) * FPS / np.hypot(WIDTH, HEIGHT), rel=1e-3)
    other = np.array([[0, 5.0, 5.0]])
    assert scene.track("other", other).xy.shape == (LENGTH, 1, 2)
    assert points.asked[1:] == [1]


def test_each_set_gets_its_own_points_back():
    fakes = FakeModels(wild=False)
    half: list[tuple[int, int, int, int] | None] = [*STANDS[:16], *[None] * 17]
    world = World([list(WALKS), half])
    scene = scene_of(world, tracker=SharedPoints(fakes), camera=BackgroundCamera())
    tcs.measure(scene, "vmmetrics")
    assert len(fakes.asked) == 1
    queries = background_queries(scene)
    tracks = scene.track("again", queries)
    np.testing.assert_array_equal(tracks.xy[0], queries[:, 1:])
    np.testing.assert_array_equal(tracks.query_frames, queries[:, 0])
    labels = scene.objects.labels
    x, y = queries[:, 1:].round().astype(int).T
    assert not labels[queries[:, 0].astype(int), y, x].any()


def test_where_no_background_is_left_the_camera_is_unknown():
    everywhere = np.ones((LENGTH, HEIGHT, WIDTH), np.uint8)
    always = np.ones(LENGTH, bool)

    class Full:
        def segment(self, scene: Scene) -> Objects:
            return Objects(everywhere, (SceneObject(1, "horse", always, ~always),), (1.0, 1.0))

    scene = scene_of(World([]), segmenter=Full(), tracker=SharedPoints(FakeModels()), camera=BackgroundCamera())
    assert set(scene.camera.kinds) == {"unknown"}
    np.testing.assert_array_equal(scene.camera.homographies, np.tile(np.eye(3), (LENGTH - 1, 1, 1)))
