from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tests.alignment.made_study import crossed_study
from vmmetrics.alignment.levels import (
    LISTED_PROMPTS,
    overall_pearson,
    overall_spearman,
    within_model,
    within_prompt,
    without_both,
    without_model,
)
from vmmetrics.alignment.study import Sample, samples_of
from vmmetrics.utils.statistics.bootstrap import Estimate, draws

R, SEED = 120, 5
METRICS = ("sharp", "blunt")


def crossed(prompts: int = 12, models: int = 4, seed: int = 0) -> Sample:
    study = crossed_study(prompts, models, seed=seed, metric_noise={"sharp": 0.5, "blunt": 3.0})
    return samples_of(study, "motion", METRICS)[0]


def written_out(
    sample: Sample, metric: int, statistic: Callable[[np.ndarray, np.ndarray, np.ndarray], float]
) -> tuple[float, float]:
    """Interval of a statistic of (scores, ratings, models), every clip repeated as often as it was drawn."""
    models = np.array(sample.models)
    values = [
        statistic(*(np.repeat(column, weights) for column in (sample.scores[metric], sample.ratings, models)))
        for weights in draws(sample.prompts, R, SEED)
    ]
    whole = statistic(sample.scores[metric], sample.ratings, models)
    reach = stats.t.ppf(0.975, len(set(sample.prompts)) - 2) * np.arctanh(values).std(ddof=1)
    return float(np.tanh(np.arctanh(whole) - reach)), float(np.tanh(np.arctanh(whole) + reach))


def rho(x: np.ndarray, y: np.ndarray) -> float:
    return float(stats.spearmanr(x, y).statistic)


def ends(estimate: Estimate) -> tuple[float | None, float | None]:
    return estimate.low, estimate.high


@pytest.mark.parametrize("metric", [0, 1])
def test_over_all_clips(metric: int) -> None:
    sample = crossed()
    x, y = sample.scores[metric], sample.ratings
    found = overall_spearman(sample, R, SEED)[metric]
    assert found.value == pytest.approx(rho(x, y), abs=1e-12)
    assert ends(found) == pytest.approx(written_out(sample, metric, lambda x, y, _: rho(x, y)), abs=1e-12)
    linear = overall_pearson(sample, R, SEED)[metric]
    assert linear.value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    expected = written_out(sample, metric, lambda x, y, _: float(np.corrcoef(x, y)[0, 1]))
    assert ends(linear) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("metric", [0, 1])
def test_within_model(metric: int) -> None:
    sample = crossed()
    models = np.array(sample.models)
    names = sorted(set(models))

    def mean(x: np.ndarray, y: np.ndarray, of: np.ndarray) -> float:
        return float(np.mean([rho(x[of == name], y[of == name]) for name in names]))

    found = within_model(sample, R, SEED)[metric]
    assert found.mean.value == pytest.approx(mean(sample.scores[metric], sample.ratings, models), abs=1e-12)
    assert ends(found.mean) == pytest.approx(written_out(sample, metric, mean), abs=1e-12)
    assert found.mean.n == 4
    for name in names:
        here = models == name
        estimate = found.groups[name]
        assert estimate.value == pytest.approx(rho(sample.scores[metric][here], sample.ratings[here]), abs=1e-12)
        assert estimate.n == 12
        interval = written_out(sample, metric, lambda x, y, of, name=name: rho(x[of == name], y[of == name]))  # type: ignore[misc]
        assert ends(estimate) == pytest.approx(interval, abs=1e-12)


def test_within_prompt() -> None:
    sample = crossed(30)
    prompts = np.array(sample.prompts)
    names = sorted(set(prompts))
    each = {}
    for name in names:
        here = prompts == name
        x, y = sample.scores[0][here], sample.ratings[here]
        if np.ptp(y) > 0:
            each[name] = rho(x, y)
    found = within_prompt(sample, 4000, SEED)[0]
    assert {name: estimate.value for name, estimate in found.groups.items()} == pytest.approx(each, abs=1e-12)
    values = np.array(list(each.values()))
    assert found.mean.value == pytest.approx(values.mean(), abs=1e-12)
    assert found.mean.n == len(values)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=4000, rng=np.random.default_rng(1))
    error = theirs.standard_error / (1 - values.mean() ** 2)  # on Fisher's scale, to first order
    reach = stats.t.ppf(0.975, len(values) - 2) * error
    expected = np.tanh(np.arctanh(values.mean()) + np.array([-reach, reach]))
    assert ends(found.mean) == pytest.approx(tuple(expected), abs=0.03)


def test_prompts_of_two_clips_and_prompts_without_variation_do_not_count() -> None:
    scores = np.array([[1, 2, 3, 1, 2, 5, 5, 5, 1, 2, 3]], float)
    ratings = np.array([1, 3, 2, 1, 2, 1, 2, 3, 4, 4, 4], float)
    sample = Sample("motion", ("m",), scores, ratings, tuple("aaabbcccddd"), ("x",) * 11)
    found = within_prompt(sample, R, SEED)[0]
    assert set(found.groups) == {"a"}
    assert found.mean.value == pytest.approx(0.5)
    assert found.mean.low is None and "single prompt" in str(found.mean.note)


def test_many_prompts_are_not_listed() -> None:
    sample = crossed(LISTED_PROMPTS + 40, 3)
    found = within_prompt(sample, 20, SEED)[0]
    assert found.mean.n > LISTED_PROMPTS
    assert found.groups == {}


def test_without_a_model() -> None:
    sample = crossed()
    models = np.array(sample.models)
    found = without_model(sample, R, SEED)[0]
    assert set(found) == set(models)
    for name, estimate in found.items():
        rest = models != name
        assert estimate.value == pytest.approx(rho(sample.scores[0][rest], sample.ratings[rest]), abs=1e-12)
        assert estimate.n == 36
        interval = written_out(sample, 0, lambda x, y, of, name=name: rho(x[of != name], y[of != name]))  # type: ignore[misc]
        assert ends(estimate) == pytest.approx(interval, abs=1e-12)


def test_a_metric_that_only_tells_models_apart_has_nothing_within() -> None:
    rng = np.random.default_rng(0)
    model = np.tile(np.arange(4), 60)
    ratings = model + rng.normal(size=240)
    sample = Sample(
        "motion",
        ("model",),
        (model + 0.3 * rng.normal(size=240))[None],
        ratings,
        tuple(f"p{number // 4}" for number in range(240)),
        tuple(f"m{number}" for number in model),
    )
    pooled, within = overall_spearman(sample, 200, 0)[0], within_model(sample, 200, 0)[0].mean
    assert pooled.low is not None and pooled.low > 0.5
    assert within.low is not None and within.high is not None and within.low < 0 < within.high
    assert within.p is not None and within.p > 0.05


@pytest.mark.parametrize("count", [0, 1, 2])
def test_no_clips_one_and_two(count: int) -> None:
    sample = crossed().keep(np.arange(48) < count)
    for estimate in (
        *overall_spearman(sample, R, SEED),
        *overall_pearson(sample, R, SEED),
        *(grouped.mean for grouped in within_model(sample, R, SEED)),
        *(grouped.mean for grouped in within_prompt(sample, R, SEED)),
        *(estimate for found in without_model(sample, R, SEED) for estimate in found.values()),
    ):
        assert estimate.value is None
        assert estimate.note


def test_one_of_two_metrics_constant() -> None:
    sample = crossed()
    flat = Sample(
        "motion", METRICS, np.stack([sample.scores[0], np.full(48, 0.1)]), sample.ratings, sample.prompts, sample.models
    )
    for found in (overall_spearman, overall_pearson):
        good, constant = found(flat, R, SEED)
        assert good.value is not None and constant.note == "the scores are all the same"
    assert within_model(flat, R, SEED)[0].mean == within_model(sample, R, SEED)[0].mean
    assert "no model has" in str(within_model(flat, R, SEED)[1].mean.note)


def test_with_model_and_prompt_out_is_the_partial_correlation_of_a_regression() -> None:
    sample = crossed(14, 5)
    kept = np.random.default_rng(2).random(len(sample.ratings)) < 0.8
    sample = sample.keep(kept)
    dummies = np.array([[p == q for q in set(sample.prompts)] + [m == n for n in set(sample.models)] for p, m in
                        zip(sample.prompts, sample.models, strict=True)], float)  # fmt: skip

    def rest(values: np.ndarray) -> np.ndarray:
        ranks = stats.rankdata(values)
        return ranks - dummies @ np.linalg.lstsq(dummies, ranks, rcond=None)[0]

    found = without_both(sample, 200, SEED)
    for estimate, scores in zip(found, sample.scores, strict=True):
        expected = np.corrcoef(rest(scores), rest(sample.ratings))[0, 1]
        assert estimate.value == pytest.approx(expected, abs=1e-10)
        assert estimate.low is not None and estimate.low < expected < (estimate.high or 0)


def test_nothing_is_left_of_what_model_and_prompt_make() -> None:
    rng = np.random.default_rng(0)
    model, prompt = np.tile(np.arange(4), 30), np.repeat(np.arange(30), 4)
    made = 2.0 * model + prompt
    ratings = made + rng.normal(size=120)
    names = tuple(f"p{n}" for n in prompt), tuple(f"m{n}" for n in model)
    sample = Sample("motion", ("made", "seen"), np.stack([made + rng.normal(size=120), ratings]), ratings, *names)
    made_of, seen = without_both(sample, 300, SEED)
    assert made_of.low is not None and made_of.low < 0 < (made_of.high or 0)
    assert seen.value == pytest.approx(1)
    single = Sample("motion", ("m",), sample.scores[:1], ratings, names[0], ("one",) * 120)
    assert without_both(single, 10, SEED)[0].value is None
