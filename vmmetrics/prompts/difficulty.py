"""Difficulty of prompts from clips of several models that succeeded or failed, and a hard subset that is not fitted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.utils.display.markup import without_guard
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Part, bounds, figure, heads, number
from vmmetrics.utils.statistics.bootstrap import (
    LEAST_PROMPTS,
    RESAMPLES,
    SEED,
    Estimate,
    estimate,
    mean_of_defined,
    ratio,
    sampled,
)
from vmmetrics.utils.statistics.rasch import LEAST_SPREAD, Rasch, fit_rasch, rest_correlation
from vmmetrics.utils.tables import located_rows

LEAST_MODELS = 4
"""Models from which on one half can choose a subset and the other show it."""
_SUCCESS = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}


@dataclass(frozen=True)
class Outcomes:
    """Successes of clips.

    Attributes:
        models: M names.
        prompts: I ids.
        passed: (M, I) clips that succeeded.
        asked: (M, I) clips that were judged.
        unknown: Rows without a success or failure.
    """

    models: tuple[str, ...]
    prompts: tuple[str, ...]
    passed: NDArray[np.floating]
    asked: NDArray[np.floating]
    unknown: int = 0

    def of(self, models: Sequence[int]) -> Outcomes:
        """Return those of some models; prompts that none of them has stay, with zeros."""
        names = tuple(self.models[m] for m in models)
        return Outcomes(names, self.prompts, self.passed[models], self.asked[models], self.unknown)


def read_outcomes(paths: Iterable[Path]) -> Outcomes:
    """Read tables of clips with columns model, prompt and success, such as the ``clips.csv`` of ``prompts ask``.

    A table whose models are all empty, of a folder of clips, is of one model, which has the name of the table's folder.

    Raises:
        SetupError: A table cannot be read, lacks a column or a value, has a clip twice, or a success is not 1 or 0.
    """
    counts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    unknown, clips = 0, set[tuple[str, str]]()
    for path in paths:
        table = located_rows(path, expected="a table of clips is expected")
        rows = [(where, _cells(row, where)) for where, row in table]
        alone = "" if any(cells["model"] for _, cells in rows) else path.resolve().parent.name
        for where, cells in rows:
            model, prompt = cells["model"] or alone, cells["prompt"]
            success = cells["success"].lower().removesuffix(".0")
            if not model or not prompt:
                raise SetupError(f"{where}: expected a model and a prompt but got {model!r} and {prompt!r}")
            if success and success not in _SUCCESS:
                raise SetupError(f"{where}: expected success to be 1, 0 or empty but got {cells['success']!r}")
            if cells["clip"] and (model, cells["clip"]) in clips:
                raise SetupError(f"{where}: clip {cells['clip']!r} of {model!r} is there twice")
            clips.add((model, cells["clip"]))
            if success:
                counts[model, prompt][_SUCCESS[success]] += 1
            else:
                unknown += 1
    models = tuple(sorted({model for model, _ in counts}))
    prompts = tuple(sorted({prompt for _, prompt in counts}))
    if len(models) < 2 or len(prompts) < 2:
        names = ", ".join(models) or "none"
        raise SetupError(
            f"Difficulty needs clips of two models and two prompts; models: {names}; prompts: {len(prompts)}"
        )
    passed, asked = (np.zeros((len(models), len(prompts))) for _ in range(2))
    for (model, prompt), both in counts.items():
        at = models.index(model), prompts.index(prompt)
        passed[at], asked[at] = both[1], both.total()
    return Outcomes(models, prompts, passed, asked, unknown)


def _cells(row: object, where: str) -> dict[str, str]:
    """Return the texts of a row's columns."""
    if not isinstance(row, Mapping) or not {"model", "prompt", "success"} <= row.keys():
        raise SetupError(f"{where}: expected columns model, prompt and success")
    names = ("clip", "model", "prompt", "success")
    return {name: "" if row.get(name) is None else without_guard(str(row[name])).strip() for name in names}


@dataclass(frozen=True)
class ItemAnalysis:
    """Item analysis of prompts.

    Attributes:
        outcomes: The clips.
        rates: (I,) mean over models of the share of their clips that succeeded; NaN without a clip.
        discriminations: (I,) see :func:`~vmmetrics.utils.statistics.rasch.rest_correlation`.
        rasch: The fitted model.
    """

    outcomes: Outcomes
    rates: NDArray[np.floating]
    discriminations: NDArray[np.floating]
    rasch: Rasch


def analyse(outcomes: Outcomes, entries: Sequence[PromptEntry]) -> ItemAnalysis:
    """Return pass rate, discrimination and difficulty of every prompt.

    Args:
        outcomes: The clips.
        entries: The prompt list of the clips.

    Raises:
        SetupError: The list lacks a prompt.
    """
    listed = {entry.index for entry in entries}
    if absent := [prompt for prompt in outcomes.prompts if prompt not in listed]:
        raise SetupError(f"Prompt {absent[0]} is not in the list; give the list of the clips (--prompts)")
    passed, asked = outcomes.passed, outcomes.asked
    return ItemAnalysis(outcomes, _rates(outcomes), rest_correlation(passed, asked), fit_rasch(passed, asked))


@dataclass(frozen=True)
class HardSubset:
    """A subset that some models chose, and what it is for the others.

    Attributes:
        prompts: Ids of the hardest prompts, ascending.
        chosen_by: Models that chose.
        shown_on: The others.
        rate: Pass rate of those others on the subset, clusters are prompts.
        rest: On all other prompts.
        difference: Of the two; below 0 where the subset is harder for models that did not choose it.
    """

    prompts: tuple[str, ...]
    chosen_by: tuple[str, ...]
    shown_on: tuple[str, ...]
    rate: Estimate
    rest: Estimate
    difference: Estimate


def hard_subset(outcomes: Outcomes, entries: Sequence[PromptEntry], size: int, seed: int = 0) -> HardSubset:
    """Choose the hardest prompts by one half of the models, as many of each pattern, and show them on the other half.

    Args:
        outcomes: The clips.
        entries: The prompt list, which has the patterns.
        size: Prompts to choose.
        seed: Random seed of the halves.

    Raises:
        SetupError: Fewer than :data:`LEAST_MODELS` models, or too few prompts.
    """
    if len(outcomes.models) < LEAST_MODELS:
        raise SetupError(f"A hard subset needs {LEAST_MODELS} models: half choose it, and the others show what it is")
    patterns = {entry.index: entry.pattern for entry in entries}
    order = np.random.default_rng(seed).permutation(len(outcomes.models)).tolist()
    half = len(order) // 2
    choosing, shown = outcomes.of(sorted(order[:half])), outcomes.of(sorted(order[half:]))
    known = np.flatnonzero((choosing.asked.sum(0) > 0) & (shown.asked.sum(0) > 0))
    if not 0 < size < known.size:
        raise SetupError(f"Expected a size below the {known.size} prompts that both halves have but got {size}")
    difficulties = fit_rasch(choosing.passed, choosing.asked).difficulties
    ranked: dict[str, list[int]] = defaultdict(list)
    for item in known[np.argsort(-difficulties[known], kind="stable")].tolist():
        ranked[patterns[outcomes.prompts[item]]].append(item)
    chosen = [item for turn in range(known.size) for items in ranked.values() for item in items[turn : turn + 1]]
    hard = np.isin(known, chosen[:size])
    rates, names = _rates(shown)[known], [outcomes.prompts[item] for item in known]

    def means(weights: NDArray[np.floating]) -> NDArray[np.floating]:
        hards, rests = (ratio((weights[:, of] * rates[of]).sum(1), weights[:, of].sum(1)) for of in (hard, ~hard))
        return np.stack([hards, rests, hards - rests], 1)

    observed, values = sampled(means, names, RESAMPLES, SEED)
    counts = (int(hard.sum()), int((~hard).sum()), known.size)
    if min(counts) < LEAST_PROMPTS:
        values = values[:0]
    rate, rest, difference = (estimate(observed[n], values[:, n], names, "", counts[n]) for n in range(3))
    subset = tuple(sorted(name for name, is_hard in zip(names, hard, strict=True) if is_hard))
    return HardSubset(subset, choosing.models, shown.models, rate, rest, difference)


def _rates(outcomes: Outcomes) -> NDArray[np.floating]:
    """Return (I,) the mean over models of the shares of their clips that succeeded; NaN without a clip."""
    return mean_of_defined(ratio(outcomes.passed, outcomes.asked), axis=0)


def difficulty_parts(analysis: ItemAnalysis, subset: HardSubset | None, entries: Sequence[PromptEntry]) -> list[Part]:
    """Return tables of models, of prompts from the hardest, and of the hard subset."""
    outcomes, rasch = analysis.outcomes, analysis.rasch
    texts = {entry.index: entry.prompt for entry in entries}
    caption = f"{len(outcomes.prompts):,} prompts, {int(outcomes.asked.sum()):,} clips"
    caption += f", {outcomes.unknown:,} without a judgement" if outcomes.unknown else ""
    columns = heads("model", "clips", "passed", "ability (logits)", "infit")
    models = DisplayTable("models", "Models", caption, columns)
    for m, name in enumerate(outcomes.models):
        models.add(
            name, figure(outcomes.asked[m].sum(), f"{outcomes.asked[m].sum():.0f}"),
            figure(outcomes.passed[m].sum() / outcomes.asked[m].sum()),
            _between(rasch.abilities[m], rasch.ability_errors[m]),
            figure(_known(rasch.infit[m])),
        )  # fmt: skip
    heading = f"Prompts from the hardest; spread of difficulties {rasch.spread:.2f} logits"
    columns = heads("prompt", "text", "clips", "passed", "difficulty (logits)", "discrimination", "infit", texts=2)
    alike = "The clips do not tell prompts apart: intervals of difficulties are too narrow."
    items = DisplayTable("prompts", heading, alike if rasch.spread <= 1.1 * LEAST_SPREAD else "", columns)
    for i in np.argsort(-rasch.difficulties, kind="stable").tolist():
        name = outcomes.prompts[i]
        items.add(
            name, texts.get(name, ""), figure(outcomes.asked[:, i].sum(), f"{outcomes.asked[:, i].sum():.0f}"),
            figure(analysis.rates[i]), _between(rasch.difficulties[i], rasch.difficulty_errors[i]),
            figure(_known(analysis.discriminations[i])), figure(_known(rasch.item_infit[i])),
        )  # fmt: skip
    if subset is None:
        return [models, items]
    title = f"Hard subset of {len(subset.prompts):,}, chosen by {', '.join(subset.chosen_by)}"
    shown = DisplayTable("hard", title, f"Pass rates of {', '.join(subset.shown_on)}", heads("prompts", "passed"))
    for label, found in (("hard", subset.rate), ("others", subset.rest), ("difference", subset.difference)):
        shown.add(label, shown.estimate(found))
    return [models, shown, items]


def _between(value: float, half: float) -> DisplayCell:
    """Return the cell of a value with the half width of its interval."""
    if np.isnan(value):
        return figure(None, why="it passed all or nothing")
    ends = float(value - half), float(value + half)
    return DisplayCell(number(value), bounds(*ends), value=float(value), interval=ends)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
