from __future__ import annotations

import numpy as np
import pytest

from vmmetrics.perception.points import first_good_frame, grid_queries, spread_queries

STILL = np.eye(3)
PAN = np.array([[1, 0, 3.0], [0, 1, 1.0], [0, 0, 1.0]])


def disc(at: tuple[float, float], frame: int, radius: float = 26) -> np.ndarray:
    """Queries on a grid inside the disc around ``at``, a little within its rim."""
    y, x = np.mgrid[:240, :320]
    return grid_queries(np.hypot(x - at[0], y - at[1]) < radius, (1.0, 1.0), frame, 80)


def test_points_follow_their_object_under_a_moving_camera(drawn, moving_views, scene_of):
    views = moving_views(PAN, 10)
    clip = drawn(views, lambda t: (60.0 + 8 * t, 120.0 + 2 * t))
    queries = disc((60.0, 120.0), 0)
    tracks = scene_of(clip).track("disc", queries)
    expected = queries[:, 1:] + np.arange(10)[:, None, None] * np.array([11.0, 3.0])
    assert tracks.visible.mean() > 0.95
    error = np.hypot(*np.moveaxis(tracks.xy - expected, -1, 0))[tracks.visible]
    assert np.median(error) < 0.25
    assert np.quantile(error, 0.95) < 1.0


def test_queries_in_any_frame_are_tracked_both_ways(drawn, moving_views, scene_of):
    clip = drawn(moving_views(STILL, 9), lambda t: (100.0 + 9 * t, 120.0))
    queries = np.concatenate([disc((136.0, 120.0), 4), disc((172.0, 120.0), 8)])
    tracks = scene_of(clip).track("disc", queries)
    np.testing.assert_array_equal(tracks.query_frames, queries[:, 0])
    there = tracks.xy[queries[:, 0].astype(int), np.arange(len(queries))]
    np.testing.assert_allclose(there, queries[:, 1:], atol=1e-6)
    expected = queries[:, 1] + 9 * (np.arange(9)[:, None] - queries[:, 0])
    error = np.abs(tracks.xy[..., 0] - expected)[tracks.visible]
    assert tracks.visible.mean() > 0.95
    assert np.quantile(error, 0.95) < 1.0


def test_background_behind_a_passing_object_is_hidden_and_comes_back(drawn, moving_views, scene_of):
    clip = drawn(moving_views(STILL, 16), lambda t: (40.0 + 16 * t, 120.0), radius=36)
    y, x = np.mgrid[90:151:10, 40:281:10]
    queries = np.column_stack([np.full(x.size, 15.0), x.ravel(), y.ravel()]).astype(float)
    queries = queries[np.hypot(queries[:, 1] - 280, queries[:, 2] - 120) > 42]
    tracks = scene_of(clip).track("background", queries)
    away = np.hypot(queries[:, 1] - (40 + 16 * np.arange(16))[:, None], queries[:, 2] - 120)
    assert tracks.visible[away < 30].mean() < 0.05
    assert tracks.visible[away > 44].mean() > 0.95
    assert np.quantile(np.abs(tracks.xy - queries[:, 1:])[tracks.visible], 0.99) < 0.5


def test_an_object_passing_behind_a_wall_is_found_again(drawn, moving_views, scene_of):
    clip = drawn(moving_views(STILL, 30), lambda t: (40.0 + 8 * t, 120.0), wall=(120, 200), radius=30)
    queries = disc((40.0, 120.0), 0, 22)
    tracks = scene_of(clip).track("disc", queries)
    true = queries[:, 1] + 8 * np.arange(30)[:, None]
    hidden = (true > 124) & (true < 196)
    wholly = hidden.all(1)
    assert wholly.any()
    assert tracks.visible[wholly].mean() < 0.02
    assert tracks.visible[:8].mean() > 0.9
    assert tracks.visible[-4:].mean() > 0.8
    assert np.median(np.abs(tracks.xy[-4:, :, 0] - true[-4:])[tracks.visible[-4:]]) < 1.0
    # Unseen positions are joined to both ends of the gap.
    assert np.median(np.abs(tracks.xy[..., 0] - true)[wholly]) < 4


def test_points_go_on_outside_the_frame(drawn, moving_views, scene_of):
    clip = drawn(moving_views(STILL, 14), lambda t: (200.0 + 12 * t, 120.0))
    queries = disc((200.0, 120.0), 0)
    tracks = scene_of(clip).track("disc", queries)
    assert not tracks.visible[-1].any()
    assert (tracks.xy[-1, :, 0] > 320).mean() > 0.9
    gone = queries[:, 1] + 12 * np.arange(14)[:, None] > 322
    assert not tracks.visible[gone].any()


def test_a_vanished_object_is_invisible_and_stays_where_it_was(drawn, moving_views, scene_of):
    clip = drawn(moving_views(STILL, 20), lambda t: (100.0 + 5 * t, 120.0) if t < 8 else None)
    tracks = scene_of(clip).track("disc", disc((100.0, 120.0), 0))
    assert tracks.visible[:8].mean() > 0.9
    assert not tracks.visible[8:].any()
    assert ((tracks.xy > 0) & (tracks.xy < [320, 240])).all()


def test_an_object_that_pops_in_is_invisible_before(drawn, moving_views, scene_of):
    clip = drawn(moving_views(PAN, 16), lambda t: (160.0, 120.0) if t >= 8 else None)
    at = (160.0 + 3 * 10, 120.0 + 10)
    tracks = scene_of(clip).track("disc", disc(at, 10))
    assert not tracks.visible[:8].any()
    assert tracks.visible[8:14].mean() > 0.9


def test_nothing_is_visible_across_a_cut(drawn, moving_views, scene_of):
    from vmmetrics.clip import Clip

    frames = np.concatenate([drawn(moving_views(STILL, 3), seed=seed).frames for seed in (0, 1)])
    tracks = scene_of(Clip(frames, np.arange(6) / 8, 8.0)).track("all", disc((160.0, 120.0), 0, 90))
    assert tracks.visible[:3].mean() > 0.95
    assert not tracks.visible[3:].any()


def test_tracks_are_the_same_every_time(drawn, moving_views, scene_of):
    clip = drawn(moving_views(PAN, 5), lambda t: (100.0 + 8 * t, 120.0))
    first, second = (scene_of(clip).track("disc", disc((100.0, 120.0), 0)) for _ in range(2))
    np.testing.assert_array_equal(first.xy, second.xy)
    np.testing.assert_array_equal(first.visible, second.visible)


def test_no_points_and_one_frame(drawn, moving_views, scene_of):
    scene = scene_of(drawn(moving_views(STILL, 4)))
    assert scene.track("none", np.zeros((0, 3))).xy.shape == (4, 0, 2)
    single = scene_of(drawn(moving_views(STILL, 1)))
    assert single.track("one", np.array([[0.0, 5.0, 7.0]])).visible.tolist() == [[True]]


@pytest.mark.parametrize("queries", [np.zeros((2, 2)), np.array([[4.0, 1, 1]]), np.array([[0.0, np.nan, 1]])])
def test_bad_queries_are_refused(drawn, moving_views, scene_of, queries):
    with pytest.raises(ValueError, match="Expected"):
        scene_of(drawn(moving_views(STILL, 4))).track("bad", queries)


def test_grid_queries_lie_inside_the_mask_and_keep_to_their_number():
    for radius in (3, 8, 30, 100):
        y, x = np.mgrid[:240, :320]
        mask = np.hypot(x - 150, y - 110) < radius
        queries = grid_queries(mask, (2.0, 3.0), 5)
        columns, rows = (queries[:, 1] + 0.5) / 2 - 0.5, (queries[:, 2] + 0.5) / 3 - 0.5
        assert mask[rows.round().astype(int), columns.round().astype(int)].all()
        assert 12 <= len(queries) <= 120
        assert (queries[:, 0] == 5).all()
    assert grid_queries(np.zeros((10, 10), bool), (1.0, 1.0), 0).shape == (0, 3)


def test_spread_queries_are_as_dense_in_one_frame_as_in_another():
    masks = np.zeros((2, 120, 160), bool)
    masks[0, 20:60, 20:60], masks[1, 10:110, 40:120] = True, True
    masks[1, 3, 3] = True  # all rim, and no reason to be left out
    queries = spread_queries(masks, (2.0, 3.0), (4, 9), 400)
    column, row = ((queries[:, 1:] + 0.5) / [2.0, 3.0]).astype(int).T
    assert masks[(queries[:, 0] == 9).astype(int), row, column].all()
    assert set(queries[:, 0]) == {4, 9}
    assert len(queries) == pytest.approx(400, rel=0.1)
    assert (queries[:, 0] == 9).sum() / (queries[:, 0] == 4).sum() == pytest.approx(98 * 78 / 38**2, rel=0.15)
    lone = spread_queries(masks[1:, :6, :6], (1.0, 1.0), (0,), 400)
    assert lone.tolist() == [[0.0, 3.0, 3.0]]
    assert spread_queries(np.zeros((1, 9, 9), bool), (1.0, 1.0), (0,)).shape == (0, 3)


def test_the_first_good_frame_shows_most_of_the_object():
    assert first_good_frame(np.array([0, 0, 10, 40, 70, 100, 100, 100, 100.0])) == 4
