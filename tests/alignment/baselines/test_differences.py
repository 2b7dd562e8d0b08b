from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vmmetrics.alignment.baselines.formulas import C1, frame_difference, ssim, temporal_flickering

FRAMES = arrays(np.uint8, st.tuples(st.integers(2, 5), st.integers(1, 8), st.integers(1, 8), st.just(3)))


def test_ssim_is_that_of_scikit_image(oracle):
    assert ssim(oracle["frames"]) == pytest.approx(oracle["ssim"].mean(), abs=1e-12)
    assert 0.3 < oracle["ssim"].mean() < 0.95  # frames that tell anything


def test_ssim_of_flat_frames_by_hand():
    frames = np.stack([np.full((20, 20), v, np.uint8) for v in (100, 150)])
    assert ssim(frames) == pytest.approx((2 * 100 * 150 + C1) / (100**2 + 150**2 + C1), abs=1e-9)


def test_ssim_averages_pairs_and_is_symmetric_in_time(oracle):
    frames = oracle["frames"]
    pairs = [ssim(frames[[t, t + 1]]) for t in range(len(frames) - 1)]
    assert ssim(frames) == pytest.approx(np.mean(pairs), abs=1e-12)
    assert ssim(frames[::-1]) == pytest.approx(ssim(frames), abs=1e-12)
    assert ssim(frames[[0, 0, 0]]) == 1


@pytest.mark.parametrize(("shape", "said"), [((1, 20, 20), "two frames"), ((3, 10, 20), "at least 11 pixels")])
def test_ssim_refuses_what_has_none(shape, said):
    with pytest.raises(ValueError, match=said):
        ssim(np.zeros(shape, np.uint8))


def test_differences_by_hand():
    frames = np.zeros((3, 2, 2, 3), np.uint8)
    frames[1, 0, 0, 0] = 255  # once up, once down: 255 of 12 values in each of 2 pairs
    assert frame_difference(frames) == pytest.approx(255 / 12)
    assert temporal_flickering(frames) == pytest.approx(1 - 1 / 12)
    for function in (frame_difference, temporal_flickering):
        with pytest.raises(ValueError, match="two frames"):
            function(frames[:1])


@given(FRAMES)
def test_flickering_is_what_vbench_computes(frames):
    """VBench: means of |difference| in float32 per pair, their mean, (255 − it) / 255."""
    errors = [np.mean(np.abs(a.astype(np.float32) - b.astype(np.float32))) for a, b in itertools.pairwise(frames)]
    expected = (255 - np.mean(errors)) / 255
    assert temporal_flickering(frames) == pytest.approx(expected, abs=1e-6)
    assert temporal_flickering(frames[..., ::-1]) == temporal_flickering(frames)  # BGR or RGB is all one
    assert frame_difference(frames) == pytest.approx(255 * (1 - temporal_flickering(frames)), abs=1e-9)
