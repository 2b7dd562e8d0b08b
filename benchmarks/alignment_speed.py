"""Seconds and memory of the bootstrap of Spearman and Pearson at the size the issue names.

    python -m benchmarks.alignment_speed [--clips 100000] [--metrics 10] [--prompts 25000] [--resamples 1000]

Continuous metrics (no two scores alike) against the mean of three ratings from 1 to 5, which is the dear case. Printed:
wall and processor seconds of Spearman and Pearson, point estimates included, peak memory, and the machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import time

import numpy as np

from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED
from vmmetrics.utils.statistics.correlation import pearson, resampled_pearson, resampled_spearman, spearman


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=100_000)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--prompts", type=int, default=25_000)
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    quality = rng.normal(size=given.clips)
    rating = np.clip(np.rint(3 + quality + rng.normal(size=(3, given.clips))), 1, 5).mean(axis=0)
    metrics = [quality + rng.normal(size=given.clips) for _ in range(given.metrics)]
    prompts = [f"prompt {number}" for number in rng.integers(given.prompts, size=given.clips)]
    print(f"{given.clips} clips of {given.prompts} prompts × {given.metrics} metrics, {given.resamples} samples")
    total = 0.0
    for name, point, resampled in (("Spearman", spearman, resampled_spearman), ("Pearson", pearson, resampled_pearson)):
        start, used = time.perf_counter(), time.process_time()
        values = [point(metric, rating) for metric in metrics]
        spread = resampled(metrics, rating, prompts, given.resamples, SEED).std(axis=1)
        seconds = time.perf_counter() - start
        total += seconds
        print(
            f"{name}: {seconds:.1f} s, {time.process_time() - used:.1f} s of processor; "
            f"{np.mean(values):.4f} ± {spread.mean():.4f} on the mean over metrics"
        )
    machine = f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}, load {os.getloadavg()[0]:.1f}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"together {total:.1f} s, peak {peak:.0f} MB; {machine}")
    print(f"Python {platform.python_version()}, numpy {np.__version__}")


if __name__ == "__main__":
    main()
