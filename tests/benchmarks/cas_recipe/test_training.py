from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from benchmarks.cas_recipe.folds import held_out_scores, order_preserved, score
from benchmarks.cas_recipe.groups import Group, Table, measure_group, measure_groups, plan, read_groups
from benchmarks.cas_recipe.harmless import HARMLESS
from benchmarks.cas_recipe.ladder import Look
from benchmarks.cas_recipe.ordinal import Settings, _Loss, fit, pairs_of
from benchmarks.cas_recipe.recipe import FOOTAGE
from benchmarks.cas_recipe.sources import Source, listed_sources
from vmmetrics.errors import SetupError
from vmmetrics.perception.embedded.plausibility.plausibility import NAMES

WIDTH = len(NAMES)


def ladder(sources: int = 7, seed: int = 0) -> Table:
    """Number 0 rises with the rung on top of what the source has; number 1 falls with it; the rest is noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for source in range(sources):
        own = rng.normal(size=WIDTH)
        kinds = [("clean", 0), *((kind, rung) for kind in ("warp", "boil") for rung in range(1, 5))]
        for kind, rung in kinds:
            numbers = own + 0.1 * rng.normal(size=WIDTH)
            numbers[0] += rung
            numbers[1] -= rung
            numbers[-1] = 0.0
            rows.append((numbers, source, f"source {source}", kind, rung))
    return Table(*(np.array(column) for column in zip(*rows, strict=True)))


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(2)
    table = ladder(3)
    design = rng.uniform(size=(len(table.rungs), 6))
    loss = _Loss(design, table.rungs, pairs_of(table), Settings(ranking=1.7, decay=0.03))
    values = np.concatenate([rng.uniform(0.1, 1, 6), rng.normal(size=4)])
    numeric = approx_fprime(values, lambda v: loss(v)[0], 1e-6)
    np.testing.assert_allclose(loss(values)[1], numeric, atol=1e-5)


def test_what_rises_with_the_rung_is_learnt_and_nothing_counts_in_favour():
    table = ladder()
    model = fit(table)
    assert model.weights.min() >= 0
    assert np.argmax(model.weights.sum(0)) == 0
    assert model.weights[:, 1].sum() < 0.05 * model.weights[:, 0].sum()
    assert np.all(np.diff(model.thresholds) > 0)
    assert model.weights[:, -1].sum() == 0


def test_unseen_sources_are_put_in_order():
    table = ladder()
    scores = held_out_scores(table)
    order = order_preserved(table, scores)
    assert order.share > 0.95
    low, high = order.interval()
    assert low <= order.share <= high
    shuffled = np.random.default_rng(0).permutation(scores)
    assert 0.3 < order_preserved(table, shuffled).share < 0.7


def test_the_order_by_hand():
    kinds = np.array(["clean", "clean: cut", "warp", "warp", "warp"])
    table = Table(np.zeros((5, WIDTH)), np.zeros(5, int), np.array(["s"] * 5), kinds, np.array([0, 0, 1, 2, 3]))
    order = order_preserved(table, np.array([0.9, 0.0, 0.95, 0.9, 0.5]))
    # Clean against 1 (wrong), 2 (equal), 3 (right), and 1 against 3 (right); the clip with a cut is in no pair.
    assert sorted(order.preserved) == [0.0, 0.5, 1.0, 1.0]


def test_only_the_numbers_chosen_get_weight():
    chosen = np.zeros(WIDTH, bool)
    chosen[3:6] = True
    model = fit(ladder(), chosen=chosen)
    assert model.weights[:, ~chosen].sum() == 0


def test_growth_with_travel_is_no_evidence():
    rng = np.random.default_rng(4)
    table = ladder(21)
    travel = rng.uniform(-1, 1, len(table.rungs))
    table.numbers[:, -1] = travel
    table.numbers[:, 0] += 5 * travel
    model = fit(table, chosen=np.arange(WIDTH) == 0)
    assert model.slope[0] == pytest.approx(5, abs=1.5)
    clean = np.zeros((2, WIDTH))
    clean[:, -1], clean[:, 0] = (-1, 1), (-1 * model.slope[0], model.slope[0])
    assert score(model, clean)[0] == pytest.approx(score(model, clean)[1])


def test_the_plan_covers_sources_looks_and_places():
    sources = [Source(f"s{i}", lambda: (np.zeros((1, 8, 8, 3), np.uint8), 8.0)) for i in range(9)]
    groups = plan(sources, 3)
    assert len({g.number for g in groups}) == len(groups) == 36
    assert [g.drawn for g in groups[:9]] == [None] * 9
    assert all(0 <= g.start <= 1 for g in groups)
    assert len({g.look for g in groups[:8]}) == 8
    assert plan(sources, 3)[20].look == groups[20].look


def test_a_group_is_measured_once_and_the_same_each_time(tmp_path: Path):
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 255, (10, 24, 32, 3)).astype(np.uint8).repeat(2, 1).repeat(2, 2)
    group = Group(7, Source("noise", _Given(frames)), Look(48, 8.0, 1.0), 0.1, 1)
    first = measure_groups([group], None, tmp_path / "a", processes=1)
    (tmp_path / "b").mkdir()
    measure_group(group, None, tmp_path / "b")  # and in whichever process
    again = read_groups([tmp_path / "b" / group.file])
    assert first.numbers.shape == (2 + len(HARMLESS), WIDTH)  # clean, harmless, one rung
    np.testing.assert_array_equal(first.numbers, again.numbers)
    written = (tmp_path / "a" / group.file).stat().st_mtime_ns
    measure_groups([group], None, tmp_path / "a", processes=1)
    assert (tmp_path / "a" / group.file).stat().st_mtime_ns == written


class _Given:
    """A source that can be sent to another process."""

    def __init__(self, frames: np.ndarray) -> None:
        self.frames = frames

    def __call__(self) -> tuple[np.ndarray, float]:
        return self.frames, 8.0


def test_missing_footage_is_named(tmp_path: Path):
    with pytest.raises(SetupError, match=r"decord_pancake\.mkv is missing; it comes from https"):
        listed_sources(tmp_path, 0)


def test_other_footage_is_refused(tmp_path: Path):
    (tmp_path / "decord_pancake.mkv").write_bytes(b"something else")
    with pytest.raises(SetupError, match="is not the file"):
        listed_sources(tmp_path, 0)


@pytest.mark.skipif(not FOOTAGE.is_dir(), reason="no footage beside the checkout")
def test_the_listed_footage_is_there():
    names = [source.name for source in listed_sources(FOOTAGE, 2)]
    assert len(names) == 13
    assert names[-1] == "render-01"
