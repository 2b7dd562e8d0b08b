from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.scoring.stored_runs import clip, random_clips, write
from vmmetrics.scoring.summary import MOST_VALUES
from vmmetrics.scoring.table import Table
from vmmetrics.viewer.comparisons import MOST_OF_MODELS, tag_groups
from vmmetrics.viewer.sources import read_runs


def test_means_by_hand(tmp_path: Path) -> None:
    records = [
        clip("a/1.mp4", {"tcs": 0.2}, tags={"pattern": "slow", "speed": 1.0}),
        clip("a/2.mp4", {"tcs": 0.4}, tags={"pattern": "slow"}),
        clip("b/1.mp4", {"tcs": 0.9}, tags={"pattern": "fast", "speed": 0.5}),
        clip("b/2.mp4", {}, missing={"tcs": "no object"}, tags={"pattern": "fast"}),
        clip("b/3.mp4", {"tcs": 0.1}),
    ]
    groups = tag_groups(read_runs([write(tmp_path / "run", records)]))
    shown = {(g["tag"], g["value"], g["model"]): (g["run"], g["clips"], g["means"]["tcs"]) for g in groups}
    slow = {"mean": 0.3, "low": None, "high": None, "clips": 2}  # two give no interval
    one = {"low": None, "high": None, "clips": 1}
    assert shown == {
        ("pattern", "fast", None): (0, 2, {"mean": 0.9, **one}),
        ("pattern", "fast", "b"): (0, 2, {"mean": 0.9, **one}),
        ("pattern", "slow", None): (0, 2, slow),
        ("pattern", "slow", "a"): (0, 2, slow),
        ("speed", "0.5", None): (0, 1, {"mean": 0.9, **one}),
        ("speed", "0.5", "b"): (0, 1, {"mean": 0.9, **one}),
        ("speed", "1", None): (0, 1, {"mean": 0.2, **one}),
        ("speed", "1", "a"): (0, 1, {"mean": 0.2, **one}),
    }


def test_means_and_intervals_are_those_of_the_tables_breakdown(tmp_path: Path) -> None:
    records = [replace(r, tags={"pattern": "xyz"[n % 3]}) for n, r in enumerate(random_clips("ab", 30, missing=0.2))]
    runs = read_runs([write(tmp_path / "run", records)])
    table = Table(runs[0].records)
    for group in tag_groups(runs):
        known = table.by_tag("pattern")[group["value"]].mean(group["model"])
        assert group["means"].keys() == known.keys()
        for metric, mean in group["means"].items():
            assert mean == pytest.approx(known[metric]._asdict(), abs=1e-4)


def test_a_tag_that_identifies_clips_has_no_groups(tmp_path: Path) -> None:
    records = [clip(f"{n}.mp4", {"tcs": 0.5}, tags={"seed": float(n), "half": n % 2}) for n in range(MOST_VALUES)]
    groups = tag_groups(read_runs([write(tmp_path / "run", records)]))
    assert {group["tag"] for group in groups} == {"half"}


def test_of_very_many_groups_there_are_none_of_each_model(tmp_path: Path) -> None:
    values = MOST_OF_MODELS // 4 + 1
    records = [clip(f"{m}/{n}.mp4", {"tcs": 0.5}, tags={"scene": f"s{n}"}) for m in "abcd" for n in range(values)]
    groups = tag_groups(read_runs([write(tmp_path / "run", records)]))
    assert (len(groups), {group["model"] for group in groups}) == (values, {None})


def test_intervals_in_closed_form_are_close_to_the_drawn_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    records = [clip(f"{n}.mp4", {"tcs": float(rng.random())}, tags={"scene": f"s{n % 400}"}) for n in range(12_000)]
    runs = read_runs([write(tmp_path / "run", records)])
    groups = tag_groups(runs)
    assert len(groups) == 400
    for group in groups[:20]:
        scores = np.array([r.scores["tcs"] for r in runs[0].records if r.tags["scene"] == group["value"]])
        drawn = np.sort(rng.choice(scores, (10_000, scores.size)).mean(axis=1))
        ends = (group["means"]["tcs"]["low"], group["means"]["tcs"]["high"])
        assert ends == pytest.approx((drawn[250], drawn[-251]), abs=0.012)
