from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy import ndimage, stats

from benchmarks.niqe_pristine import pristine_of
from vmmetrics.alignment.baselines import natural_scenes as brisque_module
from vmmetrics.alignment.baselines.natural_scenes import (
    Pristine,
    Regression,
    block_features,
    brisque,
    brisque_features,
    fit,
    niqe,
    normalised,
    published_regression,
    scene_moments,
    shipped_pristine,
)


def moments_of(values: np.ndarray) -> np.ndarray:
    below, above = values[values < 0], values[values > 0]
    sums = [values.size, below.size, above.size, (below**2).sum(), (above**2).sum(), np.abs(values).sum()]
    return np.array(sums, np.float64)


def test_features_are_those_of_opencv(oracle):
    ours = np.stack([brisque_features(scene_moments(frame)) for frame in oracle["frames"]])
    assert ours == pytest.approx(oracle["features"], abs=2e-3)  # its shapes come in steps of 0.001, ours too


def test_the_regression_is_that_of_libsvm(oracle):
    regression = published_regression()
    for features, expected in zip(oracle["features"].astype(np.float64), oracle["brisque"], strict=True):
        assert brisque(features, regression) == pytest.approx(expected, abs=1e-3)


def test_brisque_by_hand(monkeypatch):
    one = Regression(np.zeros((1, 36)), np.array([2.0]), 0.05, -7.0, np.full(36, -1.0), np.full(36, 3.0))
    assert brisque(np.full(36, 1.0), one) == pytest.approx(2 + 7)  # features scaled to 0: on the support vector
    assert brisque(np.full(36, 3.0), one) == pytest.approx(2 * np.exp(-0.05 * 36) + 7)
    assert brisque(np.full(36, np.nan), one) is None


@pytest.mark.parametrize("alpha", [0.6, 1.0, 2.0, 4.0])
def test_fit_finds_the_law_that_drew(alpha):
    values = stats.gennorm.rvs(alpha, scale=1.3, size=200_000, random_state=1)
    law = fit(moments_of(values))
    assert law.alpha == pytest.approx(alpha, rel=0.05)
    assert law.left == pytest.approx(stats.gennorm.std(alpha, scale=1.3), rel=0.02)
    assert law.mean == pytest.approx(values.mean(), abs=0.02 * values.std())


def test_fit_tells_left_from_right():
    rng = np.random.default_rng(2)
    sides = np.where(rng.random(400_000) < 1 / 4, -1, 3)  # widths 1 and 3: as likely as they are wide
    values = sides * np.abs(rng.normal(size=sides.size))
    law = fit(moments_of(values))
    assert (law.alpha, law.left, law.right) == pytest.approx((2, 1, 3), rel=0.02)
    assert law.mean == pytest.approx(values.mean(), rel=0.02)
    assert np.isnan(fit(moments_of(np.zeros(10))).alpha)


def test_moments_of_cells_are_those_of_their_pixels(oracle):
    """A second path: scipy's Gaussian with its own window, neighbours by slicing, one cell at a time."""
    grey = oracle["frames"][2]
    picture = grey.astype(np.float64)
    blurred = ndimage.gaussian_filter(picture, 7 / 6, radius=3, mode="nearest")
    squares = ndimage.gaussian_filter(picture**2, 7 / 6, radius=3, mode="nearest")
    coefficients = (picture - blurred) / (np.sqrt(np.abs(squares - blurred**2)) + 1)
    assert normalised(grey.astype(np.float32)) == pytest.approx(coefficients, abs=5e-3)
    full, half = scene_moments(grey)
    assert full.shape == half.shape == (6, 5, 4, 4)  # 150 x 170 in cells of 48
    diagonal = np.zeros_like(coefficients)
    diagonal[:-1, 1:] = coefficients[:-1, 1:] * coefficients[1:, :-1]
    for number, values in ((0, coefficients), (4, diagonal)):
        for row, column in ((0, 0), (2, 1), (3, 3)):
            cell = values[48 * row : 48 * row + 48, 48 * column : 48 * column + 48]
            assert full[:, number, row, column] == pytest.approx(moments_of(cell), rel=5e-3, abs=3)
        assert full[0, number].sum() == grey.size


def test_niqe_is_the_distance_of_two_gaussians(oracle):
    """A second path from the values in a block to the distance."""
    grey = oracle["frames"][0]
    scales = [grey, cv2.resize(grey.astype(np.float32) - 128, (85, 75), interpolation=cv2.INTER_CUBIC)]
    blocks = []
    for top in (0, 48):
        for left in (0, 48):
            features = []
            for scale, picture in enumerate(scales):
                c = normalised(picture.astype(np.float32)).astype(np.float64)
                maps = [c, np.zeros_like(c), np.zeros_like(c), np.zeros_like(c), np.zeros_like(c)]
                maps[1][:, :-1] = c[:, :-1] * c[:, 1:]
                maps[2][:-1] = c[:-1] * c[1:]
                maps[3][:-1, :-1] = c[:-1, :-1] * c[1:, 1:]
                maps[4][:-1, 1:] = c[:-1, 1:] * c[1:, :-1]
                y, x, side = top >> scale, left >> scale, 96 >> scale
                for number, values in enumerate(maps):
                    law = fit(moments_of(values[y : y + side, x : x + side]))
                    left_width, right_width = law.left * law.width, law.right * law.width
                    rest = [law.mean, left_width, right_width] if number else [(left_width + right_width) / 2]
                    features += [law.alpha, *rest]
            blocks.append(features)
    expected = np.array(blocks)
    found = block_features(scene_moments(grey), *grey.shape)
    assert found.shape == (2, 2, 36)
    assert found.reshape(4, 36) == pytest.approx(expected, abs=3e-3)
    pristine = shipped_pristine()
    apart = expected.mean(0) - pristine.mean
    inverse = np.linalg.inv((np.cov(expected.T) + pristine.covariance) / 2)
    assert niqe(found, pristine) == pytest.approx(np.sqrt(apart @ inverse @ apart), rel=1e-2)


def test_niqe_by_hand():
    rng = np.random.default_rng(4)
    blocks = rng.normal(size=(500, 36))
    same = Pristine(blocks.mean(axis=0), np.cov(blocks.T))
    assert niqe(blocks, same) == pytest.approx(0, abs=1e-9)
    away = Pristine(same.mean + np.linalg.cholesky(same.covariance)[:, 0] * 3, same.covariance)
    assert niqe(blocks, away) == pytest.approx(3)  # three standard deviations
    assert niqe(blocks[:3], same) is None
    assert niqe(np.full((9, 36), np.nan), same) is None


def test_pristine_takes_sharp_blocks_only(oracle):
    sharp = np.ascontiguousarray(np.tile(oracle["frames"][0], (1, 2))[:144, :288])
    half_blurred = sharp.copy()
    half_blurred[:, 144:] = cv2.GaussianBlur(sharp, (0, 0), 5)[:, 144:]
    alone = pristine_of(iter([np.ascontiguousarray(half_blurred[:, :144])]))
    both = pristine_of(iter([half_blurred, np.zeros((50, 50), np.uint8)]))  # what is smaller than a block is left out
    blurred = pristine_of(iter([np.ascontiguousarray(half_blurred[:, 144:])]))
    assert abs(both.mean - alone.mean).max() < 0.5 * abs(blurred.mean - alone.mean).max()


@pytest.mark.parametrize("harm", ["blur", "noise"])
def test_harm_shows_in_both(oracle, harm):
    frame = oracle["frames"][0]
    rng = np.random.default_rng(6)
    harmed = [frame]
    for strength in (1, 2, 4):
        noisy = np.clip(frame + rng.normal(0, 12 * strength, frame.shape), 0, 255).astype(np.uint8)
        harmed.append(cv2.GaussianBlur(frame, (0, 0), strength) if harm == "blur" else noisy)
    tables = [scene_moments(picture) for picture in harmed]
    quality = [brisque(brisque_features(table), published_regression()) for table in tables]
    distance = [niqe(block_features(table, *frame.shape), shipped_pristine()) for table in tables]
    assert quality == sorted(quality)
    assert min(distance[1:]) > distance[0]


def test_a_flat_picture_has_neither():
    table = scene_moments(np.full((150, 170), 128, np.uint8))
    assert brisque(brisque_features(table), brisque_module.published_regression()) is None
    assert niqe(block_features(table, 150, 170), shipped_pristine()) is None
