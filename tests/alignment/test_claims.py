from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.alignment.made_study import crossed_study
from vmmetrics.alignment.claims import (
    above,
    below,
    difference_claims,
    human_agreement_claim,
    metric_claim,
    model_claim,
    power_claim,
    preference_claim,
    widest_claims,
)
from vmmetrics.alignment.power import Power
from vmmetrics.alignment.results import (
    Grouped,
    HumanAgreement,
    MetricDifference,
    NameBaseline,
    PairAlignment,
    PreferenceAccuracy,
)
from vmmetrics.alignment.study_report import align
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.utils.statistics.bootstrap import Estimate

NONE = Estimate(None, note="the models of the clips are not known")
NULL = Estimate(0.45, 0.38, 0.52, n=80)


def pair_of(
    pooled: Estimate,
    inside: Estimate = NONE,
    null: Estimate = NULL,
    without: dict[str, Estimate] | None = None,
    off_mode: int = 40,
    both: Estimate = NONE,
) -> PairAlignment:
    levels = (Grouped(NONE), Grouped(inside), NONE, both, without or {}, NONE, null)
    return PairAlignment("cas", "motion", pooled, NONE, NONE, NONE, *levels, off_mode, 0.25)


@pytest.fixture(scope="module")
def report() -> StudyReport:
    return align(crossed_study(20, metric_noise={"good": 0.5, "noise": np.inf}, seed=1), resamples=100)


@pytest.mark.parametrize(
    ("pooled", "inside", "null", "said"),
    [
        (
            Estimate(0.5, 0.3, 0.7, n=80),
            Estimate(0.31, 0.05, 0.52, n=4),
            NULL,
            "agrees with people among clips of the same model",
        ),
        # one that two models hide: over all clips nothing, inside models something
        (
            Estimate(0.1, -0.1, 0.3, n=80),
            Estimate(0.31, 0.05, 0.52, n=4),
            NULL,
            "agrees with people among clips of the same model",
        ),
        (
            Estimate(0.5, 0.3, 0.7, n=80),
            Estimate(0.04, -0.2, 0.25, n=4),
            NULL,
            "no more than differences between",
        ),
        (
            Estimate(0.6, 0.4, 0.7, n=80),
            Estimate(0.2, -0.02, 0.4, n=4),
            NULL,
            "beyond differences between models, judged by shuffling",
        ),
        (Estimate(0.5, 0.3, 0.7, n=80), Estimate(-0.3, -0.5, -0.1, n=4), NULL, "runs against people (mean ρ −0.30"),
        (Estimate(0.5, 0.3, 0.7, n=80), NONE, NONE, "the share due to differences between models is unknown"),
        (Estimate(0.1, -0.1, 0.3, n=80), Estimate(0.0, -0.2, 0.2, n=4), NULL, "no agreement with people is shown"),
        (Estimate(0.1, -0.1, 0.3, n=80), NONE, NONE, "agreement within models is undefined"),
        (Estimate(-0.5, -0.7, -0.3, n=80), Estimate(0.0, -0.2, 0.2, n=4), NULL, "runs against people: ρ −0.50"),
        (
            Estimate(0.5, n=8, note="no interval: there is a single prompt"),
            NONE,
            NONE,
            "not generalisable: no interval",
        ),
        (
            Estimate(None, n=2, note="the scores are all the same"),
            NONE,
            NONE,
            "undefined: the scores are all",
        ),
    ],
)
def test_every_rung_of_the_ladder(pooled: Estimate, inside: Estimate, null: Estimate, said: str) -> None:
    claim = metric_claim(pair_of(pooled, inside, null))
    assert claim.startswith("cas on motion")
    assert said in claim
    assert claim.endswith(".")
    if pooled.value is not None:
        assert f"{abs(pooled.value):.2f}" in claim
    if not above(inside) and inside.value is not None and not below(inside):
        assert "0.25" in claim


def test_an_interval_above_zero_with_a_p_value_above_the_level_is_no_claim() -> None:
    assert above(Estimate(0.4, 0.01, 0.7, p=0.04))
    assert not above(Estimate(0.4, 0.01, 0.7, p=0.06))
    assert below(Estimate(-0.4, -0.7, -0.01, p=0.04))
    assert not below(Estimate(-0.4, -0.7, -0.01, p=0.06))
    assert not above(Estimate(0.4, note="no interval"))


def test_the_model_that_a_correlation_rests_on_is_named() -> None:
    without = {"jittery": Estimate(0.1, -0.2, 0.3), "calm": Estimate(0.5, 0.2, 0.7), "odd": Estimate(0.15, -0.1, 0.4)}
    pooled = Estimate(0.5, 0.3, 0.7, n=80)
    inside = Estimate(0.3, 0.1, 0.5, n=4)
    assert "rests on jittery, without which ρ 0.10" in metric_claim(pair_of(pooled, inside, without=without))
    steady = {"jittery": Estimate(0.4, 0.2, 0.6)}
    assert "rests on" not in metric_claim(pair_of(pooled, inside, without=steady))


def test_what_is_left_at_constant_amplitude_is_said_beside_agreement_within_models() -> None:
    pair = pair_of(Estimate(0.5, 0.3, 0.7, n=80), Estimate(0.4, 0.2, 0.6, n=4))
    assert "amplitude" not in metric_claim(pair)
    held = replace(pair, amplitude_constant=Estimate(0.1, -0.2, 0.3, n=4))
    assert "ρ 0.10 [−0.20, 0.30] within models with amplitude held constant" in metric_claim(held)


def test_what_people_reach() -> None:
    figure = Estimate(0.78, 0.7, 0.84)
    inside, whole, inner = Estimate(0.56, 0.4, 0.7), Estimate(0.81, 0.7, 0.9), Estimate(0.49, 0.3, 0.7)
    top = HumanAgreement("motion", {}, figure, NONE, inside, NONE, NONE, figure, whole, inner)
    one, reliability = human_agreement_claim(top)
    assert "0.78 [0.70, 0.84]" in one
    assert "0.56 [0.40, 0.70] on clips of one model" in one
    assert "reliability of 0.81" in reliability
    assert "ρ 0.90 over all clips and 0.70 on clips of one model" in reliability  # the roots of 0.81 and 0.49
    assert list(human_agreement_claim(replace(top, overall=NONE))) == []


def test_differences_seen_and_not(report: StudyReport) -> None:
    small = replace(report, clips=68, prompts=17)
    unseen = Estimate(0.1, -0.1, 0.3, p=0.3)
    differences = [
        MetricDifference("a", "b", "motion", Estimate(-0.4, -0.6, -0.2, p=0.002), unseen, pooled_holm=0.004),
        MetricDifference("a", "c", "motion", Estimate(0.2, 0.01, 0.39, p=0.04), unseen, pooled_holm=0.08),
    ]
    apart, pooled, inside, _ = difference_claims(differences, small)
    assert "of 2 pairs of metrics (p < 0.05 after Holm): b above a by 0.40 [0.20, 0.60]." in apart
    assert "above c" not in apart
    assert "half-width of 0.20" in pooled
    assert "68 clips of 17 prompts" in pooled
    assert inside == "None of 2 pairs of metrics differs on motion on clips of one model (p < 0.05 after Holm)."
    assert difference_claims([MetricDifference("a", "b", "motion", NONE, NONE)], small) == []
    steps = [Estimate(step / 20, step / 20 - 0.01, step / 20 + 0.01) for step in range(1, 8)]
    many = [MetricDifference(f"m{s}", "b", "motion", step, NONE, pooled_holm=0.001) for s, step in enumerate(steps)]
    said = difference_claims(many, small)[0]
    assert said.index("m0 above b by 0.05") < said.index("m4 above b by 0.25")
    assert "m5 above" not in said
    assert "2 pairs more" in said


def test_one_clip_that_differs_carries_no_claim() -> None:
    found = Estimate(-0.15, -0.34, -0.07, p=0.01, n=46)
    assert "too few distinct values: only 1 of 46 clips has a score other than the commonest" in metric_claim(
        pair_of(found, off_mode=1)
    )
    study = crossed_study(12, metric_noise={"good": 0.5}, seed=1)
    study.scores["good"][:] = 1.0
    study.scores["good"][3] = 0.5
    report = align(study, resamples=100)
    assert report.alignments[0].off_mode == 1
    assert "too few distinct values" in widest_claims(report)[0]


def test_an_amount_is_not_against_people() -> None:
    pair = replace(pair_of(Estimate(-0.5, -0.7, -0.3, p=0.001, n=80)), metric="flow_magnitude")
    assert "more of it goes with lower ratings" in metric_claim(pair)


def test_what_repeats_others_is_counted_once() -> None:
    study = crossed_study(20, metric_noise={"one": 0.5, "two": 0.7, "three": 1.0, "four": 1.5, "five": 2.0}, seed=1)
    study.scores["again"] = np.exp(study.scores["one"])
    study = replace(study, pairing={})
    report = align(study, resamples=100)
    assert report.repeats == {"again": "in the order of one", "average": "made of the others"}
    assert any("Of 5 metrics compared with motion (2 that repeat or mix" in claim for claim in widest_claims(report))
    assert not any("again" in (d.first, d.second) for d in report.differences)


@pytest.mark.parametrize(
    ("models", "said"),
    [(2, "below 1, 2 of 2"), (3, "below 0.33, 2 of 6"), (4, "below 0.083, 2 of 24"), (5, "5 models can show")],
)
def test_how_many_models_make_a_ranking(models: int, said: str) -> None:
    assert said in model_claim(models)
    assert ("cannot establish" in model_claim(models)) == (models < 5)
    assert model_claim(500).startswith("500 models can show")


def test_power_in_words() -> None:
    power = Power("motion", 0.6, 0.7, 0.16, 559, 140, {}, 0.25, "")
    assert list(power_claim(power, 68)) == [
        "With 68 clips, the power to tell ρ 0.60 from 0.70 on motion is 16%; 80 % needs 559 clips of 140 prompts."
    ]
    assert "needs" not in next(power_claim(replace(power, clips=None, prompts=None), 68))


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (Estimate(0.71, 0.66, 0.76), "prefers the clip that people prefer in 0.71 [0.66, 0.76] of 90 pairs"),
        (Estimate(0.52, 0.46, 0.58), "not shown to be better than chance"),
        (Estimate(0.3, 0.2, 0.4), "right in only 0.30"),
        (Estimate(0.7, note="no interval: single prompt"), "not generalisable: no interval"),
        (Estimate(None, note="no pair"), "undefined: no pair"),
    ],
)
def test_preferences_in_words(share: Estimate, said: str) -> None:
    assert said in preference_claim(PreferenceAccuracy("cas", "motion", share, 90, 0, 0, ""))


def test_a_whole_study(report: StudyReport) -> None:
    power = Power("motion", 0.6, 0.7, 0.3, 500, 125, {}, 0.22, "")
    claims = widest_claims(replace(report, powers=(power,)))
    assert claims[0].startswith("good on motion agrees with people beyond what model and prompt explain: ρ ")
    assert any(claim.startswith("noise on motion: no agreement") for claim in claims)
    assert any("the model's name alone" in claim and "less than good" in claim for claim in claims)
    assert any(claim.startswith("4 models cannot establish") for claim in claims)
    assert any("good above noise" in claim for claim in claims)
    assert any("30%" in claim for claim in claims)
    assert not any("nan" in claim.lower() or "None" in claim for claim in claims if "None of" not in claim)
    assert len(set(claims)) == len(claims)


def test_the_name_beats_all(report: StudyReport) -> None:
    base = NameBaseline("motion", Estimate(0.99, 0.98, 1.0), NONE)
    claims = widest_claims(replace(report, baselines=(base,)))
    assert any("no metric here reaches more" in claim for claim in claims)
    unknown = NameBaseline("motion", NONE, NONE)
    assert not any("model's name alone" in claim for claim in widest_claims(replace(report, baselines=(unknown,))))


def test_many_metrics_are_counted() -> None:
    pairs = tuple(
        replace(pair_of(Estimate(0.5, 0.3, 0.7, n=80), Estimate(0.3, 0.1, 0.5, n=4)), metric=f"m{number}")
        for number in range(10)
    )
    report = align(crossed_study(3), resamples=5)
    claims = widest_claims(replace(report, alignments=pairs))
    assert any("Of 10 metrics compared with motion, 10 (m0, m1" in claim for claim in claims)
    two = [replace(pair, without_both=Estimate(0.3, 0.1 if k < 2 else -0.1, 0.5)) for k, pair in enumerate(pairs)]
    (claim,) = (c for c in widest_claims(replace(report, alignments=tuple(two))) if c.startswith("Of 10 metrics"))
    assert "2 (m0, m1) agree with people beyond what model and prompt explain at p < 0.05; " in claim
    expected = 1 - 0.975**10 - 10 * 0.025 * 0.975**9  # of two or more, not of one
    assert f"at least 2 would with a probability of {expected:.1%}" in claim


def test_preferences_alone_make_claims_too(report: StudyReport) -> None:
    entry = PreferenceAccuracy("cas", "likes", Estimate(0.71, 0.66, 0.76), 90, 0, 0, "")
    claims = widest_claims(
        replace(report, alignments=(), ceilings=(), differences=(), baselines=(), preferences=(entry,))
    )
    assert claims[0].startswith("cas on likes prefers")


def test_an_empty_report_claims_nothing(report: StudyReport) -> None:
    nothing = replace(
        report, alignments=(), baselines=(), differences=(), ceilings=(), preferences=(), powers=(), models=0
    )
    assert widest_claims(nothing) == ()


def test_the_widest_claim_is_that_neither_model_nor_prompt_explains() -> None:
    """A metric that only knows which prompts are hard agrees with people among clips of the same model."""
    inside = Estimate(0.4, 0.2, 0.6, p=0.001, n=4)
    beyond = metric_claim(pair_of(Estimate(0.5, 0.3, 0.7), inside, both=Estimate(0.35, 0.1, 0.5, p=0.004)))
    assert "agrees with people beyond what model and prompt explain: ρ 0.35 [0.10, 0.50], p 0.004; among" in beyond
    prompt = metric_claim(pair_of(Estimate(0.5, 0.3, 0.7), inside, both=Estimate(0.02, -0.2, 0.2, p=0.8)))
    assert "not shown beyond what the prompt explains (ρ 0.02 [−0.20, 0.20], p 0.800)" in prompt
    weak = metric_claim(pair_of(Estimate(0.5, 0.3, 0.7), inside, both=Estimate(0.3, 0.1, 0.5, p=0.02)), 13)
    assert "shows some agreement with people beyond what model and prompt explain, not significant after" in weak


def test_a_metric_of_the_difficulty_of_prompts_makes_no_first_claim() -> None:
    rng = np.random.default_rng(5)
    study = crossed_study(20, metric_noise={"sees": 0.3}, seed=3)
    prompts = np.repeat(rng.normal(size=20), 4)
    ratings = np.clip(np.round(study.ratings["motion"] + 1.5 * prompts[:, None]), 1, 9)
    scores = {"knows": prompts + 0.2 * rng.normal(size=80), "sees": study.scores["sees"] + prompts}
    report = align(replace(study, scores=scores, ratings={"motion": ratings}), resamples=100)
    first, second = (claim for claim in report.claims if claim.startswith(("knows on", "sees on")))
    assert first.startswith("sees on motion agrees with people beyond what model and prompt explain")
    assert second.startswith("knows on motion agrees with people among clips of the same model: ")
    assert "not shown beyond what the prompt explains" in second
    assert any(
        "the prompt alone, by other models' ratings of it, reaches mean ρ 0." in claim for claim in report.claims
    )


def test_a_mixture_of_the_metrics_is_corrected_for_itself_too() -> None:
    weak = Estimate(0.3, 0.1, 0.5, p=0.02)
    pairs = tuple(replace(pair_of(Estimate(0.5, 0.3, 0.7), both=weak), metric=f"m{number}") for number in range(6))
    report = replace(align(crossed_study(3), resamples=5), alignments=pairs, repeats={"m5": "made of the others"})
    claims = widest_claims(report)
    assert any(claim.startswith("m4 on") and "correction for 5 metrics" in claim for claim in claims)
    assert any(claim.startswith("m5 on") and "correction for 6 metrics" in claim for claim in claims)


def test_raters_who_part_from_the_others_are_claims_with_what_recovery_changes() -> None:
    study = crossed_study(25, raters=5, metric_noise={"good": 0.4}, seed=1)
    ratings = study.ratings["motion"].copy()
    ratings[:, 0] = 6 - ratings[:, 0]
    study = replace(study, ratings={"motion": ratings})
    report = align(study, resamples=200)
    (claim,) = (c for c in widest_claims(report, brief=True) if c.startswith("Outlying raters of motion: "))
    mean, recovered = report.agreements[0].recovered["good"]
    assert mean == report.alignments[0].spearman.value < recovered
    assert recovered == pytest.approx(align(study, resamples=5, mos="recovered").alignments[0].spearman.value)
    assert "rater0 rates against the others" in claim
    assert (
        f"--mos recovered weighs raters by their consistency and moves ρ over all clips: good {mean:.2f} to " in claim
    )
    assert not any("--mos" in c for c in align(study, resamples=200, mos="recovered").claims)


def test_a_p_that_correction_takes_away_is_said() -> None:
    pair = pair_of(Estimate(0.5, 0.3, 0.7, p=0.001, n=80), Estimate(0.4, 0.03, 0.7, p=0.03, n=4))
    assert "agrees with people among clips of the same model" in metric_claim(pair)
    weak = metric_claim(pair, 13)
    assert "shows some agreement with people among clips of the same model" in weak
    assert "not significant after correction for 13 metrics (p 0.390)" in weak
