"""The widest claims that a study supports, in plain sentences, each with the number it rests on.

A claim is made where the 95 % interval leaves out what would refute it, and the p value, where there is one, agrees.
From wide to narrow: a metric tells clips of one model apart; it says more than which model made the clip; it agrees
with people over all clips, which telling models apart explains; nothing is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np

from vmmetrics.alignment import results
from vmmetrics.utils.display.tables import number
from vmmetrics.utils.statistics.bootstrap import Estimate

LEVEL = 0.05
"""Of each test."""
MANY_METRICS = 5
"""Metrics on one dimension from which it is said how many would pass by chance."""
LISTED = 10
"""Pairs of metrics told apart that are named, the widest apart first; the rest are in the table of differences."""
_TOSS = 0.5
_BY_CHANCE = LEVEL / 2  # a metric without use comes out above 0, with an interval of 95 %


def widest_claims(report: results.StudyReport) -> tuple[str, ...]:
    """What the data supports, and what it does not.

    Args:
        report: Everything that was found.

    Returns:
        Sentences: per dimension each metric's widest claim, what the models' names are worth, what people reach, which
        metrics can be told apart; then what the number of models and of clips allows.
    """
    claims: list[str] = []
    rated = list(dict.fromkeys(pair.dimension for pair in report.alignments))
    smallest = {power.dimension: power.smallest for power in report.powers}
    for dimension in rated:
        pairs = [pair for pair in report.alignments if pair.dimension == dimension]
        claims += [metric_claim(pair, smallest.get(dimension)) for pair in pairs]
        passed = sum(above(pair.within_model.mean) for pair in pairs)
        if len(pairs) >= MANY_METRICS and passed:
            claims.append(
                f"{len(pairs)} metrics were held against {dimension} and {passed} stand out on clips of one model; of "
                f"as many useless ones {len(pairs) * _BY_CHANCE:.2g} would."
            )
        for base in report.baselines:
            known = base.overall.value
            if base.dimension == dimension and known is not None:
                better = [p.metric for p in pairs if p.spearman.value is not None and p.spearman.value > known]
                claims.append(
                    f"On {dimension} the name of the model alone, without a look at the clip, reaches "
                    f"{_said(base.overall)} over all clips, "
                    f"{'less than ' + ', '.join(better) if better else 'more than any metric here'}."
                )
        claims += [claim for top in report.ceilings if top.dimension == dimension for claim in ceiling_claim(top)]
        claims += difference_claims([d for d in report.differences if d.dimension == dimension], report)
    claims += [preference_claim(entry) for entry in report.preferences if entry.dimension not in rated]
    claims += [model_claim(report.models)] if report.models > 1 else []
    claims += [claim for power in report.powers for claim in power_claim(power, report.clips)]
    return tuple(dict.fromkeys(claims))


def metric_claim(pair: results.PairAlignment, smallest: float | None) -> str:
    """The widest claim for one metric on one dimension.

    Args:
        pair: What was found.
        smallest: Smallest mean within-model correlation that would differ from 0 at this size, where known.
    """
    about, pooled, inside = f"{pair.metric} on {pair.dimension}", pair.spearman, pair.within_model.mean
    if pooled.value is None:
        return f"{about}: nothing can be said: {pooled.note}."
    if pooled.low is None:
        return f"{about}: {_said(pooled)} over these {pooled.n} clips, and no claim beyond them: {pooled.note}."
    if above(inside):
        return (
            f"{about} agrees with people on clips of one model (mean {_said(inside)} inside {inside.n} "
            f"model{'s' * (inside.n != 1)}; {_said(pooled)} over all clips){_rests_on_one(pair)}."
        )
    narrow = _not_inside(inside, smallest)
    if below(pooled):
        return f"{about} runs against people: {_said(pooled)} over {pooled.n} clips; {narrow}."
    if not above(pooled):
        return f"{about}: no agreement with people is shown: {_said(pooled)} over {pooled.n} clips; {narrow}."
    if inside.value is None:
        return (
            f"{about} agrees with people over all clips ({_said(pooled)}); how much of that is telling models apart "
            f"cannot be said: {inside.note}."
        )
    return f"{about} {_beside_models(pair)}; {narrow}{_rests_on_one(pair)}."


def above(figure: Estimate) -> bool:
    """Whether a correlation is shown to be above 0."""
    return figure.low is not None and figure.low > 0 and (figure.p is None or figure.p < LEVEL)


def below(figure: Estimate) -> bool:
    """Whether a correlation is shown to be below 0."""
    return figure.high is not None and figure.high < 0 and (figure.p is None or figure.p < LEVEL)


def _beside_models(pair: results.PairAlignment) -> str:
    """A pooled correlation above 0 against what it is worth to tell the models apart."""
    pooled, null = _said(pair.spearman), pair.shuffled
    if null.value is None or null.high is None or pair.spearman.value is None:
        return f"agrees with people over all clips ({pooled})"
    reached = f"{number(null.value)} [{number(null.low)}, {number(null.high)}]"
    beside = "tells models apart as people do and is not shown to do more"
    if pair.spearman.value > null.high:
        beside = "agrees with people beyond telling models apart"
    return f"{beside}: {pooled} over all clips, where ratings shuffled inside each model give {reached}"


def _not_inside(inside: Estimate, smallest: float | None) -> str:
    """That nothing is shown inside models, and what would have been."""
    if inside.value is None:
        return f"on clips of one model nothing can be said ({inside.note})"
    if below(inside):
        return f"on clips of one model it runs against people (mean {_said(inside)})"
    seen = "" if smallest is None else f", and below about {number(smallest)} nothing could show at this size"
    return f"that it tells clips of one model apart is not shown (mean {_said(inside)}{seen})"


def _rests_on_one(pair: results.PairAlignment) -> str:
    """Which single model a pooled correlation above 0 rests on, if one."""
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
    return f"; over all clips it rests on {name}, without which {_said(rest)}"


def ceiling_claim(top: results.Ceiling) -> Iterator[str]:
    """What people reach, as a reading aid."""
    if top.overall.value is None:
        return
    inside = top.within_model
    among = f" and {_said(inside)} on clips of one model" if inside.value is not None else ""
    yield (
        f"To read these by: on {top.dimension} one person agrees with the mean of the others at {_said(top.overall)} "
        f"over all clips{among}."
    )
    full = top.split_half_full.value
    if full is not None and full > 0:
        yield (
            f"The mean rating of {top.dimension} has a reliability of {number(full)}, so a metric that knew the truth "
            f"would reach about ρ {number(math.sqrt(full))}."
        )


def difference_claims(differences: Sequence[results.MetricDifference], report: results.StudyReport) -> list[str]:
    """Which metrics are told apart, and how near two may be without being so."""
    claims = []
    for words, level in (("over all clips", "pooled"), ("on clips of one model", "within_model")):
        found: list[tuple[results.MetricDifference, Estimate]] = [(d, getattr(d, level)) for d in differences]
        widths = [e.high - e.low for _, e in found if e.low is not None and e.high is not None]
        if not widths:
            continue
        about = f"on {differences[0].dimension} {words}"
        seen = [(d, figure) for d, figure in found if above(figure) or below(figure)]
        seen.sort(key=lambda pair: -abs(pair[1].value or 0.0))
        apart = [_ordered(d, figure) for d, figure in seen[:LISTED]]
        more = [f"{len(seen) - LISTED} pairs more"] if len(seen) > LISTED else []
        pairs = f"{len(widths)} pair{'s' * (len(widths) > 1)} of metrics"
        if apart:
            by_chance = f"; of {pairs} alike {len(widths) * LEVEL:.2g} would be" if len(widths) > 1 else ""
            claims.append(f"Told apart {about}: {'; '.join([*apart, *more])}{by_chance}.")
        none = "" if apart else f"None of {pairs} is told apart {about}. "
        claims.append(
            f"{none}Differences below about {number(float(np.median(widths)) / 2)} between two metrics {about} cannot "
            f"be seen with {report.clips} clips of {report.prompts} prompts."
        )
    return claims


def _ordered(difference: results.MetricDifference, figure: Estimate) -> str:
    """Which of two metrics is ahead, by how much."""
    first, second = difference.first, difference.second
    if below(figure):
        first, second = second, first
        value, low, high = (-(end or 0.0) for end in (figure.value, figure.high, figure.low))
        figure = Estimate(value, low, high)
    return f"{first} above {second} by {_interval(figure)}"


def preference_claim(entry: results.PreferenceAccuracy) -> str:
    """For dimensions that people judged by pairs alone."""
    about, share = f"{entry.name} on {entry.dimension}", entry.accuracy
    if share.value is None:
        return f"{about}: nothing can be said: {share.note}."
    counted = f"{_interval(share)} of {entry.pairs} pairs"
    if share.low is None or share.high is None:
        return f"{about}: prefers what people prefer in {counted}, and no claim beyond them: {share.note}."
    if share.low > _TOSS:
        return f"{about} prefers the clip that people prefer in {counted}."
    if share.high < _TOSS:
        return f"{about} prefers the clip that people do not, and is right in only {counted}."
    return f"{about}: not shown to do better than a toss: right in {counted}."


def model_claim(models: int) -> str:
    """Whether so many models can establish an order of models at all."""
    orders = math.factorial(models) if models <= 12 else math.inf  # far below any level by then
    p = 2 / orders
    if p >= LEVEL:
        return (
            f"{models} models cannot establish a ranking of models: of {orders} orders the one people give and its "
            f"reverse make the smallest p {p:.2g}."
        )
    return f"{models} models can show that a metric ranks these models as people do; of others that says little."


def power_claim(power: results.Power, clips: int) -> Iterator[str]:
    """What the number of clips allows."""
    needed = "" if power.clips is None else f"; for 80 % it takes {power.clips} clips"
    prompts = "" if power.prompts is None or not needed else f" of {power.prompts} prompts"
    yield (
        f"{clips} clips tell ρ {number(power.first)} from {number(power.second)} on {power.dimension} with a chance "
        f"of {power.power:.0%}{needed}{prompts}."
    )


def _said(figure: Estimate) -> str:
    return f"ρ {_interval(figure)}"


def _interval(figure: Estimate) -> str:
    if figure.low is None or figure.high is None:
        return number(figure.value)
    rough = ", roughly" if figure.note and "rough" in figure.note else ""
    return f"{number(figure.value)} [{number(figure.low)}, {number(figure.high)}{rough}]"
