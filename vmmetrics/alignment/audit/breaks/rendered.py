"""Checks by rendered clips whose motion is known: directions, numbers of frames, contrast."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np

from vmmetrics.alignment.audit.breaks.bench import Bench, Check, Finding, always
from vmmetrics.alignment.audit.material import Frames, with_frames


def _texture(rng: np.random.Generator, size: int) -> Frames:
    """Return a (size, size, 3) grey texture that looks alike in all directions."""
    noise = cv2.GaussianBlur(rng.normal(size=(size, size)), (0, 0), 3)
    levels = np.clip(128 + 45 * noise / noise.std(), 0, 255).astype(np.uint8)
    return np.repeat(levels[..., None], 3, -1)


def directions(bench: Bench) -> Iterator[Finding]:
    """Move a texture by three pixels a frame sideways, and up, in wide frames and in tall ones."""
    texture = _texture(bench.rng, 300)
    cases = {}
    for shape, (width, height) in {"wide": (192, 80), "tall": (80, 192)}.items():
        for way, (dx, dy) in {"sideways": (3, 0), "up": (0, 3), "still": (0, 0)}.items():
            frames = np.stack([texture[t * dy : t * dy + height, t * dx : t * dx + width] for t in range(16)])
            cases[shape, way] = bench.material.exact(with_frames(bench.few[0], frames, 8.0))
    with bench.process():
        answers = dict(zip(cases, (bench.survived(item) for item in cases.values()), strict=True))
    for name in bench.names:
        values = {case: answer.scores.get(name, math.nan) for case, answer in answers.items()}
        uneven, figures = [], []
        for shape in ("wide", "tall"):
            side, up, still = (values[shape, way] for way in ("sideways", "up", "still"))
            moved = max(abs(side - still), abs(up - still)) if math.isfinite(still) else max(abs(side), abs(up))
            figures.append(f"{shape}: {side:.3g} sideways, {up:.3g} up")
            if abs(side - up) > max(0.3 * moved, bench.tolerance(name, [], 0.02)):
                uneven.append(shape)
        if not all(math.isfinite(values[shape, way]) for shape in ("wide", "tall") for way in ("sideways", "up")):
            yield Finding("open", "not told apart", "a moving texture has no score", name)
        elif uneven:
            text = f"the same motion in pixels scores otherwise by its direction: {'; '.join(figures)}"
            yield Finding("note", "directions count otherwise", text, name)
        else:
            yield Finding("good", "all directions alike", "; ".join(figures), name)


def steady(bench: Bench) -> Iterator[Finding]:
    """Move a texture steadily through 10, 17, 24 and 40 frames: no moment differs from another."""
    texture = _texture(bench.rng, 260)
    items = []
    for count in (10, 17, 24, 40):
        frames = np.stack([texture[:120, 3 * t : 3 * t + 128] for t in range(count)])
        items.append(bench.material.exact(with_frames(bench.few[0], frames, 8.0)))
    still = bench.material.exact(with_frames(bench.few[0], np.stack([texture[:120, :128]] * 24), 8.0))
    with bench.process():
        answers = [bench.survived(item) for item in (*items, still)]
    for name in bench.names:
        *values, nothing = (answer.scores.get(name, math.nan) for answer in answers)
        if not np.isfinite(values).all():
            yield Finding("open", "not told apart", "a moving texture has no score", name)
            continue
        whole = abs(values[2] - nothing) if math.isfinite(nothing) else abs(values[2])
        text = f"10, 17, 24, 40 frames: {', '.join(f'{value:.3g}' for value in values)}; still: {nothing:.3g}"
        if np.ptp(values) > max(0.25 * whole, bench.tolerance(name, [], 0.02)):
            yield Finding("note", "goes by the number of frames", text, name)
        else:
            yield Finding("good", "any number of frames", text, name)


def contrast(bench: Bench) -> Iterator[Finding]:
    """Move a light square over a dark ground, in contrasts that grow up to white on black."""
    strengths = (40, 85, 130, 170, 190, 215, 255)
    items = []
    for strength in strengths:
        frames = np.full((16, 96, 96, 3), (255 - strength) // 2, np.uint8)
        for t in range(16):
            frames[t, 30:60, 6 + 3 * t : 36 + 3 * t] = (255 - strength) // 2 + strength
        items.append(bench.material.exact(with_frames(bench.few[0], frames, 8.0)))
    with bench.process():
        answers = [bench.survived(item) for item in items]
    for name in bench.names:
        values = np.array([answer.scores.get(name, math.nan) for answer in answers])
        if not np.isfinite(values).all():
            yield Finding("open", "not told apart", "a moving square has no score", name)
            continue
        text = "; ".join(f"{s}: {v:.3g}" for s, v in zip(strengths, values, strict=True))
        # how far the curve goes back on its way
        rise = float(np.max(np.maximum.accumulate(values) - values))
        fall = float(np.max(values - np.minimum.accumulate(values)))
        whole = float(np.ptp(values))
        if min(rise, fall) > max(0.5 * whole, bench.tolerance(name, [], 0.02)):
            yield Finding(
                "note", "turns back as contrast grows", f"by grey levels between square and ground: {text}", name
            )
        else:
            yield Finding(
                "good", "grows or falls with contrast", f"by grey levels between square and ground: {text}", name
            )


CHECKS = (
    Check("directions", "A texture that moves sideways, and up",
          "an axis is lost, or scaled by the other side", always, directions),
    Check("steady", "A texture that moves steadily, in few frames and many",
          "a window or an edge counts by the number of frames", always, steady),
    Check("growing-contrast", "A square that moves, in growing contrast",
          "values overflow and wrap around", always, contrast),
)  # fmt: skip
"""Checks by rendered clips."""
