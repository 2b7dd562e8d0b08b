"""Make ``vmmetrics/scoring/anchors.json``: scores of real footage, one a source, and what harmless changes move.

    python -m benchmarks.anchors --cache DIRECTORY [--processes 2] [--cas-held-out FILE.csv] [--sources N] [--dry-run]

One window of about 2 s of at most two files of each source, classes A (train, validation) and B (validation); each is
also scored after two of six harmless changes, in turn, and every other source with a defect as well, before and after
such a change, for scores that clean footage does not have. About 5 CPU seconds a scoring (``--dry-run`` counts them).
The scores lie in ``--cache``, a JSON file each: the same command resumes; scores of other code are made again.

``--cas-held-out`` has columns ``name,cas``: CAS of training files by a classifier that had not seen their source. Where
one is lacking, the file has no part in CAS and INDEX. Printed: scores of the sources, changes by kind, and the share of
changes of validation clips within the interval that all other sources give.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.cas_recipe.ladder import DEFECTS
from benchmarks.footage import FOOTAGE, Recording, code_digest, recordings, window
from benchmarks.footage_changes import HARMLESS, applies, damaged
from vmmetrics.functional.motion_index import INDEX_METRICS, motion_index
from vmmetrics.functional.motion_index import VERSION as INDEX_VERSION
from vmmetrics.metrics.registry import version_of
from vmmetrics.scoring.anchors import ANCHORED, INDEX, Anchors
from vmmetrics.scoring.suite import Suite
from vmmetrics.utils.storage.atomic import write_text

TABLE = Path(__file__).resolve().parents[1] / "vmmetrics" / "scoring" / "anchors.json"
OF_A_SOURCE = 2
"""Most files of one source."""
CHANGES_OF_A_CLIP = 2
BINS = 3
"""Bins of the score below 1, of equally many changes, in which half-widths are measured."""
INSIDE = 0.9
LEAST_WIDTH = 0.005
"""Least half-width: scores of 1 that no change of these clips moved are not certain to the fourth decimal."""


BASE, OF = "", "|"
"""Name of no change, and what parts the defect from the change."""
SATURATED = 0.9995
"""Score from which changes are a bin of their own: most clean clips have 1 in OIS and TCS."""
LEAST_BIN = 8
"""Least changes in a bin."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of one window; the index is among them."""

    item: Recording
    change: str
    scores: Mapping[str, float]


def chosen(sources: int | None = None) -> list[Recording]:
    """Return the files: classes A of train and A and B of validation, at most two a source, validation first."""
    count: dict[str, int] = {}
    items = []
    for item in recordings("validation", "train"):
        allowed = "AB" if item.split == "validation" else "A"
        if item.licence_class in allowed and count.get(item.source, 0) < OF_A_SOURCE:
            count[item.source] = count.get(item.source, 0) + 1
            items.append(item)
    items.sort(key=lambda item: (item.split != "validation", item.source, item.file))
    kept = list(dict.fromkeys(item.source for item in items))[:sources]
    return [item for item in items if item.source in kept]


def jobs_of(items: Sequence[Recording]) -> list[tuple[Recording, str]]:
    """Return what is scored: every file as it is, and the first of each source after changes and with a defect."""
    jobs = [(item, BASE) for item in items]
    kinds, first = list(HARMLESS), {item.source: item for item in reversed(items)}
    for number, source in enumerate(sorted({item.source for item in chosen()})):
        if source not in first:
            continue  # a part of the sources has the changes that it has among all
        jobs += [(first[source], kinds[(number + k * 3) % len(kinds)]) for k in range(CHANGES_OF_A_CLIP)]
        if number % 2 == 0:
            defect = DEFECTS[number // 2 % len(DEFECTS)]
            jobs += [(first[source], defect + OF + change) for change in (BASE, kinds[number // 2 % len(kinds)])]
    return jobs


digest_of_code = cache(code_digest)


@cache
def suite() -> Suite:
    cv2.setNumThreads(1)
    return Suite(threads=1)


def score(folder: Path, job: tuple[Recording, str]) -> Path:
    """Score a window into a file of the cache, unless it is there; return its path."""
    item, change = job
    path = folder / f"{item.name}@{change.replace(' ', '-').replace(OF, '+')}-{digest_of_code()}.json"
    if path.exists():
        return path
    clip, (defect, _, kind) = window(item.read()), change.rpartition(OF)
    if clip is not None and defect:
        clip = damaged(clip, defect, 1.0)
    if clip is not None and kind:
        clip = HARMLESS[kind](clip) if applies(kind, clip) else None
    scores: dict[str, float] = {}
    if clip is not None:
        result = suite().score_clip(clip)
        scores = {**result.scores, **({} if result.index is None else {INDEX: result.index})}
    write_text(path, json.dumps({"scores": scores}))
    return path


def scored(folder: Path, jobs: Sequence[tuple[Recording, str]], processes: int) -> Iterator[Scored]:
    """Yield the scores of the jobs, made in parallel where the cache has none."""
    with ProcessPoolExecutor(processes) as pool:
        for (item, change), path in zip(jobs, pool.map(partial(score, folder), jobs), strict=True):
            yield Scored(item, change, json.loads(path.read_text(encoding="utf-8"))["scores"])


def held_out(results: Sequence[Scored], cas: Mapping[str, float]) -> list[Scored]:
    """Return scores of unchanged windows with CAS of training files, and the index by it, as held out."""
    replaced = []
    for result in results:
        if result.change != BASE:
            continue
        scores = dict(result.scores)
        if result.item.split == "train":
            own, index = scores.pop("cas", None), scores.pop(INDEX, None)
            if own is not None and index is not None and result.item.name in cas:
                parts = {key: scores[key] for key in INDEX_METRICS if key in scores}
                before, after = (motion_index({**parts, "cas": c}).score for c in (own, cas[result.item.name]))
                scores["cas"] = cas[result.item.name]
                if before and after is not None:
                    scores[INDEX] = index * after / before  # factors of the recorded index remain
        replaced.append(replace(result, scores=scores))
    return replaced


def values_of(results: Sequence[Scored]) -> dict[str, tuple[float, ...]]:
    """Return the mean score of every source, ascending, by metric."""
    values = {}
    for key in ANCHORED:
        of_source = defaultdict(list)
        for result in results:
            if key in result.scores:
                of_source[result.item.source].append(result.scores[key])
        values[key] = tuple(sorted(round(float(np.mean(scores)), 4) for scores in of_source.values()))
    return values


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one score by a harmless change."""

    source: str
    split: str
    kind: str
    score: float
    size: float


def changes_of(results: Sequence[Scored]) -> dict[str, list[Change]]:
    """Return the changes of every score, by metric; INDEX and CAS are those of the shipped weights on both sides."""
    base = {(r.item.file, r.change.rpartition(OF)[0]): r.scores for r in results if r.change.rpartition(OF)[2] == BASE}
    changes: dict[str, list[Change]] = {key: [] for key in ANCHORED}
    for result in results:
        defect, _, kind = result.change.rpartition(OF)
        for key in ANCHORED if kind != BASE else ():
            before = base[result.item.file, defect].get(key)
            if before is not None and key in result.scores:
                size = abs(result.scores[key] - before)
                changes[key].append(Change(result.item.source, result.item.split, kind, before, size))
    return changes


def half_widths(changes: Sequence[Change]) -> tuple[tuple[float, float], ...]:
    """Return knots (score, half-width): 90 % quantiles of changes in bins of the score, never rising with it.

    >>> low, high = [Change("a", "train", "", 0.5, 0.2)] * 10, [Change("b", "train", "", 0.9, 0.1)] * 20
    >>> half_widths([*low, *high])
    ((0.5, 0.2), (0.9, 0.1))
    """
    ordered = np.array(sorted((change.score, change.size) for change in changes))
    below = ordered[ordered[:, 0] < SATURATED]
    split = np.array_split(below, max(1, min(BINS, len(below) // LEAST_BIN))) if len(below) else []
    by_score: dict[float, list[np.ndarray]] = defaultdict(list)
    for part in (*split, *([ordered[len(below) :]] if len(below) < len(ordered) else [])):
        by_score[round(float(np.median(part[:, 0])), 4)].append(part)
    bins = [np.concatenate(parts) for parts in by_score.values()]
    # Bins that contradict a falling width are pooled, as in isotonic regression.
    pools: list[list[np.ndarray]] = []
    for part in bins:
        pools.append([part])
        while len(pools) > 1 and _width(pools[-1]) > _width(pools[-2]):
            pools[-2:] = [pools[-2] + pools[-1]]
    widths = [_width(pool) for pool in pools for _ in pool]
    return tuple((at, round(width, 4)) for at, width in zip(by_score, widths, strict=True))


def _width(parts: Sequence[np.ndarray]) -> float:
    sizes = np.concatenate(parts)[:, 1]
    inside = min(1.0, INSIDE * (1 + 1 / len(sizes)))  # of another change, not of these
    return max(LEAST_WIDTH, float(np.quantile(sizes, inside, method="higher")))


def covered(changes: Sequence[Change]) -> tuple[int, int]:
    """Return how many changes of validation clips lie in the interval by all other sources, and how many there are."""
    inside = total = 0
    for source in sorted({change.source for change in changes if change.split == "validation"}):
        at, widths = zip(*half_widths([change for change in changes if change.source != source]), strict=True)
        for change in changes:
            if change.source == source:
                inside += change.size <= float(np.interp(change.score, at, widths)) + 1e-12
                total += 1
    return inside, total


def digest(results: Sequence[Scored], cas: Mapping[str, float]) -> str:
    """Return the SHA-256 of the recipe, the footage and the scores."""
    made = hashlib.sha256(Path(__file__).read_bytes())
    for file in sorted({result.item.file for result in results}):
        made.update(hashlib.sha256((FOOTAGE / file).read_bytes()).digest())
    made.update(json.dumps([[r.item.file, r.change, dict(r.scores)] for r in results], sort_keys=True).encode())
    made.update(json.dumps(dict(cas), sort_keys=True).encode())
    return made.hexdigest()


def write_table(results: Sequence[Scored], cas: Mapping[str, float], path: Path = TABLE) -> Anchors:
    """Write the table of some scores."""
    described = suite().describe()
    widths = {key: half_widths(changes) for key, changes in changes_of(results).items()}
    values = values_of(held_out(results, cas))
    fields: dict[str, Any] = {
        "format": 1,
        "preset": described["preset"],
        "protocol": described["protocol"],
        "versions": {key: version_of(key) for key in INDEX_METRICS},
        "index_version": INDEX_VERSION,
        "models": described["models"],
        "weights": described["weights"],
        "made_by": "python -m benchmarks.anchors",
        "made_of": digest(results, cas),
        "values": values,
        "half_widths": widths,
    }
    table = Anchors(**fields)
    write_text(path, json.dumps(fields, indent=1) + "\n")
    return table


def print_changes(changes: Mapping[str, Sequence[Change]]) -> None:
    """Print mean and 90 % quantile of the changes by kind, and the shares within the interval."""
    print(f"\n|change|, mean and 90 % (n)\n{'':14}" + "".join(f"{key:>20}" for key in ANCHORED))
    for kind in HARMLESS:
        cells = []
        for key in ANCHORED:
            sizes = [change.size for change in changes[key] if change.kind == kind]
            cells.append(f"{np.mean(sizes):.3f} {np.quantile(sizes, INSIDE):.3f} ({len(sizes)})" if sizes else "-")
        print(f"{kind:14}" + "".join(f"{cell:>20}" for cell in cells))
    print("\nvalidation changes within the 90 % interval by all other sources; wanted 85 to 95 %")
    for key in ANCHORED:
        inside, total = covered(changes[key])
        share = f"{inside} of {total}, {100 * inside / total:.0f} %" if total else "none"
        print(f"  {key:14}{share:20} half-widths {dict(half_widths(changes[key]))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder of scores")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cas-held-out", type=Path, help="CSV with columns name, cas")
    parser.add_argument("--sources", type=int, help="only the first N sources, validation first")
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--dry-run", action="store_true", help="count the scorings and stop")
    arguments = parser.parse_args()
    cas: dict[str, float] = {}
    if arguments.cas_held_out:
        with arguments.cas_held_out.open(encoding="utf-8", newline="") as file:
            cas = {row["name"]: float(row["cas"]) for row in csv.DictReader(file)}
    jobs = jobs_of(chosen(arguments.sources))
    sources = len({item.source for item, _ in jobs})
    print(f"{len(jobs)} scorings of {sources} sources, about {len(jobs) * 8 / 60:.0f} CPU minutes")
    if arguments.dry_run:
        return
    arguments.cache.mkdir(parents=True, exist_ok=True)
    results = list(scored(arguments.cache, jobs, arguments.processes))
    table = write_table(results, cas, arguments.out)
    print(f"{'':14}{'sources':>8}{'5 %':>8}{'median':>8}{'95 %':>8}")
    for key, values in table.values.items():
        print(f"{key:14}{len(values):8d}" + "".join(f"{np.quantile(values, q):8.3f}" for q in (0.05, 0.5, 0.95)))
    print_changes(changes_of(results))


if __name__ == "__main__":
    main()
