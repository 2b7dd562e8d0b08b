"""The suites of clips: which factors are crossed for which metric.

Seeds below 10000 are for development (anything may be tuned on them); reported figures come from seeds of 10000 and
more, which also use other pictures. Within a suite the kind of clip follows from the seed, so that any run of
consecutive seeds covers the kinds evenly; everything else is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from benchmarks.scenes.render import render
from benchmarks.scenes.spec import (
    STRENGTHS,
    CameraSpec,
    GlitchSpec,
    MotionSpec,
    ObjectSpec,
    PresenceSpec,
    SceneSpec,
    TimingSpec,
)
from benchmarks.scenes.textures import TextureBank
from benchmarks.scenes.truth import SyntheticClip
from vmmetrics.alignment.perturbations.frames import GLITCHES

Background = Literal["photo", "procedural", "plain"]
Rng = np.random.Generator

CAMERAS = ("still", "pan", "zoom", "rotation", "shake", "tilt", "mixed")
MOTIONS = ("linear", "curved", "oscillating", "rotating", "several", "fast", "slow", "deforming", "figure", "growing")
UNEXPLAINED = (
    "vanish-pop", "vanish-fade", "vanish-dissolve", "appear-pop", "appear-fade", "appear-dissolve"
)  # fmt: skip
EXCUSED = (
    "exit-edge", "enter-edge", "shrink-away", "grow-from-far", "behind-pillar", "behind-mover", "stays"
)  # fmt: skip
NEGATIVES = (
    *(f"camera-{kind}" for kind in CAMERAS), "plain-still", "plain-pan", "light-drift", "static-object", "noisy-still"
)  # fmt: skip

# (width, height), frames, frames per second: what generators and cameras deliver.
_FORMATS = (
    ((720, 480), 49, 8.0),
    ((720, 480), 49, 24.0),
    ((480, 480), 48, 16.0),
    ((854, 480), 60, 30.0),
    ((256, 256), 16, 8.0),
    ((320, 240), 33, 16.0),
)
_BIG_FORMAT = ((1280, 720), 33, 24.0)


def camera(kind: str, rng: Rng) -> CameraSpec:
    """Draw a camera motion of one of :data:`CAMERAS`."""
    angle = rng.uniform(0, 2 * np.pi)
    travel = rng.uniform(0.08, 0.3)
    pan = (float(travel * np.cos(angle)), float(0.6 * travel * np.sin(angle)))
    zoom = float(np.exp(rng.choice([-1, 1]) * rng.uniform(0.1, 0.3)))
    rotation = float(rng.choice([-1, 1]) * rng.uniform(4, 14))
    shake = float(rng.uniform(0.002, 0.008))
    tilt = (float(rng.uniform(-0.15, 0.15)), float(rng.uniform(-0.1, 0.1)))
    if kind == "mixed":
        half = (pan[0] / 2, pan[1] / 2)
        return CameraSpec(pan=half, zoom=zoom**0.5, rotation=rotation / 2, shake=shake / 2)
    return {
        "still": CameraSpec(),
        "pan": CameraSpec(pan=pan),
        "zoom": CameraSpec(zoom=zoom),
        "rotation": CameraSpec(rotation=rotation),
        "shake": CameraSpec(shake=shake),
        "tilt": CameraSpec(tilt=tilt, pan=(pan[0] / 3, pan[1] / 3)),
    }[kind]


def _format(rng: Rng, small: bool = True) -> SceneSpec:
    """Draw size, length, frame rate, background and noise."""
    draw = rng.random()
    choices = _FORMATS if small else _FORMATS[:4]
    size, frames, fps = _BIG_FORMAT if draw < 0.08 else choices[rng.integers(len(choices))]
    background: Background = "procedural" if rng.random() < 0.2 else "photo"
    return SceneSpec("", size, frames, fps, background, noise=float(rng.uniform(0.3, 2.0)))


def _shape(rng: Rng, smallest: float = 0.1, largest: float = 0.22) -> ObjectSpec:
    kind = str(rng.choice(["blob", "superellipse", "polygon"]))
    return ObjectSpec(kind, float(rng.uniform(smallest, largest)))  # type: ignore[arg-type]


def _wander(rng: Rng, frame: float, at: tuple[float, float], reach: float = 0.12) -> MotionSpec:
    """Draw a motion that stays about ``at`` (fractions of the frame), where it is at ``frame``."""
    angle = rng.uniform(0, 2 * np.pi)
    speed = rng.uniform(0.08, 0.2)
    velocity = (float(speed * np.cos(angle)), float(speed * np.sin(angle)))
    radius = float(rng.uniform(0.5, 1.0) * reach)
    kind = "oscillating" if rng.random() < 0.5 else "curved"
    return MotionSpec(kind, velocity, radius, frame, at, float(rng.choice([0.0, rng.uniform(-25, 25)])))  # type: ignore[arg-type]


def _middle(rng: Rng) -> tuple[float, float]:
    return float(rng.uniform(0.38, 0.62)), float(rng.uniform(0.38, 0.62))


def pas(seed: int) -> SceneSpec:
    """Describe a clip for PAS: every subject motion with every camera motion, nothing wrong."""
    rng = np.random.default_rng([seed, 101])
    motion = MOTIONS[seed % len(MOTIONS)]
    kind = CAMERAS[(seed // len(MOTIONS) + seed % len(MOTIONS)) % len(CAMERAS)]
    scene = replace(_format(rng), name=f"{motion}/{kind}", camera=camera(kind, rng))
    middle, seconds = (scene.num_frames - 1) / 2, scene.num_frames / scene.fps
    path = _wander(rng, middle, _middle(rng))
    thing = replace(_shape(rng), motion=path)
    objects: tuple[ObjectSpec, ...] = (thing,)
    if motion == "linear":
        angle, travel = rng.uniform(0, 2 * np.pi), rng.uniform(0.15, 0.4)
        velocity = (float(travel / seconds * np.cos(angle)), float(0.6 * travel / seconds * np.sin(angle)))
        objects = (replace(thing, motion=replace(path, kind="linear", velocity=velocity)),)
    elif motion in {"curved", "oscillating"}:
        objects = (replace(thing, motion=replace(path, kind=motion)),)  # type: ignore[arg-type]
    elif motion == "rotating":
        objects = (replace(thing, motion=replace(path, kind="none", spin=float(rng.uniform(30, 90)))),)
    elif motion == "several":
        spots = [(0.25, 0.4), (0.55, 0.62), (0.8, 0.35)][: rng.integers(2, 4)]
        objects = tuple(replace(_shape(rng, 0.08, 0.15), motion=_wander(rng, middle, spot, 0.07)) for spot in spots)
    elif motion == "fast":
        factor = 0.5 if scene.fps >= 16 else 0.3
        fast = replace(path, velocity=_unit(path.velocity, factor * rng.uniform(0.8, 1.2)), radius=0.2)
        objects = (replace(thing, motion=fast),)
        scene = replace(scene, shutter=float(rng.choice([0.0, 0.4])))
    elif motion == "slow":
        objects = (replace(thing, motion=replace(path, velocity=_unit(path.velocity, rng.uniform(0.02, 0.05)))),)
    elif motion == "deforming":
        objects = (replace(thing, deform=float(rng.uniform(0.03, 0.07))),)
    elif motion == "figure":
        figure = ObjectSpec("figure", float(rng.uniform(0.26, 0.36)), path, swing=float(rng.uniform(15, 30)))
        objects = (replace(figure, motion=replace(path, spin=0.0)),)
    elif motion == "growing":
        first = float(rng.uniform(0.5, 0.8))
        objects = (replace(thing, motion=replace(path, grow=(first, 1.8 * first))),)
    return replace(scene, objects=objects)


def _unit(velocity: tuple[float, float], speed: float) -> tuple[float, float]:
    factor = speed / float(np.hypot(*velocity))
    return velocity[0] * factor, velocity[1] * factor


def tcs(seed: int) -> SceneSpec:
    """Describe a clip for TCS: comings and goings, explained and not."""
    rng = np.random.default_rng([seed, 202])
    kinds = UNEXPLAINED + EXCUSED
    event = kinds[seed % len(kinds)]
    kind = CAMERAS[(seed // len(kinds) + seed % len(kinds)) % len(CAMERAS)]
    scene = replace(_format(rng, small=False), name=f"{event}/{kind}", camera=camera(kind, rng))
    length = scene.num_frames
    frame = int(rng.integers(length // 3, 2 * length // 3))
    thing = replace(_shape(rng), motion=_wander(rng, frame, _middle(rng)))
    objects: tuple[ObjectSpec, ...] = (thing,)
    if event in UNEXPLAINED:
        what, style = event.split("-")
        presence = PresenceSpec(what, frame, style, 0 if style == "pop" else int(rng.integers(2, 5)))  # type: ignore[arg-type]
        objects = (replace(thing, presence=(presence,)),)
    elif event != "stays":
        objects = _explained(event, scene, thing, rng)
    if rng.random() < 0.3 and event not in {"behind-mover", "behind-pillar"}:
        x = 0.15 if objects[-1].motion.anchor[0] > 0.5 else 0.85
        other = replace(_shape(rng, 0.08, 0.12), motion=_wander(rng, frame, (x, 0.5), 0.05))
        objects = (other, *objects)
    return replace(scene, objects=objects)


def _explained(event: str, scene: SceneSpec, thing: ObjectSpec, rng: Rng) -> tuple[ObjectSpec, ...]:
    """Describe objects of which one goes or comes for a reason."""
    seconds, last = scene.num_frames / scene.fps, scene.num_frames - 1
    side = float(rng.choice([-1.0, 1.0]))
    y = float(rng.uniform(0.35, 0.65))
    across = scene.size[0] / scene.diagonal  # the frame's width, in diagonals
    if event in {"exit-edge", "enter-edge"}:
        # Out of the frame, its own width included, in about 60 % of the time.
        way = across * 0.5 + thing.radius * 1.3 * min(scene.size) / scene.diagonal + _drift(scene)
        speed = side * way / (0.6 * seconds)
        inwards = event == "enter-edge"
        motion = MotionSpec("linear", (speed, 0.0), anchor_frame=0.9 * last if inwards else 0.1 * last, anchor=(0.5, y))
        return (replace(thing, motion=motion),)
    if event in {"shrink-away", "grow-from-far"}:
        grow = (1.0, 0.008) if event == "shrink-away" else (0.008, 1.0)
        return (replace(thing, motion=replace(thing.motion, grow=grow, kind="oscillating")),)
    velocity = (side * 0.62 * across / seconds, 0.0)
    size = float(rng.uniform(0.08, 0.12))
    runner = replace(thing, radius=size, motion=MotionSpec("linear", velocity, 0.1, last / 2, (0.5, y)))
    if event == "behind-pillar":
        pillar = ObjectSpec("pillar", size * 4.6, MotionSpec(anchor=(0.5, 0.5), anchor_frame=last / 2), subject=False)
        return (runner, pillar)
    cover = MotionSpec("linear", (-velocity[0] * 0.6, 0.0), 0.1, last / 2, (0.5, y))
    return (runner, ObjectSpec("superellipse", size * 2.4, cover))


def _drift(scene: SceneSpec) -> float:
    """By how much the camera may hold an object in the frame, diagonals."""
    return abs(scene.camera.pan[0]) + 0.05


def mss(seed: int) -> SceneSpec:
    """Describe a clip for MSS: glitches of every kind and strength, stutter, freeze, and clean ones that move."""
    rng = np.random.default_rng([seed, 303])
    clean = ("clean-pan", "clean-fast", "clean-shake", "clean-zoom", "stutter", "freeze")
    kinds = (*(f"{kind}-{strength}" for strength in STRENGTHS for kind in GLITCHES), *clean)
    # 8 is prime to the number of kinds (21), so that few consecutive seeds already show them mixed.
    what = kinds[seed * 8 % len(kinds)]
    view = what.removeprefix("clean-") if what.startswith("clean-") else CAMERAS[rng.integers(len(CAMERAS))]
    scene = _format(rng)
    scene = replace(scene, name=f"{what}/{view}", camera=camera("still" if view == "fast" else view, rng))
    middle = (scene.num_frames - 1) / 2
    path = _wander(rng, middle, _middle(rng))
    if view == "fast":
        path = replace(path, velocity=_unit(path.velocity, rng.uniform(0.3, 0.5)), radius=0.2)
    objects = () if what.startswith("clean-") and rng.random() < 0.3 and view != "fast" else (_shape(rng),)
    scene = replace(scene, objects=tuple(replace(thing, motion=path) for thing in objects))
    scene = replace(scene, shutter=float(rng.choice([0.0, 0.0, 0.4])))
    if what in {"stutter", "freeze"}:
        return replace(scene, timing=_timing(what, scene.num_frames, rng))
    if what.startswith("clean-"):
        return scene
    kind, strength = what.split("-")
    starts = rng.permutation(np.arange(4, scene.num_frames - 5, 8))[: rng.integers(1, 3)]
    frames = tuple(sorted(int(s) + i for s in starts for i in range(int(rng.integers(1, 4)))))
    return replace(scene, glitches=(GlitchSpec(kind, strength, frames),))


def _timing(kind: str, length: int, rng: Rng) -> TimingSpec:
    if kind == "stutter":
        spots = np.arange(3, length - 2, 4)
        return TimingSpec("stutter", tuple(sorted(rng.permutation(spots)[:4].tolist())))
    start = int(rng.integers(3, max(4, length - 10)))
    return TimingSpec("freeze", tuple(range(start, min(start + int(rng.integers(4, 8)), length - 1))))


def negatives(seed: int) -> SceneSpec:
    """Describe a clip in which nothing of its own moves and nothing is wrong."""
    rng = np.random.default_rng([seed, 404])
    what = NEGATIVES[seed % len(NEGATIVES)]
    scene = replace(_format(rng), name=what)
    kind, _, detail = what.partition("-")
    if kind == "camera":
        return replace(scene, camera=camera(detail, rng))
    if kind == "plain":
        return replace(scene, background="plain", camera=camera(detail, rng))
    if what == "light-drift":
        return replace(scene, light=float(np.exp(rng.choice([-1, 1]) * rng.uniform(0.15, 0.35))))
    if what == "static-object":
        view = camera(CAMERAS[rng.integers(len(CAMERAS))], rng)
        return replace(scene, camera=view, objects=(replace(_shape(rng), motion=MotionSpec(anchor=_middle(rng))),))
    return replace(scene, noise=float(rng.uniform(3.0, 6.0)))


SUITES: dict[str, Callable[[int], SceneSpec]] = {"pas": pas, "tcs": tcs, "mss": mss, "negatives": negatives}


def suite(name: str, seeds: Iterable[int], bank: TextureBank | None = None) -> Iterator[SyntheticClip]:
    """Render one clip per seed of the suite ``name``: ``"pas"``, ``"tcs"``, ``"mss"`` or ``"negatives"``."""
    for seed in seeds:
        yield render(SUITES[name](seed), seed, bank)
