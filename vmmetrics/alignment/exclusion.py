"""A study without the clips of some models, such as real footage among generated clips."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from vmmetrics.alignment.study import Preferences, Study
from vmmetrics.errors import SetupError
from vmmetrics.types import BoolArray


def without_models(study: Study, models: Collection[str]) -> Study:
    """Leave out all clips of these models, and every pair that one of them is in; the matching says so.

    Raises:
        SetupError: If the study has no clip of one of the models.
    """
    if not models:
        return study
    if unknown := sorted(set(models) - set(study.models)):
        known = ", ".join(sorted({model for model in study.models if model})) or "none"
        raise SetupError(f"Expected models of the study to leave out ({known}) but got {', '.join(unknown)}")
    keep = np.array([model not in models for model in study.models], bool)
    places = np.flatnonzero(keep)
    left_out = f"left out: {len(keep) - len(places)} clips of {', '.join(sorted(models))}"
    return replace(
        study,
        clips=tuple(study.clips[place] for place in places),
        prompts=tuple(study.prompts[place] for place in places),
        models=tuple(study.models[place] for place in places),
        scores={metric: scores[places] for metric, scores in study.scores.items()},
        ratings={dimension: ratings[places] for dimension, ratings in study.ratings.items()},
        preferences={dimension: _kept(pairs, keep) for dimension, pairs in study.preferences.items()},
        matching=replace(study.matching, notes=(*study.matching.notes, left_out)),
    )


def _kept(pairs: Preferences, keep: BoolArray) -> Preferences:
    place = np.cumsum(keep) - 1
    both = keep[pairs.left] & keep[pairs.right]
    raters = tuple(rater for rater, kept in zip(pairs.raters, both, strict=True) if kept)
    return Preferences(place[pairs.left[both]], place[pairs.right[both]], pairs.outcome[both], raters)
