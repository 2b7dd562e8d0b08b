"""Clips scored in windows: memory by length, windows against their frames alone, and events at the edges.

    python -m benchmarks.long_clips memory --size 320x180 --fps 6 --seconds 10 60 --max-memory 200
    python -m benchmarks.long_clips memory --size 96x64 --fps 4 --seconds 10 60 600 --max-memory 18 --metrics pas
    python -m benchmarks.long_clips equal
    python -m benchmarks.long_clips edges

``memory``: footage is played back and forth into a file of each length, which is scored in a process of its own by
``vmmetrics.score``; printed are the peaks of resident memory above that with the models loaded. ``equal``: the largest
difference between scores of a window and of its decoded frames alone. ``edges``: clips of ten seconds, clean and with
a thing that vanishes, a glitch and a cut at exactly 5 s, scored whole and in windows; printed are the scores and the
events within a quarter of a second of the edge.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

import vmmetrics
from benchmarks.memory import MIB, peak_above, resident_bytes
from benchmarks.speed import DEFAULT_CLIP, FALLBACK_CLIP, METRICS, REPOSITORY
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.settings import Settings, reading_options
from vmmetrics.scoring.suite import Suite
from vmmetrics.types import UInt8Array
from vmmetrics.video.encoding import write_h264
from vmmetrics.video.windows import WINDOW_SECONDS

FOOTAGE = REPOSITORY.parent / "shared" / "footage"
CLIPS = ("../real-clips/sam2_01_dog.mp4", "real/r_aa_guitar.mp4")
EDGE_FPS, EDGE_WIDTH = 8, 240


def looped(frames: UInt8Array, count: int) -> Iterator[UInt8Array]:
    """Yield ``count`` frames, played back and forth."""
    last = len(frames) - 1
    for number in range(count):
        position = number % (2 * last)
        yield frames[position if position <= last else 2 * last - position]


def footage(path: Path, fps: float, size: tuple[int, int] | None = None) -> UInt8Array:
    """Return the frames of a clip at a rate and a size (width, height)."""
    clip = vmmetrics.read_clip(path)
    chosen = np.unique(np.searchsorted(clip.timestamps, np.arange(0, clip.timestamps[-1], 1 / fps)))
    if size is None:
        size = EDGE_WIDTH, 2 * round(EDGE_WIDTH * clip.height / clip.width / 2)
    return np.stack([cv2.resize(clip.frames[i], size, interpolation=cv2.INTER_AREA) for i in chosen])


def one_memory(path: Path, max_memory: int, metrics: tuple[str, ...]) -> None:
    from vmmetrics.scoring.run import Start, prepare, run
    from vmmetrics.scoring.tasks import Task

    setup = prepare(Settings(metrics=metrics, reading=reading_options(None, max_memory), threads=1))
    warm = np.random.default_rng(0).integers(0, 255, (8, 64, 64, 3), np.uint8)
    setup.scorer.suite(metrics).score_clip(warm, fps=8, layout="THWC")
    records: list[Record] = []
    before, start, cpu = resident_bytes(), time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        tasks = [Task("clip", None, path, metrics)]
        extra = peak_above(lambda: records.extend(run(setup, tasks, Start(), Path(folder) / "run")))
    record = records[0]
    print(
        f"{record.frames} frames of {record.size[0]}x{record.size[1]}, {record.frames / record.fps:.0f} s: "
        f"{len(record.windows)} windows, peak {extra / MIB:.0f} MiB above {before / MIB:.0f} MiB, "
        f"{time.process_time() - cpu:.0f} CPU s, {time.perf_counter() - start:.0f} s; "
        f"{record.error or record.errors or 'no failure'}; {' | '.join(record.notes)}",
        flush=True,
    )


def memory(options: argparse.Namespace) -> None:
    width, height = map(int, options.size.split("x"))
    frames = footage(options.clip, options.fps, (width, height))
    with tempfile.TemporaryDirectory() as folder:
        for seconds in options.seconds:
            path = Path(folder) / f"{seconds}.mp4"
            write_h264(path, looped(frames, round(seconds * options.fps)), options.fps, {"crf": "20"})
            command = [sys.executable, "-m", "benchmarks.long_clips", "one", str(path), str(options.max_memory * MIB)]
            subprocess.run([*command, *options.metrics], check=True, cwd=REPOSITORY)
            path.unlink()


def in_windows(suite: Suite, frames: UInt8Array, fps: float) -> list[ClipScores]:
    return list(suite.stream(frames, fps=fps, layout="HWC"))


def equal() -> None:
    suite = Suite(threads=1)
    for name in CLIPS[:1]:
        frames = footage(FOOTAGE / name, EDGE_FPS)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "clip.mp4"
            write_h264(path, frames, EDGE_FPS, {"crf": "18"})
            decoded = vmmetrics.read_clip(path).frames
        windows = in_windows(suite, decoded, EDGE_FPS)[-1].windows
        worst, first = 0.0, 0
        for window in windows:
            alone = suite.score_clip(decoded[first : first + window.frames], fps=EDGE_FPS, layout="THWC")
            first += window.frames
            if alone.scores.keys() != window.scores.keys() or alone.missing != window.missing:
                raise SystemExit(f"{name}: {alone.scores} {alone.missing} against {window}")
            worst = max(worst, *(abs(alone.scores[key] - score) for key, score in window.scores.items()))
        print(f"{name}: {len(windows)} windows, largest difference of a score {worst:.1e}", flush=True)


def damaged(frames: UInt8Array, other: UInt8Array) -> dict[str, UInt8Array]:
    """Return the clip clean and with a fault at exactly 5 s, the edge of two windows."""
    edge = round(WINDOW_SECONDS * EDGE_FPS)
    high, wide = frames.shape[1:3]
    thing = cv2.resize(other[0], (wide // 4, high // 3), interpolation=cv2.INTER_AREA)
    vanishing, glitch, cut = frames.copy(), frames.copy(), frames.copy()
    for number in range(edge):
        x = round(wide * (0.35 + 0.25 * np.sin(1.2 * number / EDGE_FPS)))
        vanishing[number, high // 3 : high // 3 + high // 3, x : x + wide // 4] = thing
    glitch[edge] = cv2.GaussianBlur(glitch[edge], (0, 0), 4)
    cut[edge:] = [cv2.resize(frame, (wide, high)) for frame in looped(other, len(frames) - edge)]
    return {"clean": frames, "vanishes": vanishing, "glitch": glitch, "cut": cut}


def edges() -> None:
    suite = Suite(threads=1, metrics=("mss", "tcs"))
    edge = round(WINDOW_SECONDS * EDGE_FPS)
    for name, other in zip(CLIPS, (*CLIPS[1:], CLIPS[0]), strict=True):
        frames, others = (footage(FOOTAGE / path, EDGE_FPS)[: 2 * edge - 4] for path in (name, other))
        for kind, shown in damaged(frames, others).items():
            whole = suite.score_clip(shown, fps=EDGE_FPS, layout="THWC")
            for way, scores in (("whole", whole), ("windows", in_windows(suite, shown, EDGE_FPS)[-1])):
                near = [
                    f"{e.metric} {e.frames[0]} {e.reason}{' (excused)' if e.excuse else ''}"
                    for result in scores.results.values()
                    for e in result.events
                    if e.frames and abs(e.frames[0] - edge) <= EDGE_FPS / 4
                ]
                numbers = " ".join(f"{key} {score:.3f}" for key, score in scores.scores.items())
                print(f"{Path(name).stem} {kind} {way}: {numbers}; {', '.join(near) or 'none at the edge'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sizes = commands.add_parser("memory")
    sizes.add_argument("--clip", type=Path, default=DEFAULT_CLIP if DEFAULT_CLIP.exists() else FALLBACK_CLIP)
    sizes.add_argument("--size", default="320x180")
    sizes.add_argument("--fps", type=float, default=6)
    sizes.add_argument("--seconds", type=int, nargs="+", default=[10, 60])
    sizes.add_argument("--max-memory", type=int, default=200, help="MiB")
    sizes.add_argument("--metrics", nargs="+", default=METRICS)
    commands.add_parser("equal")
    commands.add_parser("edges")
    one = commands.add_parser("one")
    one.add_argument("path", type=Path)
    one.add_argument("max_memory", type=int)
    one.add_argument("metrics", nargs="+")
    options = parser.parse_args()
    if options.command == "memory":
        memory(options)
    elif options.command == "one":
        one_memory(options.path, options.max_memory, tuple(options.metrics))
    else:
        {"equal": equal, "edges": edges}[options.command]()


if __name__ == "__main__":
    main()
