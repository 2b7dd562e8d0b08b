from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from benchmarks.cas_recipe.folds import held_out_scores, order_preserved, score
from benchmarks.cas_recipe.groups import WINDOWS, Group, Table, measure_group, measure_groups, plan, read_groups
from benchmarks.cas_recipe.ordinal import Settings, _Loss, fit, pairs_of
from benchmarks.cas_recipe.sources import Source, footage_sources, rendered_sources
from vmmetrics.errors import SetupError
from vmmetrics.perception.embedded.plausibility.plausibility import CONDITIONS, NAMES

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
            numbers[-len(CONDITIONS) :] = 0.0
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
    assert model.weights[:, -len(CONDITIONS) :].sum() == 0


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


@pytest.mark.parametrize("place", range(-len(CONDITIONS), 0), ids=CONDITIONS)
def test_growth_with_a_condition_is_no_evidence(place):
    rng = np.random.default_rng(4)
    table = ladder(21)
    condition = rng.uniform(-1, 1, len(table.rungs))
    table.numbers[:, place] = condition
    table.numbers[:, 0] += 5 * condition
    model = fit(table, chosen=np.arange(WIDTH) == 0)
    growth = model.slope[place, 0]
    assert growth == pytest.approx(5, abs=1.5)
    clean = np.zeros((2, WIDTH))
    clean[:, place], clean[:, 0] = (-1, 1), (-growth, growth)
    assert score(model, clean)[0] == pytest.approx(score(model, clean)[1])
    blind = fit(table, Settings(by_conditions=False), np.arange(WIDTH) == 0)
    assert score(blind, clean)[0] > score(blind, clean)[1] + 0.1


def test_more_clean_clips_expected_raise_scores():
    table = ladder()
    few, many = (fit(table, Settings(clean_share=share)) for share in (0.2, 0.75))
    assert score(many, table.numbers).mean() > score(few, table.numbers).mean()


def test_the_plan_has_windows_of_each_file_and_one_of_each_render():
    files = [Source(name, _Given(np.zeros((1, 8, 8, 3), np.uint8))) for name in ("one", "two", "two")]
    groups = plan(files, rendered_sources(2, 3))
    assert len({group.number for group in groups}) == len(groups)
    windows = [[group.window for group in groups if group.source is file] for file in files]
    assert windows[0] == list(range(WINDOWS))
    assert windows[1] == windows[2] == list(range(0, WINDOWS, 2))  # a source of several files is not seen more often
    rendered = [group.source for group in groups if group.source not in files]
    assert sorted(source.name for source in rendered) == ["fluid-00", "fluid-01", "fluid-02", "render-00", "render-01"]
    assert all(source.fluid == source.name.startswith("fluid") for source in rendered)


def test_a_group_is_measured_once_and_the_same_each_time(tmp_path: Path):
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 255, (10, 24, 32, 3)).astype(np.uint8).repeat(2, 1).repeat(2, 2)
    group = Group(7, Source("noise", _Given(frames), fluid=True), 0)
    first = measure_groups([group], None, tmp_path / "a", processes=1)
    (tmp_path / "b").mkdir()
    measure_group(group, None, tmp_path / "b")  # and in whichever process
    again = read_groups([tmp_path / "b" / group.file])
    assert first.numbers.shape == (len(first.rungs), WIDTH)
    assert "clean" in first.kinds
    assert first.rungs.max() > 0
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


def listed(folder: Path, monkeypatch: pytest.MonkeyPatch, splits: dict[str, str], sha256: str) -> None:
    """Footage of one byte per file, by name to split, of source "s"."""
    names = ["file", "split", "licence_class", "source_id", "repo", "generator", "year", "pair", "role", "sha256"]
    with (folder / "index.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        for name, split in splits.items():
            writer.writerow({"file": name, "split": split, "source_id": "s", "sha256": sha256})
            (folder / name).write_bytes(b"x")
    for module in ("benchmarks.footage", "benchmarks.cas_recipe.sources"):
        monkeypatch.setattr(f"{module}.FOOTAGE", folder)


def test_missing_footage_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("benchmarks.cas_recipe.sources.FOOTAGE", tmp_path)
    with pytest.raises(SetupError, match=r"has no index\.csv"):
        footage_sources(1)


def test_other_footage_is_refused(tmp_path: Path, monkeypatch):
    listed(tmp_path, monkeypatch, {"a.mp4": "train"}, sha256="0" * 64)
    with pytest.raises(SetupError, match=r"a\.mp4 is not the file"):
        footage_sources(1)


def test_only_so_many_files_of_a_source_and_of_the_train_split(tmp_path: Path, monkeypatch):
    splits = {"v.mp4": "validation", "a.mp4": "train", "s.mp4": "sealed", "b.mp4": "train", "c.mp4": "train"}
    listed(tmp_path, monkeypatch, splits, sha256=hashlib.sha256(b"x").hexdigest())
    assert [source.load.item.name for source in footage_sources(2)] == ["a", "b"]
    assert [source.load.item.name for source in footage_sources(9)] == ["a", "b", "c"]
