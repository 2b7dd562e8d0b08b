"""How far BlazePose can be trusted, and what OIS finds of limbs broken in the pixels of real people.

    python -m benchmarks.pose_truth calibration   # score against error, noise and its correlation in time
    python -m benchmarks.pose_truth people        # who is found in every real clip; hands and animals must give nobody
    python -m benchmarks.pose_truth clean         # OIS of untouched real people
    python -m benchmarks.pose_truth defects       # F1 by defect and strength, from pixels

There are no labelled keypoints here. ``calibration`` measures self-consistency: the same person seen through jittered,
blurred, noisy and mirrored crops; an error that all of them share is not seen. Real footage is read from
``../shared/real-clips`` beside the repository.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from scipy.optimize import minimize

import vmmetrics
from benchmarks.pose_defects import LIMBS, Defect, inject
from vmmetrics.clip import Clip
from vmmetrics.functional.limbs import PARTS
from vmmetrics.metrics import ois
from vmmetrics.perception.embedded.pose import tracking
from vmmetrics.perception.embedded.pose.blazepose import BlazePoseNetworks, Landmarks, Pyramid, Region
from vmmetrics.perception.embedded.pose.pose import COCO, BlazePose, assemble, keypoint_scores
from vmmetrics.perception.embedded.pose.tracking import PersonTrack, torso
from vmmetrics.perception.presets import PresetOptions, load_preset
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.types import BoolArray, FloatArray
from vmmetrics.utils.weights.manifest import weight_path

FOOTAGE = Path(__file__).resolve().parent.parent.parent / "shared" / "real-clips"
LENGTH = 36
PEOPLE = ("sam2_05_juggle.mp4", "sam2_bedroom.mp4", "sam2_01_dog.mp4", "decord_pancake.mkv")
SMALL_PEOPLE = ("mmaction2_structuralize.mp4",)
NOBODY = ("sam2_03_blocks.mp4", "mmaction2_test.mp4", "mmpose_dog.mp4", "sam2_04_coffee.mp4", "sam2_02_cups.mp4")
WINDOWS = {"sam2_05_juggle.mp4": (20, 60, 100, 140), "sam2_bedroom.mp4": (0, 55, 110, 150),
           "sam2_01_dog.mp4": (60, 105, 150, 195), "decord_pancake.mkv": (65, 110, 150, 195)}  # fmt: skip
TUNED_ON = {("sam2_05_juggle.mp4", 20), ("sam2_05_juggle.mp4", 100), ("sam2_bedroom.mp4", 0), ("sam2_bedroom.mp4", 55),
            ("sam2_bedroom.mp4", 150), ("sam2_01_dog.mp4", 60), ("sam2_01_dog.mp4", 150),
            ("decord_pancake.mkv", 65)}  # fmt: skip
"""Windows on which the silhouette thresholds were chosen; ``defects`` reports the others apart."""
KINDS = (("stretch", 1.5), ("stretch", 2.0), ("snap", 60.0), ("snap", 100.0), ("remove", 0.0))
TOLERANCE = 2
CLOSE = 0.1
MIRROR = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]


def cut(clip: Clip, first: int, count: int, frames: NDArray[np.uint8] | None = None) -> Clip:
    chosen = clip.frames[first : first + count] if frames is None else frames
    return replace(clip, frames=chosen, timestamps=np.arange(len(chosen)) / clip.fps, size=(0, 0))


def windows(names: tuple[str, ...], count: int) -> Iterator[tuple[str, int, Clip]]:
    for name in names:
        clip = vmmetrics.read_clip(FOOTAGE / name)
        for first in WINDOWS.get(name, range(0, max(1, len(clip) - count + 1), 2 * count)):
            yield name, first, cut(clip, first, count)


def scene_of(clip: Clip, models: Models) -> Scene:
    return Scene(clip, models)


# ---- calibration -----------------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """Errors in torso lengths of one view against the consensus of all, with what the networks said.

    ``used`` marks the view that the estimator itself took; ``track`` and ``frame`` say whose and when.
    """

    track: int
    frame: int
    used: bool
    offset: FloatArray
    pose: Landmarks
    torso: float

    @property
    def error(self) -> FloatArray:
        """(17,) torso lengths."""
        length: FloatArray = np.linalg.norm(self.offset, axis=1)
        return length


def views(
    networks: BlazePoseNetworks, frame: NDArray[np.uint8], base: Region, rng: np.random.Generator
) -> list[tuple[FloatArray, Landmarks | None]]:
    """(keypoints, landmarks) of eight jittered crops, half of them blurred and noisy, and two mirrored ones."""
    noisy = np.clip(frame + rng.normal(0, 6, frame.shape), 0, 255).astype(np.uint8)
    sources = [Pyramid(frame), Pyramid(cv2.GaussianBlur(noisy, (0, 0), 1.0))]
    poses: list[tuple[FloatArray, Landmarks | None]] = []
    for index in range(8):
        pose = networks.landmarks(sources[index % 2], jittered(base, rng))
        poses.append((pose.xy[list(COCO)], pose))
    width = frame.shape[1]
    flipped = Pyramid(np.ascontiguousarray(frame[:, ::-1]))
    for _ in range(2):
        region = jittered(base, rng)
        pose = networks.landmarks(flipped, Region(width - 1 - region.x, region.y, region.side, -region.rotation))
        xy = pose.xy[list(COCO)][MIRROR]
        xy[:, 0] = width - 1 - xy[:, 0]
        poses.append((xy, None))
    return poses


def jittered(region: Region, rng: np.random.Generator) -> Region:
    dx, dy = rng.uniform(-0.06, 0.06, 2) * region.side
    side = region.side * float(np.exp(rng.uniform(-0.15, 0.15)))
    return Region(region.x + dx, region.y + dy, side, region.rotation + float(rng.uniform(-0.2, 0.2)))


def sample_errors(step: int, windows_per_clip: int) -> list[Sample]:
    networks = BlazePoseNetworks(weight_path("blazepose-detector"), weight_path("blazepose-landmarks-full"), 2)
    pose_model, rng, samples = BlazePose(2), np.random.default_rng(0), []
    models, taken, number = load_preset("embedded", PresetOptions(threads=2)).models, Counter[str](), 0
    for name, _, clip in windows(PEOPLE + SMALL_PEOPLE, LENGTH):
        taken[name] += 1
        if taken[name] > windows_per_clip:
            continue
        for track in pose_model.people(scene_of(clip, models)):
            number += 1
            size = float(np.median([torso(p) for p in track.poses.values()]))
            for frame in sorted(track.poses)[::step]:
                pose = track.poses[frame]
                poses = [(pose.xy[list(COCO)], pose), *views(networks, clip.frames[frame], pose.region, rng)]
                consensus = np.median([xy for xy, _ in poses], axis=0)
                for xy, seen in poses:
                    if seen is not None:
                        samples.append(Sample(number, frame, seen is pose, (xy - consensus) / size, seen, size))
    return samples


def calibration() -> None:
    samples = sample_errors(step=6, windows_per_clip=4)
    close = np.concatenate([s.error < CLOSE for s in samples])
    peak = np.clip(np.concatenate([s.pose.peak[list(COCO)] for s in samples]), 1e-3, 1 - 1e-3)
    logit = np.log(peak / (1 - peak))
    fit = minimize(lambda w: np.mean(np.logaddexp(0, w[0] + w[1] * logit) - close * (w[0] + w[1] * logit)), [0.0, 1.0])
    print(f"{len(close)} keypoints; P(error < {CLOSE} torso) = sigmoid({fit.x[0]:.2f} + {fit.x[1]:.2f} logit(peak))")
    predicted = np.concatenate([keypoint_scores(s.pose) for s in samples])
    visible = np.concatenate([s.pose.visibility[list(COCO)] for s in samples]) > 0.9
    print("score as handed out (visible keypoints): bin, count, mean score, measured share")
    for low in np.arange(0, 1, 0.1):
        chosen = visible & (predicted >= low) & (predicted < low + 0.1 + 1e-9)
        if chosen.any():
            print(f"  {low:.1f}  {chosen.sum():6d}  {predicted[chosen].mean():.2f}  {close[chosen].mean():.2f}")
    sizes = np.repeat([s.torso for s in samples], len(COCO))
    print("by torso length in pixels: count, share within 0.1 torso")
    for low, high in ((0, 45), (45, 90), (90, 130), (130, 400)):
        chosen = (sizes >= low) & (sizes < high)
        if chosen.any():
            print(f"  {low}-{high}: {chosen.sum()}, {close[chosen].mean():.3f}")
    noise(sample_errors(step=1, windows_per_clip=1))


def noise(samples: list[Sample]) -> None:
    """Errors of the view that is used, and how much of one frame's error is still there frames later."""
    names = ("face", "shoulders", "elbows", "wrists", "hips", "knees", "ankles")
    groups = ((0, 1, 2, 3, 4), (5, 6), (7, 8), (9, 10), (11, 12), (13, 14), (15, 16))
    tracks: dict[int, dict[int, FloatArray]] = defaultdict(dict)
    for sample in samples:
        if sample.used:
            sure = keypoint_scores(sample.pose) > 0.5
            tracks[sample.track][sample.frame] = np.where(sure[:, None], sample.offset, np.nan)
    errors = [np.stack([track[frame] for frame in sorted(track)]) for track in tracks.values()]
    print("noise per axis in torso lengths (score > 0.5): standard deviation, robust (1.48 MAD)")
    for name, group in zip(names, groups, strict=True):
        values = np.concatenate([e[:, group].ravel() for e in errors])
        values = values[np.isfinite(values)]
        print(f"  {name}: {values.std():.3f}, {1.48 * np.median(np.abs(values)):.3f}")
    for lag in (1, 2, 5):
        pairs = [(e[lag:] * e[:-lag]).ravel() for e in errors]
        shared = np.nanmean(np.concatenate(pairs)) / np.nanmean(np.concatenate([e.ravel() for e in errors]) ** 2)
        print(f"  correlation {lag} frames apart: {shared:.2f}")


# ---- people ----------------------------------------------------------------------------------------------------------


def people() -> None:
    pose_model = BlazePose(2)
    models = load_preset("embedded", PresetOptions(threads=2)).models
    for name, first, clip in windows(PEOPLE + SMALL_PEOPLE + NOBODY, 49):
        tracks = pose_model.people(scene_of(clip, models))
        with patch.multiple(tracking, PERSON_QUALITY=0.0, PERSON_FRAMES=5, PERSON_SECONDS=0.0):
            best = max((t.quality for t in pose_model.people(scene_of(clip, models))), default=0.0)
        summary = ", ".join(f"{len(t.poses)} frames at {t.quality:.2f}" for t in tracks) or "nobody"
        print(f"{name} {first}: {summary} (best quality of anything {best:.2f})", flush=True)


# ---- integrity -------------------------------------------------------------------------------------------------------


def clean() -> None:
    models, scores = load_preset("embedded", PresetOptions(threads=2)).models, []
    for name, first, clip in windows(PEOPLE + SMALL_PEOPLE, LENGTH):
        result = ois.measure(scene_of(clip, models), "vmmetrics")
        print(
            f"{name} {first}: {result.score if result.score is None else round(result.score, 3)} {result.missing or ''}"
        )
        scores += [] if result.score is None else [result.score]
    print(f"mean {np.mean(scores):.3f}, least {min(scores):.3f} over {len(scores)} windows")


def marked(result: vmmetrics.MetricResult, num_frames: int) -> BoolArray:
    """(T, 12) parts that cost points, of the first person."""
    flags = np.zeros((num_frames, len(PARTS)), dtype=bool)
    for event in result.events:
        person, _, part = (event.target or "").rpartition(": ")
        if person in ("", "person 1"):
            flags[list(event.frames), list(PARTS).index(part)] = True
    return flags


def matches(flags: BoolArray, truth: BoolArray) -> FloatArray:
    """Flags near truth, flags, truth near flags, truth: counts over frames and parts, ± 2 frames, part for part."""
    wide = 2 * TOLERANCE + 1
    near_truth = maximum_filter1d(truth.astype(np.uint8), wide, axis=0, mode="constant") > 0
    near_flags = maximum_filter1d(flags.astype(np.uint8), wide, axis=0, mode="constant") > 0
    return np.array([(flags & near_truth).sum(), flags.sum(), (truth & near_flags).sum(), truth.sum()], dtype=float)


def drawn_defects(track: PersonTrack, clip: Clip, rng: np.random.Generator) -> list[Defect]:
    """Two limbs that are well in view for a drawn span, each with every kind of defect."""
    poses = assemble([track], len(clip), (clip.width, clip.height))
    size = float(np.median([torso(p) for p in track.poses.values()]))
    eligible = []
    for part in LIMBS:
        start, end = PARTS[part]
        first = int(rng.integers(8, 14))
        last = first + int(rng.integers(8, 14))
        span = slice(first, last + 1)
        seen = np.median(np.minimum(poses.scores[span, 0, start], poses.scores[span, 0, end]))
        length = np.linalg.norm(poses.keypoints[span, 0, start] - poses.keypoints[span, 0, end], axis=1)
        if seen > 0.6 and np.median(length) > 0.25 * size:
            eligible.append((part, first, last))
    chosen = [eligible[i] for i in rng.permutation(len(eligible))[:2]]
    turns = {"snap": (1, -1)}
    return [
        Defect(kind, strength * int(rng.choice(turns.get(kind, (1,)))), part, first, last)
        for part, first, last in chosen
        for kind, strength in KINDS
    ]


def defects() -> None:
    models, rng = load_preset("embedded", PresetOptions(threads=2)).models, np.random.default_rng(5)
    pose_model = BlazePose(2)
    tables: dict[bool, dict[tuple[str, float], FloatArray]] = {}
    for name, first, clip in sorted(windows(PEOPLE, LENGTH), key=lambda w: w[:2] in TUNED_ON):
        tuned = (name, first) in TUNED_ON
        table = tables.setdefault(tuned, defaultdict(lambda: np.zeros(4)))
        track = next((t for t in pose_model.people(scene_of(clip, models)) if len(t.poses) == LENGTH), None)
        if track is None:
            continue
        landmarks = [track.poses[t] for t in range(LENGTH)]
        keypoints = assemble([track], LENGTH, (clip.width, clip.height)).keypoints[:, 0]
        size = float(np.median([torso(p) for p in landmarks]))
        for defect in drawn_defects(track, clip, rng):
            frames = inject(clip.frames, landmarks, keypoints, size, defect)
            result = ois.measure(scene_of(cut(clip, 0, LENGTH, frames), models), "vmmetrics")
            truth = np.zeros((LENGTH, len(PARTS)), dtype=bool)
            truth[defect.first : defect.last + 1, list(PARTS).index(defect.part)] = True
            table[defect.kind, abs(defect.strength)] += matches(marked(result, LENGTH), truth)
        print(f"{name} {first} ({'thresholds chosen here' if tuned else 'unseen'}); of its kind so far:")
        for (kind, strength), counts in [*table.items(), (("all", 0.0), np.sum(list(table.values()), axis=0))]:
            precision, recall = counts[0] / max(counts[1], 1), counts[2] / max(counts[3], 1)
            f1 = 2 * precision * recall / max(precision + recall, 1e-9)
            print(f"  {kind} {strength:g}: precision {precision:.2f}, recall {recall:.2f}, F1 {f1:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = {"calibration": calibration, "people": people, "clean": clean, "defects": defects}
    parser.add_argument("task", choices=tasks)
    chosen = parser.parse_args().task
    if not FOOTAGE.is_dir():
        print(f"skipped: no footage at {FOOTAGE}")
        return
    tasks[chosen]()


if __name__ == "__main__":
    main()
