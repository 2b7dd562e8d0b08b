"""Checks of arrays: memory, lists, types, ranges and axes, and whether all ways of taking a clip agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.audit.breaks.bench import LOOSE, Bench, Check, Variant, always, arrays
from vmmetrics.alignment.audit.breaks.coverage import PARTLY, unscored
from vmmetrics.alignment.audit.calls import Item
from vmmetrics.alignment.audit.lines import Finding
from vmmetrics.alignment.audit.material import Frames, array_of


def ways(bench: Bench) -> Iterator[Finding]:
    """Score the clips by each way in which the target takes them."""
    few = [item for item in bench.few if array_of(item).shape == array_of(bench.few[0]).shape]
    positions = [bench.few.index(item) for item in few]
    expected = [bench.reference[n] for n in positions]
    others = [Variant(route, few, route) for route in bench.target.takes if route != bench.route]
    with bench.process():
        yield from bench.compare(others, LOOSE, same="all agree", reference=expected, clips=few)


def memory(bench: Bench) -> Iterator[Finding]:
    """Score the same arrays laid out otherwise in memory, and read-only."""
    route, few = bench.array_route, bench.few[:3]
    variants = [
        Variant(kind, [item._replace(memory=kind) for item in few], route)
        for kind in ("fortran", "strided", "read-only")
    ]
    with bench.process():
        yield from bench.compare(variants)


def mutation(bench: Bench) -> Iterator[Finding]:
    """Look at an array after the call that it was handed to."""
    with bench.process():
        answers = bench.ask(bench.few[:3], bench.array_route)
    changed = sum(answer.mutated for answer in answers)
    if changed:
        yield Finding(
            "bad",
            "changes its input",
            f"the array handed over was changed in {changed} of {len(answers)} calls",
        )
    else:
        yield Finding("good", "left alone", f"the array handed over is the same after {len(answers)} calls")


def undeclared(bench: Bench) -> Iterator[Finding]:
    """Hand over arrays of other types, ranges and axes than it is said to take: refused, or the same scores."""
    frames = [array_of(item) for item in bench.few[:3]]
    clips = [bench.clips[n] for n in bench.chosen[:3]]
    floats = bench.array_route == "floats"

    def made(label: str, change: Callable[[Frames], NDArray[Any]], raw: str = "array") -> Variant:
        return Variant(
            label,
            [bench.material.frames(c, change(f), raw) for c, f in zip(clips, frames, strict=True)],
            bench.array_route,
        )

    def unit(f: Frames) -> NDArray[Any]:
        return np.asarray(f.astype(np.float32) / 255) if floats else f

    other = (
        made("uint8, 0 to 255", lambda f: f)
        if floats
        else made("floats in 0 to 1", lambda f: f.astype(np.float32) / 255)
    )
    variants = [
        other,
        made("floats in 0 to 255", lambda f: f.astype(np.float32)),
        made("floats in −1 to 1", lambda f: f.astype(np.float32) / 127.5 - 1),
        made("axes T, C, H, W", lambda f: np.ascontiguousarray(unit(f).transpose(0, 3, 1, 2))),
        made("axes C, T, H, W", lambda f: np.ascontiguousarray(unit(f).transpose(3, 0, 1, 2))),
        made("a batch of one", lambda f: unit(f)[None]),
        made(
            "with an alpha channel",
            lambda f: np.concatenate([unit(f), np.full_like(unit(f)[..., :1], 1 if floats else 255)], -1),
        ),
        made("a list of frames", unit, "list"),
    ]
    declared = {"floats in 0 to 1": "floats", "uint8, 0 to 255": "frames", "a list of frames": "list"}
    variants = [v for v in variants if declared.get(v.label) not in bench.target.takes]
    with bench.process():
        expected = bench.by(str(bench.array_route))[: len(clips)]
        yield from bench.compare(variants, 0.02, same="refused or the same", grade="note", reference=expected)


def grey(bench: Bench) -> Iterator[Finding]:
    """Score clips without colour, and stills with and without: colour is no motion, and grey clips move as well.

    Whoever takes the axis of channels for that of time sees motion in coloured stills, and none in what is grey.
    """

    def made(change: Callable[[Frames], Frames]) -> list[Item]:
        return [bench.material.changed(item, change(array_of(item))) for item in bench.few[:3]]

    def held(frames: Frames) -> Frames:
        return np.repeat(frames[:1], len(frames), 0)

    with bench.process():
        moving, still = bench.ask(made(_in_grey)), bench.ask(made(lambda frames: held(_in_grey(frames))))
        coloured = bench.ask(made(held))
    for name in bench.names:
        rows = zip(moving, still, coloured, bench.reference[:3], strict=True)
        values = [[a.scores.get(name, math.nan) for a in row] for row in rows]
        cases = [row for row in values if np.isfinite(row).all()]
        if len(cases) < 2:
            if any(name in answer.scores for answer in (*still, *coloured)):
                yield unscored(name, PARTLY)
            else:
                yield Finding("good", "stills have no score", "stills are refused, in grey and in colour", name)
            continue
        figures = np.array(cases)
        motion, colour = np.abs(figures[:, 0] - figures[:, 1]), np.abs(figures[:, 2] - figures[:, 1])
        bound = bench.tolerance(name, figures.ravel().tolist(), 0.01)
        if np.median(np.abs(figures[:, 3] - figures[:, 2])) <= max(bound, bench.typical[name] / 5):
            yield Finding("open", "no score of motion", "stills in colour score as the moving clips do", name)
        elif (motion <= bound).all():
            text = f"moving and still clips without colour score the same, {len(cases)} of {len(cases)}"
            yield Finding("bad", "sees no motion in grey", text, name)
        elif np.median(colour) > max(np.median(motion) / 4, bound):
            text = f"stills score otherwise in colour, by {np.median(colour):.3g}; motion by {np.median(motion):.3g}"
            if np.median(colour) > np.median(motion):
                yield Finding("bad", "takes colour for motion", text, name)
            else:
                yield Finding("note", "stills score otherwise in colour", f"{text}: is colour read as motion?", name)
        else:
            text = f"motion in grey changes it by {np.median(motion):.3g}, colour of stills by {np.median(colour):.3g}"
            yield Finding("good", "sees motion in grey", text, name)


def _in_grey(frames: Frames) -> Frames:
    levels = (frames @ np.array([0.299, 0.587, 0.114])).round().astype(np.uint8)
    return np.repeat(levels[..., None], 3, -1)


CHECKS = (
    Check("ways", "Each way of taking a clip",
          "files and arrays, or floats and bytes, are read otherwise",
          lambda b: None if len(b.target.takes) > 1 else "it takes clips in one way", ways),
    Check("memory", "Arrays laid out otherwise in memory", "strides of an array are ignored", arrays, memory),
    Check("mutation", "The array after the call", "the caller's array is overwritten", arrays, mutation),
    Check("undeclared", "Arrays of types, ranges and axes that it is not said to take",
          "types, ranges and axes are not checked", arrays, undeclared),
    Check("grey", "Clips and stills without colour", "axes are exchanged: colour is taken for time", always, grey),
)  # fmt: skip
"""Checks of arrays."""
