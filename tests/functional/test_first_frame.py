"""Fidelity to a first frame: a second implementation of SSIM, and changes whose loss is known."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vmmetrics.functional.first_frame import first_frame, ssim


@pytest.fixture
def picture() -> np.ndarray:
    rng = np.random.default_rng(0)
    return cv2.GaussianBlur(rng.integers(0, 256, (48, 64, 3)).astype(np.uint8), (0, 0), 1.2)


def test_ssim_is_that_of_the_baselines(picture: np.ndarray) -> None:
    """The baseline filters by cv2's window, over consecutive frames."""
    from vmmetrics.alignment.baselines.formulas import ssim as consecutive

    other = cv2.GaussianBlur(picture, (0, 0), 1.0)
    grey = [cv2.cvtColor(one, cv2.COLOR_RGB2GRAY) for one in (picture, other)]
    assert ssim(*grey) == pytest.approx(consecutive(np.stack(grey)), abs=1e-6)


def test_a_roll_of_the_picture_loses_likeness_but_neither_colour_nor_detail(picture: np.ndarray) -> None:
    rolled = np.stack([np.roll(picture, 3 * t, axis=1) for t in range(10)])
    found = first_frame(rolled, picture)
    assert found.fidelity == pytest.approx(1)
    assert found.loss > 0.3
    assert found.colour_loss == 0
    assert found.sharpness == pytest.approx(1, abs=0.05)


def test_decay_is_told_from_motion(picture: np.ndarray) -> None:
    blurred = np.stack([cv2.GaussianBlur(picture, (0, 0), 0.2 + 0.2 * t) for t in range(10)])
    assert first_frame(blurred, picture).sharpness < 0.3
    red = np.stack([np.clip(picture + np.array([12 * t, 0, 0]), 0, 255).astype(np.uint8) for t in range(10)])
    assert first_frame(red, picture).colour_loss > 0.5


def test_another_first_frame_is_unfaithful_from_the_start(picture: np.ndarray) -> None:
    other = np.stack([picture[::-1, ::-1]] * 4)
    found = first_frame(other, picture)
    assert found.fidelity < 0.3
    assert found.loss == pytest.approx(0)


def test_a_flat_first_frame_has_no_sharpness_to_lose(picture: np.ndarray) -> None:
    fading = np.stack([np.clip(picture * (t / 9), 0, 255).astype(np.uint8) for t in range(10)])
    assert np.isnan(first_frame(fading, fading[0]).sharpness)


def test_another_size_is_refused(picture: np.ndarray) -> None:
    with pytest.raises(ValueError, match="size"):
        first_frame(np.stack([picture] * 2), picture[:-1])
    with pytest.raises(ValueError, match="11 or more"):
        first_frame(np.stack([picture[:9]] * 2), picture[:9])
