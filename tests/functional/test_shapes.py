"""Constancy of shapes, on grids of tiles written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vmmetrics.functional.shapes import shape_constancy_score
from vmmetrics.types import MetricResult

MOMENTS, HEIGHT, WIDTH = 10, 12, 16


def score(lost: np.ndarray, owners: np.ndarray | None = None, **more: Any) -> MetricResult:
    shape = lost.shape
    given: dict[str, Any] = {
        "textured": np.ones(shape), "motion": np.zeros((*shape, 2)), "frames": 2 * np.arange(shape[0]),
        "num_frames": 2 * shape[0], "tile": (10.0, 20.0),
    }  # fmt: skip
    given.update(more)
    return shape_constancy_score(lost[None], owners=np.zeros(shape, int) if owners is None else owners, **given)


def grid() -> np.ndarray:
    return np.zeros((MOMENTS, HEIGHT, WIDTH))


def square() -> np.ndarray:
    """A thing of 6 x 6 tiles, in columns 5 to 10 and rows 3 to 8."""
    owners = np.zeros((MOMENTS, HEIGHT, WIDTH), int)
    owners[:, 3:9, 5:11] = 2
    return owners


def test_what_is_seen_again_scores_one() -> None:
    for lost in (0.0, 0.5):  # half of a tile's texture is not the tile
        result = score(grid() + lost, square())
        assert (result.score, result.events) == (1, ())


def test_a_thing_drawn_afresh_from_the_middle_on_loses_half_and_is_named() -> None:
    lost = grid()
    lost[5:, 3:9, 5:11] = 1
    result = score(lost, square())
    assert result.score == pytest.approx(0.5)
    (event,) = result.events
    assert (event.target, event.box, event.frames) == ("object 2", (50.0, 60.0, 110.0, 180.0), tuple(range(10, 20)))
    assert event.magnitude is not None and event.threshold is not None and event.magnitude > event.threshold
    np.testing.assert_array_equal(result.series["faults"], np.repeat([0, 36], 10))


def test_a_part_drawn_afresh_loses_that_part() -> None:
    lost = grid()
    lost[:, 3:9, 5:8] = 1  # its left half
    result = score(lost, square()).score
    assert result is not None
    assert 0.45 < result < 0.6


def test_single_tiles_and_single_moments_are_noise() -> None:
    lost = grid()
    lost[:, 3:9:3, 5:11:3] = 1  # one tile in nine
    assert score(lost, square()).score == 1
    once = grid()
    once[4, 3:9, 5:11] = 1
    assert score(once, square()).score == 1


def test_a_strip_of_water_is_no_scene_that_breaks() -> None:
    strip, most = grid(), grid()
    strip[:, -1] = 1
    most[:, 2:] = 1
    assert score(strip).score == 1
    assert score(most).score == pytest.approx(1 - 10 / 12)
    assert [event.target for event in score(most).events] == ["scene"]


def test_fast_and_uneven_motion_explains_what_is_lost() -> None:
    lost = grid()
    lost[:, 3:9, 5:11] = 1
    pan = np.zeros((*lost.shape, 2))
    pan[..., 0] = 0.08
    assert score(lost, square(), motion=pan).score == 1
    assert score(lost, square(), motion=pan / 10).score == pytest.approx(0)
    apart = np.zeros_like(pan)
    apart[..., 0] = 0.5 * np.linspace(-1, 1, WIDTH)
    apart[..., 1] = 0.5 * np.linspace(-1, 1, HEIGHT)[:, None]
    assert score(lost, square(), motion=apart).score == 1
    assert score(lost, square(), motion=apart / 100).score == pytest.approx(0)


def test_mirrored_turned_and_reversed_alike() -> None:
    rng = np.random.default_rng(0)
    lost = (rng.random(grid().shape) < 0.3).astype(float)
    lost[4:, 3:9, 6:11] = rng.random((6, 6, 5)) > 0.2
    expected = score(lost, square()).score
    assert expected is not None and expected < 1
    for axis in range(3):
        assert score(np.flip(lost, axis), np.flip(square(), axis)).score == pytest.approx(expected)
    assert score(lost.transpose(0, 2, 1), square().transpose(0, 2, 1)).score == pytest.approx(expected)


def test_a_clip_without_texture_or_with_too_few_moments_is_missing() -> None:
    assert "texture" in (score(grid(), textured=grid()).missing or "")
    assert score(np.full(grid().shape, np.nan)).missing is not None


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="textured"):
        score(grid(), textured=np.ones((MOMENTS, HEIGHT, WIDTH + 1)))
    with pytest.raises(ValueError, match="owners"):
        score(grid(), square()[1:])


@pytest.mark.parametrize(("moments", "at_fault"), [(2, False), (3, True)])
def test_an_object_is_at_fault_from_three_moments_in_a_row(moments: int, at_fault: bool) -> None:
    lost = grid()
    lost[4 : 4 + moments, 3:9, 5:11] = 1
    assert bool(score(lost, square()).events) == at_fault
