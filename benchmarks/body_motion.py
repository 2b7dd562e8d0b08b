"""Whole bodies that move as none can: walkers and runners whose dynamics are broken by known amounts, for OIS.

    python -m benchmarks.body_motion truth [--noise 0.01] [--clips 24] [--first-seed 10000]
    python -m benchmarks.body_motion footage     # what real people lose, from pixels
    python -m benchmarks.body_motion pixels      # forearms and calves of real people made to tremble in the picture

``truth`` prints, for every defect and strength, the share of clips in which the right reason is reported and the mean
OIS; for untouched ones OIS without and with motion. Bodies are solid: stance feet rest on the ground, knees bend
forwards, a runner in the air falls. Lengths are torso lengths.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from benchmarks.motion_truth import windows as spread
from benchmarks.pose_defects import Defect, inject
from benchmarks.pose_sequences import noisy
from benchmarks.pose_truth import FOOTAGE, LENGTH, PEOPLE, WINDOWS, cut, drawn_defects, windows
from vmmetrics.functional import object_integrity_score
from vmmetrics.functional.body_motion import body_motion
from vmmetrics.functional.limbs import FULL_LENGTHS, PARTS
from vmmetrics.metrics import ois
from vmmetrics.perception.embedded.pose.pose import BlazePose, assemble
from vmmetrics.perception.embedded.pose.tracking import torso
from vmmetrics.perception.presets import PresetOptions, load_preset
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray, MetricResult
from vmmetrics.video import read_clip

TORSO, THIGH, CALF, UPPER_ARM, FOREARM = 1.0, 0.88, 0.85, 0.62, 0.52
ANKLE = 0.15
GRAVITY = 19.6
LIMBS = (7, 8, 9, 10, 13, 14, 15, 16)


@dataclass(frozen=True)
class Gait:
    """How a body walks or runs: lengths in torso lengths, times in seconds.

    Attributes:
        speed: Over the ground, per second.
        cycle: Both steps.
        stance: Share of the cycle that a foot rests on the ground; below half the body is in the air between.
        knees: Height of the hips over what straight legs would give.
        swing: Amplitude of arms, radians.
        bend: Least bend of the elbows, radians.
    """

    speed: float
    cycle: float
    stance: float
    knees: float = 0.93
    swing: float = 0.4
    bend: float = 0.3


GAITS = {
    "standing": Gait(0.0, 1.0, 1.0, 0.98, 0.05),
    "strolling": Gait(1.6, 1.2, 0.64),
    "walking": Gait(2.6, 1.05, 0.6, 0.86),
    "running": Gait(5.5, 0.7, 0.36, 0.9, 0.8, 1.4),
}


def figure(gait: Gait, num_frames: int, fps: float, phase: float = 0.0) -> FloatArray:
    """Return (T, 17, 3) torso lengths of a body on its way: x ahead, y down with the ground at 0, z to its right."""
    time = np.arange(num_frames) / fps
    body = np.zeros((num_frames, 17, 3))
    stride = gait.speed * gait.cycle
    hips = np.stack([gait.speed * time, _hip_height(gait, time + phase * gait.cycle), np.zeros(num_frames)], axis=1)
    for side, sign, offset in ((0, -1.0, 0.0), (1, 1.0, 0.5)):
        beat = time / gait.cycle + phase + offset
        count, within = np.floor(beat), beat % 1.0
        swing = np.clip((within - gait.stance) / max(1 - gait.stance, 1e-9), 0.0, 1.0)
        ease = swing * swing * (3 - 2 * swing)
        foot = np.zeros((num_frames, 3))
        # at mid-stance the foot is under the hips
        foot[:, 0] = stride * (count + ease + gait.stance / 2 - phase - offset)
        foot[:, 1] = -ANKLE - 0.25 * np.sin(np.pi * swing) * (gait.speed > 0)
        foot[:, 2] = 0.12 * sign
        hip = hips + np.array([0.0, 0.0, 0.2 * sign])
        body[:, 11 + side], body[:, 15 + side] = hip, foot
        body[:, 13 + side] = _bent(hip, foot, THIGH, CALF)
        shoulder = hips + np.array([0.05, -TORSO, 0.33 * sign])
        angle = -sign * gait.swing * np.sin(2 * np.pi * (time / gait.cycle + phase)) - 0.1
        fore = angle + gait.bend
        body[:, 5 + side] = shoulder
        body[:, 7 + side] = shoulder + UPPER_ARM * _down(angle)
        body[:, 9 + side] = body[:, 7 + side] + FOREARM * _down(fore)
        body[:, 1 + side] = hips + np.array([0.17, -1.47, 0.07 * sign])
        body[:, 3 + side] = hips + np.array([0.0, -1.42, 0.14 * sign])
    body[:, 0] = hips + np.array([0.24, -1.42, 0.0])
    return body


def _down(angle: FloatArray) -> FloatArray:
    """(T,) radians forwards from hanging to (T, 3) directions."""
    return np.stack([np.sin(angle), np.cos(angle), np.zeros(len(angle))], axis=1)


def _hip_height(gait: Gait, time: FloatArray) -> FloatArray:
    """(T,) height of the hips (negative: y is down); between two stances of a runner the body falls freely."""
    rest = -(ANKLE + gait.knees * (THIGH + CALF))
    half = gait.cycle / 2
    flight = max(0.0, (0.5 - gait.stance) * gait.cycle)
    since = (time - gait.stance * gait.cycle) % half
    rise = np.where(since < flight, 0.5 * GRAVITY * since * (flight - since), 0.0)
    contact = half - flight
    dip = np.where(
        since >= flight, GRAVITY * flight / 2 * np.sin(np.pi * (since - flight) / contact) * contact / np.pi, 0
    )
    return np.asarray(rest - rise + dip)


def _bent(hip: FloatArray, foot: FloatArray, thigh: float, calf: float) -> FloatArray:
    """(T, 3) knees that bend forwards between hips and ankles."""
    way = foot - hip
    reach = np.minimum(np.linalg.norm(way, axis=1), thigh + calf - 1e-6)
    along = (reach**2 + thigh**2 - calf**2) / (2 * reach)
    aside = np.sqrt(np.maximum(thigh**2 - along**2, 0.0))
    unit = way / np.linalg.norm(way, axis=1, keepdims=True)
    ahead = np.stack([unit[:, 1], -unit[:, 0], np.zeros(len(unit))], axis=1)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    return np.asarray(hip + along[:, None] * unit + aside[:, None] * ahead)


def view(body: FloatArray, degrees: float = 0.0, size: float = 100.0) -> FloatArray:
    """Project (T, 17, 3) torso lengths to (T, 17, 2) pixels: 0 degrees from the side, 90 from ahead."""
    turn = np.deg2rad(degrees)
    across = body[..., 0] * np.cos(turn) + body[..., 2] * np.sin(turn)
    return np.asarray(np.stack([across, body[..., 1]], axis=-1) * size + [100.0, 480.0])


def panned(pixels: FloatArray, pan: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Move a camera by ``pan`` (T, 2) pixels: (T, 17, 2) pixels as it sees them and its (T-1, 3, 3) homographies."""
    camera = np.tile(np.eye(3), (len(pan) - 1, 1, 1))
    camera[:, :2, 2] = -np.diff(pan, axis=0)
    return pixels - pan[:, None], camera


# ---- defects -------------------------------------------------------------------------------------------------------

Breaker = Callable[[FloatArray, float, float, np.random.Generator], FloatArray]


def trembling(body: FloatArray, strength: float, _: float, rng: np.random.Generator) -> FloatArray:
    """Shake elbows, wrists, knees and ankles by ``strength`` torso lengths (root mean square), anew in each frame."""
    out = body.copy()
    out[:, list(LIMBS)] += rng.normal(0, strength / np.sqrt(2), (len(body), len(LIMBS), 3))
    return out


def sliding(body: FloatArray, strength: float, _fps: float, _: np.random.Generator) -> FloatArray:
    """Carry the body ahead by ``strength`` of its step more than it steps."""
    travelled = np.nanmean(body[:, [11, 12], 0], axis=1)
    return np.asarray(
        body + np.stack([strength * (travelled - travelled[0]), 0 * travelled, 0 * travelled], 1)[:, None]
    )


def gliding(body: FloatArray, strength: float, fps: float, _: np.random.Generator) -> FloatArray:
    """Carry the body aside by ``strength`` torso lengths per second."""
    out = body.copy()
    out[..., 0] += (strength * np.arange(len(body)) / fps)[:, None]
    return out


def hovering(body: FloatArray, strength: float, fps: float, _: np.random.Generator) -> FloatArray:
    """Lift the body by ``strength`` torso lengths over 0.8 s, hold it, and let it down as slowly."""
    ramp = np.clip(np.minimum(np.arange(len(body)), np.arange(len(body))[::-1]) / fps / 0.8, 0, 1)
    out = body.copy()
    out[..., 1] -= (strength * ramp * ramp * (3 - 2 * ramp))[:, None]
    return out


def jolting(body: FloatArray, strength: float, _: float, rng: np.random.Generator) -> FloatArray:
    """Set the body aside by ``strength`` torso lengths from one frame to the next, three times."""
    out = body.copy()
    for frame in rng.choice(np.arange(4, len(body) - 4), 3, replace=False).tolist():
        turn = rng.uniform(0, 2 * np.pi)
        out[frame:, :, :2] += strength * np.array([np.cos(turn), np.sin(turn)])
    return out


def reversing(body: FloatArray, strength: float, _fps: float, _: np.random.Generator) -> FloatArray:
    """Bend the left knee forwards by at least ``strength`` degrees, the foot going where that takes it."""
    out = body.copy()
    thigh = body[:, 13] - body[:, 11]
    angle = np.arctan2(thigh[:, 0], thigh[:, 1]) + np.deg2rad(strength)
    out[:, 15] = body[:, 13] + CALF * _down(angle)
    return out


DEFECTS: dict[str, tuple[Breaker, str, tuple[float, ...], tuple[str, ...]]] = {
    "trembling": (trembling, "jitters", (0.02, 0.04, 0.06, 0.1), ("standing", "walking", "running")),
    "sliding, of the step": (sliding, "slides or floats", (0.2, 0.3, 0.5, 1.0), ("walking", "running")),
    "gliding, per second": (gliding, "slides or floats", (0.5, 0.8, 1.2, 2.0), ("standing",)),
    "hovering": (hovering, "slides or floats", (0.3, 0.6, 1.0, 2.0), ("standing", "strolling", "walking")),
    "jolting": (jolting, "jolted", (0.2, 0.3, 0.5, 1.0), ("standing", "walking", "running")),
    "knee reversed": (reversing, "bends backwards", (15.0, 30.0, 45.0, 60.0), ("standing", "walking")),
}


def judge(
    pixels: FloatArray, fps: float, camera: FloatArray | None = None, motion: bool = True
) -> tuple[MetricResult, set[str]]:
    """Score (T, 17, 2) keypoints, with motion or by shape alone: the result, and the motion reasons reported."""
    keypoints, scores = pixels[:, None], np.full((len(pixels), 1, 17), 0.9)
    evidence = body_motion(keypoints, scores, fps, camera) if motion else {}
    result = object_integrity_score(keypoints, scores, evidence=evidence)
    return result, {reason for reason, deviations in evidence.items() if (deviations > 1).any()}


def truth(noise: float, seeds: range) -> None:
    """Print what is reported of every defect and strength, and what untouched bodies lose."""
    print(f"{'defect':22}{'gait':>10}" + "".join(f"{'strength  caught   OIS':>26}" for _ in range(4)))
    for name, (breaker, reason, strengths, gaits) in DEFECTS.items():
        for gait in gaits:
            cells = ""
            for strength in strengths:
                found = [broken(gait, breaker, strength, noise, seed) for seed in seeds]
                caught = np.mean([reason in reasons for _, reasons in found])
                score = np.mean([result.score for result, _ in found])
                cells += f"{strength:>14g}{caught:7.2f}{score:6.2f}"
            print(f"{name:22}{gait:>10}{cells}", flush=True)
    for gait in GAITS:
        found = [broken(gait, None, 0.0, noise, seed) for seed in seeds]
        before = [result.score for result, _ in (broken(gait, None, 0.0, noise, seed, False) for seed in seeds)]
        falsely = sorted({reason for _, reasons in found for reason in reasons})
        scores = np.mean([result.score for result, _ in found]), np.mean(before)
        print(f"untouched, {gait}: OIS {scores[1]:.3f} by shape, {scores[0]:.3f} with motion; reported {falsely}")


def broken(
    gait: str, breaker: Breaker | None, strength: float, noise: float, seed: int, motion: bool = True
) -> tuple[MetricResult, set[str]]:
    """Score a body of that gait, drawn view, rate, phase and panning camera, broken by ``breaker`` or not at all."""
    rng = np.random.default_rng(seed)
    fps = float(rng.choice([16, 24, 30]))
    sideways = breaker in (reversing, sliding, gliding)
    degrees = rng.uniform(0, 30 if sideways else 90) + rng.choice([0, 180] if sideways else [0, 90, 180, 270])
    body = figure(GAITS[gait], int(2 * fps) + 1, fps, rng.uniform())
    if breaker is not None:
        body = breaker(body, strength, fps, rng)
    pixels = noisy(view(body, degrees), rng, noise * 100.0)
    seconds = np.arange(len(body)) / fps
    pixels, camera = panned(pixels, np.stack([rng.uniform(-80, 80) * seconds, 20 * np.sin(seconds)], axis=1))
    return judge(pixels, fps, camera, motion)


def footage() -> None:
    """Print OIS of real people by shape alone and with motion, and what is reported."""
    models, rows = load_preset("embedded", PresetOptions(threads=2)).models, []
    for folder in (FOOTAGE, FOOTAGE.with_name("real-clips-2")):
        for path in sorted(p for p in folder.iterdir() if p.suffix in {".mp4", ".mkv"}):
            for clip in spread(read_clip(path), 49, 2):
                scene = Scene(clip, models)
                score = ois.measure(scene, "vmmetrics").score
                if score is None:
                    continue
                large = ois.large_enough(scene.poses.keypoints)
                keypoints, scores = scene.poses.keypoints[:, large], scene.poses.scores[:, large]
                shape = {reason: maps[:, large] for reason, maps in ois.limb_evidence(scene.poses).items()}
                before = object_integrity_score(keypoints, scores, evidence=shape).score
                motion = body_motion(keypoints, scores, clip.fps, ois.camera_motion(scene))
                shares = "  ".join(f"{reason} {(maps > 1).mean():.3f}" for reason, maps in motion.items())
                rows.append((before, score))
                print(f"{clip.name:34}{before:7.3f}{score:7.3f}  {shares}", flush=True)
    print(f"mean of {len(rows)}: {np.mean(rows, axis=0).round(4)}")


def pixels() -> None:
    """Print the share of limbs made to tremble in real footage that are reported, by amplitude at wrist or ankle."""
    networks, rng = BlazePose(2), np.random.default_rng(5)
    models = load_preset("embedded", PresetOptions(threads=2)).models
    counts = {amplitude: np.zeros(2) for amplitude in (0.0, 0.03, 0.06, 0.12)}
    for name, first, clip in windows(PEOPLE, LENGTH):
        if first != WINDOWS[name][0]:
            continue
        track = next((t for t in networks.people(Scene(clip, models)) if len(t.poses) == LENGTH), None)
        if track is None:
            continue
        landmarks = [track.poses[t] for t in range(LENGTH)]
        bones = assemble([track], LENGTH, (clip.width, clip.height)).keypoints[:, 0]
        bones = median_filter(bones, size=(5, 1, 1), mode="nearest")
        size = float(np.median([torso(pose) for pose in landmarks]))
        for part in dict.fromkeys(defect.part for defect in drawn_defects(track, clip, rng)):
            length = FULL_LENGTHS[list(PARTS).index(part)]
            for amplitude, count in counts.items():
                turns = rng.normal(0, np.degrees(amplitude / length), LENGTH)
                frames = np.concatenate(
                    [
                        inject(clip.frames[[t]], [landmarks[t]], bones[[t]], size, Defect("snap", turn, part, 0, 0))
                        for t, turn in enumerate(turns)
                    ]
                )
                poses = Scene(cut(clip, 0, LENGTH, frames), models).poses
                maps = body_motion(poses.keypoints, poses.scores, clip.fps)["jitters"]
                count += (maps[:, 0, list(PARTS).index(part)] > 1).any(), 1
        print(name, first, {a: f"{c[0]:.0f} of {c[1]:.0f}" for a, c in counts.items()}, flush=True)


def main() -> None:
    """Print the table asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["truth", "footage", "pixels"])
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--clips", type=int, default=24)
    parser.add_argument("--first-seed", type=int, default=10000)
    options = parser.parse_args()
    if options.task == "truth":
        truth(options.noise, range(options.first_seed, options.first_seed + options.clips))
    elif not FOOTAGE.is_dir():
        print(f"skipped: no footage at {FOOTAGE}")
    else:
        {"footage": footage, "pixels": pixels}[options.task]()


if __name__ == "__main__":
    main()
