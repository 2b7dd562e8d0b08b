"""One study with a known truth, ways to write it as a table, and checks of what was read from one.

24 clips (4 models, 6 prompts) are rated by four people on two dimensions, and compared pair by pair. Every table of
the acceptance set holds these ratings or votes, so what is read from any of them is checked against the same arrays.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.alignment import Study
from vmmetrics.types import FloatArray, IntArray


class Clip(NamedTuple):
    """A clip by its name, the model that made it, and the prompt with its number."""

    name: str
    model: str
    prompt: str
    number: int


MODELS = ("quill", "ostrea", "nimbus", "tarn")
PROMPTS = {
    17: "a kite climbs over a dyke",
    42: "two girls roll a tyre downhill",
    108: "steam lifts the lid of a kettle",
    230: "a goat steps over a puddle",
    415: "a baker slaps dough on a board",
    660: "leaves swirl in a doorway",
}
CLIPS = tuple(
    Clip(f"{model}_{number:03}.mp4", model, prompt, number) for number, prompt in PROMPTS.items() for model in MODELS
)
RATERS = ("anna", "bert", "carla", "dora")

_rng = np.random.default_rng(34)
QUALITY = _rng.normal(size=24) + np.tile((0.9, 0.1, -0.8, 0.3), 6)


def _rated(quality: FloatArray) -> IntArray:
    return np.clip(np.round(3 + 1.1 * (quality[:, None] + 0.5 * _rng.normal(size=(24, 4)))), 1, 5).astype(int)


SMOOTH = _rated(QUALITY)
"""(24, 4) int: ratings of smoothness, 1 to 5, by clip and rater."""
SHAPE = _rated(0.5 * QUALITY + _rng.normal(size=24))
"""(24, 4) int: ratings of integrity, 1 to 5."""
MEANS = SMOOTH.mean(axis=1)

Vote = tuple[int, int, int, str]
"""Left clip, right clip, outcome (1 left, 0 tie, −1 right), rater."""

VOTES: tuple[Vote, ...] = tuple(
    (a, b, int(np.sign(SMOOTH[a, rater] - SMOOTH[b, rater])), name)
    for first in range(0, 24, 4)
    for number, pair in enumerate(combinations(range(first, first + 4), 2))
    for rater, name in enumerate(RATERS)
    for a, b in [pair if (number + rater) % 2 else pair[::-1]]
)
DECIDED = tuple(vote for vote in VOTES if vote[2])


@dataclass(frozen=True)
class Ratings:
    """Ratings that must be read.

    Attributes:
        values: Dimension to (24, R) ratings, NaN where there is none; (24, 1) or (24,) for means.
        raters: Their names in the order of the columns; () where the table names nobody.
        means: Compare the clips' means alone.
    """

    values: Mapping[str, Any]
    raters: tuple[str, ...] = RATERS
    means: bool = False


@dataclass(frozen=True)
class Pairs:
    """Votes that must be read, by dimension; ``named``: also whose they are."""

    votes: Mapping[str, Sequence[Vote]]
    named: bool = True


Content = str | bytes | Callable[[], bytes] | Mapping[str, str]


@dataclass(frozen=True)
class Kind:
    """One kind of table.

    Attributes:
        file: Name of the file; of the folder where ``content`` is several files.
        content: Text, bytes, a function that returns bytes, or name to text.
        truth: What must be read.
        options: Options with which it must be read; without them it must be refused if ``refused`` is set.
        refused: Words that the refusal holds.
        scored: The name of a clip in the table of scores.
        needs: A package without which the file cannot be written or read.
    """

    file: str
    content: Content
    truth: Ratings | Pairs
    options: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    scored: Callable[[Clip], str] = lambda clip: clip.name
    needs: str = ""


SMOOTHNESS = Ratings({"smoothness": SMOOTH})
RATING = Ratings({"rating": SMOOTH})
UNNAMED_MEANS = Ratings({"smoothness": MEANS}, (), means=True)


# Writing

Row = Sequence[Any]


def table(head: Sequence[str], rows: Iterable[Row], delimiter: str = ",", end: str = "\n", **how: Any) -> str:
    """Return CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, **how)
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def rated(row: Callable[[Clip, str, Any], Row], ratings: Any = SMOOTH) -> list[Row]:
    """Return a row per clip and rater, in an order that is not the scores'."""
    rows = [row(CLIPS[c], RATERS[r], ratings[c, r].item()) for r in range(4) for c in range(24)]
    return [rows[(7 * n) % 96] for n in range(96)]


def of_clips(row: Callable[[Clip, int], Row]) -> list[Row]:
    """Return a row per clip."""
    return [row(clip, number) for number, clip in enumerate(CLIPS)]


def voted(row: Callable[[Clip, Clip, int, str], Any], votes: Sequence[Vote] = VOTES) -> list[Any]:
    """Return a row per vote."""
    return [row(CLIPS[a], CLIPS[b], outcome, rater) for a, b, outcome, rater in votes]


def records(head: Sequence[str], rows: Iterable[Row]) -> list[dict[str, object]]:
    """Return rows as objects."""
    return [dict(zip(head, row, strict=True)) for row in rows]


def json_lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def parquet(rows: Sequence[Mapping[str, object]]) -> Callable[[], bytes]:
    """Return what writes rows as a Parquet file."""

    def write() -> bytes:
        import pyarrow as pa
        from pyarrow import parquet as pq

        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), file)
        return file.getvalue()

    return write


def write(kind: Kind, folder: Path) -> tuple[Path, Path]:
    """Write the scores and the table into a folder; their paths."""
    rows = [
        (kind.scored(clip), clip.model, clip.prompt, round(0.7 + quality / 10, 4), round(0.5 + 0.01 * (5 * n % 24), 3))
        for n, (clip, quality) in enumerate(zip(CLIPS, QUALITY, strict=True))
    ]
    scores = folder / "scores.csv"
    scores.write_text(table(("clip", "model", "prompt", "mss", "ssim"), rows), encoding="utf-8")
    path = folder / kind.file
    content = kind.content() if callable(kind.content) else kind.content
    if isinstance(content, Mapping):
        path.mkdir()
        for name, text in content.items():
            (path / name).write_text(text, encoding="utf-8")
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return scores, path


# Checking


def plain(name: str) -> str:
    """Return a name without case and signs."""
    return "".join(filter(str.isalnum, name.casefold()))


def check(kind: Kind, study: Study) -> None:
    """Assert that the study holds the kind's truth and no other judgement."""
    order = [study.clips.index(kind.scored(clip)) for clip in CLIPS]
    if isinstance(kind.truth, Pairs):
        assert not study.ratings
        _check_pairs(kind, kind.truth, study)
        return
    assert not study.preferences
    truth = {plain(name): values for name, values in kind.truth.values.items()}
    read = {plain(name): name for name in study.ratings}
    assert len(study.ratings) == len(truth), f"dimensions {list(study.ratings)} where {list(truth)} were rated"
    for name, values in truth.items():
        dimension = read[name] if len(truth) > 1 else next(iter(study.ratings))
        _check_ratings(study, dimension, np.asarray(values, float), kind.truth, order)


def _check_ratings(study: Study, dimension: str, truth: FloatArray, expected: Ratings, order: list[int]) -> None:
    got = study.ratings[dimension][order]
    if not expected.means:
        assert got.shape == truth.shape
        if expected.raters:
            names = study.rater_names(dimension)
            assert sorted(names) == sorted(expected.raters)
            got = got[:, [names.index(name) for name in expected.raters]]
        else:  # nobody is named: the ratings of a clip, whoever gave them
            got, truth = np.sort(got, axis=1), np.sort(truth, axis=1)
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(truth))
        assert agreement(got, truth) > 1 - 1e-9
        return
    means = study.mean_rating(dimension)[order]
    assert agreement(means, truth if truth.ndim == 1 else np.nanmean(truth, axis=1)) > 1 - 1e-9


def agreement(read: FloatArray, truth: FloatArray) -> float:
    """Return Pearson's r: 1 whatever the unit, −1 where the scale was turned."""
    there = np.isfinite(truth)
    return float(np.corrcoef(read[there], truth[there])[0, 1])


def _check_pairs(kind: Kind, expected: Pairs, study: Study) -> None:
    names = [kind.scored(clip) for clip in CLIPS]
    read = {plain(name): pairs for name, pairs in study.preferences.items()}
    assert len(read) == len(expected.votes)
    for dimension, votes in expected.votes.items():
        pairs = read[plain(dimension)] if len(expected.votes) > 1 else next(iter(read.values()))
        raters = pairs.raters if expected.named else [""] * len(pairs.left)
        got = zip(
            (study.clips[i] for i in pairs.left),
            (study.clips[i] for i in pairs.right),
            pairs.outcome,
            raters,
            strict=True,
        )
        truth = ((names[a], names[b], outcome, who if expected.named else "") for a, b, outcome, who in votes)
        assert sorted(map(_in_order, got)) == sorted(map(_in_order, truth))


def _in_order(vote: Sequence[Any]) -> tuple[str, str, int, str]:
    left, right, outcome, rater = vote
    return (left, right, int(outcome), rater) if left < right else (right, left, -int(outcome), rater)
