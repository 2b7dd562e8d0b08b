"""What wins the reward without moving better: a search over cheap changes of a clip, against as many harmless ones.

    python -m benchmarks.reward_search --cache FOLDER [--set mending|held] [--steps 150] [--clips 10] [--jobs 2]

Clips are 16 frames of 256 x 256 of real footage (split validation, a repository each), every other one damaged by a
defect of CAS. From a clip, ``--steps`` times, the best change so far is changed: one of ten operations is added, taken
out or given another amount. Beside it as many random harmless changes are made. The reward should gain no more by the
search than by harmless changes. ``held`` are clips of other repositories, never used while mending. Every step is kept
in the cache, so that a run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from benchmarks.cas_recipe.ladder import DEFECTS as OF_MOTION
from benchmarks.footage import Recording, clip_of, code_digest, recordings
from benchmarks.footage_changes import damaged
from vmmetrics import rewards
from vmmetrics.alignment.perturbations.frames import Rng, reencoded
from vmmetrics.alignment.perturbations.traps import OPERATIONS, rounded
from vmmetrics.clip import Clip
from vmmetrics.functional.motion_index import INDEX_METRICS, motion_index
from vmmetrics.functional.tripwires import UNITS
from vmmetrics.types import UInt8Array

SIDE, COUNT, FPS = 256, 16, 8.0
MOST = 3
"""Operations in one change."""
Plan = tuple[tuple[str, float], ...]


def proposal(best: Plan, step: int, rng: Rng) -> Plan:
    """Return a change of the best plan; first each operation alone, at three amounts."""
    names = list(OPERATIONS)
    if step < 3 * len(names):
        return ((names[step % len(names)], (0.2, 0.5, 0.9)[step // len(names)]),)
    plan, kind = list(best), rng.integers(3)
    if not plan or (kind == 0 and len(plan) < MOST):
        plan.insert(int(rng.integers(len(plan) + 1)), (str(rng.choice(names)), float(rng.uniform(0.02, 1))))
    elif kind == 1 and len(plan) > 1:
        plan.pop(int(rng.integers(len(plan))))
    else:
        at = int(rng.integers(len(plan)))
        plan[at] = plan[at][0], float(np.clip(plan[at][1] + rng.normal(0, 0.2), 0.02, 1))
    return tuple(plan)


def harmless(clip: Clip, rng: Rng) -> UInt8Array:
    """Return the clip re-encoded, scaled, cropped, lit and mirrored by what nobody minds."""
    edge = int(rng.integers(0, 6))
    frames = clip.frames[:, edge : SIDE - edge, edge : SIDE - edge]
    size = int(rng.integers(200, SIDE + 1))
    small = [cv2.resize(frame, (size, size), interpolation=cv2.INTER_AREA) for frame in frames]
    frames = np.stack([cv2.resize(frame, (SIDE, SIDE)) for frame in small])
    frames = rounded(frames * rng.uniform(0.95, 1.05))
    if rng.random() < 0.5:
        frames = np.ascontiguousarray(frames[:, :, ::-1])
    return reencoded(clip_of(frames, FPS, clip.name), int(rng.integers(12, 29))).frames


class Sample(NamedTuple):
    """A clip of the search: its name and frames."""

    name: str
    clip: Clip


def samples(which: str, count: int) -> Iterator[Sample]:
    """Yield clips of one recording per repository: ``mending`` and ``held`` take turns, so that they are alike."""
    by_repo: dict[str, Recording] = {}
    for recording in sorted(recordings("validation", "train"), key=lambda of: of.name):
        by_repo.setdefault(recording.repo, recording)
    chosen = [of for n, (_, of) in enumerate(sorted(by_repo.items())) if n % 2 == ("mending", "held").index(which)]
    for number, recording in enumerate(chosen[:count]):
        whole = recording.read()
        step = max(1, round(whole.fps / FPS))
        frames = whole.frames[::step][:COUNT]
        if len(frames) < COUNT:
            continue
        side = min(frames.shape[1:3])
        top, left = (frames.shape[1] - side) // 2, (frames.shape[2] - side) // 2
        square = [frame[top : top + side, left : left + side] for frame in frames]
        square = [cv2.resize(frame, (SIDE, SIDE), interpolation=cv2.INTER_AREA) for frame in square]
        clip = Clip(np.stack(square), np.arange(COUNT) / FPS, FPS, name=recording.name)
        kind = OF_MOTION[number % len(OF_MOTION)]
        spoilt = Sample(f"{recording.name} {kind}", damaged(clip, kind, 1.0))
        yield spoilt if number % 2 else Sample(recording.name, clip)


def reward_of(frames: UInt8Array) -> tuple[float, dict[str, float]]:
    """Return the reward of frames and its components; without one, NaN."""
    found = rewards(frames[None], fps=FPS, layout="BTHWC", missing="nan")
    return float(found.values[0]), {name: float(part[0]) for name, part in found.components.items()}


def search(sample: Sample, steps: int, path: Path) -> None:
    """Make and score the steps of a clip that the file does not have."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    rng, most = np.random.default_rng(3), -1.0
    best: Plan = ()
    with path.open("a", encoding="utf-8") as file:

        def keep(entry: dict[str, Any]) -> None:
            lines.append(entry)
            file.write(json.dumps(entry) + "\n")
            file.flush()

        if not lines:
            value, parts = reward_of(sample.clip.frames)
            keep({"kind": "clean", "reward": value, "parts": parts})
        done = {kind: [line for line in lines if line["kind"] == kind] for kind in ("search", "harmless")}
        for step in range(steps):
            plan = proposal(best, step, rng)
            if step < len(done["search"]):
                line = done["search"][step]
                plan, value = tuple((name, amount) for name, amount in line["plan"]), line["reward"]
            else:
                frames = sample.clip.frames
                for name, amount in plan:
                    frames = np.ascontiguousarray(OPERATIONS[name](frames, amount))
                value, parts = reward_of(frames)
                keep({"kind": "search", "plan": plan, "reward": value, "parts": parts})
            if value > most:
                best, most = plan, value
            if step >= len(done["harmless"]):
                value, parts = reward_of(harmless(sample.clip, np.random.default_rng([7, step])))
                keep({"kind": "harmless", "reward": value, "parts": parts})


def gain(line: dict[str, Any], clean: dict[str, Any]) -> float:
    """Return the reward of a line less that of the clean clip, in a group of both: made of what both have."""
    common = [key for key in INDEX_METRICS if np.isfinite(line["parts"][key]) and np.isfinite(clean["parts"][key])]
    return _over(line, common) - _over(clean, common)


def _over(line: dict[str, Any], keys: Sequence[str]) -> float:
    """Return the reward made of these scores alone; NaN without one."""
    scores = {key: line["parts"][key] for key in INDEX_METRICS if np.isfinite(line["parts"][key])}
    whole, part = (motion_index({key: scores[key] for key in of}).score for of in (scores, keys))
    return float(line["reward"] * part / whole if whole and part is not None else line["reward"])


def report(files: Sequence[Path]) -> None:
    """Print gains of search and of harmless changes by clip, their 95 % quantiles, and gains by operation."""
    gains, by_name = [], defaultdict[str, list[float]](list)
    for path in files:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        clean = next(line for line in lines if line["kind"] == "clean")
        rewarded = [line for line in lines if line["reward"] == line["reward"]]
        searched = [(gain(line, clean), line) for line in rewarded if line["kind"] == "search"]
        alike = [gain(line, clean) for line in rewarded if line["kind"] == "harmless"]
        if not searched or not alike or clean["reward"] != clean["reward"]:
            print(f"{path.stem}: no reward")
            continue
        most, best = max(searched, key=lambda one: one[0])
        gains.append((most, max(alike)))
        for name in OPERATIONS:
            alone = [of for of, line in searched if [step[0] for step in line["plan"]] == [name]]
            by_name[name] += [max(alone)] if alone else []  # none where no amount leaves motion to judge
        plan = ", ".join(f"{name} {amount:.2f}" for name, amount in best["plan"])
        parts = {name: round(best["parts"][name], 2) for name in (*INDEX_METRICS, *UNITS)}
        print(f"{path.stem}: {clean['reward']:.3f}; search {most:+.3f} ({len(searched)}: {plan}), "
              f"harmless {max(alike):+.3f}; {parts}")  # fmt: skip
    if gains:
        quantiles = np.quantile(np.array(gains), 0.95, axis=0)
        above = sum(of > other for of, other in gains)
        print(f"{len(gains)} clips: 95 % quantile of the gain by search {quantiles[0]:+.3f}, by harmless changes "
              f"{quantiles[1]:+.3f}; search gains more on {above}")  # fmt: skip
        for name, of in by_name.items():
            print(f"  {name} alone, at best: median {np.median(of):+.3f}, largest {max(of):+.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--set", default="mending", choices=("mending", "held"))
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--clips", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = options.cache / f"{options.set}-{code_digest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    chosen = list(samples(options.set, options.clips))
    files = [folder / f"{sample.name.replace('/', '_')}.jsonl" for sample in chosen]
    with ProcessPoolExecutor(options.jobs) as pool:
        list(pool.map(search, chosen, [options.steps] * len(chosen), files))
    report(files)


if __name__ == "__main__":
    main()
