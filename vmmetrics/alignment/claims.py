"""Claims that a study supports, in plain sentences, each with the numbers it rests on.

A claim is made where the 95 % interval leaves out what would refute it, and the p value, where there is one, agrees.
From wide to narrow: a metric agrees with people where it is known which model made each clip from which prompt; among
clips of the same model, which knowing the hard prompts may explain; beyond differences between models, or no more than
they explain; nothing is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np
from scipy.stats import binom

from vmmetrics.alignment import results
from vmmetrics.alignment.power import Power
from vmmetrics.alignment.readers.columns import measures_amount
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.utils.display.tables import number, p_value
from vmmetrics.utils.statistics.bootstrap import Estimate

LEVEL = 0.05
"""Significance level of each test."""
MANY_METRICS = 5
"""Minimum metrics on a dimension to state the probability of a chance finding."""
LEAST_OFF_MODE = 5
"""Minimum clips off the commonest score and off the commonest judgement for a claim."""
LISTED = 5
"""Maximum significant pairs of metrics named, the best metrics first; the table lists all."""
_TOSS = 0.5
_BY_CHANCE = LEVEL / 2  # a metric without use comes out above 0, with an interval of 95 %


BRIEF_METRICS = 2
"""Maximum metrics per dimension with a claim on a terminal."""


def widest_claims(report: StudyReport, brief: bool = False) -> tuple[str, ...]:
    """Return sentences on what the data support and what they do not.

    Args:
        report: Everything that was found.
        brief: For a terminal: the best metrics of each dimension and what to read them against; not what the size of
            the study allows.

    Returns:
        Sentences: per dimension each metric's widest claim, what the models' names are worth, what people reach, which
        metrics can be told apart; then what the number of models and of clips allows.
    """
    claims: list[str] = []
    rated = list(dict.fromkeys(pair.dimension for pair in report.alignments))
    for dimension in rated:
        pairs = report.ranked(dimension)
        counted = [pair for pair in pairs if pair.metric not in report.repeats and not hardly_varies(pair)]
        shown = pairs[:BRIEF_METRICS] if brief else pairs
        claims += [metric_claim(pair, len(counted) + (pair not in counted)) for pair in shown]
        claims += [chance_claim(counted, len(pairs) - len(counted))]
        claims += [name_claim(base, pairs) for base in report.baselines if base.dimension == dimension]
        claims += [prompt_claim(base, pairs) for base in report.prompt_baselines if base.dimension == dimension]
        tops = [list(human_agreement_claim(top)) for top in report.ceilings if top.dimension == dimension]
        claims += [claim for top in tops for claim in (top[:1] if brief else top)]
        claims += [rater_claim(each, pairs) for each in report.agreements if each.dimension == dimension]
        claims += [preference_baseline_claim([e for e in report.preferences if e.dimension == dimension])]
        apart = difference_claims([d for d in report.differences if d.dimension == dimension], report)
        claims += [] if brief else apart
    claims += [preference_claim(e) for e in report.preferences if e.dimension not in rated and not e.baseline]
    if brief:
        return tuple(dict.fromkeys(filter(None, claims)))
    claims = [*widest_claims(report, brief=True), *claims]
    claims += [model_claim(report.models)] if report.models > 1 else []
    claims += [claim for power in report.powers for claim in power_claim(power, report.clips)]
    return tuple(dict.fromkeys(filter(None, claims)))


def hardly_varies(pair: results.PairAlignment) -> bool:
    """Return True if a correlation rests on too few clips off the commonest score or rating to carry a claim."""
    return pair.spearman.value is not None and pair.off_mode < LEAST_OFF_MODE


def metric_claim(pair: results.PairAlignment, metrics: int = 1) -> str:
    """Return the widest claim for one metric on one dimension.

    Args:
        pair: What was found.
        metrics: How many were looked at: p is raised for them (Bonferroni).
    """
    about, pooled, inside = f"{pair.metric} on {pair.dimension}", pair.spearman, pair.within_model.mean
    both = pair.without_both
    if pooled.value is None:
        return f"{about}: undefined: {pooled.note}."
    if hardly_varies(pair):
        return (
            f"{about}: too few distinct values: only {pair.off_mode} of {pooled.n} clips "
            f"{'has' if pair.off_mode == 1 else 'have'} a {pair.rarest} other than the commonest; a claim needs "
            f"{LEAST_OFF_MODE}."
        )
    if pooled.low is None:
        return f"{about}: {_figure(pooled)} over these {pooled.n} clips, not generalisable: {pooled.note}."
    if above(both) or above(inside):
        tested = both if above(both) else inside
        raised = None if tested.p is None else min(1.0, tested.p * metrics)
        weak = raised is not None and raised >= LEVEL
        caveat = f", not significant after correction for {metrics} metrics (p {p_value(raised)})" if weak else ""
        agrees = f"{about} {'shows some agreement' if weak else 'agrees'} with people"
        within = f"mean {_figure(inside)} over {inside.n} model{'s' * (inside.n != 1)}"
        calm = _where_defined(pair.amplitude_constant, "within models with amplitude held constant")
        rest = f"{_figure(pooled)} over all clips{calm}{_rests_on_one(pair)}"
        if above(both):
            among = "" if inside.value is None else f"; among clips of the same model, {within}"
            return f"{agrees} beyond what model and prompt explain{caveat}: {_figure(both)}{among}; {rest}."
        prompts = "" if both.value is None else f"; not shown beyond what the prompt explains ({_figure(both)})"
        return f"{agrees} among clips of the same model{caveat}: {within}{prompts}; {rest}."
    narrow = _not_inside(inside, pair.smallest)
    if below(pooled):
        how = ": more of it goes with lower ratings" if measures_amount(pair.metric) else " runs against people"
        return f"{about}{how}: {_figure(pooled)} over {pooled.n} clips{_shuffled(pair)}; {narrow}."
    if not above(pooled):
        return f"{about}: no agreement with people is shown: {_figure(pooled)} over {pooled.n} clips; {narrow}."
    if inside.value is None:
        return (
            f"{about} agrees with people over all clips ({_figure(pooled)}); the share due to differences between "
            f"models is unknown: {inside.note}."
        )
    return f"{about} {_beside_models(pair)}; {narrow}{_rests_on_one(pair)}."


def _where_defined(figure: Estimate, of_what: str) -> str:
    return "" if figure.value is None else f"; {_figure(figure)} {of_what}"


def above(figure: Estimate) -> bool:
    """Return True if the interval of a correlation lies above 0."""
    return figure.low is not None and figure.low > 0 and (figure.p is None or figure.p < LEVEL)


def below(figure: Estimate) -> bool:
    """Return True if the interval of a correlation lies below 0."""
    return figure.high is not None and figure.high < 0 and (figure.p is None or figure.p < LEVEL)


def _beside_models(pair: results.PairAlignment) -> str:
    """Compare a pooled correlation above 0 with what telling the models apart gives."""
    pooled, null = _figure(pair.spearman), pair.shuffled
    if null.high is None or pair.spearman.value is None:
        return f"agrees with people over all clips ({pooled})"
    beside = "agrees with people over all clips no more than differences between models explain"
    if pair.spearman.value > null.high:
        beside = "agrees with people beyond differences between models, judged by shuffling"
    beyond = _where_defined(pair.without_both, "with model and prompt taken out")
    return f"{beside}: {pooled} over all clips{_shuffled(pair)}{beyond}"


def _shuffled(pair: results.PairAlignment) -> str:
    """Return as text the pooled correlation when ratings are shuffled inside each model."""
    null = pair.shuffled
    if null.value is None or null.low is None:
        return ""
    reached = f"{number(null.value)} [{number(null.low)}, {number(null.high)}]"
    return f", where ratings shuffled inside each model give {reached}"


def _not_inside(inside: Estimate, smallest: float | None) -> str:
    """Return a sentence saying that no agreement within models is shown, and the smallest one that would have been."""
    if inside.value is None:
        return f"agreement within models is undefined ({inside.note})"
    if below(inside):
        return f"among clips of the same model it runs against people (mean {_figure(inside)})"
    seen = "" if smallest is None else f"; below about {number(smallest)} it is not significant here"
    return f"agreement among clips of the same model is not shown (mean {_figure(inside)}{seen})"


def _rests_on_one(pair: results.PairAlignment) -> str:
    """Return as text the single model on which a pooled correlation above 0 rests, if there is one."""
    if not above(pair.spearman):
        return ""
    fallen = [
        (rest.value, name, rest)
        for name, rest in pair.without_model.items()
        if rest.value is not None and rest.low is not None and rest.low <= 0
    ]
    if not fallen:
        return ""
    _, name, rest = min(fallen, key=itemgetter(0))
    return f"; over all clips it rests on {name}, without which {_figure(rest)}"


def chance_claim(pairs: Sequence[results.PairAlignment], left_out: int) -> str:
    """Return how many of many metrics agree with people, and how likely chance makes as many; else empty.

    Args:
        pairs: The metrics on one dimension, without repeats.
        left_out: How many repeat others or hardly vary.
    """
    tested = [(pair, pair.without_both) for pair in pairs if pair.without_both.value is not None]
    where = "beyond what model and prompt explain"
    if not tested:
        tested, where = [(pair, pair.within_model.mean) for pair in pairs], "among clips of the same model"
    passed = [pair.metric for pair, figure in tested if above(figure)]
    if len(tested) < MANY_METRICS or not passed:
        return ""
    but = f" ({left_out} that repeat or mix others, or hardly vary, not counted)" if left_out else ""
    chance = float(binom.sf(len(passed) - 1, len(tested), _BY_CHANCE))
    return (
        f"Of {len(tested)} metrics compared with {pairs[0].dimension}{but}, {len(passed)} ({', '.join(passed)}) "
        f"agree{'s' * (len(passed) == 1)} with people {where} at p < {LEVEL}; of as many unrelated ones, independent "
        f"of each other, at least {len(passed)} would with a probability of {chance:.1%}."
    )


def name_claim(base: results.NameBaseline, pairs: Sequence[results.PairAlignment]) -> str:
    """Return a sentence that compares the metrics with a prediction from the model's name alone; else empty."""
    if base.overall.value is None:
        return ""
    return (
        f"On {base.dimension} a prediction from the model's name alone reaches {_figure(base.overall)} "
        f"over all clips, {_reached(base.overall.value, [(p.metric, p.spearman) for p in pairs])}."
    )


def prompt_claim(base: results.PromptBaseline, pairs: Sequence[results.PairAlignment]) -> str:
    """Return a sentence that compares the metrics with the other models' ratings of a prompt; else empty."""
    inside = base.within_model
    if inside.value is None or inside.value <= 0:
        return ""
    return (
        f"On {base.dimension} the prompt alone, by other models' ratings of it, reaches mean {_figure(inside)} among "
        f"clips of the same model, {_reached(inside.value, [(p.metric, p.within_model.mean) for p in pairs])}."
    )


def _reached(value: float, figures: Sequence[tuple[str, Estimate]]) -> str:
    better = [metric for metric, figure in figures if figure.value is not None and figure.value > value]
    return f"less than {', '.join(better)}" if better else "and no metric here reaches more"


def rater_claim(people: results.Agreement, pairs: Sequence[results.PairAlignment]) -> str:
    """Return a sentence on outlying raters and what MOS recovery changes; empty if there are none."""
    if not people.outlying:
        return ""
    odd = [f"{rater.rater} {rater.reason}" for rater in people.outlying[:LISTED]]
    odd += [f"{len(people.outlying) - LISTED} more"] if len(people.outlying) > LISTED else []
    found = [p.metric for p in pairs if p.metric in people.recovered][:LISTED]
    moved = ", ".join(f"{metric} {' to '.join(map(number, people.recovered[metric]))}" for metric in found)
    after = f". --mos recovered weighs raters by their consistency and moves ρ over all clips: {moved}" if moved else ""
    return f"Outlying raters of {people.dimension}: {'; '.join(odd)}{after}."


def preference_baseline_claim(entries: Sequence[results.PreferenceAccuracy]) -> str:
    """Return a sentence comparing the best metric's pairs with the model's name and one rater; empty without either."""
    accuracies = [(e.accuracy.value, e) for e in entries if e.accuracy.value is not None]
    metrics = [
        (value, e) for value, e in accuracies if not e.baseline and not e.combination and e.accuracy.low is not None
    ]
    beside = []
    for e in (e for _, e in accuracies if e.baseline):
        decided = f"{number(e.decided)} of the {e.pairs - e.metric_ties} decided"
        ties = f" ({e.metric_ties} ties count half; {decided})" if e.metric_ties and e.decided is not None else ""
        beside.append(f"{e.name} in {_interval(e.accuracy)} of {e.pairs}{ties}")
    if not metrics or not beside:
        return ""
    most, best = max(metrics, key=itemgetter(0))
    names = [e.name for value, e in metrics if value == most and e.pairs == best.pairs]
    return (
        f"Of two clips on {best.dimension} the best metric{'s' * (len(names) > 1)}, {' and '.join(names)}, "
        f"prefer{'s' * (len(names) == 1)} the one that people prefer in {_interval(best.accuracy)} of {best.pairs} "
        f"pairs; {', '.join(beside)}. Clips of one prompt are by different models, so only a share above the name's "
        "shows more than telling models apart; ρ within model tests that."
    )


def human_agreement_claim(top: results.HumanAgreement) -> Iterator[str]:
    """Yield sentences on human agreement, as a reading aid."""
    if top.overall.value is None:
        return
    inside = top.within_model
    among = f" and {_figure(inside)} on clips of one model" if inside.value is not None else ""
    yield (
        f"Human agreement: on {top.dimension} one rater agrees with the mean of the others at {_figure(top.overall)} "
        f"over all clips{among}."
    )
    full = top.split_half_full.value
    inner = top.within_model_full.value
    also = f" and {number(math.sqrt(inner))} on clips of one model" if inner is not None and inner > 0 else ""
    if full is not None and full > 0:
        yield (
            f"The mean rating of {top.dimension} has a reliability of {number(full)}, so a perfect metric "
            f"would reach about ρ {number(math.sqrt(full))} over all clips{also}."
        )


def difference_claims(differences: Sequence[results.MetricDifference], report: StudyReport) -> list[str]:
    """Return sentences on which metrics differ at p < 0.05 after Holm, and how close two may be without doing so."""
    claims = []
    for words, level in (("over all clips", "pooled"), ("on clips of one model", "within_model")):
        estimates: list[tuple[results.MetricDifference, Estimate]] = [(d, getattr(d, level)) for d in differences]
        widths = [e.high - e.low for _, e in estimates if e.low is not None and e.high is not None]
        if not widths:
            continue
        about = f"on {differences[0].dimension} {words}"
        seen = [(d, e) for d, e in estimates if (p := getattr(d, f"{level}_holm")) is not None and p < LEVEL]
        apart = [_ordered(d, figure) for d, figure in seen[:LISTED]]
        more = [f"{len(seen) - LISTED} pairs more"] if len(seen) > LISTED else []
        pairs = f"{len(widths)} pair{'s' * (len(widths) > 1)} of metrics"
        claims.append(
            f"Significant differences {about}, of {pairs} (p < {LEVEL} after Holm): {'; '.join([*apart, *more])}."
            if apart
            else f"None of {pairs} differs {about} (p < {LEVEL} after Holm)."
        )
        half = [number(float(part) / 2) for part in (min(widths), np.median(widths), max(widths))]
        claims.append(
            f"Intervals of differences {about} have a half-width of {half[1]} (median over pairs; {half[0]} to "
            f"{half[2]}) with {report.clips} clips of {report.prompts} prompts."
        )
    return claims


def _ordered(difference: results.MetricDifference, figure: Estimate) -> str:
    """Return a sentence on which of two metrics is ahead and by how much."""
    first, second = difference.first, difference.second
    if (figure.value or 0.0) < 0:
        first, second = second, first
        value, low, high = (-(end or 0.0) for end in (figure.value, figure.high, figure.low))
        figure = Estimate(value, low, high)
    return f"{first} above {second} by {_interval(figure)}"


def preference_claim(entry: results.PreferenceAccuracy) -> str:
    """Return the claim for a dimension that people judged by pairs alone."""
    about, share = f"{entry.name} on {entry.dimension}", entry.accuracy
    if share.value is None:
        return f"{about}: undefined: {share.note}."
    counted = f"{_interval(share)} of {entry.pairs} pairs"
    if share.low is None or share.high is None:
        return f"{about}: prefers what people prefer in {counted}, not generalisable: {share.note}."
    if share.low > _TOSS:
        return f"{about} prefers the clip that people prefer in {counted}."
    if share.high < _TOSS:
        return f"{about} prefers the clip that people do not, and is right in only {counted}."
    return f"{about}: not shown to be better than chance: right in {counted}."


def model_claim(models: int) -> str:
    """Return a sentence on whether there are enough models to establish an order of models."""
    orders = math.factorial(models) if models <= 12 else math.inf  # far below any level by then
    p = 2 / orders
    if p >= LEVEL:
        return (
            f"{models} models cannot establish a ranking of models: p of an order cannot fall below {p:.2g}, 2 of "
            f"{orders} orders."
        )
    return f"{models} models can show that a metric ranks these models as people do, but not others."


def power_claim(power: Power, clips: int) -> Iterator[str]:
    """Return a sentence on what the number of clips allows."""
    needed = "" if power.clips is None else f"; 80 % needs {power.clips} clips"
    prompts = "" if power.prompts is None or not needed else f" of {power.prompts} prompts"
    yield (
        f"With {clips} clips, the power to tell ρ {number(power.first)} from {number(power.second)} on "
        f"{power.dimension} is {power.power:.0%}{needed}{prompts}."
    )


def _figure(figure: Estimate) -> str:
    p = "" if figure.p is None or figure.low is None else f", p {p_value(figure.p)}"
    return f"ρ {_interval(figure)}{p}"


def _interval(figure: Estimate) -> str:
    if figure.low is None or figure.high is None:
        return number(figure.value)
    rough = ", roughly" if figure.note and "rough" in figure.note else ""
    return f"{number(figure.value)} [{number(figure.low)}, {number(figure.high)}{rough}]"
