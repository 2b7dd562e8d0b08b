"""Shares: what they hold and what they do not; pooling, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks import rating_pool
from benchmarks.rating_pool import MEAN, estimates, figures, house, study, together, truth, truths
from tests.rating.unplayed import made, with_raters
from vmmetrics.errors import SetupError
from vmmetrics.rating.forgetting import forget
from vmmetrics.rating.sharing import LEAST_RATERS, SHARES, Figure, Measured, Share, pool, read_share, share
from vmmetrics.rating.study import default_texts
from vmmetrics.utils.schema import plain
from vmmetrics.utils.statistics.bootstrap import Estimate
from vmmetrics.utils.statistics.meta_analysis import random_effects
from vmmetrics.utils.storage.atomic import write_json

SCORES = {
    "preset": "embedded", "protocol": "vmmetrics", "models and weights": "ab",
    **{f"version of {name}": "2" for name in ("mss", "pas", *(f"m{n}" for n in range(20)))},
}  # fmt: skip
GOOD = Measured("motion", "mss", "pooled", Estimate(0.5, 0.3, 0.65), 40, 20, [10] * 6, np.arange(40.0))


def shares(folder: Path, number: int = 2, **changes: Any) -> dict[str, Share]:
    """Return shares of studies of other clips, the last one changed."""
    shared = {f"s{n}": share(made(folder, first=1000 * n), [GOOD], SCORES)[0] for n in range(number)}
    last = f"s{number - 1}"
    return shared | {last: replace(shared[last], **changes)}


def test_a_share_has_figures_and_counts_and_no_name_vote_or_clip(tmp_path: Path) -> None:
    results = made(tmp_path)
    shared, withheld = share(results, [GOOD], SCORES)
    assert not withheld and (shared.raters, shared.sessions, len(shared.clips)) == (6, 6, 40)
    figure = shared.figures["motion"]["mss"]["pooled"]
    assert figure.z == pytest.approx(np.arctanh(0.5), abs=0.01)
    reach = (np.arctanh(0.65) - np.arctanh(0.3)) / 2
    assert figure.error == pytest.approx(reach / 2.1009, rel=1e-3)  # Student's t of 18 degrees of freedom
    text = json.dumps(plain(shared))
    for session in results.state.sessions.values():
        assert session.rater not in text and session.session not in text
    for clip in results.study.clips.values():
        assert clip.clip not in text and "secret" not in text and clip.sha256[:16] not in text and clip.id not in text
    assert results.study.keys["secret"] not in text and "votes" not in text
    assert shared.conditions["question of motion"] == default_texts()["acr_question"]
    assert "version of pas" not in shared.conditions  # not shared
    write_json(tmp_path / "a.json", plain(shared))
    assert read_share(tmp_path / "a.json") == shared


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"votes": [10] * 4}, "4 raters, of 5"),
        ({"votes": [100, 100, 1, 1, 1, 1]}, "2 raters, of 5"),  # the votes of two, nearly
        ({"clips": 29}, "29 clips, of 30"),
        ({"metric": "new"}, "the run states no version"),
        ({"prompts": 11}, "11 prompts, of 12"),
        ({"estimate": Estimate(None, note="the scores are all the same")}, "the scores are all the same"),
        ({"estimate": Estimate(1.0, 1.0, 1.0)}, "no figure of 40 clips"),
        ({"estimate": Estimate(0.5)}, "it has no interval"),
    ],
)
def test_what_is_below_a_threshold_is_left_out(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    other = GOOD._replace(metric="pas")
    shared, withheld = share(made(tmp_path), [GOOD, other._replace(**change)], SCORES)
    assert list(shared.figures["motion"]) == ["mss"] and len(withheld) == 1
    assert why in next(iter(withheld.values()))
    with pytest.raises(SetupError, match="nothing can be shared"):
        share(made(tmp_path, first=1), [GOOD._replace(**change)], SCORES)


def test_no_more_figures_than_half_the_clips(tmp_path: Path) -> None:
    """Each figure is an equation in the mean ratings, for whoever knows the scores; also over several shares."""
    results = made(tmp_path)
    many = [GOOD._replace(metric=f"m{n}") for n in range(20)]
    shared, withheld = share(results, many[:5], SCORES)
    assert len(shared.figures["motion"]) == 5 and not withheld
    shared, withheld = share(results, many, SCORES)
    assert len(shared.figures["motion"]) == 40 // 6 and len(withheld) == 20 - 40 // 6
    with pytest.raises(SetupError, match="too many"):
        share(results, many[10:], SCORES)


def test_a_metric_of_another_version_is_another_one(tmp_path: Path) -> None:
    """Figures of other scores are other equations, whatever they are called; those of the same scores are the same."""
    results = made(tmp_path)
    for _ in range(8):
        share(results, [GOOD], {**SCORES, "preset": "other"})
    for number in range(1, 40 // 6):
        share(results, [GOOD._replace(scores=GOOD.scores * number + (GOOD.scores > 2 * number))], SCORES)
    with pytest.raises(SetupError, match="too many"):
        share(results, [GOOD._replace(scores=-GOOD.scores)], SCORES)
    share(results, [GOOD], SCORES)


def test_references_of_other_models_are_other_designs(tmp_path: Path) -> None:
    designs = [
        share(made(tmp_path, first=100 * n, design="dcr", reference=f"m{n}"), [GOOD], SCORES)[0].conditions["design"]
        for n in range(2)
    ]
    assert designs[0] != designs[1] and all("dcr" in one and "m0" not in one for one in designs)


def test_two_shares_differ_by_enough_raters_or_by_none(tmp_path: Path) -> None:
    results = made(tmp_path)
    first, _ = share(results, [GOOD], SCORES)
    assert share(results, [GOOD], SCORES)[0] == first
    path = results.study.path
    with pytest.raises(SetupError, match="votes of 4 raters were added or removed"):
        share(with_raters(path, LEAST_RATERS - 1), [GOOD], SCORES)
    assert share(with_raters(path, 1), [GOOD], SCORES)[0].raters == 6 + LEAST_RATERS
    gone = results.counted[0].rater
    forget(results.study, gone)
    with pytest.raises(SetupError, match="votes of 1 raters"):
        share(with_raters(path, 0), [GOOD], SCORES)
    assert gone not in (path / SHARES).read_text()


def test_pooled_figures_are_those_of_the_meta_analysis(tmp_path: Path) -> None:
    figure = Figure(0.2, 0.1, 50, 20, 9)
    given = shares(tmp_path, 3, figures={"motion": {"mss": {"pooled": figure, "preference": figure}}})
    (cell,) = pool(given)
    assert (cell.dimension, cell.metric, cell.level, len(cell.studies)) == ("motion", "mss", "pooled", 3)
    values = [one.figures["motion"]["mss"]["pooled"] for one in given.values()]
    expected = random_effects(np.array([one.z for one in values]), np.array([one.error for one in values]))
    assert cell.result.mean == expected.mean
    assert cell.estimates()["all studies"].value == pytest.approx(np.tanh(expected.mean))
    assert cell.estimates()["s2"].low == pytest.approx(np.tanh(0.2 - 1.96 * 0.1), abs=1e-4)
    shown = cell._replace(level="preference")
    assert shown.shown(0.0) == 0.5 and shown.shown(np.arctanh(0.4)) == pytest.approx(0.7)  # 2 · 0.7 − 1 = 0.4


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ({"preset": "vmbench"}, "preset: embedded (s0); vmbench (s1)"),
        ({"protocol": "vmbench"}, "protocol: vmmetrics (s0); vmbench (s1)"),
        ({"version of mss": "3"}, "version of mss: 2 (s0); 3 (s1)"),
        ({"question of motion": "Is it good?"}, "question of motion: "),
        ({"design": "acr, 9 levels"}, "design: acr, 5 levels (s0); acr, 9 levels (s1)"),
    ],
)
def test_unlike_studies_are_not_pooled(tmp_path: Path, conditions: dict[str, str], why: str) -> None:
    given = shares(tmp_path)
    changed = replace(given["s1"], conditions={**given["s1"].conditions, **conditions})
    with pytest.raises(SetupError) as refused:
        pool({"s0": given["s0"], "s1": changed})
    assert why in str(refused.value) and "pool those apart that differ" in str(refused.value)


@pytest.mark.parametrize("name", ["all studies", "another study"])
def test_a_study_is_not_named_as_a_pooled_figure(name: str, tmp_path: Path) -> None:
    given = shares(tmp_path, 3)
    with pytest.raises(SetupError, match=f"{name}: give its file another name"):
        pool({name: given.pop("s0"), **given})


def test_nothing_counts_twice(tmp_path: Path) -> None:
    results = made(tmp_path)
    one, _ = share(results, [GOOD], SCORES)
    later, _ = share(with_raters(results.study.path, 5), [GOOD], SCORES)
    overlapping, _ = share(made(tmp_path, first=39), [GOOD], SCORES)
    apart, _ = share(made(tmp_path, first=500), [GOOD], SCORES)
    keyed, _ = share(made(tmp_path, first=700), [GOOD], SCORES, key="ours")
    assert len(pool({"one": one, "apart": apart})) == 1
    for other, why in ((later, "of one study: give the later"), (overlapping, "1 clips in common (of 40 and 40)"),
                       (keyed, "share again with one --key")):  # fmt: skip
        with pytest.raises(SetupError, match=why.replace("(", r"\(").replace(")", r"\)")):
            pool({"one": one, "other": other})
    assert not {*keyed.clips} & {*share(made(tmp_path / "b", first=700), [GOOD], SCORES)[0].clips}


def edited(folder: Path, change: Any) -> Path:
    value = plain(share(made(folder), [GOOD], SCORES)[0])
    change(value)
    (folder / "hostile.json").write_text(json.dumps(value))
    return folder / "hostile.json"


def first(value: Any) -> Any:
    return value["figures"]["motion"]["mss"]["pooled"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda v: first(v).update(error=1e-9), "no figure of 40 clips"),  # would have all the weight
        (lambda v: first(v).update(error=-0.1), "no figure of 40 clips"),
        (lambda v: first(v).update(z=1e9), "no figure of 40 clips"),
        (lambda v: first(v).update(z="0.5"), "expected a finite number"),
        (lambda v: first(v).update(clips=3), "rests on too few"),
        (lambda v: first(v).update(raters=0), "rests on too few"),
        (lambda v: first(v).update(clips=True), "expected a whole number"),
        (lambda v: v.update(format=2, figures=[]), "another version"),
        (lambda v: v.update(raters=-5), "-5 raters cannot"),
        (lambda v: v.update(sessions=0), "0 sessions"),
        (lambda v: v.update(clips=v["clips"][:1]), "more clips, prompts or raters"),
        (lambda v: first(v).update(prompts=41), "more clips, prompts or raters"),
        (lambda v: first(v).update(raters=7), "more clips, prompts or raters"),
        (lambda v: v.update(clips=[]), "expected hashes"),
        (lambda v: v.update(clips=["a", "a"]), "expected hashes"),
        (lambda v: v.pop("study"), "study: expected a value"),
        (lambda v: v.update(conditions=[]), "conditions: expected an object"),
        (lambda v: v["conditions"].pop("preset"), "there is no preset"),
        (lambda v: v["conditions"].pop("version of mss"), "there is no version of mss"),
        (lambda v: v["conditions"].pop("question of motion"), "there is no question of motion"),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, change: Any, why: str) -> None:
    with pytest.raises(SetupError, match=why):
        read_share(edited(tmp_path, change))


def test_unknown_levels_are_left_alone(tmp_path: Path) -> None:
    given = shares(tmp_path)
    extra = {"motion": {"mss": {**given["s0"].figures["motion"]["mss"], "later": Figure(0.2, 0.1, 50, 20, 9)}}}
    assert len(pool({name: replace(one, figures=extra) for name, one in given.items()})) == 1


def test_thirty_houses_are_pooled_as_their_raw_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty simulated houses whose agreement differs: within 0.01 of the raw data together, on average of studies."""
    monkeypatch.setattr(rating_pool, "TRUTH_PROMPTS", 500)
    apart = []
    for seed in range(2):
        shared, central = study(0.1, seed)
        apart += [abs(np.tanh(random_effects(*shared[level].T).mean) - central[level].value) for level in central]
    assert np.mean(apart) < 0.01
    assert truth("pooled", 0.1) == pytest.approx(MEAN, abs=1e-3)
    truths.cache_clear()


def test_the_error_of_a_house_is_that_of_its_repetitions() -> None:
    rng = np.random.default_rng(0)
    shared = [figures(house(0.5, 30, rng)) for _ in range(40)]
    for level in shared[0]:
        values = np.array([one[level] for one in shared])
        assert values[:, 0].std(ddof=1) == pytest.approx(values[:, 1].mean(), rel=0.3)


def test_means_of_small_groups_are_not_too_small_on_average() -> None:
    """Spearman's ρ of normal variables is 6 / π · asin(r / 2) in many clips, and less in 24; mean of four models."""
    rng, true = np.random.default_rng(0), np.arctanh(6 / np.pi * np.arcsin(0.6 / 2))
    first = rng.normal(size=(10_000, 4, 24))
    second = 0.6 * first + 0.8 * rng.normal(size=first.shape)
    ranks = [stats.rankdata(side, axis=-1) for side in (first, second)]
    values = 1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum(axis=-1).mean(axis=1) / (24 * (24**2 - 1))
    error, reach = np.arctanh(values).std(), stats.t.ppf(0.975, 22)
    ends = [np.tanh(np.arctanh(values) + side * reach * error) for side in (-1, 1)]
    shared = [
        Measured("motion", "mss", "within_model", Estimate(*three, n=4), 96, 24, [96] * 6, np.empty(0)).figure()
        for three in zip(values.tolist(), *(end.tolist() for end in ends), strict=True)
    ]
    assert np.mean([one.z for one in shared]) == pytest.approx(true, abs=0.004)
    assert np.arctanh(values).mean() < true - 0.02
    assert np.mean([one.error for one in shared]) == pytest.approx(error, rel=0.01)


def test_raw_data_together() -> None:
    rng = np.random.default_rng(0)
    parts = [house(0.5, 12, rng, f"{n}/") for n in range(2)]
    both = together(parts)
    assert len(both.ratings) == 96 and len(set(both.prompts)) == 24 and set(both.models) == set(parts[0].models)
    assert estimates(both, 2)["pooled"].n == 96
