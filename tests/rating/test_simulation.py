"""Simulated raters: truth is recovered, those who do not rate are flagged, the honest are not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.rating.made import study
from vmmetrics.rating.simulation import KINDS, dry_run

CAUGHT = 0.9
"""Share of each kind of bad raters that must be flagged; rates: python -m benchmarks.rating_raters."""


@pytest.mark.slow
@pytest.mark.parametrize("design", ["acr", "pair"])
def test_bad_raters_are_flagged_and_honest_ones_are_not(design: str, tmp_path: Path) -> None:
    made = study(tmp_path, design, prompts=6, models=4, items=20, votes=15)
    raters, flagged, recovered = Counter[str](), Counter[str](), []
    for seed in range(4):
        run = dry_run(made, {"honest": 40, "lazy": 8, "random": 8, "reversed": 8}, seed)
        raters.update(run.raters)
        flagged.update(run.flagged)
        recovered.append(run.recovered)
    assert flagged["honest"] <= 0.02 * raters["honest"] + 3  # of 160: three standard deviations of chance
    for kind in KINDS[1:]:
        assert flagged[kind] >= CAUGHT * raters[kind], kind
    assert np.mean([value or 0 for value in recovered]) > 0.9


def test_opinion_scores_are_recovered_with_their_intervals(tmp_path: Path) -> None:
    made = study(tmp_path, prompts=6, models=4, items=24, votes=15)
    runs = [dry_run(made, {"honest": 24}, seed) for seed in range(3)]
    assert np.mean([run.error or 9 for run in runs]) < 0.3
    assert np.mean([run.covered or 0 for run in runs]) > 0.8  # the ends of the scale cut off what lies beyond
    assert all(run.fewest == run.most == 24 for run in runs)


def test_a_dry_run_changes_nothing_and_goes_through_the_export(tmp_path: Path) -> None:
    made = study(tmp_path, "pair")
    before = sorted((path.name, path.stat().st_size) for path in made.path.rglob("*"))
    run = dry_run(made, {"honest": 3, "reversed": 1})
    assert sorted((path.name, path.stat().st_size) for path in made.path.rglob("*")) == before
    assert {"pairs.csv", "comparisons.jsonl", "sessions.csv", "standards.md", "strengths.csv"} <= set(run.files)
    assert run.raters == {"honest": 3, "reversed": 1}
    assert run.sessions >= 12 * 3 / 6
