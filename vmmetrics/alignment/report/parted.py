"""Clips on which a metric and people part: where to look for what a metric gets wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from vmmetrics.alignment.report.cells import Cell, Column, Row, Table, named, number
from vmmetrics.alignment.report.tables import ranked
from vmmetrics.alignment.results import StudyReport
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray
from vmmetrics.utils.display.markup import clean

SHOWN = 3
"""Clips per metric and direction."""
_LEAST_CLIPS = 3  # of a model, for a place among them to mean anything
_LEAST_APART = 0.25  # of the places: less is what two people differ by


class PartedClip(NamedTuple):
    """A clip with its place among its model's clips.

    Attributes:
        clip: Name.
        model: Its model, "" where none is known.
        score: What the metric says.
        rating: Mean rating.
        score_place: Share of the model's clips with a lower score, equal ones half: 0 worst, 1 best.
        rating_place: The same by rating.
    """

    clip: str
    model: str
    score: float
    rating: float
    score_place: float
    rating_place: float

    @property
    def apart(self) -> float:
        """How much better the metric finds it than people do, in places."""
        return self.score_place - self.rating_place


def parted_clips(study: Study, metric: str, dimension: str, most: int = SHOWN) -> list[PartedClip]:
    """The clips that a metric places much higher or lower among its model's clips than people do.

    Places inside a model, because a metric that likes one model too much would otherwise fill the list with its clips.

    Args:
        study: Scores and ratings.
        metric: Name of the metric.
        dimension: What people judged.
        most: At most so many in each direction.

    Returns:
        The overrated first, worst first; then the underrated, worst last.
    """
    score, rating = study.scores[metric], study.mean_rating(dimension)
    known = np.isfinite(score) & np.isfinite(rating)
    models = np.array(study.models)
    by_score, by_rating = np.full(len(score), np.nan), np.full(len(score), np.nan)
    for model in set(study.models):
        rows = np.flatnonzero(known & (models == model))
        if rows.size >= _LEAST_CLIPS:
            by_score[rows], by_rating[rows] = _places(score[rows]), _places(rating[rows])
    apart = by_score - by_rating
    far = np.flatnonzero(np.abs(apart) >= _LEAST_APART)  # false where there is no place
    far = far[np.lexsort((np.array(study.clips)[far], -apart[far]))]
    over, under = far[apart[far] > 0][:most], far[apart[far] < 0]
    return [
        PartedClip(
            study.clips[row],
            study.models[row],
            float(score[row]),
            float(rating[row]),
            float(by_score[row]),
            float(by_rating[row]),
        )
        for row in (*over, *under[max(0, len(under) - most) :])
    ]


def _places(values: FloatArray) -> FloatArray:
    places: FloatArray = (rankdata(values) - 0.5) / len(values)
    return places


def parted_table(study: Study, report: StudyReport, dimension: str) -> Table | None:
    """The parted clips of every metric that faces a dimension; None where there are none."""
    rows = [
        Row(
            (
                named(pair.metric),
                named(clip.clip),
                named(clip.model),
                Cell(f"{clip.score:.4g}"),
                Cell(f"{clip.rating:.3g}"),
                Cell(number(clip.score_place)),
                Cell(number(clip.rating_place)),
                Cell(number(clip.apart)),
            )
        )
        for pair in ranked(report, dimension)
        for clip in parted_clips(study, pair.metric, dimension)
    ]
    if not rows:
        return None
    columns = (
        Column("metric", number=False),
        Column("clip", number=False),
        Column("model", number=False),
        Column("score"),
        Column("rating"),
        Column("place by score"),
        Column("place by people"),
        Column("apart"),
    )
    caption = (
        "Places among the clips of the same model, 0 worst and 1 best. Apart is above 0 where the metric likes a clip "
        "more than people do. Watch these to learn what a metric sees wrong, or people overlook."
    )
    title = f"Clips on which metric and people part: {clean(dimension)}"
    return Table(f"parted-{dimension}", title, caption, columns, tuple(rows))
