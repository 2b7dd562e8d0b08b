"""The suite on rendered clips with known truth.

    python -m benchmarks.synthetic [--suites pas tcs mss negatives matrix] [--clips N] [--first-seed 10000]
                                   [--textures DIR]

Which metric owns a defect is laid down here, before anything is measured:

    an object vanishes or appears without cause (at once, fading, dissolving)      TCS
    a frame or a few are blurred, noisy, blocky, doubly exposed or melted           MSS
    single frames are shown twice (stutter)                                         MSS
    the clip stands still and then jumps (freeze-and-jump)                          MSS
    limbs stretch, snap or swap (benchmarks/pose_truth.py)                          OIS

PAS measures an amount and owns no defect: it is held against the camera-free truth. Seeds below 10000 were there to
develop on; figures to report come from seeds of 10000 and more, which draw on other pictures too.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

import vmmetrics
from benchmarks.evaluate import (
    Counts,
    amplitude_error,
    burst_counts,
    coherence_counts,
    excused_alarms,
    in_deviations,
    smoothness_counts,
)
from benchmarks.scenes import SUITES, GlitchSpec, PresenceSpec, SceneSpec, SyntheticClip, TimingSpec, render
from benchmarks.scenes import suite as suite_of
from benchmarks.scenes.textures import HELD_OUT_SEED, TextureBank
from vmmetrics.alignment.perturbations.frames import GLITCHES
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.suite import Suite

Bank = TextureBank | None

AMPLITUDE_OF_INTEREST = 0.02  # diagonals per second; below it a relative error says little
MATRIX_METRICS = ("mss", "ois", "pas", "tcs")
DEVIATION_FLOOR = 0.01  # least standard deviation of clean scores assumed, in points of score


def score(suite: Suite, clip: SyntheticClip) -> ClipScores:
    """Score a rendered clip; a metric that fails ends the run, since there is nothing wrong with these files."""
    scores = suite.score_clip(clip.frames, fps=clip.fps, layout="THWC", name=f"{clip.name}#{clip.seed}")
    if scores.errors:
        raise RuntimeError(f"{scores.name}: {scores.errors}")
    return scores


def measure_pas(seeds: range, bank: Bank) -> None:
    """Print the error of the amplitude by kind of motion and of camera."""
    suite = Suite(metrics=("pas",))
    errors: dict[str, list[float]] = defaultdict(list)
    worst = []
    missing = 0
    for clip in suite_of("pas", seeds, bank):
        if clip.amplitude < AMPLITUDE_OF_INTEREST:
            continue
        amplitude = score(suite, clip).amplitude
        if amplitude is None:
            missing += 1
            continue
        error = amplitude_error(clip, amplitude)
        for group in ("all", *clip.name.split("/")):
            errors[group].append(error)
        worst.append((abs(error), f"{clip.name}#{clip.seed}: {amplitude:.4f} for {clip.amplitude:.4f}"))
    print(
        f"\nPAS: relative error of .amplitude, clips of {AMPLITUDE_OF_INTEREST} diagonals/s and more; {missing} missing"
    )
    print(f"  {'':14}{'clips':>6}{'median |e|':>12}{'90 %':>8}{'median e':>10}")
    for group, values in errors.items():
        size = np.abs(values)
        line = f"{len(values):6d}{np.median(size):12.3f}{np.quantile(size, 0.9):8.3f}{np.median(values):+10.3f}"
        print(f"  {group:14}{line}")
    print_worst(worst)


def measure_negatives(seeds: range, bank: Bank) -> None:
    """Print what the metrics say of clips with nothing in them but camera, light and noise."""
    suite = Suite(metrics=("pas", "mss", "tcs"))
    scores: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    worst = []
    for clip in suite_of("negatives", seeds, bank):
        result = score(suite, clip)
        row = tuple(result.scores.get(key, float("nan")) for key in ("pas", "mss", "tcs"))
        scores[clip.name].append((row[0], row[1], row[2]))
        worst.append((row[0], f"{clip.name}#{clip.seed}: PAS {row[0]:.4f}, MSS {row[1]:.3f}, TCS {row[2]:.3f}"))
    print("\nNegatives: PAS wanted < 0.02, MSS 1, TCS missing or 1 (nothing moves, nothing is wrong)")
    print(f"  {'':18}{'clips':>6}{'PAS median':>12}{'PAS max':>10}{'MSS min':>10}{'TCS scored':>12}{'TCS min':>10}")
    every = [row for rows in scores.values() for row in rows]
    for kind, rows in [("all", every), *scores.items()]:
        pas, mss, tcs = np.array(rows).T
        scored = tcs[np.isfinite(tcs)]
        least = f"{scored.min():.3f}" if len(scored) else "-"
        print(
            f"  {kind:18}{len(rows):6d}{np.median(pas):12.4f}{pas.max():10.4f}{mss.min():10.3f}"
            f"{len(scored):12d}{least:>10}"
        )
    print_worst(worst)


def measure_tcs(seeds: range, bank: Bank) -> None:
    """Print how unexplained changes are found and explained ones left alone."""
    suite = Suite(metrics=("tcs",))
    counts: dict[str, Counts] = defaultdict(Counts)
    number: dict[str, int] = defaultdict(int)
    excused: dict[str, int] = defaultdict(int)
    worst = []
    for clip in suite_of("tcs", seeds, bank):
        result = score(suite, clip).results["tcs"]
        matched = coherence_counts(clip, result.events)
        alarmed = excused_alarms(clip, result.events)
        for group in ("all", *clip.name.split("/")):
            counts[group] += matched
            number[group] += 1
            excused[group] += alarmed
        seen = [(e.frames, e.reason) for e in result.events if e.excuse is None] or result.missing
        truth = [(e.kind, e.frames, e.cause) for e in clip.events]
        worst.append((matched.misses + matched.false, f"{clip.name}#{clip.seed}: said {seen}, true {truth}"))
    print("\nTCS: unexplained comings and goings (object, ±2 frames); 'excused' counts explained ones held against it")
    print_counts(counts, number, {"excused": excused})
    print_worst(worst, 16)


def measure_mss(seeds: range, bank: Bank) -> None:
    """Print how spoilt frames are found, and what is flagged in clips that merely move."""
    suite = Suite(metrics=("mss",))
    counts: dict[str, Counts] = defaultdict(Counts)
    bursts: dict[str, Counts] = defaultdict(Counts)
    number: dict[str, int] = defaultdict(int)
    worst = []
    for clip in suite_of("mss", seeds, bank):
        result = score(suite, clip).results["mss"]
        matched, burst = smoothness_counts(clip, result.events), burst_counts(clip, result.events)
        what = clip.name.split("/")[0]
        kind, _, detail = what.partition("-")
        family = {"stutter": "timing", "freeze": "timing", "clean": "clean"}.get(kind, "glitches")
        for group in {"all glitches and clean" if family != "timing" else "timing", family, kind, detail, what} - {""}:
            counts[group] += matched
            bursts[group] += burst
            number[group] += 1
        flagged, truth = [e.frames for e in result.events], (clip.glitch_frames, clip.repeated_frames)
        worst.append((matched.misses + matched.false, f"{clip.name}#{clip.seed}: said {flagged}, true {truth}"))
    run_f1 = {group: round(count.f1, 3) for group, count in bursts.items()}
    print("\nMSS: spoilt frames (±1 frame); 'runs F1' counts each run of spoilt frames once")
    print_counts(counts, number, {"runs F1": run_f1})
    print_worst(worst, 16)


def defects(scene: SceneSpec) -> dict[str, SceneSpec]:
    """Return the scene with one defect each, by name."""
    middle = scene.num_frames // 2
    frames = (middle, middle + 1)
    first = scene.objects[0]

    def changed(kind: str) -> SceneSpec:
        presence = (PresenceSpec("vanish" if kind == "vanish" else "appear", middle),)
        return replace(scene, objects=(replace(first, presence=presence), *scene.objects[1:]))

    spoilt = {kind: replace(scene, glitches=(GlitchSpec(kind, "medium", frames),)) for kind in GLITCHES}
    stutter = tuple(range(4, scene.num_frames - 2, 6))
    return {
        "vanish": changed("vanish"),
        "appear": changed("appear"),
        **spoilt,
        "stutter": replace(scene, timing=TimingSpec("stutter", stutter)),
        "freeze": replace(scene, timing=TimingSpec("freeze", tuple(range(middle, middle + 6)))),
    }


OWNERS = {"vanish": "tcs", "appear": "tcs"}  # every other defect below is of MSS


def measure_matrix(seeds: range, bank: Bank) -> None:
    """Print by how many standard deviations of clean scores each defect moves each metric."""
    suite = Suite(metrics=MATRIX_METRICS)
    clean: list[dict[str, float]] = []
    spoilt: dict[str, list[dict[str, float]]] = defaultdict(list)
    for seed in seeds:
        scene = replace(SUITES["tcs"](13 * seed + 12), name="matrix")  # every 13th is of the kind that only moves
        clean.append(score(suite, render(scene, seed, bank)).scores)
        for name, spec in defects(scene).items():
            spoilt[name].append(score(suite, render(spec, seed, bank)).scores)
    print(f"\nSpecificity: fall of each metric in standard deviations of its clean scores (at least {DEVIATION_FLOOR})")
    print(f"  {'':12}" + "".join(f"{key:>9}" for key in MATRIX_METRICS) + "   owner")
    for name, rows in spoilt.items():
        owner = OWNERS.get(name, "mss")
        print(f"  {name:12}" + "".join(_matrix_cell(clean, rows, key) for key in MATRIX_METRICS) + f"   {owner}")
    deviations = [np.std([row[key] for row in clean if key in row] or [0.0]) for key in MATRIX_METRICS]
    print(f"  {'clean SD':12}" + "".join(f"{deviation:9.3f}" for deviation in deviations))


def _matrix_cell(clean: list[dict[str, float]], spoilt: list[dict[str, float]], key: str) -> str:
    pairs = [(a[key], b[key]) for a, b in zip(clean, spoilt, strict=True) if key in a and key in b]
    if not pairs:
        return f"{'-':>9}"
    before, after = zip(*pairs, strict=True)
    return f"{in_deviations(before, after, DEVIATION_FLOOR):9.2f}"


def print_counts(counts: dict[str, Counts], number: dict[str, int], more: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table of precision, recall and F1."""
    print(
        f"  {'':24}{'clips':>6}{'defects':>9}{'false':>7}{'P':>8}{'R':>8}{'F1':>8}" + "".join(f"{k:>9}" for k in more)
    )
    for group in sorted(counts, key=lambda g: (not g.startswith("all"), g)):
        count = counts[group]
        print(
            f"  {group:24}{number[group]:6d}{count.hits + count.misses:9d}{count.false:7d}"
            f"{count.precision:8.3f}{count.recall:8.3f}{count.f1:8.3f}"
            + "".join(f"{column[group]:9}" for column in more.values())
        )


def print_worst(worst: Sequence[tuple[float, str]], count: int = 8) -> None:
    """Print the clips that went worst, so that each can be rendered again from its kind and seed."""
    for badness, text in sorted(worst, key=lambda item: -item[0])[:count]:
        if badness > 0:
            print(f"    {badness:8.3f}  {text}")


MEASURES: dict[str, Callable[[range, Bank], None]] = {
    "pas": measure_pas,
    "negatives": measure_negatives,
    "tcs": measure_tcs,
    "mss": measure_mss,
    "matrix": measure_matrix,
}
# One clip of every kind: 10 motions × 7 cameras; 13 comings and goings × 7 cameras; 21 kinds of frame; 12 negatives.
DEFAULT_CLIPS = {"pas": 70, "negatives": 48, "tcs": 91, "mss": 84, "matrix": 10}


def machine() -> str:
    """Describe what this ran on."""
    versions = f"Python {platform.python_version()}, OpenCV {cv2.__version__}, numpy {np.__version__}"
    return f"vmmetrics {vmmetrics.__version__}, {versions}, {platform.machine()}, {os.cpu_count()} cores"


def main() -> None:
    """Run the suites asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--clips", type=int, help="clips per suite; by default one or more of every kind")
    parser.add_argument("--first-seed", type=int, default=HELD_OUT_SEED)
    parser.add_argument("--textures", type=Path, help="folder of videos and images to cut from instead")
    arguments = parser.parse_args()
    held_out = arguments.first_seed >= HELD_OUT_SEED
    bank = TextureBank((arguments.textures,), held_out) if arguments.textures else None
    print(machine())
    for name in arguments.suites:
        start = time.perf_counter()
        seeds = range(arguments.first_seed, arguments.first_seed + (arguments.clips or DEFAULT_CLIPS[name]))
        MEASURES[name](seeds, bank)
        print(f"  seeds {seeds.start} to {seeds.stop - 1}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
