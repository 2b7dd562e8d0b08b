"""Leaderboards: means of models with intervals over prompts, ranks, and the significance of the order.

Models are put into one table only if the same networks and the same definition scored them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import METRICS, label
from vmmetrics.scoring.prompt_scores import (
    Model,
    PromptScores,
    comparable_models,
    prompt_scores,
    read_run,
    split_source,
)
from vmmetrics.scoring.record import Record
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import percentile_interval
from vmmetrics.utils.statistics.paired import contributions, holm, rank_shares, resampled_means, sign_flip_p
from vmmetrics.utils.storage import provenance

# All scores are times 100, as VMBench prints its own.
AVERAGE = "average"
"""The mean of our metrics' means."""
INDEX = "motion_index"
"""The mean of the clips' motion index; not defined under protocol ``vmbench``."""
_INDEX_NEEDS = ("cas", "mss")  # metrics without which a clip has no index


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of the table.

    Attributes:
        mean: Times 100; None where there is none.
        low: Lower end of its 95 % interval; None for fewer than two prompts.
        high: Upper end, or None.
        prompts: Prompts with a score; for the average those with any.
        without: Clips without a score, by reason.
    """

    mean: float | None
    low: float | None
    high: float | None
    prompts: int
    without: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One model.

    Attributes:
        model: Its name.
        cells: By column: the index, the average and the metrics.
        prompts: Its prompts.
        clips: Its clips.
        rank: Rank, 1 best; None without a mean in the column ranked by.
        shares: Share of bootstrap samples of prompts in which it has each rank; empty without a rank.
    """

    model: str
    cells: Mapping[str, Cell]
    prompts: int
    clips: int
    rank: int | None
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A model and the next one below it, on the prompts that both have.

    Attributes:
        above: The better one.
        below: The other.
        difference: Its mean, times 100; None where no prompt is common in some metric.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: p of a sign-flip test, None without a difference.
        p_holm: The same, Holm-corrected over all steps of the table.
        prompts: Common prompts; of the metric that has fewest.
    """

    above: str
    below: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    prompts: int


@dataclass(frozen=True, slots=True)
class Board:
    """One table.

    Attributes:
        label: Preset, protocol, and comparability of the numbers.
        preset: Preset that scored.
        protocol: Definition of the metrics.
        comparable: True if the numbers compare with the published ones.
        columns: The index where there can be one, the average, our metrics and those of one's own that any run has.
        by: Column that it is ranked by.
        rows: Best first, those without a rank last.
        steps: Between each model and the next.
        prompts: All prompts.
        notes: Remarks for the reader.
    """

    label: str
    preset: str
    protocol: str
    comparable: bool
    columns: tuple[str, ...]
    by: str
    rows: tuple[Row, ...]
    steps: tuple[Step, ...]
    prompts: int
    notes: tuple[str, ...]


_SHOWN_DIFFERENCES = 3


def make_boards(runs: Sequence[str], by: str | None = None) -> list[Board]:
    """Make a table of every preset, protocol and set of metric versions among runs.

    Args:
        runs: Run directories; ``NAME=DIRECTORY`` names the model of a run whose clips lie in no folder per model.
        by: Column to rank by: ``"motion_index"``, ``"average"`` or a metric; None takes the index where there can be
            one, else the average.

    Raises:
        SetupError: One is not a run, has no clips, or two have a model of one name; no run has that column.
    """
    groups = comparable_models(read_run(*split_source(run)) for run in runs)
    return [make_board(prompt_scores(models), by, notes) for models, notes in groups]


def make_board(of_models: PromptScores, by: str | None = None, remarks: Sequence[str] = ()) -> Board:
    """Make the table of comparable models.

    Args:
        of_models: Their scores.
        by: As of :func:`make_boards`.
        remarks: Notes to put first.

    Raises:
        SetupError: There is no such column.
    """
    models, keys, scores, own = of_models.models, of_models.keys, of_models.scores, of_models.own
    columns = (*(INDEX for key in keys if key == INDEX), AVERAGE, *(key for key in keys if key != INDEX))
    by = columns[0] if by is None else by
    if by not in columns:
        raise SetupError(f"No column {by!r} to rank by; there are {', '.join(columns)}")
    means = resampled_means(scores)
    ranked = slice(0, len(METRICS)) if by == AVERAGE else slice(keys.index(by), keys.index(by) + 1)
    sign = -1.0 if own.get(by, {}).get("lower_is_better", False) else 1.0
    cells = [_cells(model.records, scores[m], means[:, m], keys) for m, model in enumerate(models)]
    values = {m: sign * mean for m in range(len(models)) if (mean := cells[m][by].mean) is not None}
    order = sorted(values, key=lambda m: -values[m])
    shares = rank_shares(sign * means[:, order, ranked].mean(axis=2)) if order else np.zeros((0, 0))
    rows = []
    for m in [*order, *(m for m in range(len(models)) if m not in values)]:
        rank = None if m not in values else 1 + sum(values[o] > values[m] for o in order)
        share = tuple(shares[order.index(m)].tolist()) if m in values else ()
        rows.append(Row(models[m].name, cells[m], of_models.counts[m], len(models[m].records), rank, share))
    first = models[0].run.configuration
    return Board(
        label=str(first.get("label", f"preset {first['preset']}, protocol {first['protocol']}")),
        preset=str(first["preset"]),
        protocol=str(first["protocol"]),
        comparable=bool(first.get("comparable")),
        columns=columns,
        by=by,
        rows=tuple(rows),
        steps=_steps([models[index].name for index in order], scores[order][:, :, ranked]),
        prompts=len(of_models.prompts),
        notes=(
            *remarks,
            *_configuration_notes(models),
            *dict.fromkeys(f"{model.run.title}: {text}" for model in models for text in model.run.warnings),
            of_models.note,
            *_rank_notes(rows, by),
            *_missing_notes(rows, keys),
        ),
    )


def _cells(records: Sequence[Record], scores: FloatArray, means: FloatArray, keys: Sequence[str]) -> dict[str, Cell]:
    """Return the average and the metrics of one model, from (P, K) scores and (R, K) means of samples."""
    cells: dict[str, Cell] = {}
    for column, metric in enumerate(keys):
        present = scores[~np.isnan(scores[:, column]), column]
        low, high = percentile_interval(means[:, column]) if present.size > 1 else (None, None)
        mean = float(present.mean()) if present.size else None
        cells[metric] = Cell(mean, low, high, int(present.size), _reasons(records, metric))
    averaged = [cells[metric].mean for metric in METRICS]
    absent = [label(metric) for metric in METRICS if cells[metric].mean is None]
    mean = None if absent else float(np.mean([value for value in averaged if value is not None]))
    several = all(cells[metric].prompts > 1 for metric in METRICS)
    ours = slice(0, len(METRICS))
    low, high = percentile_interval(means[:, ours].mean(axis=1)) if mean is not None and several else (None, None)
    any_score = int((~np.isnan(scores[:, ours])).any(axis=1).sum())
    without = {f"no score for {', '.join(absent)}": len(records)} if absent else {}
    return {AVERAGE: Cell(mean, low, high, any_score, without), **cells}


def _reasons(records: Sequence[Record], metric: str) -> dict[str, int]:
    """Count the reasons why clips have no score, most frequent first."""
    reasons: Counter[str] = Counter()
    for record in records:
        if record.error is not None or metric in record.errors:
            reasons["failed"] += 1
        elif metric == INDEX:
            without = [label(need) for need in _INDEX_NEEDS if need not in record.scores]
            reasons.update([f"no {' and no '.join(without)}"] if without else [])
        elif metric not in record.scores:
            reason = record.missing.get(metric, "not scored")
            reasons[f"does not apply ({reason})" if metric in record.not_applicable else reason] += 1
    return dict(reasons.most_common())


def _steps(names: list[str], scores: FloatArray) -> tuple[Step, ...]:
    """Return each ranked model against the next, from (M, P, K) scores in order; Holm over all of them."""
    if len(names) < 2:
        return ()
    differences = scores[:-1] - scores[1:]
    samples = resampled_means(differences).mean(axis=2)
    steps = [_step(names[m], names[m + 1], differences[m], samples[:, m]) for m in range(len(names) - 1)]
    raised = iter(holm([step.p for step in steps if step.p is not None]))
    return tuple(step if step.p is None else replace(step, p_holm=next(raised)) for step in steps)


def _step(above: str, below: str, differences: FloatArray, samples: FloatArray) -> Step:
    """Return one step from (P, K) differences and (R,) means of their samples."""
    common = int((~np.isnan(differences)).sum(axis=0).min())
    if common == 0:
        return Step(above, below, None, None, None, None, None, 0)
    parts = contributions(differences)
    low, high = percentile_interval(samples) if common > 1 else (None, None)
    return Step(above, below, float(parts.sum()), low, high, sign_flip_p(parts), None, common)


def _configuration_notes(models: Sequence[Model]) -> list[str]:
    """Return a note for every run whose configuration differs from the first run's."""
    notes = []
    first = models[0].run
    for run in {model.run.path: model.run for model in models}.values():
        names = (run.title, first.title)
        different = provenance.differences(run.configuration, first.configuration, names=names)
        relevant = [line for line in different if not line.startswith("metrics:")]
        if relevant:
            more = f" and {len(relevant) - _SHOWN_DIFFERENCES} more" if len(relevant) > _SHOWN_DIFFERENCES else ""
            notes.append(f"The runs differ in {'; '.join(relevant[:_SHOWN_DIFFERENCES])}{more}")
    return notes


def _missing_notes(rows: Sequence[Row], keys: Sequence[str]) -> list[str]:
    notes = []
    for row in rows:
        alike: dict[str, list[str]] = {}
        for metric in keys:
            without = row.cells[metric].without
            if without and metric != INDEX:  # CAS and MSS say why
                reasons = ", ".join(f"{reason} ({clips})" for reason, clips in list(without.items())[:2])
                text = f"for {sum(without.values())} of {row.clips} clips: {reasons}"
                alike.setdefault(text, []).append(label(metric))
        notes += [f"{row.model}: no {', '.join(names)} {text}" for text, names in alike.items()]
    return notes


def head(column: str) -> str:
    """Return a column's name as tables show it."""
    return "INDEX" if column == INDEX else label(column)


def _rank_notes(rows: Sequence[Row], by: str) -> list[str]:
    """Return a note for every model without a rank: the metrics it has no score in."""
    unranked, notes = [row for row in rows if row.rank is None], []
    needed = {INDEX: _INDEX_NEEDS, AVERAGE: METRICS}.get(by, (by,))
    for row in unranked:
        empty = [metric for metric in needed if row.cells[metric].mean is None]
        reasons = ", ".join(f"{label(metric)} ({_first_reason(row.cells[metric])})" for metric in empty)
        what = f"none of {row.clips} clips has a score in {reasons}" if empty else "no clip has a score in all of them"
        notes.append(f"{row.model} is not ranked by {by}: {what}")
    ranks = [key for key in rows[0].cells if all(row.cells[key].mean is not None for row in rows)]
    if unranked and ranks:
        notes.append(f"All models can be ranked by {', '.join(ranks)}: --sort-by {ranks[0]}")
    return notes


def _first_reason(cell: Cell) -> str:
    return next(iter(cell.without), "not scored")
