"""OIS on keypoints alone: limbs stretched, snapped and swapped on a simulated walker, under noise like BlazePose's.

    python -m benchmarks.pose_sequences [--noise 0.02 0.03 0.04] [--clips 100] [--first-seed 10000]

Prints F1 per part and frame, ± 2 frames. Noise is in torso lengths; what BlazePose's own is, docs/pose.md says.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from vmmetrics.functional import object_integrity_score
from vmmetrics.functional.limbs import PARTS
from vmmetrics.types import FloatArray

FRAMES, TORSO = 48, 100.0
TOLERANCE = 2  # frames


def walker(num_frames: int = FRAMES, size: float = TORSO) -> FloatArray:
    """Return (T, 17, 2) pixels: a person, torso ``size`` long, walking in place; legs cross, knees bend, arms swing."""
    phase = 2 * np.pi * np.arange(num_frames) / 24
    body = np.zeros((num_frames, 17, 2))
    body[:, [0, 1, 2, 3, 4]] = [[0.05, -1.4], [0.1, -1.45], [0, -1.45], [0.15, -1.4], [-0.1, -1.4]]
    body[:, 5], body[:, 6], body[:, 11], body[:, 12] = (0.3, -1), (-0.3, -1), (0.2, 0), (-0.2, 0)

    def hang(top: int, middle: int, end: int, length: float, swing: FloatArray, bend: FloatArray) -> None:
        body[:, middle] = body[:, top] + length * np.stack([np.sin(swing), np.cos(swing)], axis=1)
        body[:, end] = body[:, middle] + 0.9 * length * np.stack([np.sin(swing + bend), np.cos(swing + bend)], axis=1)

    for side, sign in ((0, 1), (1, -1)):
        hang(5 + side, 7 + side, 9 + side, 0.6, -sign * 0.15 * np.sin(phase), sign * 0.2 + 0.1 * np.sin(phase))
        hang(11 + side, 13 + side, 15 + side, 0.85, sign * 0.45 * np.sin(phase), -0.25 - 0.2 * np.cos(phase))
    return body * size + [320, 240]


def noisy(body: FloatArray, rng: np.random.Generator, level: float = 3.0) -> FloatArray:
    """Add landmark noise of ``level`` pixels, half of its power correlated over time, more at hands and feet."""
    weight = np.ones((17, 1))
    weight[[9, 10, 15, 16]] = 1.4
    drift = np.zeros_like(body)
    for t in range(1, len(body)):
        drift[t] = 0.85 * drift[t - 1] + math.sqrt(1 - 0.85**2) * rng.normal(size=(17, 2))
    return np.asarray(body + level * weight * (drift + rng.normal(size=body.shape)) / math.sqrt(2))


def stretched(body: FloatArray, span: slice) -> set[str]:
    """Lengthen the left forearm by 80 %, in place."""
    body[span, 9] += 0.8 * (body[span, 9] - body[span, 7])
    return {"left forearm"}


def snapped(body: FloatArray, span: slice) -> set[str]:
    """Turn the right forearm by 90 degrees, in place."""
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    body[span, 10] = body[span, 8] + (body[span, 10] - body[span, 8]) @ turn
    return {"right forearm"}


def swapped(body: FloatArray, span: slice) -> set[str]:
    """Exchange the wrists, in place."""
    body[span, 9], body[span, 10] = body[span, 10].copy(), body[span, 9].copy()
    return {"left forearm", "right forearm"}


DEFECTS: tuple[Callable[[FloatArray, slice], set[str]], ...] = (stretched, snapped, swapped)


def f1(defect: Callable[[FloatArray, slice], set[str]], seeds: range, level: float = 3.0) -> float:
    """F1 of the faults found, per part and frame, over one clip a seed."""

    def near(frames: tuple[int, ...] | range, others: tuple[int, ...] | range) -> int:
        return sum(any(abs(f - g) <= TOLERANCE for g in others) for f in frames)

    found = right = faults = hit = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        body = walker()
        start, length = int(rng.integers(5, 30)), int(rng.integers(4, 11))
        parts = defect(body, slice(start, start + length))
        result = object_integrity_score(noisy(body, rng, level), np.full((FRAMES, 17), 0.9))
        by_part = {event.target: event.frames for event in result.events}
        for part in PARTS:
            frames, expected = by_part.get(part, ()), range(start, start + length) if part in parts else range(0)
            found, right = found + len(frames), right + near(frames, expected)
            faults, hit = faults + len(expected), hit + near(expected, frames)
    precision, recall = right / max(found, 1), hit / faults
    return 2 * precision * recall / max(precision + recall, 1e-9)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.02, 0.03, 0.04])
    parser.add_argument("--clips", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=10000)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.clips)
    print(f"{'noise':>8}" + "".join(f"{d.__name__:>12}" for d in DEFECTS) + f"{'clean OIS':>12}")
    for noise in options.noise:
        clean = [
            object_integrity_score(
                noisy(walker(), np.random.default_rng(s), noise * TORSO), np.full((FRAMES, 17), 0.9)
            ).score
            for s in seeds
        ]
        cells = "".join(f"{f1(d, seeds, noise * TORSO):12.3f}" for d in DEFECTS)
        print(f"{noise:8.3f}{cells}{np.mean([c for c in clean if c is not None]):12.4f}")


if __name__ == "__main__":
    main()
