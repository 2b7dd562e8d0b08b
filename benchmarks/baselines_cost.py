"""What the baselines without a download cost on one clip of usual size (python -m benchmarks.baselines_cost)."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.baselines_parity import pictures
from vmmetrics.alignment.baselines.catalogue import BASELINES
from vmmetrics.alignment.baselines.suite import BaselineSuite
from vmmetrics.clip import Clip

FRAMES, HEIGHT, WIDTH = 49, 480, 720


def _clip(frames: int = FRAMES) -> Clip:
    """A texture that drifts, enlarged to size, in three channels."""
    small = pictures(frames, 120, 120)
    large = np.tile(small, (1, HEIGHT // 120, WIDTH // 120))
    return Clip(np.ascontiguousarray(np.repeat(large[..., None], 3, axis=-1)), np.arange(frames) / 24, 24.0)


def _main() -> None:
    suite = BaselineSuite()
    suite.score_clip(_clip(3))  # what is loaded once
    scene = suite.scene(_clip())
    print(f"{FRAMES} frames of {WIDTH} x {HEIGHT}; what several share is charged to the first")
    total = np.zeros(2)
    for name in suite.metrics:
        before = time.perf_counter(), time.process_time()
        measure = BASELINES[name].measure
        assert measure is not None
        measure(scene)
        spent = np.array([time.perf_counter() - before[0], time.process_time() - before[1]])
        total += spent
        print(f"{name:24} {spent[0]:6.2f} s  {spent[1]:6.2f} s of processor")
    print(f"{'all':24} {total[0]:6.2f} s  {total[1]:6.2f} s of processor")


if __name__ == "__main__":
    _main()
