"""Paths over several frames: what is replaced in place and what stretches is told from what moves."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vmmetrics.perception.embedded.plausibility.evidence import MAPS, gather, lag_frames
from vmmetrics.perception.embedded.plausibility.paths import CELLS, composed
from vmmetrics.perception.embedded.plausibility.views import SIDE, Backbone

FRAMES = 24
PACE = 12.0


def texture(seed: int, side: int = SIDE) -> np.ndarray:
    rng = np.random.default_rng(seed)
    coarse = cv2.resize(rng.uniform(0, 255, (10, 10, 3)), (side, side), interpolation=cv2.INTER_CUBIC)
    fine = cv2.resize(rng.uniform(-60, 60, (40, 40, 3)), (side, side), interpolation=cv2.INTER_CUBIC)
    return np.clip(coarse + fine, 0, 255).astype(np.uint8)


def scene(left: float = 2.0, other: int = 2, change: int | None = None) -> np.ndarray:
    """A block of 56 pixels that moves by ``left`` pixels a frame over still ground; from ``change`` on it fades into
    another one within six frames."""
    frames = np.stack([texture(1)] * FRAMES)
    first, second = texture(other, 56).astype(float), texture(9, 56).astype(float)
    for t, frame in enumerate(frames):
        share = 0.0 if change is None else np.clip((t - change) / 6, 0, 1)
        x = round(20 + left * t)
        frame[50:106, x : x + 56] = first * (1 - share) + second * share
    return frames


def maps_of(images: np.ndarray) -> dict[str, np.ndarray]:
    return gather(images, Backbone(threads=1).features(images), PACE).maps


def test_paths_add_up():
    constant = [np.full((SIDE, SIDE, 2), (1.0, -0.5), np.float32)] * 7
    paths = composed(constant, 3)
    assert len(paths) == 5
    np.testing.assert_allclose(paths[0], np.broadcast_to((3.0, -1.5), (SIDE, SIDE, 2)), atol=1e-5)
    assert composed(constant, 9) == []
    growing = [np.full((SIDE, SIDE, 2), (float(t), 0.0), np.float32) for t in range(4)]
    assert [path[80, 80, 0] for path in composed(growing, 2)] == [1, 3, 5]


def test_content_that_fades_into_other_content_is_replaced_and_what_moves_is_not():
    moving, fading = maps_of(scene())["replaced quarter"], maps_of(scene(change=9))["replaced quarter"]
    lag = lag_frames(PACE)["quarter"]
    assert np.isnan(fading[:lag]).all()
    assert np.isnan(fading[FRAMES - lag :]).all()
    during = fading[12]
    x = slice((20 + 2 * 12) // 8 + 1, (20 + 2 * 12 + 56) // 8 - 1)
    assert during[8:12, x].mean() > 0.4
    assert during[16:].max() == 0  # the ground
    assert np.nanmax(moving) < 0.35  # a sliver at the rim
    assert np.nanmean(fading[10:14]) > 5 * np.nanmean(moving) + 0.01


def test_a_change_of_light_replaces_nothing():
    images = scene(0.0)
    dimmed = np.clip(images * np.linspace(1, 0.6, FRAMES)[:, None, None, None], 0, 255).astype(np.uint8)
    assert np.nanmax(maps_of(dimmed)["replaced quarter"]) < 0.1


def warped(amount: float, turn: float = 0.0, zoom: float = 1.0) -> np.ndarray:
    """A textured frame whose middle is drawn out sideways, more from frame to frame; or turned and zoomed whole."""
    ground = texture(3)
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    near = np.exp(-(((x - 80) ** 2 + (y - 80) ** 2) / 40**2))
    frames = []
    for t in range(FRAMES):
        view = cv2.getRotationMatrix2D((80, 80), turn * t, zoom**t)
        drawn = np.float32(80 + (x - 80) * np.exp(-amount * t * near))
        moved = cv2.remap(ground, drawn, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        frames.append(cv2.warpAffine(moved, view, (SIDE, SIDE), borderMode=cv2.BORDER_REFLECT))
    return np.stack(frames)


@pytest.mark.parametrize("lag", ["quarter", "half"])
def test_what_stretches_is_told_from_what_turns_and_grows(lag):
    name, inner = f"stretched {lag}", slice(CELLS // 2 - 2, CELLS // 2 + 2)

    def stretch(images: np.ndarray) -> float:
        return float(np.nanmean(maps_of(images)[name][:, inner, inner]))

    assert stretch(warped(0.03)) > 4 * max(stretch(warped(0.0, turn=1.0)), stretch(warped(0.0, zoom=1.01)), 0.005)


def test_the_stretch_is_the_logarithm_of_the_axes_ratio():
    frames = lag_frames(PACE)["half"]
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    rate = 0.02
    images = np.stack(
        [cv2.remap(texture(3), np.float32(80 + (x - 80) * np.exp(-rate * t)), y, cv2.INTER_LINEAR) for t in range(16)]
    )
    measured = maps_of(images)["stretched half"][frames:, 6:14, 6:14].mean()
    assert measured == pytest.approx(rate * frames, rel=0.25)


def test_short_views_have_no_long_maps():
    images = scene()[:4]
    maps = maps_of(images)
    assert np.isnan(maps["replaced quarter"]).all()
    assert set(maps) == set(MAPS)
