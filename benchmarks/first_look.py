"""A first look at people's ratings: Spearman of each metric with the mean temporal-quality rating of fetv-dev.

    python -m benchmarks.first_look [--ratings ../shared/fetv-dev] [--metrics cas,mss,ois,pas,tcs]

Nothing is fitted here. Printed per metric: over how many generated clips it was scored, ρ over those, the mean of the ρ
within each generator (the figure that recognising a generator cannot win), and ρ with the real clips added. With 17
clips a generator, a mean within-generator ρ needs about 0.25 to differ from 0.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import vmmetrics

RATINGS = Path(__file__).resolve().parent.parent.parent / "shared" / "fetv-dev"
SHORT_CLIP_FRAMES = 16
SHORT_CLIP_FPS, LONG_CLIP_FPS = 8.0, 16.0  # the data set's note: its GIFs state no delays


def rated_clips(folder: Path) -> list[dict[str, str]]:
    with (folder / "ratings.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def mean_rating(row: dict[str, str]) -> float:
    return float(np.mean([float(row[f"temporal_quality_{rater}"]) for rater in (1, 2, 3)]))


def score_all(folder: Path, rows: list[dict[str, str]], metrics: tuple[str, ...]) -> list[vmmetrics.ClipScores]:
    suite = vmmetrics.Suite(metrics=metrics)
    scores = []
    for number, row in enumerate(rows, 1):
        path = folder / "clips" / row["clip"]
        clip = vmmetrics.read_clip(path, assume_fps=LONG_CLIP_FPS, prompt=row["prompt"])
        if len(clip) == SHORT_CLIP_FRAMES:
            clip = vmmetrics.read_clip(path, assume_fps=SHORT_CLIP_FPS, prompt=row["prompt"])
        scores.append(suite.score_clip(clip))
        print(f"\r{number}/{len(rows)} {row['clip']:32s}", end="", flush=True)
    print()
    return scores


def rho(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Spearman's ρ of (score, rating) pairs; None where one side does not vary or there are fewer than 3."""
    scores, ratings = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
    if len(set(scores)) < 2 or len(set(ratings)) < 2 or len(scores) < 3:
        return None
    return float(spearmanr(scores, ratings).statistic)


def report(rows: list[dict[str, str]], scores: list[vmmetrics.ClipScores], metrics: tuple[str, ...]) -> None:
    def text(value: float | None) -> str:
        return "  n/a" if value is None else f"{value:+.2f}"

    print(f"{'metric':8s}{'scored':>8s}{'ρ generated':>13s}{'ρ within generator':>20s}{'ρ with real':>13s}")
    for metric in metrics:
        known = [
            (row["source"], s.scores[metric], mean_rating(row))
            for row, s in zip(rows, scores, strict=True)
            if metric in s.scores
        ]
        generated = [k for k in known if k[0] != "real"]
        within = [rho(k[1:] for k in generated if k[0] == source) for source in sorted({k[0] for k in generated})]
        within = [value for value in within if value is not None]
        mean_within = float(np.mean(within)) if within else None
        print(
            f"{metric:8s}{len(generated):8d}{text(rho(k[1:] for k in generated)):>13s}{text(mean_within):>20s}"
            f"{text(rho(k[1:] for k in known)):>13s}"
        )
    for metric in metrics:
        reasons = Counter(s.missing[metric] for s in scores if metric in s.missing)
        failures = Counter(s.errors[metric] for s in scores if metric in s.errors)
        if reasons or failures:
            print(f"{metric}: missing {dict(reasons)}; failed {dict(failures)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=Path, default=RATINGS)
    parser.add_argument("--metrics", default="cas,mss,ois,pas,tcs")
    options = parser.parse_args()
    if not (options.ratings / "ratings.csv").is_file():
        raise SystemExit(f"{options.ratings} has no ratings.csv; name the folder with --ratings")
    metrics = tuple(options.metrics.split(","))
    rows = rated_clips(options.ratings)
    report(rows, score_all(options.ratings, rows, metrics), metrics)


if __name__ == "__main__":
    main()
