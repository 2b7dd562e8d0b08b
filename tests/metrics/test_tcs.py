"""TCS of a scene: what it hands to the scoring function, on answers written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.metrics.tcs import measure
from vmmetrics.perception.scene import Models, Objects, PointTracks, Scene, SceneObject

FRAMES, SIZE, SCALE = 24, (80, 60), (2.0, 2.0)


class Given:
    """Answers with the objects it is given, and tracks that stand still and are always visible."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.queries: list[np.ndarray] = []

    def segment(self, scene: Scene) -> Objects:
        return self.objects

    def track(self, scene: Scene, queries: np.ndarray) -> PointTracks:
        self.queries.append(queries)
        xy = np.repeat(queries[None, :, 1:], len(scene.clip), axis=0)
        return PointTracks(xy, np.ones(xy.shape[:2], bool), queries[:, 0].astype(np.int64))


def scene_with(
    *presences: tuple[np.ndarray, np.ndarray | None], frames: int = FRAMES, fps: float = 8.0, height: int = SIZE[1]
) -> Scene:
    labels = np.zeros((frames, SIZE[1] // 2, SIZE[0] // 2), np.uint8)
    things = []
    for i, (present, occluded) in enumerate(presences, 1):
        labels[present, 5:15, 12 * i - 8 : 12 * i] = i
        hidden = np.zeros(frames, bool) if occluded is None else occluded
        things.append(SceneObject(i, "object", present, hidden))
    given = Given(Objects(labels, tuple(things), SCALE))
    clip = Clip(np.zeros((frames, height, SIZE[0], 3), np.uint8), np.arange(frames) / fps, fps)
    return Scene(clip, Models(given, given, given, given, given, given))  # type: ignore[arg-type]


def frames_where(first: int, last: int, count: int = FRAMES) -> np.ndarray:
    index = np.arange(count)
    return (index >= first) & (index <= last)


def test_no_object_one_frame_and_tiny_frames_are_missing() -> None:
    tiny = scene_with((np.ones(FRAMES, bool), None), height=16)
    assert measure(tiny, "vmmetrics").missing == "frames of 80 by 16 pixels are too small to judge: at least 32 a side"
    assert measure(tiny, "vmbench").score == 1
    assert measure(scene_with(), "vmbench").missing == "no object"
    assert measure(scene_with((np.ones(1, bool), None), frames=1), "vmmetrics").score is None


def test_a_vanishing_costs_its_object_and_carries_its_box() -> None:
    scene = scene_with((frames_where(0, 11), None), (frames_where(0, FRAMES), None))
    result = measure(scene, "vmmetrics")
    assert result.score == pytest.approx(0.5)
    (event,) = result.events
    assert (event.frames, event.target, event.excuse) == ((12,), "object 1", None)
    # Map columns 4..11 and rows 5..14, two clip pixels each, pixel centres at integers.
    assert event.box == (7.5, 9.5, 23.5, 29.5)


def test_an_appearance_names_its_first_frame() -> None:
    (event,) = measure(scene_with((frames_where(10, FRAMES), None)), "vmmetrics").events
    assert event.frames == (10,)
    assert event.reason.startswith("appear")
    assert event.box == (7.5, 9.5, 23.5, 29.5)


def test_hidden_is_excused() -> None:
    present = ~frames_where(9, 15)
    result = measure(scene_with((present, ~present)), "vmmetrics")
    assert result.score == 1.0
    assert all(event.excuse for event in result.events)


def test_out_of_the_frame_is_excused_and_said() -> None:
    scene = scene_with((frames_where(0, 11), None))
    found = scene.objects
    (item,) = found.objects
    left = replace(found, objects=(replace(item, left=~item.present),))
    scene.models.segmenter.objects = left  # type: ignore[attr-defined]
    result = measure(Scene(scene.clip, scene.models), "vmmetrics")
    (event,) = result.events
    assert (result.score, event.excuse) == (1.0, "left through the edge")


def test_tracks_are_asked_for_once_and_queried_at_the_first_appearance() -> None:
    scene = scene_with((frames_where(7, FRAMES), None))
    measure(scene, "vmmetrics")
    measure(scene, "vmmetrics")
    (queries,) = scene.models.tracker.queries  # type: ignore[attr-defined]
    assert np.all(queries[:, 0] == 7)


def test_vmbench_samples_key_frames_and_queries_their_ordinal() -> None:
    # 8 fps: key frames 0, 7, 14, 21. First seen at frame 9, so at key frame 14, ordinal 2.
    scene = scene_with((frames_where(9, FRAMES), None), (frames_where(0, FRAMES), None), (frames_where(1, 5), None))
    result = measure(scene, "vmbench")
    queries = scene.models.tracker.queries  # type: ignore[attr-defined]
    assert [int(q[0, 0]) for q in queries] == [2, 0]  # the third is never seen at a key frame
    assert [(event.frames, event.target) for event in result.events] == [((14,), "object 1")]


def test_vmbench_below_two_frames_a_second_is_missing() -> None:
    result = measure(scene_with((frames_where(0, FRAMES), None), fps=1.0), "vmbench")
    assert result.score is None
