"""Options of the commands that read ratings, where their tables may mean several things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli.options import number_option, option

if TYPE_CHECKING:
    from vmmetrics.alignment.readers.judgements import RatingOptions

Lower = Annotated[list[str] | None, option("Treat this dimension, or metric in align, as lower-is-better; repeatable.")]
Higher = Annotated[
    list[str] | None, option("Treat this dimension, or metric of an amount in align, as higher-is-better; repeatable.")
]
RatingsFormat = Annotated[
    str | None,
    option(
        "Form of the ratings: long, cells, wide, averaged, pairs, fetv, video-bench, videofeedback, "
        "videofeedback2, visionreward, vmbench. Default: detected from the file.",
        "--ratings-format",
    ),
]
ClipColumn = Annotated[str | None, option("Column that names the clip. Default: clip, video, file, path, ...")]
Map = Annotated[
    list[str] | None,
    option(
        "Say what a column of the ratings holds: clip, rater (of each, where a column is a person), rating, dimension, "
        "model, prompt, left, right, outcome or ignore; repeatable.",
        "--map",
        metavar="COLUMN=ROLE",
    ),
]
Missing = Annotated[list[float] | None, number_option("A number that stands for no rating; repeatable.")]
Scale = Annotated[tuple[float, float] | None, number_option("Range of the ratings; a rating outside is an error.")]


@dataclass
class RatingsReading:
    """What the user states about ratings."""

    lower_is_better: Lower = None
    higher_is_better: Higher = None
    ratings_format: RatingsFormat = None
    clip_column: ClipColumn = None
    roles: Map = None
    scale: Scale = None
    missing: Missing = None

    def options(self, dimensions: Sequence[str] = ()) -> RatingOptions:
        """Return this for the reader of ratings.

        Raises:
            typer.BadParameter: A role is not COLUMN=ROLE.
        """
        from vmmetrics.alignment.readers.judgements import RatingOptions

        roles = {}
        for text in self.roles or ():
            column, equals, role = text.rpartition("=")
            if not equals or not column:
                raise typer.BadParameter(f"expected COLUMN=ROLE but got {text!r}", param_hint="--map")
            roles[column] = role.strip()
        return RatingOptions(
            self.ratings_format, self.clip_column, self.scale, dimensions, roles, self.lower_is_better or (),
            self.higher_is_better or (), self.missing or (),
        )  # fmt: skip
