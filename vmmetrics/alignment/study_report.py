"""Everything a study says, in one call."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import scipy

from vmmetrics._version import __version__
from vmmetrics.alignment.ablation import measure_ablations
from vmmetrics.alignment.agreement import measure_agreement
from vmmetrics.alignment.bootstrap import CONFIDENCE, RESAMPLES, SEED
from vmmetrics.alignment.ceiling import measure_ceiling
from vmmetrics.alignment.claims import widest_claims
from vmmetrics.alignment.differences import measure_differences
from vmmetrics.alignment.exclusion import without_models
from vmmetrics.alignment.generators import SHUFFLES
from vmmetrics.alignment.matrix import correlation_matrix
from vmmetrics.alignment.name_baseline import name_baseline
from vmmetrics.alignment.pair_alignments import measure_alignments
from vmmetrics.alignment.plan import Plan, plan_of
from vmmetrics.alignment.preference import measure_preferences
from vmmetrics.alignment.problems import problems_of
from vmmetrics.alignment.results import StudyReport
from vmmetrics.alignment.study import Study
from vmmetrics.alignment.study_power import measure_power
from vmmetrics.errors import SetupError
from vmmetrics.types import BoolArray

NAMED_CLIPS = 5
"""Of the clips that only one side knows, so many are named in the report; the study has all."""
_Part = TypeVar("_Part")


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
    plan = plan_of(without_models(study, exclude_models), resamples, seed)
    settings = {
        "resamples": resamples,
        "seed": seed,
        "confidence": CONFIDENCE,
        "shuffles": SHUFFLES,
        "left out": sorted(exclude_models),
        "averages": plan.averages,
        "against": against,
        "versions": _versions(),
    }
    report = _measured(plan, against, settings)
    return replace(report, claims=widest_claims(report), problems=(*plan.unknown, *problems_of(report)))


def _measured(plan: Plan, against: str | None, settings: dict[str, Any]) -> StudyReport:
    study, resamples, seed = plan.study, plan.resamples, plan.seed
    clips = plan.judged_clips()

    def combined(measure: Callable[..., tuple[_Part, ...]]) -> tuple[_Part, ...]:
        return tuple(p for d in plan.judged for p in measure(study, d, plan.single(d), resamples, seed))

    return StudyReport(
        clips=int(clips.sum()),
        prompts=_distinct(study.prompts, clips),
        models=_distinct(study.models, clips),
        matching=_matching(study),
        facing=plan.given.facing,
        alignments=tuple(measure_alignments(plan)),
        baselines=tuple(name_baseline(study, dimension, resamples, seed) for dimension in plan.rated),
        differences=tuple(
            difference
            for dimension in plan.rated
            for difference in measure_differences(study, dimension, plan.metrics(dimension), against, resamples, seed)
        ),
        ceilings=tuple(measure_ceiling(study, dimension, resamples, seed) for dimension in plan.several_raters),
        agreements=tuple(
            measure_agreement(study, dimension, resamples, seed) for dimension in plan.asked(plan.several_raters)
        ),
        preferences=combined(measure_preferences),
        ablations=combined(measure_ablations),
        matrix=correlation_matrix(study, [m for m in study.scores if study.facing.get(m)], plan.rated),
        powers=tuple(measure_power(study, d, plan.single(d), seed) for d in plan.asked(plan.rated)),
        claims=(),
        problems=(),
        settings=settings,
    )


def _distinct(names: tuple[str, ...], clips: BoolArray) -> int:
    return len({name for name, counted in zip(names, clips, strict=True) if counted and name})


def _matching(study: Study) -> tuple[str, ...]:
    found = study.matching
    lines = [f"{found.matched} clips with a score and a judgement"]
    for what, names in (
        ("a score and no judgement", found.scores_only),
        ("a judgement and no score", found.ratings_only),
    ):
        if names:
            more = f" and {len(names) - NAMED_CLIPS} more" if len(names) > NAMED_CLIPS else ""
            lines.append(f"{len(names)} clips with {what}: {', '.join(names[:NAMED_CLIPS])}{more}")
    return (*lines, *found.notes)


def _versions() -> dict[str, str]:
    return {
        "vmmetrics": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }
