"""Alignment reports as one long CSV: a row per statistic, every number in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vmmetrics.alignment.bootstrap import Estimate
from vmmetrics.alignment.results import Grouped
from vmmetrics.report.alignment_source import flat_settings
from vmmetrics.utils.markup import csv_text

if TYPE_CHECKING:
    from vmmetrics.alignment.results import (
        Ablation,
        Agreement,
        Ceiling,
        Difference,
        NameBaseline,
        PairAlignment,
        Power,
        PreferenceAccuracy,
        StudyReport,
    )  # fmt: skip


class CsvRow(NamedTuple):
    """One statistic.

    Attributes:
        section: Which part of the report.
        metric: Metric or combination, "first - second" for a difference; empty where it is of people alone.
        dimension: Dimension.
        statistic: Its name, a field of the report.
        group: Model, prompt, rater, clip or metric that it is of; empty for all.
        value: The number.
        low: Lower end of its interval.
        high: Upper end.
        p: Its p value.
        n: What it rests on.
        note: In words: why there is no value, or what it says.
    """

    section: str
    metric: str = ""
    dimension: str = ""
    statistic: str = ""
    group: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int | None = None
    note: str | None = None


def to_csv(report: StudyReport) -> str:
    """One row per statistic of a report, its sentences and settings as notes; columns as in :class:`CsvRow`."""
    return csv_text([CsvRow._fields, *csv_rows(report)])


def csv_rows(report: StudyReport) -> Iterator[CsvRow]:
    """The rows of :func:`to_csv`."""
    for name in ("clips", "prompts", "models"):
        yield CsvRow("study", statistic=name, value=getattr(report, name))
    for metric, dimensions in report.facing.items():
        for dimension in dimensions:
            yield CsvRow("facing", metric, dimension)
    for pair in report.alignments:
        yield from _alignment(pair)
    for baseline in report.baselines:
        yield from _baseline(baseline)
    for difference in report.differences:
        yield from _difference(difference)
    for ceiling in report.ceilings:
        yield from _ceiling(ceiling)
    for agreement in report.agreements:
        yield from _agreement(agreement)
    for accuracy in report.preferences:
        yield from _accuracy(accuracy)
    for ablation in report.ablations:
        yield from _ablation(ablation)
    yield from _matrix(report)
    for power in report.powers:
        yield from _power(power)
    for section in ("matching", "claims", "problems"):
        for number, line in enumerate(getattr(report, section), 1):
            yield CsvRow(section, statistic=str(number), note=line)
    for name, setting in flat_settings(report):
        yield _setting(name, setting)


def _row(section: str, metric: str, dimension: str, statistic: str, found: Estimate, group: str = "") -> CsvRow:
    return CsvRow(
        section, metric, dimension, statistic, group, found.value, found.low, found.high, found.p, found.n, found.note
    )


def _groups(
    section: str, metric: str, dimension: str, statistic: str, groups: Mapping[str, Estimate]
) -> Iterator[CsvRow]:
    for group, found in groups.items():
        yield _row(section, metric, dimension, statistic, found, group)


def _alignment(pair: PairAlignment) -> Iterator[CsvRow]:
    key = ("alignment", pair.metric, pair.dimension)
    for name in ("spearman", "kendall_b", "kendall_c", "pearson"):
        yield _row(*key, name, getattr(pair, name))
    for name in ("within_prompt", "within_model"):
        grouped: Grouped = getattr(pair, name)
        yield _row(*key, name, grouped.mean)
        yield from _groups(*key, name, grouped.groups)
    yield from _groups(*key, "without_model", pair.without_model)
    yield _row(*key, "model_level", pair.model_level)
    yield _row(*key, "shuffled", pair.shuffled)
    yield CsvRow(*key, "missing", value=pair.missing)


def _baseline(baseline: NameBaseline) -> Iterator[CsvRow]:
    for name in ("overall", "within_prompt"):
        yield _row("name_baseline", "", baseline.dimension, name, getattr(baseline, name))


def _difference(difference: Difference) -> Iterator[CsvRow]:
    pair = f"{difference.first} - {difference.second}"
    for name in ("pooled", "within_model"):
        yield _row("difference", pair, difference.dimension, name, getattr(difference, name))


def _ceiling(ceiling: Ceiling) -> Iterator[CsvRow]:
    for name in ("overall", "within_prompt", "within_model", "split_half", "split_half_full"):
        yield _row("ceiling", "", ceiling.dimension, name, getattr(ceiling, name))
    yield from _groups("ceiling", "", ceiling.dimension, "rater", ceiling.raters)


_AGREEMENTS = (
    "alpha_nominal", "alpha_ordinal", "alpha_interval", "icc_single", "icc_mean", "cohen", "cohen_weighted", "fleiss"
)  # fmt: skip


def _agreement(agreement: Agreement) -> Iterator[CsvRow]:
    key = ("agreement", "", agreement.dimension)
    for name in _AGREEMENTS:
        yield _row(*key, name, getattr(agreement, name))
    for rater in agreement.outlying:
        yield CsvRow(*key, "outlying_correlation", rater.rater, rater.correlation, note=rater.reason)
        yield CsvRow(*key, "outlying_bias", rater.rater, rater.bias, note=rater.reason)
    for clip in agreement.disputed:
        said = " ".join(f"{rating:g}" for rating in clip.ratings)
        yield CsvRow(*key, "disputed_spread", clip.clip, clip.spread, n=len(clip.ratings), note=said)


def _accuracy(accuracy: PreferenceAccuracy) -> Iterator[CsvRow]:
    key = ("preference", accuracy.name, accuracy.dimension)
    yield _row(*key, "accuracy", accuracy.accuracy)
    for name in ("pairs", "human_ties", "metric_ties"):
        yield CsvRow(*key, name, value=getattr(accuracy, name), note=accuracy.rule)


def _ablation(ablation: Ablation) -> Iterator[CsvRow]:
    figures = [("all", "", ablation.full)]
    figures += [("without", metric, figure) for metric, figure in ablation.left_out.items()]
    figures += [(f"added {place}", metric, figure) for place, (metric, figure) in enumerate(ablation.added, 1)]
    for step, metric, figure in figures:
        for name in ("accuracy", "spearman", "within_model"):
            statistic = f"{step}: {name}"
            yield _row("ablation", ablation.combination, ablation.dimension, statistic, getattr(figure, name), metric)
    for metric, weight in ablation.weights.items():
        yield CsvRow("ablation", ablation.combination, ablation.dimension, "weight", metric, weight)


def _matrix(report: StudyReport) -> Iterator[CsvRow]:
    matrix = report.matrix
    for i, first in enumerate(matrix.names):
        for j, second in enumerate(matrix.names[: i + 1]):
            value = float(matrix.values[i, j])
            known = None if value != value else value  # NaN where there is none
            kind = "human" if j >= matrix.metrics else "metric" if i < matrix.metrics else "metric and human"
            yield CsvRow("matrix", first, second, f"spearman, {kind}", value=known, n=int(matrix.counts[i, j]))


def _power(power: Power) -> Iterator[CsvRow]:
    key = ("power", "", power.dimension)
    for name in ("first", "second", "power", "clips", "prompts", "smallest"):
        yield CsvRow(*key, name, value=getattr(power, name), note=power.note)
    for raters, clips in power.raters.items():
        yield CsvRow(*key, "clips_with_raters", str(raters), clips, note=power.note)


def _setting(name: str, setting: Any) -> CsvRow:
    if isinstance(setting, int | float) and not isinstance(setting, bool):
        return CsvRow("settings", statistic=name, value=setting)
    return CsvRow("settings", statistic=name, note=str(setting))
