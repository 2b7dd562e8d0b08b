"""Cost of the five embedded metrics against one dense flow pass, interleaved in one run on one machine.

    python -m benchmarks.speed [--clip FILE] [--repeat 5]
    python -m benchmarks.speed --throughput [--clip FILE] [--clips 6]

The unit is one DIS flow pass (OpenCV, medium preset) over the pairs of the same frames, two threads, models warm,
frames decoded: 49 frames of 720×480, then 121 of 1280×720; medians of the repeats, wall and CPU. Then the CPU seconds
of each part of the perception by itself, the peak memory of a process that scores the clip, and the import time.

``--throughput``: copies of the clip at usual sizes, scored by ``vmmetrics score`` with one worker and with two: clips
per core-hour of CPU, start included, and peak memory of the largest process. The figure for 128 cores is a projection:
64 times the rate of the run, not a measurement.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import vmmetrics
from vmmetrics.clip import Clip
from vmmetrics.video.encoding import write_h264

SIZES = ((49, 720, 480), (121, 1280, 720))
"""Frames, width, height."""
USUAL = ((16, 256, 256), (49, 720, 480), (81, 832, 480), (121, 1280, 720))
THREADS = 2
METRICS = ("cas", "mss", "ois", "pas", "tcs")
PARTS = ("unjudgeable", "flow", "camera", "objects", "poses", "quality", "unsteadiness")
"""Abilities of a scene in the order of use, so that none pays for another; the rest is tracks, own change, scores."""
REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_CLIP = REPOSITORY.parent / "shared" / "real-clips" / "sam2_05_juggle.mp4"
FALLBACK_CLIP = REPOSITORY / "tests" / "data" / "samples" / "cogvideo" / "woman-walks-and-sits.mp4"


def load(path: Path, size: tuple[int, int, int] = SIZES[0]) -> Clip:
    """Read a clip and bring it to ``size``: frames, width, height; a short one is played back and forth."""
    clip = vmmetrics.read_clip(path)
    count, *sides = size
    frames = np.stack([cv2.resize(f, sides, interpolation=cv2.INTER_AREA) for f in clip.frames[:count]])
    while len(frames) < count:
        frames = np.concatenate([frames, frames[-2::-1]])[:count]
    return Clip(frames, np.arange(count) / clip.fps, clip.fps, name=path.name)


def flow_pass(clip: Clip) -> None:
    """The unit of cost: dense flow between consecutive frames."""
    flow: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    grey = [cv2.cvtColor(f, cv2.COLOR_RGB2GRAY) for f in clip.frames]
    for before, after in itertools.pairwise(grey):
        flow.calc(before, after, None)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall and CPU seconds of ``work``."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def peak_memory_mib(path: Path) -> float:
    """Peak resident memory of a fresh process that scores the clip."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path\n"
        "from benchmarks.speed import load, METRICS; from vmmetrics import Suite\n"
        "Suite(metrics=METRICS, threads=2).score_clip(load(Path(sys.argv[1])))\n"
        "print(next(int(line.split()[1]) for line in open('/proc/self/status') if 'VmHWM' in line) / 1024)"
    )
    run = [sys.executable, "-c", code, str(path), str(REPOSITORY)]
    return float(subprocess.run(run, capture_output=True, text=True, check=True).stdout)


def compare(path: Path, repeat: int) -> None:
    """Print both sizes in units of the flow pass, and the CPU seconds of the first one's parts."""
    suite = vmmetrics.Suite(metrics=METRICS, threads=THREADS)
    for size in SIZES:
        clip = load(path, size)
        scores = suite.score_clip(clip)  # warms the models
        units, wholes = [], []
        for _ in range(repeat):
            units.append(seconds(partial(flow_pass, clip)))
            wholes.append(seconds(partial(suite.score_clip, clip)))
        unit, whole = (np.median(times, axis=0) for times in (units, wholes))
        print(f"{size[0]} frames of {size[1]}×{size[2]}; scores {scores.scores}")
        for name, of, in_units in zip(("wall", "CPU"), whole, whole / unit, strict=True):
            print(f"  {name}: {of:.2f} s = {in_units:.2f} flow passes of {of / in_units:.2f} s", flush=True)
    by_part: dict[str, list[float]] = {}
    clip = load(path)
    for _ in range(repeat):
        scene = suite.scene(clip)
        for name in PARTS:
            by_part.setdefault(name, []).append(seconds(partial(getattr, scene, name))[1])
        by_part.setdefault("the rest", []).append(seconds(partial(suite.score_scene, scene))[1])
    print("CPU seconds by part, 720×480")
    for name, times in by_part.items():
        print(f"  {name:14s} {statistics.median(times):.2f}")
    importing = partial(subprocess.run, [sys.executable, "-c", "import vmmetrics"], check=True)
    imported = [seconds(importing)[0] for _ in range(repeat)]
    print(f"peak memory {peak_memory_mib(path):.0f} MiB, import vmmetrics {statistics.median(imported):.2f} s")


_WATCHED = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"""
"""Runs a command and prints its CPU seconds and MiB: of a process of its own, as a child counts its parent's memory."""


def throughput(path: Path, clips: int) -> None:
    """Print the rate and memory of the command at :data:`USUAL` sizes, one worker and two."""
    for size in USUAL:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "clips"
            folder.mkdir()
            clip = load(path, size)
            first = folder / "0.mp4"
            write_h264(first, clip.frames, Fraction(clip.fps).limit_denominator(1001), {"crf": "18"})
            for number in range(1, clips):
                shutil.copy(first, folder / f"{number}.mp4")
            for workers in (1, 2):
                out = f"{name}/{workers}"
                command = [
                    sys.executable,
                    "-m",
                    "vmmetrics",
                    "score",
                    str(folder),
                    "--out",
                    out,
                    "--jobs",
                    str(workers),
                ]
                watched = [sys.executable, "-c", _WATCHED, *command]
                start = time.perf_counter()
                said = subprocess.run(watched, check=True, capture_output=True, text=True).stdout
                wall = (time.perf_counter() - start) / clips
                cpu, memory = (float(number) for number in said.splitlines()[-1].split())
                cpu /= clips
                rates = f"{3600 / cpu:.0f} clips per core-hour, {3600 / wall:.0f} an hour"
                projected = f"on 128 cores (projected) {64 * 3600 / wall:.0f}"
                print(
                    f"{size[0]} × {size[1]}×{size[2]}, --jobs {workers}, {clips} clips: {wall:.2f} s, CPU {cpu:.2f} s"
                )
                print(f"  a clip; {rates}, {projected}; memory {memory:.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", type=Path, default=DEFAULT_CLIP if DEFAULT_CLIP.exists() else FALLBACK_CLIP)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--clips", type=int, default=6)
    options = parser.parse_args()
    cv2.setNumThreads(THREADS)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, OpenCV {cv2.__version__}")
    if options.throughput:
        throughput(options.clip, options.clips)
    else:
        compare(options.clip, options.repeat)


if __name__ == "__main__":
    main()
