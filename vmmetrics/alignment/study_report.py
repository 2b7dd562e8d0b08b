"""Alignment report of a study, in one call."""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, compress
from typing import Any, Literal

import numpy as np
import scipy

from vmmetrics.alignment import results
from vmmetrics.alignment.claims import LEAST_OFF_MODE, widest_claims
from vmmetrics.alignment.human_agreement import measure_human_agreement, measure_rater_agreement
from vmmetrics.alignment.levels import correlation_matrix, repeats_of
from vmmetrics.alignment.models import LEAST_MODELS, measure_models
from vmmetrics.alignment.pair_alignments import measure_alignments, measure_differences, measure_less_motion
from vmmetrics.alignment.power import measure_power
from vmmetrics.alignment.preference import Ties, measure_ablations, measure_preferences
from vmmetrics.alignment.readers.columns import measures_amount
from vmmetrics.alignment.reference_values import measure_preference_baselines, name_baseline, prompt_baseline
from vmmetrics.alignment.study import Study, with_averages, with_recovered_quality
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.errors import SetupError
from vmmetrics.types import BoolArray
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.statistics.bootstrap import CONFIDENCE, FEW_PROMPTS, LEAST_PROMPTS, RESAMPLES, SEED, Estimate
from vmmetrics.utils.statistics.permutation import SHUFFLES
from vmmetrics.utils.version import __version__

# A study without the clips of some models, such as real footage among generated clips.


def without_models(study: Study, models: Collection[str]) -> Study:
    """Leave out all clips of these models, and every pair that one of them is in; the matching says so.

    Raises:
        SetupError: If the study has no clip of one of the models.
    """
    if not models:
        return study
    if unknown := sorted(set(models) - set(study.models)):
        available = ", ".join(sorted({model for model in study.models if model})) or "none"
        raise SetupError(f"Expected models of the study to leave out ({available}) but got {', '.join(unknown)}")
    keep = np.array([model not in models for model in study.models], bool)
    return study.keep(keep, f"left out: {int((~keep).sum())} clips of {', '.join(sorted(models))}")


# What a study could not say, and why, gathered from the notes of its parts.

_KINDS: dict[type, str] = {
    results.NameBaseline: "name of the model",
    results.PromptBaseline: "the prompt alone",
    results.MetricDifference: "difference",
    results.HumanAgreement: "human ceiling",
    results.Agreement: "agreement of raters",
    results.PreferenceAccuracy: "preferences",
    results.Ablation: "ablation",
}
_SUBJECT = ("metric", "first", "second", "name", "dimension", "combination")  # fields that say what a part is about
_LABELS = {
    "without_both": "both out",
    "amplitude_constant": "amplitude constant",
}  # of fields, where a table calls them otherwise
_NAMED = 4  # subjects of one line; the others are counted


def problems_of(report: StudyReport) -> tuple[str, ...]:
    """Return one line for all that lacks the same statistics for the same reason, in the order of the report.

    Of a metric that has no correlation over all clips nothing else is listed, since the reason is the same; of a group
    (a prompt, a model) neither, since its mean speaks for it.

    >>> _line(["m × motion", "n × motion"], ("pooled", "within model"), "the scores are all the same")
    'm × motion, n × motion (pooled, within model): the scores are all the same'
    """
    hopeless = {(pair.metric, pair.dimension) for pair in report.alignments if pair.spearman.value is None}
    lines: dict[tuple[tuple[str, ...], str], list[str]] = {}
    people = (report.ceilings, report.agreements, report.preferences, report.ablations)
    known = (report.baselines, report.prompt_baselines)
    parts: Iterator[Any] = chain(report.alignments, *known, report.differences, *people)
    for part in parts:
        if {(getattr(part, end, None), part.dimension) for end in ("first", "second")} & hopeless:
            continue  # a difference
        by_note: dict[str, list[str]] = {}
        for where, note in _missing(part):
            by_note.setdefault(note, []).append(where)
        kind = f"{_KINDS[type(part)]}, " if type(part) in _KINDS else ""
        about = kind + " × ".join(str(getattr(part, name)) for name in _SUBJECT if hasattr(part, name))
        for note, statistics in by_note.items():
            lines.setdefault((tuple(statistics), note), []).append(about)
    return tuple(_line(subjects, where, note) for (where, note), subjects in lines.items())


def _missing(part: Any) -> Iterator[tuple[str, str]]:
    """Yield the statistics without a value inside a part, by the names of their fields, and why."""
    if isinstance(part, results.PairAlignment) and part.spearman.value is None:
        yield "", part.spearman.note or ""
        return
    for field in fields(part):
        value, label = getattr(part, field.name), _LABELS.get(field.name, field.name.replace("_", " "))
        if isinstance(value, results.CombinationFigure):
            yield from ((f"{label}: {where}", note) for where, note in _missing(value))
        value = value.mean if isinstance(value, results.Grouped) else value
        inner = {f"{label} {key}": e for key, e in value.items()} if isinstance(value, Mapping) else {label: value}
        for where, figure in inner.items():
            if isinstance(figure, Estimate) and figure.value is None:
                yield where, figure.note or ""


def _line(subjects: list[str], where: tuple[str, ...], note: str) -> str:
    statistics = f" ({', '.join(where)})" if any(where) else ""
    return f"{listed(subjects, _NAMED)}{statistics}: {note}"


NAMED_CLIPS = 5
"""Maximum unmatched clips named in the report; the study lists all."""


_MADE_BY = {
    "confidence": CONFIDENCE,
    "shuffles": SHUFFLES,
    "versions": {
        "vmmetrics": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    },
}


def align(
    study: Study,
    *,
    exclude_models: Collection[str] = (),
    resamples: int = RESAMPLES,
    seed: int = SEED,
    against: str | None = None,
    directed: Collection[str] = (),
    ties: Ties = "half",
    mos: Literal["mean", "recovered"] = "mean",
) -> StudyReport:
    """Compare every metric with the judgements it is paired with.

    Args:
        study: Scores and judgements, matched. Without a pairing, each metric is compared with all dimensions.
        exclude_models: Models whose clips are left out of everything, such as real footage among generated clips.
        resamples: Bootstrap samples of prompts.
        seed: Of all random numbers; the same study and seed give the same report.
        against: A metric that every other one is compared with, even where there are too many to compare all.
        directed: Metrics of which higher is better although their names say that they measure an amount. Of those that
            do, neither more nor less is better, so they are not compared with others, but on ratings of an amount.
        ties: How ties count in preference accuracy (:func:`~vmmetrics.alignment.preference.measure_preferences`).
        mos: What a clip's ratings come to: their mean, or the quality that MOS recovery finds (ITU-T P.910).

    Raises:
        SetupError: If a model to leave out or the metric to compare with is not in the study.
    """
    if against is not None and against not in study.scores:
        raise SetupError(f"Expected one of the metrics ({', '.join(study.scores)}) but got {against}")
    study = without_models(study, exclude_models)
    original, unknown = _with_pairing(with_recovered_quality(study) if mos == "recovered" else study)
    study, averages = with_averages(original)
    rated = [dimension for dimension in study.ratings if study.metrics_for(dimension)]
    judged = [*rated, *(d for d in study.preferences if d not in study.ratings and study.metrics_for(d))]
    several = [dimension for dimension in rated if study.ratings[dimension].shape[1] > 1]
    single = {d: [metric for metric in study.metrics_for(d) if metric in original.scores] for d in judged}
    clips, drawn = _judged_clips(study, judged), (resamples, seed)
    matrix = correlation_matrix(study, [metric for metric in study.scores if study.pairing.get(metric)], rated)
    repeats = repeats_of(matrix)

    alignments = tuple(measure_alignments(study, rated, *drawn))

    sparse = {(pair.metric, pair.dimension) for pair in alignments if pair.missing > pair.spearman.n}
    thin = sparse | {(pair.metric, pair.dimension) for pair in alignments if pair.off_mode < LEAST_OFF_MODE}
    ranked = {d: [m for m in _best_first(single[d], d, alignments) if (m, d) not in sparse] for d in judged}
    stated = {*directed, against}
    copies = {metric for metric, why in repeats.items() if why.startswith("in the order of")}
    # higher is better: it was stated, or neither is an amount, or both are
    directed_on = {
        d: {m for m in study.metrics_for(d) if m in stated or measures_amount(d) or not measures_amount(m)}
        for d in judged
    }
    compared = {
        d: [
            metric
            for metric in _best_first(study.metrics_for(d), d, alignments)
            if (metric, d) not in thin and metric in directed_on[d] and (metric in stated or metric not in copies)
        ]
        for d in rated
    }
    combined = {
        d: [m for m in single[d] if (m, d) not in thin and m in directed_on[d] and m not in repeats] for d in judged
    }
    report = StudyReport(
        clips=int(clips.sum()),
        prompts=len(set(compress(study.prompts, clips)) - {""}),
        models=len(set(compress(study.models, clips)) - {""}),
        matching=_matching(study),
        facing=original.pairing,
        alignments=alignments,
        baselines=tuple(name_baseline(study, d, *drawn) for d in rated),
        differences=tuple(
            chain.from_iterable(measure_differences(study, d, compared[d], against, *drawn) for d in rated)
        ),
        ceilings=tuple(measure_human_agreement(study, d, *drawn) for d in several),
        # an average is no answer on a scale, so nobody was asked about it
        agreements=tuple(measure_rater_agreement(study, d, *drawn) for d in several if d in original.ratings),
        preferences=tuple(
            chain.from_iterable(_preferences(study, d, single[d], combined[d], *drawn, ties) for d in judged)
        ),
        ablations=tuple(chain.from_iterable(measure_ablations(study, d, combined[d], *drawn) for d in judged)),
        matrix=matrix,
        models_ranked=tuple(filter(None, (measure_models(study, d, ranked[d], *drawn) for d in judged))),
        repeats=repeats,
        powers=tuple(measure_power(study, d, single[d], seed) for d in rated if d in original.ratings),
        claims=(),
        problems=(),
        settings=_settings(drawn, exclude_models, averages, against, ties, mos),
        less_motion=tuple(measure_less_motion(study, rated, *drawn)),
        prompt_baselines=tuple(prompt_baseline(study, d, *drawn) for d in rated),
    )
    return replace(report, claims=widest_claims(report), problems=(*unknown, *problems_of(report)))


def _settings(
    drawn: tuple[int, int],
    left_out: Collection[str],
    averages: Sequence[str],
    against: str | None,
    ties: str,
    mos: str,
) -> dict[str, Any]:
    chosen = {"averages": averages, "against": against, "ties": ties, "mos": mos}
    return {"resamples": drawn[0], "seed": drawn[1], "left out": sorted(left_out), **chosen, **_MADE_BY}


def _preferences(
    study: Study,
    dimension: str,
    metrics: Sequence[str],
    combined: Sequence[str],
    resamples: int,
    seed: int,
    ties: Ties,
) -> Iterator[results.PreferenceAccuracy]:
    yield from measure_preferences(study, dimension, metrics, resamples, seed, ties, combined)
    yield from measure_preference_baselines(study, dimension, resamples, seed)


def _best_first(metrics: Sequence[str], dimension: str, alignments: Sequence[results.PairAlignment]) -> list[str]:
    correlations = {pair.metric: pair.spearman.descending for pair in alignments if pair.dimension == dimension}
    return sorted(metrics, key=lambda metric: correlations.get(metric, (True, 0.0)))


_AGAINST = 3  # metrics that people run against before that is doubted


def too_small(study: Study) -> list[str]:
    """Return what a study is too small to tell, known before anything is computed."""
    models, prompts = len({model for model in study.models if model}), len(set(study.prompts))
    limits = []
    if len(study.clips) < LEAST_OFF_MODE:
        limits.append(f"clips with a score and a judgement: {len(study.clips)}; a claim needs {LEAST_OFF_MODE}")
    if prompts < FEW_PROMPTS:
        needs = f"need {LEAST_PROMPTS} prompts, and are rough below {FEW_PROMPTS}"
        limits.append(f"prompts: {prompts}; intervals {needs}")
    if models < LEAST_MODELS:
        limits.append(f"models: {models}; an order of models needs {LEAST_MODELS}")
    return limits


def reversed_dimensions(report: StudyReport) -> list[str]:
    """Return warnings of dimensions that run against the metrics: their ratings may be of less is better."""
    warnings = []
    for dimension in dict.fromkeys(pair.dimension for pair in report.alignments):
        rho = [pair.spearman for pair in report.alignments if pair.dimension == dimension]
        against = sum(of.high is not None and of.high < 0 for of in rho)
        if against >= _AGAINST and not any(of.low is not None and of.low > 0 for of in rho):
            warnings.append(
                f"{dimension} runs against {against} metrics and agrees with none: if a lower rating is better there, "
                f"--lower-is-better {dimension!r}"
            )
    return warnings


def _with_pairing(study: Study) -> tuple[Study, list[str]]:
    """Return the study with its pairing (by default all with all) restricted to existing names, and a note per gap."""
    judged = dict.fromkeys([*study.ratings, *study.preferences])
    pairing = study.pairing or {metric: tuple(judged) for metric in study.scores}
    sides = {"scores": study.scores, "judgements": judged}
    problems = [f"there are no {side}, so there is nothing to compare" for side, names in sides.items() if not names]
    problems += [f"{metric}: there are no scores of this name" for metric in pairing if metric not in study.scores]
    problems += [
        f"{metric} × {dimension}: there are no judgements of this name"
        for metric, paired in pairing.items()
        for dimension in paired
        if dimension not in judged
    ]
    there = {m: tuple(d for d in paired if d in judged) for m, paired in pairing.items() if m in study.scores}
    return replace(study, pairing=there), problems


def _judged_clips(study: Study, dimensions: Sequence[str]) -> BoolArray:
    """Return (N,) bool: clips with a score and, on a dimension paired with that metric, a rating or a pair."""
    mask = np.zeros(len(study.clips), bool)
    for dimension in dimensions:
        judged = np.zeros(len(mask), bool)
        if dimension in study.ratings:
            judged |= np.isfinite(study.mean_rating(dimension))
        if (pairs := study.preferences.get(dimension)) is not None:
            judged[pairs.left] = judged[pairs.right] = True
        for metric in study.metrics_for(dimension):
            mask |= judged & np.isfinite(study.scores[metric])
    return mask


def _matching(study: Study) -> tuple[str, ...]:
    matching = study.matching
    sides = {"a score and no judgement": matching.scores_only, "a judgement and no score": matching.ratings_only}
    alone = (f"{len(names)} clips with {what}: {listed(names, NAMED_CLIPS)}" for what, names in sides.items() if names)
    return (f"{matching.matched} clips with a score and a judgement", *alone, *matching.notes)
