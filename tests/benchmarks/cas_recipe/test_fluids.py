"""Renders of what keeps no shape: seeded, in motion, and what each kind must do by physics."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cas_recipe import fluids
from benchmarks.cas_recipe.fluids import KINDS, SIZE

COUNT = 24


def made(kind: str, seed: int = 3, count: int = COUNT) -> np.ndarray:
    return KINDS[kind](np.random.default_rng(seed), count)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_moves_and_is_the_same_again(kind):
    pictures = made(kind, count=8)
    assert pictures.shape == (8, SIZE[1], SIZE[0], 3)
    assert np.isfinite(pictures).all()
    np.testing.assert_array_equal(pictures, made(kind, count=8))
    steps = np.abs(np.diff(pictures, axis=0)).mean((1, 2, 3))
    assert (steps > 0.01).all()


def test_a_clip_is_made_of_a_seed(monkeypatch):
    monkeypatch.setattr(fluids, "SECONDS", 0.25)
    first, fps = fluids.render_fluid(4)
    again, _ = fluids.render_fluid(4)
    other, _ = fluids.render_fluid(4 + len(KINDS))
    assert first.dtype == np.uint8
    assert first.shape == (round(0.25 * fps), SIZE[1], SIZE[0], 3)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_fire_rises():
    light = made("fire").mean(-1)
    rows = np.arange(SIZE[1])[None, :, None]
    hot = light > np.quantile(light, 0.9)
    heights = (hot * rows).sum((1, 2)) / hot.sum((1, 2))
    assert heights.min() > SIZE[1] * 0.3  # its middle is in the lower two thirds: it burns from below
    assert light[:, -60:].mean() > light[:, :60].mean()


def test_fireworks_fade():
    light = made("fireworks", count=120).sum((1, 2, 3))
    sparks = light - light.min()
    assert sparks.max() > 1.5 * np.median(sparks)


def test_the_pressure_leaves_little_divergence():
    rng = np.random.default_rng(0)
    velocity = np.cumsum(rng.normal(0, 1, (40, 50, 2)), axis=0).astype(np.float32)

    def divergence(field):
        return np.gradient(field[..., 0], axis=1) + np.gradient(field[..., 1], axis=0)

    before, after = divergence(velocity), divergence(fluids._without_divergence(velocity))
    inner = slice(4, -4), slice(4, -4)
    assert np.abs(after[inner]).mean() < 0.8 * np.abs(before[inner]).mean()


def test_what_is_carried_along_arrives_downstream():
    field = np.zeros((20, 30), np.float32)
    field[10, 10] = 1.0
    velocity = np.zeros((20, 30, 2), np.float32)
    velocity[..., 0] = 3.0
    moved = fluids._advected(field, velocity, 1.0)
    assert moved[10, 13] == pytest.approx(1.0)
