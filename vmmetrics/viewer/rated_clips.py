"""Human ratings of the clips that a report lists; agreement with metrics is over all clips of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from vmmetrics.scoring.prompt_scores import Run
from vmmetrics.viewer.human_ratings import HumanRatings, agreement_of, read_human_ratings
from vmmetrics.viewer.selection import Selection


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
    def read(cls, files: Sequence[str], runs: Sequence[Run], selection: Selection) -> RatedClips:
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
        return cls(read_human_ratings(files, runs, positions), runs, positions, listed)

    def columns(self) -> dict[str, list[float | None]]:
        """Return the mean rating of every listed clip by key of the column."""
        means = [self.ratings.means(place) for place in self.listed]
        return {metric["key"]: [of_clip.get(metric["key"]) for of_clip in means] for metric in self.ratings.metrics()}

    def of_clip(self, row: int) -> dict[str, dict[str, Any]]:
        """Return the ratings of a listed clip (``ClipDetail.ratings``)."""
        return self.ratings.of_clip(self.listed[row])

    def agreement(self, metrics: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return ``agreement`` of the index for these metrics."""
        lower = [metric["key"] for metric in metrics if metric["lower_is_better"]]
        keys = [metric["key"] for metric in metrics]
        return agreement_of(self.ratings, keys, lower, self.runs, self.positions)
