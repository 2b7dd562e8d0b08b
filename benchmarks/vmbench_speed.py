"""Seconds and memory of the vmbench preset per clip, beside the same work done the released way, in one run.

    python -m benchmarks.vmbench_speed [--clips 2] [--device cuda]        # full size: one H100, or any card of 24 GB
    python -m benchmarks.vmbench_speed --small                            # small networks on a CPU

Networks have random weights (:mod:`benchmarks.vmbench_networks`) and do all their work; what they would find in noise
is then replaced by what is in the clip: two boxes, one of which vanishes half way, so that every clip costs the same
and each path is taken. Released way: every metric decodes the clip for itself, CoTracker runs backwards too and sees
every clip anew, CAS sends all 30 views, MSS looks at a frame in each of its three windows, OIS goes frame by frame, and
SAM 2 encodes a chunk's frames for that chunk. Models stay loaded and are warm in both, and precisions are the same;
the released scripts' own overhead beyond that is not counted. What metrics share under ``protocol="vmmetrics"`` counts
with the first that asks for it, PAS. On a CPU, seconds are its own on one core. CoTracker must be installed.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import torch

from benchmarks.vmbench_networks import random_models
from vmmetrics.clip import Clip, Subject
from vmmetrics.functional.cas import commonsense_adherence_score
from vmmetrics.metrics import cas, mss, ois, pas, tcs
from vmmetrics.perception.scene import Models, PointTracks, Scene
from vmmetrics.perception.views import Viewer
from vmmetrics.perception.vmbench.adapters import grounding
from vmmetrics.perception.vmbench.adapters.qalign import windows_of
from vmmetrics.types import AmplitudeResult, MetricResult, Protocol
from vmmetrics.video import read_clip

FPS, FULL, SMALL = 8, (49, 480, 720), (10, 96, 144)
BOXES = np.array([[0.3, 0.5, 0.2, 0.4], [0.7, 0.45, 0.2, 0.3]], np.float32)
"""Centre and size of the two objects, in shares of the frame."""
MARK = 16
"""Side of the square in the corner whose grey level tells which half of the clip a frame is of, JPEG or not."""
SMALL_INPUT = (160, 267)
"""In the place of 800 and 1333 pixels for Grounding DINO."""
SMALL_GRID = 4
"""Points along each side in the place of 30 and 50."""

SHARED = 0.005
"""Seconds below which a metric has found all it needs already there."""

Measure = Callable[[Scene], MetricResult]


def write_clip(path: Path, shape: tuple[int, int, int], seed: int) -> None:
    """Write an H.264 clip of moving noise."""
    frames, height, width = shape
    rng = np.random.default_rng(seed)
    world = rng.integers(0, 256, (height // 8 + 1, (width + 2 * frames) // 8 + 1, 3), dtype=np.uint8)
    world = world.repeat(8, axis=0).repeat(8, axis=1)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        for t in range(frames):
            frame = np.ascontiguousarray(world[:height, 2 * t : 2 * t + width])
            frame[:MARK, :MARK] = 255 if 2 * t >= frames else 0
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())


def there(frame: np.ndarray) -> int:
    """How many of the objects a frame shows."""
    return 1 if frame[:MARK, :MARK].mean() > 127 else 2


def rectangles(height: int, width: int) -> np.ndarray:
    """(2, height, width) bool masks of the objects."""
    corners = np.concatenate([BOXES[:, :2] - BOXES[:, 2:] / 2, BOXES[:, :2] + BOXES[:, 2:] / 2], axis=1)
    x0, y0, x1, y1 = (corners * [width, height, width, height]).round().astype(int).T
    rows, columns = np.arange(height)[:, None], np.arange(width)
    return np.stack(
        [(rows >= a) & (rows < b) & (columns >= c) & (columns < d) for a, b, c, d in zip(y0, y1, x0, x1, strict=True)]
    )


@dataclass
class Steered:
    """Runs a model and says what is in the clip instead of what it says."""

    model: Any
    fresh: bool = False

    def masks(self, frame: np.ndarray | int, boxes: np.ndarray, *ahead: Any) -> np.ndarray:
        if isinstance(frame, int):
            self.model.session().masks(frame, boxes, *ahead)
            return rectangles(*self.model.frames.shape[1:3])[: len(boxes)]
        self.model.masks(frame, boxes)
        return rectangles(*frame.shape[:2])[: len(boxes)]

    def masks_in(self, frames: list[np.ndarray], boxes: list[np.ndarray]) -> list[np.ndarray]:
        if self.fresh:  # the released way: frame by frame
            return [self.masks(*asked) for asked in zip(frames, boxes, strict=True)]
        self.model.masks_in(frames, boxes)
        return [rectangles(*frames[0].shape[:2])[: len(of_frame)] for of_frame in boxes]

    def open(self, frames: np.ndarray) -> Steered:
        return Steered(_Session(self.model, frames, self.fresh))

    def propagate(self, *asked: Any, **how: Any) -> Iterator[tuple[int, dict[int, np.ndarray]]]:
        truth = rectangles(*self.model.frames.shape[1:3])
        for frame, masks in self.model.session().propagate(*asked, **how):
            shown = there(self.model.frames[frame])
            yield frame, {i: truth[k] & (k < shown) for k, i in enumerate(masks)}

    def in_frames(self, frames: np.ndarray, boxes: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        answers = self.model.in_frames(frames, boxes)
        body = np.column_stack([np.tile([0.0, 30.0], 9)[:17], np.arange(17) * 12.0])  # tall enough to be judged
        return [(np.broadcast_to(body, points.shape), np.full(scores.shape, 0.9)) for points, scores in answers]


@dataclass
class SteeredGrounder:
    """Grounding DINO that finds the objects."""

    model: Any
    one_by_one: bool = False

    def boxes_in(self, frames: list[np.ndarray], text: str) -> list[np.ndarray]:
        if self.one_by_one:
            return [self.boxes(frame, text) for frame in frames]
        self.model.boxes_in(frames, text)
        return [BOXES[: there(frame)] for frame in frames]

    def boxes(self, frame: np.ndarray, text: str) -> np.ndarray:
        self.model.boxes(frame, text)
        return BOXES[: there(frame)]


@dataclass
class SteeredPeople:
    """RTMDet that finds one person in every frame."""

    model: Any

    def boxes(self, frames: np.ndarray) -> list[np.ndarray]:
        self.model.boxes(frames)
        height, width = frames.shape[1:3]
        return [np.array([[0.2 * width, 0.3 * height, 0.4 * width, 0.7 * height, 0.9]])] * len(frames)


@dataclass
class _Session:
    """A session of SAM 2; the released way opens one per chunk, whose frames it encodes."""

    model: Any
    frames: np.ndarray
    fresh: bool = False
    opened: Any = None

    def session(self) -> Any:
        if self.opened is None or self.fresh:
            self.opened = self.model.open(self.frames)
        return self.opened


@dataclass
class SteeredPoints:
    """CoTracker whose points stand still and are always seen.

    Attributes:
        most: Most points along a side, for a CPU; then all is in float32, as bfloat16 takes ten times as long there.
    """

    model: Any
    most: int | None

    def grid(self, frames: np.ndarray, side: int, frame: int, mask: np.ndarray, *, half: bool = False) -> PointTracks:
        few = self.most is not None
        tracks = self.model.grid(frames, min(side, self.most or side), frame, mask, half=half and not few)
        return still(len(frames), np.zeros(tracks.xy.shape[1:]), tracks.query_frames)

    def points(self, frames: np.ndarray, queries: np.ndarray) -> PointTracks:
        self.model.points(frames, queries[:: max(1, len(queries) // self.most**2)] if self.most else queries)
        return still(len(frames), queries[:, 1:], queries[:, 0].astype(np.int64))


def still(length: int, xy: np.ndarray, when: np.ndarray) -> PointTracks:
    return PointTracks(np.repeat(xy[None], length, axis=0), np.ones((length, len(xy)), bool), when)


@dataclass
class PlainPoints:
    """CoTracker's predictor as the released scripts call it."""

    model: Any

    def grid(self, frames: np.ndarray, side: int, frame: int, mask: np.ndarray, *, half: bool = False) -> PointTracks:
        loaded = self.model._model.get()
        net, loaded.predictor.model.fnet = loaded.predictor.model.fnet, loaded.shared.net
        video = torch.from_numpy(frames).permute(0, 3, 1, 2)[None].float().to(loaded.device)
        inside = torch.from_numpy(mask)[None, None].to(loaded.device)
        asked = {"grid_size": side, "grid_query_frame": frame, "segm_mask": inside, "backward_tracking": True}
        with torch.autocast(loaded.device.type, torch.bfloat16, enabled=half):
            xy, visible = loaded.predictor(video, **asked)
        loaded.predictor.model.fnet = net
        when = np.full(xy.shape[2], frame, np.int64)
        return PointTracks(xy[0].double().cpu().numpy(), visible[0].cpu().numpy(), when)


@dataclass
class PlainKeypoints:
    """RTMPose frame by frame."""

    model: Any

    def in_frames(self, frames: np.ndarray, boxes: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        return [self.model.in_frames(frames[t : t + 1], boxes[t : t + 1])[0] for t in range(len(frames))]


@dataclass
class PlainPeople:
    """RTMDet frame by frame."""

    model: Any

    def boxes(self, frames: np.ndarray) -> list[np.ndarray]:
        return [self.model.boxes(frames[t : t + 1])[0] for t in range(len(frames))]


@dataclass
class PlainQuality:
    """Q-Align that looks at each image of each window."""

    rater: Any

    def assess(self, scene: Scene) -> np.ndarray:
        frames = scene.clip.frames
        windows = windows_of(len(frames))
        scores: np.ndarray = self.rater.rate(frames[windows.ravel()], np.arange(windows.size).reshape(windows.shape))
        return scores


def steered(models: Models, *, small: bool) -> Models:
    """Our way."""
    flow: Any = models.released
    grounder, sam2 = SteeredGrounder(flow.grounder), Steered(flow.sam2)
    points = SteeredPoints(flow.points, SMALL_GRID if small else None)
    people, keypoints = SteeredPeople(flow.people), Steered(flow.keypoints)
    released = replace(
        flow, grounder=grounder, sam=Steered(flow.sam), sam2=sam2, points=points, people=people, keypoints=keypoints
    )
    segmenter = replace(models.segmenter, grounder=grounder, sam2=sam2)  # type: ignore[type-var]
    pose = type(models.pose)(people, keypoints)  # type: ignore[call-arg]
    tracker = replace(models.tracker, points=points)  # type: ignore[type-var]
    return replace(models, released=released, segmenter=segmenter, tracker=tracker, pose=pose)


def plain(models: Models, *, small: bool) -> Models:
    """The released way, on the same networks."""
    ours: Any = steered(models, small=small).released
    raw: Any = models.released
    points = SteeredPoints(PlainPoints(raw.points), SMALL_GRID if small else None)
    released = replace(
        ours, grounder=SteeredGrounder(raw.grounder, one_by_one=True), sam2=Steered(raw.sam2, fresh=True),
        points=points,
        people=PlainPeople(ours.people), keypoints=PlainKeypoints(ours.keypoints),
    )  # fmt: skip
    return replace(models, released=released, quality=PlainQuality(models.quality))


def all_views(scene: Scene) -> MetricResult:
    """CAS as released: every view, ten at a time, whether they are the same or not."""
    model: Any = scene.models.plausibility
    viewer, views = Viewer(scene.clip.frames, model.plan), model._views(scene.clip.frames)
    logits = np.concatenate([model._logits(viewer, views[start : start + 10]) for start in range(0, len(views), 10)])
    return commonsense_adherence_score(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))


def measures(protocol: Protocol) -> dict[str, Measure]:
    """The five metrics; MSS at a fixed amplitude, since PAS is timed by itself."""
    return {
        "pas": lambda scene: pas.measure(scene, protocol),
        "tcs": lambda scene: tcs.measure(scene, protocol),
        "ois": lambda scene: ois.measure(scene, protocol),
        "mss": lambda scene: mss.measure(scene, protocol, AmplitudeResult(0.0, amplitude=0.2)),
        "cas": cas.measure,
    }


@dataclass
class Cost:
    """Of one metric on one clip."""

    seconds: float
    memory: int


def timed(work: Callable[[], Any], device: str) -> tuple[Cost, Any]:
    """Wall time and peak memory of the device; on a CPU its own time, on one core, which others' load changes less."""
    clock = time.perf_counter if device == "cuda" else time.process_time
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = clock()
    answer = work()
    if device == "cuda":
        torch.cuda.synchronize()
    seconds = clock() - start
    return Cost(seconds, torch.cuda.max_memory_allocated() if device == "cuda" else 0), answer


def score(path: Path, models: Models, measures: Mapping[str, Measure], device: str, *, anew: bool) -> dict[str, Cost]:
    """Cost of every metric on a clip, and of decoding; ``anew``: each decodes and looks for itself."""
    costs: dict[str, Cost] = {}

    def read() -> Clip:
        return read_clip(path, subject=Subject("horse", "a horse", "option"))

    costs["decode"], clip = timed(read, device)
    scene = Scene(clip, models)
    for name, measure in measures.items():
        if anew:
            cost, clip = timed(read, device)
            costs["decode"].seconds += cost.seconds if name != next(iter(measures)) else 0
            scene = Scene(clip, models)
        costs[name], result = timed(lambda scene=scene, measure=measure: measure(scene), device)  # type: ignore[misc]
        assert result.score is not None, (name, result.missing)
    return costs


def best(runs: list[dict[str, Cost]]) -> dict[str, Cost]:
    """Least time and most memory per metric over the clips that follow the first, which warms up."""
    timed = runs[1:] or runs
    return {
        name: Cost(min(run[name].seconds for run in timed), max(run[name].memory for run in timed)) for name in timed[0]
    }


def show(title: str, ours: dict[str, Cost], theirs: dict[str, Cost] | None, *, full: bool) -> None:
    print(f"\n{title}")
    print(f"{'':8}{'s/clip':>9}{'released':>10}{'times':>7}{'peak GB':>9}")
    for name, cost in ours.items():
        other = theirs.get(name) if theirs else None
        line = f"{name:8}{cost.seconds:9.3f}"
        if other:
            times = f"{other.seconds / cost.seconds:7.1f}" if cost.seconds > SHARED else f"{'shared':>7}"
            line += f"{other.seconds:10.3f}{times}"
        print(line + (f"{cost.memory / 1e9:9.1f}" if cost.memory else ""))
    total = sum(cost.seconds for cost in ours.values())
    line = f"{'all':8}{total:9.3f}"
    if theirs:
        before = sum(cost.seconds for cost in theirs.values())
        line += f"{before:10.3f}{before / total:7.1f}"
    print(line)
    if full:
        print(f"1,050 such clips: {1050 * total / 60:.0f} min (VMBench's README: 6 h 45 min on unnamed hardware)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, help="default 3 on a GPU, where the first one warms up, 1 on a CPU")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--metrics", nargs="+", default=list(measures("vmbench")))
    options = parser.parse_args()
    clip_count = options.clips or (1 if options.device == "cpu" else 3)
    name = torch.cuda.get_device_name() if options.device == "cuda" else f"CPU {platform.machine()}"
    shape = SMALL if options.small else FULL
    if options.small:
        grounding.SHORT_SIDE, grounding.LONG_SIDE = SMALL_INPUT
    if options.device == "cpu":
        torch.set_num_threads(1)
        cv2.setNumThreads(1)
    print(f"{name}, torch {torch.__version__}, {'small' if options.small else 'full-size'} networks, clips {shape}")
    models = random_models(options.device, small=options.small)
    ways = {
        "released way": (plain(models, small=options.small), {**measures("vmbench"), "cas": all_views}, True),
        "protocol vmbench": (steered(models, small=options.small), measures("vmbench"), False),
        "protocol vmmetrics": (steered(models, small=options.small), measures("vmmetrics"), False),
    }
    costs: dict[str, dict[str, Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        clips = [Path(folder) / f"{number}.mp4" for number in range(clip_count)]
        for number, path in enumerate(clips):
            write_clip(path, shape, number)
        for title, (chosen, chosen_measures, anew) in ways.items():
            asked = {metric: measure for metric, measure in chosen_measures.items() if metric in options.metrics}
            costs[title] = best([score(path, chosen, asked, options.device, anew=anew) for path in clips])
    for title in ("protocol vmbench", "protocol vmmetrics"):
        show(title, costs[title], costs["released way"], full=not options.small)
    for note in models.notes:
        print("note:", note)


if __name__ == "__main__":
    main()
