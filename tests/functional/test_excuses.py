"""The six excuse tests against a naive second implementation, frame by frame and point by point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.functional.reference_excuses import reference_excuse
from vmmetrics import functional as F  # noqa: N812

NAMES = (
    "is_edge_vanish",
    "is_edge_emerge",
    "is_small_vanish",
    "is_small_emerge",
    "is_vanish_detection_error",
    "is_emerge_detection_error",
)


@st.composite
def _tracks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    num_frames, count = draw(st.integers(1, 12)), draw(st.sampled_from([0, 1, 2, 5, 10, 20]))
    spread = draw(st.sampled_from([0.005, 0.02, 0.05, 0.3]))
    drift = rng.normal(0, draw(st.sampled_from([0.0, 0.1])), 2) * np.arange(num_frames)[:, None, None]
    tracks = (rng.uniform(0, 1, 2) + rng.normal(0, spread, (1, count, 2)) + drift) * [640, 480]
    visibility = rng.random((num_frames, count)) < draw(st.sampled_from([0.0, 0.15, 0.2, 0.6, 1.0]))
    return tracks, visibility, draw(st.integers(-1, num_frames))


@settings(max_examples=300)
@given(_tracks(), st.sampled_from(NAMES))
def test_equals_reference(case, name):
    tracks, visibility, query_frame = case
    expected = reference_excuse(name, tracks, visibility, query_frame, (640, 480))
    assert getattr(F, name)(tracks, visibility, query_frame, (640, 480)) is expected


def test_query_frame_itself_is_not_looked_at():
    tracks = np.full((1, 4, 2), -5.0)
    gone = np.zeros((1, 4), bool)
    assert not F.is_edge_vanish(tracks, gone, 0, (100, 100)) and F.is_edge_vanish(tracks, gone, -1, (100, 100))
    assert not F.is_edge_emerge(tracks, gone, 0, (100, 100)) and F.is_edge_emerge(tracks, gone, 1, (100, 100))


def test_thresholds_are_met_at_equality():
    # 4 of 5 invisible is 80 %: enough to have left, not enough to have come in (85 %)
    visible = np.array([[True, False, False, False, False]] * 3)
    tracks = np.full((3, 5, 2), -5.0)
    assert F.is_edge_vanish(tracks, visible, 1, (100, 100))
    assert not F.is_edge_emerge(tracks, visible, 1, (100, 100))
    assert F.is_vanish_detection_error(tracks, visible, 1, (100, 100))
    assert not F.is_emerge_detection_error(tracks, visible, 1, (100, 100))
    # on the edge is neither outside (edge test) nor inside (size test)
    on_edge, hidden = np.zeros((2, 3, 2)), np.zeros((2, 3), bool)
    assert not F.is_edge_vanish(on_edge, hidden, 0, (100, 100))
    assert not F.is_small_vanish(on_edge, hidden, 0, (100, 100))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "args",
    [
        (np.zeros((3, 2)), np.ones((3, 2), bool), 0, (10, 10)),
        (np.zeros((3, 2, 2)), np.ones((2, 2), bool), 0, (10, 10)),
        (np.zeros((3, 2, 2)), np.ones((3, 2)), 0, (10, 10)),
        (np.full((3, 2, 2), np.nan), np.ones((3, 2), bool), 0, (10, 10)),
        (np.zeros((3, 2, 2)), np.ones((3, 2), bool), 0.5, (10, 10)),
        (np.zeros((3, 2, 2)), np.ones((3, 2), bool), 0, (0, 10)),
        (np.zeros((3, 2, 2)), np.ones((3, 2), bool), 0, (10, 10, 3)),
    ],
)
def test_refuses(name, args):
    with pytest.raises(ValueError, match=r"Expected .* but got"):
        getattr(F, name)(*args)
