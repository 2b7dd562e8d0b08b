"""Human ratings of the clips of a report, and how well each metric agrees with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.alignment.levels import amplitude_constant, overall_spearman, within_model
from vmmetrics.alignment.pair_alignments import LESS_MOTION
from vmmetrics.alignment.readers.columns import metrics_called
from vmmetrics.alignment.readers.judgements import Judgements, RatingOptions
from vmmetrics.alignment.readers.names import matched
from vmmetrics.alignment.readers.read import read_judgements
from vmmetrics.alignment.readers.score_tables import SourceScores
from vmmetrics.alignment.study import Study, samples_of
from vmmetrics.errors import SetupError
from vmmetrics.scoring.prompt_scores import Run, score_of, split_source
from vmmetrics.scoring.record import Record
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate
from vmmetrics.viewer.comparisons import rounded
from vmmetrics.viewer.selection import Selection

PREFIX = "rating:"
"""What keys of ratings begin with among the metrics of the index."""
MATCHING = "matching.json"
"""File by which the output of ``vmmetrics align`` is known."""
MANY_CLIPS = 20_000
"""Rated clips from which on the intervals of agreement rest on fewer bootstrap samples."""
_FEWER = 200
_NOTHING_STATED = RatingOptions()


@dataclass(frozen=True, slots=True)
class HumanRatings:
    """Ratings of the clips of a report.

    Attributes:
        values: Dimension to (N, R) ratings by position in the index and rater, NaN where there is none.
        averaged: Dimensions whose ratings came as averages of raters who are not known.
        lower: Dimensions of which lower is better.
        notes: How the ratings were read and matched.
    """

    values: Mapping[str, FloatArray]
    averaged: frozenset[str]
    lower: frozenset[str]
    notes: tuple[str, ...]

    def metrics(self) -> list[dict[str, Any]]:
        """Return the description (``MetricInfo``) of every dimension; the range is that of the ratings there are."""
        return [self._metric(dimension, values) for dimension, values in self.values.items()]

    def _metric(self, dimension: str, values: FloatArray) -> dict[str, Any]:
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        words, raters = dimension.replace("_", " "), values.shape[1]
        by = "averaged ratings" if dimension in self.averaged else "1 rater" if raters == 1 else f"{raters} raters"
        return {
            "key": PREFIX + dimension,
            "label": words,
            "title": f"human rating of {words}, {by}",
            "range": [low, high] if low < high else None,
            "lower_is_better": dimension in self.lower,
            "low_is_fault": True,
            "colour": "rating",
            "kind": "rating",
            "unit": f"{low:g}..{high:g}",
        }

    def of_clip(self, row: int) -> dict[str, dict[str, Any]]:
        """Return the ratings of a clip (``ClipDetail.ratings``) by its position in the index."""
        of_clip = {}
        for dimension, values in self.values.items():
            each = [None if value != value else rounded(value) for value in values[row].tolist()]
            if any(value is not None for value in each):
                mean = rounded(float(np.nanmean(values[row])))
                of_clip[dimension] = {"mean": mean, "each": [] if dimension in self.averaged else each}
        return of_clip

    def means(self, row: int) -> dict[str, float]:
        """Return the mean ratings of a clip by key of the index, where there are any."""
        return {PREFIX + dimension: ratings["mean"] for dimension, ratings in self.of_clip(row).items()}


def read_human_ratings(
    files: Iterable[str | Path],
    runs: Sequence[Run],
    rows: Sequence[Mapping[str, int]],
    options: RatingOptions = _NOTHING_STATED,
) -> HumanRatings:
    """Read ratings in any form that ``vmmetrics align`` reads, and match them with the clips of a report.

    Ratings of one dimension in several files are taken for those of further raters.

    Args:
        files: Tables, folders of released sets, or names of these; ``RUN=FILE`` holds ratings of that run alone.
        runs: The runs.
        rows: For every run, positions in the index by :attr:`~vmmetrics.scoring.record.Record.key`.
        options: What the user states about all of the files.

    Raises:
        SetupError: A file cannot be read, holds no ratings of clips, or matches no clip of any run; or no dimension is
            called as one of which lower is better.
    """
    clips = sum(map(len, rows))
    parts: dict[str, list[FloatArray]] = {}
    averaged: set[str] = set()
    notes: list[str] = []
    for file in files:
        path, name = split_source(str(file))
        chosen = [(run, of_run) for run, of_run in zip(runs, rows, strict=True) if name in ("", run.title)]
        if not chosen:
            raise SetupError(
                f"No run {name!r} to have the ratings of {path}; there are {', '.join(r.title for r in runs)}"
            )
        judged = _read(path, [run for run, _ in chosen], options)
        matches, of_file = _matched(path.name, judged, chosen)
        notes += of_file
        for dimension, ratings in judged.ratings.items():
            values = np.full((clips, ratings.shape[1]), np.nan)
            values[list(matches)] = ratings[list(matches.values())]
            if np.isnan(values).all():
                notes.append(f"{path.name}: {dimension} has no rating of a clip of the report")
                continue
            parts.setdefault(dimension, []).append(values)
            averaged |= set() if judged.raters.get(dimension) else {dimension}
    joined = {dimension: np.concatenate(values, axis=1) for dimension, values in parts.items()}
    lower = frozenset(name for stated in options.lower for name in metrics_called(stated, joined))
    if unknown := [name for name in options.lower if not metrics_called(name, lower)]:
        raise SetupError(f"No dimension {', '.join(unknown)} to turn; the ratings have {', '.join(joined)}")
    return HumanRatings(joined, frozenset(averaged), lower, tuple(notes))


def _read(path: Path, runs: Sequence[Run], options: RatingOptions) -> Judgements:
    """Return the judgements of a file.

    Raises:
        SetupError: It cannot be read, or has no ratings of clips.
    """
    if (path / MATCHING).is_file():
        raise SetupError(
            f"{path} is a report of vmmetrics align, which holds no ratings; give the ratings it was made of"
        )
    shown = replace(options, lower=(), higher=(*options.higher, *options.lower))  # as they were given
    judged = read_judgements(path, [record.clip for run in runs for record in run.records], shown)
    if not judged.ratings:
        what = "preferences between clips" if judged.pairs else "no ratings"
        raise SetupError(f"{path} holds {what}; a report shows ratings of single clips")
    if judged.of_models:
        raise SetupError(f"{path} holds ratings of models; a report shows ratings of single clips")
    return judged


_Chosen = Sequence[tuple[Run, Mapping[str, int]]]
_Place = tuple[Run, Record, int | None]  # with the position in the index, None for a clip that it leaves out


def _matched(title: str, judged: Judgements, chosen: _Chosen) -> tuple[dict[int, int], list[str]]:
    """Return position in the index to position in the judgements, and notes.

    Clips of one name in several runs have the rating of that name where their content is that of the first.

    Raises:
        SetupError: No clip of any run has a rating, or names do not tell which.
    """
    try:
        pairs = _pairs(judged, _by_name(chosen, with_runs=True))
    except SetupError:
        pairs = _pairs(judged, _by_name(chosen, with_runs=False))
    matches: dict[int, int] = {}
    others = 0
    for clips, rating in pairs:
        content = clips[0][1].sha256
        for number, (_, record, row) in enumerate(clips):
            if number and (content is None or record.sha256 != content):
                others += 1
            elif row is not None:
                matches[row] = rating
    notes = [f"{title}: {note}" for note in judged.notes]
    notes.append(f"{title}: ratings of {len(matches)} of {sum(len(of_run) for _, of_run in chosen)} clips")
    if unmatched := len(judged.clips) - len(pairs):
        notes.append(f"{title}: {unmatched} rated clips are in no run")
    if others:
        notes.append(
            f"{title}: {others} clips of later runs have the name and not the content of a rated clip: without a rating"
        )
    return matches, notes


def _by_name(chosen: _Chosen, *, with_runs: bool) -> dict[str, list[_Place]]:
    """Return the clips of runs by name: their paths where two of a run have one name.

    Args:
        chosen: The runs, and positions in the index by key.
        with_runs: Put the name of a run before those of clips that lie in no folder of a model.
    """
    by_name: dict[str, list[_Place]] = {}
    for run, rows in chosen:
        unique = len({record.clip for record in run.records}) == len(run.records)
        for record in run.records:
            name = record.clip if unique else record.key
            if with_runs and run.name and record.model is None:
                name = f"{run.name}/{name}"
            by_name.setdefault(name, []).append((run, record, rows.get(record.key)))
    return by_name


def _pairs(judged: Judgements, by_name: Mapping[str, list[_Place]]) -> list[tuple[list[_Place], int]]:
    """Return clips of one name and the position of their rating.

    Raises:
        SetupError: There are none, or names do not tell which.
    """
    models, prompts = [], []
    for clips in by_name.values():
        of_clips = {record.model or run.name for run, record, _ in clips}
        models.append(of_clips.pop() or None if len(of_clips) == 1 else None)
        prompts.append(clips[0][1].prompt)
    scores = SourceScores("runs", tuple(by_name), tuple(prompts), tuple(models), {})
    clips_of = list(by_name.values())
    return [(clips_of[position], rating) for position, rating in matched(scores, judged).pairs]


def agreement_of(
    ratings: HumanRatings,
    metrics: Sequence[str],
    lower: Iterable[str],
    runs: Sequence[Run],
    rows: Sequence[Mapping[str, int]],
) -> list[dict[str, Any]]:
    """Return Spearman of each metric with each dimension over all rated clips, and within models.

    Args:
        ratings: The ratings.
        metrics: Keys of the scores.
        lower: Those of which lower is better; their sign is turned.
        runs: The runs.
        rows: For every run, positions in the index by :attr:`~vmmetrics.scoring.record.Record.key`.

    Returns:
        ``agreement`` of the index, without correlations that are not defined; last the baseline that prefers less
        motion.
    """
    by_row = {
        of_run[record.key]: (record, run.model_name(record.model))
        for run, of_run in zip(runs, rows, strict=True)
        for record in run.records
        if record.key in of_run
    }
    rated = sorted({int(row) for values in ratings.values.values() for row in np.flatnonzero(~np.isnan(values).all(1))})
    records, turned = [by_row[row][0] for row in rated], frozenset(lower)
    scores = {
        metric: np.array([np.nan if (s := score_of(record, metric)) is None else s for record in records], float)
        * (-1 if metric in turned else 1)
        for metric in metrics
    }
    study = Study(
        clips=tuple(map(str, rated)),
        prompts=tuple(" ".join((record.prompt or f"\0{record.key}").split()) for record in records),
        models=tuple(by_row[row][1] for row in rated),
        scores=scores,
        ratings={name: -of[rated] if name in ratings.lower else of[rated] for name, of in ratings.values.items()},
        amplitude=np.array([np.nan if record.amplitude is None else record.amplitude for record in records], float),
    )
    amplitude = study.amount_of_motion()
    if amplitude is not None:
        study = replace(study, scores={**scores, LESS_MOTION: -amplitude}, amplitude=amplitude)
        metrics = (*metrics, LESS_MOTION)
    resamples = RESAMPLES if len(rated) < MANY_CLIPS else _FEWER
    return [row for dimension in ratings.values for row in _agreement(study, dimension, metrics, resamples)]


def _agreement(study: Study, dimension: str, metrics: Sequence[str], resamples: int) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for sample in samples_of(study, dimension, metrics):
        overall = overall_spearman(sample, resamples, SEED)
        several = len(set(sample.with_named_models().models)) > 1
        within = [of.mean for of in within_model(sample, resamples, SEED)] if several else [None for _ in overall]
        at_amplitude = amplitude_constant(sample, resamples, SEED)
        for metric, of_all, of_models, at in zip(sample.metrics, overall, within, at_amplitude, strict=True):
            if (correlation := _correlation(of_all)) is not None:
                inside = {"within_model": _correlation(of_models), "amplitude_constant": _correlation(at)}
                rows[metric] = {
                    "metric": metric, "dimension": dimension, **correlation, "clips": of_all.n, **inside,
                }  # fmt: skip
    return [rows[metric] for metric in metrics if metric in rows]


def _correlation(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None or estimate.value is None:
        return None
    return {"rho": rounded(estimate.value), "low": rounded(estimate.low), "high": rounded(estimate.high)}


@dataclass(frozen=True, slots=True)
class RatedClips:
    """Ratings of all clips of the runs, of which some are listed.

    Attributes:
        ratings: By position among all clips.
        runs: The runs.
        positions: For every run, positions among all clips by key of the record.
        listed: Position among all clips of every clip of the report.
    """

    ratings: HumanRatings
    runs: Sequence[Run]
    positions: Sequence[Mapping[str, int]]
    listed: Sequence[int]

    @classmethod
    def read(
        cls, files: Sequence[str], runs: Sequence[Run], selection: Selection, options: RatingOptions
    ) -> RatedClips:
        """Read files of ratings; ``RUN=FILE`` holds those of one run.

        Raises:
            SetupError: One cannot be read or has no rating of a clip of the runs.
        """
        starts = list(accumulate((len(run.records) for run in runs), initial=0))
        positions = [
            {record.key: number for number, record in enumerate(run.records, start)}
            for run, start in zip(runs, starts, strict=False)
        ]
        chosen = zip(selection.positions, starts, strict=False)
        listed = [start + position for of_run, start in chosen for position in of_run]
        return cls(read_human_ratings(files, runs, positions, options), runs, positions, listed)

    def columns(self) -> dict[str, list[float | None]]:
        """Return the mean rating of every listed clip by key of the column."""
        means = [self.ratings.means(position) for position in self.listed]
        return {metric["key"]: [of_clip.get(metric["key"]) for of_clip in means] for metric in self.ratings.metrics()}

    def of_clip(self, row: int) -> dict[str, dict[str, Any]]:
        """Return the ratings of a listed clip (``ClipDetail.ratings``)."""
        return self.ratings.of_clip(self.listed[row])

    def agreement(self, metrics: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return ``agreement`` of the index for these metrics."""
        lower = [metric["key"] for metric in metrics if metric["lower_is_better"]]
        keys = [metric["key"] for metric in metrics]
        return agreement_of(self.ratings, keys, lower, self.runs, self.positions)
