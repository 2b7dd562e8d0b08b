"""What the user knows of clips (ratings, pairs of known order, real footage), and the scores a target gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from vmmetrics.alignment.audit.called import CalledTarget, function_of
from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.probe import cases
from vmmetrics.alignment.readers.columns import first_column
from vmmetrics.alignment.readers.judgements import Judgements, RatingOptions, judgements_of_dimensions
from vmmetrics.alignment.readers.names import match_names
from vmmetrics.alignment.readers.read import read_judgements
from vmmetrics.alignment.readers.source_table import texts
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import listed


@dataclass(frozen=True, slots=True)
class Truth:
    """What the user knows of clips.

    Attributes:
        ratings: Human ratings and preferences, each in a form that ``vmmetrics align`` reads.
        rating_options: What the user states about them.
        pairs: Table with the columns ``better`` and ``worse``: names of clips.
        footage: True if the clips passed as footage are real footage.
    """

    ratings: tuple[Path, ...] = ()
    rating_options: RatingOptions = field(default_factory=RatingOptions)
    pairs: Path | None = None
    footage: bool = False


class KnownTruth(NamedTuple):
    """A truth as read.

    Attributes:
        ratings: Judgements by name of the source.
        pairs: Better and worse clip, by the names of the scored clips.
        left_out: Rows of pairs that are blank or repeated, or name a clip that is not among the scored.
    """

    ratings: Mapping[str, Judgements]
    pairs: Sequence[tuple[str, str]]
    left_out: int


def read_truth(truth: Truth, clips: Sequence[str]) -> KnownTruth:
    """Read ratings and pairs; worth a call before anything is scored, since it finds what cannot be read.

    Args:
        truth: What the user knows.
        clips: Names of the clips that are, or will be, scored.

    Raises:
        SetupError: A file cannot be read, holds no judgement, lacks a column or names none of the clips, or a name may
            be that of several clips.
    """
    ratings = {}
    for path in truth.ratings:
        judged = read_judgements(path, clips, truth.rating_options)
        if truth.rating_options.dimensions:
            judged = judgements_of_dimensions(judged, truth.rating_options.dimensions)
        if not judged.dimensions:
            raise SetupError("; ".join((f"{path} contains no rating and no preference", *judged.notes)))
        by_name = not (judged.of_models or judged.by_prompt)
        if by_name and not any(_shared(clips, names, path) for names in (judged.clips, *judged.other_names)):
            raise _of_others(path, clips, judged.clips)
        ratings[path.stem if path.stem not in ratings else str(path)] = judged
    if truth.pairs is None:
        return KnownTruth(ratings, (), 0)
    table = read_table(truth.pairs, "pairs")
    columns = [first_column(table.columns, (name,)) for name in ("better", "worse")]
    if None in columns:
        raise SetupError(f"{truth.pairs}: expected columns better and worse, names of clips, but got {table.heading}")
    rows = list(zip(*(texts(table, column) for column in columns), strict=True))
    named = list(dict.fromkeys(name for row in rows for name in row if name is not None))
    matched = _shared(clips, named, truth.pairs)
    if not matched:
        raise _of_others(truth.pairs, clips, named)
    scored_as = {named[theirs]: clips[ours] for ours, theirs in matched}
    both = [(scored_as.get(one or ""), scored_as.get(two or "")) for one, two in rows]
    pairs = list(dict.fromkeys((one, two) for one, two in both if one is not None and two is not None and one != two))
    return KnownTruth(ratings, pairs, len(rows) - len(pairs))


def _shared(clips: Sequence[str], names: Sequence[str], file: Path) -> Sequence[tuple[int, int]]:
    """Return the places of the clips that a file names, and of their names."""
    return match_names(clips, list(dict.fromkeys(filter(None, names))), sides=("scores", str(file))).pairs


def _of_others(file: Path, clips: Sequence[str], names: Sequence[str]) -> SetupError:
    ours, theirs = (listed(list(of), 3) for of in (clips, names))
    return SetupError(f"{file} names none of the clips: it has {theirs}; the clips are {ours}")


def scored(
    target: Target, limits: Limits, clips: Iterable[Clip], references: Mapping[str, str] | None = None
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Score clips by a target, one at a time.

    Args:
        target: The target.
        limits: Of its process.
        clips: Clips of different names.
        references: File with which a clip of a name is compared.

    Returns:
        Score → clip → value, all finite; and clip → why it lacks a score.

    Raises:
        ValueError: Two clips have the same name.
    """
    function = function_of(target, limits, references)
    source = cases.FunctionSource(function)
    scores: dict[str, dict[str, float]] = {}
    reasons: dict[str, str] = {}
    names: set[str] = set()
    for clip in clips:
        if clip.name in names:
            raise ValueError(f"Expected clips of different names but got {clip.name!r} twice")
        names.add(clip.name)
        outcome = cases.score([source], clip)
        for name, value in outcome["scores"].items():
            scores.setdefault(name, {})[clip.name] = value
        why = [f"{name}: {reason}" for kind in ("missing", "errors") for name, reason in outcome[kind].items()]
        if why:
            reasons[clip.name] = "; ".join(why)
    if isinstance(function, CalledTarget):
        function.close()
    return scores, reasons
