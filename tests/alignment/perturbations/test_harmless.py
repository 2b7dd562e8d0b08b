"""What a metric should not mind: each does what it says, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vmmetrics.alignment.perturbations.frames import at_rate, reencoded
from vmmetrics.alignment.perturbations.library import INVARIANCES, PERTURBATIONS
from vmmetrics.clip import Clip


def made(name: str, strength: float, clip: Clip, seed: int = 0) -> Clip:
    return PERTURBATIONS[name](clip, strength, np.random.default_rng(seed)).clip


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    return float(10 * np.log10(255**2 / np.mean((a.astype(float) - b) ** 2)))


def test_coding_keeps_every_frame_and_costs_more_the_higher_the_crf(clip):
    coded = [reencoded(clip, crf) for crf in (18, 23, 28)]
    assert all(c.frames.shape == clip.frames.shape and c.fps == clip.fps for c in coded)
    quality = [psnr(c.frames, clip.frames) for c in coded]
    assert quality[0] > quality[1] > quality[2] > 20
    np.testing.assert_array_equal(made("reencode", 1 / 3, clip).frames, coded[0].frames)


def test_odd_sizes_are_coded_too(clip):
    odd = replace(clip, frames=np.ascontiguousarray(clip.frames[:, :-1, :-3]), size=(125, 95))
    coded = reencoded(odd, 18)
    assert coded.frames.shape == odd.frames.shape
    assert psnr(coded.frames, odd.frames) > 25


def test_scale_crop_and_mirror(clip):
    assert made("scale", 1.0, clip).frames.shape == (36, 48, 64, 3)
    assert made("scale", 1.0, clip).size == (64, 48)
    cropped = made("crop", 1.0, clip)
    np.testing.assert_array_equal(cropped.frames, clip.frames[:, 5:91, 6:122])
    np.testing.assert_array_equal(made("mirror", 1.0, clip).frames, clip.frames[:, :, ::-1])
    np.testing.assert_array_equal(made("mirror", 0.2, clip).frames, clip.frames[:, :, ::-1])


def test_light_and_contrast_change_evenly_and_more_with_strength(clip):
    grey = clip.frames[clip.frames < 200].astype(float)
    for strength in (0.5, 1.0):
        ratios = {}
        for seed in range(6):
            lit = made("brightness", strength, clip, seed).frames[clip.frames < 200]
            ratios[round(float(lit.sum() / grey.sum()), 2)] = seed
        assert set(ratios) == {round(1 - 0.2 * strength, 2), round(1 + 0.2 * strength, 2)}
    spread = {round(float(made("contrast", 1.0, clip, seed).frames.std() / clip.frames.std()), 1) for seed in range(6)}
    assert spread == {0.8, 1.2}


@pytest.mark.parametrize(("rate", "kept"), [(6.0, range(0, 36, 2)), (4.0, range(0, 36, 3)), (12.0, range(36))])
def test_a_lower_rate_takes_every_so_manyth_frame_at_its_own_time(clip, rate, kept):
    fewer = at_rate(clip, rate)
    np.testing.assert_array_equal(fewer.frames, clip.frames[list(kept)])
    np.testing.assert_allclose(fewer.timestamps, clip.timestamps[list(kept)])
    assert fewer.fps == pytest.approx(rate)


def test_uneven_times_are_met_by_time_and_nothing_is_shown_twice(clip):
    times = np.concatenate([np.arange(24) / 24.0, 1.0 + np.arange(12) / 6.0])  # 24 frames a second, then 6
    uneven = replace(clip, timestamps=times, fps=35 / times[-1])
    fewer = at_rate(uneven, 12.0)
    np.testing.assert_allclose(fewer.timestamps, [*np.arange(12) / 12.0, *(1.0 + np.arange(12) / 6.0)])
    assert (np.diff(fewer.timestamps) > 0).all()


def test_little_strength_changes_little(clip):
    for name in ("brightness", "contrast"):
        assert np.abs(made(name, 0.02, clip).frames.astype(int) - clip.frames).max() <= 2
    assert made("scale", 0.01, clip).frames.shape[1] >= 95
    assert made("crop", 0.01, clip).frames.shape == clip.frames.shape
    assert set(INVARIANCES) == {"reencode", "scale", "crop", "mirror", "brightness", "contrast", "frame_rate"}
