"""The interval of a score's agreement inside models that a study will give: against scores that know nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.rating.made import filled, sources, study
from vmmetrics.rating.journal import read_state
from vmmetrics.rating.results import Results
from vmmetrics.rating.study import Settings, new_study


def test_scores_that_know_nothing_stay_within_it_in_95_percent(tmp_path: Path) -> None:
    made = study(tmp_path, prompts=14, models=2, items=28, votes=2, gold=0, traps=0, repeats=0)
    filled(made, 2)
    results = Results.of(made, read_state(made))
    now, end = results.forecast("motion")
    assert now == end is not None
    items, _, votes = results.table("motion")
    models, means = np.array([item.models[0] for item in items]), votes.mean(axis=1)
    rng, seen = np.random.default_rng(0), []
    for _ in range(1000):
        scores = rng.normal(size=len(items))
        seen.append(np.mean([spearmanr(scores[models == one], means[models == one])[0] for one in set(models)]))
    assert np.mean(np.abs(seen) <= now) == pytest.approx(0.95, abs=0.02)


def test_pairs_of_one_model_have_that_of_a_share_and_others_none(tmp_path: Path) -> None:
    across = study(tmp_path / "across", "pair", prompts=4, models=3)
    filled(across, 4)
    assert Results.of(across, read_state(across)).forecast("motion") == (None, None)
    clips = [replace(one, model="m") for one in sources(tmp_path / "clips", prompts=6, models=2)]
    settings = Settings("pair", "lab@example.org", "made by us", {"motion": ""}, votes=2, items=6, within_model=True)
    inside = filled(new_study(tmp_path / "inside", clips, settings), 2)
    now, end = Results.of(inside, read_state(inside)).forecast("motion")
    assert end == pytest.approx(1.959964 * 0.5 / 6**0.5)  # a pair a prompt
    assert now is None or now >= end  # pairs without a decision tell nothing


def test_clips_to_come_make_it_narrower(tmp_path: Path) -> None:
    made = study(tmp_path, prompts=14, models=2, items=8, votes=2, gold=0, traps=0, repeats=0)
    filled(made, 1)
    now, end = Results.of(made, read_state(made)).forecast("motion")
    assert end is not None
    assert now is None or now > end
