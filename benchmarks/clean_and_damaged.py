"""Scores of clean windows of footage at several speeds, and of the same windows with defects at strengths 0.5 and 1.

    python -m benchmarks.clean_and_damaged --cache FOLDER [--splits validation] [--speeds 1 3] [--damaged]

Clean footage is right by definition: it should score near the top however fast it moves, and above its damaged copies.
Printed: mean (repositories equal, 95 % bootstrap interval over them), median and 5 % quantile of each score by speed, ρ
with the amplitude, change with speed, and with ``--damaged`` the AUC of clean against each defect. A scored clip is
kept in ``--cache``; sealed footage needs ``--why``, which is logged.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from scipy.stats import mannwhitneyu, spearmanr

from benchmarks.cas_recipe.ladder import CLEAN, DEFECTS, inject
from benchmarks.footage import Recording, by_repository, clip_of, recordings, window
from vmmetrics.metrics.registry import METRICS, version_of
from vmmetrics.scoring.suite import Suite

INDEX = "motion_index"
STRENGTHS = {0.5: 2, 1.0: 4}
"""Strength to severity level."""
SEED = 5

Row = dict[str, Any]


def jobs(items: list[Recording], speeds: list[int], damaged: bool) -> Iterator[tuple[Recording, int, str, float]]:
    """Yield (recording, speed, kind, strength): clean windows, and each defect at one of both strengths in turn."""
    for item in items:
        yield from ((item, speed, CLEAN, 0.0) for speed in speeds)
    for place, item in enumerate(items if damaged else []):
        for number, kind in enumerate(DEFECTS):
            yield item, speeds[0], kind, 1.0 if (place + number) % 2 else 0.5


@lru_cache(maxsize=1)
def _suite() -> Suite:
    cv2.setNumThreads(1)
    return Suite(threads=1)


def score(job: tuple[Recording, int, str, float], cache: Path) -> Row | None:
    """Return the scores of one window, from the cache where it is there; None where the file is too short."""
    item, speed, kind, strength = job
    versions = "".join(str(version_of(metric)) for metric in METRICS)
    file = cache / f"{item.name}-{speed}-{kind}-{strength}-{versions}.json"
    if not file.is_file():
        shown = window(item.read(), speed)
        if shown is None:
            return None
        frames = shown.frames
        if kind != CLEAN:
            rng = np.random.default_rng([SEED, DEFECTS.index(kind)])
            frames = inject(kind, frames, STRENGTHS[strength], shown.fps, rng)
        scores = _suite().score_clip(clip_of(frames, shown.fps, item.name))
        row = {**scores.scores, INDEX: scores.index, "amplitude": scores.amplitude, "missing": scores.missing}
        file.write_text(json.dumps(row), encoding="utf-8")
    found: Row = json.loads(file.read_text(encoding="utf-8"))
    return {**found, "speed": speed, "kind": kind, "strength": strength, "item": item}


def report_clean(rows: list[Row], speeds: list[int]) -> None:
    for metric in (*METRICS, INDEX):
        for speed in speeds:
            scored = [row for row in rows if row["speed"] == speed and row.get(metric) is not None]
            values = np.array([row[metric] for row in scored])
            mean, low, high = by_repository(values.tolist(), [row["item"] for row in scored])
            rho = spearmanr(values, [row["amplitude"] for row in scored]).statistic
            print(
                f"{metric:13s}x{speed}: n {len(values)}, mean {mean:.3f} [{low:.3f}, {high:.3f}], median "
                f"{np.median(values):.3f}, 5 % {np.quantile(values, 0.05):.3f}, ρ with amplitude {rho:+.2f}"
            )
    slow = {row["item"].name: row[INDEX] for row in rows if row["speed"] == speeds[0]}
    for speed in speeds[1:]:
        fast = {row["item"].name: row[INDEX] for row in rows if row["speed"] == speed}
        pairs = [(slow[n], v) for n, v in fast.items() if v is not None and slow.get(n) is not None]
        change = np.array([after - before for before, after in pairs])
        print(f"INDEX x{speed} less x{speeds[0]}: mean {change.mean():+.3f}, 95 % of falls to "
              f"{np.quantile(-change, 0.95):.3f} (n {len(change)})")  # fmt: skip
    for metric in ("ois", "tcs"):
        below = [f"{r['item'].name} x{r['speed']} {r[metric]:.2f}" for r in rows if (r.get(metric) or 1.0) < 1.0]
        print(f"clean windows below 1 in {metric}: {', '.join(below) or 'none'}")


def report_damaged(rows: list[Row], speed: int) -> None:
    for metric in ("cas", INDEX):
        clean = [
            row[metric] for row in rows if row["kind"] == CLEAN and row["speed"] == speed and row[metric] is not None
        ]
        areas = {}
        for kind in DEFECTS:
            bad = [row[metric] for row in rows if row["kind"] == kind and row[metric] is not None]
            areas[kind] = float(mannwhitneyu(clean, bad).statistic / (len(clean) * len(bad)))
        print(f"{metric}: AUC mean {np.mean(list(areas.values())):.3f}; " + ", ".join(
            f"{kind} {area:.2f}" for kind, area in sorted(areas.items(), key=lambda item: item[1])))  # fmt: skip
        for strength in STRENGTHS:
            bad = [row[metric] for row in rows if row["strength"] == strength and row[metric] is not None]
            print(f"  at {strength}: {np.mean(np.array(bad) > np.median(clean)):.2f} above the median of the clean")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--splits", nargs="+", default=["validation"])
    parser.add_argument("--speeds", nargs="+", type=int, default=[1, 3])
    parser.add_argument("--damaged", action="store_true")
    parser.add_argument("--why", help="why sealed footage is opened; goes into the log")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    todo = list(jobs(recordings(*options.splits, reason=options.why), options.speeds, options.damaged))
    with ProcessPoolExecutor(options.processes) as pool:
        rows = [row for row in pool.map(partial(score, cache=options.cache), todo) if row is not None]
    report_clean([row for row in rows if row["kind"] == CLEAN], options.speeds)
    if options.damaged:
        report_damaged(rows, options.speeds[0])


if __name__ == "__main__":
    main()
