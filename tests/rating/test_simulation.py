"""Simulated raters: truth is recovered, those who do not rate are flagged, the honest are not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.rating.made import filled, study
from vmmetrics.alignment.readers.read import read_judgements
from vmmetrics.errors import SetupError
from vmmetrics.rating import DESIGNS
from vmmetrics.rating.export import export, summary
from vmmetrics.rating.journal import read_state
from vmmetrics.rating.results import Results
from vmmetrics.rating.simulation import KINDS, dry_run
from vmmetrics.rating.trials import Item
from vmmetrics.utils.schema import read_json

CAUGHT = 0.9
"""Share of each kind of bad raters that must be flagged; rates: python -m benchmarks.rating_raters."""


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
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
    run = dry_run(made, {"honest": 3, "reversed": 1}, out=tmp_path / "tried")
    assert read_json(tmp_path / "tried" / "summary.json")["simulated"] == {"honest": 3, "reversed": 1}
    (note, *_) = read_judgements(tmp_path / "tried", []).notes
    assert "SIMULATED" in note
    export(filled(study(tmp_path / "rated"), 2), tmp_path / "people")
    with pytest.raises(SetupError, match="people's answers"):
        dry_run(made, {"honest": 1}, out=tmp_path / "people")
    assert "SIMULATED" not in str(read_judgements(tmp_path / "people", []).notes)
    assert sorted((path.name, path.stat().st_size) for path in made.path.rglob("*")) == before
    assert {"pairs.csv", "comparisons.jsonl", "sessions.csv", "standards.md", "strengths.csv"} <= set(run.files)
    assert run.raters == {"honest": 3, "reversed": 1}
    assert run.sessions >= 12 * 3 / 6


@pytest.mark.parametrize(("raters", "clips"), [(15, 24), (5, 8)])
def test_recovered_intervals_hold_the_truth_or_are_not_shown(
    raters: int, clips: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = study(tmp_path)
    results, rng = Results.of(made, read_state(made)), np.random.default_rng(0)
    items, names = [Item(str(n), (), "", ()) for n in range(clips)], [str(n) for n in range(raters)]
    held, collapsed = [], 0
    for _ in range(100):
        true = 3 + 0.9 * rng.normal(size=clips)
        noise = rng.normal(0, 0.3, raters) + rng.normal(size=(clips, raters)) * rng.uniform(0.4, 0.9, raters)
        votes = np.round(true[:, None] + noise)
        monkeypatch.setattr(Results, "table", lambda *_, votes=votes: (items, names, votes))
        opinions, note = results.opinions("motion")
        shown = [(one.recovered_low, one.recovered_high) for one in opinions if one.recovered is not None]
        assert len(shown) == (0 if "plain mean" in note else clips)
        collapsed += not shown
        held += [(low or 0) <= level <= (high or 0) for (low, high), level in zip(shown, true, strict=False)]
    assert 0.92 < np.mean(held) < 0.98  # with the normal quantile .91, and of 5 raters .77
    assert collapsed == 0 if raters > 5 else 5 < collapsed < 40


def test_limits_of_recovered_scores_are_in_the_summary(tmp_path: Path) -> None:
    made = study(tmp_path, items=12, votes=9)
    results = Results.of(filled(made, 2), read_state(made))
    assert "fewer than 3 raters" in summary(results)["recovered"]["motion"]
