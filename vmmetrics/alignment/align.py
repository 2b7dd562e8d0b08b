"""Everything a study says, in one call."""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

import vmmetrics
from vmmetrics.alignment.ablation import measure_ablations
from vmmetrics.alignment.agreement import measure_agreement
from vmmetrics.alignment.averages import with_averages
from vmmetrics.alignment.bootstrap import CONFIDENCE, RESAMPLES, SEED
from vmmetrics.alignment.ceiling import measure_ceiling
from vmmetrics.alignment.correlation import why_undefined
from vmmetrics.alignment.differences import measure_differences
from vmmetrics.alignment.exclusion import without_models
from vmmetrics.alignment.generators import SHUFFLES, model_level, name_baseline, shuffled
from vmmetrics.alignment.kendall import Kendall, kendall
from vmmetrics.alignment.levels import overall_pearson, overall_spearman, within_model, within_prompt, without_model
from vmmetrics.alignment.matrix import correlation_matrix
from vmmetrics.alignment.preference import measure_preferences
from vmmetrics.alignment.problems import problems_of
from vmmetrics.alignment.results import Estimate, PairAlignment, StudyReport
from vmmetrics.alignment.sample import Sample, known_clips, samples_of
from vmmetrics.alignment.study import Study
from vmmetrics.alignment.study_power import measure_power
from vmmetrics.errors import SetupError
from vmmetrics.types import BoolArray


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is held against what, and how often it is resampled."""

    study: Study
    given: Collection[str]  # metrics before averages were added
    resamples: int
    seed: int

    @property
    def rated(self) -> list[str]:
        """Dimensions with ratings that a metric faces, in the order of the study."""
        faced = {dimension for dimensions in self.study.facing.values() for dimension in dimensions}
        return [dimension for dimension in self.study.ratings if dimension in faced]

    @property
    def judged(self) -> list[str]:
        """Those and the dimensions judged by pairs alone."""
        pairs = [dimension for dimension in self.study.preferences if dimension not in self.study.ratings]
        return [*self.rated, *(dimension for dimension in pairs if self.metrics(dimension))]

    def metrics(self, dimension: str) -> list[str]:
        """Metrics that face a dimension, their average with them."""
        return [metric for metric, faced in self.study.facing.items() if dimension in faced]

    def single(self, dimension: str) -> list[str]:
        """The same without the average, for what combines metrics itself."""
        return [metric for metric in self.metrics(dimension) if metric in self.given]


def align(
    study: Study,
    *,
    exclude_models: Collection[str] = (),
    resamples: int = RESAMPLES,
    seed: int = SEED,
    against: str | None = None,
) -> StudyReport:
    """Hold every metric against the judgements it faces.

    Args:
        study: Scores and judgements, matched. Where it does not say which metric faces which dimension, each faces all.
        exclude_models: Models whose clips are left out of everything, such as real footage among generated clips.
        resamples: Bootstrap samples of prompts.
        seed: Of all random numbers; the same study and seed give the same report.
        against: A metric that every other one is compared with, even where there are too many to compare all.

    Raises:
        SetupError: If a model to leave out or the metric to compare with is not in the study.
    """
    if against is not None and against not in study.scores:
        raise SetupError(f"Expected one of the metrics ({', '.join(study.scores)}) but got {against}")
    given, unknown = _with_facing(without_models(study, exclude_models))
    augmented, averages = with_averages(given)
    plan = _Plan(augmented, given.scores, resamples, seed)
    alignments = tuple(_alignments(plan))
    baselines = tuple(name_baseline(augmented, dimension, resamples, seed) for dimension in plan.rated)
    differences = tuple(
        difference
        for dimension in plan.rated
        for difference in measure_differences(augmented, dimension, plan.metrics(dimension), against, resamples, seed)
    )
    several = [dimension for dimension in plan.rated if augmented.ratings[dimension].shape[1] > 1]
    ceilings = tuple(measure_ceiling(augmented, dimension, resamples, seed) for dimension in several)
    asked = [dimension for dimension in several if dimension in given.ratings]  # an average is no answer on a scale
    agreements = tuple(measure_agreement(augmented, dimension, resamples, seed) for dimension in asked)
    preferences = tuple(
        accuracy
        for dimension in plan.judged
        for accuracy in measure_preferences(augmented, dimension, plan.single(dimension), resamples, seed)
    )
    ablations = tuple(
        ablation
        for dimension in plan.judged
        for ablation in measure_ablations(augmented, dimension, plan.single(dimension), resamples, seed)
    )
    parts = (alignments, baselines, differences, ceilings, agreements, preferences, ablations)
    clips = _judged_clips(plan)
    return StudyReport(
        clips=int(clips.sum()),
        prompts=_distinct(augmented.prompts, clips),
        models=_distinct(augmented.models, clips),
        matching=_matching(given),
        facing=given.facing,
        alignments=alignments,
        baselines=baselines,
        differences=differences,
        ceilings=ceilings,
        agreements=agreements,
        preferences=preferences,
        ablations=ablations,
        matrix=correlation_matrix(augmented, [m for m in augmented.scores if augmented.facing.get(m)], plan.rated),
        powers=tuple(measure_power(augmented, d, plan.single(d), seed) for d in plan.rated if d in given.ratings),
        claims=(),
        problems=(*unknown, *problems_of(part for group in parts for part in group)),
        settings={
            "resamples": resamples,
            "seed": seed,
            "confidence": CONFIDENCE,
            "shuffles": SHUFFLES,
            "left out": sorted(exclude_models),
            "averages": averages,
            "against": against,
            "versions": _versions(),
        },
    )


def _alignments(plan: _Plan) -> Iterator[PairAlignment]:
    """In the order of the study's metrics, for each in the order of the dimensions it faces."""
    found = {}
    for dimension in plan.rated:
        judged = np.isfinite(plan.study.mean_rating(dimension))
        for sample in samples_of(plan.study, dimension, plan.metrics(dimension)):
            missing = int(judged.sum()) - len(sample.ratings)
            found.update({(p.metric, dimension): p for p in _sample_alignments(sample, missing, plan)})
    for metric, faced in plan.study.facing.items():
        yield from (found[metric, dimension] for dimension in faced if dimension in plan.rated)


def _sample_alignments(sample: Sample, missing: int, plan: _Plan) -> list[PairAlignment]:
    resamples, seed = plan.resamples, plan.seed
    tau = _kendall(sample)
    columns = zip(
        overall_spearman(sample, resamples, seed),
        overall_pearson(sample, resamples, seed),
        within_prompt(sample, resamples, seed),
        within_model(sample, resamples, seed),
        without_model(sample, resamples, seed),
        model_level(sample, resamples, seed),
        shuffled(sample, seed),
        strict=True,
    )
    return [
        PairAlignment(
            sample.metrics[k],
            sample.dimension,
            rho,
            tau[k].b,
            tau[k].c,
            r,
            prompt,
            model,
            others,
            ranks,
            names,
            missing,
        )
        for k, (rho, r, prompt, model, others, ranks, names) in enumerate(columns)
    ]


def _kendall(sample: Sample) -> list[Kendall]:
    found = []
    for scores in sample.scores:
        reason = why_undefined(scores, sample.ratings)
        none = Estimate(None, n=len(scores), note=reason)
        found.append(kendall(scores, sample.ratings, sample.prompts) if reason is None else Kendall(none, none))
    return found


def _with_facing(study: Study) -> tuple[Study, tuple[str, ...]]:
    """The study with what faces what of what there is, and in words what was asked for and is not there."""
    judged = dict.fromkeys([*study.ratings, *study.preferences])
    facing = study.facing or {metric: tuple(judged) for metric in study.scores}
    unknown = [f"{metric}: there are no scores of this name" for metric in facing if metric not in study.scores]
    unknown += [
        f"{metric} × {dimension}: there are no judgements of this name"
        for metric, faced in facing.items()
        for dimension in faced
        if dimension not in judged
    ]
    there = {m: tuple(d for d in faced if d in judged) for m, faced in facing.items() if m in study.scores}
    return replace(study, facing=there), tuple(unknown)


def _judged_clips(plan: _Plan) -> BoolArray:
    """(N,) whether a clip has a score and, on a dimension which that metric faces, a rating or a pair."""
    study = plan.study
    found = np.zeros(len(study.clips), bool)
    for metric, faced in study.facing.items():
        for dimension in faced:
            if dimension in study.ratings:
                found |= known_clips(study, metric, dimension)
            if dimension in study.preferences:
                pairs, scored = study.preferences[dimension], np.isfinite(study.scores[metric])
                shown = np.zeros(len(found), bool)
                shown[pairs.left] = shown[pairs.right] = True
                found |= shown & scored
    return found


def _distinct(names: tuple[str, ...], clips: BoolArray) -> int:
    return len({name for name, counted in zip(names, clips, strict=True) if counted and name})


def _matching(study: Study) -> tuple[str, ...]:
    found, named = study.matching, 5
    lines = [f"{found.matched} clips with a score and a judgement"]
    for what, names in (
        ("a score and no judgement", found.scores_only),
        ("a judgement and no score", found.ratings_only),
    ):
        if names:
            more = f" and {len(names) - named} more" if len(names) > named else ""
            lines.append(f"{len(names)} clips with {what}: {', '.join(names[:named])}{more}")
    return (*lines, *found.notes)


def _versions() -> dict[str, str]:
    return {
        "vmmetrics": vmmetrics.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }
