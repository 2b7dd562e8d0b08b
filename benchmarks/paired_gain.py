"""Paired gain of a new motion index over the one that ships, on open or on sealed prompts of fetv-dev.

    python -m benchmarks.paired_gain BEFORE.csv AFTER.csv [--half open]
    python -m benchmarks.paired_gain BEFORE.csv AFTER.csv --half sealed --why "..."     # logged by benchmarks/seal.py

Both tables are ``scores.csv`` of a run over the rated clips: before a change and after it. Each variant of the index is
computed from the scores after the change; the reference is the column ``motion_index`` of the table before it. Printed:
the difference in Spearman's ρ over all clips, in the mean ρ within a model, and in the rank correlation with model and
prompt taken out, each with its 95 % interval by bootstrap over prompts, the same samples for both sides.
"""

from __future__ import annotations

import argparse
import csv
import math
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.fetv_dev import RATINGS, REAL, mean_rating, rated_clips
from benchmarks.seal import halves, log
from vmmetrics.functional.motion_index import PLAIN_MOTION, motion_index
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, percentile_interval, sampled
from vmmetrics.utils.statistics.correlation import spearman_statistic, within_statistic
from vmmetrics.utils.statistics.partial import partial_statistic

DEDUCTIONS: Mapping[str, Mapping[str, float]] = {
    "version 1 (0.2, 0.2)": {"ois": 0.2, "tcs": 0.2, "pas": 0.05},
    "OIS 0.1": {"ois": 0.1, "tcs": 0.2, "pas": 0.05},
    "OIS 0.1, TCS 0.1": {"ois": 0.1, "tcs": 0.1, "pas": 0.05},
    "OIS 0.05, TCS 0.05": {"ois": 0.05, "tcs": 0.05, "pas": 0.05},
    "CAS and MSS alone": {},
    "OIS 0.3": {"ois": 0.3, "tcs": 0.2, "pas": 0.05},
    "OIS 0.4": {"ois": 0.4, "tcs": 0.2, "pas": 0.05},
    "OIS 0.5": {"ois": 0.5, "tcs": 0.2, "pas": 0.05},
}
"""Share that a score of 0 takes off the index, per variant."""


def index_of(row: Mapping[str, str], deductions: Mapping[str, float]) -> float:
    """Return the motion index of one row of ``scores.csv`` under other deductions; NaN without CAS or MSS."""
    core = motion_index({key: float(row[key]) for key in ("cas", "mss") if row[key]}).score
    if core is None:
        return math.nan
    scores = {key: float(row[key]) for key in deductions if row[key]}
    if "pas" in scores:
        scores["pas"] = min(scores["pas"] / PLAIN_MOTION, 1.0)
    return core * math.prod(1 - deductions[key] * (1 - score) for key, score in scores.items())


def by_clip(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of a ``scores.csv`` by the file name of their clip."""
    with path.open(newline="", encoding="utf-8") as file:
        return {Path(row["clip"]).name: row for row in csv.DictReader(file)}


def gains(columns: FloatArray, ratings: FloatArray, prompts: Sequence[str], models: Sequence[str]) -> FloatArray:
    """Return (3, K, 3): level, variant, gain over column 0 with the two ends of its interval."""
    levels = (
        spearman_statistic(columns, ratings),
        within_statistic(columns, ratings, models),
        partial_statistic(columns, ratings, prompts, models),
    )
    result = np.full((len(levels), columns.shape[1] - 1, 3), np.nan)
    for i, statistic in enumerate(levels):
        value, samples = sampled(statistic, prompts, RESAMPLES, SEED)
        for k in range(1, columns.shape[1]):
            low, high = percentile_interval(samples[:, k] - samples[:, 0])
            result[i, k - 1] = value[k] - value[0], low, high
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--ratings", type=Path, default=RATINGS)
    parser.add_argument("--half", choices=("open", "sealed", "all"), default="open")
    parser.add_argument("--why", help="why sealed prompts are looked at; goes into the log")
    options = parser.parse_args()
    if options.half != "open" and not options.why:
        raise SystemExit("say with --why what sealed prompts are looked at for: it is logged")
    rows = [row for row in rated_clips(options.ratings) if row["source"] != REAL]
    opened, sealed = halves(row["prompt_id"] for row in rows)
    prompts = {"open": opened, "sealed": sealed, "all": [*opened, *sealed]}[options.half]
    rows = [row for row in rows if row["prompt_id"] in prompts]
    before, after = by_clip(options.before), by_clip(options.after)
    columns = np.array(
        [
            [
                float(before[row["clip"]]["motion_index"] or math.nan),
                *(index_of(after[row["clip"]], deductions) for deductions in DEDUCTIONS.values()),
            ]
            for row in rows
        ]
    )
    ratings = np.array([mean_rating(row) for row in rows])
    result = gains(columns, ratings, [row["prompt_id"] for row in rows], [row["source"] for row in rows])
    levels = ("pooled", "within model", "both out")
    if options.half != "open":
        code = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
        figures = {
            name: {level: result[i, k].round(3).tolist() for i, level in enumerate(levels)}
            for k, name in enumerate(DEDUCTIONS)
        }
        log(f"{options.half}, paired gain: {options.why}", code.stdout.strip() or "no checkout", figures)
    table = Table(
        "variant", *levels, title=f"Gain in ρ over the index before, {options.half} prompts ({len(rows)} clips)"
    )
    for k, name in enumerate(DEDUCTIONS):
        table.add_row(name, *(f"{value:+.2f} [{low:+.2f}, {high:+.2f}]" for value, low, high in result[:, k]))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
