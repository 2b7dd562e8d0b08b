"""Cost of the five embedded metrics against one dense flow pass, in one run on one machine.

    python -m benchmarks.speed [--clip FILE] [--repeat 5]

The unit is one forward and backward DIS flow pass (OpenCV, medium preset) over the same 49 frames at 720×480, two
threads. Models are warm and frames are decoded; the median of the repeats counts. Also printed: peak memory of a
process that scores the clip, how often each ability ran (once each), the seconds per ability, and the import time.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

import vmmetrics
from vmmetrics.clip import Clip

SIZE = (720, 480)
FRAMES = 49
THREADS = 2
METRICS = ("cas", "mss", "ois", "pas", "tcs")
REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_CLIP = REPOSITORY.parent / "shared" / "real-clips" / "sam2_05_juggle.mp4"
FALLBACK_CLIP = REPOSITORY / "tests" / "data" / "samples" / "cogvideo" / "woman-walks-and-sits.mp4"


def load(path: Path) -> Clip:
    """Read a clip and bring it to 49 frames of 720×480."""
    clip = vmmetrics.read_clip(path)
    frames = np.stack([cv2.resize(f, SIZE, interpolation=cv2.INTER_AREA) for f in clip.frames[:FRAMES]])
    while len(frames) < FRAMES:  # a short clip is played back and forth
        frames = np.concatenate([frames, frames[-2::-1]])[:FRAMES]
    return Clip(frames, np.arange(FRAMES) / clip.fps, clip.fps, name=path.name)


def flow_pass(clip: Clip) -> None:
    """The unit of cost: dense flow between consecutive frames, both ways."""
    flow = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    grey = [cv2.cvtColor(f, cv2.COLOR_RGB2GRAY) for f in clip.frames]
    for before, after in itertools.pairwise(grey):
        flow.calc(before, after, None)
        flow.calc(after, before, None)


def median_seconds(work: Callable[[], object], repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def peak_memory_mib(path: Path) -> float:
    """Peak resident memory of a fresh process that scores the clip."""
    code = (
        "import resource, sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path\n"
        "from benchmarks.speed import load, METRICS; from vmmetrics import Suite\n"
        "Suite(metrics=METRICS, threads=2).score_clip(load(Path(sys.argv[1])))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    run = [sys.executable, "-c", code, str(path), str(REPOSITORY)]
    return float(subprocess.run(run, capture_output=True, text=True, check=True).stdout)


def import_seconds(repeat: int) -> float:
    return median_seconds(lambda: subprocess.run([sys.executable, "-c", "import vmmetrics"], check=True), repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", type=Path, default=DEFAULT_CLIP if DEFAULT_CLIP.exists() else FALLBACK_CLIP)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()

    cv2.setNumThreads(THREADS)
    clip = load(options.clip)
    suite = vmmetrics.Suite(metrics=METRICS, threads=THREADS)
    scores = suite.score_clip(clip)  # warms the models
    unit = median_seconds(lambda: flow_pass(clip), options.repeat)
    whole = median_seconds(lambda: suite.score_clip(clip), options.repeat)

    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, OpenCV {cv2.__version__}")
    print(f"{options.clip.name}: {FRAMES} frames of {SIZE[0]}×{SIZE[1]}; scores {scores.scores}")
    print(f"flow pass, forward + backward  {unit:6.2f} s")
    print(f"five metrics                   {whole:6.2f} s  = {whole / unit:.2f} flow passes (aim: at most 3)")
    print(f"peak memory                    {peak_memory_mib(options.clip):6.0f} MiB (aim: at most 1536)")
    print(f"import vmmetrics               {import_seconds(options.repeat):6.2f} s (aim: below 0.5)")

    scene = suite.scene(clip)
    suite.score_scene(scene)
    print("ability: runs, seconds (those it drew on included when it ran first)")
    for name, calls in sorted(scene.calls.items()):
        print(f"  {name:24s} {calls}  {scene.seconds[name]:6.2f}")


if __name__ == "__main__":
    main()
