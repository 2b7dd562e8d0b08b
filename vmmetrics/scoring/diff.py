"""Comparison of two runs clip by clip, with significance tests.

The prompt is the unit, as on a leaderboard: differences of the clips of one prompt are averaged first.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import in_order, label
from vmmetrics.scoring.prompt_scores import DECISIVE, Run, name_in_model, read_run, score_of
from vmmetrics.scoring.record import Collapsed, Record
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO
from vmmetrics.scoring.versions import differing, versions_of
from vmmetrics.utils.statistics.bootstrap import LEAST_PROMPTS, percentile_interval
from vmmetrics.utils.statistics.paired import corrected, resampled_means, sign_flip_ps
from vmmetrics.utils.storage import provenance

LEVEL = 0.05
"""p below which a difference is significant."""
_REPORTED_ELSEWHERE = (*DECISIVE, "label", "comparable", "motion_index")  # the index is rebuilt from the scores


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """Difference of a metric's mean between two runs, on the clips that have a score in both.

    Attributes:
        model: The model; None for all clips.
        metric: Key of the metric, or ``"motion_index"``.
        clips: Clips with a score in both runs.
        prompts: Their prompts.
        before: Mean in the first run, over prompts; None without such clips.
        after: Mean in the second run.
        difference: ``after`` less ``before``.
        low: Lower end of its 95 % bootstrap interval over prompts; None for fewer than three prompts.
        high: Upper end.
        p: Two-sided, of a sign-flip test over prompts; None without such clips.
        p_holm: The same, Holm-corrected over all metrics of this model; None for the index that is not tested.
        lost: Clips with a score in the first run alone.
        gained: Clips with a score in the second run alone.
        lower_is_better: True if a fall is an improvement.
    """

    model: str | None
    metric: str
    clips: int
    prompts: int
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    lost: int
    gained: int
    lower_is_better: bool

    @property
    def worsened(self) -> bool:
        """True if the second mean is worse; says nothing about significance."""
        return self.difference is not None and (self.difference > 0 if self.lower_is_better else self.difference < 0)


@dataclass(frozen=True, slots=True)
class ClipPair:
    """A clip of the first run and its counterpart in the second."""

    before: Record
    after: Record

    def difference(self, metric: str) -> float | None:
        """Return the second score less the first; None where one is missing."""
        first, second = score_of(self.before, metric), score_of(self.after, metric)
        return None if first is None or second is None else second - first


@dataclass(frozen=True, slots=True)
class RunDifference:
    """Comparison of two runs: means, paired clips, and clips that only one of them has.

    Attributes:
        label: Preset, protocol, and comparability of the scores.
        metrics: The metrics of both runs, first ``"motion_index"`` where there is one or clips collapsed, and before
            it ``"motion_index_or_0"`` where they did.
        pairs: The clips that both runs have.
        paired_by: Number of pairs by kind of match.
        gone: Clips of the first run alone.
        new: Clips of the second run alone.
        failed: Clips that failed in the second run and not in the first, with the reason.
        differences: All clips first, then every model where there are several; metrics in their order.
        notes: Remarks for the reader.
        collapsed: ``"zero"`` tests the index with that of collapsed clips as 0, ``"skip"`` that of the others.
        second: The clips of the second run.
    """

    label: str
    metrics: tuple[str, ...]
    pairs: tuple[ClipPair, ...]
    paired_by: Mapping[str, int]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    failed: Mapping[str, str]
    differences: tuple[MeanDifference, ...]
    notes: tuple[str, ...]
    collapsed: Collapsed = "zero"
    second: tuple[Record, ...] = ()

    def tested(self, metric: str) -> list[MeanDifference]:
        """Return the differences of a metric, or of ``"any"``, of every model, or of all clips where there is one.

        Of the index it is one of the two, as :attr:`collapsed` says.

        Raises:
            ValueError: The runs do not both have the metric.
        """
        if metric not in ("any", *self.metrics):
            raise ValueError(
                f"expected any or one of {', '.join(self.metrics)}, which both runs have, but got {metric!r}"
            )
        several = any(difference.model is not None for difference in self.differences)
        untested = _untested(self.metrics, self.collapsed)
        if metric == INDEX == untested:
            metric = INDEX_OR_ZERO
        asked = {*self.metrics} - {untested} if metric == "any" else {metric}
        rows = [d for d in self.differences if (d.model is not None) == several and d.metric in asked]
        return corrected(rows)

    def worse(self, metric: str = INDEX) -> list[MeanDifference]:
        """Return those of :meth:`tested` that got significantly worse (p below 0.05 after Holm)."""
        return [d for d in self.tested(metric) if d.worsened and d.p_holm is not None and d.p_holm < LEVEL]

    def most_changed(self, count: int) -> list[ClipPair]:
        """Return the clips whose first metric changed most, largest change first; unchanged ones are left out."""
        changes = [(abs(change), pair) for pair in self.pairs if (change := pair.difference(self.metrics[0]))]
        return [pair for _, pair in sorted(changes, key=lambda difference: -difference[0])[:count]]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values: the differences, and a line per clip."""
        clips = [
            {
                "clip": pair.after.clip,
                "before": {m: score_of(pair.before, m) for m in self.metrics},
                "after": {m: score_of(pair.after, m) for m in self.metrics},
            }
            for pair in self.pairs
        ]
        fields = ("label", "metrics", "collapsed", "paired_by", "gone", "new", "failed", "notes")
        plain = {name: getattr(self, name) for name in fields}
        return {**plain, "differences": [asdict(difference) for difference in self.differences], "clips": clips}


def diff(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    *,
    across_versions: bool = False,
    collapsed: Collapsed = "zero",
) -> RunDifference:
    """Compare two runs clip by clip.

    Clips are paired by their name, else by their content, their name without its ending, their name within the model
    where each run has one model, or their prompt, whichever is the first that both runs have just once.

    Args:
        before: Run directory.
        after: Another, scored with the same preset, protocol, models and weights.
        across_versions: Compare scores of different metric versions, too; a note names them.
        collapsed: ``"zero"`` tests the index with that of stills, slide shows and noise as 0, ``"skip"`` without them.

    Raises:
        SetupError: One is not a run, the runs have different settings, or they have no clip or no metric in common.
    """
    runs = read_run(Path(before)), read_run(Path(after))
    return difference_of(*runs, across_versions=across_versions, collapsed=collapsed)


def difference_of(
    before: Run, after: Run, *, across_versions: bool = False, collapsed: Collapsed = "zero"
) -> RunDifference:
    """Compare two runs in memory as :func:`diff` does.

    Raises:
        SetupError: The runs have different settings, or they have no clip or no metric in common.
    """
    runs = (before, after)
    metrics, lower, notes = _common(runs)
    mixed = differing([(run.title, versions_of(run.records)) for run in runs])
    if mixed and not across_versions:
        lines = (f"  {line}" for line in mixed.values())
        raise SetupError(
            "The runs have different metric versions; to compare them anyway, add --across-versions:", *lines
        )
    notes += [f"Different metric versions: {line}" for line in mixed.values()]
    pairs, paired_by, gone, new = _paired(before.records, after.records)
    if not pairs:
        raise SetupError(
            f"No clip of {after.title} is in {before.title}, by name, content or prompt: nothing to compare"
        )
    records = [record for pair in pairs for record in (pair.before, pair.after)]
    zeros = any(record.counts_as_zero for record in records)
    if zeros or any(record.motion_index is not None for record in records):
        metrics = (*([INDEX_OR_ZERO] if zeros else []), INDEX, *metrics)
    untested = _untested(metrics, collapsed)
    failed = {p.after.clip: _why(p.after) for p in pairs if p.after.failed and not p.before.failed}
    failed |= {record.clip: _why(record) for record in new if record.failed}
    models = sorted({pair.after.model for pair in pairs if pair.after.model is not None})
    groups: list[tuple[str | None, list[ClipPair]]] = [(None, pairs)]
    if len(models) > 1:
        groups += [(model, [pair for pair in pairs if pair.after.model == model]) for model in models]
    return RunDifference(
        label=str(after.configuration.get("label", "")),
        metrics=metrics,
        pairs=tuple(pairs),
        paired_by=paired_by,
        gone=tuple(record.clip for record in gone),
        new=tuple(record.clip for record in new),
        failed=failed,
        differences=tuple(d for model, paired in groups for d in _differences(model, paired, metrics, lower, untested)),
        notes=(*notes, *before.warnings, *after.warnings),
        collapsed=collapsed,
        second=tuple(after.records),
    )


def _untested(metrics: Sequence[str], collapsed: Collapsed) -> str | None:
    """Return which of the two means of the index is not tested; None where there is one."""
    return (INDEX if collapsed == "zero" else INDEX_OR_ZERO) if INDEX_OR_ZERO in metrics else None


def _common(runs: tuple[Run, Run]) -> tuple[tuple[str, ...], frozenset[str], list[str]]:
    """Return the common metrics, those where lower is better, and notes; refuse runs that are not comparable.

    Raises:
        SetupError: The runs have different settings, or no metric in common.
    """
    headers = [run.header for run in runs]
    names = (runs[0].title, runs[1].title)
    first, second = (run.configuration for run in runs)
    first_decisive, second_decisive = ({name: part.get(name) for name in DECISIVE} for part in (first, second))
    if different := provenance.differences(first_decisive, second_decisive, names=names):
        lines = (f"  {line}" for line in different)
        raise SetupError("The runs were scored with different settings and cannot be compared:", *lines)
    first_rest, second_rest = (
        {n: value for n, value in part.items() if n not in _REPORTED_ELSEWHERE} for part in (first, second)
    )
    notes = [f"The runs differ in {line}" for line in provenance.differences(first_rest, second_rest, names=names)]
    versions = [f"{part.get(INDEX, 'not stated')} ({name})" for part, name in zip((first, second), names, strict=True)]
    if first.get(INDEX) != second.get(INDEX):
        remark = "computed again from the scores, with its factor where a run states own_change"
        notes.append(f"INDEX versions differ: {', '.join(versions)}; {remark}")
    parts = [header.get("parts", {}) for header in headers]
    differing_parts = {name for name in parts[0].keys() & parts[1].keys() if parts[0][name] != parts[1][name]}
    notes += [f"{name} is left out: the runs define it differently" for name in sorted(differing_parts)]
    both = in_order({*headers[0]["metrics"]} & {*headers[1]["metrics"]} - differing_parts)
    if not both:
        raise SetupError(f"{names[0]} and {names[1]} have no metric in common")
    single = in_order({*headers[0]["metrics"]} ^ {*headers[1]["metrics"]})
    notes += [f"In only one of the runs: {', '.join(map(label, single))}"] if single else []
    return both, frozenset(headers[1].get("lower_is_better", ())), notes


def _paired(
    before: Sequence[Record], after: Sequence[Record]
) -> tuple[list[ClipPair], dict[str, int], list[Record], list[Record]]:
    """Return the pairs of clips, the number of pairs by kind of match, and the unpaired clips of each run."""
    alone = all(len({record.model for record in records}) == 1 for records in (before, after))
    rules: list[tuple[str, Callable[[Record], Hashable]]] = [
        ("name", lambda record: record.clip),
        ("content", lambda record: record.sha256),
        ("name without its ending", lambda record: (record.model, name_in_model(record))),
    ]
    if alone:
        rules.append(("name within its model", name_in_model))
    rules.append(("prompt", lambda record: record.prompt and (alone or record.model, " ".join(record.prompt.split()))))
    pairs: list[ClipPair] = []
    counts: dict[str, int] = {}
    left, right = list(before), list(after)
    for name, key in rules:
        first, second = _once(left, key), _once(right, key)
        matched = [ClipPair(first[value], record) for value, record in second.items() if value in first]
        if matched:
            counts[name] = len(matched)
            pairs += matched
            used = {id(record) for pair in matched for record in (pair.before, pair.after)}
            left, right = ([r for r in side if id(r) not in used] for side in (left, right))
    return sorted(pairs, key=lambda pair: pair.after.clip), counts, left, right


def _once(records: Iterable[Record], key: Callable[[Record], Hashable]) -> dict[Hashable, Record]:
    """Return the records by their key, where only one has it."""
    keyed = [(value, record) for record in records if (value := key(record))]
    times = Counter(value for value, _ in keyed)
    return {value: record for value, record in keyed if times[value] == 1}


def _why(record: Record) -> str:
    return record.error or "; ".join(f"{label(metric)}: {text}" for metric, text in record.errors.items())


def _differences(
    model: str | None, pairs: Sequence[ClipPair], metrics: Sequence[str], lower: frozenset[str], untested: str | None
) -> list[MeanDifference]:
    """Return the differences of one group of clips; the same prompts are drawn for every metric."""
    prompts: dict[str, list[ClipPair]] = {}
    for pair in pairs:
        prompt = pair.after.prompt or pair.before.prompt
        prompts.setdefault(" ".join(prompt.split()) if prompt else f"\0{pair.after.clip}", []).append(pair)
    shape = (len(prompts), len(metrics))
    first, second = np.full(shape, np.nan), np.full(shape, np.nan)
    for row, clips in enumerate(prompts.values()):
        for column, metric in enumerate(metrics):
            scores = [(score_of(clip.before, metric), score_of(clip.after, metric)) for clip in clips]
            both = [(a, b) for a, b in scores if a is not None and b is not None]
            if both:
                first[row, column], second[row, column] = np.mean(both, axis=0)
    samples = resampled_means((second - first)[None])[:, 0]
    ps = sign_flip_ps(np.nan_to_num(second - first))
    rows: list[MeanDifference] = []
    for k, metric in enumerate(metrics):
        both = ~np.isnan(first[:, k])
        count = int(both.sum())
        scored = Counter((score_of(p.before, metric) is not None, score_of(p.after, metric) is not None) for p in pairs)
        others = scored[True, False], scored[False, True], metric in lower
        change = MeanDifference(model, metric, scored[True, True], count, *(None,) * 7, *others)
        if count:
            before, after = (float(side[both, k].mean()) for side in (first, second))
            low, high = percentile_interval(samples[:, k]) if count >= LEAST_PROMPTS else (None, None)
            change = replace(change, before=before, after=after, difference=after - before, low=low, high=high, p=ps[k])
        rows.append(change)
    raised = iter(corrected(row for row in rows if row.metric != untested))
    return [row if row.metric == untested else next(raised) for row in rows]
