"""Whatever the data lacks: figures or notes, never NaN, never an exception, never a warning."""

from __future__ import annotations

import math
import warnings
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alignment.made_study import study_of
from vmmetrics.alignment.human_agreement import measure_human_agreement, measure_rater_agreement
from vmmetrics.alignment.power import measure_power
from vmmetrics.alignment.preference import measure_ablations, measure_preferences
from vmmetrics.alignment.study import Study
from vmmetrics.utils.statistics.bootstrap import Estimate


def check(part: Any) -> None:
    """Every number inside is finite, and every estimate without a value has a note."""
    if isinstance(part, float):
        assert math.isfinite(part)
    elif isinstance(part, Estimate):
        assert part.value is not None or part.note
    if is_dataclass(part):
        for field in fields(part):
            check(getattr(part, field.name))
    elif isinstance(part, dict):
        check(tuple(part.values()))
    elif isinstance(part, tuple):
        for inner in part:
            check(inner)


@st.composite
def little_studies(draw: st.DrawFn) -> Study:
    count, raters = draw(st.sampled_from([0, 1, 2, 3, 5, 12])), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    ratings = rng.integers(1, 6, (count, raters)).astype(float)
    kind = draw(st.sampled_from(["steps", "constant", "continuous", "missing", "sparse", "infinite"]))
    if kind == "continuous":
        ratings += rng.normal(size=ratings.shape)
    elif kind == "sparse":
        ratings[rng.random(ratings.shape) < 0.5] = np.nan
    elif kind != "steps":
        ratings[: 1 if kind == "infinite" else None] = {"constant": 3, "missing": np.nan, "infinite": np.inf}[kind]
    scores = {
        "some": np.where(rng.random(count) < 0.5, np.nan, rng.normal(size=count)),
        "all": rng.normal(size=count),
        "constant": np.ones(count),
        "none": np.full(count, np.nan),
        "infinite": np.where(np.arange(count) < 2, -np.inf, rng.normal(size=count)),
    }
    prompts = draw(st.sampled_from([1, 2, max(1, count)]))
    models = draw(st.sampled_from([0, 1, 2, 4]))
    return study_of(
        ratings,
        scores,
        prompts=tuple(f"p{number // prompts}" for number in range(count)),
        models=tuple(f"m{number % models}" if models else "" for number in range(count)),
    )


@settings(max_examples=60)
@given(little_studies())
def test_nothing_breaks(study: Study) -> None:
    metrics = list(study.scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(measure_rater_agreement(study, "motion", resamples=5))
        check(measure_human_agreement(study, "motion", resamples=5))
        check(measure_preferences(study, "motion", metrics, resamples=5))
        check(measure_ablations(study, "motion", metrics, resamples=5))
        check(measure_power(study, "motion", metrics))
