"""Minimal pairs of rendered clips, decided by perception: right, wrong and undecided, and pairs with both right.

    python -m benchmarks.pair_outcomes [--kinds turns order] [--pairs 20] [--first-seed 10000] [--others 36]

Both clips of a pair show one scene with one thing changed (left or right, one hop or two, ...). They are encoded by
x264 at crf 23 and asked the pair's question by ``--model perception``. Backgrounds are frames of footage or rendered
textures; the camera is still, pans slightly or shakes. The limits of :mod:`vmmetrics.functional.outcomes` were chosen
on seeds from 0; seeds from 10000, the default, have other pictures.

``--others`` asks every measure of clips without a truth of their own: rendered ones in which the camera alone moves,
where any decision is wrong; and the first seconds of footage, real and generated, as they are, mirrored, and reversed
in time, where left and right, or all directions, must change places and counts must not.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.footage import clip_of, recordings
from benchmarks.scenes import SUITES, CameraSpec, MotionSpec, ObjectSpec, SceneSpec, render
from benchmarks.scenes.paths import CameraPath, ObjectPath, project
from benchmarks.scenes.textures import TextureBank
from vmmetrics.clip import Clip
from vmmetrics.functional.outcomes import CYCLES
from vmmetrics.models.frames import NO_FRAMES
from vmmetrics.models.questions import Question
from vmmetrics.perception.movers import movers_of
from vmmetrics.perception.presets import embedded_models
from vmmetrics.perception.scene import Scene
from vmmetrics.types import UInt8Array
from vmmetrics.understanding.harness.benchmark import Scored
from vmmetrics.understanding.harness.perception_model import PerceptionModel
from vmmetrics.understanding.harness.statistics import PAIR_CHANCE, figure, pairs_of
from vmmetrics.video.encoding import write_h264

SIZES = ((480, 320), (480, 270), (320, 320), (270, 480))
RATES = (8.0, 16.0, 24.0)
CODING = {"crf": "23", "preset": "fast"}
Rng = np.random.Generator
Shape = Literal["blob", "superellipse", "polygon"]
Pair = tuple[Mapping[str, Any], Sequence[tuple[ObjectSpec, ...]]]
"""A measure, whose ``yes`` is the first clip's, and the objects of both clips."""


def _thing(rng: Rng, motion: MotionSpec, least: float = 0.1, most: float = 0.2) -> ObjectSpec:
    shapes: tuple[Shape, ...] = ("blob", "superellipse", "polygon")
    return ObjectSpec(shapes[rng.integers(3)], float(rng.uniform(least, most)), motion)


def _direction(rng: Rng, scene: SceneSpec, *, axis: int) -> Pair:
    travel = rng.uniform(0.08, 0.4) * scene.size[axis] / scene.diagonal
    slant, spin = rng.uniform(-0.4, 0.4) * travel, float(rng.choice([0, 0, rng.uniform(60, 200)]))
    middle, anchor = scene.num_frames / 2, tuple(rng.uniform(0.4, 0.6, 2).tolist())
    things = []
    still = _thing(rng, MotionSpec())
    for way in (-1, 1):
        shift = np.array([way * travel, slant] if axis == 0 else [slant, way * travel])
        velocity = shift * scene.fps / scene.num_frames
        motion = MotionSpec("linear", (float(velocity[0]), float(velocity[1])), 0.1, middle, anchor, way * spin)
        things.append((replace(still, motion=motion),))
    return {"kind": "direction", "yes": ("left", "up")[axis]}, things


def _cycles(rng: Rng, scene: SceneSpec, most: float) -> tuple[tuple[int, int], float, float]:
    """Return how many cycles the two clips have, the frame in which they begin, and the frames of one."""
    numbers = ((1, 2), (2, 1), (2, 3), (3, 2))[rng.integers(4)]
    begin = rng.uniform(0.05, 0.15) * scene.num_frames
    return numbers, float(begin), min(rng.uniform(0.55, 0.8) * scene.num_frames / max(numbers), most * scene.fps)


def _counted(of: str, still: ObjectSpec, motion: MotionSpec, numbers: Sequence[int], period: float) -> Pair:
    begin = motion.anchor_frame
    motions = [replace(motion, begin=begin, end=begin + number * period, period=period) for number in numbers]
    return {"kind": "count", "of": of, "yes": numbers[0]}, [(replace(still, motion=motion),) for motion in motions]


def _hops(rng: Rng, scene: SceneSpec) -> Pair:
    numbers, begin, period = _cycles(rng, scene, 1.2)
    height, along = float(rng.uniform(0.05, 0.2)), float(rng.uniform(-0.08, 0.08) / (period / scene.fps))
    anchor = (float(rng.uniform(0.35, 0.65)), float(rng.uniform(0.6, 0.75)))
    motion = MotionSpec("hopping", (along, 0), height, begin, anchor)
    return _counted("hops", _thing(rng, MotionSpec()), motion, numbers, period)


def _swings(rng: Rng, scene: SceneSpec) -> Pair:
    numbers, begin, period = _cycles(rng, scene, 1.6)
    radius, angle = float(rng.uniform(0.05, 0.12)), rng.uniform(-0.4, 0.4)
    speed = 2 * np.pi * radius / (period / scene.fps)
    velocity = (float(speed * np.cos(angle)), float(speed * np.sin(angle)))
    anchor = tuple(rng.uniform(0.3, 0.7, 2).tolist())  # where it is tells nothing of how often
    motion = MotionSpec("oscillating", velocity, radius, begin, anchor)
    return _counted("swings", _thing(rng, MotionSpec()), motion, numbers, period)


def _turns(rng: Rng, scene: SceneSpec) -> Pair:
    numbers, begin, period = _cycles(rng, scene, 1.8)
    seconds, still = period / scene.fps, _thing(rng, MotionSpec(), 0.15, 0.3)
    spin, along = float(rng.choice([-1, 1]) * 360 / seconds), rng.choice([0.0, 0.08]) / seconds / max(numbers)
    motion = MotionSpec("linear", (float(along), 0), 0.1, begin, (0.45, 0.5), spin)
    return _counted("turns", still, motion, numbers, period)


def _circles(rng: Rng, scene: SceneSpec) -> Pair:
    numbers, begin, period = _cycles(rng, scene, 1.8)
    radius = float(rng.uniform(0.06, 0.12))
    anchor = tuple(rng.uniform(0.3, 0.6, 2).tolist())
    motion = MotionSpec("curved", (float(2 * np.pi * radius / (period / scene.fps)), 0.0), radius, begin, anchor)
    return _counted("turns", _thing(rng, MotionSpec(), 0.08, 0.15), motion, numbers, period)


def _stops(rng: Rng, scene: SceneSpec) -> Pair:
    seconds, angle = scene.num_frames / scene.fps, rng.uniform(0, 2 * np.pi)
    speed = rng.uniform(0.15, 0.35) * min(scene.size) / scene.diagonal / seconds
    velocity = (float(speed * np.cos(angle)), float(speed * np.sin(angle)))
    anchor, still = tuple(rng.uniform(0.45, 0.55, 2).tolist()), _thing(rng, MotionSpec())
    motion = MotionSpec("linear", velocity, anchor_frame=scene.num_frames / 2, anchor=anchor)
    end, ease = rng.uniform(0.5, 0.88) * scene.num_frames, rng.uniform(0, 0.2) * scene.num_frames
    stops = replace(motion, end=float(end), ease=float(ease))
    things = [(replace(still, motion=stops),), (replace(still, motion=motion),)]
    yes = ("stops", "goes on")[rng.integers(2)]
    return {"kind": "stop", "yes": yes}, things if yes == "stops" else things[::-1]


def _order(rng: Rng, scene: SceneSpec, *, of: str) -> Pair:
    moments = (rng.uniform(0.1, 0.3) * scene.num_frames, rng.uniform(0.45, 0.65) * scene.num_frames)
    if of == "arrival":
        moments = (scene.num_frames - moments[1], scene.num_frames - moments[0])
    places = [(rng.uniform(0.2, 0.3), rng.uniform(0.4, 0.6)), (rng.uniform(0.7, 0.8), rng.uniform(0.4, 0.6))]
    angles, stills = rng.uniform(0, 2 * np.pi, 2), [_thing(rng, MotionSpec(), 0.08, 0.15) for _ in range(2)]
    speed, middle, meet = rng.uniform(0.04, 0.12), scene.num_frames / 2, max if of == "start" else min
    things = []
    for order in (moments, moments[::-1]):
        motions = [
            MotionSpec(
                "linear", (float(speed * np.cos(angle)), float(speed * np.sin(angle))), 0.1,
                float(meet(moment, middle)), (float(x), float(y)), begin=float(moment) if of == "start" else -np.inf,
                end=np.inf if of == "start" else float(moment),
            )
            for moment, angle, (x, y) in zip(order, angles, places, strict=True)
        ]  # fmt: skip
        things.append(tuple(replace(still, motion=m) for still, m in zip(stills, motions, strict=True)))
    return {"kind": "order", "yes": "left first", "of": of}, things


KINDS: Mapping[str, Callable[[Rng, SceneSpec], Pair]] = {
    "left/right": partial(_direction, axis=0), "up/down": partial(_direction, axis=1), "hops": _hops,
    "swings": _swings, "turns": _turns, "circles": _circles, "stop": _stops, "order": partial(_order, of="start"),
    "arrival": partial(_order, of="arrival"),
}  # fmt: skip


def pair_of(kind: str, seed: int) -> tuple[Mapping[str, Any], list[SceneSpec]]:
    """Return the measure of a pair and its two scenes."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    size, fps = SIZES[rng.integers(len(SIZES))], float(RATES[rng.integers(len(RATES))])
    pan = rng.uniform(-0.06, 0.06, 2)
    cameras = (CameraSpec(), CameraSpec((float(pan[0]), float(pan[1]))), CameraSpec(shake=0.003))
    scene = SceneSpec(
        kind, size, round(rng.uniform(2.5, 4.0) * fps), fps, "procedural" if rng.random() < 0.2 else "photo",
        cameras[seed % 3], noise=float(rng.uniform(0.3, 2.0)),
    )  # fmt: skip
    measure, things = KINDS[kind](rng, scene)
    return measure, [replace(scene, objects=objects) for objects in things]


def ask(
    kinds: Sequence[str], seeds: Sequence[int], model: PerceptionModel, bank: TextureBank | None = None
) -> tuple[list[Question], list[Scored]]:
    """Render pairs, encode and ask; return the questions, with what was said in ``groups``, and their scores."""
    questions: list[Question] = []
    scored: list[Scored] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            for seed in seeds:
                measure, scenes = pair_of(kind, seed)
                for side, scene in enumerate(scenes):
                    clip, path = render(scene, seed, bank), Path(folder) / f"{len(questions)}.mp4"
                    write_h264(path, clip.frames, scene.fps, CODING, threads=1)
                    names = [f"{kind}#{seed} {letter}" for letter in "ab"]
                    question = Question(
                        names[side], names[side], f"{kind}#{seed}", ("Yes", "No"), side, {"kind": (kind,)}, path,
                        reference={"measure": measure, "pair": names[1 - side]},
                    )  # fmt: skip
                    answer = model.answer(question, (), NO_FRAMES)
                    value = None if answer.error else float(answer.text == question.options[side])
                    camera = ("still", "pan", "shake")[seed % 3]
                    groups = {**question.groups, "camera": (camera,), "said": (answer.error or answer.text,)}
                    questions.append(replace(question, groups=groups))
                    scored.append(Scored(question.id, value, answered=value is not None))
                    path.unlink()
    return questions, scored


MEASURES: Mapping[str, Mapping[str, Any]] = {
    "left/right": {"kind": "direction", "yes": "left"},
    "up/down": {"kind": "direction", "yes": "up"},
    **{of: {"kind": "count", "of": of, "yes": 1} for of in CYCLES},
    "stop": {"kind": "stop", "yes": "stops"},
    "order": {"kind": "order", "yes": "left first"},
    "arrival": {"kind": "order", "yes": "left first", "of": "arrival"},
}
FLIPS: Mapping[str, Mapping[str, str]] = {
    "mirrored": {"left": "right", "right": "left", "left first": "right first", "right first": "left first"},
    "reversed": {"left": "right", "right": "left", "up": "down", "down": "up"},
}
"""Decisions that change places in a changed clip; others stay."""
SECONDS = 4.0
"""Length of footage that is asked about."""


def decisions(frames: UInt8Array, fps: float) -> dict[str, str | int | None]:
    """Return what is decided of a clip, by measure."""
    clip = Clip(np.ascontiguousarray(frames), np.arange(len(frames)) / fps, fps)
    movers = movers_of(Scene(clip, embedded_models(None)))
    return {name: movers.decide(measure).value for name, measure in MEASURES.items()}


def others(number: int, first_seed: int) -> None:
    """Print decisions of clips with nothing but a camera, and how those of footage agree with changed copies."""
    false = Counter[str]()
    for seed in range(first_seed, first_seed + number):
        still = render(SUITES["negatives"](seed), seed)
        false.update(name for name, value in decisions(still.frames, still.fps).items() if value is not None)
    print(f"camera alone: {number} clips, decided: {dict(false) or 'nothing'}", flush=True)
    counts: dict[tuple[str, str], Counter[str]] = {}
    items = recordings("train", "validation", "open")
    for item in items[:: max(1, len(items) // number)]:
        clip = item.read()
        clip = clip_of(clip.frames[: round(SECONDS * clip.fps)], clip.fps, item.name)
        own = decisions(clip.frames, clip.fps)
        for change, frames in (("mirrored", clip.frames[:, :, ::-1]), ("reversed", clip.frames[::-1])):
            for name, value in decisions(frames, clip.fps).items():
                if change == "reversed" and name in ("stop", "order", "arrival"):
                    continue
                pair = (own[name], value)
                expected = FLIPS[change].get(str(own[name]), own[name])
                same = "neither" if pair == (None, None) else "one" if None in pair else "agree"
                if same == "agree" and value != expected:
                    same = "contradict"
                    print(f"  {item.name} {change}: {name} {own[name]}, then {value}", flush=True)
                counts.setdefault((name, change), Counter())[same] += 1
    for (name, change), count in counts.items():
        print(
            f"{name:12}{change:10}"
            + "".join(f"{key:>12}{count[key]:4}" for key in ("agree", "contradict", "one", "neither"))
        )


def one_frame(pairs: int, first_seed: int) -> None:
    """Print how often a guesser is right that is told where things are in the middle frame, and nothing else.

    It answers as most of the five clips of other pairs whose things are nearest to where these are: what a model could
    learn at best from one frame of such clips.
    """
    print(f"from the middle frame, {pairs} pairs of each kind (chance: 0.5, pairs {PAIR_CHANCE})")
    for kind in KINDS:
        places, labels = [], []
        for seed in range(first_seed, first_seed + pairs):
            measure, scenes = pair_of(kind, seed)
            for side, scene in enumerate(scenes):
                middle = (scene.num_frames - 1) / 2
                rng = np.random.default_rng(seed)
                camera = CameraPath(scene, rng)
                paths = [ObjectPath(of, scene, camera, rng) for of in scene.objects]
                view = camera.at(middle)
                places.append(
                    np.concatenate([project(view @ path.at(middle), np.zeros(2)) / scene.size for path in paths])
                )
                fewer = measure["kind"] == "count" and scenes[0].objects[0].motion.end < scenes[1].objects[0].motion.end
                labels.append((side == 0) == (fewer or measure["yes"] in ("left", "up", "stops", "left first")))
        spread = np.std(places, axis=0)
        table, right = np.array(places) / np.where(spread > 0, spread, 1), []
        for index, place in enumerate(table):
            distances = np.linalg.norm(table - place, axis=1)
            distances[index // 2 * 2 : index // 2 * 2 + 2] = np.inf  # not of its twin
            nearest = np.argsort(distances)[:5]
            right.append((np.mean([labels[n] for n in nearest]) > 0.5) == labels[index])
        both = np.array(right).reshape(-1, 2).all(1)
        print(f"  {kind:12}right {np.mean(right):.2f}, pairs {both.mean():.2f}")


def main() -> None:
    """Print decisions and pairs by kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--pairs", type=int, default=20, help="of each kind")
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument("--others", type=int, help="so many clips without a truth of their own, instead of pairs")
    parser.add_argument("--one-frame", action="store_true", help="what the middle frame tells, instead")
    arguments = parser.parse_args()
    if arguments.one_frame:
        one_frame(arguments.pairs, arguments.first_seed)
        return
    if arguments.others:
        others(arguments.others, arguments.first_seed)
        return
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.pairs)
    model = PerceptionModel()
    questions: list[Question] = []
    scored: list[Scored] = []
    print(f"seeds {seeds.start} to {seeds.stop - 1}; intervals: 95 %, by pair; chance of a pair: {PAIR_CHANCE}")
    print(f"{'':12}{'right':>6}{'wrong':>6}{'none':>6}   {'right of decided':22}{'pairs right':22}of all pairs")
    for kind in arguments.kinds:
        new = ask([kind], seeds, model)
        questions += new[0]
        scored += new[1]
        print(_row(kind, *new), flush=True)
    print(_row("all", questions, scored))
    for camera in ("still", "pan", "shake"):
        rows = [(q, s) for q, s in zip(questions, scored, strict=True) if q.groups["camera"] == (camera,)]
        if rows:
            print(_row(camera, [q for q, _ in rows], [s for _, s in rows]))
    for question, score in zip(questions, scored, strict=True):
        if score.value != 1:
            print(f"  {question.id}: {question.groups['said'][0]}, yes is {question.reference['measure']['yes']}")


def _row(name: str, questions: Sequence[Question], scored: Sequence[Scored]) -> str:
    values = Counter(score.value for score in scored)
    # clips of a pair are alike
    asked = [replace(q, video=" & ".join(sorted((q.video, q.reference["pair"])))) for q in questions]
    decided, pairs = figure(asked, scored), pairs_of(questions, scored)
    both = figure(*pairs, "pairs", chance=PAIR_CHANCE)
    every = figure(pairs[0], [replace(score, value=score.value or 0.0) for score in pairs[1]])
    shares = "".join(
        "-".ljust(24) if None in (f.value, f.low) else f"{f.value:5.3f} ({f.low:.3f} to {f.high:.3f})".ljust(24)
        for f in (decided, both, every)
    )
    return f"{name:12}{values[1.0]:6}{values[0.0]:6}{values[None]:6}   {shares}"


if __name__ == "__main__":
    main()
