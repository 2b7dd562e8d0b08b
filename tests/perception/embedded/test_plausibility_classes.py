"""Probabilities of ImageNet's classes, and whether what is shown keeps its kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon

from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.plausibility.evidence import divergence, entropy, load_head
from vmmetrics.perception.embedded.plausibility.plausibility import OrdinalPlausibility
from vmmetrics.perception.scene import Scene

SLOW = np.array([[1.0, 0, 1.5], [0, 1.0, 0.5], [0, 0, 1.0]])
WEIGHTS = arrays(np.float64, 6, elements=st.one_of(st.just(0.0), st.floats(1e-6, 1))).filter(lambda w: w.sum() > 0.1)


@given(WEIGHTS, WEIGHTS)
def test_divergence_is_scipys(first, second):
    first, second = first / first.sum(), second / second.sum()
    expected = np.nan_to_num(jensenshannon(first, second)) ** 2  # the root of a rounding below 0, where both are equal
    assert divergence(first, second) == pytest.approx(expected, abs=1e-7)
    assert divergence(first, second) == pytest.approx(float(divergence(second, first)), abs=1e-9)
    assert 0 <= divergence(first, second) <= np.log(2) + 1e-9


def test_divergence_at_its_ends():
    assert divergence(np.eye(4)[0], np.eye(4)[0]) == 0
    assert divergence(np.eye(4)[0], np.eye(4)[1]) == pytest.approx(np.log(2))
    assert entropy(np.full(8, 1 / 8)) == pytest.approx(np.log(8), abs=1e-9)


def test_the_head_gives_probabilities_one_cell_at_a_time():
    head = load_head()
    features = np.random.default_rng(0).normal(0, 1, (2, 3, 4, 320)).astype(np.float32)
    cells = head.cells(head.widened(features))
    assert cells.shape == (2, 3, 4, 1000)
    np.testing.assert_allclose(cells.sum(-1), 1)
    wide = np.clip(features[1, 2, 3].astype(float) @ head.widen + head.widen_bias, 0, 6)
    logits = wide @ head.classes + head.classes_bias
    powers = np.exp(logits)
    np.testing.assert_allclose(cells[1, 2, 3], powers / powers.sum(), rtol=1e-9)
    alike = np.broadcast_to(features[:, :1, :1], features.shape)
    wide_alike = head.widened(alike)
    np.testing.assert_allclose(head.frames(wide_alike), head.cells(wide_alike)[:, 0, 0], rtol=1e-9)


@pytest.fixture(scope="module")
def model() -> OrdinalPlausibility:
    return OrdinalPlausibility(threads=1)


def unsteadiness(frames: np.ndarray, fps: float, model: OrdinalPlausibility) -> np.ndarray:
    from types import SimpleNamespace

    clip = Clip(np.ascontiguousarray(frames), np.arange(len(frames)) / fps, fps)
    return model.unsteadiness(Scene(clip, SimpleNamespace(notes=(), costs={})))


def test_a_still_picture_is_steady_and_one_that_keeps_changing_is_not(model, drawn, moving_views):
    from benchmarks.cas_recipe.renders import leaves

    still = drawn(moving_views(np.eye(3), 16), size=(160, 120)).frames
    changing = np.stack([leaves(np.random.default_rng(t), 160, 120).astype(np.uint8) for t in range(16)])
    calm, wild = unsteadiness(still, 8.0, model), unsteadiness(changing, 8.0, model)
    assert calm.shape == wild.shape == (16,)
    assert calm.max() < 0.05
    assert wild.mean() > 3 * calm.max()
    assert wild.max() <= 1


@pytest.mark.slow
def test_every_frame_of_a_fast_clip_has_a_value_and_short_clips_none(model, drawn, moving_views):
    clip = drawn(moving_views(SLOW, 48), size=(160, 120)).frames
    values = unsteadiness(clip, 24.0, model)
    assert values.shape == (48,)
    assert np.isfinite(values).all()
    assert unsteadiness(clip[:3], 24.0, model).tolist() == [0, 0, 0]
