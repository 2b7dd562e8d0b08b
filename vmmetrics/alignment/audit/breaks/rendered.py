"""Checks by rendered clips of which it is known what they show: motion, contrast, lightness, flat frames, hues."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.audit.breaks.bench import Bench, Check, always, differences
from vmmetrics.alignment.audit.breaks.content import alike, alike_answers
from vmmetrics.alignment.audit.breaks.coverage import PARTLY, unscored
from vmmetrics.alignment.audit.calls import Item
from vmmetrics.alignment.audit.lines import Finding
from vmmetrics.alignment.audit.material import Frames, array_of, with_frames


def _texture(rng: np.random.Generator, size: int) -> Frames:
    """Return a (size, size, 3) grey texture that looks alike in all directions."""
    noise = cv2.GaussianBlur(rng.normal(size=(size, size)), (0, 0), 3)
    levels = np.clip(128 + 45 * noise / noise.std(), 0, 255).astype(np.uint8)
    return np.repeat(levels[..., None], 3, -1)


def _scores(bench: Bench, shown: Iterable[Frames]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the values of each score for rendered frames, NaN where it has none."""
    with bench.process():
        answers = [bench.survived(bench.material.exact(with_frames(bench.few[0], f, 8.0))) for f in shown]
    for name in bench.names:
        yield name, np.array([answer.scores.get(name, math.nan) for answer in answers])


_WAYS = {"left": (3, 0), "right": (-3, 0), "up": (0, 3), "down": (0, -3), "still": (0, 0)}
"""Steps of the window over a texture, by where the texture goes."""


def directions(bench: Bench) -> Iterator[Finding]:
    """Move a texture by three pixels a frame to each side, in wide frames and in tall ones; in square ones to one."""
    texture, shown = _texture(bench.rng, 300), list[Frames]()
    square = {way: _WAYS[way] for way in ("left", "still")}
    for width, height, ways in ((192, 80, _WAYS), (80, 192, _WAYS), (124, 124, square)):
        for dx, dy in ways.values():
            places = [(48 + (t - 8) * dy, 48 + (t - 8) * dx) for t in range(16)]
            shown.append(np.stack([texture[y : y + height, x : x + width] for y, x in places]))
    for name, values in _scores(bench, shown):
        uneven, figures, shapes = False, [], values[:10].reshape(2, -1)
        for shape, (*moving, still) in zip(("wide", "tall"), shapes.tolist(), strict=True):
            moved = max(abs(value - (still if math.isfinite(still) else 0.0)) for value in moving)
            figures.append(f"{shape}: " + ", ".join(f"{v:.3g} {w}" for v, w in zip(moving, _WAYS, strict=False)))
            uneven |= np.ptp(moving) > max(0.3 * moved, bench.tolerance(name, [], 0.02))
        others = shapes[:, [0, -1]] - values[10:]  # what the two shapes have in common against square frames
        if not np.isfinite(shapes[:, :-1]).all():
            yield unscored(name, PARTLY)
        elif uneven:
            causes = "are frames brought to one shape, or tracks lost at the border?"
            text = f"the same motion in pixels, {'; '.join(figures)}: {causes}"
            yield Finding("note", "one motion, another score by its direction", text, name)
        elif ((np.abs(others) > 0.5 * bench.typical[name]).all(0) & (np.sign(others[0]) == np.sign(others[1]))).any():
            figures.append("square: " + ", ".join(f"{v:.3g} {w}" for v, w in zip(values[10:], square, strict=True)))
            figures.append("still: " + ", ".join(f"{v:.3g}" for v in shapes[:, -1]))
            yield Finding("note", "the shape of frames counts", "; ".join(figures), name)
        else:
            yield Finding("good", "all directions alike", "; ".join(figures), name)


def steady(bench: Bench) -> Iterator[Finding]:
    """Move a texture by a pixel a frame through 10, 17, 24 and 40 frames, and through a third of 24, then still.

    No moment of steady motion differs from another.
    """
    texture = _texture(bench.rng, 260)
    paths = [range(10), range(17), range(24), range(40), [min(t, 8) for t in range(24)], [0] * 24]
    shown = [np.stack([texture[:120, t : t + 128] for t in path]) for path in paths]
    for name, (*values, part, nothing) in _scores(bench, shown):
        if not np.isfinite(values).all():
            yield unscored(name, PARTLY)
            continue
        whole = abs(values[2] - nothing) if math.isfinite(nothing) else abs(values[2])
        bound = bench.tolerance(name, [], 0.02)
        text = (
            f"10, 17, 24, 40 frames: {', '.join(f'{value:.3g}' for value in values)}; "
            f"a third of 24: {part:.3g}; still: {nothing:.3g}"
        )
        if np.ptp(values) > max(0.25 * whole, bound):
            yield Finding("note", "goes by the number of frames", text, name)
        elif math.isfinite(nothing) and whole > bound and abs(part - values[2]) < 0.1 * whole:
            yield Finding("note", "still moments do not count", text, name)
        else:
            yield Finding("good", "any number of frames", text, name)


def coherence(bench: Bench) -> Iterator[Finding]:
    """Move a texture, hold it, and show unrelated frames: where those are worse than a still, motion is hardly so."""
    texture = _texture(bench.rng, 300)
    moving = np.stack([texture[:120, 3 * t : 3 * t + 160] for t in range(16)])
    unrelated = np.stack([_texture(bench.rng, 160)[:120] for _ in range(16)])
    for name, (motion, still, chaos) in _scores(bench, (moving, np.stack([moving[0]] * 16), unrelated)):
        text = f"steady motion: {motion:.3g}; still: {still:.3g}; frames with nothing in common: {chaos:.3g}"
        sign = bench.target.sign(name)
        cost, worst = sign * (still - motion), sign * (still - chaos)
        bound = bench.tolerance(name, [], 0.02)
        if not np.isfinite((motion, still, chaos)).all():
            yield unscored(name, PARTLY)
        elif bench.target.is_amount(name) or (sign and cost <= bound):
            yield Finding("good", "steady motion costs nothing", text, name)
        elif worst <= bound:
            yield unscored(name, f"nothing says that unrelated frames are worse than a still; {text}")
        elif (share := cost / worst) > 0.6:
            yield Finding("note", f"steady motion costs {share:.0%} of what unrelated frames do", text, name)
        else:
            yield Finding("good", "steady motion costs less than unrelated frames", text, name)


def mirrored(bench: Bench) -> Iterator[Finding]:
    """Move ramps that grow slowly and fall at once, and dots: mirrored, upside down, light and dark exchanged."""
    y, x = np.mgrid[:120, :160]
    dots = bench.rng.integers(8, (112, 152), (12, 2)).tolist()
    frames = np.empty((16, 120, 160, 3), np.uint8)
    for t in range(16):
        levels = 80 + 3 * ((x + 2 * t) % 20) + 2 * ((y + t) % 20)  # 80 to 175, 127.5 in the middle
        for row, column in dots:
            levels[row : row + 3, (column + 2 * t) % 150 : (column + 2 * t) % 150 + 3] = 250
        frames[t] = levels[..., None]
    turned = {"mirrored": frames[:, :, ::-1], "upside down": frames[:, ::-1], "light and dark exchanged": 255 - frames}
    for name, (whole, *values) in _scores(bench, (frames, *turned.values())):
        text = "; ".join(f"{what}: {v:.3g}" for what, v in zip(("as it is", *turned), (whole, *values), strict=True))
        bound = max(0.5 * bench.typical[name], 3 * bench.slack[name])
        other = [what for what, value in zip(turned, values, strict=True) if abs(value - whole) > bound]
        if not np.isfinite((whole, *values)).all():
            yield unscored(name, PARTLY)
        elif other:
            yield Finding("note", f"changes: {other[0]}", f"slopes, up or down, are as steep in each: {text}", name)
        else:
            yield Finding("good", "mirrored, or negative, alike", text, name)


def contrast(bench: Bench) -> Iterator[Finding]:
    """Move a light square over a dark ground, in contrasts that grow up to white on black."""
    strengths, shown = (40, 85, 130, 170, 190, 215, 255), list[Frames]()
    for strength in strengths:
        frames = np.full((16, 96, 96, 3), (255 - strength) // 2, np.uint8)
        for t in range(16):
            frames[t, 30:60, 6 + 3 * t : 36 + 3 * t] = (255 - strength) // 2 + strength
        shown.append(frames)
    for name, values in _scores(bench, shown):
        if not np.isfinite(values).all():
            yield unscored(name, PARTLY)
            continue
        figures = "; ".join(f"{s}: {v:.3g}" for s, v in zip(strengths, values, strict=True))
        text = f"by grey levels between square and ground: {figures}"
        # how far the curve goes back on its way
        rise = float(np.max(np.maximum.accumulate(values) - values))
        fall = float(np.max(values - np.minimum.accumulate(values)))
        if min(rise, fall) > max(0.5 * float(np.ptp(values)), bench.tolerance(name, [], 0.02)):
            yield Finding("note", "turns back as contrast grows", text, name)
        elif not np.ptp(values):
            yield unscored(name, text)
        else:
            yield Finding("good", "grows or falls with contrast", text, name)


def lightness(bench: Bench) -> Iterator[Finding]:
    """Show clips of half their contrast in the dark half of the range, and in the light one."""
    dark = [bench.material.changed(item, array_of(item) // 2) for item in bench.few[:3]]
    light = [bench.material.changed(item, array_of(item) // 2 + 127) for item in bench.few[:3]]
    yield from alike(bench, [("light instead of dark", dark, light)], 0.5, "light and dark alike", grade="note")


def level(bench: Bench) -> Iterator[Finding]:
    """Change every pixel by one grey level at most, anew in each frame."""
    items = []
    for item in bench.few:
        frames = array_of(item)
        noise = bench.rng.integers(-1, 2, frames.shape)
        items.append(bench.material.changed(item, np.clip(frames.astype(int) + noise, 0, 255).astype(np.uint8)))
    yield from alike(
        bench, [("a grey level of noise", bench.few, items)], 1.0, "a grey level plays no part", grade="note"
    )


def fade(bench: Bench) -> Iterator[Finding]:
    """Show a still that grows lighter by two levels a frame; the same backwards, alike but for the sign; and held."""
    up, down, held = list[Item](), list[Item](), list[Item]()
    for item in bench.few[:3]:
        frames = (array_of(item)[:1].astype(int) * 3 // 4 + 2 * np.arange(16)[:, None, None, None]).astype(np.uint8)
        for of, shown in ((up, frames), (down, frames[::-1]), (held, np.repeat(frames[:1], 16, 0))):
            of.append(bench.material.exact(with_frames(item, shown, 8.0)))
    with bench.process():
        lighter, darker, still = bench.ask(up), bench.ask(down), bench.ask(held)
    cases = [("darker instead of lighter", up, down)]
    for finding in alike_answers(bench, cases, [(lighter, darker)], 0.3, "lighter and darker alike"):
        if finding.grade == "good" and not bench.moves(still, lighter, str(finding.score)):
            text = "a still picture that grows lighter scores as one that is held"
            yield finding._replace(grade="note", verdict="a change of light alone is not seen", text=text)
        else:
            yield finding


def extremes(bench: Bench) -> Iterator[Finding]:
    """Paint a fifth and three fifths of each frame white, black, a level short of either; make the end nearly black."""
    cases = []
    for label, level, short in (("white of 254 instead of 255", 255, 254), ("black of 1 instead of 0", 0, 1)):
        for share in (0.2, 0.6):
            items: dict[int, list[Item]] = {level: [], short: []}
            for item in bench.few[:3]:
                for of, painted in items.items():
                    frames = array_of(item).clip(2, 253)
                    frames[:, : round(share * frames.shape[1])] = of
                    painted.append(bench.material.exact(with_frames(item, frames, 8.0)))
            cases.append((f"{label} in {share:.0%} of the frame", items[level], items[short]))
    dim: dict[int, list[Item]] = {2: [], 1: []}
    for item in bench.few[:3]:
        for level, darkened in dim.items():
            frames = array_of(item).copy()
            frames[len(frames) // 2 :] = level * (frames[len(frames) // 2 :] >= 128)
            darkened.append(bench.material.exact(with_frames(item, frames, 8.0)))
    cases.append(("dark frames of 0 and 1 instead of 0 and 2", dim[2], dim[1]))
    yield from alike(bench, cases, 0.5, "the ends of the range count as others", grade="note")


def flat(bench: Bench) -> Iterator[Finding]:
    """Hold one picture, and one flat colour: where all stills score the same, flat ones do too, of any width."""

    def held(frame: Frames) -> Item:
        return bench.material.exact(with_frames(bench.few[0], np.stack([frame] * 16), 8.0))

    pictures = [array_of(item)[0] for item in bench.few]
    colours = {"black": (0, 0, 0), "white": (255, 255, 255), "grey": (128, 128, 128), "red": (200, 40, 40)}
    with bench.process():
        stills = [bench.survived(held(picture)) for picture in pictures]
        plain = {of: bench.survived(held(np.full_like(pictures[0], rgb))) for of, rgb in colours.items()}
        widths = [bench.survived(held(np.full((120, w, 3), colours["red"], np.uint8))) for w in (160, 150)]
    for name in bench.names:
        values = [answer.scores[name] for answer in stills if math.isfinite(answer.scores.get(name, math.nan))]
        found = {of: answer.scores[name] for of, answer in plain.items() if name in answer.scores}
        bound = bench.tolerance(name, values, 0.02)
        other = {of: value for of, value in found.items() if values and not abs(value - np.median(values)) <= bound}
        text = f"stills: {', '.join(f'{v:.3g}' for v in values)}; flat: " + ", ".join(
            f"{of} {v:.3g}" for of, v in found.items()
        )
        if any(name in answer.scores for answer in stills) and len(values) < len(stills):
            yield unscored(name, PARTLY)
        elif not values or not found:
            yield Finding("good", "refused", "stills, or flat ones, have no score", name)
        elif (differences(widths[:1], widths[1:], name)[0] or 0.0) > bench.tolerance(name, []):
            figures = ", ".join(f"{answer.scores[name]:.4g}" for answer in widths)
            yield Finding("note", "the width of flat frames counts", f"160 and 150 columns of red: {figures}", name)
        elif np.ptp(values) > bound:
            yield Finding("good", "stills differ", text, name)
        elif other:
            yield Finding("bad", f"another score where all is {next(iter(other))}", text, name)
        else:
            yield Finding("good", "flat stills as others", text, name)


def hues(bench: Bench) -> Iterator[Finding]:
    """Let the hue of red, green and blue patches waver by a little, alike but for the order of channels."""
    waver = np.round(6 * bench.rng.standard_normal((16, 12, 12))).clip(-12, 12).repeat(8, 1).repeat(8, 2)
    base = np.empty((16, 96, 96, 3))
    base[..., 0], base[..., 1], base[..., 2] = 200, 60 + waver, 60 - waver
    red = base.astype(np.uint8)
    moving = [np.roll(red, shift, -1) for shift in range(3)]
    shown = (frames for colour in moving for frames in (colour, np.stack([colour[0]] * 16)))
    for name, values in _scores(bench, shown):
        if not np.isfinite(values).all():
            yield unscored(name, PARTLY)
            continue
        changes = np.abs(values[::2] - values[1::2])
        text = ", ".join(f"{of} {change:.3g}" for of, change in zip(("red", "green", "blue"), changes, strict=True))
        # by its weight in lightness, one colour counts up to three times as much as another
        if changes.max() > max(8 * float(np.median(changes)), bench.tolerance(name, [], 0.02)):
            yield Finding("note", "one colour counts more", f"a hue that wavers changes the score by: {text}", name)
        else:
            yield Finding("good", "colours count alike", text, name)


CHECKS = (
    Check("directions", "A texture that moves left, right, up and down",
          "an axis is lost, or scaled by the other side", always, directions),
    Check("steady", "A texture that moves steadily, in few frames and many",
          "a window or an edge counts by the number of frames", always, steady),
    Check("coherence", "A texture that moves steadily, and unrelated frames",
          "frames are aligned the wrong way round", always, coherence),
    Check("mirrored", "Ramps and dots, mirrored and negative", "negative slopes are cut to 0", always, mirrored),
    Check("growing-contrast", "A square that moves, in growing contrast",
          "values overflow and wrap around", always, contrast),
    Check("lightness", "Half the contrast, dark and light", "sums of 8 bits wrap around", always, lightness),
    Check("level", "Noise of one grey level", "a threshold or a ratio lets the least noise decide", always, level),
    Check("fade", "A still that grows lighter, and darker",
          "only one sign of a change counts, or light is taken out", always, fade),
    Check("extremes", "White and black, and a level short of them", "a histogram or a threshold leaves an end out",
          always, extremes),
    Check("flat", "Flat frames that are held",
          "a division by no contrast, or columns that fill up blocks", always, flat),
    Check("hues", "Red, green and blue that waver", "hue, an angle, is subtracted as a number", always, hues),
)  # fmt: skip
"""Checks by rendered clips."""
