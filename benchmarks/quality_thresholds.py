"""Derive the thresholds of MSS for the embedded quality model: how far quality drops by chance in clean footage.

Run ``python -m benchmarks.quality_thresholds``. Takes windows of real footage (``../shared/real-clips``) at its own
frame rate and at a half and a quarter of it, measures the drop of quality into every frame, and prints per class of
amplitude how many frames a threshold would flag. The threshold of a class is the smallest on the grid that flags at
most :data:`FALSE_FLAGS` of its frames. Windows whose source repeats frames are left out when frames are skipped: what
is a cadence at its own rate is judder at another. Then clips with defects injected show what the thresholds find.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from benchmarks.scenes.spec import STRENGTHS
from vmmetrics.alignment.perturbations.frames import GLITCHES, spoil
from vmmetrics.clip import Clip
from vmmetrics.metrics import mss, pas
from vmmetrics.perception.presets import load_preset
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray
from vmmetrics.video import read_clip

REAL_CLIPS = Path(__file__).resolve().parents[2] / "shared" / "real-clips"
REPEATS_FRAMES = ("decord_pancake.mkv", "mmaction2_demo.mp4")  # 24 frames a second stored at 30 and 28
FALSE_FLAGS = 0.01
GRID = np.round(np.arange(0.05, 0.505, 0.01), 2)
WINDOW = 49
SHORT_SIDE = 480


def windows(strides: tuple[int, ...]) -> Iterator[tuple[str, int, Clip]]:
    """Yield (file name, stride, clip) for one window per clip and stride."""
    for path in sorted(p for p in REAL_CLIPS.iterdir() if p.suffix in {".mp4", ".mkv"}):
        clip = read_clip(path)
        scale = min(1.0, SHORT_SIDE / min(clip.height, clip.width))
        for stride in strides:
            if stride > 1 and path.name in REPEATS_FRAMES:
                continue
            start = max(0, min(60, len(clip) - WINDOW * stride))
            picked = range(start, min(len(clip), start + WINDOW * stride), stride)
            if len(picked) < 16:
                continue
            size = round(clip.width * scale), round(clip.height * scale)
            frames = np.stack([cv2.resize(clip.frames[t], size, interpolation=cv2.INTER_AREA) for t in picked])
            times = clip.timestamps[list(picked)] - clip.timestamps[start]
            yield path.name, stride, Clip(frames, times, clip.fps / stride, path.name)


def drops_of(quality: FloatArray) -> FloatArray:
    """Return (T-1,): by how much quality falls into each frame."""
    return np.asarray(np.maximum(-np.diff(quality), 0))


def derive(strides: tuple[int, ...]) -> None:
    """Print the clean drops by amplitude and the thresholds they ask for."""
    models = load_preset("embedded").models
    bounds = mss.EMBEDDED_THRESHOLDS.amplitude_bounds
    by_class: list[list[float]] = [[] for _ in range(len(bounds) + 1)]
    for name, stride, clip in windows(strides):
        scene = Scene(clip, models)
        amplitude = pas.measure(scene, "vmmetrics").amplitude
        drops = drops_of(scene.quality)
        by_class[int(np.searchsorted(bounds, amplitude or 0.0, side="right"))].extend(drops.tolist())
        score = mss.measure(scene, "vmmetrics", amplitude).score
        print(
            f"{name:30} 1/{stride}  amplitude {amplitude or 0:.3f}  MSS {score:.3f}  drop {drops.max():.3f}", flush=True
        )
    for index, pooled in enumerate(by_class):
        low = bounds[index - 1] if index else 0.0
        if not pooled:
            print(f"amplitude from {low:.3f}: no frames")
            continue
        shares = [float(np.mean(np.array(pooled) > threshold)) for threshold in GRID]
        fitting = [t for t, share in zip(GRID, shares, strict=True) if share <= FALSE_FLAGS]
        chosen = f"{fitting[0]:.2f}" if fitting else f"above {GRID[-1]}"
        listed = "  ".join(f">{t:.2f}: {100 * s:.2f} %" for t, s in zip(GRID[::5], shares[::5], strict=True))
        print(f"amplitude from {low:.3f}: {len(pooled)} frames, threshold {chosen} at {FALSE_FLAGS:.0%}   {listed}")


def recall(seeds: range) -> None:
    """Print precision and recall (± 1 frame) of defects injected into the windows, by kind and strength."""
    models = load_preset("embedded").models
    counts = {(kind, strength): np.zeros(4, int) for kind in GLITCHES for strength in STRENGTHS}
    for name, stride, clip in windows((1, 3)):
        for (kind, strength), count in counts.items():
            for seed in seeds:
                rng = np.random.default_rng([seed, len(name), stride])
                frames = clip.frames.copy()
                starts = rng.permutation(np.arange(5, len(frames) - 4, 9))[:2]
                spoil(frames, kind, STRENGTHS[strength], sorted(starts.tolist()), rng)
                result = mss.measure(Scene(Clip(frames, clip.timestamps, clip.fps), models), "vmmetrics", None)
                flagged = [event.frames[0] for event in result.events]
                hits = sum(any(abs(f - t) <= 1 for t in starts) for f in flagged)
                detected = sum(any(abs(f - t) <= 1 for f in flagged) for t in starts)
                count += (hits, len(flagged), detected, len(starts))
    for (kind, strength), (hits, flagged, detected, there) in counts.items():
        precision, share = hits / max(1, flagged), detected / there
        f1 = 2 * precision * share / max(1e-9, precision + share)
        print(f"{kind:10} {strength:7} precision {precision:.2f}  recall {share:.2f}  F1 {f1:.2f}  ({there} defects)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=0, help="also inject defects, so many seeds per window and kind")
    parser.add_argument("--strides", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    if not REAL_CLIPS.is_dir():
        print(f"No real clips at {REAL_CLIPS}: nothing to measure on")
        return
    derive(tuple(options.strides))
    if options.seeds:
        recall(range(10_000, 10_000 + options.seeds))


if __name__ == "__main__":
    main()
