"""Designs: votes that differ by one at most, orders and sides without a bias, gold and checks in their places."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from tests.rating.made import sources, study
from vmmetrics.errors import SetupError
from vmmetrics.rating import DESIGNS
from vmmetrics.rating.designs import Design, design_of, shown_sources
from vmmetrics.rating.study import Settings
from vmmetrics.rating.trials import Trial
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE

RATERS = 200


@pytest.fixture(scope="module", params=DESIGNS)
def design(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Design:
    folder = tmp_path_factory.mktemp(request.param)
    return design_of(study(folder, request.param, prompts=5, models=4, items=7, gold=2, traps=2, repeats=2))


@pytest.fixture(scope="module")
def sessions(design: Design) -> list[tuple[Trial, ...]]:
    """Return the sessions of many raters, each after those before."""
    rng = np.random.default_rng(0)
    counts, shown, made = Counter[str](), Counter[tuple[str, ...]](), []
    for _ in range(RATERS):
        trials = design.session(counts, [], shown, rng)
        counts.update(trial.item for trial in trials if trial.kind == "item")
        shown.update(trial.media for trial in trials if trial.kind == "item")
        votes = [counts[key] for key in design.items]
        assert max(votes) - min(votes) <= 1
        made.append(trials)
    return made


def test_a_session_has_what_was_asked_for(design: Design, sessions: list[tuple[Trial, ...]]) -> None:
    for trials in sessions:
        kinds = Counter(trial.kind for trial in trials)
        assert kinds == {"item": 7, "gold": 2, "trap": 2, "repeat": 2}
        assert not {trial.item for trial in trials if trial.kind == "trap"} & {t.item for t in trials if t.is_vote}
        assert trials[0].kind not in ("gold", "trap") and trials[-1].kind not in ("gold", "trap")
        items = [trial.item for trial in trials if trial.kind == "item"]
        assert len(set(items)) == len(items)
        for at, trial in enumerate(trials):
            if trial.kind == "repeat":
                first = next(n for n, one in enumerate(trials) if one.kind == "item" and one.item == trial.item)
                assert at - first >= 2
                assert trial.media == trials[first].media[:: 1 if design.opinions else -1]


def test_a_check_of_a_session_with_every_item_is_one_of_them(tmp_path: Path) -> None:
    design = design_of(study(tmp_path, prompts=1, models=2))
    trials = design.session({}, [], Counter(), np.random.default_rng(0))
    assert sum(trial.kind == "trap" for trial in trials) == 2


def test_every_item_is_as_often_early_as_late(design: Design, sessions: list[tuple[Trial, ...]]) -> None:
    table = defaultdict(lambda: np.zeros(7))
    for trials in sessions:
        for place, trial in enumerate(one for one in trials if one.kind == "item"):
            table[trial.item][place] += 1
    statistics = [chisquare(places).statistic for places in table.values()]
    expected, degrees = 6.0, len(statistics) * 6  # the sum is chi-squared
    assert abs(sum(statistics) - expected * len(statistics)) < 4 * np.sqrt(2 * degrees)


def test_gold_and_checks_are_anywhere(sessions: list[tuple[Trial, ...]]) -> None:
    places = Counter(at for trials in sessions for at, trial in enumerate(trials) if trial.kind in ("gold", "trap"))
    assert set(places) == set(range(1, 12))
    assert chisquare(list(places.values())).pvalue > 1e-4


def test_sides_are_balanced(design: Design, sessions: list[tuple[Trial, ...]]) -> None:
    if design.opinions:
        pytest.skip("there are no sides")
    shown = Counter(trial.media for trials in sessions for trial in trials if trial.kind == "item")
    for item in design.items.values():
        assert abs(shown[item.clips] - shown[item.clips[::-1]]) <= 1
    models = Counter[str]()
    for left, right in shown.elements():
        models[design.study.clips[left].model or ""] += 1
        models[f"-{design.study.clips[right].model}"] += 1
    for model in ("m0", "m1", "m2", "m3"):
        assert chisquare([models[model], models[f"-{model}"]]).pvalue > 0.05
    gold = Counter(trial.expected for trials in sessions for trial in trials if trial.kind == "gold")
    ends = {min(design.values), max(design.values)}
    assert chisquare([gold[end] for end in ends]).pvalue > 1e-3 and set(gold) == ends


def test_the_reference_comes_first_and_is_of_the_same_prompt(tmp_path: Path) -> None:
    design = design_of(study(tmp_path, "dcr", prompts=3, models=3, items=6, gold=3, traps=2, repeats=2))
    rng, clips = np.random.default_rng(0), design.study.clips
    trials = [t for _ in range(20) for t in design.session({}, [], Counter(), rng) + design.training(rng, [])]
    assert {trial.kind for trial in trials} == {"item", "gold", "trap", "repeat", "training"}
    for trial in trials:
        reference, rated = (clips[identity.removesuffix("-broken")] for identity in trial.media)
        assert reference.model == "m0" and reference.prompt == rated.prompt and reference.id == trial.media[0]
        assert rated.model != "m0" or trial.expected == 1  # of the reference, the gold version alone
    assert len(design.items) == 6
    lone = sources(tmp_path / "more", 3, 2)[:5]  # the last prompt has no other model
    settings = Settings("dcr", "c", "l", reference="m0")
    assert [one.clip for one in shown_sources(lone, settings)] == ["m0/0.npy", "m0/1.npy", "m1/0.npy", "m1/1.npy"]
    with pytest.raises(SetupError, match="give --reference MODEL"):
        shown_sources(lone, replace(settings, reference="nobody"))


def test_sessions_spread_over_prompts_and_models(design: Design, sessions: list[tuple[Trial, ...]]) -> None:
    neighbours, spread = [], []
    for trials in sessions[:1]:
        items = [design.items[trial.item] for trial in trials if trial.kind == "item"]
        spread.append(max(Counter(item.prompt for item in items).values()))
    for trials in sessions:
        items = [design.items[trial.item] for trial in trials if trial.kind == "item"]
        neighbours.append(sum(a.prompt == b.prompt for a, b in pairwise(items)))
    assert spread == [2]  # seven items of five prompts
    assert np.mean(neighbours) < 0.5


def test_a_rater_gets_nothing_twice(design: Design) -> None:
    rng = np.random.default_rng(1)
    seen: list[str] = []
    while trials := design.session({}, seen, Counter(), rng):
        items = [trial.item for trial in trials if trial.kind == "item"]
        if not items:
            break
        assert not set(items) & set(seen)
        seen += items
    assert set(seen) == set(design.items)


def test_training_shows_the_range_beside_the_session(design: Design) -> None:
    rng = np.random.default_rng(2)
    items = list(design.items)[:4]
    trials = design.training(rng, items)
    assert len(trials) == 3 and all(trial.kind == "training" for trial in trials)
    assert sum(trial.expected is not None for trial in trials) == 1
    assert not {trial.item for trial in trials if trial.expected is None} & set(items)


@pytest.mark.parametrize(
    ("design", "setting"), [("acr", {"active": 0.5}), ("acr", {"stop_error": 1.0}), ("pair", {"levels": 9})]
)
def test_a_setting_of_other_designs_is_refused(design: str, setting: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=f"{design} has no --{next(iter(setting)).replace('_', '-')}"):
        shown_sources(sources(tmp_path), Settings(design, "c", "l", **setting))


def test_pairs_are_within_a_prompt_and_if_asked_within_a_model(tmp_path: Path) -> None:
    across = design_of(study(tmp_path / "a", "pair", prompts=2, models=3))
    assert len(across.items) == 2 * 3
    for item in across.items.values():
        one, other = (across.study.clips[identity] for identity in item.clips)
        assert one.prompt == other.prompt and one.model != other.model


@pytest.mark.parametrize(("levels", "value", "right"), [(5, 2, True), (5, 3, False), (9, 3, True), (9, 4, False)])
def test_gold_of_a_scale_has_a_tolerance(levels: int, value: int, right: bool, tmp_path: Path) -> None:
    design = design_of(study(tmp_path, levels=levels))
    assert design.is_right(design.gold_trial(design.gold[0], np.random.default_rng(0)), value) is right


def test_agreement_and_habits(tmp_path: Path) -> None:
    acr = design_of(study(tmp_path / "a"))
    others = {key: [n % 5 + 1] * 3 for n, key in enumerate(acr.items)}
    same = acr.agreement({key: votes[0] for key, votes in others.items()}, others)
    turned = acr.agreement({key: 6 - votes[0] for key, votes in others.items()}, others)
    assert same is not None and turned is not None
    assert same[0] == pytest.approx(1) and turned[0] == pytest.approx(-1) and turned[1] < 0.5 <= same[1]
    assert acr.agreement({"c00001": 3}, others) is None
    assert acr.straight([3] * 8)[1] is False and acr.straight([1, 5] * 4)[1] is acr.straight([3] * 7)[1] is True
    pair = design_of(study(tmp_path / "p", "pair"))
    assert pair.straight([LEFT] * 12)[1] is False and pair.straight([LEFT] * 8)[1] is True
    assert pair.straight([TIE] * 12)[1] is False and pair.straight([LEFT, RIGHT] * 6)[1] is True
    assert pair.steady([(LEFT, RIGHT), (LEFT, TIE)]) == (0, True)  # sides were swapped
    assert pair.steady([(LEFT, LEFT)] * pair.settings.repeats) == (2, False)  # a limit that can be failed
    assert pair.steady([(LEFT, LEFT), (LEFT, RIGHT)]) == (1, True)
    ccr = design_of(study(tmp_path / "c", "ccr"))
    assert ccr.straight([1, 2, 3] * 4)[1] is ccr.straight([0] * 12)[1] is False and ccr.straight([2, -1] * 6)[1] is True
    assert ccr.steady([(3, -1), (1, 0), (2, 1)]) == (1, True)
    others = {key: [-1, -2, 0] for key in ccr.items}
    agreed = ccr.agreement(dict.fromkeys(ccr.items, -3), others)
    assert agreed is not None and agreed[0] == 1
    gold = Trial("gold", ccr.gold[0], (ccr.gold[0], f"{ccr.gold[0]}-broken"), -3)
    assert [ccr.is_right(gold, value) for value in ccr.values] == [True, True, *[False] * 5]
