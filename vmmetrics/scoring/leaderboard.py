"""Leaderboards: means of models with intervals over prompts, ranks, and the significance of the order.

Models are put into one table only if the same networks and the same definition scored them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import METRICS, in_order, label
from vmmetrics.scoring.header import read_run_json
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import read_records
from vmmetrics.scoring.versions import Versions, differing, of_one_meaning, versions_of
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
SCALE = 100


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


DECISIVE = ("preset", "protocol", "models", "weights")
"""Fields of a configuration that must agree for scores to be comparable."""
_SHOWN_DIFFERENCES = 3


@dataclass(frozen=True, slots=True)
class _Model:
    name: str
    run: Path
    configuration: Mapping[str, Any]
    own: Mapping[str, Mapping[str, Any]]  # metrics of the user's
    records: tuple[Record, ...]
    warnings: tuple[str, ...]
    versions: tuple[str, Versions]


def make_boards(runs: Sequence[str], by: str | None = None) -> list[Board]:
    """Make a table of every preset, protocol and set of metric versions among runs.

    Args:
        runs: Run directories; ``NAME=DIRECTORY`` names the model of a run whose clips lie in no folder per model.
        by: Column to rank by: ``"motion_index"``, ``"average"`` or a metric; None takes the index where there can be
            one, else the average.

    Raises:
        SetupError: One is not a run, has no clips, or two have a model of one name; no run has that column.
    """
    groups: dict[str, list[_Model]] = {}
    for run in runs:
        for model in _models(run):
            key = json.dumps({name: model.configuration.get(name) for name in DECISIVE}, sort_keys=True)
            groups.setdefault(key, []).append(model)
    boards = []
    for models in groups.values():
        mixed = differing([model.versions for model in models])
        notes = [f"Not comparable, as the metric versions differ: {text}" for text in mixed.values()]
        boards += [_board(alike, by, notes) for alike in of_one_meaning(models, attrgetter("versions"))]
    return boards


def _models(run: str) -> Iterator[_Model]:
    """Yield the models of a run: one per folder, or one in all."""
    name, equals, folder = run.partition("=")
    has_name = bool(equals) and not Path(run).exists()
    name, path = (name, Path(folder)) if has_name else ("", Path(run))
    header = read_run_json(path)
    configuration = header["configuration"]
    own = {key: part for key, part in header.get("parts", {}).items() if "range" in part}
    if not {"preset", "protocol"} <= configuration.keys():
        raise SetupError(f"{path / 'run.json'} has no preset or protocol; score the clips again")
    by_model: dict[str | None, list[Record]] = {}
    warnings: list[str] = []
    for record in read_records(path, warnings):
        by_model.setdefault(record.model, []).append(record)
    if not by_model:
        raise SetupError(f"{path} has no scored clips yet")
    for model, records in by_model.items():
        label = f"{name}/{model}" if name and model else model or name or path.resolve().name
        versions = (label, versions_of(records))
        yield _Model(label, path, configuration, own, tuple(records), tuple(warnings), versions)


def _board(models: list[_Model], chosen: str | None, remarks: Sequence[str]) -> Board:
    runs: dict[str, Path] = {}
    for model in models:
        other = runs.setdefault(model.name, model.run)
        if other is not model.run:
            raise SetupError(
                f"Both {other} and {model.run} have a model {model.name!r}; tell them apart as NAME=DIRECTORY, or "
                "join the parts of one run with 'vmmetrics merge'"
            )
    models = sorted(models, key=lambda model: model.name)
    own = {key: part for model in models for key, part in model.own.items()}
    keys = in_order([*METRICS, *own])
    if models[0].configuration["protocol"] == "vmmetrics":
        keys = (*keys, INDEX)
    columns = (*(INDEX for key in keys if key == INDEX), AVERAGE, *(key for key in keys if key != INDEX))
    by = columns[0] if chosen is None else chosen
    if by not in columns:
        raise SetupError(f"No column {by!r} to rank by; there are {', '.join(columns)}")
    keyed, note = _by_prompt(models)
    prompts = sorted({prompt for by_prompt in keyed for prompt in by_prompt})
    scale = {key: SCALE if own.get(key, {}).get("range", [0, 1]) == [0, 1] else 1 for key in keys}
    scores = np.stack([_matrix(by_prompt, prompts, scale) for by_prompt in keyed])
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
        rows.append(Row(models[m].name, cells[m], len(keyed[m]), len(models[m].records), rank, share))
    first = models[0].configuration
    damaged = {model.run: model.warnings for model in models}
    return Board(
        label=str(first.get("label", f"preset {first['preset']}, protocol {first['protocol']}")),
        preset=str(first["preset"]),
        protocol=str(first["protocol"]),
        comparable=bool(first.get("comparable")),
        columns=columns,
        by=by,
        rows=tuple(rows),
        steps=_steps([models[index].name for index in order], scores[order][:, :, ranked]),
        prompts=len(prompts),
        notes=(
            *remarks,
            *_configuration_notes(models),
            *(f"{run}: {text}" for run, texts in damaged.items() for text in texts),
            note,
            *_rank_notes(rows, by),
            *_missing_notes(rows, keys),
        ),
    )


def _by_prompt(models: list[_Model]) -> tuple[list[dict[str, list[Record]]], str]:
    """Return each model's records by prompt, and a note on how clips were paired."""
    everywhere = all(record.prompt for model in models for record in model.records if record.scores)
    keyed: list[dict[str, list[Record]]] = []
    for model in models:
        by_prompt: dict[str, list[Record]] = {}
        for record in model.records:
            key = " ".join(record.prompt.split()) if everywhere and record.prompt else name_in_model(record)
            by_prompt.setdefault(key, []).append(record)
        keyed.append(by_prompt)
    basis = "their prompts" if everywhere else "their file names, since not every scored clip has a known prompt"
    pairing = f"Clips of different models are paired by {basis}; the clips of one prompt are averaged first."
    cut = sum(bool(r.prompt_source) and str(r.prompt_source).endswith("(cut)") for m in models for r in m.records)
    if everywhere and cut:
        pairing += f" {cut} prompts were cut short in the clips' names, so that those that begin alike count as one."
    return keyed, pairing


def name_in_model(record: Record) -> str:
    """Return a clip's name without its model's folder and without its suffix."""
    path = PurePosixPath(record.clip)
    inner = path.relative_to(record.model) if record.model and path.is_relative_to(record.model) else path
    return str(inner.with_suffix("") if inner.name else inner)


def _matrix(by_prompt: Mapping[str, list[Record]], prompts: list[str], scale: Mapping[str, float]) -> FloatArray:
    """Return (P, K) scores by column of ``scale``, averaged over the clips of a prompt; NaN where missing."""
    matrix = np.full((len(prompts), len(scale)), np.nan)
    for row, prompt in enumerate(prompts):
        for column, metric in enumerate(scale):
            scores = (score_of(record, metric) for record in by_prompt.get(prompt, ()))
            values = [score for score in scores if score is not None]
            if values:
                matrix[row, column] = scale[metric] * math.fsum(values) / len(values)
    return matrix


def score_of(record: Record, column: str) -> float | None:
    """Return a clip's score or index; None where there is none."""
    if record.error is not None:
        return None
    return record.motion_index if column == INDEX else record.scores.get(column)


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


def _configuration_notes(models: list[_Model]) -> list[str]:
    """Return a note for every run whose configuration differs from the first run's."""
    notes = []
    first = models[0]
    for run, model in {model.run: model for model in models}.items():
        names = (str(run), str(first.run))
        different = provenance.differences(model.configuration, first.configuration, names=names)
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
