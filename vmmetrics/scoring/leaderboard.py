"""Leaderboards: means of models with intervals over prompts, ranks, and the significance of the order.

Models are put into one table only if the same networks and the same definition scored them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.functional.motion_index import INDEX_METRICS
from vmmetrics.metrics.registry import label
from vmmetrics.scoring.own_index import read_index, with_own_index
from vmmetrics.scoring.prompt_scores import (
    AVERAGE,
    Model,
    PromptScores,
    comparable_models,
    prompt_scores,
    read_run,
    score_of,
    split_source,
)
from vmmetrics.scoring.record import Collapsed, Record
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO, drawn_below, prompt_of
from vmmetrics.types import INDEX_NEEDS, FloatArray
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.statistics.paired import (
    Difference,
    corrected,
    mean_with_interval,
    paired_differences,
    rank_shares,
    resampled_means,
)
from vmmetrics.utils.storage import provenance


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of the table.

    Attributes:
        mean: Over clips; None where there is none.
        low: Lower end of its 95 % interval over prompts, as :meth:`Table.mean` of the run; None for fewer than three.
        high: Upper end, or None.
        prompts: Prompts with a score.
        clips: Clips with a score, or counted as 0.
        without: Clips without a score, by reason.
    """

    mean: float | None
    low: float | None
    high: float | None
    prompts: int
    clips: int
    without: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One model.

    Attributes:
        model: Its name.
        rank: Rank, 1 best; None without a mean in the column ranked by.
        shares: Share of bootstrap samples of prompts in which it has each rank; empty without a rank.
        cells: By column: the index, the average and the metrics.
    """

    model: str
    rank: int | None
    prompts: int
    clips: int
    shares: tuple[float, ...]
    cells: Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Step(Difference):
    """A model and the next one below it; p is Holm-corrected over all steps of the table.

    Attributes:
        above: The better one.
        below: The other.
    """

    above: str
    below: str


@dataclass(frozen=True, slots=True)
class Board:
    """One table.

    Attributes:
        label: Preset, protocol, and comparability of the numbers.
        preset: Preset that scored.
        protocol: Definition of the metrics.
        comparable: True if the numbers compare with the published ones.
        columns: The index where there can be one (twice where clips collapsed, the one ranked by first), those of
            one's own, the average, built-in metrics, and custom ones that any run has.
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
_NAMED = 3  # clips in a note


def make_boards(
    runs: Sequence[str],
    by: str | None = None,
    collapsed: Collapsed = "zero",
    index: str | os.PathLike[str] | None = None,
) -> list[Board]:
    """Make a table of every preset, protocol and set of metric versions among runs.

    Args:
        runs: Run directories; ``NAME=DIRECTORY`` names the model of a run whose clips lie in no folder per model.
        by: Column to rank by: ``"motion_index"``, ``"average"`` or a metric; None takes the index where there can be
            one, else the average.
        collapsed: ``"zero"`` ranks by the index with that of collapsed clips as 0, ``"skip"`` by that of the others.
        index: File of ``vmmetrics calibrate``, whose index is computed from the scores and ranks where ``by`` is None.

    Raises:
        SetupError: One is not a run, has no clips, or two have a model of one name; no run has that column; the index
            does not hold for the scores.
    """
    if index is not None and by is None:
        by = read_index(index)[0].name
    groups = comparable_models(with_own_index(read_run(*split_source(run)), index, collapsed) for run in runs)
    return [make_board(prompt_scores(models), by, notes, collapsed) for models, notes in groups]


def make_board(
    of_models: PromptScores, by: str | None = None, remarks: Sequence[str] = (), collapsed: Collapsed = "zero"
) -> Board:
    """Make the table of comparable models.

    Args:
        of_models: Their scores.
        by: As of :func:`make_boards`.
        remarks: Notes to put first.
        collapsed: As of :func:`make_boards`.

    Raises:
        SetupError: There is no such column.
    """
    models, keys, scores, own = of_models.models, of_models.keys, of_models.scores, of_models.own
    preferred = (INDEX_OR_ZERO, INDEX) if collapsed == "zero" else (INDEX, INDEX_OR_ZERO)
    indexes = [key for key in preferred if key in keys]
    leading = (*indexes, *sorted({key for model in models for key in model.run.indexes}), AVERAGE)
    columns = (*leading, *(key for key in keys if key not in leading))
    by = columns[0] if by is None or (by == INDEX and indexes) else by
    if by not in columns:
        raise SetupError(f"No column {by!r} to rank by; there are {', '.join(columns)}")
    ranked = keys.index(by)
    sign = -1.0 if own.get(by, {}).get("lower_is_better", False) else 1.0
    many = [drawn_below(len(model.run.records)) for model in models]
    cells = [{key: _cell(model.records, key, few) for key in columns} for model, few in zip(models, many, strict=True)]
    values = {m: sign * mean for m in range(len(models)) if (mean := cells[m][by].mean) is not None}
    order = sorted(values, key=lambda m: -values[m])
    only = slice(ranked, ranked + 1)
    drawn = resampled_means(scores[order, :, only], of_models.clips[order, :, only])[:, :, 0] if order else None
    shares = np.zeros((0, 0)) if drawn is None else rank_shares(sign * drawn)
    rows = []
    for m in [*order, *(m for m in range(len(models)) if m not in values)]:
        rank = None if m not in values else 1 + sum(values[o] > values[m] for o in order)
        share = tuple(shares[order.index(m)].tolist()) if m in values else ()
        rows.append(Row(models[m].name, rank, of_models.counts[m], len(models[m].records), share, cells[m]))
    first = models[0].run.configuration
    return Board(
        label=str(first.get("label", f"preset {first['preset']}, protocol {first['protocol']}")),
        preset=str(first["preset"]),
        protocol=str(first["protocol"]),
        comparable=bool(first.get("comparable")),
        columns=columns,
        by=by,
        rows=tuple(rows),
        steps=_steps([models[m].name for m in order], scores[order, :, ranked], of_models.clips[order, :, ranked]),
        prompts=len(of_models.prompts),
        notes=(
            *remarks,
            *_configuration_notes(models),
            *dict.fromkeys(
                f"{m.run.title}: {text}" for m in models for text in (*m.run.warnings, *m.run.indexes.values())
            ),
            of_models.note,
            *_rank_notes(rows, by),
            *(note for model in models for note in _collapse_notes(model)),
            *_missing_notes(rows, columns),
        ),
    )


def _cell(records: Sequence[Record], column: str, many: int | None) -> Cell:
    """Return one number of a model: the same mean and interval as :meth:`Table.mean` has of these clips."""
    scored = [(score, prompt_of(record)) for record in records if (score := score_of(record, column)) is not None]
    prompts = [prompt for _, prompt in scored]
    mean = mean_with_interval([score for score, _ in scored], many, prompts)
    value, low, high = (None, None, None) if mean is None else mean[:3]
    return Cell(value, low, high, len(set(prompts)), len(scored), _reasons(records, column))


def _reasons(records: Sequence[Record], metric: str) -> dict[str, int]:
    """Count the reasons why clips have no score, most frequent first."""
    reasons: Counter[str] = Counter()
    needs = {INDEX: INDEX_NEEDS, INDEX_OR_ZERO: INDEX_NEEDS, AVERAGE: INDEX_METRICS}
    for record in records:
        if record.error is not None or metric in record.errors:
            reasons["failed"] += 1
        elif metric in needs:
            without = [label(need) for need in needs[metric] if need not in record.scores]
            absent = score_of(record, metric) is None
            reasons.update([record.collapsed or f"no {' and no '.join(without)}"] if absent else [])
        elif metric not in record.scores:
            reason = record.missing.get(metric, "not scored")
            reasons[f"does not apply ({reason})" if metric in record.not_applicable else reason] += 1
    return dict(reasons.most_common())


def _steps(names: list[str], scores: FloatArray, clips: FloatArray) -> tuple[Step, ...]:
    """Return each ranked model against the next, from (M, P) scores in order and their clips; Holm over all of them."""
    if len(names) < 2:
        return ()
    pairs = paired_differences(*(np.stack([of_models[:-1], of_models[1:]]) for of_models in (scores, clips)))
    return tuple(map(Step, *zip(*map(astuple, corrected(pairs)), strict=True), names[:-1], names[1:]))


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


def _collapse_notes(model: Model) -> list[str]:
    zeros = [record for record in model.records if record.counts_as_zero]
    kinds, names = Counter(record.collapsed for record in zeros), [record.clip for record in zeros]
    counts = ", ".join(f"{clips} {kind}" for kind, clips in kinds.most_common())
    what = f"{len(names)} of {len(model.records)} clips collapsed ({counts}), INDEX counted as 0"
    return [f"{model.name}: {what}: {listed(names, _NAMED)}"] if names else []


def _missing_notes(rows: Sequence[Row], keys: Sequence[str]) -> list[str]:
    notes = []
    for row in rows:
        alike: dict[str, list[str]] = {}
        for metric in keys:
            without = row.cells[metric].without
            if without and metric not in (INDEX, INDEX_OR_ZERO, AVERAGE):  # the five say why
                reasons = ", ".join(f"{reason} ({clips})" for reason, clips in list(without.items())[:2])
                text = f"for {sum(without.values())} of {row.clips} clips: {reasons}"
                alike.setdefault(text, []).append(label(metric))
        notes += [f"{row.model}: no {', '.join(names)} {text}" for text, names in alike.items()]
    return notes


def head(column: str) -> str:
    """Return a column's name as tables show it."""
    return "INDEX, collapsed as 0" if column == INDEX_OR_ZERO else label(column)


def _rank_notes(rows: Sequence[Row], by: str) -> list[str]:
    """Return a note for every model without a rank: the metrics it has no score in."""
    unranked, notes = [row for row in rows if row.rank is None], []
    needed = {INDEX: INDEX_NEEDS, INDEX_OR_ZERO: INDEX_NEEDS, AVERAGE: INDEX_METRICS}.get(by, (by,))
    for row in unranked:
        empty = [metric for metric in needed if row.cells[metric].mean is None]
        reasons = ", ".join(
            f"{label(metric)} ({next(iter(row.cells[metric].without), 'not scored')})" for metric in empty
        )
        what = f"none of {row.clips} clips has a score in {reasons}" if empty else "no clip has a score in all of them"
        notes.append(f"{row.model} is not ranked by {head(by)}: {what}")
    ranks = [key for key in rows[0].cells if all(row.cells[key].mean is not None for row in rows)]
    if unranked and ranks:
        option = f"--sort-by {'INDEX' if ranks[0] in (INDEX, INDEX_OR_ZERO) else ranks[0]}"
        if ranks[0] == INDEX_OR_ZERO != next(iter(rows[0].cells)):
            option += " --collapsed zero"  # INDEX names the one that is ranked by first
        notes.append(f"All models can be ranked by {'; '.join(map(head, ranks))}: {option}")
    return notes
