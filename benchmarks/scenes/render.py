"""From a description and a seed to a clip with its truth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes import textures
from benchmarks.scenes.layers import POINTS, Background, PartLayer
from benchmarks.scenes.paths import CameraPath, Matrix, ObjectPath, project
from benchmarks.scenes.shapes import parts_of
from benchmarks.scenes.spec import STRENGTHS, ObjectSpec, SceneSpec
from benchmarks.scenes.textures import TextureBank, default_bank
from benchmarks.scenes.truth import MIN_AREA, MIN_SHARE, ObjectTruth, SyntheticClip, events_of
from vmmetrics.alignment.perturbations.frames import spoil

BLUR_SAMPLES = 5  # pictures averaged for motion blur


def render(spec: SceneSpec, seed: int, bank: TextureBank | None = None) -> SyntheticClip:
    """Render a clip; the same arguments and pictures give the same clip.

    Args:
        spec: What to render.
        seed: Everything random: shapes, textures, noise. Seeds from 10000 on use held-out pictures.
        bank: Pictures; by default those of :func:`benchmarks.scenes.textures.default_bank`.
    """
    bank = bank or default_bank(seed)
    # One stream per purpose, so that the same seed gives the same shapes whatever else changes in the description.
    streams = [np.random.default_rng([seed, purpose]) for purpose in range(5)]
    camera = CameraPath(spec, streams[0])
    background = Background(spec, camera, _picture(spec, bank, streams[1]))
    things = [_Thing(o, i, spec, camera, background, bank, [seed, 9, i]) for i, o in enumerate(spec.objects)]
    times = _times(spec)
    noise = _noise_bank(spec, streams[3])
    frames = np.empty((spec.num_frames, spec.size[1], spec.size[0], 3), np.uint8)
    codes = np.zeros(frames.shape[:3], np.uint8)
    for t, time in enumerate(times):
        exact = _paint(camera, background, things, time, codes[t])
        blurred = _motion_blur(spec, camera, background, things, time) if spec.shutter else exact
        gain = 1 + (spec.light - 1) * time / max(spec.num_frames - 1, 1)
        dy, dx = streams[4].integers(0, 64, 2)
        grain = noise[dy : dy + spec.size[1], dx : dx + spec.size[0]]
        repeated = t > 0 and times[t - 1] == time
        frames[t] = frames[t - 1] if repeated else np.clip(blurred * gain + grain + 0.5, 0, 255).astype(np.uint8)
    glitch_rng = streams[2]
    for glitch in spec.glitches:
        spoil(frames, glitch.kind, STRENGTHS[glitch.strength], glitch.frames, glitch_rng)
    return _with_truth(spec, seed, frames, codes, things, camera, times)


class _Thing:
    """An object ready to be drawn, and its points."""

    def __init__(
        self,
        spec: ObjectSpec,
        index: int,
        scene: SceneSpec,
        camera: CameraPath,
        background: Background,
        bank: TextureBank,
        seed: list[int],
    ) -> None:
        rng = np.random.default_rng(seed)
        self.spec, self.id = spec, index + 1
        self.path = ObjectPath(spec, scene, camera, rng)
        unit = spec.radius * min(scene.size) * max(spec.motion.grow)
        picture = textures.procedural(rng) if scene.background == "procedural" else bank.photo(rng)
        parts = parts_of(spec.shape, rng)
        self.layers = [PartLayer(p, self.path, unit, picture, background.colour, rng) for p in parts]
        step = float(np.sqrt(sum(layer.area() for layer in self.layers) / POINTS))
        self.rest = [layer.rest_points(step) for layer in self.layers]
        coarse = textures.pink_noise(rng, scene.size[1] // 4 + 1, scene.size[0] // 4 + 1, 0.3)
        order = coarse.ravel().argsort().argsort().reshape(coarse.shape) / coarse.size
        grown = np.kron(order, np.ones((4, 4)))[: scene.size[1], : scene.size[0], None]
        self._dissolve = grown.astype(np.float32)

    def opacity(self, time: float) -> float:
        """Share of the object that is there, 0..1."""
        share = 1.0
        for presence in self.spec.presence:
            done = float(np.clip((time - presence.frame + 1) / (presence.length + 1), 0, 1))
            share *= 1 - done if presence.kind == "vanish" else done
        return share

    def veil(self, time: float) -> NDArray[np.float32] | float:
        """Multiplier on the opacity, a number or (H, W, 1)."""
        share = self.opacity(time)
        if 0 < share < 1 and any(p.style == "dissolve" for p in self.spec.presence):
            return (self._dissolve < share).astype(np.float32)
        return share

    def place(self, camera: Matrix, time: float) -> NDArray[np.float64]:
        """Return all points (N, 2) in the frame."""
        placed = [layer.place(rest, camera, time) for layer, rest in zip(self.layers, self.rest, strict=True)]
        return np.concatenate(placed)


def _picture(spec: SceneSpec, bank: TextureBank, rng: np.random.Generator) -> NDArray[np.uint8]:
    if spec.background == "photo":
        return bank.photo(rng)
    return textures.procedural(rng) if spec.background == "procedural" else textures.plain(rng)


def _times(spec: SceneSpec) -> list[float]:
    """Return the moment that each displayed frame shows; a repeated frame shows the one before."""
    times = [float(t) for t in range(spec.num_frames)]
    for t in sorted(spec.timing.frames if spec.timing else ()):
        times[t] = times[t - 1]
    return times


def _noise_bank(spec: SceneSpec, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw sensor noise once, larger than the frame; frames take it at random places."""
    shape = (spec.size[1] + 64, spec.size[0] + 64, 3)
    return rng.normal(0, spec.noise, shape).astype(np.float32)


def _paint(
    camera: CameraPath,
    background: Background,
    things: list[_Thing],
    time: float,
    codes: NDArray[np.uint8] | None,
) -> NDArray[np.float32]:
    """Paint one moment; ``codes`` (H, W) receives the number of the part seen, counted through all objects."""
    view = camera.at(time)
    frame = background.draw(view)
    code = 0
    for thing in things:
        veil = thing.veil(time)
        gone = isinstance(veil, float) and veil == 0.0
        for layer in thing.layers:
            code += 1
            drawn = None if gone else layer.draw(frame, view, time, veil)
            if drawn is not None and codes is not None:
                codes[drawn.where][drawn.mask] = code
    return frame


def _motion_blur(
    spec: SceneSpec, camera: CameraPath, background: Background, things: list[_Thing], time: float
) -> NDArray[np.float32]:
    offsets = (np.arange(BLUR_SAMPLES) - (BLUR_SAMPLES - 1) / 2) / BLUR_SAMPLES * spec.shutter
    pictures = [_paint(camera, background, things, time + offset, None) for offset in offsets]
    return np.asarray(np.mean(pictures, axis=0), dtype=np.float32)


def _with_truth(
    spec: SceneSpec,
    seed: int,
    frames: NDArray[np.uint8],
    codes: NDArray[np.uint8],
    things: list[_Thing],
    camera: CameraPath,
    times: list[float],
) -> SyntheticClip:
    views = [camera.at(time) for time in times]
    steps = [after @ np.linalg.inv(before) for before, after in pairwise(views)]
    homographies = np.array([step / step[2, 2] for step in steps]).reshape(-1, 3, 3)
    owner = np.array([0, *(thing.id for thing in things for _ in thing.layers)], np.uint8)
    labels = owner[codes]
    truths, first_code = [], 1
    for thing in things:
        truths.append(_object_truth(thing, first_code, codes, views, times))
        first_code += len(thing.layers)
    events = [event for truth in truths if truth.subject for event in events_of(truth, labels, spec)]
    spoilt = tuple(sorted({t for glitch in spec.glitches for t in glitch.frames}))
    repeated = tuple(sorted(spec.timing.frames)) if spec.timing else ()
    return SyntheticClip(
        frames, spec.fps, spec, seed, homographies, labels, tuple(truths), tuple(events), spoilt, repeated
    )


def _object_truth(
    thing: _Thing, first_code: int, codes: NDArray[np.uint8], views: list[Matrix], times: list[float]
) -> ObjectTruth:
    height, width = codes.shape[1:]
    part_code = np.concatenate([np.full(len(r), first_code + i) for i, r in enumerate(thing.rest)])
    points = np.array([thing.place(view, time) for view, time in zip(views, times, strict=True)])
    inside = np.all((points > -0.5) & (points < (width - 0.5, height - 0.5)), axis=-1)
    pixel = np.round(points).astype(int).clip(0, (width - 1, height - 1))
    seen = codes[np.arange(len(codes))[:, None], pixel[..., 1], pixel[..., 0]]
    last_code = first_code + len(thing.layers) - 1
    area = np.array([int(((c >= first_code) & (c <= last_code)).sum()) for c in codes])
    matrices = [view @ thing.path.at(time) for view, time in zip(views, times, strict=True)]
    centre = np.array([project(matrix, np.zeros(2)) for matrix in matrices])
    unit_area = np.array([_unit_area(matrix) for matrix in matrices])
    whole = unit_area * sum(layer.area() for layer in thing.layers)
    there = np.array([thing.opacity(time) >= 0.5 for time in times])
    present = there & (area >= MIN_AREA) & (area >= MIN_SHARE * whole)
    return ObjectTruth(
        thing.id, thing.spec.subject, points, inside, inside & (seen == part_code), centre, area, whole, present
    )


def _unit_area(matrix: Matrix) -> float:
    """Return how many pixels a square object unit covers at the object's centre."""
    corner = project(matrix, np.array([[0.0, 0.0], [1e-3, 0.0], [0.0, 1e-3]]))
    edges = (corner[1:] - corner[0]) / 1e-3
    return float(abs(np.linalg.det(edges)))
