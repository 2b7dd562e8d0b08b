"""Peak memory of scoring one clip, against the estimate that ``max_memory`` is held to.

    python -m benchmarks.memory [--clip FILE]

Each size runs in a process of its own, the clip cut to length and resized; a short clip is played back and forth.
Printed: peak memory above what the process held with models and frames loaded, per frame and per pixel of the
working picture.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

import vmmetrics
from benchmarks.speed import DEFAULT_CLIP, FALLBACK_CLIP, METRICS, REPOSITORY
from vmmetrics.clip import Clip
from vmmetrics.video.budget import WORKING_SHORT_SIDE, clip_bytes

SIZES = ((60, 854, 480), (180, 854, 480), (180, 320, 180), (1600, 128, 96), (1600, 132, 132), (1600, 64, 64))
MIB = 2**20


def resident_bytes() -> int:
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096


def peak_above(work: Callable[[], object]) -> int:
    """Return the largest number of resident bytes during ``work`` above that at its start."""
    before = peak = resident_bytes()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident_bytes())
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return peak - before


def measure(path: Path, count: int, width: int, height: int) -> None:
    source = vmmetrics.read_clip(path)
    order = np.abs((np.arange(count) + len(source) - 1) % max(1, 2 * len(source) - 2) - len(source) + 1)
    frames = np.stack([cv2.resize(source.frames[i], (width, height), interpolation=cv2.INTER_AREA) for i in order])
    clip = Clip(frames, np.arange(count) / source.fps, source.fps)
    del source
    suite = vmmetrics.Suite(metrics=METRICS, threads=2)
    extra = peak_above(lambda: suite.score_clip(clip))
    pixels = width * height * min(1, WORKING_SHORT_SIDE / min(width, height)) ** 2
    print(
        f"{count:4d} × {width}×{height}: frames {frames.nbytes / MIB:5.0f} MiB, perception {extra / MIB:5.0f} MiB "
        f"({extra / count / MIB:.2f} per frame, {extra / count / pixels:.0f} bytes per working pixel); "
        f"estimate of both {clip_bytes(count, width, height) / MIB:.0f} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", type=Path, default=DEFAULT_CLIP if DEFAULT_CLIP.exists() else FALLBACK_CLIP)
    parser.add_argument("--one", nargs=3, type=int, metavar=("FRAMES", "WIDTH", "HEIGHT"))
    options = parser.parse_args()
    if options.one:
        measure(options.clip, *options.one)
        return
    for size in SIZES:
        command = [sys.executable, "-m", "benchmarks.memory", "--clip", str(options.clip), "--one", *map(str, size)]
        subprocess.run(command, check=True, cwd=REPOSITORY)


if __name__ == "__main__":
    main()
