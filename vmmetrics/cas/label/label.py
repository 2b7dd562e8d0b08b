"""``vmmetrics cas label`` without the command line: comparisons in, labelled clips out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from vmmetrics.cas.label.comparisons import Comparison, Comparisons, ListedClip, collect_clips, shown_prompts
from vmmetrics.errors import SetupError
from vmmetrics.functional.cas import LEVELS
from vmmetrics.utils.statistics import bradley_terry
from vmmetrics.utils.statistics.bootstrap import prompt_codes
from vmmetrics.utils.statistics.bradley_terry import Strengths
from vmmetrics.utils.statistics.pair_choice import PairQuestion
from vmmetrics.utils.statistics.preferences import RaterSummary, RepeatCounts, Repeats, rate_raters, settle_repeats
from vmmetrics.utils.storage.atomic import write_atomically, write_json
from vmmetrics.utils.storage.journal import encode
from vmmetrics.utils.storage.provenance import now, version_of
from vmmetrics.utils.tables import sha256_of

Scope = Literal["auto", "pooled", "prompt", "component"]


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """Settings of labelling.

    Attributes:
        ties: Tie model, ``"davidson"`` or ``"rao-kupper"``.
        prior: ``"auto"``, a prior only where the likelihood has no maximum; ``"none"``, never; or ``"always"``.
        prior_sd: Standard deviation of the normal prior on strengths, log odds.
        cut: How strengths are cut into levels.
        fixed_cuts: The four cuts of ``"fixed"``, log odds.
        scope: Clips that are cut together: ``"pooled"``, all; ``"prompt"``; ``"component"``, those linked by
            comparisons; ``"auto"`` is pooled where everything is linked, else component.
        repeats: What a rater's repeated judgements of a pair count for, see :func:`.settle_repeats`.
    """

    ties: str = "davidson"
    prior: Literal["auto", "none", "always"] = "auto"
    prior_sd: float = bradley_terry.DEFAULT_PRIOR_SD
    cut: Cut = "quantile"
    fixed_cuts: tuple[float, ...] | None = None
    scope: Scope = "auto"
    repeats: Repeats = "share"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.prior_sd) and self.prior_sd > 0):
            raise SetupError(f"Expected a prior standard deviation above 0 but got {self.prior_sd}")


@dataclass(frozen=True, slots=True)
class Labelling:
    """The labels and everything that led to them.

    Attributes:
        clips: The clips, in the order of every array.
        fit: Their strengths.
        levels: Their levels.
        pool: (N,) number of the pool each was cut in.
        scope: Which clips were cut together.
        times: (N,) comparisons each clip was in, by weight.
        raters: Per named rater.
        repeats: Repeated judgements found.
        notes: What the user must know to read the labels, in words.
    """

    clips: tuple[ListedClip, ...]
    fit: Strengths
    levels: Levels
    pool: NDArray[np.int64]
    scope: Scope
    times: NDArray[np.float64]
    raters: tuple[RaterSummary, ...]
    repeats: RepeatCounts
    notes: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return one JSON-ready record per clip, see docs/cas-labels.md."""
        rows = []
        for number, entry in enumerate(self.clips):
            level = int(self.levels.level[number])
            names = ("level", "level_name", "strength", "se", "low", "high", "level_probs")
            judged: Sequence[Any] = [None] * len(names)
            if level >= 0:
                strength, error = float(self.fit.strength[number]), float(self.fit.error[number])
                half = bradley_terry.INTERVAL_Z * error
                shares = [round(float(p), 6) for p in self.levels.probabilities[number]]
                judged = level, LEVELS[level], strength, error, strength - half, strength + half, shares
            component, times = int(self.fit.graph.component[number]), round(float(self.times[number]), 6)
            row = {"clip": entry.clip, **dict(zip(names, judged, strict=True)), "prompt": entry.prompt}
            rows.append(row | {"group": entry.group, "component": component, "comparisons": times})
        return rows

    def uncertain(self) -> list[int]:
        """Return clips whose level is less likely than not, by number, the least certain first."""
        # without a level all probabilities are NaN, and no comparison with them holds
        certainty = np.take_along_axis(self.levels.probabilities, self.levels.level[:, None], axis=1)[:, 0]
        doubtful = np.flatnonzero(certainty < UNCERTAIN)
        numbers: list[int] = doubtful[np.argsort(certainty[doubtful], kind="stable")].tolist()
        return numbers

    def meta(self) -> dict[str, Any]:
        """Return what is recorded beside the labels: the fit, the cuts, the components, the raters."""
        fit, levels = self.fit, self.levels.level[self.levels.level >= 0]
        model = {"name": fit.model.name, "parameter": fit.model.parameter, "value": fit.tau, "se": fit.tau_error}
        return {
            "tie_model": model if fit.has_ties else dict.fromkeys(model),
            "prior_sd": fit.prior_sd,
            "fit": bradley_terry.goodness_of_fit(fit),
            "maximum_without_prior": fit.graph.has_maximum,
            "components": self.components(),
            "scope": self.scope,
            "cuts": self._cuts(),
            "level_shares": {name: float(np.mean(levels == k)) for k, name in enumerate(LEVELS)},
            "uncertain_clips": len(self.uncertain()),
            "repeats": asdict(self.repeats),
            "raters": [asdict(rater) for rater in self.raters],
            "notes": list(self.notes),
        }

    def components(self) -> list[dict[str, Any]]:
        """Return per component its number, clips, strongly connected parts and first clip."""
        graph = self.fit.graph
        first, sizes = np.unique(graph.component, return_index=True, return_counts=True)[1:]
        parts = np.bincount(graph.component[np.unique(graph.block, return_index=True)[1]])
        return [
            {"component": number, "clips": int(size), "strong_parts": int(split), "first": self.clips[at].clip}
            for number, (size, split, at) in enumerate(zip(sizes, parts, first, strict=True))
        ]

    def _cuts(self) -> list[dict[str, Any]]:
        cuts = []
        for pool, bounds in self.levels.cuts.items():
            inside = np.flatnonzero(self.pool == pool)
            name = self.clips[inside[0]].prompt if self.scope == "prompt" else None
            shown = [bound if math.isfinite(bound) else None for bound in bounds]
            cuts.append({"pool": pool, "prompt": name, "clips": len(inside), "strengths": shown})
        return cuts


def label_clips(
    rows: Sequence[Comparison], listed: Sequence[ListedClip] | None = None, settings: LabelSettings | None = None
) -> Labelling:
    """Fit strengths and cut them into levels.

    Args:
        rows: Comparisons.
        listed: The whole pool, or None for the clips compared.
        settings: How; default :class:`LabelSettings`.

    Returns:
        The labels. Clips without comparisons are in it, without a level.

    Raises:
        SetupError: The data contradict themselves or cannot be fitted as asked.
    """
    settings = settings or LabelSettings()
    clips = tuple(collect_clips(rows, listed))
    names = [entry.clip for entry in clips]
    settled, repeats = settle_repeats(rows, settings.repeats)
    always, needed = (settings.prior_sd if settings.prior == when else None for when in ("always", "auto"))
    fit = bradley_terry.fit_strengths(settled, names, ties=settings.ties, prior_sd=always, prior_if_needed=needed)
    index = {name: number for number, name in enumerate(names)}
    times = np.zeros(len(names))
    for row in rows:
        times[[index[row.left], index[row.right]]] += row.weight
    scope, pool = _pools(clips, fit, settings.scope, times)
    try:
        levels = cut_levels(fit.strength, fit.error, pool, settings.cut, settings.fixed_cuts)
    except ValueError as error:
        raise SetupError(str(error)) from error
    raters = tuple(rate_raters(rows, dict(zip(fit.items, fit.strength, strict=True))))
    labelling = Labelling(clips, fit, levels, pool, scope, times, raters, repeats, ())
    return replace(labelling, notes=_notes(labelling, settings))


def _pools(
    clips: Sequence[ListedClip], fit: Strengths, scope: Scope, times: NDArray[np.float64]
) -> tuple[Scope, NDArray[np.int64]]:
    """Return the scope that ``auto`` stands for, and each clip's pool."""
    component = fit.graph.component
    if scope == "auto":
        scope = "pooled" if len(np.unique(component[times > 0])) == 1 else "component"
    if scope == "pooled":
        return scope, np.zeros(len(clips), np.int64)
    if scope == "component":
        return scope, component
    if without := [entry.clip for entry in clips if entry.prompt is None]:
        raise SetupError(f"Levels per prompt need the prompt of every clip; {without[0]} has none")
    return scope, prompt_codes([str(entry.prompt) for entry in clips])[0]


def _notes(labelling: Labelling, settings: LabelSettings) -> tuple[str, ...]:
    fit, scope, pool = labelling.fit, labelling.scope, labelling.pool
    graph, compared = fit.graph, labelling.times > 0
    components = len(np.unique(graph.component[compared]))
    groups = [compared & (pool == p) for p in np.unique(pool[compared])]
    notes = []
    if settings.prior == "always":
        notes.append(f"prior used as asked, normal with standard deviation {fit.prior_sd:g}")
    elif fit.prior_sd is not None:
        why = bradley_terry.explain_no_maximum(graph, fit.items)
        reason = why.partition(". ")[0].removeprefix("The likelihood has no maximum: ")
        notes.append(f"prior used, normal with standard deviation {fit.prior_sd:g}, because {reason}")
    if components > 1:
        notes.append(
            f"{components} groups of clips are not linked by any comparison: strengths compare only within one"
        )
    if scope == "component" and components > 1:
        notes.append("levels are relative to the other clips of the same component, not across components")
    if any(len(np.unique(graph.component[inside])) > 1 for inside in groups):
        notes.append("levels were cut across unlinked groups, as if each group were equally good on average")
    if scope == "prompt":
        notes.append("levels are relative to the other clips of the same prompt, not across prompts")
    small = sum(inside.sum() < len(LEVELS) for inside in groups)
    if small and settings.cut != "fixed":
        notes.append(f"pools with fewer than five clips, which cannot fill five levels: {small}")
    if not fit.has_ties:
        notes.append("there are no ties: plain Bradley-Terry")
    if not compared.all():
        notes.append(f"{(~compared).sum()} clips were in no comparison and have no level")
    return tuple(notes)


# What ``vmmetrics cas label`` writes: labels, how they came about, and pairs to ask about.


def write_labels(
    out: Path, labelling: Labelling, settings: LabelSettings, read: Comparisons, inputs: Sequence[Path]
) -> None:
    """Write the labels as JSON Lines and their record beside them.

    Raises:
        SetupError: A file cannot be written.
    """
    record = {
        "created": now(),
        "versions": {name: version_of(name) for name in ("vmmetrics", "numpy", "scipy")},
        "inputs": [{"path": str(path), "sha256": sha256_of(path)} for path in inputs],
        "comparisons": len(read.rows),
        "ignored_columns": list(read.ignored_columns),
        "clips": len(labelling.clips),
        "settings": asdict(settings),
        **labelling.meta(),
    }
    write_json(out.with_suffix(".meta.json"), record)
    write_atomically(out, b"".join(map(encode, labelling.rows())))


def write_questions(out: Path, questions: Iterable[PairQuestion], clips: Iterable[ListedClip]) -> None:
    """Write pairs to ask about, in the format of comparisons with the winner left open.

    Raises:
        SetupError: The file cannot be written.
    """
    prompts = {entry.clip: entry.prompt for entry in clips}
    lines = [
        {"a": q.left, "b": q.right, "winner": None}
        | shown_prompts(prompts[q.left], prompts[q.right])
        | {"reason": q.reason, "gain": round(q.gain, 6)}
        for q in questions
    ]
    write_atomically(out, b"".join(map(encode, lines)))


Floats = NDArray[np.float64]
# Levels Bad, Poor, Fair, Good, Perfect from strengths.

Cut = Literal["quantile", "normal", "fixed"]
NORMAL_CUTS = tuple(float(ndtri(share)) for share in (0.2, 0.4, 0.6, 0.8))
"""Quintiles of the standard normal distribution."""
SAME = 1e-6
"""Strengths closer than this (log odds) are equal: the fit is exact to some 1e-9."""
UNCERTAIN = 0.5
"""Probability of the assigned level below which it is called uncertain."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels of the clips of one pool or of several.

    Attributes:
        level: (N,) 0 Bad to 4 Perfect, −1 for a clip without strength.
        probabilities: (N, 5) probability of each level, NaN for a clip without strength.
        cuts: Per pool, the four strengths at which the level changes; ∓∞ where no clip lies beyond.
    """

    level: NDArray[np.int64]
    probabilities: Floats
    cuts: dict[int, tuple[float, ...]]


def cut_levels(
    strength: Floats, error: Floats, pool: NDArray[np.int64], cut: Cut, fixed: Sequence[float] | None = None
) -> Levels:
    """Cut strengths into levels.

    Args:
        strength: (N,) strengths, NaN where there is none.
        error: (N,) their standard errors.
        pool: (N,) number of the pool each clip is cut in.
        cut: How.
        fixed: The four ascending cuts for ``"fixed"``.

    Returns:
        Level and probabilities per clip.

    Raises:
        ValueError: ``fixed`` does not fit ``cut``, or is no four ascending numbers.
    """
    if (fixed is None) == (cut == "fixed"):
        raise ValueError("The cut 'fixed' needs four cuts, and no other takes them")
    if fixed is not None and (len(fixed) != 4 or not np.all(np.diff([*fixed]) > 0) or not np.all(np.isfinite(fixed))):
        raise ValueError(f"Expected four ascending cuts but got {', '.join(map(str, fixed))}")
    level = np.full(len(strength), -1, np.int64)
    probabilities = np.full((len(strength), len(LEVELS)), math.nan)
    cuts: dict[int, tuple[float, ...]] = {}
    for number in np.unique(pool):
        inside = np.flatnonzero((pool == number) & np.isfinite(strength))
        if len(inside) == 0:
            continue
        values = _snap(strength[inside])
        if cut == "quantile":
            share = (rankdata(values) - 0.5) / len(values)
            # a share of exactly 0.2 must not fall below it by rounding
            level[inside] = np.floor(share * len(LEVELS) + 1e-9)
            cuts[int(number)] = _between(values, level[inside])
        else:
            bounds = fixed if fixed is not None else values.mean() + values.std() * np.array(NORMAL_CUTS)
            level[inside] = np.searchsorted(np.asarray(bounds), values, side="right")
            cuts[int(number)] = tuple(float(bound) for bound in bounds)
        probabilities[inside] = _probabilities(strength[inside], error[inside], cuts[int(number)])
    return Levels(level, probabilities, cuts)


def _snap(values: Floats) -> Floats:
    """Replace runs of near-equal values by their mean, so that ties stay ties."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    run = np.concatenate([[0], np.cumsum(np.diff(ordered) > SAME)])
    snapped = np.empty_like(values)
    snapped[order] = (np.bincount(run, ordered) / np.bincount(run))[run]
    return snapped


def _between(values: Floats, level: NDArray[np.int64]) -> tuple[float, ...]:
    """Return cuts half way between the best clip below and the worst above."""
    cuts = []
    for number in range(1, len(LEVELS)):
        low = max(values[level < number], default=-math.inf)
        high = min(values[level >= number], default=math.inf)
        cuts.append(float((low + high) / 2))
    return tuple(cuts)


def _probabilities(strength: Floats, error: Floats, cuts: tuple[float, ...]) -> Floats:
    """Return Φ of the standardised distances to the cuts, differenced."""
    edges = np.array([-math.inf, *cuts, math.inf])
    distance = (edges - strength[:, None]) / error[:, None]
    upper = np.diff(ndtr(distance), axis=1)
    lower = -np.diff(ndtr(-distance), axis=1)  # the same, exact in the other tail
    return np.asarray(np.abs(np.where(distance[:, :-1] > 0, lower, upper)))  # an empty level is 0, not -0
