"""Every metric against every dimension it faces, at every level."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vmmetrics.alignment.bootstrap import Estimate
from vmmetrics.alignment.correlation import why_undefined
from vmmetrics.alignment.generators import model_level, shuffled
from vmmetrics.alignment.kendall import Kendall, kendall
from vmmetrics.alignment.levels import overall_pearson, overall_spearman, within_model, within_prompt, without_model
from vmmetrics.alignment.plan import Plan
from vmmetrics.alignment.results import PairAlignment
from vmmetrics.alignment.sample import Sample, samples_of


def measure_alignments(plan: Plan) -> Iterator[PairAlignment]:
    """In the order of the study's metrics, for each in the order of the dimensions it faces."""
    found = {}
    for dimension in plan.rated:
        judged = np.isfinite(plan.study.mean_rating(dimension))
        for sample in samples_of(plan.study, dimension, plan.metrics(dimension)):
            missing = int(judged.sum()) - len(sample.ratings)
            found.update({(p.metric, dimension): p for p in _of_sample(sample, missing, plan.resamples, plan.seed)})
    for metric, faced in plan.study.facing.items():
        yield from (found[metric, dimension] for dimension in faced if dimension in plan.study.ratings)


def _of_sample(sample: Sample, missing: int, resamples: int, seed: int) -> list[PairAlignment]:
    tau = [_kendall(sample, number) for number in range(len(sample.metrics))]
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


def _kendall(sample: Sample, number: int) -> Kendall:
    scores = sample.scores[number]
    reason = why_undefined(scores, sample.ratings)
    if reason is None:
        return kendall(scores, sample.ratings, sample.prompts)
    none = Estimate(None, n=len(scores), note=reason)
    return Kendall(none, none)
