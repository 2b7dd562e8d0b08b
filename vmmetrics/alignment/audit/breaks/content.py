"""Checks of content: which frames, places and colours a score depends on, on time, on length, and its values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import cv2
import numpy as np

from vmmetrics.alignment.audit.breaks.bench import Bench, Check, Finding, NotRunError, always, differences
from vmmetrics.alignment.audit.calls import Answer, Item
from vmmetrics.alignment.audit.lines import Grade, Look
from vmmetrics.alignment.audit.material import Frames, array_of, with_frames

LONG = 128
"""Frames of the long clip in which it is looked for the end of reading."""


def _foreign(bench: Bench, item: Item, count: int) -> Frames:
    """Return frames of another clip in the size of this one."""
    other = array_of(bench.items[int(bench.rng.integers(len(bench.items)))])
    height, width = array_of(item).shape[1:3]
    resized = np.stack([cv2.resize(255 - frame, (width, height), interpolation=cv2.INTER_AREA) for frame in other])
    return resized[np.arange(count) % len(resized)]


def _moves(bench: Bench, before: Sequence[Answer], after: Sequence[Answer], name: str) -> bool:
    """Return True if any of the answers changes at all, one that is lost included."""
    for one, other, gap in zip(before, after, differences(before, after, name), strict=True):
        if gap is None:
            if (name in one.scores) != (name in other.scores):
                return True
        elif gap > max(1e-9 * abs(one.scores[name]), bench.slack[name] * 3):
            return True
    return False


def frames_read(bench: Bench) -> Iterator[Finding]:
    """Put a foreign frame in place of each frame in turn."""
    items = bench.few[:2]
    counts = [len(item.times) for item in items]
    with bench.process():
        before = bench.ask([bench.material.lossless(with_frames(item, array_of(item))) for item in items])
        after = []
        for t in range(min(counts)):
            changed = []
            for item in items:
                frames = array_of(item).copy()
                frames[t] = _foreign(bench, item, 1)[0]
                changed.append(bench.material.lossless(with_frames(item, frames)))
            after.append(bench.ask(changed))
    for name in bench.names:
        read = [t for t, answers in enumerate(after) if _moves(bench, before, answers, name)]
        scored = any(name in answer.scores for answer in before)
        yield _coverage(read, min(counts), "frame", name) if scored else _unscored(name)


def _unscored(name: str) -> Finding:
    return Finding("open", "not told apart", "no clip of this check has a score", name)


def _coverage(read: Sequence[int], count: int, what: str, name: str) -> Finding:
    if len(read) == count:
        return Finding("good", f"every {what} counts", f"each of {count}, replaced alone, changes the score", name)
    if not read:
        return Finding("note", f"no {what} counts", f"none of {count}, replaced alone, changes the score", name)
    unread = [t for t in range(count) if t not in read]
    ending = unread == list(range(unread[0], count)) and unread[0] > 0
    inner = "the last are not read" if ending and len(unread) > 1 else "single ones do not count"
    shown = ", ".join(map(str, unread[:12])) + (", …" if len(unread) > 12 else "")
    grade: Grade = "bad" if ending and len(unread) > 1 else "note"
    return Finding(
        grade, inner, f"{what} {shown} (from 0, of {count}) can be replaced without any change of the score", name
    )


def long_clips(bench: Bench) -> Iterator[Finding]:
    """Replace each eighth of a clip of 128 small frames."""
    frames = np.concatenate([_scaled(array_of(item), 96, 96) for item in bench.items])
    frames = np.concatenate([frames] * math.ceil(LONG / len(frames)))[:LONG]
    base = with_frames(bench.few[0], frames, 16.0)
    with bench.process():
        before = bench.ask([bench.material.lossless(base)])
        after = []
        for part in np.array_split(np.arange(LONG), 8):
            noise, still = frames.copy(), frames.copy()
            noise[part] = bench.rng.integers(0, 256, noise[part].shape)
            still[part] = frames[part[0]]
            changed = [bench.material.lossless(with_frames(bench.few[0], f, 16.0)) for f in (noise, still)]
            after.append(bench.ask(changed))
    if not before[0].scores:
        yield Finding("note", "refuses, and says so", f"a clip of {LONG} frames: {before[0].refused}")
        return
    for name in bench.names:
        read = [t for t, answers in enumerate(after) if _moves(bench, [*before, *before], answers, name)]
        yield _coverage(read, 8, f"eighth of {LONG} frames", name)


def _scaled(frames: Frames, width: int, height: int) -> Frames:
    return np.stack([cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA) for frame in frames])


def regions(bench: Bench) -> Iterator[Finding]:
    """Put other content into each ninth of the frame."""
    items = bench.few[:3]
    with bench.process():
        before = bench.ask([bench.material.lossless(with_frames(item, array_of(item))) for item in items])
        after = []
        for row in range(3):
            for column in range(3):
                changed = []
                for item in items:
                    frames = array_of(item).copy()
                    _, height, width, _ = frames.shape
                    rows = slice(row * height // 3, (row + 1) * height // 3)
                    columns = slice(column * width // 3, (column + 1) * width // 3)
                    frames[:, rows, columns] = _foreign(bench, item, len(frames))[:, rows, columns]
                    changed.append(bench.material.lossless(with_frames(item, frames)))
                after.append(bench.ask(changed))
    names = [f"{up}{side}" for up in ("top ", "", "bottom ") for side in ("left", "middle", "right")]
    for name in bench.names:
        unread = [names[n] for n, answers in enumerate(after) if not _moves(bench, before, answers, name)]
        if not any(name in answer.scores for answer in before):
            yield _unscored(name)
        elif unread:
            text = f"other content there changes no score: {', '.join(unread)}"
            yield Finding("note" if len(unread) < 9 else "bad", "parts of the frame do not count", text, name)
        else:
            yield Finding(
                "good", "the whole frame counts", "other content in each ninth of the frame changes the score", name
            )


def channels(bench: Bench) -> Iterator[Finding]:
    """Put noise into each colour channel, in files that keep RGB."""
    clips = [with_frames(item, array_of(item)) for item in bench.few[:3]]
    changed = [clips]
    for channel in range(3):
        others = []
        for clip in clips:
            frames = clip.frames.copy()
            frames[..., channel] = bench.rng.integers(0, 256, frames.shape[:3])
            others.append(replace(clip, frames=frames))
        changed.append(others)
    with bench.process():
        before, *after = [bench.ask([bench.material.exact(clip) for clip in row]) for row in changed]
    for name in bench.names:
        blind = [
            colour for colour, answers in zip(_COLOURS, after, strict=True) if not _moves(bench, before, answers, name)
        ]
        if not any(name in answer.scores for answer in before):
            yield Finding("open", "not told apart", "files that keep RGB are refused", name)
        elif blind and len(blind) < 3:
            yield Finding(
                "bad",
                f"does not see {' and '.join(blind)}",
                f"noise in {' and '.join(blind)} alone changes no score",
                name,
            )
        else:
            yield Finding("good", "all colours count", "noise in each colour channel changes the score", name)


_COLOURS = ("red", "green", "blue")


def _stripes(count: int, weights: Sequence[float], flat: int) -> Frames:
    """Return moving stripes of two colours that are equally light by ``weights``; they differ in the channels given."""
    high, low = (int(w) for w in weights)
    x, y = np.meshgrid(np.arange(96), np.arange(96))
    frames = np.full((count, 96, 96, 3), 128, np.uint8)
    for t in range(count):
        on = ((x + 3 * t + y // 3) // 8) % 2 == 0
        frames[t][on] = (128 + high, 128 - low, 128) if flat == 0 else (128, 128 - low, 128 + high)
        frames[t][~on] = (128 - high, 128 + low, 128) if flat == 0 else (128, 128 + low, 128 - high)
    return frames


def channel_order(bench: Bench) -> Iterator[Finding]:
    """Show stripes of two colours equally light by BT.601, and the same with red and blue exchanged.

    A scorer that works on lightness sees no motion in the first; one that takes red for blue sees none in the other.
    """
    # 0.299 · 98 = 0.587 · 50 to a fifth of a level; with red and blue exchanged, lightness differs by 36 levels
    right, wrong = _stripes(16, (98, 50), 0), _stripes(16, (98, 50), 2)
    blue = right.copy()
    blue[..., :2] = 128
    blue[..., 2] = right[..., 0]
    base = bench.few[0]
    shown = (right, wrong, np.repeat(right[:1], 16, 0), blue)
    items = [bench.material.exact(with_frames(base, frames, 8.0)) for frames in shown]
    with bench.process():
        answers = [_or_refused(bench, item) for item in items]
    for name in bench.names:
        values = [answer.scores.get(name, math.nan) for answer in answers]
        of_right, of_wrong, still, of_blue = values
        near, far, alone = abs(of_right - still), abs(of_wrong - still), abs(of_blue - still)
        bound = bench.tolerance(name, [])
        text = f"equally light by BT.601: {of_right:.4g}; red and blue exchanged: {of_wrong:.4g}; still: {still:.4g}"
        if near > 20 * max(far, bound) and alone > bound:
            looks = [
                Look(
                    str(items[1].path),
                    "red and blue exchanged",
                    of_wrong,
                    str(items[0].path),
                    "equally light",
                    of_right,
                )
            ]
            yield Finding(
                "bad",
                "takes red for blue",
                f"it is blind to the pattern that is equally light in BGR; {text}",
                name,
                near,
                looks,
            )
        elif far > 20 * max(near, bound):
            yield Finding("good", "red is red", text, name)
        else:
            yield Finding("open", "not told apart", f"it does not go by lightness alone; {text}", name)


def _or_refused(bench: Bench, item: Item) -> Answer:
    try:
        return bench.ask([item])[0]
    except NotRunError as error:
        return Answer(refused=str(error))


RATE = 10.0
"""Frames per second against which a rate a little higher is compared."""


def rate(bench: Bench) -> Iterator[Finding]:
    """Show the same frames at two and three times the rate; leave the rate out where it is a parameter."""
    route = bench.file_route if bench.file_route == bench.route else bench.array_route or bench.route
    paced = [1.0, 2.0, 3.0]
    with bench.process():
        answers = [bench.ask([_paced(bench, item, pace) for item in bench.few], route) for pace in paced]
        whole = [bench.material.retimed(item, (np.arange(len(item.times)) / RATE).tolist()) for item in bench.few]
        slower = [
            bench.material.retimed(item, (np.arange(len(item.times)) / (RATE + 0.4)).tolist()) for item in bench.few
        ]
        level_rate, little = bench.ask(whole, route), bench.ask(slower, route)
        without = bench.ask(bench.few, route, ("fps",)) if "fps" in bench.facts.get("named", ()) else None
    for name in bench.names:
        values = [a.scores[name] for a in answers[0] if name in a.scores]
        bound = bench.tolerance(name, values, 0.005)
        moved = [
            max((g for g in differences(answers[0], other, name) if g is not None), default=0.0)
            for other in answers[1:]
        ]
        depends = max(moved) > bound
        slight = max((g for g in differences(level_rate, little, name) if g is not None), default=0.0)
        if depends and slight <= 1e-9 * max(map(abs, values), default=0.0):
            yield Finding(
                "bad",
                "rates are rounded",
                f"two and three times the rate count, {RATE + 0.4:g} and {RATE:g} a second score the same",
                name,
            )
            continue
        if without is not None and not all(a.refused for a in without):
            gap = max((g for g in differences(answers[0], without, name) if g is not None), default=0.0)
            if gap > bound:
                default = bench.facts.get("defaults", {}).get("fps", "some default")
                yield Finding(
                    "bad",
                    "a rate is made up",
                    f"without fps it takes {default}, without an error: scores differ by up to {gap:.3g}",
                    name,
                    gap,
                )
                continue
        verdict = "goes by the clock" if depends else "does not go by the clock"
        text = f"the same frames at 2 and 3 times the rate change it by up to {moved[0]:.3g} and {moved[1]:.3g}"
        yield Finding("good" if depends else "note", verdict, text, name, max(moved))


def _paced(bench: Bench, item: Item, pace: float) -> Item:
    if pace == 1:
        return item
    return bench.material.retimed(item, [time / pace for time in item.times])


def irregular(bench: Bench) -> Iterator[Finding]:
    """Show frames at uneven times that follow the motion: a film from which frames were dropped at random."""
    items, clips = [], []
    for item in bench.few:
        frames = array_of(item)
        inner = bench.rng.permutation(np.arange(1, len(frames) - 1))[: len(frames) // 2]
        kept = np.sort(np.concatenate([[0, len(frames) - 1], inner]))
        regular = bench.material.item(with_frames(item, frames[kept], 8.0))
        clips.append(regular)
        times = np.asarray(item.times)[kept]
        items.append(bench.material.retimed(regular, (times * regular.times[-1] / times[-1]).tolist()))
    route = bench.file_route
    with bench.process():
        uneven, even = bench.ask(items, route), bench.ask(clips, route)
    for name in bench.names:
        gap = max((g for g in differences(uneven, even, name) if g is not None), default=0.0)
        bound = bench.tolerance(name, [], 0.005)
        verdict = "times count" if gap > bound else "does not read the times of frames"
        yield Finding(
            "good" if gap > bound else "note",
            verdict,
            f"the same frames, shown evenly instead of when they were taken, change it by up to {gap:.3g}",
            name,
            gap,
        )


def length(bench: Bench) -> Iterator[Finding]:
    """Show clips there and back once and twice: twice as long, alike in every second."""
    once, twice, short = [], [], []
    for item in bench.few:
        frames = array_of(item)
        there = np.concatenate([frames, frames[-2:0:-1]])
        once.append(bench.material.item(with_frames(item, there, item.fps)))
        twice.append(bench.material.item(with_frames(item, np.concatenate([there, there]), item.fps)))
        short.append(bench.material.item(with_frames(item, frames[: len(frames) * 5 // 8], item.fps)))
    cases = [("twice as long", once, twice), ("five eighths of the frames", bench.few, short)]
    yield from _alike(bench, cases, 0.5, "length plays no part", grade="note")


def transitions(bench: Bench) -> Iterator[Finding]:
    """Show one picture and then another: the change from one frame to the next is at each place in turn."""
    item = bench.few[0]
    first, second = array_of(item)[0], _foreign(bench, item, 1)[0]
    still = bench.material.exact(with_frames(item, np.stack([first] * 16), 8.0))
    cuts = [
        bench.material.exact(with_frames(item, np.stack([first] * t + [second] * (16 - t)), 8.0)) for t in range(1, 16)
    ]
    with bench.process():
        before = bench.ask([still])
        after = [bench.ask([cut]) for cut in cuts]
    for name in bench.names:
        if sum(name in answer.scores for answers in after for answer in answers) < len(after):
            yield Finding(
                "good", "refused", f"a still picture that changes once: {after[0][0].refused or 'no score'}", name
            )
            continue
        gaps = [differences(before, answers, name)[0] or 0.0 for answers in after]
        least = max(0.02 * max(gaps), 3 * bench.slack[name])  # another still picture has another score, too
        yield _coverage([t for t, gap in enumerate(gaps) if gap > least], 15, "change between frames", name)


def fade(bench: Bench) -> Iterator[Finding]:
    """Show a still picture that grows lighter by two levels a frame, and the same backwards: alike but for the sign."""
    up, down = [], []
    for item in bench.few:
        still = array_of(item)[:1].astype(int) * 3 // 4
        frames = (still + 2 * np.arange(16)[:, None, None, None]).astype(np.uint8)
        up.append(bench.material.exact(with_frames(item, frames, 8.0)))
        down.append(bench.material.exact(with_frames(item, frames[::-1], 8.0)))
    yield from _alike(bench, [("darker instead of lighter", up, down)], 0.3, "lighter and darker alike")


def sizes(bench: Bench) -> Iterator[Finding]:
    """Show clips a few pixels smaller, in odd and uneven sizes, where little is lost."""
    cases = []
    for label, rows, columns in (
        ("2 lines fewer", 2, 0),
        ("6 columns fewer", 0, 6),
        ("10 lines and 2 columns fewer", 10, 2),
    ):
        items = []
        for item in bench.few:
            frames = array_of(item)
            items.append(bench.material.changed(item, frames[:, : frames.shape[1] - rows, : frames.shape[2] - columns]))
        cases.append((label, bench.few, items))
    wide = [
        [bench.material.changed(item, _scaled(array_of(item), width, 120)) for item in bench.few]
        for width in (160, 162)
    ]
    cases.append(("162 instead of 160 columns", wide[0], wide[1]))
    small = [bench.material.changed(item, _scaled(array_of(item), 64, 48)) for item in bench.few]
    cases.append(("64 by 48 instead of 160 by 120", wide[0], small))
    yield from _alike(bench, cases, 0.5, "sizes play little part", grade="note")


def flash(bench: Bench) -> Iterator[Finding]:
    """Put two flat frames into the middle: black, white, grey."""
    levels = {"black": 0, "white": 255, "grey": 128}
    with bench.process():
        after = {}
        for colour, level in levels.items():
            items = []
            for item in bench.few:
                frames = array_of(item).copy()
                frames[len(frames) // 2 : len(frames) // 2 + 2] = level
                items.append(bench.material.changed(item, frames))
            after[colour] = bench.ask(items)
    for name in bench.names:
        unseen = [colour for colour, answers in after.items() if not _moves(bench, bench.reference, answers, name)]
        if unseen:
            yield Finding(
                "bad", "flat frames are passed over", f"two {' or '.join(unseen)} frames change no score", name
            )
        else:
            yield Finding("good", "flat frames count", "two black, white or grey frames change the score", name)


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
        answers = dict(zip(cases, (_or_refused(bench, item) for item in cases.values()), strict=True))
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
        answers = [_or_refused(bench, item) for item in (*items, still)]
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
        answers = [_or_refused(bench, item) for item in items]
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


def sides(bench: Bench) -> Iterator[Finding]:
    """Turn clips by a quarter: what is wide becomes tall."""
    items = [
        bench.material.changed(item, np.ascontiguousarray(np.rot90(array_of(item), 1, (1, 2)))) for item in bench.few
    ]
    yield from _alike(bench, [("turned by a quarter", bench.few, items)], 0.15, "wide and tall alike", grade="note")


def level(bench: Bench) -> Iterator[Finding]:
    """Change every pixel by one grey level at most, anew in each frame."""
    items = []
    for item in bench.few:
        frames = array_of(item)
        noise = bench.rng.integers(-1, 2, frames.shape)
        items.append(bench.material.changed(item, np.clip(frames.astype(int) + noise, 0, 255).astype(np.uint8)))
    yield from _alike(
        bench, [("a grey level of noise", bench.few, items)], 1.0, "a grey level plays no part", grade="note"
    )


def _alike(
    bench: Bench, cases: Sequence[tuple[str, Sequence[Item], Sequence[Item]]], share: float, same: str,
    grade: Grade = "bad",
) -> Iterator[Finding]:  # fmt: skip
    """Yield whether pairs of clips that are nearly the same score alike, on average."""
    with bench.process():
        asked = [
            (label, bench.reference if before is bench.few else bench.ask(before), bench.ask(after), after)
            for label, before, after in cases
        ]
    for name in bench.names:
        large, figures, looks, compared = [], [], [], 0
        for label, before, after, items in asked:
            gaps = [g for g in differences(before, after, name) if g is not None]
            compared += len(gaps)
            mean = float(np.mean(gaps)) if gaps else 0.0
            figures.append(f"{label}: {mean:.3g} on average")
            if mean > max(share * bench.typical[name], 3 * bench.slack[name]):
                large.append(label)
                looks += bench.look(items[0], label, after[0], bench.few[0], before[0], name)
        if not compared:
            yield _unscored(name)
            continue
        text = f"{'; '.join(figures)}; clips differ by {bench.typical[name]:.3g} from their median"
        if large:
            yield Finding(grade, f"changes: {large[0]}", text, name, looks=looks)
        else:
            yield Finding("good", same, text, name)


def prompts(bench: Bench) -> Iterator[Finding]:
    """Leave the prompt out, or empty; in batches, exchange clips with their prompts."""
    prompted = [
        item._replace(prompt=item.prompt or f"a thing that moves, number {n}") for n, item in enumerate(bench.few)
    ]
    with bench.process():
        given = bench.ask(prompted)
        without = bench.ask(prompted, None, ("prompt", "prompts"))
        empty = bench.ask([item._replace(prompt="") for item in prompted])
        turned = bench.ask([i._replace(prompt=prompted[n - 1].prompt) for n, i in enumerate(prompted)])
        route, swapped = bench.target.batch, None
        if route in ("paths", "folder"):
            alone = given if bench.route == route else bench.ask(prompted, route)
            swapped = (alone, bench.ask(prompted[::-1], route, together=True)[::-1])
            twice = [prompted[0], prompted[1]._replace(path=prompted[0].path), prompted[2]]
            doubled = (bench.ask(twice, route), bench.ask(twice, route, together=True)) if route == "paths" else None
    for name in bench.names:
        matters = _moves(bench, given, turned, name)
        if not matters:
            yield Finding("note", "prompts play no part", "another clip's prompt changes no score", name)
        elif any(name in answer.scores for answer in without):
            yield Finding(
                "bad", "scores without a prompt", "prompts count, yet without one it gives numbers, and no error", name
            )
        elif any(name in answer.scores for answer in empty):
            yield Finding(
                "note",
                "scores an empty prompt",
                "without a prompt it refuses, with an empty one it gives numbers",
                name,
            )
        else:
            yield Finding("good", "asks for its prompt", "without one it refuses", name)
    if swapped is not None:
        pairs = [swapped, *([doubled] if doubled else [])]
        for name in bench.names:
            wrong = [
                (one, other)
                for one, other in pairs
                if max((g for g in differences(one, other, name) if g is not None), default=0.0)
                > bench.tolerance(name, [], 0.001)
            ]
            if wrong:
                yield Finding(
                    "bad", "mixes up prompts", "clips with their prompts score otherwise together than alone", name
                )


# Values.


def distinct(bench: Bench) -> Iterator[Finding]:
    """Look at the scores of all clips: equal ones, those out of range, those that are no numbers."""
    scored = [answer for answer in bench.answers if answer.scores]
    refusing = [answer.refused for answer in bench.answers if not answer.scores]
    for name in bench.names:
        values = [answer.scores[name] for answer in scored if name in answer.scores]
        wrong = [v for v in values if not math.isfinite(v)]
        span = bench.target.span(name)
        outside = [v for v in values if span and math.isfinite(v) and not span[0] - 1e-6 <= v <= span[1] + 1e-6]
        common, count = Counter(values).most_common(1)[0]
        rest = f"; {len(refusing)} clips have none ({refusing[0]})" if refusing else ""
        if wrong:
            yield Finding(
                "bad", "no finite number", f"{len(wrong)} of {len(values)} clips score {wrong[0]}{rest}", name
            )
        elif len(set(values)) == 1 and len(values) > 1:
            yield Finding(
                "bad", "the same for every clip", f"{len(values)} different clips all score {common:.4g}{rest}", name
            )
        elif outside:
            yield Finding(
                "bad",
                "out of its range",
                f"{len(outside)} of {len(values)} clips, such as {outside[0]:.4g}{rest}",
                name,
            )
        elif len(values) > 4 and all(round(v, 2) == v for v in values) and max(map(abs, values)) <= 1:
            yield Finding(
                "note",
                "rounded",
                f"{len(set(values))} values for {len(values)} clips, none with more than two digits{rest}",
                name,
            )
        elif count > max(2, len(values) // 5):
            yield Finding(
                "note", "equal scores", f"{count} of {len(values)} different clips score {common:.4g}{rest}", name
            )
        else:
            yield Finding(
                "good",
                "differ",
                f"{len(set(values))} values for {len(values)} clips, {min(values):.4g} to {max(values):.4g}{rest}",
                name,
            )


def _takes_prompts(bench: Bench) -> str | None:
    named = {"prompt", "prompts"} & set(bench.facts.get("named", ()))
    return None if named else "it takes no prompt"


def _reads_times(bench: Bench) -> str | None:
    return None if bench.file_route else "it takes no files, in which times stand"


CHECKS = (
    Check("distinct", "The scores of all clips", always, distinct),
    Check("frames-read", "A foreign frame in place of each", always, frames_read, exact=True),
    Check("long-clips", "Another eighth of a long clip", always, long_clips, exact=True),
    Check("regions", "Other content in each ninth of the frame", always, regions, exact=True),
    Check("channels", "Noise in each colour", always, channels, exact=True),
    Check("channel-order", "Stripes of equally light colours", always, channel_order),
    Check("rate", "The same frames at other rates, and without a rate", always, rate),
    Check("irregular", "Frames at uneven times", _reads_times, irregular),
    Check("length", "There and back once and twice, and less", always, length),
    Check("transitions", "One change, between each two frames in turn", always, transitions, exact=True),
    Check("fade", "A still that grows lighter, and darker", always, fade),
    Check("sizes", "A few lines and columns fewer", always, sizes),
    Check("sides", "Turned by a quarter", always, sides),
    Check("directions", "A texture that moves sideways, and up", always, directions),
    Check("steady", "A texture that moves steadily, in few frames and many", always, steady),
    Check("growing-contrast", "A square that moves, in growing contrast", always, contrast),
    Check("flash", "Two flat frames in the middle", always, flash, exact=True),
    Check("level", "Noise of one grey level", always, level),
    Check("prompts", "Prompts left out and exchanged", _takes_prompts, prompts),
)
"""Checks of content."""
