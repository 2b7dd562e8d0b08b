"""PAS over real footage: what τ is held against.

    python -m benchmarks.motion_truth [--frames 49] [--windows 2]

Prints amplitude, camera speed and score of windows of every clip of ../shared/real-clips, and their medians. Real
footage is full of motion that people perceive well; a τ under which half of it scores 1, or next to nothing, says
nothing about generated clips.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import cv2
import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.functional.pas import camera_speed
from vmmetrics.metrics import pas
from vmmetrics.perception.presets import load_preset
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.video import read_clip

FOOTAGE = Path(__file__).parents[2] / "shared" / "real-clips"


def windows(clip: Clip, frames: int, count: int) -> list[Clip]:
    """Up to ``count`` windows of ``frames`` frames, spread evenly over the clip."""
    last = max(0, len(clip) - frames)
    starts = np.unique(np.linspace(0, last, count).astype(int)) if count > 1 else [0]
    cut = []
    for start in starts:
        window = slice(start, start + frames)
        times = clip.timestamps[window] - clip.timestamps[start]
        cut.append(Clip(clip.frames[window], times, clip.fps, name=f"{clip.name}@{start}"))
    return cut


def measure(clip: Clip, models: Models) -> tuple[float, float, float] | None:
    """Return amplitude, camera speed (both in diagonals per second) and score; None where missing."""
    scene = Scene(clip, models)
    result = pas.measure(scene, "vmmetrics")
    if result.score is None or result.amplitude is None:
        return None
    size = (float(clip.width), float(clip.height))
    speed = camera_speed(scene.camera.homographies, size).mean() * clip.fps / np.hypot(*size)
    return result.amplitude, float(speed), result.score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=49)
    parser.add_argument("--windows", type=int, default=1)
    options = parser.parse_args()
    if not FOOTAGE.is_dir():
        raise SystemExit(f"{FOOTAGE} is not there: nothing to measure")
    print(f"{platform.machine()}, Python {platform.python_version()}, OpenCV {cv2.__version__}, numpy {np.__version__}")
    print(f"{'window':34}{'amplitude':>10}{'camera':>9}{'PAS':>7}")
    models = load_preset("embedded").models
    rows = []
    for path in sorted(p for p in FOOTAGE.iterdir() if p.suffix in {".mp4", ".mkv"}):
        for clip in windows(read_clip(path), options.frames, options.windows):
            row = measure(clip, models)
            name = f"{path.name}{clip.name[clip.name.rindex('@') :]}"
            if row is None:
                print(f"{name:34}   missing", flush=True)
                continue
            rows.append(row)
            print(f"{name:34}{row[0]:10.4f}{row[1]:9.4f}{row[2]:7.3f}", flush=True)
    amplitude, speed, score = np.median(np.array(rows), axis=0)
    print(f"{f'median of {len(rows)}':34}{amplitude:10.4f}{speed:9.4f}{score:7.3f}")


if __name__ == "__main__":
    main()
