"""TCS: the released control flow against a naive second implementation; the default on objects with known fates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.functional.reference_excuses import reference_excuse
from vmmetrics.functional import ObjectHistory, temporal_coherence_score

SIZE = (640, 480)
T = 40


def _reference_vmbench(objects, size):
    """The released control flow: identities seen at each key frame, and which of them the next one lacks or adds."""
    seen = [{i for i, item in enumerate(objects) if item.present[k]} for k in range(len(objects[0].present))]
    vanished = [i for now, then in itertools.pairwise(seen) for i in now - then]
    appeared = [i for now, then in itertools.pairwise(seen) for i in then - now]
    unexcused = [
        sum(not _is_excused(objects[i], names, size) for i in changes)
        for changes, names in (
            (vanished, ("is_edge_vanish", "is_small_vanish", "is_vanish_detection_error")),
            (appeared, ("is_edge_emerge", "is_small_emerge", "is_emerge_detection_error")),
        )
    ]
    return sum((len(objects) - count) / len(objects) for count in unexcused) / 2


def _is_excused(item, names, size):
    return any(reference_excuse(name, item.tracks, item.visibility, item.query_frame, size) for name in names)


@st.composite
def _random_objects(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    num_frames, step = draw(st.integers(2, 20)), draw(st.integers(1, 5))
    key_frames = np.arange(0, num_frames, step)
    objects = []
    for _ in range(draw(st.integers(1, 4))):
        count = int(rng.choice([0, 1, 6, 20]))
        extent = rng.choice([1.6, 0.15, 0.05, 0.02])  # of the frame: beyond it, and around what counts as small
        tracks = (0.5 + extent * rng.uniform(-0.5, 0.5, (1, count, 2))) * SIZE
        tracks = tracks + rng.normal(0, 30, (num_frames, 1, 2)).cumsum(axis=0)
        visible = rng.random((num_frames, count)) < rng.choice([0.0, 0.1, 0.9])
        present = rng.random(len(key_frames)) < 0.6
        objects.append(ObjectHistory(present, key_frames, tracks, visible, int(np.argmax(present))))
    return objects, num_frames


@settings(max_examples=200)
@given(_random_objects())
def test_vmbench_equals_reference(case):
    objects, num_frames = case
    result = temporal_coherence_score(objects, frame_size=SIZE, num_frames=num_frames, protocol="vmbench")
    assert result.score == pytest.approx(_reference_vmbench(objects, SIZE), abs=1e-9)


@settings(max_examples=200)
@given(_random_objects())
def test_default_is_bounded_and_consistent(case):
    objects, num_frames = case
    result = temporal_coherence_score(objects, frame_size=SIZE, num_frames=num_frames)
    if result.missing:
        return
    at_fault = {event.target for event in result.events if event.excuse is None}
    assert 0 <= result.score <= 1
    assert (result.score == 1) == (not at_fault)


def _object(centre=(320.0, 240.0), velocity=(0.0, 0.0), extent=60.0, scale=None, seen=None, visible=None, **more):
    """36 points on a square that moves and scales; visible where seen and inside the frame."""
    frames = np.arange(T)
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 6)] * 2), axis=-1).reshape(-1, 2) * extent
    sizes = np.ones(T) if scale is None else np.asarray(scale)
    tracks = np.asarray(centre) + np.outer(frames, velocity)[:, None] + grid * sizes[:, None, None]
    inside = ((tracks >= 0) & (tracks <= np.asarray(SIZE) - 1)).all(axis=-1)
    present = inside.mean(axis=1) > 0.3 if seen is None else np.asarray(seen)
    visible = inside & present[:, None] if visible is None else inside & np.asarray(visible)[:, None]
    return ObjectHistory(present, frames, tracks, visible, int(np.argmax(present)), **more)


def _score(*objects):
    return temporal_coherence_score(objects, frame_size=SIZE, num_frames=T)


FRAMES = np.arange(T)


def test_unexplained_changes_cost_each_object_once():
    steady = _object()
    pops = _object(seen=(FRAMES < 10) | ((FRAMES >= 20) & (FRAMES < 30)))
    result = _score(steady, pops)
    assert result.score == 0.5
    found = [(event.target, event.reason, event.frames) for event in result.events]
    assert found == [
        ("object 2", "vanished without cause", (10,)),
        ("object 2", "appeared without cause", (20,)),
        ("object 2", "vanished without cause", (30,)),
    ]


def test_pop_in():
    result = _score(_object(seen=FRAMES >= 15))
    assert result.score == 0.0
    assert [(event.reason, event.frames) for event in result.events] == [("appeared without cause", (15,))]


@pytest.mark.parametrize(
    ("item", "excuse"),
    [
        (_object(centre=(560, 240), velocity=(5, 0)), "left through the edge"),
        (_object(centre=(-90, 240), velocity=(6, 0)), "came in through the edge"),
        (_object(scale=np.maximum(1 - FRAMES / 25, 0.02), seen=FRAMES < 23), "became too small to see"),
        (_object(scale=np.clip(FRAMES / 25, 0.02, 1), seen=FRAMES > 5), "grew from too small to see"),
        (_object(seen=FRAMES < 15, visible=np.ones(T, bool)), "detection error: still visible"),
        (_object(seen=FRAMES > 15, visible=np.ones(T, bool)), "detection error: visible earlier"),
        (_object(seen=(FRAMES < 15) | (FRAMES > 16)), "detection error: under 3 frames"),
        (
            _object(seen=(FRAMES < 15) | (FRAMES > 25), occluded=(FRAMES >= 15) & (FRAMES <= 25)),
            "occluded",
        ),
        (_object(seen=FRAMES < 15, occluded=FRAMES >= 15), "occluded"),
    ],
)
def test_explained_changes_cost_nothing(item, excuse):
    result = _score(item)
    assert result.score == 1.0
    assert excuse in [event.excuse for event in result.events]


def test_gone_when_the_occluder_has_passed():
    result = _score(_object(seen=FRAMES < 10, occluded=(FRAMES >= 10) & (FRAMES < 20)))
    assert result.score == 0.0
    assert [(event.reason, event.frames, event.excuse) for event in result.events] == [
        ("vanished", (10,), "occluded"),
        ("vanished without cause", (20,), None),
    ]


def test_back_after_an_explained_absence_is_no_appearance():
    x = np.where(FRAMES < 20, 560 + 6.0 * FRAMES, 560 + 6.0 * (39 - FRAMES))
    tracks = _object().tracks - [320, 240] + np.stack([x, np.full(T, 240.0)], axis=1)[:, None]
    inside = (tracks[..., 0] < 640).mean(axis=1)
    item = ObjectHistory(inside > 0.3, FRAMES, tracks, tracks[..., 0] < 640, 0)
    result = _score(item)
    assert result.score == 1.0 and [event.reason for event in result.events] == ["vanished", "appeared"]


def test_small_but_not_shrinking_is_not_excused():
    # 40 px of 640 is 0.06 of the frame: under the released 0.07, yet it never shrank
    assert _score(_object(extent=40.0, seen=FRAMES < 20)).score == 0.0


def test_every_frame_counts_between_key_frames():
    dense = _object(seen=FRAMES < 17)
    sparse = ObjectHistory(dense.present[::8], FRAMES[::8], dense.tracks, dense.visibility, 0)
    assert _score(sparse).events[0].frames == (17,)


def test_missing():
    assert _score().missing == "no object"
    assert _score(_object(seen=np.zeros(T, bool))).missing == "no object"
    blink = _score(_object(seen=(FRAMES == 7)))
    assert blink.missing == "no object" and blink.events[0].excuse
    one = ObjectHistory(np.array([True]), np.array([0]), np.zeros((1, 2, 2)), np.ones((1, 2), bool), 0)
    assert temporal_coherence_score([one], frame_size=SIZE, num_frames=1).missing
    assert temporal_coherence_score([], frame_size=SIZE, num_frames=3, protocol="vmbench").score == 1.0


GOOD = {
    "present": np.ones(3, bool),
    "key_frames": np.arange(3),
    "tracks": np.zeros((3, 2, 2)),
    "visibility": np.ones((3, 2), bool),
    "query_frame": 0,
}


@pytest.mark.parametrize(
    "change",
    [
        {"present": np.ones(3)},
        {"present": np.ones(2, bool)},
        {"key_frames": np.array([0, 2, 1])},
        {"key_frames": np.array([0, 1, 3])},
        {"key_frames": np.arange(3.0)},
        {"tracks": np.zeros((4, 2, 2))},
        {"tracks": np.full((3, 2, 2), np.nan)},
        {"visibility": np.ones((3, 3), bool)},
        {"query_frame": -1},
        {"query_frame": 1.5},
        {"occluded": np.zeros(2, bool)},
    ],
)
def test_refuses(change):
    with pytest.raises(ValueError, match=r"Expected objects\[0\]"):
        temporal_coherence_score([ObjectHistory(**{**GOOD, **change})], frame_size=SIZE, num_frames=3)


@pytest.mark.parametrize("kwargs", [{"num_frames": 0}, {"frame_size": (0, 1)}, {"protocol": "x"}])
def test_refuses_arguments(kwargs):
    with pytest.raises(ValueError, match=r"Expected .* but got"):
        temporal_coherence_score([ObjectHistory(**GOOD)], **{"frame_size": SIZE, "num_frames": 3, **kwargs})


@pytest.mark.parametrize(("certain", "score"), [(False, None), (True, 0.0)])
def test_what_is_seen_for_a_moment_is_an_object_only_where_that_is_certain(certain, score):
    seen = np.arange(T) == 4
    tracks = np.tile(np.array([[200.0, 200.0], [300.0, 260.0]]), (T, 1, 1))
    history = ObjectHistory(seen, np.arange(T), tracks, np.repeat(seen[:, None], 2, axis=1), 4, certain=certain)
    result = temporal_coherence_score([history], frame_size=SIZE, num_frames=T)
    assert result.score == score
    assert [event.frames for event in result.events if event.excuse is None] == ([(4,), (5,)] if certain else [])
