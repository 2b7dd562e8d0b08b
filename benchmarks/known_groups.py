"""Known groups of the footage: means by generator and year, real above generated, and pairs that their authors ordered.

    python -m benchmarks.known_groups RUN [--score]      # RUN: a run directory, or its scores.csv

``--score`` first scores a window of about 2 s of every open clip (real train and validation, generated) into RUN, which
keeps what it has. Means weigh repositories equally, intervals are 95 % of a bootstrap over repositories. Clips without
a score are left out and counted. Generated clips are for checking only: nothing is chosen by these figures.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import vmmetrics
from benchmarks.footage import FOOTAGE, Recording, by_repository, recordings, window
from vmmetrics.metrics import METRICS
from vmmetrics.types import FloatArray

COLUMNS = ("motion_index", *METRICS)
BETTER, WORSE = ("ours",), ("baseline", "failure")
"""Roles by which the authors of a pair order its clips."""
ROUNDS = 2000
"""Bootstrap samples."""
BATCH = 16
"""Windows held in memory at a time, about 35 MB each."""
Scores = dict[str, dict[str, float]]
"""Name of a clip, without folder, suffix and speed, to its scores."""


class Interval(NamedTuple):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def scores_of(run: Path) -> Scores:
    """Return the finite scores of a run directory or of its ``scores.csv``.

    Raises:
        SystemExit: Two rows are of one name.
    """
    with (run / "scores.csv" if run.is_dir() else run).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    scores = {name_of(row["clip"]): {c: float(row[c]) for c in COLUMNS if row.get(c)} for row in rows}
    if len(scores) < len(rows):
        raise SystemExit(f"{run}: two clips have the same name")
    return scores


def name_of(clip: str) -> str:
    """Return the name of a clip without folder, suffix and speed.

    >>> name_of("generated/g_al_401.mp4"), name_of("v0.1_pan@1")
    ('g_al_401', 'v0.1_pan')
    """
    path = Path(clip.partition("@")[0])
    return path.stem if path.suffix.lower() in {".mp4", ".gif", ".webm", ".avi", ".mov", ".mkv"} else path.name


def score_all(run: Path) -> None:
    """Score a window of every open clip into ``run``; clips that it has are not scored again."""
    items = recordings("train", "validation", "open")
    for start in range(0, len(items), BATCH):
        windows = (window(item.read()) for item in items[start : start + BATCH])
        vmmetrics.score([clip for clip in windows if clip is not None], out=run, jobs=1)


def separation(
    high: Sequence[float], low: Sequence[float], clusters: tuple[Sequence[str], Sequence[str]], *, equal: bool = True
) -> Interval:
    """Return the AUC, the chance that one of ``high`` is above one of ``low`` (ties half), drawing clusters.

    Args:
        high: (N,) values that should be higher.
        low: (M,) the others.
        clusters: (N,) and (M,) cluster of each value; one on both sides is drawn for both.
        equal: Weigh clusters equally on each side, else values.
    """
    of_high, of_low = map(np.asarray, clusters)
    names = np.union1d(of_high, of_low)
    above = np.subtract.outer(np.asarray(high, float), np.asarray(low, float))
    wins = (above > 0) + 0.5 * (above == 0)
    sides = []
    for of in (of_high, of_low):
        member = (names[:, None] == of).astype(float)  # (clusters, values)
        sides.append(member / np.maximum(member.sum(1, keepdims=True), 1) if equal else member)
    by_cluster = sides[0] @ wins @ sides[1].T
    sizes = [side.sum(1) for side in sides]
    drawn = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), ROUNDS)
    values = []
    for weights in (np.ones((1, len(names))), drawn):
        pairs = (weights @ sizes[0]) * (weights @ sizes[1])
        won = ((weights @ by_cluster) * weights).sum(1)
        values.append(np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))
    ends = np.nanquantile(values[1], (0.025, 0.975))
    return Interval(float(values[0][0]), float(ends[0]), float(ends[1]))


class Claim(NamedTuple):
    """Two clips of one pair of which the authors, or raters, call one better."""

    better: Recording
    worse: Recording


def claims(items: Sequence[Recording], ratings: Path = FOOTAGE / "ratings.csv") -> list[Claim]:
    """Return the ordered pairs: each of "ours" with each baseline or failure, and motion preferences of raters."""
    by_pair: dict[str, list[Recording]] = {}
    for item in items:
        if item.pair:
            by_pair.setdefault(item.pair, []).append(item)
    ordered = []
    for clips in by_pair.values():
        sides = ([item for item in clips if item.role in roles] for roles in (BETTER, WORSE))
        ordered += [Claim(*both) for both in product(*sides)]
    by_file = {item.file: item for item in items}
    with ratings.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            both = [by_file.get(row["file_a"]), by_file.get(row["file_b"])]
            if row["MQ"] in ("A", "B") and both[0] is not None and both[1] is not None:
                better, worse = both if row["MQ"] == "A" else both[::-1]
                assert better is not None and worse is not None
                ordered.append(Claim(better, worse))
    return ordered


def kept_claims(ordered: Sequence[Claim], scores: Scores, column: str) -> tuple[list[Claim], FloatArray]:
    """Return the claims whose clips both have the score, and for each 1 if the worse is lower, 1/2 if equal, else 0."""
    held = [c for c in ordered if all(column in scores.get(clip.name, {}) for clip in c)]
    apart = np.array([scores[c.better.name][column] - scores[c.worse.name][column] for c in held])
    return held, (1 + np.sign(apart)) / 2


def mean_of(items: Sequence[Recording], scores: Scores, column: str) -> str:
    """Return the mean over repositories as text, with how many clips and repositories it rests on."""
    held = [item for item in items if column in scores.get(item.name, {})]
    if not held:
        return "–"
    repos = len({item.repo for item in held})
    figure = Interval(*by_repository([scores[item.name][column] for item in held], held))
    shown = str(figure) if repos > 1 else f"{figure.value:.2f}"  # of one repository there is no interval
    return f"{shown} ({len(held)}, {repos})"


def lines(items: Sequence[Recording], scores: Scores) -> Iterator[str]:
    """Yield the tables in Markdown."""
    real = [item for item in items if item.split != "open"]
    generated = [item for item in items if item.split == "open"]
    lacking = sum("motion_index" not in scores.get(item.name, {}) for item in items)
    yield f"{len(real)} real, {len(generated)} generated clips; {lacking} without an index"
    groupings: dict[str, Callable[[Recording], str]] = {
        "year": lambda item: item.year,
        "generator": lambda item: item.generator,
    }
    for title, key in groupings.items():
        yield f"\n| {title}: mean [interval] (clips, repositories) | {' | '.join(COLUMNS)} |"
        yield "|---" * (len(COLUMNS) + 1) + "|"
        groups = {
            "real": real,
            **{name: [i for i in generated if key(i) == name] for name in sorted(map(key, generated))},
        }
        for name, group in groups.items():
            yield f"| {name} | {' | '.join(mean_of(group, scores, column) for column in COLUMNS)} |"
    ordered = claims(items)
    yield "\n| score | AUC, real above generated | worse by its authors is lower | by repository |"
    yield "|---|---|---|---|"
    for column in COLUMNS:
        sides = [[i for i in side if column in scores.get(i.name, {})] for side in (real, generated)]
        auc = "–"
        if all(sides):
            values = ([scores[i.name][column] for i in side] for side in sides)
            of_high, of_low = ([i.repo for i in side] for side in sides)
            auc = str(separation(*values, (of_high, of_low)))
        held, won = kept_claims(ordered, scores, column)
        share, by_repo = "–", "–"
        if held:
            share = f"{won.sum():g} of {len(won)}"
            by_repo = str(Interval(*by_repository(won.tolist(), [claim.better for claim in held])))
        yield f"| {column} | {auc} | {share} | {by_repo} |"
    held, won = kept_claims(ordered, scores, "motion_index")
    wrong = [claim for claim, right in zip(held, won, strict=True) if right < 1]
    named = ((f"{item.name} {scores[item.name]['motion_index']:.2f}" for item in claim) for claim in wrong)
    yield f"\nAgainst its authors: {'; '.join(map(', '.join, named)) or 'none'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--score", action="store_true")
    options = parser.parse_args()
    if options.score:
        score_all(options.run)
    print("\n".join(lines(recordings("train", "validation", "open"), scores_of(options.run))))


if __name__ == "__main__":
    main()
